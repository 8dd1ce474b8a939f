"""Records that people handled outside Reconcile: their surplus is no longer at risk. Pure.

A decision that something was handled belongs to records: their surplus is not at risk, in whatever finding they are.
Its money belongs to the decision: it stays handled when records leave, and goes with the finding that takes in another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from reconcile.findings.identity import judged_values
from reconcile.findings.known import FindingMatches, Known, NotSame, Pair
from reconcile.findings.states import State
from rules import values as sums
from rules.groups.group import Group


def keeper_of(records: Sequence[str], pairs: Collection[Pair]) -> str:
    """Return the record of a group that stays: the rule's keeper, the first one, unless others were handled.

    A person who handled records kept one of them. So a record that joins is surplus, even if the rule would keep it.
    """
    handled = {record for pair in pairs for record in pair}
    return next((record for record in records if record in handled), records[0])


def dealt_with(records: Sequence[str], pairs: Iterable[Pair]) -> frozenset[str]:
    """Return the surplus that was handled: of the records that handled pairs connect, all but the first.

    `records` are the group's, in the rule's order. The first one stands for what stays of the connected records.
    """
    first = {record: place for place, record in enumerate(records)}
    connected = {record: {record} for record in records}
    for record, partner in ((record, partner) for record, partner in pairs if record in first and partner in first):
        joined = connected[record] | connected[partner]
        connected |= dict.fromkeys(joined, joined)
    return frozenset(record for record in records if min(connected[record], key=first.__getitem__) != record)


def decisions_by_finding(findings: Iterable[Known], matching: FindingMatches) -> Mapping[str, Sequence[Known]]:
    """Return, for each finding that goes on, the handled ones among itself and those it took in."""
    by_id = {finding.id: finding for finding in findings}
    continued = {matched.finding.id for matched in matching.matches if matched.finding is not None}
    decisions: dict[str, list[Known]] = defaultdict(list)
    for finding in by_id.values():
        if finding.decided is State.HANDLED:
            into: str | None = finding.id
            while into is not None and into not in continued:
                into = matching.absorbed.get(into) or (by_id[into].merged_into if into in by_id else None)
            if into is not None:
                decisions[into].append(finding)
    return decisions


def without_handled(
    group: Group, records: Sequence[str], decided: Sequence[Known], not_same: NotSame
) -> tuple[Group, Mapping[str, Decimal]]:
    """Return the group with the money of what nobody handled yet, and the money of what was handled.

    `records` are the names of its records, `decided` the handled findings that it continues or took in. A group of a
    kind that does not say what its records' amounts are keeps all of its money.
    """
    if not group.priced:
        return group, {}
    values = judged_values(group)
    standing = [finding for finding in decided if finding.stands_for(values)]
    pairs = not_same.handled_within(records, values) if not_same.handled else []
    for finding in standing if not pairs else ():
        first, *others = sorted(finding.settled.intersection(records)) or [""]  # a large finding has no pairs
        pairs += [(first, record) for record in others]
    handled = dealt_with(records, pairs)
    if not (handled or standing):
        return group, {}
    from rules.groups.money import money_of  # noqa: PLC0415 - it loads an engine, and few groups were handled

    members = dict(zip(records, group.members, strict=True))
    keeper = keeper_of(records, pairs)
    open_surplus = [member for record, member in members.items() if record not in handled and record != keeper]
    money = _money_of(standing)
    if not money:  # handled in a finding that is elsewhere now, or by an earlier release
        money = money_of(group, [members[record] for record in records if record in handled])
    return replace(group, money=money_of(group, open_surplus)), money


def _money_of(decided: Sequence[Known]) -> dict[str, Decimal]:
    """Return the sum of what was handled; a later decision about the same records contains an earlier one."""
    counted = [finding for finding in decided if not any(finding.settled < larger.settled for larger in decided)]
    return dict(sorted(sums.of(finding.handled for finding in counted).items()))
