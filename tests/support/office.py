"""The office of the tests: a state database with a steerable clock, and what is scheduled, run and sent over it."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from notifications.base import Notice
from notifications.wording.headline import headline
from reconcile import config
from reconcile.audit import log
from reconcile.config.settings import Project
from reconcile.coordination import clock, pauses
from reconcile.messages import delivery, outbox, troubles
from reconcile.schedule import slots
from reconcile.service import scheduler
from reconcile.service.scheduler import Scheduler
from reconcile.store import Store, tables
from reconcile.store import outbox as stored_outbox
from reconcile.store import runs as stored_runs
from reconcile.store import slots as stored_slots
from reconcile.store import troubles as stored_troubles
from reconcile.store.audit_log import LogEntry
from reconcile.store.slots import SlotRow
from tests.support import cli
from tests.support.servers import STATE
from tests.support.store import NOON, FixedClock

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)

SMALLEST: dict[str, Any] = {
    "sources": {"shop": {"type": "files"}},
    "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
    "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
    "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
}
"""The smallest configuration that can have jobs."""


def notice(name: str) -> Notice:
    """A test message with this id."""
    return Notice(id=name, job="nightly", run="run1_x", slot=NOON, test=True)


@dataclass
class Office:
    """A state database with a steerable clock, and what schedules, runs and sends over it.

    Time passes only when a test says so: `clock` is the store's, and `awake` is how long the host ran since `boot`.
    An office needs no records; a test that cleans some uses a World.
    """

    store: Store
    clock: FixedClock
    folder: Path
    url: str = STATE
    boot: str = "boot-1"
    awake: dt.timedelta = dt.timedelta(0)
    _fences: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))

    @classmethod
    @contextmanager
    def open(cls, url: str, folder: Path, now: dt.datetime = NOON) -> Iterator[Self]:
        """An office that is closed at the end."""
        office = cls.at(url, folder, now)
        with office.store:
            yield office

    @classmethod
    def at(cls, url: str, folder: Path, now: dt.datetime = NOON, *, key: bytes | None = None) -> Self:
        """An office over the state at this address, which is made if it does not exist."""
        clock = FixedClock(now)
        return cls(Store.open(url, folder, key=key, clock=clock), clock, folder, url)

    # Its configuration

    def configure(self, **sections: Any) -> Project:
        """Write and load the smallest configuration with these sections; a job has all rules if it names none."""
        jobs = {name: {"rules": "all", **job} for name, job in sections.pop("jobs", {}).items()}
        written = {"state": self.url, **SMALLEST, **sections, "jobs": jobs}
        (self.folder / "reconcile.yaml").write_text(json.dumps(written), encoding="utf-8")
        self.project = config.load(self.folder / "reconcile.yaml", {})
        return self.project

    @cached_property
    def project(self) -> Project:
        return config.load(self.folder / "reconcile.yaml", {})

    @property
    def command(self) -> cli.Project:
        """The command line in the folder; it reads the clock of this machine."""
        return cli.Project(self.folder)

    # Time

    def sleep(self, length: dt.timedelta) -> None:
        """Time passes, on the wall clock and on the host's."""
        self.clock.now += length
        self.awake += length

    def set_clock(self, length: dt.timedelta) -> None:
        """Somebody sets the wall clock; no time passes."""
        self.clock.now += length

    def confirm_clock(self, *, lose: bool = False) -> scheduler.Confirmed | None:
        """A person confirms the wall clock."""
        with self.store.begin() as tx:
            return scheduler.confirm_clock(tx, self.project, "maria", lose=lose)

    # What is scheduled

    def scheduler(self) -> Scheduler:
        return Scheduler(self.store, lambda: clock.HostTime(self.boot, int(self.awake.total_seconds() * 1e9)))

    def rows(self, job: str | None = "nightly") -> list[SlotRow]:
        """The slots of a job, or of all jobs; the oldest first."""
        with self.store.read() as tx:
            return list(reversed(stored_slots.listed(tx, job=job)))

    def slots(self, job: str = "nightly") -> list[tuple[str, str]]:
        """Every slot of a job with its status, the oldest first."""
        return [(f"{row.slot:%m-%d %H:%M}", row.status) for row in self.rows(job)]

    def statuses(self) -> Counter[str]:
        return Counter(row.status for row in self.rows(None))

    def pause(self, subject: str) -> None:
        with self.store.begin() as tx:
            pauses.pause(tx, subject, reason="the bank is being moved", by="ada")

    def resume(self, subject: str) -> None:
        with self.store.begin() as tx:
            pauses.resume(tx, subject, "ada")

    # What runs

    def run_oldest(self, job: str = "nightly", status: str = "succeeded") -> dt.datetime:
        """Take the oldest waiting slot of a job and end it with this status; returns its time."""
        with self.store.begin() as tx:
            row = stored_slots.waiting(tx, job)[0]
            taken = stored_slots.take(tx, row, {}, tx.now)
            assert taken is not None
            stored_slots.end(tx, taken, status)
        return row.slot

    def run(self, status: str = "succeeded", trigger: str = "slot", job: str = "nightly") -> None:
        """A run of the job that ends now."""
        run = slots.run_id(job, self.clock.now)
        with self.store.begin() as tx:
            stored_runs.keep_release(tx, "r1", {})
            stored_runs.start(tx, run, job, self.clock.now, "r1", trigger, next(self._fences))
            stored_runs.finish(tx, run, status, {})

    # What is sent

    def queue(self, *names: str, channel: str = "slack") -> None:
        """Test messages with these ids."""
        with self.store.begin() as tx:
            for name in names:
                outbox.enqueue(tx, channel, notice(name))

    def deliver(self, channel: delivery.Deliverer, **options: Any) -> delivery.DeliveryReport:
        """Send what is due; waiting moves the clock."""
        return delivery.deliver(self.store, {"slack": channel}, sleep=self.clock.sleep, **options)

    def messages(self) -> list[outbox.Message]:
        """Every message in the outbox with its delivery."""
        with self.store.read() as tx:
            return list(stored_outbox.listed(tx))

    def notices(self) -> Iterator[tuple[str, Notice]]:
        """Every message in the outbox with its channel, the oldest first."""
        order = (tables.outbox.c.queued_at, tables.outbox.c.channel)
        with self.store.read() as tx:
            for row in tx.connection.execute(sa.select(tables.outbox).order_by(*order)):
                yield row.channel, outbox.notice_of(row.notice)

    def headlines(self) -> list[tuple[str, str]]:
        """Every message in the outbox: its channel and headline."""
        return [(channel, headline(notice)) for channel, notice in self.notices()]

    def begin_trouble(self, subject: str, sentence: str, job: str | None = None) -> bool:
        with self.store.begin() as tx:
            return troubles.begin(tx, self.project, subject, sentence, job=job)

    def end_trouble(self, subject: str, how: str = "The time is confirmed.") -> bool:
        with self.store.begin() as tx:
            return troubles.end(tx, self.project, subject, how)

    def troubles(self) -> list[str]:
        """The subjects of all troubles that go on."""
        with self.store.read() as tx:
            return [trouble.subject for trouble in stored_troubles.ongoing(tx)]

    # What the audit log says

    def entries(self, event: str) -> list[LogEntry]:
        with self.store.read() as tx:
            return list(log.entries(tx, event=event))
