"""Queue the messages of a run that ends: its news for readers, and for operators why something was not checked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from notifications.base import Notice
from reconcile.config.settings import JobConfig, Project
from reconcile.findings import results
from reconcile.findings.results import Outcome, RuleResult
from reconcile.journal import approvals
from reconcile.messages import between, living, notify, outbox, outcomes, routing, timing
from reconcile.messages.combined import combined
from reconcile.messages.news import News
from reconcile.messages.notices import MessageContext
from reconcile.messages.notify import FailureNews
from reconcile.messages.outcomes import CleaningOutcomes
from reconcile.store import Transaction, cleaning_news, plans
from reconcile.store import findings as stored_findings
from reconcile.store import outbox as stored_outbox
from reconcile.store import runs as stored
from reconcile.store.cleaning_news import CleaningNews


@dataclass(frozen=True)
class EndedRun:
    """A run at its end: its rules, and their outcomes. `again` is when `serve` repeats it, if it does."""

    job: JobConfig
    run: str
    slot: dt.datetime
    attempt: int
    rules: Sequence[str]
    outcomes: Sequence[Outcome]
    again: dt.datetime | None = None


def tell(tx: Transaction, project: Project, ended: EndedRun) -> list[str]:
    """Queue at most one message for each channel, in the transaction that ends the run; return their ids."""
    return list(_Telling(tx, project, ended).messages())


@dataclass(frozen=True)
class _Telling:
    tx: Transaction
    project: Project
    ended: EndedRun

    def messages(self) -> Iterator[str]:
        job = self.ended.job
        news = notify.news(self.tx, self.project, job.name, self.ended.run, self.ended.outcomes)
        results = outcomes.untold(self.tx, self.project, job.name, self.ended.rules)
        for channel in job.notify:
            yield from self._to_readers(channel, news, results)
        yield from between.tell_others(self.tx, self.project, job, results)
        cleaning_news.mark_told(self.tx, results)
        for channel in self.project.alerts:
            if channel not in job.notify:
                yield from self._to_operators(channel, news)

    def _to_readers(
        self, channel: str, news: Sequence[FailureNews], untold_results: Sequence[CleaningNews]
    ) -> Iterator[str]:
        """Queue the run's message, and mark its news as reported; without news there is none."""
        tx, ended, project = self.tx, self.ended, self.project
        rules = routing.fitting(project, channel, ended.rules)
        of_rules = [outcome for outcome in ended.outcomes if outcome.rule in rules]
        checked = [outcome.rule for outcome in of_rules if isinstance(outcome, RuleResult)]
        told = outcomes.of_channel(untold_results, partial(outcomes.is_for, project, rules))
        held = outbox.take_back(tx, channel, ended.job.name, checked)
        untold, asking, not_undone = self._news(channel, checked, rules)
        versions = {**untold.versions, **asking.versions, **not_undone.versions}
        before = list(map(results.outcome_of, stored.outcomes_before(tx, ended.job.name, ended.slot)))
        news = self._with_unheard(channel, [item for item in news if routing.concerns(item.subject, rules)])
        is_quiet = project.channels[channel].settings.quiet
        says_something = told.rules or notify.says_something(of_rules, before)
        if not versions and not news and not says_something and is_quiet and not held:
            return
        given = approvals.of_waiting(tx, asking.shown)
        context = replace(self._context(channel), plans=plans.waiting_plans(tx, asking.shown), approvals=given)
        notice = combined(held, notify.digest(context, of_rules, untold, news, asking, not_undone, told), checked)
        if held and is_quiet and not notify.has_news(notice):
            return
        if project.channels[channel].settings.has_buttons:
            notice = living.with_proofs(notice, tx.store.key)
        yield self._queued(channel, notice, held)
        stored_findings.mark_notified(tx, channel, notice.id, versions)

    def _news(self, channel: str, checked: Sequence[str], rules: Sequence[str]) -> tuple[News, News, News]:
        """Return the findings of checked rules that are new to the channel, and those of all that wait for people."""
        tx, project = self.tx, self.project
        most = project.channels[channel].settings.most_groups
        fits = partial(routing.is_large_enough, project, channel)
        opened = stored_findings.unnotified(tx, channel, checked, fits=fits)
        waiting = stored_findings.unnotified(tx, channel, rules, states=stored_findings.ASKING, fits=fits)
        not_undone = stored_findings.not_undone(tx, rules, channel)
        return News.of(project, opened, most), News.of(project, waiting, most), News.of(project, not_undone, most)

    def _to_operators(self, channel: str, news: Sequence[FailureNews]) -> Iterator[str]:
        held = outbox.take_back(self.tx, channel, self.ended.job.name, ())
        news = self._with_unheard(channel, news)
        notice = combined(
            held, notify.digest(self._context(channel), (), News(), news, News(), News(), CleaningOutcomes()), ()
        )
        if notice.failures:
            yield self._queued(channel, notice, held)

    def _queued(self, channel: str, notice: Notice, held: Sequence[Notice]) -> str:
        """Queue the message at its channel's time; held ones that it contains count as reported with it."""
        tx, project = self.tx, self.project
        hold = timing.hold(
            project.channels[channel].entry, project.timezone, tx.now, notice, stored_outbox.last_told(tx, channel)
        )
        outbox.enqueue(tx, channel, notice, hold)
        for earlier in held:
            stored_findings.move_notified(tx, earlier.id, notice.id)
        return notice.id

    def _with_unheard(self, channel: str, news: Sequence[FailureNews]) -> list[FailureNews]:
        reported = {item.subject for item in news}
        return [*news, *notify.unheard(self.tx, self.project, self.ended.job.name, channel, reported)]

    def _context(self, channel: str) -> MessageContext:
        ended = self.ended
        return MessageContext(
            project=self.project,
            job=ended.job.name,
            run=ended.run,
            slot=ended.slot,
            message=notify.message_id(ended.run, channel, ended.attempt),
            since=stored.slot_before(self.tx, ended.job.name, ended.slot),
            created=self.tx.now,
            show=self.project.channels[channel].settings.show,
            again=ended.again,
            tells_why=notify.tells_why(self.project, channel),
        )
