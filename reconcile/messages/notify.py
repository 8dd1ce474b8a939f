"""Step 4: turn findings into a notice for a channel, with personal data masked unless the channel may show it.

Failed checks of a job: reported once when they begin and once when they work again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from notifications.base import (
    NOT_UNDONE,
    CleaningNotice,
    FailureNotice,
    GroupNotice,
    Notice,
    PlanNotice,
)
from notifications.wording.words import plural
from reconcile.config.settings import Project
from reconcile.findings.results import CleaningResult, Outcome, RuleFailure, RuleResult
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.masking.personal import Masking
from reconcile.messages import outbox
from reconcile.messages.news import News, RuleNews
from reconcile.messages.notices import MessageContext, group_notice, in_words, plan_facts, rule_notice
from reconcile.messages.outcomes import CleaningOutcomes, RuleOutcomes
from reconcile.plugins import verb_of
from reconcile.store import Transaction
from reconcile.store import runs as stored
from reconcile.store.cleaning_news import CleaningNews
from rules.kinds.base import Rule


@dataclass(frozen=True)
class FailureNews:
    """A subject that could not be checked since a time, or can be checked again (`ended`)."""

    subject: str
    sentence: str
    since: dt.datetime
    ended: bool = False


def message_id(run: str, channel: str, attempt: int) -> str:
    """Return the id of an attempt's message to a channel, the same for every delivery."""
    digest = hashlib.sha256(f"reconcile/message/1|{run}|{channel}|{attempt}".encode()).hexdigest()
    return f"msg1_{digest[:24]}"


def digest(
    context: MessageContext,
    outcomes: Sequence[Outcome],
    untold: News,
    news: Sequence[FailureNews],
    asking: News,
    not_undone: News,
    results: CleaningOutcomes,
) -> Notice:
    """Build a run's only message to a channel: findings that wait for a person (`asking`, and `not_undone`), new
    findings, failed checks, what became of cleanings (`results`), and improvements."""
    return Notice(
        id=context.message,
        job=context.job,
        run=context.run,
        slot=context.slot,
        rules=tuple(
            rule_notice(context, outcome, untold.of_rule(outcome.rule))
            for outcome in outcomes
            if isinstance(outcome, RuleResult)
        ),
        failures=tuple(_failure(context, item) for item in news),
        since=context.since,
        created=context.created,
        timezone=context.project.timezone,
        cleaning=tuple(_cleanings(context, outcomes, asking, not_undone, results)),
        project=context.project.name,
        link=context.project.page("/review"),
    )


def tells_why(project: Project, channel: str) -> bool:
    """Return True if the channel is for operators, or operators have no channel of their own."""
    return not project.alerts or channel in project.alerts


def _failure(context: MessageContext, item: FailureNews) -> FailureNotice:
    sentence = item.sentence if context.tells_why else ""
    return FailureNotice(item.subject, sentence, item.since, item.ended, None if item.ended else context.again)


def says_something(outcomes: Sequence[Outcome], before: Sequence[Outcome]) -> bool:
    """Return True if the cleaning has news, apart from its outcomes and stops that the run `before` reported."""
    stops = {(outcome.rule, outcome.cleaning.stopped) for outcome in before}
    doubts = {(outcome.rule, outcome.cleaning.doubt) for outcome in before}

    def is_new(rule: str, cleaning: CleaningResult) -> bool:
        is_stopped = cleaning.stopped and (rule, cleaning.stopped) not in stops
        is_doubtful = cleaning.doubt and (rule, cleaning.doubt) not in doubts
        return bool(is_stopped or is_doubtful or cleaning.next_run)

    return any(is_new(outcome.rule, outcome.cleaning) for outcome in outcomes)


def has_news(notice: Notice) -> bool:
    """Return True if the message says more than how much is open or resolved."""
    return bool(any(rule.news for rule in notice.rules) or notice.failures or notice.cleaning)


def _cleanings(
    context: MessageContext, outcomes: Sequence[Outcome], asking: News, not_undone: News, results: CleaningOutcomes
) -> Iterator[CleaningNotice]:
    """Yield a notice for each rule that cleaned or waits for people, checked or not; those that wait come first."""
    rules = [outcome.rule for outcome in outcomes]
    notices = [
        replace(
            _cleaning(
                context, outcome.rule, outcome.cleaning, asking.of_rule(outcome.rule), not_undone.of_rule(outcome.rule)
            ),
            **_results(context, results.of_rule(outcome.rule)),
        )
        for outcome in outcomes
    ]
    notices += [results_notice(context, name, results) for name in results.rules if name not in rules]
    yield from sorted((notice for notice in notices if notice.is_told), key=lambda notice: not notice.asks)


