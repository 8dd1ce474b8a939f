"""Leases: the right to write for a name, checked inside every transaction that writes.

A lease has a fence, a number that rises with every take-over. A stale worker that lost its lease without noticing
(stopped, swapped out, cut off) finds another fence in the row and writes nothing.

An owner's process is checked directly where it is visible: same boot, same process namespace. If that process (by pid
and start time) is gone, the lease is free at once. Otherwise a deadline decides: on PostgreSQL by the database's clock,
on SQLite, which serves one host, by that host's boot-time clock, which cannot be set; there, an owner from before the
last boot is dead too.

End a stale worker on this host before another one takes over its plans: its claims expired, so it must not act.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from reconcile.documents import JsonObject
from reconcile.errors import Failed
from reconcile.store import Store, StoreError, Transaction, leases
from reconcile.store.errors import StoreReplaced

LONGEST = dt.timedelta(minutes=5)
"""The longest claim without a renewal. A later deadline is from a clock that was ahead."""


class LeaseLost(Failed):
    """Another worker took over; this transaction is rolled back."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Another worker took over the lease {name!r} and continues the work; this one stops. "
            "Its last step was rolled back"
        )


@dataclass(frozen=True)
class Owner:
    """A process, identified so that others can check that it lives; `boot_deadline` is CLOCK_BOOTTIME in ns."""

    host: str
    boot: str
    pids: str  # the process namespace: a pid means nothing in another one
    pid: int
    started: int  # clock ticks after boot: distinguishes a process from a later one with its pid
    boot_deadline: int = 0

    @classmethod
    def this_process(cls, ttl: dt.timedelta) -> Owner:
        started = _started_here(os.getpid())
        assert started is not None, "this process is running"  # noqa: S101 - a fact, not a check of input
        deadline = boot_time() + round(ttl.total_seconds() * 1e9)
        return cls(socket.gethostname(), boot_id(), _pid_namespace(), os.getpid(), started, deadline)

    @classmethod
    def from_json(cls, value: Any) -> Owner:
        return cls(**value)

    def to_json(self) -> JsonObject:
        return asdict(self)

    def is_here(self) -> bool:
        """Return True if its process is visible from here and still runs."""
        same = self.boot == boot_id() and self.pids == _pid_namespace()
        return same and _process_started(self.pid) == self.started

    def is_this_process(self) -> bool:
        return self.pid == os.getpid() and self.is_here()

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True)
class Lease:
    """The right to write for `name` until another process takes over. `until` is by the store's clock."""

    name: str
    fence: int
    until: dt.datetime
    ttl: dt.timedelta


@dataclass(frozen=True)
class LeaseHeld:
    """Another process has the lease. `until` is its end unless it is renewed."""

    by: Owner
    until: dt.datetime


def acquire(store: Store, name: str, ttl: dt.timedelta) -> Lease | LeaseHeld:
    """Take the lease if it is free or its owner is dead.

    A deadline later than that of any lease given now is shortened to the longest: a live owner renews it before that,
    and a dead one is not waited for any longer.
    """
    with store.begin() as tx:
        row = leases.lock(tx, name)
        if row.owner is not None:
            owner = Owner.from_json(row.owner)
            if not is_dead(tx, owner, row.until):
                return LeaseHeld(owner, _shorten_deadline(tx, name, row.until))
        until = tx.now + ttl
        fence = leases.take(tx, name, row.fence, Owner.this_process(ttl).to_json(), until)
        return Lease(name, fence, until, ttl)


def renew(store: Store, lease: Lease) -> Lease:
    """Return the lease with a new deadline; raises LeaseLost after a take-over."""
    with store.begin() as tx:
        until = tx.now + lease.ttl
        _update(tx, lease, Owner.this_process(lease.ttl), until)
        return replace(lease, until=until)


def release(store: Store, lease: Lease) -> None:
    """Release the lease, so the next process need not wait; raises LeaseLost if it is no longer ours."""
    with store.begin() as tx:
        _update(tx, lease, None, tx.now)


def give_back(store: Store, lease: Lease) -> None:
    """Release the lease on the way out; after a take-over this does nothing, and our writes were refused."""
    with contextlib.suppress(LeaseLost):
        release(store, lease)


def check(tx: Transaction, lease: Lease) -> None:
    """Raise LeaseLost unless the lease is ours, and keep others from taking it until this transaction ends.

    Call it first in every transaction that writes under the lease. It does not block renewals.
    """
    if not leases.keep(tx, lease.name, lease.fence):
        raise LeaseLost(lease.name)


