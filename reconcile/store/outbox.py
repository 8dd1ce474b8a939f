"""Messages in the store: every change of state is a compare-and-set, so that only one of two processes makes it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from notifications.base import DeliveryReceipt
from reconcile.documents import JsonObject
from reconcile.errors import Wrong
from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import approvals, findings, outbox, plans, shown_findings

WAITING = ("queued", "sending")
GIVEN_UP = ("failed", "unknown")


class MessageMissing(Wrong):
    """A person named an unknown message; nothing was changed."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Message {message!r} not found; `reconcile messages` lists unsent messages")


@dataclass(frozen=True)
class Message:
    """A message and its state. `outcome_unknown`: it may have arrived. `problem` is why it is not sent yet.

    `receipt` is that of the whole message once it is `sent`, before that of a first part that arrived. Without a run,
    `run` is None and `job` may be empty. `held` is the setting of its channel that makes it wait until `next_at`.
    """

    message: str
    channel: str
    job: str
    run: str | None
    status: str
    attempts: int
    next_at: dt.datetime
    outcome_unknown: bool
    problem: str | None
    receipt: DeliveryReceipt | None
    held: str | None

    def is_held(self, now: dt.datetime) -> bool:
        """Return True if it waits for its channel's time; nothing failed yet."""
        return self.held is not None and self.status == "queued" and self.attempts == 0 and self.next_at > now


@dataclass(frozen=True)
class NewMessage:
    """A message to queue; `notice` is its content as JSON. It is due now, or at `next_at`, held by that setting."""

    message: str
    channel: str
    job: str
    run: str | None
    notice: Any
    give_up_at: dt.datetime
    next_at: dt.datetime | None = None
    held: str | None = None


@dataclass(frozen=True)
class Content:
    """The channel of a message, and its content as JSON."""

    channel: str
    notice: Any


@dataclass(frozen=True)
class Undelivered:
    """A queued message, or one that a sender has claimed under `fence`."""

    message: str
    channel: str
    run: str | None
    status: str
    outcome_unknown: bool
    fence: int
    owner: Any
    lease_until: dt.datetime


@dataclass(frozen=True)
class ClaimedMessage:
    """A claimed message for its sender, who may write while `fence` is unchanged."""

    fence: int
    attempts: int
    notice: Any
    give_up_at: dt.datetime
    receipt: DeliveryReceipt | None


@dataclass(frozen=True)
class TakenBack:
    """A held message that was merged into a later one, with its content as JSON."""

    message: str
    notice: Any


@dataclass(frozen=True)
class PastNotice:
    """The content of an earlier message as JSON; `is_lost` if it was given up."""

    notice: Any
    is_lost: bool


@dataclass(frozen=True)
class StatusCount:
    """The number of messages with a status, and when the oldest was queued or, if it is held, became due."""

    count: int
    oldest: dt.datetime


@dataclass(frozen=True)
class ChannelCount:
    """The number of messages of a channel, and one of their problems."""

    channel: str
    count: int
    problem: str | None


# Messages


def content(tx: Transaction, message: str) -> Content | None:
    row = tx.connection.execute(sa.select(*_CONTENT).where(outbox.c.message == message)).one_or_none()
    return None if row is None else Content(*row)


def insert(tx: Transaction, new: NewMessage) -> None:
    """Queue a message."""
    row = {
        "message": new.message,
        "channel": new.channel,
        "job": new.job,
        "run": new.run,
        "notice": new.notice,
        "version": 1,
        "status": "queued",
        "attempts": 0,
        "queued_at": tx.now,
        "next_at": new.next_at or tx.now,
        "held": new.held,
        "give_up_at": new.give_up_at,
        "fence": 0,
        "lease_until": tx.now,
        "outcome_unknown": False,
    }
    tx.connection.execute(sa.insert(outbox).values(row))


def get(tx: Transaction, message: str) -> Message:
    """Return the message with this id; raises MessageMissing."""
    row = tx.connection.execute(sa.select(*_MESSAGE).where(outbox.c.message == message)).one_or_none()
    if row is None:
        raise MessageMissing(message)
    return _message(row)


