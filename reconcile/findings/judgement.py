"""Compare today's groups with the known findings: new, grown, reopened, resolved, or unchanged. Pure.

Nothing here reads a store or a clock: the same groups and the same memory give the same judgement, in any order.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from reconcile.findings.handled import decisions_by_finding, without_handled
from reconcile.findings.identity import RuleIdentity, judged_values
from reconcile.findings.known import Known, Match, NotSame, match
from reconcile.findings.payload import MISSING, extents_of
from reconcile.findings.states import IN_HAND, LIVE, Event, State
from rules.groups.group import Group


class FindingChange(enum.Enum):
    """The change of one finding in a run."""

    NEW = "new"
    KNOWN = "known"
    SHRUNK = "shrunk"
    GROWN = "grown"
    REOPENED = "reopened"
    WOKEN = "woken"
    RESOLVED = "resolved"
    MERGED = "merged"
    SETTLED = "settled"  # found, but already decided: not reported
    IN_HAND = "in_hand"  # found, but a cleaning has its records: they may have been read before it

    @property
    def is_told(self) -> bool:
        return self in (FindingChange.NEW, FindingChange.GROWN, FindingChange.REOPENED, FindingChange.WOKEN)


@dataclass(frozen=True)
class Verdict:
    """The result of today's detection for one finding.

    `finding` is None for a new one, and for a group whose pairs were all judged different, which is not a finding.
    `group` is None if the records are gone. `event` is None if nothing happened to it. `into` is the finding that took
    in a merged one. `reason` is for people. The money of `group` is that of the records nobody handled yet, and
    `handled` that of the others.
    """

    change: FindingChange
    finding: str | None = None
    group: Group | None = None
    event: Event | None = None
    into: str | None = None
    reason: str | None = None
    handled: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement:
    """One verdict for every group of today and every known finding that changed."""

    verdicts: tuple[Verdict, ...]


NO_LONGER_MATCH = "its records no longer match"
RULE_CHANGED = "the rule changed and no longer finds these records"
OTHER_KIND = "its rule is of another kind now"
ONLY_SETTLED = "only records with an earlier decision are left"
PARTED = "its records left the finding that it was merged into"
NEW_MEMBER = "a new record joined that no decision covers"
NEW_VALUES = "values changed since it was decided"
FOUND_AGAIN = "its records match again"
NOT_CLEAN = "its records match again after they were cleaned"
LARGER = "its amount or difference is larger than before"
MORE_MISSING = "more numbers are missing than before"
ANOTHER_FIELD = "another field differs"
OTHER_FIELDS = "other fields differ"
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
    """Judge today's groups against the rule's known findings.

    `at` ends snoozes. `edited`: the rule's matching changed since the last run. `complete` is False for a run that did
    not read every record: findings it missed stay unchanged. Records cleaned after `read_at`, when the run began to
    read, may have been read before. A finding of another kind of rule continues as no group: that was another rule.
    Verdicts on groups come in the groups' order, then those on findings no group
    continues, oldest first.
    """
    own = [finding for finding in known if finding.kind in (rule.kind, None)]
    matching = match(groups, own, not_same, by_records=rule.by_records)
    decisions = decisions_by_finding(own, matching)
    took_in = defaultdict[str | None, list[str]](list)
    for name, into in matching.absorbed.items():
        took_in[into].append(name)
    verdicts = [
        _with_origin(
            _less_handled(_on_group(matched, not_same, at, read_at or at), matched, not_same, decisions),
            matched,
            took_in,
        )
        for matched in matching.matches
    ]
    reason = RULE_CHANGED if edited else NO_LONGER_MATCH
    parted = frozenset(record for matched in matching.matches if matched.is_back for record in matched.records)
    for finding in matching.left:
        if finding.id in matching.absorbed:
            into = matching.absorbed[finding.id]
            verdicts.append(Verdict(FindingChange.MERGED, finding.id, event=Event.ABSORBED, into=into))
        elif complete and finding.state in LIVE:
            why = reason if parted.isdisjoint(finding.members) else ONLY_SETTLED
            verdicts.append(Verdict(FindingChange.RESOLVED, finding.id, event=Event.VANISHED, reason=why))
    ended = (finding for finding in known if finding.kind not in (rule.kind, None) and finding.state in LIVE)
    return Judgement((*verdicts, *(_of_other_kind(finding) for finding in sorted(ended, key=lambda each: each.id))))


def _of_other_kind(finding: Known) -> Verdict:
    return Verdict(FindingChange.RESOLVED, finding.id, event=Event.VANISHED, reason=OTHER_KIND)


def _with_origin(verdict: Verdict, matched: Match, took_in: Mapping[str | None, Sequence[str]]) -> Verdict:
    """Return the verdict with the findings that it took in, or the one that its records were part of, as its reason."""
    if verdict.reason is None and verdict.change is FindingChange.GROWN and (names := took_in.get(verdict.finding)):
        return replace(verdict, reason=f"took in {', '.join(sorted(names))}")
    if verdict.reason is None and verdict.change is FindingChange.NEW:
        former = [
            finding.id
            for finding in matched.candidates
            if (finding.members | finding.former).issuperset(matched.records)
        ]
        return replace(verdict, reason=f"its records were part of {former[0]}") if former else verdict
    return verdict


def _less_handled(
    verdict: Verdict, matched: Match, not_same: NotSame, decisions: Mapping[str, Sequence[Known]]
) -> Verdict:
    """Return the verdict without the money of what was handled; of a finding that is handled as a whole, with the money
    of that decision, whatever records are left."""
    finding, group = matched.finding, verdict.group
    if group is None or group.keeper is None:
        return verdict
    if verdict.change is FindingChange.SETTLED:
        if finding is None or verdict.event not in (Event.HANDLED, Event.HANDLED_AGAIN) or not finding.handled:
            return verdict
        return replace(verdict, group=replace(group, money=finding.handled))
    decided = decisions.get(finding.id, ()) if finding is not None else ()
    if not (decided or not_same.handled):
        return verdict
    group, handled = without_handled(group, matched.records, decided, not_same)
    return replace(verdict, group=group, handled=handled)


def _on_group(matched: Match, not_same: NotSame, at: dt.datetime, read_at: dt.datetime) -> Verdict:
    finding, group = matched.finding, matched.group
    if finding is not None and _is_in_hand(finding, read_at):
        return Verdict(FindingChange.IN_HAND, finding.id, group)
    if finding is not None and matched.settled and finding.state is State.CLEANED and not matched.judged:
        return Verdict(FindingChange.REOPENED, finding.id, group, Event.CAME_BACK, reason=NOT_CLEAN)
    if finding is None and matched.settled:
        return Verdict(FindingChange.SETTLED, group=group)
    if finding is None:
        return Verdict(FindingChange.NEW, group=group, event=Event.OPENED)
    if matched.settled and finding.state in LIVE:
        if (event := _decided_again(matched, finding, not_same)) is not None:
            return Verdict(FindingChange.SETTLED, finding.id, group, event, reason=ONLY_SETTLED)
        return Verdict(FindingChange.RESOLVED, finding.id, group, Event.VANISHED, reason=ONLY_SETTLED)
    if matched.settled and finding.state is State.MERGED:
        event = _AGAIN.get(finding.decided, Event.UNDONE_AGAIN)
        return Verdict(FindingChange.SETTLED, finding.id, group, event, reason=PARTED)
    if matched.settled:
        return Verdict(FindingChange.SETTLED, finding.id, group)
    if finding.state in LIVE:
        return _on_live(matched, finding, at)
    return Verdict(FindingChange.REOPENED, finding.id, group, Event.CAME_BACK, reason=_why_back(matched, finding))


def _decided_again(matched: Match, finding: Known, not_same: NotSame) -> Event | None:
    """Return the event of the decision that covers a finding again, now that what joined it has left."""
    if finding.covers(matched.records, judged_values(matched.group)):
        return _EVENTS.get(finding.decided)
    return Event.HANDLED if matched.judged and not_same.are_all_handled(matched.records) else None


_AGAIN: Mapping[State | None, Event] = {
    State.HANDLED: Event.HANDLED_AGAIN,
    State.DISMISSED: Event.DISMISSED_AGAIN,
}
_EVENTS: Mapping[State | None, Event] = {State.HANDLED: Event.HANDLED, State.DISMISSED: Event.DISMISSED}


def _is_in_hand(finding: Known, read_at: dt.datetime) -> bool:
    """Return True if a cleaning or an undo has the records, or had them after they were read."""
    if finding.state in IN_HAND or finding.is_being_undone:
        return True
    return finding.state in (State.CLEANED, State.UNDONE) and finding.since is not None and finding.since >= read_at


def _on_live(matched: Match, finding: Known, at: dt.datetime) -> Verdict:
    if any(record not in finding.members and record not in finding.former for record in matched.records):
        return Verdict(FindingChange.GROWN, finding.id, matched.group, Event.GREW)
    if why := _why_larger(matched.group, finding):
        return Verdict(FindingChange.GROWN, finding.id, matched.group, Event.GREW, reason=why)
    if finding.state is State.SNOOZED and finding.snoozed_until is not None and finding.snoozed_until <= at:
        return Verdict(FindingChange.WOKEN, finding.id, matched.group, Event.WOKE, reason=SNOOZE_OVER)
    if len(matched.records) < len(finding.members):
        return Verdict(FindingChange.SHRUNK, finding.id, matched.group, Event.SHRANK)
    return Verdict(FindingChange.KNOWN, finding.id, matched.group)


def _why_larger(group: Group, finding: Known) -> str | None:
    """Return the reason if a group with extents is larger than it ever was since it was new or came back.

    One that shrinks and grows again is no news until it exceeds its peak.
    """
    sizes = extents_of(group)
    larger = [name for name, size in sizes.items() if size > finding.peaks.get(name, 0)]
    if larger:
        return MORE_MISSING if larger == [MISSING] else LARGER
    fields = len(sizes.keys() - finding.peaks.keys())
    return None if not fields else ANOTHER_FIELD if fields == 1 else OTHER_FIELDS


def _why_back(matched: Match, finding: Known) -> str:
    if finding.state is State.RESOLVED:
        return FOUND_AGAIN
    return NEW_VALUES if finding.settled.issuperset(matched.records) else NEW_MEMBER
