"""Delivery from the outbox to channels: once if the channel can be checked, else at least once with the same id.

A message is `sending` before the first byte leaves. If its sender dies, its outcome is unknown: the channel
is checked, three times over ten seconds, before it is sent again. For a channel that cannot be checked, `on_unknown`
decides: send it again, or leave it to a person.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from notifications.base import Notice, Receipt, Resumable
from notifications.errors import CannotBeAsked, ChannelError, DeliveryUnknown, PartlySent, Reaction
from reconcile.coordination.lease import Owner, is_dead
from reconcile.messages.outbox import MESSAGES, Message, get, log, messages, notice_of, receipt_of
from reconcile.schedule import retry
from reconcile.store import Store, Transaction
from reconcile.store.tables import outbox, told, troubles

T = TypeVar("T")

PATIENCE = dt.timedelta(seconds=30)
"""The time one delivery waits for messages that are due soon; later ones are left to the next run."""

CLAIM = dt.timedelta(minutes=5)
LOOKS = (0.0, 4.0, 6.0)
"""Seconds before each check for a message that may have arrived, unless the channel sets `looks`."""
_UNDELIVERED = ("queued", "sending")
_DECIDE = (
    "Check whether the message arrived. Then send it again with `reconcile messages requeue {0}`, "
    "or drop it with `reconcile messages drop {0}`"
)


_active: set[tuple[str, str]] = set()
"""Messages that this process is delivering, by store and message."""


class Deliverer(Protocol):
    """The part of a channel that the outbox needs; every `notifications.base.Channel` has it."""

    def send(self, notice: Notice) -> Receipt:
        """Deliver once, or raise a ChannelError that says whether it is known not to have happened."""

    def find(self, notice: Notice) -> Receipt | None:
        """Return the receipt of this notice if it arrived; raises CannotBeAsked if the channel cannot check."""


@dataclass
class Report:
    """The result of a delivery: messages it sent, messages that failed, and all messages still waiting.

    `failed` messages were given up, or are left to a person. `retried` holds each attempt that failed and will be
    repeated: the name of its error, and the message.
    """

    sent: list[Message] = field(default_factory=list)
    failed: list[Message] = field(default_factory=list)
    waiting: list[Message] = field(default_factory=list)
    retried: list[tuple[str, Message]] = field(default_factory=list)


def deliver(
    store: Store,
    channels: Mapping[str, Deliverer],
    *,
    ask_a_person: Collection[str] = (),
    policy: retry.Policy = MESSAGES,
    patience: dt.timedelta = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Deliver messages that are due, or become due within `patience`; the rest stays queued.

    `ask_a_person` names the channels with `on_unknown: person`: a message that may have arrived there and cannot be
    checked becomes `unknown`, for a person to requeue or drop. Safe to run in any number of processes: each message is
    sent by one. A channel's error never ends a delivery; a StoreError does, and the next delivery can continue.
    """
    delivery = _Delivery(store, channels, ask_a_person, policy, sleep)
    remaining = patience.total_seconds()
    delivery.give_up_unknown_channels()
    try:
        while True:
            while (claim := delivery.claim()) is not None:
                delivery.handle(claim)
            wait, waiting = delivery.next_due()
            if wait is None or wait > remaining:
                break
            sleep(wait)
            remaining -= wait
    finally:
        _active.difference_update(delivery.taken)
    delivery.report.waiting = waiting
    return delivery.report


def anything_due(tx: Transaction, channels: Collection[str]) -> bool:
    """Return True if a delivery would have a message to send, to check or to give up."""
    ours = outbox.c.channel.in_(list(channels))
    due = sa.or_(sa.and_(outbox.c.status == "queued", outbox.c.next_at <= tx.now), outbox.c.status == "sending")
    orphaned = sa.and_(outbox.c.status.in_(_UNDELIVERED), sa.not_(ours))
    return bool(tx.connection.execute(sa.select(sa.exists().where(sa.or_(sa.and_(due, ours), orphaned)))).scalar())