def listed(tx: Transaction, *statuses: str) -> Iterator[Message]:
    """Yield the messages in these states (all by default), oldest first."""
    query = sa.select(*_MESSAGE).order_by(outbox.c.queued_at, outbox.c.message)
    if statuses:
        query = query.where(outbox.c.status.in_(statuses))
    for row in tx.connection.execute(query):
        yield _message(row)


def _message(row: sa.Row[Any]) -> Message:
    return Message(**row._asdict() | {"receipt": _receipt(row.receipt)})


def since_lost(tx: Transaction, channel: str, job: str, *, outcome_unknown: bool) -> Iterator[PastNotice]:
    """Yield the messages about the job's runs from the first one that the channel lost, oldest first.

    A lost message was given up; with `outcome_unknown` also if it may have arrived.
    """
    of_job = (outbox.c.channel == channel, outbox.c.job == job, outbox.c.run.is_not(None))
    lost = sa.and_(
        *of_job,
        outbox.c.status == "failed",
        sa.or_(sa.literal(outcome_unknown), outbox.c.outcome_unknown.is_(sa.false())),
    )
    first = tx.connection.execute(sa.select(_FIRST_QUEUED).where(lost)).scalar()
    if first is not None:
        query = sa.select(outbox.c.notice, lost).where(*of_job, outbox.c.queued_at >= first)
        for notice, is_lost in tx.connection.execute(query.order_by(outbox.c.queued_at, outbox.c.message)):
            yield PastNotice(notice, is_lost)


def counts(tx: Transaction) -> dict[str, StatusCount]:
    """Count the unsent messages by status; a status without any is missing."""
    since = sa.case((outbox.c.held.is_not(None), outbox.c.next_at), else_=outbox.c.queued_at)
    oldest = sa.func.min(since, type_=outbox.c.queued_at.type)
    query = sa.select(outbox.c.status, sa.func.count(), oldest).group_by(outbox.c.status)
    rows = tx.connection.execute(query.where(outbox.c.status.in_((*WAITING, *GIVEN_UP))))
    return {status: StatusCount(count, oldest) for status, count, oldest in rows}


def _is_held(tx: Transaction) -> sa.ColumnElement[bool]:
    waits = sa.and_(outbox.c.status == "queued", outbox.c.attempts == 0, outbox.c.next_at > tx.now)
    return sa.and_(outbox.c.held.is_not(None), waits)


def by_channel(
    tx: Transaction, *statuses: str, has_problem: bool | None = None, queued_before: dt.datetime | None = None
) -> list[ChannelCount]:
    """Count the messages in these states by channel, optionally only some of them."""
    query = sa.select(outbox.c.channel, sa.func.count(), sa.func.max(outbox.c.problem)).group_by(outbox.c.channel)
    query = query.where(outbox.c.status.in_(statuses)).order_by(outbox.c.channel)
    if has_problem is not None:
        query = query.where(outbox.c.problem.is_not(None) if has_problem else outbox.c.problem.is_(None))
    if queued_before is not None:
        query = query.where(outbox.c.queued_at < queued_before, ~_is_held(tx))
    return [ChannelCount(*row) for row in tx.connection.execute(query)]


# Messages that wait for their channel's time


def take_back(tx: Transaction, channel: str, job: str) -> list[TakenBack]:
    """Mark the channel's held messages of the job's runs as merged, and return them, oldest first.

    A message that a sender has claimed is left to it.
    """
    of_runs = (outbox.c.channel == channel, outbox.c.job == job, outbox.c.run.is_not(None))
    columns = (outbox.c.message, outbox.c.notice, outbox.c.queued_at)
    rows = tx.connection.execute(_merge(*of_runs).returning(*columns)).all()
    return [TakenBack(row.message, row.notice) for row in sorted(rows, key=lambda row: (row.queued_at, row.message))]


def take_back_one(tx: Transaction, message: str) -> bool:
    """Mark a held message as merged; return False if it is none, or a sender has claimed it."""
    return tx.connection.execute(_merge(outbox.c.message == message)).rowcount == 1


def _merge(*which: sa.ColumnElement[bool]) -> sa.Update:
    held = (outbox.c.held.is_not(None), outbox.c.status == "queued", outbox.c.attempts == 0)
    values = {"status": "merged", "problem": None, "fence": outbox.c.fence + 1}
    return sa.update(outbox).where(*which, *held).values(values)


