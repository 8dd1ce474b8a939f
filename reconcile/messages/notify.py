"""Step 4: findings become a notice for one channel, with personal data masked unless the channel may show it."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations, pairwise
from typing import Any

from notifications.base import MASK, NOT_UNDONE, CleaningNotice, FailureNotice, GroupNotice, Notice, RuleNotice
from notifications.wording.words import plural
from reconcile.config.settings import Project
from reconcile.findings.identity import public
from reconcile.findings.judgement import Change
from reconcile.findings.shown import Finding, to_json
from reconcile.findings.states import State
from reconcile.messages.personal import Hidden, names
from rules import sums
from rules.forensics import Shift, copy_sentence, retry_sentence
from rules.kinds.base import Rule
from rules.values import Value

MOST_GROUPS = 40
"""A message shows three groups, its thread some more; the rest is a count and a command."""

_COMPARED = 10
"""Records of one group that are compared by the places they stand at."""
_MOST_SHIFTS = 10_000


@dataclass(frozen=True)
class FailureNews:
    """Something that could not be checked, since when, or that it can be again."""

    subject: str
    sentence: str
    since: dt.datetime
    ended: bool = False


@dataclass(frozen=True)
class Letter:
    """What every part of one message needs: whose it is, and which masked columns it may show.

    `plans` are the hashes of plans that wait for approval, by finding.
    """

    project: Project
    job: str
    run: str
    slot: dt.datetime
    message: str
    since: dt.datetime | None
    created: dt.datetime
    show: tuple[str, ...]
    plans: Mapping[str, str] = field(default_factory=dict)


class News:
    """What there is to tell of findings: sums for each rule, the largest findings, and which `versions` these were."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self._rules: dict[str, _OfRule] = defaultdict(_OfRule)

    @classmethod
    def of(cls, project: Project, findings: Iterable[Finding]) -> News:
        """Findings are looked at one after the other, and most of them forgotten."""
        made = cls()
        for one in findings:
            rule = project.rules[one.rule]
            made.versions[one.id] = one.version
            made._rules[one.rule].add(one, _gaps(one, rule))
        return made

    def of_rule(self, name: str) -> _OfRule:
        return self._rules[name]

    @property
    def shown(self) -> list[str]:
        """The findings that a message may show."""
        return [finding.id for rule in self._rules.values() for finding in rule.largest()]

    def __bool__(self) -> bool:
        return bool(self.versions)


