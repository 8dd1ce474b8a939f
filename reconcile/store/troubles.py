"""Ongoing troubles in the store: one row each, deleted when the trouble ends."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import troubles


@dataclass(frozen=True)
class Trouble:
    """A trouble that lasts. `channels` received its beginning."""

    subject: str
    job: str | None
    sentence: str
    since: dt.datetime
    channels: tuple[str, ...]

    @property
    def in_one_line(self) -> str:
        """The sentence for lists, in which the line of its headline becomes a sentence."""
        *lines, last = self.sentence.splitlines()
        return " ".join([*(f"{line.rstrip('.')}." for line in lines), last])


def ongoing(tx: Transaction) -> list[Trouble]:
    """Return the troubles that last, oldest first."""
    rows = tx.connection.execute(sa.select(*_COLUMNS).order_by(troubles.c.since, troubles.c.subject))
    return [_trouble(row) for row in rows]


def get(tx: Transaction, subject: str) -> Trouble | None:
    row = tx.connection.execute(sa.select(*_COLUMNS).where(troubles.c.subject == subject)).one_or_none()
    return None if row is None else _trouble(row)


def insert(tx: Transaction, trouble: Trouble) -> bool:
    """Store a new trouble; return False if another process stored it first."""
    statement = insert_for(tx, troubles).on_conflict_do_nothing().returning(troubles.c.subject)
    row = asdict(trouble) | {"channels": list(trouble.channels)}
    return tx.connection.execute(statement, row).one_or_none() is not None


def reword(tx: Transaction, subject: str, sentence: str) -> None:
    tx.connection.execute(sa.update(troubles).where(troubles.c.subject == subject).values(sentence=sentence))


def delete(tx: Transaction, subject: str) -> Trouble | None:
    """Delete a trouble that ended and return it; None if another process did, or there was none."""
    deletion = sa.delete(troubles).where(troubles.c.subject == subject).returning(*_COLUMNS)
    row = tx.connection.execute(deletion).one_or_none()
    return None if row is None else _trouble(row)


def _trouble(row: sa.Row[Any]) -> Trouble:
    return Trouble(row.subject, row.job, row.sentence, row.since, tuple(row.channels))


_COLUMNS = tuple(troubles.c[name] for name in Trouble.__dataclass_fields__)