def last_told(tx: Transaction, channel: str) -> dt.datetime | None:
    """Return when the channel last got a message of a run, or when one was queued that is about to be sent."""
    at = sa.func.max(sa.func.coalesce(outbox.c.sent_at, outbox.c.queued_at), type_=outbox.c.queued_at.type)
    is_next = sa.and_(outbox.c.status.in_(WAITING), sa.or_(outbox.c.held.is_(None), outbox.c.attempts > 0))
    query = sa.select(at).where(outbox.c.channel == channel, outbox.c.run.is_not(None))
    told_at: dt.datetime | None = tx.connection.execute(
        query.where(sa.or_(outbox.c.status == "sent", is_next))
    ).scalar()
    return told_at


# Decisions of people


def requeue(tx: Transaction, message: str, give_up_at: dt.datetime) -> bool:
    """Queue a message with an unknown outcome, or a held one, as if it were new; False if it has another state."""
    fresh = {"status": "queued", "attempts": 0, "next_at": tx.now, "give_up_at": give_up_at, "held": None}
    return _decided(tx, message, ("unknown",), fresh | {"outcome_unknown": False, "problem": None})


def drop(tx: Transaction, message: str, problem: str) -> bool:
    """Drop a message that was given up, is held or has an unknown outcome; return False if it has another state."""
    return _decided(tx, message, GIVEN_UP, {"status": "dropped", "next_at": tx.now, "problem": problem, "held": None})


def _decided(tx: Transaction, message: str, states: tuple[str, ...], values: Mapping[str, Any]) -> bool:
    decidable = sa.or_(outbox.c.status.in_(states), _is_held(tx))
    update = sa.update(outbox).where(outbox.c.message == message, decidable)
    return tx.connection.execute(update.values(**values, fence=outbox.c.fence + 1)).rowcount == 1


# Delivery


def anything_due(tx: Transaction, channels: Collection[str]) -> bool:
    """Return True if a delivery would have a message to send, to check or to give up."""
    ours = outbox.c.channel.in_(list(channels))
    orphaned = sa.and_(outbox.c.status.in_(WAITING), sa.not_(ours))
    query = sa.select(sa.exists().where(sa.or_(sa.and_(_is_due(tx), ours), orphaned)))
    return bool(tx.connection.execute(query).scalar())


def due(tx: Transaction, channels: Collection[str], without: Collection[str]) -> list[Undelivered]:
    """Return messages of these channels that are due or that a sender has claimed, at most 200, oldest first."""
    query = (
        sa.select(*_UNDELIVERED)
        .where(_is_due(tx), outbox.c.channel.in_(list(channels)), outbox.c.message.not_in(list(without)))
        .order_by(outbox.c.queued_at, outbox.c.message)
        .limit(200)
    )
    return [Undelivered(*row) for row in tx.connection.execute(query)]


def _is_due(tx: Transaction) -> sa.ColumnElement[bool]:
    return sa.or_(sa.and_(outbox.c.status == "queued", outbox.c.next_at <= tx.now), outbox.c.status == "sending")


def next_at(tx: Transaction, channels: Collection[str], without: Collection[str]) -> dt.datetime | None:
    """Return when the next queued message of these channels is due."""
    soonest = sa.select(sa.func.min(outbox.c.next_at, type_=outbox.c.next_at.type)).where(
        outbox.c.status == "queued", outbox.c.channel.in_(list(channels)), outbox.c.message.not_in(list(without))
    )
    at: dt.datetime | None = tx.connection.execute(soonest).scalar()
    return at


def overdue_elsewhere(tx: Transaction, channels: Collection[str]) -> list[Undelivered]:
    """Return undelivered messages of all other channels whose budget has ended."""
    query = sa.select(*_UNDELIVERED).where(
        outbox.c.status.in_(WAITING), outbox.c.channel.not_in(list(channels)), outbox.c.give_up_at < tx.now
    )
    return [Undelivered(*row) for row in tx.connection.execute(query)]


