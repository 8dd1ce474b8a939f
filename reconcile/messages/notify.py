"""Step 4: turn findings into a notice for a channel, with personal data masked unless the channel may show it.

Failed checks of a job: reported once when they begin and once when they work again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations, islice, pairwise

from notifications.base import MASK, NOT_UNDONE, CleaningNotice, FailureNotice, GroupNotice, Notice, RuleNotice
from notifications.wording.words import plural
from reconcile.config.settings import Project
from reconcile.findings.identity import public
from reconcile.findings.judgement import FindingChange
from reconcile.findings.results import CleaningResult, Outcome, RuleFailure, RuleResult
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.messages import outbox
from reconcile.messages.personal import Hidden
from reconcile.store import Transaction
from reconcile.store import runs as stored
from rules import values
from rules.forensics import Shift, copy_sentence, retry_sentence
from rules.kinds.base import Rule
from rules.values import Value

MOST_GROUPS = 40
"""The most groups of a rule in a notice. A message shows three, its thread some more; a count stands for the rest."""

_MOST_VALUES = 6  # values that link the records of a group
_COMPARED = 10
"""Records of a group whose places in files are compared."""
_MOST_SHIFTS = 10_000


@dataclass(frozen=True)
class FailureNews:
    """A subject that could not be checked since a time, or can be checked again (`ended`)."""

    subject: str
    sentence: str
    since: dt.datetime
    ended: bool = False


@dataclass(frozen=True)
class Letter:
    """Data that every part of a message needs: its origin, and the masked columns it may show.

    `plans` holds the hashes of plans that wait for approval, by finding.
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
    """News about findings: sums for each rule, the largest findings, and the `versions` of all of them."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self._rules: dict[str, _OfRule] = defaultdict(_OfRule)

    @classmethod
    def of(cls, project: Project, findings: Iterable[Finding]) -> News:
        """Collect the news one finding at a time, and keep only the largest findings."""
        news = cls()
        for finding in findings:
            rule = project.rules[finding.rule]
            news.versions[finding.id] = finding.version
            news._rules[finding.rule].add(finding, _gaps(finding, rule))
        return news

    def of_rule(self, name: str) -> _OfRule:
        return self._rules[name]

    @property
    def shown(self) -> list[str]:
        """The ids of the findings that a message may show."""
        return [finding.id for rule in self._rules.values() for finding in rule.largest()]

    def __bool__(self) -> bool:
        return bool(self.versions)


class _OfRule:
    """News about a rule's findings. `records` counts the surplus that no earlier decision covers."""

    def __init__(self) -> None:
        self.changes: Counter[FindingChange] = Counter()
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
        self.records += sum(record.settled_at is None for record in finding.surplus)
        values.add(self.money, finding.money)
        self.summary = self.summary or finding.summary
        self.gaps.extend(gaps)
        self.shifts.update(_shifts(finding))
        if len(self.shifts) > _MOST_SHIFTS:  # keep the most common ones
            self.shifts = Counter(dict(self.shifts.most_common(_MOST_SHIFTS // 10)))
        self._large.append(finding)
        if len(self._large) > 10 * MOST_GROUPS:  # sort now and then, not for every finding
            self._large = self.largest()

    def largest(self) -> list[Finding]:
        """Return the largest findings: the most money first, then the most records, then the oldest."""

        def rank(finding: Finding) -> tuple[Decimal, int, dt.datetime, str]:
            return -max(finding.money.values(), default=Decimal(0)), -finding.records, finding.first_seen, finding.id

        return sorted(self._large, key=rank)[:MOST_GROUPS]


def message_id(run: str, channel: str, attempt: int) -> str:
    """Return the id of an attempt's message to a channel, the same for every delivery."""
    digest = hashlib.sha256(f"reconcile/message/1|{run}|{channel}|{attempt}".encode()).hexdigest()
    return f"msg1_{digest[:24]}"


def digest(
    letter: Letter,
    outcomes: Sequence[Outcome],
    untold: News,
    news: Sequence[FailureNews],
    asking: News,
    not_undone: News,
) -> Notice:
    """Build a run's only message to a channel: findings that wait for a person (`asking`, and `not_undone`), new
    findings, failed checks, cleanings, and improvements."""
    return Notice(
        id=letter.message,
        job=letter.job,
        run=letter.run,
        slot=letter.slot,
        rules=tuple(
            _rule(letter, outcome, untold.of_rule(outcome.rule))
            for outcome in outcomes
            if isinstance(outcome, RuleResult)
        ),
        failures=tuple(FailureNotice(item.subject, item.sentence, item.since, item.ended) for item in news),
        since=letter.since,
        created=letter.created,
        timezone=letter.project.timezone,
        cleaning=tuple(_cleanings(letter, outcomes, asking, not_undone)),
    )


def says_something(outcomes: Sequence[Outcome], before: Sequence[Outcome]) -> bool:
    """Return True if the cleaning has news, apart from findings and stops that the run `before` reported."""
    stops = {(outcome.rule, outcome.cleaning.stopped) for outcome in before}

    def is_new(rule: str, cleaning: CleaningResult) -> bool:
        is_stopped = cleaning.stopped and (rule, cleaning.stopped) not in stops
        return bool(is_stopped or cleaning.cleaned or cleaning.of_killed or cleaning.stale or cleaning.next_run)

    return any(is_new(outcome.rule, outcome.cleaning) for outcome in outcomes)


def _cleanings(letter: Letter, outcomes: Sequence[Outcome], asking: News, not_undone: News) -> Iterator[CleaningNotice]:
    """Yield a notice for each rule that cleaned or waits for people, checked or not; those that wait come first."""
    rules = ((outcome, outcome.rule) for outcome in outcomes)
    notices = [_cleaning(letter, outcome, asking.of_rule(rule), not_undone.of_rule(rule)) for outcome, rule in rules]
    yield from sorted((notice for notice in notices if notice.is_told), key=lambda notice: not notice.asks)


def _cleaning(letter: Letter, outcome: Outcome, asking: _OfRule, not_undone: _OfRule) -> CleaningNotice:
    rule = letter.project.rules[outcome.rule]
    hidden = Hidden.of(letter.project, rule.dataset, rule.name, letter.show)
    cleaning = outcome.cleaning
    cleaned = {**cleaning.of_killed, **({letter.run: cleaning.cleaned} if cleaning.cleaned else {})}
    return CleaningNotice(
        rule=rule.name,
        severity=rule.severity.name,
        dataset=rule.dataset,
        awaiting=asking.states[State.AWAITING],
        quarantined=asking.states[State.QUARANTINED],
        failed=asking.states[State.FAILED],
        not_undone=not_undone.states.total(),
        cleaned=sum(cleaned.values()),
        stale=cleaning.stale or 0,
        waiting=cleaning.waiting or 0,
        next_run=cleaning.next_run,
        money=hidden.risk(dict(sorted(asking.money.items())), asking.states.total()),
        stopped=cleaning.stopped or cleaning.uncounted,
        undo="; ".join(f"reconcile undo --run {run}" for run in cleaned or (letter.run,)),
        findings=(
            *(
                replace(_group(letter, finding, rule), state=NOT_UNDONE, history=finding.not_undone)
                for finding in not_undone.largest()
            ),
            *(_asking(letter, finding, rule) for finding in asking.largest()),
        ),
        owner=rule.owner,
    )


def _asking(letter: Letter, finding: Finding, rule: Rule) -> GroupNotice:
    """Describe a finding that waits for a person, with its plan or the reason why its cleaning failed."""
    group = replace(_group(letter, finding, rule), state=finding.state.value, plan_hash=letter.plans.get(finding.id))
    return group if finding.state is State.AWAITING else replace(group, history=finding.reason)


def _rule(letter: Letter, result: RuleResult, news: _OfRule) -> RuleNotice:
    rule = letter.project.rules[result.rule]
    hidden = Hidden.of(letter.project, rule.dataset, rule.name, letter.show)
    return RuleNotice(
        rule=rule.name,
        kind=rule.kind,
        severity=rule.severity.name,
        dataset=rule.dataset,
        new=news.changes[FindingChange.NEW],
        grown=news.changes[FindingChange.GROWN],
        reopened=news.changes[FindingChange.REOPENED] + news.changes[FindingChange.WOKEN],
        known=max(0, result.findings.undecided - news.changes.total() - (result.cleaning.cleaned or 0)),
        resolved=result.findings.resolved,
        records=news.records,
        money=hidden.risk(dict(sorted(news.money.items())), news.changes.total()),
        first_run=news.summary,
        owner=rule.owner,
        runbook=rule.runbook,
        why=copy_sentence(news.shifts, news.records) or retry_sentence(news.gaps),
        trend=_trend(result),
        largest=tuple(_group(letter, finding, rule) for finding in news.largest()),
        skipped=tuple(entry.sentence for entry in result.skipped),
    )


def _gaps(finding: Finding, rule: Rule) -> tuple[float, ...]:
    """Return the seconds between neighbours in time, if the rule orders by an instant."""
    if rule.ordered_by is None:
        return ()
    times = sorted(
        time for member in finding.members if isinstance(time := member.values.get(rule.ordered_by), dt.datetime)
    )
    return tuple((later - earlier).total_seconds() for earlier, later in pairwise(times))


def _shifts(finding: Finding) -> Iterator[Shift]:
    """Yield the finding's pairs of records in two files, if file and row identify records."""
    places = sorted(
        (file, row)
        for member in finding.members[:_COMPARED]
        if isinstance(file := member.values.get("_file"), str) and isinstance(row := member.values.get("_row"), int)
    )
    return ((a, b, at - of) for (a, of), (b, at) in combinations(places, 2) if a != b)


def _trend(result: RuleResult) -> str | None:
    """Return the numbers of groups in earlier runs as a sentence, from the third run on."""
    before = result.groups_before or ()
    if len(before) < 2:
        return None
    groups = plural(result.groups, "group", "groups")
    return f"{groups} in all; earlier runs found {', '.join(f'{n:,}' for n in before)}"


def _group(letter: Letter, finding: Finding, rule: Rule) -> GroupNotice:
    hidden = Hidden.of(letter.project, finding.dataset, rule.name, letter.show)
    keeper, names = finding.keeper, hidden.names(finding.members)
    raw = keeper.values if keeper else {}
    first, last = (None, None) if finding.span is None or hidden.hides(hidden.span) else finding.span
    return GroupNotice(
        finding=finding.id,
        state=finding.change.value,
        key={
            column: MASK if hidden.hides(column) else _text(value if finding.links else raw.get(column, value))
            for column, value in islice(finding.key.items(), None if not finding.links else _MOST_VALUES)
        },
        keeper=names[0] if keeper else "",
        surplus=tuple(names[1:] if keeper else names),
        records=finding.records,
        money=hidden.risk(finding.money),
        first=first if isinstance(first, dt.datetime) else None,
        last=last if isinstance(last, dt.datetime) else None,
        seconds_apart=_gaps(finding, rule),
        nearby=tuple(hidden.names(finding.nearby)),
        nearby_records=finding.nearby_records,
        history=_history(finding),
    )


def _history(finding: Finding) -> str | None:
    if finding.change not in (FindingChange.REOPENED, FindingChange.WOKEN, FindingChange.GROWN):
        return None
    decided = f"; last decided by {finding.decided_by}" if finding.decided_by else ""
    return f"{finding.reason}{decided}" if finding.reason else None


def _text(value: Value) -> str:
    return "" if value is None else str(public(value))


def news(
    tx: Transaction, project: Project, job: str, run: str, outcomes: Collection[Outcome]
) -> tuple[FailureNews, ...]:
    """Return the checks that began to fail and those that work again, and store that."""
    before = stored.failing(tx, job)
    now = {failure.subject: failure.failed for failure in outcomes if isinstance(failure, RuleFailure)}
    for subject, sentence in now.items():
        stored.keep_failure(tx, job, subject, sentence, run)
    over = [subject for subject in before if subject not in now and _works(project, subject, outcomes)]
    for subject in over:
        stored.end_failure(tx, job, subject)
    begun = [FailureNews(subject, sentence, tx.now) for subject, sentence in now.items() if subject not in before]
    return (*begun, *(FailureNews(s, before[s][0], before[s][1], ended=True) for s in over))


def unheard(
    tx: Transaction, project: Project, job: str, channel: str, reported: Collection[str]
) -> Iterator[FailureNews]:
    """Yield earlier beginnings and ends that the channel missed because their message was given up.

    Leaves out subjects `reported` now, and those whose state changed since.
    """
    person = project.channels[channel].settings.on_unknown == "person"
    still = stored.failing(tx, job)
    for failure in outbox.undelivered_failures(tx, channel, job, outcome_unknown=not person):
        if failure.subject not in reported and failure.ended == (failure.subject not in still):
            sentence, since = still.get(failure.subject, (failure.sentence, failure.since or tx.now))
            yield FailureNews(failure.subject, sentence, since, ended=failure.ended)


def _works(project: Project, subject: str, outcomes: Collection[Outcome]) -> bool:
    """Return True if the run ended a former failure: it checked that rule, or read that source."""
    what, _, name = subject.partition(" ")
    checked = (outcome for outcome in outcomes if isinstance(outcome, RuleResult))
    return any(name == (r.rule if what == "rule" else project.datasets[r.dataset].source) for r in checked)