class _OfRule:
    """What there is to tell of one rule's findings. `records`: surplus that no earlier decision covers."""

    def __init__(self) -> None:
        self.changes: Counter[Change] = Counter()
        self.states: Counter[State] = Counter()
        self.records = 0
        self.money: dict[str, Decimal] = {}
        self.summary = False
        self.gaps: list[float] = []
        self.shifts: Counter[Shift] = Counter()
        self._large: list[Finding] = []

    def add(self, finding: Finding, gaps: Iterable[float]) -> None:
        self.changes[finding.change] += 1
        self.states[finding.state] += 1
        self.records += sum(one.settled_at is None for one in finding.surplus)
        sums.add(self.money, finding.money)
        self.summary = self.summary or finding.summary
        self.gaps.extend(gaps)
        self.shifts.update(_shifts(finding))
        if len(self.shifts) > _MOST_SHIFTS:  # what most have in common stays
            self.shifts = Counter(dict(self.shifts.most_common(_MOST_SHIFTS // 10)))
        self._large.append(finding)
        if len(self._large) > 10 * MOST_GROUPS:  # sorted once in a while, and not for each
            self._large = self.largest()

    def largest(self) -> list[Finding]:
        """The most money first, then the most records, then the oldest."""

        def rank(finding: Finding) -> tuple[Decimal, int, dt.datetime, str]:
            return -max(finding.money.values(), default=Decimal(0)), -finding.records, finding.first_seen, finding.id

        return sorted(self._large, key=rank)[:MOST_GROUPS]


def message_id(run: str, channel: str, attempt: int) -> str:
    """One id for one attempt's message to one channel, however often it is sent."""
    digest = hashlib.sha256(f"reconcile/message/1|{run}|{channel}|{attempt}".encode()).hexdigest()
    return f"msg1_{digest[:24]}"


def digest(
    letter: Letter,
    outcomes: Sequence[Mapping[str, Any]],
    untold: News,
    news: Sequence[FailureNews],
    asking: News,
    not_undone: News,
) -> Notice:
    """The one message of a run to a channel: what waits for a person (`asking`, and undos that were `not_undone`), what
    is new to the channel, what could not be checked, what was cleaned, and what got better."""
    return Notice(
        id=letter.message,
        job=letter.job,
        run=letter.run,
        slot=letter.slot,
        rules=tuple(_rule(letter, o, untold.of_rule(o["rule"])) for o in outcomes if "failed" not in o),
        failures=tuple(FailureNotice(n.subject, n.sentence, n.since, n.ended) for n in news),
        since=letter.since,
        created=letter.created,
        timezone=letter.project.timezone,
        cleaning=tuple(_cleanings(letter, outcomes, asking, not_undone)),
    )


def says_something(outcomes: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is something to tell of what was done, beyond findings and a stop that the run `before` told."""
    known = {(one["rule"], one.get("cleaning", {}).get("stopped")) for one in before}

    def is_new(rule: str, said: Mapping[str, Any]) -> bool:
        stops = said.get("stopped") and (rule, said["stopped"]) not in known
        return bool(stops or any(said.get(name) for name in ("cleaned", "of_killed", "stale", "next_run")))

    return any(is_new(one["rule"], one.get("cleaning", {})) for one in outcomes)


def _cleanings(
    letter: Letter, outcomes: Sequence[Mapping[str, Any]], asking: News, not_undone: News
) -> Iterator[CleaningNotice]:
    """A notice for each rule that did something or asks something, whether it could be checked or not; rules that ask
    come first."""
    made = [_cleaning(letter, one, asking.of_rule(one["rule"]), not_undone.of_rule(one["rule"])) for one in outcomes]
    yield from sorted((one for one in made if one.is_told), key=lambda one: not one.asks)


def _cleaning(letter: Letter, outcome: Mapping[str, Any], asking: _OfRule, not_undone: _OfRule) -> CleaningNotice:
    rule = letter.project.rules[outcome["rule"]]
    hidden = Hidden.of(letter.project, rule.dataset, rule.name, letter.show)
    said = outcome.get("cleaning", {})
    cleaned = said.get("of_killed", {}) | ({letter.run: said["cleaned"]} if said.get("cleaned") else {})
    return CleaningNotice(
        rule=rule.name,
        severity=rule.severity.name,
        dataset=rule.dataset,
        awaiting=asking.states[State.AWAITING],
        quarantined=asking.states[State.QUARANTINED],
        failed=asking.states[State.FAILED],
        not_undone=not_undone.states.total(),
        cleaned=sum(cleaned.values()),
        stale=said.get("stale", 0),
        waiting=said.get("waiting", 0),
        next_run=said.get("next_run"),
        money=hidden.risk(dict(sorted(asking.money.items())), asking.states.total()),
        stopped=said.get("stopped") or said.get("uncounted"),
        undo="; ".join(f"reconcile undo --run {run}" for run in cleaned or (letter.run,)),
        findings=(
            *(
                replace(_group(letter, one, rule), state=NOT_UNDONE, history=one.not_undone)
                for one in not_undone.largest()
            ),
            *(_asking(letter, one, rule) for one in asking.largest()),
        ),
        owner=rule.owner,
    )


def _asking(letter: Letter, finding: Finding, rule: Rule) -> GroupNotice:
    """A finding that waits for a person: with its plan, or with why its cleaning failed."""
    group = replace(_group(letter, finding, rule), state=finding.state.value, plan=letter.plans.get(finding.id))
    return group if finding.state is State.AWAITING else replace(group, history=finding.reason)


def _rule(letter: Letter, outcome: Mapping[str, Any], told: _OfRule) -> RuleNotice:
    rule = letter.project.rules[outcome["rule"]]
    hidden = Hidden.of(letter.project, rule.dataset, rule.name, letter.show)
    counts = outcome["findings"]
    still = counts["new"] + counts["known"] + counts["grown"] + counts["reopened"]
    return RuleNotice(
        rule=rule.name,
        kind=rule.kind,
        severity=rule.severity.name,
        dataset=rule.dataset,
        new=told.changes[Change.NEW],
        grown=told.changes[Change.GROWN],
        reopened=told.changes[Change.REOPENED] + told.changes[Change.WOKEN],
        known=max(0, still - told.changes.total() - outcome.get("cleaning", {}).get("cleaned", 0)),
        resolved=counts["resolved"],
        records=told.records,
        money=hidden.risk(dict(sorted(told.money.items())), told.changes.total()),
        first_run=told.summary,
        owner=rule.owner,
        runbook=rule.runbook,
        why=copy_sentence(told.shifts, told.records) or retry_sentence(told.gaps),
        trend=_trend(outcome),
        largest=tuple(_group(letter, finding, rule) for finding in told.largest()),
        skipped=tuple(left_out(one) for one in outcome["skipped"]),
    )


def _gaps(finding: Finding, rule: Rule) -> tuple[float, ...]:
    """Seconds between neighbours, in the order of time, where the rule orders by an instant."""
    if rule.ordered_by is None:
        return ()
    times = sorted(t for m in finding.members if isinstance(t := m.values.get(rule.ordered_by), dt.datetime))
    return tuple((later - earlier).total_seconds() for earlier, later in pairwise(times))


def _shifts(finding: Finding) -> Iterator[Shift]:
    """Its pairs of records of two files, where records are known by file and row."""
    places = sorted(
        (file, row)
        for member in finding.members[:_COMPARED]
        if isinstance(file := member.values.get("_file"), str) and isinstance(row := member.values.get("_row"), int)
    )
    return ((a, b, at - of) for (a, of), (b, at) in combinations(places, 2) if a != b)


def _trend(outcome: Mapping[str, Any]) -> str | None:
    """How many groups the runs before found; said from the third run on."""
    before = outcome["groups_before"]
    if len(before) < 2:
        return None
    return f"{outcome['groups']:,} groups in all; the runs before found {', '.join(f'{n:,}' for n in before)}"


def _group(letter: Letter, finding: Finding, rule: Rule) -> GroupNotice:
    hidden = Hidden.of(letter.project, finding.dataset, rule.name, letter.show)
    keeper, shown = finding.keeper, hidden.finding(to_json(finding))
    named = names(shown)
    raw = keeper.values if keeper else {}
    first, last = (None, None) if finding.span is None or hidden.hides(hidden.span) else finding.span
    return GroupNotice(
        finding=finding.id,
        state=finding.change.value,
        key={n: MASK if hidden.hides(n) else _text(raw.get(n, value)) for n, value in finding.key.items()},
        keeper=named[0] if keeper else "",
        surplus=tuple(named[1:] if keeper else named),
        records=finding.records,
        money=hidden.risk(finding.money),
        first=first if isinstance(first, dt.datetime) else None,
        last=last if isinstance(last, dt.datetime) else None,
        seconds_apart=_gaps(finding, rule),
        nearby=tuple(names(shown["nearby"])) if "nearby" in shown else (),
        nearby_records=finding.nearby_records,
        history=_history(finding),
    )


def _history(finding: Finding) -> str | None:
    if finding.change not in (Change.REOPENED, Change.WOKEN, Change.GROWN):
        return None
    decided = f"; last decided by {finding.decided_by}" if finding.decided_by else ""
    return f"{finding.reason}{decided}" if finding.reason else None


def _text(value: Value) -> str:
    return "" if value is None else str(public(value))


def left_out(one: Mapping[str, Any]) -> str:
    """One of `skipped` of a run's report, as a sentence for people without its end."""
    column, reason, records = one["column"], one["reason"], plural(one["records"], "record", "records")
    first = f", first at {one['first']}" if one.get("first") else ""
    if column == "id" and reason == "not unique":
        return f"{plural(one['records'], 'record shares its id', 'records share their id')} with another"
    if column == "*":  # it is said of the file
        return f"{reason}{first}"
    if "read_as" in one:  # the record took part; it is counted once more if it is left out for that
        return f"{column} of {records} counts as empty, for it is {reason}{first}"
    return f"{records} left out, {reason if column == 'where' else f'{column} is {reason}'}{first}"
