"""Detect clock jumps: at every tick the store's time is compared with the host's time since boot.

After a jump forward, dates would mislead: a month of missed slots would run at once, data kept for thirty days would be
deleted, approvals would expire. So after a jump of more than ten minutes, either way, these wait until a person
confirms the new time. Slots that come due after the jump run as usual.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile.audit import log
from reconcile.coordination import lease
from reconcile.store import Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import anchors, breakers, bundles, clock, outbox, slots
from rules.values import canonical_instant

JUMP = dt.timedelta(minutes=10)
LONGEST_WAIT = dt.timedelta(days=1)
"""Longer than any wait of ours, except for retries configured in a template."""


@dataclass(frozen=True)
class HostTime:
    """Nanoseconds since boot, sleep included, and the id of the boot: a time that cannot be set."""

    boot: str
    ns: int


def this_host() -> HostTime:
    return HostTime(lease.boot_id(), lease.boot_time())


@dataclass(frozen=True)
class ClockJump:
    """An unconfirmed clock jump, from `before` to `since`: work that depends on dates waits."""

    since: dt.datetime
    before: dt.datetime

    @property
    def jump(self) -> str:
        return f"The clock jumped from about {_minute(self.before)} to {_minute(self.since)}"

    @property
    def sentence(self) -> str:
        return (
            f"{self.jump}. Missed slots are not "
            "caught up and no old data is deleted until you confirm the time: correct the clock, then run "
            "`reconcile resume --clock`"
        )


def look(tx: Transaction, host: HostTime) -> ClockJump | None:
    """Compare the clocks and record them; return the unconfirmed jump, new or old. Call it at every tick."""
    row = tx.connection.execute(sa.select(clock)).one_or_none()
    values = {"wall": tx.now, "boot": host.boot, "boot_ns": host.ns}
    if row is None:
        tx.connection.execute(insert_for(tx, clock).values(id=1, **values))
        return None
    jump = ClockJump(row.held_since, row.held_from) if row.held_since else None
    if _jumped(tx.now - row.wall, host, row):
        jump = ClockJump(tx.now, min(row.wall, jump.before) if jump else row.wall)
        values |= {"held_since": jump.since, "held_from": jump.before}
        body = {"from": canonical_instant(row.wall), "to": canonical_instant(tx.now)}
        log.append(tx, "reconcile", "clock.jumped", "clock", body)
    tx.connection.execute(sa.update(clock).values(values))
    return jump


def held(tx: Transaction) -> ClockJump | None:
    row = tx.connection.execute(sa.select(clock.c.held_since, clock.c.held_from)).one_or_none()
    return None if row is None or row.held_since is None else ClockJump(*row)


def confirm(tx: Transaction, actor: str) -> ClockJump | None:
    """Confirm the time; return the jump, or None without one."""
    jump = held(tx)
    if jump is not None:
        tx.connection.execute(sa.update(clock).values(held_since=None, held_from=None))
        body = {"from": canonical_instant(jump.before), "to": canonical_instant(jump.since)}
        log.append(tx, actor, "clock.confirmed", "clock", body)
    return jump


def shorten_waits(tx: Transaction, longest: dt.timedelta) -> None:
    """Make work due now that waits longer than any wait (or `longest`): its time came from a clock that was ahead.
    A claim that runs longer than any claim ends, unless renewed, as the longest one that begins now."""
    latest_due = tx.now + max(longest, LONGEST_WAIT)
    for table, column, states in _WAITING:
        put_off = sa.update(table).where(table.c[states].in_(_WAITING_STATES), table.c[column] > latest_due)
        tx.connection.execute(put_off.values({column: tx.now}))
    latest = tx.now + lease.LONGEST
    for table, states in _CLAIMED:
        claimed = sa.update(table).where(table.c[states].in_(_CLAIMED_STATES), table.c.lease_until > latest)
        tx.connection.execute(claimed.values(lease_until=latest))


_WAITING = (
    (bundles, "next_at", "state"),
    (outbox, "next_at", "status"),
    (anchors, "next_at", "status"),
    (breakers, "probe_at", "state"),
)
_WAITING_STATES = ("approved", "retry_wait", "ambiguous", "queued", "due", "open", "half_open")
_CLAIMED = ((bundles, "state"), (outbox, "status"), (slots, "status"))
_CLAIMED_STATES = ("claimed", "sent", "ambiguous", "sending", "running")


def _jumped(by_clock: dt.timedelta, host: HostTime, row: sa.Row[object]) -> bool:
    """Return True if the clock jumped. Across a boot only a step back can be distinguished from passing time."""
    by_host = (
        dt.timedelta(microseconds=(host.ns - row.boot_ns) / 1000)
        if host.boot == row.boot
        else max(by_clock, dt.timedelta(0))
    )
    return abs(by_clock - by_host) > JUMP


def _minute(time: dt.datetime) -> str:
    return f"{time:%d %b %Y %H:%M} UTC"
