"""News of cleanings between runs, sent by `serve`: executed after a pause, undone, failed or approved."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from functools import partial

from notifications.base import Notice
from reconcile.config.settings import JobConfig, Project
from reconcile.findings.states import State
from reconcile.messages import living, notify, outbox, outcomes, routing, timing
from reconcile.messages.news import News
from reconcile.messages.notices import MessageContext
from reconcile.store import Transaction, cleaning_news
from reconcile.store import findings as stored_findings
from reconcile.store import outbox as stored_outbox
from reconcile.store import runs as stored_runs
from reconcile.store.cleaning_news import CleaningNews

SETTLED = dt.timedelta(minutes=1)
LONGEST = dt.timedelta(minutes=5)
"""News waits until nothing was added for so long, or until it is that old: many decisions make one message."""


def is_due(tx: Transaction) -> bool:
    """Return True if news is due to be sent now, unless a run of its job sends it."""
    span = cleaning_news.span(tx)
    return span is not None and (tx.now - span[1] >= SETTLED or tx.now - span[0] >= LONGEST)


def tell(tx: Transaction, project: Project) -> list[str]:
    """Queue a message for each job and channel with news, and return their ids; a job that runs tells its own.

    A process at a time does this for a rule.
    """
    stored_runs.take_turns(tx, sorted(cleaning_news.rules(tx)))
    messages: list[str] = []
    for job in project.jobs.values():
        if not job.notify or stored_runs.is_running(tx, job.name):
            continue
        news = outcomes.untold(tx, project, job.name, [name for name in job.rules if name in project.rules])
        rules = [name for name in job.rules if name in project.rules]
        messages += [
            name for channel in job.notify if (name := _queue(tx, project, job, channel, news, rules)) is not None
        ]
        messages += tell_others(tx, project, job, news)
        cleaning_news.mark_told(tx, news)
    return messages


def tell_others(tx: Transaction, project: Project, job: JobConfig, news: Sequence[CleaningNews]) -> list[str]:
    """Queue this job's news for channels that get the findings of its rules only from other jobs."""
    jobs: dict[str, tuple[JobConfig, list[str]]] = {}
    for sharing_job in project.jobs.values():
        shared = [name for name in sharing_job.rules if name in job.rules and name in project.rules]
        for channel in sharing_job.notify if sharing_job.name != job.name else ():
            if channel not in job.notify and shared:
                _, rules = jobs.setdefault(channel, (sharing_job, []))
                rules += [name for name in shared if name not in rules]
    messages = []
    for channel, (sharing_job, rules) in jobs.items():
        of_rules = [item for item in news if item.rule in rules]
        if of_rules and (name := _queue(tx, project, sharing_job, channel, of_rules, rules)) is not None:
            messages.append(name)
    return messages


def _queue(
    tx: Transaction,
    project: Project,
    job: JobConfig,
    channel: str,
    news: Sequence[CleaningNews],
    of_rules: Sequence[str],
) -> str | None:
    rules = routing.fitting(project, channel, of_rules)
    told = outcomes.of_channel(news, partial(outcomes.is_for, project, rules))
    failed = sorted({item.rule for item in news if item.what == "failed" and item.rule in rules})
    asking, not_undone = _failures(tx, project, channel, failed)
    if not told.rules and not asking and not not_undone:
        return None
    context = _context(tx, project, job, channel, news)
    notice = Notice(
        id=context.message,
        job=job.name,
        run=None,
        slot=tx.now,
        created=tx.now,
        timezone=project.timezone,
        cleaning=tuple(notify.between_runs(context, asking, not_undone, told)),
        project=project.name,
        link=project.page("/"),
    )
    if project.channels[channel].settings.has_buttons:
        notice = living.with_proofs(notice, tx.store.key)
    last_told = stored_outbox.last_told(tx, channel)
    hold = timing.hold(project.channels[channel].entry, project.timezone, tx.now, notice, last_told)
    outbox.enqueue(tx, channel, notice, hold)
    stored_findings.mark_notified(tx, channel, notice.id, {**asking.versions, **not_undone.versions})
    return notice.id


def _failures(tx: Transaction, project: Project, channel: str, rules: Sequence[str]) -> tuple[News, News]:
    """Return the findings whose cleaning failed, and those whose undo failed, that were not reported yet."""
    most = project.channels[channel].settings.most_groups
    fits = partial(routing.is_large_enough, project, channel)
    failed = stored_findings.unnotified(tx, channel, rules, states=(State.FAILED, State.QUARANTINED), fits=fits)
    not_undone = stored_findings.not_undone(tx, rules, channel)
    return News.of(project, failed, most), News.of(project, not_undone, most)


def _context(
    tx: Transaction, project: Project, job: JobConfig, channel: str, news: Sequence[CleaningNews]
) -> MessageContext:
    facts = "|".join(f"{item.plan}:{item.what}" for item in sorted(news, key=lambda item: item.plan))
    text = f"reconcile/between/1|{job.name}|{channel}|{facts}"
    return MessageContext(
        project=project,
        job=job.name,
        run=None,
        slot=tx.now,
        message=f"msg1_{hashlib.sha256(text.encode()).hexdigest()[:24]}",
        since=None,
        created=tx.now,
        show=project.channels[channel].settings.show,
        tells_why=notify.tells_why(project, channel),
    )
