"""The outbox: messages are written in the transaction of the facts they report; neither exists without the other.

A message is `queued`, then `sending`, then `sent` with its receipt, or `queued` again. It is `failed` when its budget
is used up, and a later run reports its news. It is `unknown` when it may have arrived and a person has to decide: that
person has it sent again, or `dropped`. reconcile.messages.delivery moves it from state to state.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from notifications.base import FailureNotice, Notice, Receipt
from reconcile.audit import log as audit
from reconcile.errors import Refused, Wrong
from reconcile.schedule import retry
from reconcile.store import Transaction
from reconcile.store.columns import json_text
from reconcile.store.tables import outbox

MESSAGES = retry.Policy(dt.timedelta(seconds=1), dt.timedelta(minutes=15), 24, dt.timedelta(days=3))
"""Longer than an effect's budget: if cron runs a job once a day, most attempts are a day apart."""

_NOTICE = TypeAdapter(Notice)


class MessageConflict(Exception):
    """A message id was used for two different messages: a defect, and nothing was queued."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is already in the outbox with different content; nothing was queued")


class MessageMissing(Wrong):
    """A person named an unknown message; nothing was changed."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message!r} not found; `reconcile messages` lists unsent messages")


class MessageDecided(Refused):
    """The requested action does not fit the message's state; nothing was changed."""

    def __init__(self, message: Message, action: str) -> None:
        how = {
            "failed": "failed, and the next run of its job reports its news",
            "dropped": f"was {message.problem}",
            "sent": "was sent",
        }.get(message.status, "is waiting to be sent")
        super().__init__(f"Message {message.message} {how}, so it cannot be {action}; nothing was changed")


@dataclass(frozen=True)
class Message:
    """A message and its state. `in_doubt`: it may have arrived. `problem` is why it is not sent yet.

    `receipt` is that of the whole message once it is `sent`, before that of a first part that arrived. Without a run,
    `run` is None and `job` may be empty.
    """

    message: str
    channel: str
    job: str
    run: str | None
    status: str
    attempts: int
    next_at: dt.datetime
    in_doubt: bool
    problem: str | None
    receipt: Receipt | None


def enqueue(
    tx: Transaction, channel: str, notice: Notice, *, policy: retry.Policy = MESSAGES, actor: str = "reconcile"
) -> bool:
    """Queue a notice for a channel under `notice.id`, within the transaction.

    Return False if the same message is already queued. Raises MessageConflict if the id belongs to another message.
    """
    content = _NOTICE.dump_python(notice, mode="json")
    existing = sa.select(outbox.c.channel, outbox.c.notice).where(outbox.c.message == notice.id)
    if (row := tx.connection.execute(existing).one_or_none()) is not None:
        same = json_text(row.notice) == json_text(content) or row.notice == blanked(tx, content)
        if row.channel == channel and same:
            return False
        raise MessageConflict(notice.id)
    row_values = {
        "message": notice.id,
        "channel": channel,
        "job": notice.job or "",
        "run": None if notice.test else notice.run,
        "notice": content,
        "version": 1,
        "status": "queued",
        "attempts": 0,
        "queued_at": tx.now,
        "next_at": tx.now,
        "give_up_at": tx.now + policy.budget,
        "fence": 0,
        "lease_until": tx.now,
        "in_doubt": False,
    }
    tx.connection.execute(sa.insert(outbox).values(row_values))
    log(tx, actor, "message.queued", notice.id, {"channel": channel, "run": row_values["run"]})
    return True


def blanked(tx: Transaction, content: Any) -> dict[str, str]:
    """Return the proof that replaces a delivered message's content and still identifies the same message."""
    proof = hmac.new(tx.store.key, f"reconcile/notice/1|{json_text(content)}".encode(), hashlib.sha256)
    return {"blanked": proof.hexdigest()}


def messages(tx: Transaction, *statuses: str) -> Iterator[Message]:
    """Yield the messages in these states (all by default), oldest first."""
    query = sa.select(outbox).order_by(outbox.c.queued_at, outbox.c.message)
    if statuses:
        query = query.where(outbox.c.status.in_(statuses))
    for row in tx.connection.execute(query):
        yield _message(row)