@dataclass(frozen=True)
class _Claim:
    """A message that we may send while its fence is unchanged."""

    message: str
    channel: str
    run: str | None
    fence: int
    attempts: int
    give_up_at: dt.datetime
    in_doubt: bool
    notice: Notice
    begun: Receipt | None
    """The receipt of the message's first part, if that is known to have arrived."""


class _Overtaken(Exception):
    """Another sender took over the message while we checked for it."""


class _Delivery:
    """One call of `deliver`: its tools, its report, and the refused messages that are left for later."""

    def __init__(
        self,
        store: Store,
        channels: Mapping[str, Deliverer],
        ask_a_person: Collection[str],
        policy: retry.Policy,
        sleep: Callable[[float], None],
    ) -> None:
        self._store = store
        self._channels = channels
        self._policy = policy
        self._ask_a_person = ask_a_person
        self._sleep = sleep
        self._refused: set[str] = set()
        self.taken: set[tuple[str, str]] = set()
        self.report = Report()

    # Claiming

    def claim(self) -> _Claim | None:
        """Claim the next message that is due or was abandoned by a dead sender, by compare-and-set."""
        with self._store.begin() as tx:
            for row in tx.connection.execute(_due(tx, self._channels, self._refused)).all():
                if row.status == "sending" and not _is_abandoned(tx, row):
                    continue
                claimed = tx.connection.execute(_take(tx, row)).one_or_none()
                if claimed is None:
                    continue
                self.taken.add((self._store.id, row.message))
                _active.update(self.taken)
                in_doubt = row.in_doubt or row.status == "sending"
                body = {"channel": row.channel, "run": row.run, "attempt": claimed.attempts, "in_doubt": in_doubt}
                log(tx, "reconcile", "message.sending", row.message, body)
                notice = notice_of(claimed.notice)
                return _Claim(
                    row.message,
                    row.channel,
                    row.run,
                    claimed.fence,
                    claimed.attempts,
                    claimed.give_up_at,
                    in_doubt,
                    notice,
                    receipt_of(claimed.receipt),
                )
        return None

    def next_due(self) -> tuple[float | None, list[Message]]:
        """Return the seconds until our next message is due, and all waiting messages, as of one moment.

        A message that another run queues after that moment is not included: that run delivers it.
        """
        with self._store.read() as tx:
            waiting = list(messages(tx, "queued"))
            soonest = tx.connection.execute(
                sa.select(sa.func.min(outbox.c.next_at, type_=outbox.c.next_at.type)).where(
                    outbox.c.status == "queued",
                    outbox.c.channel.in_(list(self._channels)),
                    outbox.c.message.not_in(list(self._refused)),
                )
            ).scalar()
            return None if soonest is None else max((soonest - tx.now).total_seconds(), 0.01), waiting

    # Sending

    def handle(self, claim: _Claim) -> None:
        """Send one claimed message and record the result."""
        channel = self._channels[claim.channel]
        doubt = claim.in_doubt
        try:
            receipt = None
            if claim.in_doubt:
                receipt, doubt = self._find(channel, claim)
            is_found = receipt is not None
            receipt = receipt or _ask(_sending(channel, claim), claim)
        except _Overtaken:
            return
        except ChannelError as error:
            self._react(claim, error, in_doubt=doubt)
        else:
            self._record_sent(claim, receipt, is_found=is_found)

    def _react(self, claim: _Claim, error: ChannelError, *, in_doubt: bool) -> None:
        """Retry what was not sent; check first if that is unknown; leave a refused message to a later delivery."""
        if isinstance(error, CannotBeAsked):
            self._retry_later(claim, error, for_a_person=True, in_doubt=True)
            return
        if error.reaction in (Reaction.STOP, Reaction.ASK):
            self._refused.add(claim.message)
        self._retry_later(claim, error, in_doubt=in_doubt or error.reaction is Reaction.LOOK)

    def _find(self, channel: Deliverer, claim: _Claim) -> tuple[Receipt | None, bool]:
        """Return the receipt if it arrived, and whether doubt remains. Raises the errors of `find`, or _Overtaken."""
        try:
            for wait in getattr(channel, "looks", LOOKS):
                if wait:
                    self._sleep(wait)
                receipt = _ask(channel.find, claim)
                if receipt is not None:
                    return receipt, False
        except CannotBeAsked:
            if claim.channel in self._ask_a_person:
                raise
            return None, True
        self._renew(claim)
        return None, False

    def _renew(self, claim: _Claim) -> None:
        """Renew the claim before sending; raises _Overtaken if it is no longer ours."""
        with self._store.begin() as tx:
            if not _update(tx, claim, owner=Owner.this_process(CLAIM).to_json(), lease_until=tx.now + CLAIM):
                raise _Overtaken

    def _record_sent(self, claim: _Claim, receipt: Receipt, *, is_found: bool) -> None:
        facts = _stored(receipt)
        body = {
            "channel": claim.channel,
            "run": claim.run,
            "attempt": claim.attempts,
            "receipt": facts,
            "found": is_found,
        }
        with self._store.begin() as tx:
            done = {"status": "sent", "receipt": facts, "sent_at": tx.now, "in_doubt": False, "problem": None}
            if not _update(tx, claim, owner=None, **done):
                log(tx, "reconcile", "message.sent_late", claim.message, body)
                return
            log(tx, "reconcile", "message.sent", claim.message, body)
            message = get(tx, claim.message)
        self.report.sent.append(message)

    def _retry_later(self, claim: _Claim, error: ChannelError, *, in_doubt: bool, for_a_person: bool = False) -> None:
        """Queue it again with the delay for its key and attempt, or give it up when its budget is used up.

        A message about a trouble is never given up while the trouble lasts, because no other message reports it. If a
        part arrived, or may have and a person decides, its news is not reported again.
        """
        begun = error.begun if isinstance(error, PartlySent) else claim.begun
        requested = None if error.retry_after is None else dt.timedelta(seconds=min(error.retry_after, 86_400.0))
        decision = retry.decide(claim.message, claim.attempts - 1, self._policy, requested)
        attempts_left = max(self._policy.attempts - claim.attempts, 0)
        body: dict[str, Any] = {"channel": claim.channel, "run": claim.run, "class": type(error).__name__}
        body |= {"in_doubt": in_doubt, "attempts_left": attempts_left, **decision.to_json()}
        with self._store.begin() as tx:
            next_at = tx.now + decision.delay
            over = for_a_person or attempts_left == 0 or next_at > claim.give_up_at
            over = over and (in_doubt or begun is not None or not _is_ongoing(tx, claim.notice))
            asks = over and (for_a_person or begun is not None or (in_doubt and claim.channel in self._ask_a_person))
            status = "unknown" if asks else "failed" if over else "queued"
            values = {"status": status, "next_at": next_at, "in_doubt": in_doubt, "receipt": _stored(begun)}
            problem = f"{error} {_DECIDE.format(claim.message)}" if asks else str(error)
            if not _update(tx, claim, owner=None, problem=problem, **values):
                log(tx, "reconcile", "message.overtaken", claim.message, body)
                return
            log(tx, "reconcile", f"message.{status}" if over else "message.retry", claim.message, body)
            if over and not asks:
                _report_again(tx, claim.message)
            message = get(tx, claim.message)
        if over:
            self.report.failed.append(message)
        else:
            self.report.retried.append((type(error).__name__, message))

    def give_up_unknown_channels(self) -> None:
        """Fail messages whose channel was removed from the configuration, once their budget has ended."""
        with self._store.begin() as tx:
            overdue = sa.select(outbox).where(
                outbox.c.status.in_(_UNDELIVERED),
                outbox.c.channel.not_in(list(self._channels)),
                outbox.c.give_up_at < tx.now,
            )
            for row in tx.connection.execute(overdue).all():
                if row.status == "sending" and not _is_abandoned(tx, row):
                    continue
                problem = f"channel {row.channel!r} is no longer configured"
                over = {"status": "failed", "problem": problem, "owner": None, "fence": row.fence + 1}
                doubt = {"in_doubt": row.in_doubt or row.status == "sending"}
                mine = sa.update(outbox).where(outbox.c.message == row.message, outbox.c.fence == row.fence)
                if tx.connection.execute(mine.values(over | doubt)).rowcount == 0:
                    continue
                log(tx, "reconcile", "message.failed", row.message, {"run": row.run, "class": "no_channel"})
                _report_again(tx, row.message)
                self.report.failed.append(get(tx, row.message))


