"""The message that a job would send next: from the state, or from a dry run."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from notifications.base import Notice
from reconcile.config.settings import JobConfig, Project
from reconcile.findings import payload
from reconcile.findings.judgement import FindingChange
from reconcile.findings.results import CleaningResult, Outcome, RuleFailure, RuleResult, summary_of
from reconcile.findings.shown import Finding, FindingMember, Foreseen
from reconcile.findings.states import State
from reconcile.journal import approvals
from reconcile.messages import notify
from reconcile.messages.news import News
from reconcile.messages.notices import NO_ID, MessageContext
from reconcile.messages.notify import FailureNews
from reconcile.messages.outcomes import CleaningOutcomes, untold
from reconcile.store import Transaction, plans
from reconcile.store import findings as stored_findings
from reconcile.store import runs as stored
from reconcile.store.runs import RunRow
from rules.values import RecordId

_MOMENT = dt.timedelta(seconds=1)
_LOOKED_AT = 20
"""Runs of a job in which the last result of each rule is looked for."""


@dataclass(frozen=True)
class _Contents:
    """The findings and failed checks of a message; `is_next` is False if the channel was sent all of them."""

    opened: News
    asking: News
    undos: News
    failures: Sequence[FailureNews]
    results: CleaningOutcomes
    is_next: bool

    def __bool__(self) -> bool:
        return any((self.opened, self.asking, self.undos, self.failures, self.results.rules))


def next_message(
    tx: Transaction, project: Project, job: JobConfig, channel: str, *, is_new: bool = False
) -> tuple[Notice, bool] | None:
    """Return what the job's next message to the channel would say, as of its latest run; None before its first.

    If the channel was sent everything, return a message about all that is open, and False; with `is_new`, as if the
    channel had received nothing before.
    """
    runs = [run for run in stored.listed(tx, job.name, _LOOKED_AT) if run.summary]
    if not runs:
        return None
    last = runs[0]
    contents = None if is_new else _unsent(tx, project, job, channel)
    contents = contents or _everything(tx, project, job, channel, keep_summary=is_new)
    context = MessageContext(
        project=project,
        job=job.name,
        run=last.id,
        slot=last.slot,
        message=notify.message_id(last.id, channel, last.attempt),
        since=stored.slot_before(tx, job.name, last.slot),
        created=tx.now,
        show=project.channels[channel].settings.show,
        tells_why=notify.tells_why(project, channel),
        plans=plans.waiting_plans(tx, contents.asking.shown),
        approvals=approvals.of_waiting(tx, contents.asking.shown),
    )
    outcomes = _latest(runs, _rules(project, job, channel))
    parts = (contents.opened, contents.failures, contents.asking, contents.undos, contents.results)
    return notify.digest(context, outcomes, *parts), contents.is_next


def _latest(runs: Sequence[RunRow], rules: Sequence[str]) -> list[Outcome]:
    """Return the last result of each of these rules, in the order of the job: the last run may have left some out, or
    could not check them.

    Of an earlier run's result only the check counts: its cleanings and its resolved findings are not news.
    """
    latest: dict[str, Outcome] = {outcome.rule: outcome for outcome in summary_of(runs[0].summary).rules}
    missing = {rule for rule in rules if not isinstance(latest.get(rule), RuleResult)}
    for run in runs if missing else ():
        for outcome in summary_of(run.summary).rules:
            if outcome.rule in missing and isinstance(outcome, RuleResult):
                counts = replace(outcome.findings, resolved=0)
                cleaning = latest[outcome.rule].cleaning if outcome.rule in latest else CleaningResult()
                earlier = replace(outcome, cleaning=cleaning, findings=counts, first_run=False, edited=False)
                latest[outcome.rule] = earlier
                missing.remove(outcome.rule)
    return [latest[rule] for rule in rules if rule in latest]


def _rules(project: Project, job: JobConfig, channel: str) -> tuple[str, ...]:
    """Return the rules whose findings the channel is told: none for a channel that only has failed checks."""
    is_told = channel in job.notify or channel not in project.alerts
    return tuple(rule for rule in job.rules if is_told and rule in project.rules)


def _unsent(tx: Transaction, project: Project, job: JobConfig, channel: str) -> _Contents:
    rules, most = _rules(project, job, channel), project.channels[channel].settings.most_groups
    asking = stored_findings.unnotified(tx, channel, rules, states=stored_findings.ASKING)
    return _Contents(
        opened=News.of(project, stored_findings.unnotified(tx, channel, rules), most),
        asking=News.of(project, asking, most),
        undos=News.of(project, stored_findings.not_undone(tx, rules, channel), most),
        failures=tuple(notify.unheard(tx, project, job.name, channel, ())),
        results=CleaningOutcomes(news for news in untold(tx, project, job.name, rules) if news.rule in rules),
        is_next=True,
    )


def _everything(tx: Transaction, project: Project, job: JobConfig, channel: str, *, keep_summary: bool) -> _Contents:
    rules = _rules(project, job, channel)
    opened = stored_findings.in_states(tx, rules, (State.OPEN,))
    failing = stored.failing(tx, job.name).items()
    return _Contents(
        opened=News.of(project, (replace(finding, summary=finding.summary and keep_summary) for finding in opened)),
        asking=News.of(project, stored_findings.in_states(tx, rules, stored_findings.ASKING)),
        undos=News.of(project, stored_findings.not_undone(tx, rules)),
        failures=[FailureNews(subject, sentence, since) for subject, (sentence, since) in failing],
        results=CleaningOutcomes(),
        is_next=False,
    )


def of_dry_run(
    tx: Transaction | None,
    project: Project,
    job: JobConfig,
    channel: str,
    slot: dt.datetime,
    outcomes: Sequence[Outcome],
    foreseen: Iterable[Foreseen],
) -> Notice:
    """Return the message about what a dry run found, as if the channel had been sent everything so far.

    New findings have no id yet, and nothing waits for approval. `tx` is None if there is no state.
    """
    context = MessageContext(
        project=project,
        job=job.name,
        run="dry run",
        slot=slot,
        message=notify.message_id("dry run", channel, 0),
        since=None if tx is None else stored.slot_before(tx, job.name, slot),
        created=slot,
        show=project.channels[channel].settings.show,
        tells_why=notify.tells_why(project, channel),
    )
    failed = [outcome for outcome in outcomes if isinstance(outcome, RuleFailure)]
    failures = [FailureNews(failure.subject, failure.failed, slot) for failure in failed]
    checked = (outcome for outcome in outcomes if not isinstance(outcome, RuleFailure))
    at_once = {outcome.rule for outcome in checked if outcome.first_run or outcome.edited}
    rules = _rules(project, job, channel)
    findings = (finding for finding in foreseen if finding.rule in rules)
    opened = News.of(project, _findings(tx, findings, slot, at_once, job.existing))
    outcomes = [outcome for outcome in outcomes if outcome.rule in rules]
    return notify.digest(context, outcomes, opened, failures, News(), News(), CleaningOutcomes())


def _findings(
    tx: Transaction | None, foreseen: Iterable[Foreseen], slot: dt.datetime, at_once: set[str], existing: str
) -> Iterator[Finding]:
    """Yield the findings that a run would report; `at_once` are rules that report all findings that existed before."""
    for finding in foreseen:
        existed = finding.rule in at_once
        if finding.change.is_told and not (existed and existing == "ignore"):
            is_summary = existed and existing == "summary"
            yield _as_finding(finding, slot, _members_before(tx, finding), is_summary=is_summary)


def _members_before(tx: Transaction | None, finding: Foreseen) -> set[tuple[str | None, RecordId]]:
    """Return the records that a grown finding has already."""
    if tx is None or finding.id is None or finding.change is not FindingChange.GROWN:
        return set()
    stored_before = stored_findings.some(tx, [finding.id])
    return {(member.dataset, member.id) for each in stored_before for member in each.members}


def _as_finding(
    foreseen: Foreseen, slot: dt.datetime, before: set[tuple[str | None, RecordId]], *, is_summary: bool
) -> Finding:
    group, told_at = foreseen.group, slot - _MOMENT
    members = tuple(
        FindingMember(
            role,
            member.id,
            member.values,
            told_at if (member.dataset, member.id) in before else slot,
            dataset=member.dataset,
        )
        for role, member in group.roles
    )
    return Finding(
        id=foreseen.id or NO_ID,
        fingerprint="",
        rule=foreseen.rule,
        kind=foreseen.kind,
        dataset=foreseen.dataset,
        state=State.OPEN,
        severity=foreseen.severity,
        version=0,
        change=foreseen.change,
        key=group.key,
        records=len(members),
        first_run="",
        first_seen=slot,
        last_run="",
        last_seen=slot,
        state_since=slot,
        members=members,
        money=group.at_risk,
        summary=is_summary,
        notified_at=told_at,
        **vars(payload.read(payload.written(group, foreseen.datasets))),
    )
