"""Delivery from the outbox to channels: once if the channel can be checked, else at least once with the same id.

A message is `sending` before the first byte leaves. If its sender dies, its outcome is unknown: the channel
is checked, three times over ten seconds, before it is sent again. For a channel that cannot be checked, `on_unknown`
decides: send it again, or leave it to a person.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from notifications.base import DeliveryReceipt, Notice, Resumable, Updatable
from notifications.errors import CannotBeAsked, ChannelError, DeliveryReaction, DeliveryUnknown, PartlySent
from reconcile.config.settings import Project
from reconcile.coordination.lease import Owner, is_dead
from reconcile.documents import JsonObject
from reconcile.messages import living
from reconcile.messages.outbox import MESSAGES, enqueue, log, notice_of
from reconcile.schedule import retry
from reconcile.store import Store, Transaction, findings, troubles
from reconcile.store import outbox as stored
from reconcile.store.outbox import Message, Undelivered

T = TypeVar("T")

PATIENCE = dt.timedelta(seconds=30)
"""The time one delivery waits for messages that are due soon; later ones are left to the next run."""

CLAIM = dt.timedelta(minutes=5)
LOOKS = (0.0, 4.0, 6.0)
"""Seconds before each check for a message that may have arrived, unless the channel sets `looks`."""
_DECIDE = (
    "Check whether the message arrived. Then send it again with `reconcile messages requeue {0}`, "
    "or drop it with `reconcile messages drop {0}`"
)


_active: set[tuple[str, str]] = set()
"""Messages that this process is delivering, by store and message."""


class Deliverer(Protocol):
    """The part of a channel that the outbox needs; every `notifications.base.Channel` has it."""

    def send(self, notice: Notice) -> DeliveryReceipt:
        """Deliver once, or raise a ChannelError that says whether it is known not to have happened."""

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        """Return the receipt of this notice if it arrived; raises CannotBeAsked if the channel cannot check."""


@dataclass
class DeliveryReport:
    """The result of a delivery: messages it sent, messages that failed, and all messages still waiting.

    `failed` messages were given up, or are left to a person. `retried` holds each attempt that failed and will be
    repeated: the name of its error, and the message. `held` messages wait for their channel's time.
    """

    sent: list[Message] = field(default_factory=list)
    failed: list[Message] = field(default_factory=list)
    waiting: list[Message] = field(default_factory=list)
    retried: list[tuple[str, Message]] = field(default_factory=list)
    held: list[Message] = field(default_factory=list)


def deliver(
    store: Store,
    channels: Mapping[str, Deliverer],
    *,
    ask_a_person: Collection[str] = (),
    fallbacks: Mapping[str, str] | None = None,
    policy: retry.Policy = MESSAGES,
    patience: dt.timedelta = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> DeliveryReport:
    """Deliver messages that are due, or become due within `patience`; the rest stays queued.

    `ask_a_person` names the channels with `on_unknown: person`: a message that may have arrived there and cannot be
    checked becomes `unknown`, for a person to requeue or drop. `fallbacks` names the channels that get what another one
    does not take within the budget. Safe to run in any number of processes: each message is
    sent by one. A channel's error never ends a delivery; a StoreError does, and the next delivery can continue.
    """
    delivery = _Delivery(store, channels, ask_a_person, fallbacks or {}, policy, sleep)
    remaining = patience.total_seconds()
    delivery.give_up_unknown_channels()
    try:
        while True:
            while (claim := delivery.claim()) is not None:
                delivery.handle(claim)
            wait, waiting, held = delivery.next_due()
            if wait is None or wait > remaining:
                break
            sleep(wait)
            remaining -= wait
    finally:
        _active.difference_update(delivery.taken)
    delivery.report.waiting, delivery.report.held = waiting, held
    return delivery.report


def deliver_all(
    store: Store,
    project: Project,
    channels: Mapping[str, Deliverer],
    *,
    patience: dt.timedelta = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> DeliveryReport:
    """Deliver to every channel of the project, as it is configured, and update messages whose findings changed.

    Every job's run delivers what waits of all jobs.
    """
    ask = [name for name, channel in project.channels.items() if channel.settings.on_unknown == "person"]
    fallbacks = {
        name: channel.entry.fallback for name, channel in project.channels.items() if channel.entry.fallback is not None
    }
    of_project = {name: channels[name] for name in project.channels}
    report = deliver(store, of_project, ask_a_person=ask, fallbacks=fallbacks, patience=patience, sleep=sleep)
    living.update_due(store, project, of_project)
    return report


@dataclass(frozen=True)
class _Claim:
    """A message that we may send while its fence is unchanged."""

    message: str
    channel: str
    run: str | None
    fence: int
    attempts: int
    give_up_at: dt.datetime
    outcome_unknown: bool
    notice: Notice
    begun: DeliveryReceipt | None
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
        fallbacks: Mapping[str, str],
        policy: retry.Policy,
        sleep: Callable[[float], None],
    ) -> None:
        self._store = store
        self._fallbacks = fallbacks
        self._channels = channels
        self._policy = policy
        self._ask_a_person = ask_a_person
        self._sleep = sleep
        self._refused: set[str] = set()
        self.taken: set[tuple[str, str]] = set()
        self.report = DeliveryReport()

    # Claiming

    def claim(self) -> _Claim | None:
        """Claim the next message that is due or was abandoned by a dead sender, by compare-and-set."""
        with self._store.begin() as tx:
            for row in stored.due(tx, self._channels, self._refused):
                if row.status == "sending" and not _is_abandoned(tx, row):
                    continue
                claimed = stored.claim(tx, row, Owner.this_process(CLAIM).to_json(), tx.now + CLAIM)
                if claimed is None:
                    continue
                self.taken.add((self._store.id, row.message))
                _active.update(self.taken)
                outcome_unknown = row.outcome_unknown or row.status == "sending"
                body = {
                    "channel": row.channel,
                    "run": row.run,
                    "attempt": claimed.attempts,
                    "outcome_unknown": outcome_unknown,
                }
                log(tx, "reconcile", "message.sending", row.message, body)
                return _Claim(
                    row.message,
                    row.channel,
                    row.run,
                    claimed.fence,
                    claimed.attempts,
                    claimed.give_up_at,
                    outcome_unknown,
                    notice_of(claimed.notice),
                    claimed.receipt,
                )
        return None

    def next_due(self) -> tuple[float | None, list[Message], list[Message]]:
        """Return the seconds until our next message is due, and all waiting and held messages, as of one moment.

        A message that another run queues after that moment is not included: that run delivers it.
        """
        with self._store.read() as tx:
            queued = list(stored.listed(tx, "queued"))
            held = [message for message in queued if message.is_held(tx.now)]
            waiting = [message for message in queued if not message.is_held(tx.now)]
            next_at = stored.next_at(tx, self._channels, self._refused)
            return None if next_at is None else max((next_at - tx.now).total_seconds(), 0.01), waiting, held

    # Sending

    def handle(self, claim: _Claim) -> None:
        """Send one claimed message and record the result."""
        channel = self._channels[claim.channel]
        outcome_unknown = claim.outcome_unknown
        try:
            receipt = None
            if claim.outcome_unknown:
                receipt, outcome_unknown = self._find(channel, claim)
            is_found = receipt is not None
            receipt = receipt or _ask(_sending(channel, claim), claim)
        except _Overtaken:
            return
        except ChannelError as error:
            self._react(claim, error, outcome_unknown=outcome_unknown)
        else:
            self._record_sent(claim, receipt, is_found=is_found)

    def _react(self, claim: _Claim, error: ChannelError, *, outcome_unknown: bool) -> None:
        """Retry what was not sent; check first if that is unknown; leave a refused message to a later delivery."""
        if isinstance(error, CannotBeAsked):
            self._retry_later(claim, error, for_a_person=True, outcome_unknown=True)
            return
        if error.reaction in (DeliveryReaction.STOP, DeliveryReaction.ASK):
            self._refused.add(claim.message)
        self._retry_later(claim, error, outcome_unknown=outcome_unknown or error.reaction is DeliveryReaction.LOOK)

    def _find(self, channel: Deliverer, claim: _Claim) -> tuple[DeliveryReceipt | None, bool]:
        """Return the receipt if it arrived, and True if that is unknown. Raises `find`'s errors, or _Overtaken."""
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
            owner = Owner.this_process(CLAIM).to_json()
            if not stored.renew(tx, claim.message, claim.fence, owner, tx.now + CLAIM):
                raise _Overtaken

    def _record_sent(self, claim: _Claim, receipt: DeliveryReceipt, *, is_found: bool) -> None:
        body = {
            "channel": claim.channel,
            "run": claim.run,
            "attempt": claim.attempts,
            "receipt": stored.receipt_to_json(receipt),
            "found": is_found,
        }
        with self._store.begin() as tx:
            if not stored.mark_sent(tx, claim.message, claim.fence, receipt):
                log(tx, "reconcile", "message.sent_late", claim.message, body)
                return
            log(tx, "reconcile", "message.sent", claim.message, body)
            if isinstance(self._channels[claim.channel], Updatable):
                living.keep_alive(tx, claim.notice)
            message = stored.get(tx, claim.message)
        self.report.sent.append(message)

    def _retry_later(
        self, claim: _Claim, error: ChannelError, *, outcome_unknown: bool, for_a_person: bool = False
    ) -> None:
        """Queue it again with the delay for its key and attempt, or give it up when its budget is used up.

        A message about a trouble is never given up while the trouble lasts, because no other message reports it. If a
        part arrived, or may have and a person decides, its news is not reported again.
        """
        begun = error.begun if isinstance(error, PartlySent) else claim.begun
        requested = None if error.retry_after is None else dt.timedelta(seconds=min(error.retry_after, 86_400.0))
        decision = retry.decide(claim.message, claim.attempts - 1, self._policy, requested)
        attempts_left = max(self._policy.attempts - claim.attempts, 0)
        body: JsonObject = {"channel": claim.channel, "run": claim.run, "class": type(error).__name__}
        body |= {"outcome_unknown": outcome_unknown, "attempts_left": attempts_left, **decision.to_json()}
        with self._store.begin() as tx:
            next_at = tx.now + decision.delay
            over = for_a_person or attempts_left == 0 or next_at > claim.give_up_at
            over = over and (outcome_unknown or begun is not None or not _is_ongoing(tx, claim.notice))
            asks = over and (
                for_a_person or begun is not None or (outcome_unknown and claim.channel in self._ask_a_person)
            )
            status = "unknown" if asks else "failed" if over else "queued"
            if not stored.mark_unsent(
                tx,
                claim.message,
                claim.fence,
                status=status,
                next_at=next_at,
                outcome_unknown=outcome_unknown,
                receipt=begun,
                problem=f"{error} {_DECIDE.format(claim.message)}" if asks else str(error),
            ):
                log(tx, "reconcile", "message.overtaken", claim.message, body)
                return
            log(tx, "reconcile", f"message.{status}" if over else "message.retry", claim.message, body)
            if attempts_left == 0 or next_at > claim.give_up_at:
                self._fall_back(tx, claim)
            if over and not asks:
                findings.forget_notified(tx, claim.message)
            message = stored.get(tx, claim.message)
        if over:
            self.report.failed.append(message)
        else:
            self.report.retried.append((type(error).__name__, message))

    def _fall_back(self, tx: Transaction, claim: _Claim) -> None:
        """Queue the message for its channel's fallback, once; what was a fallback already goes nowhere else."""
        fallback = self._fallbacks.get(claim.channel)
        if fallback is None or claim.notice.fallback_of is not None:
            return
        digest = hashlib.sha256(f"reconcile/fallback/1|{claim.message}|{fallback}".encode()).hexdigest()
        notice = replace(claim.notice, id=f"msg1_{digest[:24]}", fallback_of=claim.channel)
        if enqueue(tx, fallback, notice):
            log(tx, "reconcile", "message.fallback", claim.message, {"channel": fallback, "message": notice.id})

    def give_up_unknown_channels(self) -> None:
        """Fail messages whose channel was removed from the configuration, once their budget has ended."""
        with self._store.begin() as tx:
            for row in stored.overdue_elsewhere(tx, self._channels):
                if row.status == "sending" and not _is_abandoned(tx, row):
                    continue
                problem = f"channel {row.channel!r} is no longer configured"
                if not stored.give_up(tx, row, problem, outcome_unknown=row.outcome_unknown or row.status == "sending"):
                    continue
                log(tx, "reconcile", "message.failed", row.message, {"run": row.run, "class": "no_channel"})
                findings.forget_notified(tx, row.message)
                self.report.failed.append(stored.get(tx, row.message))


def _sending(channel: Deliverer, claim: _Claim) -> Callable[[Notice], DeliveryReceipt]:
    """Return the call that sends the whole message, or its rest if the first part arrived."""
    begun = claim.begun
    if begun is not None and isinstance(channel, Resumable):
        return lambda notice: channel.finish(notice, begun)
    return channel.send


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
    ongoing = troubles.get(tx, trouble.subject)
    return ongoing is not None and ongoing.since == trouble.since


def _is_abandoned(tx: Transaction, row: Undelivered) -> bool:
    """Return True if its sender is dead, or is this process but could not record the result."""
    owner = Owner.from_json(row.owner)
    ours = owner.is_this_process() and (tx.store.id, row.message) not in _active
    return ours or is_dead(tx, owner, row.lease_until)