def holder(tx: Transaction, name: str) -> Owner | None:
    """The owner of the lease; None if it is free or its owner is dead."""
    row = leases.get(tx, name)
    if row is None or row.owner is None:
        return None
    owner = Owner.from_json(row.owner)
    return None if is_dead(tx, owner, row.until) else owner


def silent_owner(tx: Transaction, name: str) -> tuple[Owner, dt.datetime] | None:
    """Return the owner of an expired lease and its end, if its process is seen to run: it fails to renew the lease."""
    row = leases.get(tx, name)
    if row is None or row.owner is None:
        return None
    owner = Owner.from_json(row.owner)
    return (owner, row.until) if owner.is_here() and is_dead(tx, owner, row.until) else None


def is_dead(tx: Transaction, owner: Owner, until: dt.datetime) -> bool:
    """Return True if this owner of a claim that runs `until` can no longer act on it, as the module describes."""
    if owner.boot == boot_id() and owner.pids == _pid_namespace() and _is_gone(owner):
        return True
    if tx.store.is_shared:
        return until < tx.now
    return owner.boot != boot_id() or owner.boot_deadline < boot_time()


def _shorten_deadline(tx: Transaction, name: str, until: dt.datetime) -> dt.datetime:
    """Shorten the deadline of another process's lease to LONGEST; return it."""
    latest = tx.now + LONGEST
    if until > latest:
        leases.shorten(tx, name, latest)
    return min(until, latest)


def _update(tx: Transaction, lease: Lease, owner: Owner | None, until: dt.datetime) -> None:
    if not leases.update(tx, lease.name, lease.fence, None if owner is None else owner.to_json(), until):
        raise LeaseLost(lease.name)


def boot_time() -> int:
    """Nanoseconds since boot, sleep included; not settable."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@functools.cache
def boot_id() -> str:
    """An id that changes with each boot of this host."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@functools.cache
def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _process_started(pid: int) -> int | None:
    """The start time of the process, in clock ticks after boot; None if it is not visible or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat[stat.rindex(b")") + 2 :].split()
    return None if state in (b"Z", b"X") else int(fields[18])


@functools.cache
def _started_here(pid: int) -> int | None:
    """The start time of this process, cached because every claim needs it; a fork has another pid."""
    return _process_started(pid)


def _is_gone(owner: Owner) -> bool:
    """Return True if its process has ended. A process of another user hidden in /proc counts as running."""
    if _process_started(owner.pid) == owner.started:
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return Path(f"/proc/{owner.pid}").exists()  # visible, so we saw another process with its pid
    return True


class Heartbeat:
    """Renews a lease from a thread of its own while the work makes progress.

    `stall` is the time without a call of `progress` after which renewing stops, so a hung worker is replaced. `lost` is
    True if the lease is lost or no longer renewed; the work itself finds out through `check`.
    """

    def __init__(
        self,
        store: Store,
        lease: Lease,
        *,
        stall: dt.timedelta = dt.timedelta(minutes=15),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._lease = lease
        self._stall = stall.total_seconds()
        self._clock = clock
        self._last_progress = clock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.lost = False
        self.problem: StoreError | None = None
        """The error of the last renewal, if it failed; the next tick retries it."""

    def progress(self) -> None:
        """Note that the work progresses: a batch was read, a rule done."""
        self._last_progress = self._clock()

    def tick(self) -> None:
        """Renew once, unless the work stalled or the lease is lost."""
        if self.lost:
            return
        if self._clock() - self._last_progress > self._stall:
            self.lost = True
            return
        try:
            self._lease = renew(self._store, self._lease)
            self.problem = None
        except (LeaseLost, StoreReplaced):
            self.lost = True
        except StoreError as error:
            self.problem = error

    def start(self) -> Heartbeat:
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat {self._lease.name}", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread after a renewal in progress. Safe to call twice."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(self._lease.ttl.total_seconds() / 3):
            self.tick()

    def __enter__(self) -> Heartbeat:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def end(owner: Owner) -> bool:
    """Kill the process if it runs on this host and is not this one; return True if it was killed.

    Only for an owner with an expired claim: it was stopped, swapped out or hangs. Pid and start time identify it, so a
    later process with the same pid is safe.
    """
    if not owner.is_here() or owner.pid == os.getpid():
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended by itself, or belongs to another user
        os.kill(owner.pid, signal.SIGKILL)
        return True
    return False
