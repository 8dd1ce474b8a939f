"""The targets that the store knows, with the number that both sides count."""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import targets


def numbers(tx: Transaction, identity: str | None, *, lock: bool) -> tuple[int, int] | None:
    """Return the number of a target and its confirmed part; None for an unknown target."""
    query = _NUMBERS.with_for_update() if lock else _NUMBERS
    row = tx.connection.execute(query, {"the_identity": identity}).one_or_none()
    return None if row is None else (row.ratchet, row.confirmed)


def put(tx: Transaction, identity: str, source: str, ratchet: int, confirmed: int) -> bool:
    """Store a target's source and numbers; return True if this transaction is the first to name it."""
    values = {"source": source, "ratchet": ratchet, "moved_at": tx.now, "confirmed": confirmed}
    if tx.connection.execute(sa.update(targets).where(targets.c.identity == identity).values(values)).rowcount:
        return False
    row = values | {"identity": identity, "first_seen": tx.now}
    insert = insert_for(tx, targets).on_conflict_do_nothing(index_elements=["identity"])
    return tx.connection.execute(insert, row, execution_options={"preserve_rowcount": True}).rowcount > 0


def confirm(tx: Transaction, identity: str, ratchet: int) -> None:
    """Confirm the target's number up to this one."""
    tx.connection.execute(
        sa.update(targets)
        .where(targets.c.identity == identity, targets.c.confirmed < ratchet, targets.c.ratchet >= ratchet)
        .values(confirmed=ratchet)
    )


def moved_since(tx: Transaction, at: dt.datetime) -> set[str]:
    """Return the sources that were cleaned or taken over since a time."""
    return set(tx.connection.execute(sa.select(targets.c.source).where(targets.c.moved_at > at)).scalars())


_NUMBERS = sa.select(targets.c.ratchet, targets.c.confirmed).where(targets.c.identity == sa.bindparam("the_identity"))