def _sending(channel: Deliverer, claim: _Claim) -> Callable[[Notice], Receipt]:
    """Return the call that sends the whole message, or its rest if the first part arrived."""
    begun = claim.begun
    if begun is not None and isinstance(channel, Resumable):
        return lambda notice: channel.finish(notice, begun)
    return channel.send


def _stored(receipt: Receipt | None) -> dict[str, Any] | None:
    return None if receipt is None else {"where": receipt.where, "details": dict(receipt.details)}


def _ask(act: Callable[[Notice], T], claim: _Claim) -> T:
    """Call the channel; an unexpected exception becomes DeliveryUnknown, so that other messages continue."""
    try:
        return act(claim.notice)
    except ChannelError:
        raise
    except Exception as error:
        raise DeliveryUnknown(claim.channel, f"it failed with {type(error).__name__}, which is a defect") from error


def _is_ongoing(tx: Transaction, notice: Notice) -> bool:
    """Return True if the notice reports the start of a trouble that still lasts."""
    trouble = notice.trouble
    if trouble is None or trouble.ended:
        return False
    query = sa.select(troubles.c.since).where(troubles.c.subject == trouble.subject)
    return bool(tx.connection.execute(query).scalar() == trouble.since)


def _report_again(tx: Transaction, message: str) -> None:
    """Make the findings of an undelivered message news again, for the next run's message."""
    tx.connection.execute(sa.delete(told).where(told.c.message == message))


