"""The part of a group that people handled outside Reconcile, which is at risk no more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from reconcile.findings.identity import judged_values
from reconcile.findings.known import Known, NotSame, Pair
from reconcile.findings.states import State
from rules.engines.base import DuplicateGroup


def dealt_with(records: Sequence[str], pairs: Iterable[Pair]) -> frozenset[str]:
    """Return the surplus that was handled: of the records that handled pairs connect, all but the first.

    `records` are the group's, keeper first. The first one stands for what stays of the connected records, so beside
    another keeper it is surplus like any other.
    """
    first = {record: place for place, record in enumerate(records)}
    connected = {record: {record} for record in records}
    for record, partner in pairs:
        joined = connected[record] | connected[partner]
        connected |= dict.fromkeys(joined, joined)
    return frozenset(record for record in records if min(connected[record], key=first.__getitem__) != record)


def without_handled(
    group: DuplicateGroup, records: Sequence[str], finding: Known | None, not_same: NotSame
) -> tuple[DuplicateGroup, Mapping[str, Decimal]]:
    """Return the group with the money of what nobody handled yet, and the money of what was handled.

    `records` are the names of its records. A group of a kind that does not say what its records' amounts are keeps all
    of its money.
    """
    if not group.priced:
        return group, {}
    values = judged_values(group)
    pairs = not_same.handled_within(records, values) if not_same.handled else []
    if not pairs and finding is not None and finding.decided is State.HANDLED and finding.stands_for(values):
        first, *others = sorted(finding.settled.intersection(records)) or [""]  # a large finding has no pairs
        pairs = [(first, record) for record in others]
    handled = dealt_with(records, pairs) if pairs else frozenset()
    if not handled:
        return group, {}
    from rules.grouping import money_of  # noqa: PLC0415 - it loads an engine, and few groups were handled

    members = dict(zip(records, group.members, strict=True))
    open_surplus = [member for record, member in members.items() if record not in handled and record != records[0]]
    of_handled = money_of(group, [members[record] for record in records if record in handled])
    return replace(group, money=money_of(group, open_surplus)), of_handled