def claim(tx: Transaction, row: Undelivered, owner: Mapping[str, Any], until: dt.datetime) -> ClaimedMessage | None:
    """Claim a message for a sender; return None if it changed meanwhile."""
    values = {
        "status": "sending",
        "fence": outbox.c.fence + 1,
        "attempts": outbox.c.attempts + 1,
        "owner": dict(owner),
        "lease_until": until,
    }
    update = sa.update(outbox).where(
        outbox.c.message == row.message, outbox.c.fence == row.fence, outbox.c.status == row.status
    )
    claimed = tx.connection.execute(update.values(values).returning(*_CLAIMED)).one_or_none()
    return None if claimed is None else ClaimedMessage(**claimed._asdict() | {"receipt": _receipt(claimed.receipt)})


def renew(tx: Transaction, message: str, fence: int, owner: Mapping[str, Any], until: dt.datetime) -> bool:
    """Renew the claim; this and the next two return False if the message is no longer claimed under this fence."""
    return _changed(tx, message, fence, owner=dict(owner), lease_until=until)


def mark_sent(tx: Transaction, message: str, fence: int, receipt: DeliveryReceipt) -> bool:
    """Record that the claimed message was sent."""
    facts = receipt_to_json(receipt)
    done = {"status": "sent", "receipt": facts, "sent_at": tx.now, "outcome_unknown": False, "problem": None}
    return _changed(tx, message, fence, owner=None, **done)


# Living messages


@dataclass(frozen=True)
class LivingMessage:
    """A sent message that can be updated. `shown` identifies what it shows, `updates` counts failed attempts."""

    message: str
    channel: str
    notice: Any
    receipt: DeliveryReceipt
    shown: str | None
    updates: int
    fence: int
    owner: Any
    lease_until: dt.datetime


def keep_alive(tx: Transaction, message: str, shown: str, at: dt.datetime, shown_findings_of: Collection[str]) -> None:
    """Record what a sent message shows of which findings, as of this time."""
    values = {"shown": shown, "shown_at": at, "updates": 0}
    tx.connection.execute(sa.update(outbox).where(outbox.c.message == message).values(values))
    rows = [{"message": message, "finding": finding} for finding in shown_findings_of]
    if rows:
        tx.connection.execute(insert_for(tx, shown_findings).on_conflict_do_nothing(), rows)


def possibly_stale(tx: Transaction, channel: str, *, sent_after: dt.datetime, margin: dt.timedelta) -> list[str]:
    """Return messages that may show former states: a finding's state changed, or a plan was approved, about then or
    later."""
    is_shown = shown_findings.c.message == outbox.c.message
    changed = (
        sa.select(sa.func.max(findings.c.state_since, type_=outbox.c.shown_at.type))
        .join(shown_findings, shown_findings.c.finding == findings.c.id)
        .where(is_shown)
        .scalar_subquery()
    )
    approved = (  # the first of two approvals leaves the state as it is
        sa.select(sa.func.max(approvals.c.at, type_=outbox.c.shown_at.type))
        .join(plans, plans.c.id == approvals.c.plan)
        .join(shown_findings, shown_findings.c.finding == plans.c.finding)
        .where(is_shown)
        .scalar_subquery()
    )
    query = sa.select(outbox.c.message, outbox.c.shown_at, changed.label("changed"), approved.label("approved")).where(
        outbox.c.channel == channel,
        outbox.c.status == "sent",
        outbox.c.shown_at.is_not(None),
        outbox.c.sent_at > sent_after,
        outbox.c.next_at <= tx.now,
    )
    rows = tx.connection.execute(query.order_by(outbox.c.sent_at, outbox.c.message)).all()
    return [
        row.message
        for row in rows
        if any(at is not None and at > row.shown_at - margin for at in (row.changed, row.approved))
    ]


def living(tx: Transaction, message: str) -> LivingMessage | None:
    """Return a sent message that can be updated; None if it has no receipt or no content any more."""
    names = LivingMessage.__dataclass_fields__
    row = tx.connection.execute(
        sa.select(*(outbox.c[name] for name in names)).where(outbox.c.message == message, outbox.c.status == "sent")
    ).one_or_none()
    if row is None or row.receipt is None or "blanked" in row.notice:
        return None
    receipt = _receipt(row.receipt)
    return LivingMessage(**row._asdict() | {"receipt": receipt, "updates": row.updates or 0})


