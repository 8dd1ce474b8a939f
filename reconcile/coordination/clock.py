"""Detect clock jumps: at every tick the store's time is compared with the host's time since boot.

After a jump forward, dates would mislead: a month of missed slots would run at once, data kept for thirty days would be
deleted, approvals would expire. So after a jump of more than ten minutes, either way, these wait until a person
confirms the new time. Slots that come due after the jump run as usual.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from reconcile.audit import log
from reconcile.coordination import lease
from reconcile.store import Transaction
from reconcile.store import clock as stored
from reconcile.store.clock import Tick
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
    last = stored.last(tx)
    stored.keep(tx, tx.now, host.boot, host.ns)
    if last is None:
        return None
    jump = _unconfirmed(last)
    if _jumped(tx.now - last.wall, host, last):
        jump = ClockJump(tx.now, min(last.wall, jump.before) if jump else last.wall)
        body = {"from": canonical_instant(last.wall), "to": canonical_instant(tx.now)}
        stored.keep_jump(tx, jump.since, jump.before)
        log.append(tx, "reconcile", "clock.jumped", "clock", body)
    return jump


def held(tx: Transaction) -> ClockJump | None:
    last = stored.last(tx)
    return None if last is None else _unconfirmed(last)


def confirm(tx: Transaction, actor: str) -> ClockJump | None:
    """Confirm the time; return the jump, or None without one."""
    jump = held(tx)
    if jump is not None:
        stored.keep_jump(tx, None, None)
        body = {"from": canonical_instant(jump.before), "to": canonical_instant(jump.since)}
        log.append(tx, actor, "clock.confirmed", "clock", body)
    return jump


def shorten_waits(tx: Transaction, longest: dt.timedelta) -> None:
    """Make work due now that waits longer than any wait (or `longest`): its time came from a clock that was ahead.
    A claim that runs longer than any claim ends, unless renewed, as the longest one that begins now."""
    stored.make_due(tx, tx.now + max(longest, LONGEST_WAIT))
    stored.end_claims(tx, tx.now + lease.LONGEST)


def _unconfirmed(tick: Tick) -> ClockJump | None:
    if tick.held_since is None or tick.held_from is None:
        return None
    return ClockJump(tick.held_since, tick.held_from)


def _jumped(by_clock: dt.timedelta, host: HostTime, last: Tick) -> bool:
    """Return True if the clock jumped. Across a boot only a step back can be distinguished from passing time."""
    by_host = (
        dt.timedelta(microseconds=(host.ns - last.boot_ns) / 1000)
        if host.boot == last.boot
        else max(by_clock, dt.timedelta(0))
    )
    return abs(by_clock - by_host) > JUMP


def _minute(time: dt.datetime) -> str:
    return f"{time:%d %b %Y %H:%M} UTC"