def _due(tx: Transaction, channels: Collection[str], refused: Collection[str]) -> sa.Select[Any]:
    due = sa.or_(sa.and_(outbox.c.status == "queued", outbox.c.next_at <= tx.now), outbox.c.status == "sending")
    return (
        sa.select(outbox)
        .where(due, outbox.c.channel.in_(list(channels)), outbox.c.message.not_in(list(refused)))
        .order_by(outbox.c.queued_at, outbox.c.message)
        .limit(200)
    )


def _is_abandoned(tx: Transaction, row: sa.Row[Any]) -> bool:
    """Return True if its sender is dead, or is this process but could not record the result."""
    owner = Owner.from_json(row.owner)
    ours = owner.is_this_process() and (tx.store.id, row.message) not in _active
    return ours or is_dead(tx, owner, row.lease_until)


def _take(tx: Transaction, row: sa.Row[Any]) -> Any:
    values = {
        "status": "sending",
        "fence": outbox.c.fence + 1,
        "attempts": outbox.c.attempts + 1,
        "owner": Owner.this_process(CLAIM).to_json(),
        "lease_until": tx.now + CLAIM,
    }
    return (
        sa.update(outbox)
        .where(outbox.c.message == row.message, outbox.c.fence == row.fence, outbox.c.status == row.status)
        .values(values)
        .returning(outbox.c.fence, outbox.c.attempts, outbox.c.notice, outbox.c.give_up_at, outbox.c.receipt)
    )


def _update(tx: Transaction, claim: _Claim, **values: Any) -> bool:
    mine = sa.update(outbox).where(
        outbox.c.message == claim.message, outbox.c.fence == claim.fence, outbox.c.status == "sending"
    )
    return tx.connection.execute(mine.values(values)).rowcount == 1
