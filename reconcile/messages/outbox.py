"""The outbox: messages are written in the transaction of the facts they report; neither exists without the other.

A message is `queued`, then `sending`, then `sent` with its receipt, or `queued` again. One that waits for its channel's
time is `merged` if a later one of its job replaces it. It is `failed` when its budget
is used up, and a later run reports its news. It is `unknown` when it may have arrived and a person has to decide: that
person has it sent again, or `dropped`. reconcile.messages.delivery moves it from state to state.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from notifications.base import FailureNotice, Notice
from reconcile.audit import log as audit
from reconcile.errors import Refused
from reconcile.messages.timing import Hold
from reconcile.schedule import retry
from reconcile.store import Transaction, findings
from reconcile.store import outbox as stored
from reconcile.store.columns import json_text
from reconcile.store.outbox import Message
from rules.values import canonical_instant

MESSAGES = retry.Policy(dt.timedelta(seconds=1), dt.timedelta(minutes=15), 24, dt.timedelta(days=3))
"""Longer than an effect's budget: if cron runs a job once a day, most attempts are a day apart."""

_NOTICE = TypeAdapter(Notice)


class MessageConflict(Exception):
    """A message id was used for two different messages: a defect, and nothing was queued."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is already in the outbox with different content; nothing was queued")


class MessageDecided(Refused):
    """The requested action does not fit the message's state; nothing was changed."""

    def __init__(self, message: Message, action: str) -> None:
        how = {
            "failed": "failed, and the next run of its job reports its news",
            "dropped": f"was {message.problem}",
            "sent": "was sent",
            "merged": "is part of a later message",
        }.get(message.status, "is waiting to be sent")
        super().__init__(f"Message {message.message} {how}, so it cannot be {action}; nothing was changed")


def enqueue(tx: Transaction, channel: str, notice: Notice, held: Hold | None = None) -> bool:
    """Queue a notice for a channel under `notice.id`, within the transaction; `held` makes it wait.

    Return False if the same message is already queued. Raises MessageConflict if the id belongs to another message.
    """
    content = _NOTICE.dump_python(notice, mode="json")
    if (existing := stored.content(tx, notice.id)) is not None:
        same = json_text(existing.notice) == json_text(content) or existing.notice == blanked(tx, content)
        if existing.channel == channel and same:
            return False
        raise MessageConflict(notice.id)
    run = None if notice.test else notice.run
    due = tx.now if held is None else held.until
    why = None if held is None else held.why
    new = stored.NewMessage(notice.id, channel, notice.job or "", run, content, due + MESSAGES.budget, due, why)
    stored.insert(tx, new)
    body = {"channel": channel, "run": run}
    body |= {"held": why, "until": canonical_instant(due)} if held else {}
    log(tx, "reconcile", "message.queued", notice.id, body)
    return True


def take_back(tx: Transaction, channel: str, job: str, rules: Sequence[str]) -> list[Notice]:
    """Take back the channel's held messages of the job: a later message says the same and more.

    The findings of these rules are news again; those of other rules stay with the later message, see `Notice`.
    """
    notices = []
    for held in stored.take_back(tx, channel, job):
        findings.forget_notified(tx, held.message, rules)
        log(tx, "reconcile", "message.merged", held.message, {"channel": channel})
        notices.append(notice_of(held.notice))
    return notices


def blanked(tx: Transaction, content: Any) -> dict[str, str]:
    """Return the proof that replaces a delivered message's content and still identifies the same message."""
    proof = hmac.new(tx.store.key, f"reconcile/notice/1|{json_text(content)}".encode(), hashlib.sha256)
    return {"blanked": proof.hexdigest()}


def undelivered_failures(tx: Transaction, channel: str, job: str, *, outcome_unknown: bool) -> list[FailureNotice]:
    """Return the failures in given-up messages of the job that no later message reported to the channel.

    With `outcome_unknown` also those that may have arrived. The content of a blanked message counts as delivered.
    """
    failures: dict[str, FailureNotice] = {}
    for past in stored.since_lost(tx, channel, job, outcome_unknown=outcome_unknown):
        if "blanked" in past.notice:
            failures.clear()
            continue
        for failure in notice_of(past.notice).failures:
            failures.pop(failure.subject, None)
            if past.is_lost:
                failures[failure.subject] = failure
    return list(failures.values())


def requeue(tx: Transaction, message: str, *, actor: str) -> bool:
    """Queue a message with an unknown outcome again, without checking the channel: a person has done that. Or send a
    held one now.

    It gets a new budget. Return False if it is waiting or was already sent. Raises MessageMissing, and MessageDecided
    if it was given up or dropped.
    """
    if stored.requeue(tx, message, tx.now + MESSAGES.budget):
        log(tx, actor, "message.requeued", message, {})
        return True
    current = stored.get(tx, message)
    if current.status not in ("queued", "sending", "sent"):
        raise MessageDecided(current, "sent again")
    return False


def drop(tx: Transaction, message: str, *, actor: str) -> bool:
    """Drop a message that was given up or is held, or whose outcome is unknown; its news counts as delivered.

    Return False if it was already dropped. Raises MessageMissing, and MessageDecided if it was or will be sent.
    """
    if stored.drop(tx, message, f"dropped by {actor}"):
        log(tx, actor, "message.dropped", message, {})
        return True
    current = stored.get(tx, message)
    if current.status != "dropped":
        raise MessageDecided(current, "dropped")
    return False


def notice_of(content: Any) -> Notice:
    """Load a stored notice."""
    return _NOTICE.validate_python(content)


def log(tx: Transaction, actor: str, event: str, message: str, body: Mapping[str, Any]) -> None:
    """Append the audit entry for a step of a message."""
    audit.append(tx, actor, event, f"message:{message}", {"message": message, **body})
