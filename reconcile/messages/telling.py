"""Queue the messages of a run that ends: its news for readers, and for operators why something was not checked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reconcile.config.settings import JobConfig, Project
from reconcile.findings import results
from reconcile.findings.results import Outcome, RuleResult
from reconcile.messages import notify, outbox
from reconcile.messages.news import News
from reconcile.messages.notify import FailureNews, Letter
from reconcile.store import Transaction, plans
from reconcile.store import findings as stored_findings
from reconcile.store import runs as stored


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
        for channel in job.notify:
            yield from self._to_readers(channel, news)
        for channel in self.project.alerts:
            if channel not in job.notify:
                yield from self._to_operators(channel, news)

    def _to_readers(self, channel: str, news: Sequence[FailureNews]) -> Iterator[str]:
        """Queue the run's message, and mark its news as reported; without news there is none."""
        tx, ended, project = self.tx, self.ended, self.project
        outcomes = ended.outcomes
        checked = [outcome.rule for outcome in outcomes if isinstance(outcome, RuleResult)]
        most = project.channels[channel].settings.most_groups
        untold = News.of(project, stored_findings.unnotified(tx, channel, checked), most)
        waiting = stored_findings.unnotified(tx, channel, ended.rules, states=stored_findings.ASKING)
        asking = News.of(project, waiting, most)
        not_undone = News.of(project, stored_findings.not_undone(tx, ended.rules, channel), most)
        versions = {**untold.versions, **asking.versions, **not_undone.versions}
        before = list(map(results.outcome_of, stored.outcomes_before(tx, ended.job.name, ended.slot)))
        news = self._with_unheard(channel, news)
        is_quiet = project.channels[channel].settings.quiet
        if not versions and not news and not notify.says_something(outcomes, before) and is_quiet:
            return
        letter = replace(self._letter(channel), plans=plans.waiting_plans(tx, asking.shown))
        notice = notify.digest(letter, outcomes, untold, news, asking, not_undone)
        outbox.enqueue(tx, channel, notice)
        stored_findings.mark_notified(tx, channel, notice.id, versions)
        yield notice.id

    def _to_operators(self, channel: str, news: Sequence[FailureNews]) -> Iterator[str]:
        news = self._with_unheard(channel, news)
        if news:
            notice = notify.digest(self._letter(channel), (), News(), news, News(), News())
            outbox.enqueue(self.tx, channel, notice)
            yield notice.id

    def _with_unheard(self, channel: str, news: Sequence[FailureNews]) -> list[FailureNews]:
        reported = {item.subject for item in news}
        return [*news, *notify.unheard(self.tx, self.project, self.ended.job.name, channel, reported)]

    def _letter(self, channel: str) -> Letter:
        ended = self.ended
        return Letter(
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
