"""The current records of a finding: the keeper and the surplus, if they are still alike."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from connectors.target import Row
from reconcile.cleaning.actions.base import AsksPerson, CurrentRecord, Members, NothingToDo, Stale
from reconcile.findings.identity import record_of
from reconcile.findings.shown import Finding
from rules.engines.base import DuplicateGroup, Group
from rules.kinds.base import Fitted
from rules.values import canonical, filled


def members_now(
    finding: Finding, rows: Sequence[Row | None], groups: Sequence[Group], fitted: Fitted, slot: dt.datetime
) -> Members:
    """Return the group to clean. `rows` are the current rows of the finding's members, in their order; `groups` are
    the rule's groups of them.

    Records that a decision covers are not surplus. Raises Stale, AsksPerson, NothingToDo.
    """
    present = [row for row in rows if row is not None]
    if len(present) < len(rows):
        missing = len(rows) - len(present)
        raise Stale(f"{missing} of its {len(rows)} records no longer {'exists' if missing == 1 else 'exist'}.")
    names = [record_of(member.id) for member in finding.members]
    if len({row.name for row in present}) < len(present) or finding.keeper is None:
        raise Stale("Its records are no longer the ones that were found.")
    settled = {record_of(member.id) for member in finding.members if member.settled_at is not None}
    if len(groups) != 1 or {record_of(member.id) for member in groups[0].members} != set(names):
        raise Stale("Its records changed since it was found: they are no longer all alike.")
    [group] = groups
    if not isinstance(group, DuplicateGroup):
        raise AsksPerson("Its records have no keeper, so only a person can decide about them.")
    if not group.surplus:
        raise NothingToDo("It has a single record, so there is no surplus to clean.")
    if group.links and _differ(finding, present, fitted):
        raise Stale("Its records changed since it was found: they may no longer agree by the same values.")
    if record_of(group.keeper.id) != names[0]:
        raise Stale("Its records changed since it was found: a different one would be kept now.")
    if finding.settled_pairs or fitted.is_excepted(group):
        raise AsksPerson(
            "A person decided that some of its records are not the same, or undid their cleaning; only a person can "
            "decide again."
        )
    records = {name: _record(name, row, fitted, slot) for name, row in zip(names, present, strict=True)}
    surplus_records = [records[record_of(member.id)] for member in group.surplus]
    surplus = tuple(record for record in surplus_records if record.name not in settled)
    if not surplus:
        raise NothingToDo("A decision covers every record except the keeper; there is nothing to do.")
    return Members(records[names[0]], surplus, tuple(record for record in surplus_records if record.name in settled))


def _differ(finding: Finding, rows: Sequence[Row], fitted: Fitted) -> bool:
    """Return True if a value by which the rule decides has changed since the finding was last found.

    Only a detection sees all records, and so which values too many of them share to join any.
    """
    columns = [name for name in fitted.columns.sources(fitted.deciding) if name in finding.members[0].values]
    return any(
        canonical(filled(row.values[name])) != canonical(filled(member.values[name]))
        for member, row in zip(finding.members, rows, strict=True)
        for name in columns
    )


def _record(name: str, row: Row, fitted: Fitted, slot: dt.datetime) -> CurrentRecord:
    return CurrentRecord(name, row, fitted.columns.complete(row.values, slot))
