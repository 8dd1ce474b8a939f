"""Pauses in the store, one per subject."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import pauses


class PauseRow(NamedTuple):
    """A pause of one subject, from `since` until a time or, without one, until a person resumes it."""

    subject: str
    reason: str
    by: str
    since: dt.datetime
    until: dt.datetime | None


def put(tx: Transaction, pause: PauseRow) -> None:
    """Store the pause, in place of an existing one of its subject."""
    insert = insert_for(tx, pauses)
    newer = {name: insert.excluded[name] for name in PauseRow._fields if name != "subject"}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["subject"], set_=newer), pause._asdict())


def delete(tx: Transaction, subject: str) -> bool:
    """Delete the subject's pause; return False if there was none."""
    return tx.connection.execute(sa.delete(pauses).where(pauses.c.subject == subject)).rowcount > 0


def listed(tx: Transaction) -> list[PauseRow]:
    query = sa.select(*(pauses.c[name] for name in PauseRow._fields))
    return [PauseRow(*row) for row in tx.connection.execute(query)]