def undelivered_failures(tx: Transaction, channel: str, job: str, *, doubtful: bool) -> list[FailureNotice]:
    """Return the failures in given-up messages of the job that no later message told the channel.

    With `doubtful` also those that may have arrived. The content of a blanked message counts as delivered.
    """
    mine = (outbox.c.channel == channel, outbox.c.job == job, outbox.c.run.is_not(None))
    lost = sa.and_(*mine, outbox.c.status == "failed", sa.or_(sa.literal(doubtful), outbox.c.in_doubt.is_(sa.false())))
    since = tx.connection.execute(sa.select(sa.func.min(outbox.c.queued_at, type_=outbox.c.queued_at.type)).where(lost))
    if (first := since.scalar()) is None:
        return []
    failures: dict[str, FailureNotice] = {}
    query = sa.select(outbox.c.notice, lost.label("lost")).where(*mine, outbox.c.queued_at >= first)
    for row in tx.connection.execute(query.order_by(outbox.c.queued_at, outbox.c.message)):
        if "blanked" in row.notice:
            failures.clear()
            continue
        for failure in notice_of(row.notice).failures:
            failures.pop(failure.subject, None)
            if row.lost:
                failures[failure.subject] = failure
    return list(failures.values())


def requeue(tx: Transaction, message: str, *, policy: retry.Policy = MESSAGES, actor: str) -> bool:
    """Queue a message with an unknown outcome again, without checking the channel: a person has done that.

    It gets a new budget. Return False if it is waiting or was already sent. Raises MessageMissing, and MessageDecided
    if it was given up or dropped.
    """
    fresh: dict[str, Any] = {"status": "queued", "attempts": 0, "next_at": tx.now, "give_up_at": tx.now + policy.budget}
    if _decided(tx, message, ("unknown",), fresh | {"in_doubt": False, "problem": None}):
        log(tx, actor, "message.requeued", message, {})
        return True
    current = get(tx, message)
    if current.status not in ("queued", "sending", "sent"):
        raise MessageDecided(current, "sent again")
    return False


def drop(tx: Transaction, message: str, *, actor: str) -> bool:
    """Drop a message that was given up, or whose outcome is unknown; its news counts as delivered.

    Return False if it was already dropped. Raises MessageMissing, and MessageDecided if it was or will be sent.
    """
    values = {"status": "dropped", "next_at": tx.now, "problem": f"dropped by {actor}"}
    if _decided(tx, message, ("unknown", "failed"), values):
        log(tx, actor, "message.dropped", message, {})
        return True
    current = get(tx, message)
    if current.status != "dropped":
        raise MessageDecided(current, "dropped")
    return False


def _decided(tx: Transaction, message: str, states: tuple[str, ...], values: Mapping[str, Any]) -> bool:
    """Update the message if it is in one of these states; of two simultaneous decisions only one returns True."""
    update = sa.update(outbox).where(outbox.c.message == message, outbox.c.status.in_(states))
    return tx.connection.execute(update.values(**values)).rowcount == 1


def get(tx: Transaction, message: str) -> Message:
    """Return the message with this id; raises MessageMissing."""
    row = tx.connection.execute(sa.select(outbox).where(outbox.c.message == message)).one_or_none()
    if row is None:
        raise MessageMissing(message)
    return _message(row)


def _message(row: sa.Row[Any]) -> Message:
    return Message(
        row.message,
        row.channel,
        row.job,
        row.run,
        row.status,
        row.attempts,
        row.next_at,
        row.in_doubt,
        row.problem,
        receipt_of(row.receipt),
    )


def receipt_of(stored: Any) -> Receipt | None:
    """Load a stored receipt."""
    return None if stored is None else Receipt(stored["where"], stored["details"])


def notice_of(stored: Any) -> Notice:
    """Load a stored notice."""
    return _NOTICE.validate_python(stored)


def log(tx: Transaction, actor: str, event: str, message: str, body: Mapping[str, Any]) -> None:
    """Append the audit entry for a step of a message."""
    audit.append(tx, actor, event, f"message:{message}", {"message": message, **body})