def between_runs(
    context: MessageContext, asking: News, not_undone: News, results: CleaningOutcomes
) -> Iterator[CleaningNotice]:
    """Yield a notice for each rule with cleanings or undos that ended or failed between runs."""
    for name in dict.fromkeys((*asking.rules, *not_undone.rules, *results.rules)):
        if name in context.project.rules:
            notice = _cleaning(context, name, CleaningResult(), asking.of_rule(name), not_undone.of_rule(name))
            yield replace(notice, **_results(context, results.of_rule(name)))
        else:
            yield results_notice(context, name, results)


def results_notice(context: MessageContext, name: str, results: CleaningOutcomes) -> CleaningNotice:
    """Describe what became of the cleanings of a rule that no run checks now, perhaps since it was removed."""
    rule = context.project.rules.get(name)
    severity, dataset = ("info", "") if rule is None else (rule.severity.name, rule.dataset)
    notice = CleaningNotice(name, severity, dataset, owner=None if rule is None else rule.owner)
    return replace(notice, **_results(context, results.of_rule(name)))


_BECAME = {
    False: {"done": "cleaned", "stale": "skipped"},
    True: {"done": "undone", "waiting": "undo waiting", "stale": "undo skipped"},
}
_EXPLAINED = ("stale", "void")


def _plan(news: CleaningNews) -> PlanNotice:
    what = _BECAME[news.is_undo].get(news.what, news.what)
    why = news.why if news.what in _EXPLAINED else None
    records = plural(news.records, "record", "records")
    return PlanNotice(news.finding, what, "" if news.is_undo else verb_of(news.action).does(records), why)


class CleaningCounts(TypedDict):
    """The fields of a CleaningNotice about cleanings that ended, or wait for a run."""

    cleaned: int
    undone: int
    waiting: int
    undos_waiting: int
    waits_for: str | None
    undo: str | None
    plans: tuple[PlanNotice, ...]
    stale: int
    expired: int
    void: int
    withdrawn: int


def _results(context: MessageContext, results: RuleOutcomes) -> CleaningCounts:
    counts, undos = results.counts, results.undos
    ended = counts + undos
    waits_for = " ".join(f"{why.rstrip('.')}." for why in results.waits_for) if context.tells_why else ""
    return {
        "cleaned": counts["done"],
        "undone": undos["done"],
        "waiting": counts["waiting"],
        "undos_waiting": undos["waiting"],
        "waits_for": waits_for or None,
        "undo": "; ".join(results.undo) or None,
        "plans": tuple(map(_plan, results.first)),
        "stale": ended["stale"],
        "expired": ended["expired"],
        "void": ended["void"],
        "withdrawn": ended["withdrawn"],
    }


def _cleaning(
    context: MessageContext, name: str, cleaning: CleaningResult, asking: RuleNews, not_undone: RuleNews
) -> CleaningNotice:
    rule = context.project.rules[name]
    hidden = Masking.of(context.project, rule.dataset, rule.name, context.show)
    return CleaningNotice(
        rule=rule.name,
        severity=rule.severity.name,
        dataset=rule.dataset,
        awaiting=asking.states[State.AWAITING],
        quarantined=asking.states[State.QUARANTINED],
        failed=asking.states[State.FAILED],
        not_undone=not_undone.states.total(),
        next_run=cleaning.next_run,
        money=hidden.risk(dict(sorted(asking.money.items()))),
        stopped=cleaning.stopped or cleaning.uncounted,
        doubt=cleaning.doubt,
        findings=(
            *(
                replace(group_notice(context, finding, rule), state=NOT_UNDONE, history=finding.not_undone)
                for finding in not_undone.largest()
            ),
            *(_asking(context, finding, rule) for finding in asking.largest()),
        ),
        owner=rule.owner,
        runbook=rule.runbook,
    )


def _asking(context: MessageContext, finding: Finding, rule: Rule) -> GroupNotice:
    """Describe a finding that waits for a person, with its plan or the reason why its cleaning failed."""
    group = replace(
        group_notice(context, finding, rule),
        state=finding.state.value,
        **plan_facts(context.plans.get(finding.id)),
        approvals=in_words(context.approvals.get(finding.id)),
    )
    return group if finding.state is State.AWAITING else replace(group, history=finding.reason)


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
