"""The outbox: messages are written in the transaction of the facts they tell; neither is there without the other.

A message is `queued`, then `sending`, then `sent` with its receipt, or `queued` again. It is `failed` when its budget
is used up, and a later run tells its news. It is `unknown` when it may have arrived and a person has to decide: that
person has it sent again, or `dropped`. reconcile.messages.delivery takes it from state to state.
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
from reconcile.schedule import retry
from reconcile.store import Transaction
from reconcile.store.columns import json_text
from reconcile.store.tables import outbox

MESSAGES = retry.Policy(dt.timedelta(seconds=1), dt.timedelta(minutes=15), 24, dt.timedelta(days=3))
"""Longer than an effect's budget: where cron runs a job once a day, most attempts are a day apart."""

_NOTICE = TypeAdapter(Notice)


class MessageConflict(Exception):
    """A message id was used for two different messages: a defect, and nothing was queued."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message} is already in the outbox with different content; nothing was queued")


class MessageMissing(Exception):
    """A person named a message that is not there; nothing was changed."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message!r} not found; `reconcile messages` lists unsent messages")


class MessageDecided(Exception):
    """What a person asks for does not fit how the message stands; nothing was changed."""

    def __init__(self, message: Message, action: str) -> None:
        how = {
            "failed": "failed, and the next run of its job reports its news",
            "dropped": f"was {message.problem}",
            "sent": "was sent",
        }.get(message.status, "is waiting to be sent")
        super().__init__(f"Message {message.message} {how}, so it cannot be {action}; nothing was changed")


@dataclass(frozen=True)
class Message:
    """A message as it stands. `in_doubt`: it may have arrived. `problem` is why it is not sent yet.

    `receipt` is that of all of it once it is `sent`, before that of a first part that arrived. `run` is None and `job`
    may be empty where it is about no run.
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
    """Queue a notice for a channel under `notice.id`; it is there exactly when the transaction is kept.

    False when the very same message is there already. Raises MessageConflict when the id stands for another one.
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
    """What stays of a delivered message's content: a proof that tells whether another message is the same one."""
    proof = hmac.new(tx.store.key, f"reconcile/notice/1|{json_text(content)}".encode(), hashlib.sha256)
    return {"blanked": proof.hexdigest()}


def messages(tx: Transaction, *statuses: str) -> Iterator[Message]:
    """The messages in these states (all without any), oldest first."""
    query = sa.select(outbox).order_by(outbox.c.queued_at, outbox.c.message)
    if statuses:
        query = query.where(outbox.c.status.in_(statuses))
    for row in tx.connection.execute(query):
        yield _message(row)


def undelivered_failures(tx: Transaction, channel: str, job: str, *, doubtful: bool) -> list[FailureNotice]:
    """What messages of the job that were given up would have told the channel of failures, and none did since.

    With `doubtful` also those that may have arrived. What a message said that was blanked since counts as told.
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
    """Have a message with an unknown outcome sent, without asking the channel: this person has looked.

    It gets a new budget. False when it waits to be sent, or was sent, already. Raises MessageMissing, and
    MessageDecided for one that was given up or dropped.
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
    """Never send a message that was given up, or whose outcome is unknown; its news counts as told.

    False when it was dropped already. Raises MessageMissing, and MessageDecided for one that was sent, or will be.
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
    """Whether the message was in one of these states; of two people who decide at once, one finds it so."""
    update = sa.update(outbox).where(outbox.c.message == message, outbox.c.status.in_(states))
    return tx.connection.execute(update.values(**values)).rowcount == 1


def get(tx: Transaction, message: str) -> Message:
    """The message with this id; raises MessageMissing."""
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
    """A receipt as the outbox holds it, as a receipt again."""
    return None if stored is None else Receipt(stored["where"], stored["details"])


def notice_of(stored: Any) -> Notice:
    """A notice as the outbox holds it, as a notice again."""
    return _NOTICE.validate_python(stored)


def log(tx: Transaction, actor: str, event: str, message: str, body: Mapping[str, Any]) -> None:
    """The audit entry of a step of a message."""
    audit.append(tx, actor, event, f"message:{message}", {"message": message, **body})
