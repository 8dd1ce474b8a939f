"""Report findings that stay undecided for too long to another channel: once after each message about them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from notifications.base import EscalationNotice, Notice
from reconcile.config.channel_entries import EscalationEntry
from reconcile.config.settings import Project
from reconcile.messages import outbox, timing
from reconcile.messages.news import News
from reconcile.messages.notices import MessageContext, undecided_notice
from reconcile.store import Transaction
from reconcile.store import findings as stored
from reconcile.store import runs as stored_runs
from reconcile.store.findings import Unanswered


def is_due(tx: Transaction, project: Project) -> bool:
    """Return True if `tell` would have something to tell."""
    return any(stored.any_unanswered(tx, _of(tx, project, channel, entry)) for channel, entry in _entries(project))


def tell(tx: Transaction, project: Project, rules: Collection[str]) -> list[str]:
    """Queue a message about undecided findings of these rules for each channel to escalate to; return their ids.

    Findings are undecided until a person decides about them, or they are assigned. They count from the delivery of the
    message about them. A process at a time does this for a rule.
    """
    stored_runs.take_turns(tx, sorted(rules))
    messages = (_tell(tx, project, channel, entry, rules) for channel, entry in _entries(project))
    return [message for message in messages if message is not None]


def _entries(project: Project) -> list[tuple[str, EscalationEntry]]:
    entries = ((name, channel.entry.escalate) for name, channel in project.channels.items())
    return [(name, entry) for name, entry in entries if entry is not None]


def _of(
    tx: Transaction, project: Project, channel: str, entry: EscalationEntry, rules: Collection[str] | None = None
) -> Unanswered:
    names = project.rules if rules is None else [name for name in rules if name in project.rules]
    return Unanswered(channel, entry.to, tx.now - entry.after, tuple(names), entry.severity)


def _tell(
    tx: Transaction, project: Project, channel: str, entry: EscalationEntry, rules: Collection[str]
) -> str | None:
    settings = project.channels[entry.to].settings
    findings = stored.unanswered(tx, _of(tx, project, channel, entry, rules))
    news = News.of(project, findings, settings.most_groups)
    if not news:
        return None
    named = "|".join(f"{finding}:{version}" for finding, version in sorted(news.versions.items()))
    text = f"reconcile/escalation/1|{channel}|{entry.to}|{named}"
    context = MessageContext(
        project=project,
        job=None,
        run=None,
        slot=tx.now,
        message=f"msg1_{hashlib.sha256(text.encode()).hexdigest()[:24]}",
        since=None,
        created=tx.now,
        show=settings.show,
    )
    notice = Notice(
        id=context.message,
        job=None,
        run=None,
        slot=tx.now,
        rules=tuple(undecided_notice(context, project.rules[rule], news.of_rule(rule)) for rule in news.rules),
        created=tx.now,
        timezone=project.timezone,
        project=project.name,
        link=project.page("/review"),
        escalation=EscalationNotice(channel, entry.after.total_seconds()),
    )
    hold = timing.quiet(project.channels[entry.to].entry, project.timezone, tx.now, notice)
    outbox.enqueue(tx, entry.to, notice, hold)
    stored.mark_notified(tx, entry.to, notice.id, news.versions)
    return notice.id
