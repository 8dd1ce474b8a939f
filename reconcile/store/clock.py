"""The store's clock: the time of the last tick and an unconfirmed jump, and the work that waits for a time."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import anchors, breakers, clock, outbox, plans, slots


@dataclass(frozen=True)
class Tick:
    """The store's time and the host's time since boot at the last tick; `held_since`, `held_from`: a jump."""

    wall: dt.datetime
    boot: str
    boot_ns: int
    held_since: dt.datetime | None = None
    held_from: dt.datetime | None = None


def last(tx: Transaction) -> Tick | None:
    row = tx.connection.execute(sa.select(*(clock.c[name] for name in Tick.__dataclass_fields__))).one_or_none()
    return None if row is None else Tick(*row)


def keep(tx: Transaction, wall: dt.datetime, boot: str, boot_ns: int) -> None:
    """Replace the last tick. It leaves the jump alone, which a person may confirm at the same time."""
    values = {"wall": wall, "boot": boot, "boot_ns": boot_ns}
    insert = insert_for(tx, clock).values(id=1, **values)
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=values))


def keep_jump(tx: Transaction, since: dt.datetime | None, before: dt.datetime | None) -> None:
    """Replace the unconfirmed jump; None: there is none."""
    tx.connection.execute(sa.update(clock).values(held_since=since, held_from=before))


def make_due(tx: Transaction, after: dt.datetime) -> None:
    """Make work due now that waits until a later time than `after`."""
    for table, column, states in _WAITING:
        put_off = sa.update(table).where(table.c[states].in_(_WAITING_STATES), table.c[column] > after)
        if "held" in table.c:  # a digest may be a week away
            put_off = put_off.where(sa.or_(table.c.held.is_(None), table.c[column] > tx.now + _LONGEST_HELD))
        tx.connection.execute(put_off.values({column: tx.now}))


def end_claims(tx: Transaction, at: dt.datetime) -> None:
    """Let claims of plans, messages and slots that run longer end at this time."""
    for table, states in _CLAIMED:
        claimed = sa.update(table).where(table.c[states].in_(_CLAIMED_STATES), table.c.lease_until > at)
        tx.connection.execute(claimed.values(lease_until=at))


_LONGEST_HELD = dt.timedelta(days=9)
_WAITING = (
    (plans, "next_at", "state"),
    (outbox, "next_at", "status"),
    (anchors, "next_at", "status"),
    (breakers, "probe_at", "state"),
)
_WAITING_STATES = ("approved", "retry_wait", "unknown", "queued", "due", "open", "half_open")
_CLAIMED = ((plans, "state"), (outbox, "status"), (slots, "status"))
_CLAIMED_STATES = ("claimed", "sent", "unknown", "sending", "running")
