"""Tell people that the state can't be written: straight through their channels, because the outbox is in the state.

Of the processes of a host one tells the beginning: the one that locks the key file, which needs no space on the disk.
The end is an ordinary message, in the transaction that records the trouble: the first to record it reports it.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from notifications.base import TroubleNotice
from notifications.errors import ChannelError, DeliveryReaction
from reconcile.audit import log
from reconcile.config.settings import Project
from reconcile.messages import timing, troubles
from reconcile.messages.delivery import Deliverer
from reconcile.store import Store, Transaction, leases
from reconcile.store.failing import LastingFailure
from reconcile.store.troubles import Trouble
from rules.values import canonical_instant

SUBJECT = "state"
LASTS = 15.0
"""Seconds of failing writes after which a message is sent."""
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
_HEADLINE = "Reconcile can't save anything, so no job runs"
_END = "Reconcile can save again, and jobs continue. Due times that were missed are recorded."


@dataclass
class _Delivery:
    """The beginning, for one channel that has not received it yet."""

    next_at: float = 0.0
    pause: float = _FIRST_PAUSE


@dataclass
class StateTrouble:
    """The trouble of the state as this process sees it. Call `tick` every few seconds, from one thread.

    Before the state could be opened, call `tell` instead.

    `failed` is called with a channel and the reason why it did not receive the beginning.
    """

    failed: Callable[[str, ChannelError], None] = lambda _channel, _error: None
    clock: Callable[[], float] = time.monotonic
    trouble: Trouble | None = None
    """The trouble while it lasts."""
    _waiting: dict[str, _Delivery] = field(default_factory=dict)
    _key_file: BinaryIO | None = None

    def tick(self, store: Store, project: Project, channels: Mapping[str, Deliverer]) -> None:
        """Tell the beginning or the end. Raises a StoreError if the end can't be recorded; the next tick then does."""
        failure = store.writes.ongoing()
        if failure is None:
            if self.trouble is not None:
                self._end(store, project, self.trouble)
        else:
            self.tell(failure, store.key_file, project, channels)

    def tell(
        self, failure: LastingFailure, key_file: Path, project: Project, channels: Mapping[str, Deliverer]
    ) -> None:
        """Tell the beginning, if it lasts, to the channels that have not received it."""
        if self.trouble is None and failure.seconds >= LASTS:
            self.trouble = Trouble(SUBJECT, None, sentence(failure), failure.since, troubles.channels(project))
            if self._take_turn(key_file):
                self._waiting = {name: _Delivery() for name in self.trouble.channels if name in channels}
        if self.trouble is not None:
            self._tell_beginning(project, channels, self.trouble)

    def _take_turn(self, key_file: Path) -> bool:
        """Lock the key file until the end; False if another process of this host has it and tells people."""
        try:
            self._key_file = key_file.open("rb")
            fcntl.flock(self._key_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # it can't be read, or its disk has no locks: better reported twice than never
            return True
        return True

    def _tell_beginning(self, project: Project, channels: Mapping[str, Deliverer], trouble: Trouble) -> None:
        now = dt.datetime.now(dt.UTC)
        notice = TroubleNotice(trouble.subject, trouble.sentence, trouble.since)
        for message, channel in troubles.messages(trouble, ended=False):
            delivery = self._waiting.get(channel)
            if delivery is None or channel not in channels or self.clock() < delivery.next_at:
                continue
            message_notice = troubles.message_of(project, trouble, notice, message, now)
            if timing.quiet(project.channels[channel].entry, project.timezone, now, message_notice) is not None:
                continue
            try:
                channels[channel].send(message_notice)
            except ChannelError as error:
                self.failed(channel, error)
                if error.reaction is DeliveryReaction.RETRY:
                    delivery.next_at = self.clock() + delivery.pause
                    delivery.pause = min(delivery.pause * 2, _LONGEST_PAUSE)
                    continue
            del self._waiting[channel]  # sent, refused for good, or it may have arrived: the end follows in any case

    def _end(self, store: Store, project: Project, trouble: Trouble) -> None:
        with store.begin() as tx:
            leases.lock(tx, SUBJECT)
            if not _was_recorded(tx, trouble):
                body = {"subject": SUBJECT, "job": None, "since": canonical_instant(trouble.since)}
                log.append(tx, "reconcile", "trouble.begun", SUBJECT, body | {"channels": list(trouble.channels)})
                troubles.tell_end(tx, project, trouble, _END)
        self.trouble, self._waiting = None, {}
        if self._key_file is not None:
            self._key_file.close()
            self._key_file = None


def sentence(failure: LastingFailure) -> str:
    """Return the trouble of the state in words."""
    return f"{_HEADLINE}\n{failure.error}"


def _was_recorded(tx: Transaction, trouble: Trouble) -> bool:
    """Return True if another process recorded this trouble: an entry of its end is younger than its beginning."""
    return any(entry.at >= trouble.since for entry in log.entries(tx, event="trouble.ended", subject=SUBJECT))


def probe(store: Store) -> None:
    """Write one row, to learn if the state can be written. Raises a StoreError."""
    with store.begin() as tx:
        leases.lock(tx, SUBJECT)
        leases.shorten(tx, SUBJECT, tx.now)
