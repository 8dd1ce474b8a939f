"""Step 4: turn findings into a notice for a channel, with personal data masked unless the channel may show it.

Failed checks of a job: reported once when they begin and once when they work again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice

from notifications.base import (
    MASK,
    NOT_UNDONE,
    BalanceNotice,
    CleaningNotice,
    DifferenceNotice,
    FailureNotice,
    GroupNotice,
    Notice,
    RuleNotice,
)
from notifications.wording.words import plural
from reconcile.config.settings import Project
from reconcile.findings.identity import public
from reconcile.findings.judgement import FindingChange
from reconcile.findings.results import CleaningResult, Outcome, RuleFailure, RuleResult
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.messages import outbox
from reconcile.messages.joined import added_money, joined_records
from reconcile.messages.news import News, RuleNews, gaps
from reconcile.messages.personal import Hidden
from reconcile.store import Transaction
from reconcile.store import runs as stored
from rules.engines.base import BalanceLine
from rules.forms import FormWords, counted
from rules.kinds.base import Rule
from rules.values import Value

_MOST_VALUES = 6  # values that link the records of a group


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

    `plans` holds the hashes of plans that wait for approval, by finding. `again` is when failed checks are repeated.
    `tells_why`: it says why something could not be checked; otherwise another channel does.
    """

    project: Project
    job: str
    run: str
    slot: dt.datetime
    message: str
    since: dt.datetime | None
    created: dt.datetime
    show: tuple[str, ...]
    again: dt.datetime | None = None
    tells_why: bool = True
    plans: Mapping[str, str] = field(default_factory=dict)


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
        failures=tuple(_failure(letter, item) for item in news),
        since=letter.since,
        created=letter.created,
        timezone=letter.project.timezone,
        cleaning=tuple(_cleanings(letter, outcomes, asking, not_undone)),
        project=letter.project.name,
    )


def tells_why(project: Project, channel: str) -> bool:
    """Return True if the channel is for operators, or operators have no channel of their own."""
    return not project.alerts or channel in project.alerts


def _failure(letter: Letter, item: FailureNews) -> FailureNotice:
    sentence = item.sentence if letter.tells_why else ""
    return FailureNotice(item.subject, sentence, item.since, item.ended, None if item.ended else letter.again)


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


def _cleaning(letter: Letter, outcome: Outcome, asking: RuleNews, not_undone: RuleNews) -> CleaningNotice:
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


def _rule(letter: Letter, result: RuleResult, news: RuleNews) -> RuleNotice:
    rule = letter.project.rules[result.rule]
    hidden = Hidden.of(letter.project, rule.dataset, rule.name, letter.show)
    hides_balance = hidden.hides_amounts and result.findings.undecided < 2
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
        edited=result.edited,
        owner=rule.owner,
        runbook=rule.runbook,
        why=news.cause,
        trend=_trend(result),
        largest=tuple(_group(letter, finding, rule) for finding in news.largest()),
        skipped=tuple(entry.sentence for entry in result.skipped),
        datasets=result.datasets,
        nouns=rule.nouns,
        forms=dict(sorted(news.forms.items())),
        in_words=counted(news.forms, rule.form_words),
        balance=() if hides_balance else tuple(balance_notice(line, rule.form_words) for line in result.balance),
    )


def balance_notice(line: BalanceLine, phrase: Callable[[str], FormWords]) -> BalanceNotice:
    """Return the line with its forms in words; several forms may have the same."""
    by_form: dict[str, Decimal] = {}
    for form, amount in line.by_form.items():
        words = phrase(form).phrase
        by_form[words] = by_form.get(words, Decimal(0)) + amount
    return BalanceNotice(**vars(line) | {"by_form": by_form})


def _trend(result: RuleResult) -> str | None:
    """Return the numbers of groups in earlier runs as a sentence, from the third run on."""
    before = result.groups_before or ()
    if len(before) < 2:
        return None
    groups = plural(result.groups, "group", "groups")
    return f"{groups} in all; earlier runs found {', '.join(f'{n:,}' for n in before)}"


def _group(letter: Letter, finding: Finding, rule: Rule) -> GroupNotice:
    hidden = Hidden.of(letter.project, finding.dataset, rule.name, letter.show)
    datasets = finding.datasets
    raw = finding.members[0].values if finding.members else {}
    by_role = defaultdict[str, list[str]](list)
    for member, name in zip(finding.members, hidden.names(finding.members, datasets), strict=True):
        by_role[member.role].append(name)
    hides_span = finding.span is None or hidden.hides_of_key(hidden.span, datasets)
    first, last = (None, None) if finding.span is None or hides_span else finding.span
    joined = joined_records(finding)
    return GroupNotice(
        finding=finding.id,
        state=finding.change.value,
        key={
            column: MASK
            if hidden.hides_of_key(column, datasets)
            else _text(value if finding.links else raw.get(column, value))
            for column, value in islice(finding.key.items(), None if not finding.links else _MOST_VALUES)
        },
        keeper=next(iter(by_role["keeper"]), ""),
        surplus=tuple(by_role["surplus"]),
        records=finding.records,
        money=hidden.risk(finding.money),
        first=first if isinstance(first, dt.datetime) else None,
        last=last if isinstance(last, dt.datetime) else None,
        seconds_apart=gaps(finding, rule),
        nearby=tuple(hidden.names(finding.nearby, datasets)),
        nearby_records=finding.nearby_records,
        history=_history(finding),
        form=finding.form,
        in_words=rule.form_words(finding.form).phrase,
        left=tuple(by_role["left"]),
        right=tuple(by_role["right"]),
        differences=tuple(_differences(finding, hidden)),
        form_reason=finding.form_reason,
        joined=tuple(hidden.names(joined, datasets)),
        added=hidden.risk(added_money(letter.project, finding, joined), len(joined)),
    )


def _differences(finding: Finding, hidden: Hidden) -> Iterator[DifferenceNotice]:
    for each in finding.differences:
        left, right = hidden.compared(each, finding.datasets)
        yield DifferenceNotice(each.column, "" if left is None else str(left), "" if right is None else str(right))


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
    checked = [outcome.rule for outcome in outcomes if isinstance(outcome, RuleResult)]
    return name in checked if what == "rule" else any(name in project.sources_of(rule) for rule in checked)
