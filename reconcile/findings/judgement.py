"""What today's groups mean for the findings known: new, grown, back, gone, or nothing to tell. Pure.

Nothing here reads a store or a clock: the same groups and the same memory give the same judgement, in any order.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from reconcile.findings.identity import RuleIdentity
from reconcile.findings.known import Known, Match, NotSame, match
from reconcile.findings.states import IN_HAND, LIVE, Event, State
from rules.engines.base import Group


class Change(enum.Enum):
    """What a run says of one finding."""

    NEW = "new"
    KNOWN = "known"
    SHRUNK = "shrunk"
    GROWN = "grown"
    REOPENED = "reopened"
    WOKEN = "woken"
    RESOLVED = "resolved"
    MERGED = "merged"
    SETTLED = "settled"  # found, and decided before: nobody is told
    IN_HAND = "in_hand"  # found, and a cleaning has its records: what was read may be from before it

    @property
    def is_told(self) -> bool:
        return self in (Change.NEW, Change.GROWN, Change.REOPENED, Change.WOKEN)


@dataclass(frozen=True)
class Verdict:
    """What today's detection means for one finding.

    `finding` is None for a new one, and for a group whose every pair was judged different: that is none at all.
    `group` is None where the records are gone. `event` is None where nothing happened to it. `into` is the finding
    that took in a merged one. `reason` is for people.
    """

    change: Change
    finding: str | None = None
    group: Group | None = None
    event: Event | None = None
    into: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Judgement:
    """One verdict for every group of today and every known finding that something happened to."""

    verdicts: tuple[Verdict, ...]


NO_LONGER_MATCH = "its records no longer match"
RULE_CHANGED = "the rule changed and no longer finds these records"
ONLY_SETTLED = "only records that were decided before are left"
NEW_MEMBER = "a record joined that no decision covers"
NEW_VALUES = "values changed since it was decided"
FOUND_AGAIN = "its records match again"
NOT_CLEAN = "its records match again after they were cleaned"
SNOOZE_OVER = "its snooze is over"


def judge(
    rule: RuleIdentity,
    groups: Sequence[Group],
    known: Sequence[Known],
    not_same: NotSame,
    at: dt.datetime,
    *,
    edited: bool = False,
    complete: bool = True,
    read_at: dt.datetime | None = None,
) -> Judgement:
    """What today's groups mean for what is known of the rule.

    `at` ends snoozes. `edited`: what the rule matches changed since the last run. `complete` is False for a run that
    did not look at every record: what it did not find is left as it is. What was cleaned after `read_at`, when the run
    began to read, was found as it was before. Verdicts on groups stand in the groups' order, then those on findings no
    group continues, oldest first.
    """
    matching = match(groups, known, not_same, by_records=rule.by_records)
    verdicts = [_on_group(one, at, read_at or at) for one in matching.matches]
    gone = RULE_CHANGED if edited else NO_LONGER_MATCH
    for finding in matching.left:
        if finding.id in matching.absorbed:
            into = matching.absorbed[finding.id]
            verdicts.append(Verdict(Change.MERGED, finding.id, event=Event.ABSORBED, into=into))
        elif complete and finding.state in LIVE:
            verdicts.append(Verdict(Change.RESOLVED, finding.id, event=Event.VANISHED, reason=gone))
    return Judgement(tuple(verdicts))


def _on_group(one: Match, at: dt.datetime, read_at: dt.datetime) -> Verdict:
    finding, group = one.finding, one.group
    if finding is not None and _is_in_hand(finding, read_at):
        return Verdict(Change.IN_HAND, finding.id, group)
    if finding is not None and one.settled and finding.state is State.CLEANED:
        return Verdict(Change.REOPENED, finding.id, group, Event.CAME_BACK, reason=NOT_CLEAN)
    if finding is None and one.settled:
        return Verdict(Change.SETTLED, group=group)
    if finding is None:
        return Verdict(Change.NEW, group=group, event=Event.OPENED)
    if one.settled and finding.state in LIVE:
        return Verdict(Change.RESOLVED, finding.id, group, Event.VANISHED, reason=ONLY_SETTLED)
    if one.settled:
        return Verdict(Change.SETTLED, finding.id, group)
    if finding.state in LIVE:
        return _on_live(one, finding, at)
    return Verdict(Change.REOPENED, finding.id, group, Event.CAME_BACK, reason=_why_back(one, finding))


def _is_in_hand(finding: Known, read_at: dt.datetime) -> bool:
    """A cleaning has the records, or had them after they were read."""
    if finding.state in IN_HAND:
        return True
    return finding.state in (State.CLEANED, State.UNDONE) and finding.since is not None and finding.since >= read_at


def _on_live(one: Match, finding: Known, at: dt.datetime) -> Verdict:
    if any(record not in finding.members and record not in finding.former for record in one.records):
        return Verdict(Change.GROWN, finding.id, one.group, Event.GREW)
    if finding.state is State.SNOOZED and finding.snoozed_until is not None and finding.snoozed_until <= at:
        return Verdict(Change.WOKEN, finding.id, one.group, Event.WOKE, reason=SNOOZE_OVER)
    if len(one.records) < len(finding.members):
        return Verdict(Change.SHRUNK, finding.id, one.group, Event.SHRANK)
    return Verdict(Change.KNOWN, finding.id, one.group)


def _why_back(one: Match, finding: Known) -> str:
    if finding.state is State.RESOLVED:
        return FOUND_AGAIN
    return NEW_VALUES if finding.settled.issuperset(one.records) else NEW_MEMBER
