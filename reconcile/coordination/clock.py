"""Whether the clock can be believed: at every tick the store's time is compared with the host's time since boot.

A clock that jumped forward would let what goes by dates go too far: a month of missed slots run at once, what is kept
for thirty days thrown away, approvals run out. So after a jump of more than ten minutes, either way, that waits until
a person says that the new time is right. Slots that come due after the jump are run as ever.
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
"""Longer than anything of ours is put off, but for what a template of retries says."""


@dataclass(frozen=True)
class HostTime:
    """Nanoseconds since boot, sleep included, and which boot that was: a time nobody sets."""

    boot: str
    ns: int


def this_host() -> HostTime:
    return HostTime(lease.boot_id(), lease.boot_time())


@dataclass(frozen=True)
class Held:
    """What goes by dates waits: the clock jumped when it should have said `since`, give or take, from `before` on."""

    since: dt.datetime
    before: dt.datetime

    @property
    def jump(self) -> str:
        return f"The clock jumped from about {_minute(self.before)} to {_minute(self.since)}"

    @property
    def sentence(self) -> str:
        return (
            f"{self.jump}. Slots in between are not "
            "caught up and nothing old is thrown away until a person has looked: set the clock right, then "
            "`reconcile resume --clock`"
        )


def look(tx: Transaction, host: HostTime) -> Held | None:
    """Compare the clocks and remember them; what is held, now or from before. Call it at every tick."""
    row = tx.connection.execute(sa.select(clock)).one_or_none()
    values = {"wall": tx.now, "boot": host.boot, "boot_ns": host.ns}
    if row is None:
        tx.connection.execute(insert_for(tx, clock).values(id=1, **values))
        return None
    held = Held(row.held_since, row.held_from) if row.held_since else None
    if _jumped(tx.now - row.wall, host, row):
        held = Held(tx.now, min(row.wall, held.before) if held else row.wall)
        values |= {"held_since": held.since, "held_from": held.before}
        body = {"from": canonical_instant(row.wall), "to": canonical_instant(tx.now)}
        log.append(tx, "reconcile", "clock.jumped", "clock", body)
    tx.connection.execute(sa.update(clock).values(values))
    return held


def held(tx: Transaction) -> Held | None:
    row = tx.connection.execute(sa.select(clock.c.held_since, clock.c.held_from)).one_or_none()
    return None if row is None or row.held_since is None else Held(*row)


def confirm(tx: Transaction, actor: str) -> Held | None:
    """A person says that the time is right; what was held, None when nothing was."""
    was = held(tx)
    if was is not None:
        tx.connection.execute(sa.update(clock).values(held_since=None, held_from=None))
        body = {"from": canonical_instant(was.before), "to": canonical_instant(was.since)}
        log.append(tx, actor, "clock.confirmed", "clock", body)
    return was


def let_go(tx: Transaction, longest: dt.timedelta) -> None:
    """Whatever waits for longer than anything is put off (or is `longest` put off) got its time from a clock that was
    ahead, and would wait until then: it is due now. What somebody has in hand for longer than any claim runs ends as
    the longest would that begins now, unless it is renewed."""
    after = tx.now + max(longest, LONGEST_WAIT)
    for table, column, states in _WAITING:
        put_off = sa.update(table).where(table.c[states].in_(_WAITING_STATES), table.c[column] > after)
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


def _jumped(went: dt.timedelta, host: HostTime, row: sa.Row[object]) -> bool:
    """Across a boot only a step back can be told from time that passed."""
    really = (
        dt.timedelta(microseconds=(host.ns - row.boot_ns) / 1000)
        if host.boot == row.boot
        else max(went, dt.timedelta(0))
    )
    return abs(went - really) > JUMP


def _minute(time: dt.datetime) -> str:
    return f"{time:%d %b %Y %H:%M} UTC"
