"""The records of a finding as they are now: which one stays, which are surplus, and whether they still are alike."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from connectors.target import Row
from reconcile.cleaning.actions.base import AsksPerson, Members, NothingToDo, Record, Stale
from reconcile.findings.identity import record_of
from reconcile.findings.shown import Finding
from rules.engines.base import Group
from rules.kinds.base import Fitted


def members_now(
    finding: Finding, rows: Sequence[Row | None], groups: Sequence[Group], fitted: Fitted, slot: dt.datetime
) -> Members:
    """The group to act on. `rows` are those of the finding's members, in their order, as they were read just now;
    `groups` is what the rule makes of them.

    Only records that no decision covers are surplus. Raises Stale, AsksPerson, NothingToDo.
    """
    there = [row for row in rows if row is not None]
    if len(there) < len(rows):
        gone = len(rows) - len(there)
        raise Stale(f"{gone} of its {len(rows)} records {'is' if gone == 1 else 'are'} gone since it was found.")
    named = [record_of(member.id) for member in finding.members]
    if len({row.name for row in there}) < len(there) or finding.keeper is None:
        raise Stale("Its records are no longer the ones that were found.")
    settled = {record_of(member.id) for member in finding.members if member.settled_at is not None}
    if len(groups) != 1 or {record_of(member.id) for member in groups[0].members} != set(named):
        raise Stale("Its records changed since it was found: they are no longer all alike.")
    [group] = groups
    if record_of(group.keeper.id) != named[0]:
        raise Stale("Its records changed since it was found: another one of them is to be kept now.")
    if finding.settled_pairs or fitted.is_excepted(group):
        raise AsksPerson(
            "A person said that some of its records are not the same, or took back what was done to them; nothing is "
            "done in favour of either."
        )
    records = {name: _record(name, row, fitted, slot) for name, row in zip(named, there, strict=True)}
    others = [records[record_of(member.id)] for member in group.surplus]
    surplus = tuple(one for one in others if one.name not in settled)
    if not surplus:
        raise NothingToDo("A decision covers all records but the one to keep; there is nothing to do.")
    return Members(records[named[0]], surplus, tuple(one for one in others if one.name in settled))


def _record(name: str, row: Row, fitted: Fitted, slot: dt.datetime) -> Record:
    return Record(name, row, fitted.columns.complete(row.values, slot))
