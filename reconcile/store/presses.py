"""Presses of buttons in the store: each once, whatever the chat delivers, and what became of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import presses


@dataclass(frozen=True)
class PressRow:
    """A press that waits, or that a process works on. `press` is its content as JSON."""

    id: str
    channel: str
    press: Any
    status: str
    attempts: int
    received_at: dt.datetime
    fence: int
    owner: Any
    lease_until: dt.datetime


def keep(tx: Transaction, id_: str, channel: str, press: Mapping[str, Any], signature: str | None) -> bool:
    """Store a press; return False if it is stored already."""
    row = {
        "id": id_,
        "channel": channel,
        "press": dict(press),
        "signature": signature,
        "received_at": tx.now,
        "status": "due",
        "attempts": 0,
        "next_at": tx.now,
        "fence": 0,
        "lease_until": tx.now,
    }
    statement = insert_for(tx, presses).on_conflict_do_nothing().returning(presses.c.id)
    return tx.connection.execute(statement, row).one_or_none() is not None


def is_replay(tx: Transaction, id_: str, signature: str) -> bool:
    """Return True if exactly this request was accepted before."""
    query = sa.select(presses.c.signature).where(presses.c.id == id_)
    return tx.connection.execute(query).scalar() == signature


def anything_due(tx: Transaction) -> bool:
    return bool(tx.connection.execute(sa.select(sa.exists().where(_due(tx)))).scalar())


def due(tx: Transaction) -> list[PressRow]:
    """Return presses to work on, and those that another process works on, the oldest first."""
    query = sa.select(*_COLUMNS).where(_due(tx)).order_by(presses.c.received_at, presses.c.id).limit(100)
    return [PressRow(*row) for row in tx.connection.execute(query)]


def _due(tx: Transaction) -> sa.ColumnElement[bool]:
    waits = sa.and_(presses.c.status == "due", presses.c.next_at <= tx.now)
    return sa.or_(waits, presses.c.status == "working")


def claim(tx: Transaction, row: PressRow, owner: Mapping[str, Any], until: dt.datetime) -> bool:
    """Claim a press; return False if another process did."""
    values = {"status": "working", "fence": row.fence + 1, "attempts": row.attempts + 1}
    update = sa.update(presses).where(presses.c.id == row.id, presses.c.fence == row.fence)
    return tx.connection.execute(update.values(**values, owner=dict(owner), lease_until=until)).rowcount == 1


def end(tx: Transaction, id_: str, fence: int, status: str, answer: str) -> bool:
    """Record the end of a claimed press: `done` or `refused`; False if another process claimed it meanwhile."""
    return _claimed(tx, id_, fence, status=status, answer=answer)


def again(tx: Transaction, id_: str, fence: int, at: dt.datetime) -> bool:
    """Let a claimed press wait until then."""
    return _claimed(tx, id_, fence, status="due", next_at=at)


def _claimed(tx: Transaction, id_: str, fence: int, **values: Any) -> bool:
    update = sa.update(presses).where(presses.c.id == id_, presses.c.fence == fence, presses.c.status == "working")
    return tx.connection.execute(update.values(owner=None, **values)).rowcount == 1


_COLUMNS = tuple(presses.c[name] for name in PressRow.__dataclass_fields__)