def claim_update(tx: Transaction, message: LivingMessage, owner: Mapping[str, Any], until: dt.datetime) -> bool:
    """Claim a sent message for an update; return False if another process did."""
    claim = sa.update(outbox).where(
        outbox.c.message == message.message, outbox.c.fence == message.fence, outbox.c.status == "sent"
    )
    values = {"fence": message.fence + 1, "owner": dict(owner), "lease_until": until}
    return tx.connection.execute(claim.values(values)).rowcount == 1


def mark_current(tx: Transaction, message: str, shown: str) -> None:
    """Record that the message shows the present states."""
    same = sa.update(outbox).where(outbox.c.message == message, outbox.c.shown == shown, outbox.c.owner.is_(None))
    tx.connection.execute(same.values(shown_at=tx.now))


def mark_updated(tx: Transaction, message: str, fence: int, shown: str) -> bool:
    """Record an update; this and the next return False if another process claimed the message meanwhile."""
    return _updated(tx, message, fence, shown=shown, shown_at=tx.now, updates=0, problem=None)


def distrust(tx: Transaction, message: str) -> None:
    """Record that it is unknown what the message shows."""
    unknown = {"shown": None, "shown_at": outbox.c.queued_at}
    tx.connection.execute(sa.update(outbox).where(outbox.c.message == message).values(unknown))


def mark_not_updated(tx: Transaction, message: str, fence: int, next_at: dt.datetime, shown: str | None) -> bool:
    """Record a failed update, to be repeated; with `shown` it is given up, as if the message showed that."""
    if shown is not None:
        return _updated(tx, message, fence, shown=shown, shown_at=tx.now, updates=0)
    return _updated(tx, message, fence, next_at=next_at, updates=outbox.c.updates + 1)


def _updated(tx: Transaction, message: str, fence: int, **values: Any) -> bool:
    claimed = sa.update(outbox).where(outbox.c.message == message, outbox.c.fence == fence, outbox.c.status == "sent")
    return tx.connection.execute(claimed.values(owner=None, **values)).rowcount == 1


def mark_unsent(
    tx: Transaction,
    message: str,
    fence: int,
    *,
    status: str,
    next_at: dt.datetime,
    outcome_unknown: bool,
    receipt: DeliveryReceipt | None,
    problem: str,
) -> bool:
    """Record a failed attempt to send the claimed message; `receipt` is that of a first part that arrived."""
    values = {"status": status, "next_at": next_at, "outcome_unknown": outcome_unknown, "problem": problem}
    facts = None if receipt is None else receipt_to_json(receipt)
    return _changed(tx, message, fence, owner=None, receipt=facts, **values)


def _changed(tx: Transaction, message: str, fence: int, **values: Any) -> bool:
    claimed = sa.update(outbox).where(
        outbox.c.message == message, outbox.c.fence == fence, outbox.c.status == "sending"
    )
    return tx.connection.execute(claimed.values(values)).rowcount == 1


def give_up(tx: Transaction, row: Undelivered, problem: str, *, outcome_unknown: bool) -> bool:
    """Give up a message that nobody can send; return False if it changed meanwhile."""
    over = {
        "status": "failed",
        "problem": problem,
        "owner": None,
        "fence": row.fence + 1,
        "outcome_unknown": outcome_unknown,
    }
    update = sa.update(outbox).where(outbox.c.message == row.message, outbox.c.fence == row.fence)
    return tx.connection.execute(update.values(over)).rowcount == 1


# Receipts


def receipt_to_json(receipt: DeliveryReceipt) -> JsonObject:
    return {"where": receipt.where, "details": dict(receipt.details)}


def _receipt(stored: Any) -> DeliveryReceipt | None:
    return None if stored is None else DeliveryReceipt(stored["where"], stored["details"])


_MESSAGE = tuple(outbox.c[name] for name in Message.__dataclass_fields__)
_CONTENT = tuple(outbox.c[name] for name in Content.__dataclass_fields__)
_UNDELIVERED = tuple(outbox.c[name] for name in Undelivered.__dataclass_fields__)
_CLAIMED = tuple(outbox.c[name] for name in ClaimedMessage.__dataclass_fields__)
_FIRST_QUEUED = sa.func.min(outbox.c.queued_at, type_=outbox.c.queued_at.type)
