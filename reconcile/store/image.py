"""The image of a store: the whole state as one SQLite file, and a state replaced by it.

Nothing in an old image may be taken as current: leases, due times and messages of a restored state start again.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reconcile.store import copying, errors
from reconcile.store.database import Store, Transaction
from reconcile.store.engine import APPLICATION_ID
from reconcile.store.tables import REVISION, expectations, leases, meta, outbox, schedules, slots

_PAGES = 256
"""Pages of an SQLite state copied in one step: 1 MB, so Ctrl-C is handled in between."""


DriverError = sa.exc.SQLAlchemyError
"""An error in a file that is not a whole state."""
ROWS_REFUSED = (sa.exc.IntegrityError, sa.exc.DataError)
"""Errors about rows that are invalid in a state."""


# Making one


def write(store: Store, file: Path) -> dict[str, int]:
    """Copy one view of the state into an empty file; return its rows by table. Raises sqlite3.Error, OSError."""
    with store.read() as tx, contextlib.closing(sqlite3.connect(file, isolation_level=None)) as target:
        rows = counts(tx)
        if store.is_shared:
            _copy_rows(tx, file)
        else:
            _copy_pages(tx, target)
        target.execute("PRAGMA journal_mode = DELETE")
        return rows


def _copy_pages(tx: Transaction, target: sqlite3.Connection) -> None:
    """Copy within the transaction's view: without it each write of another process restarts the copy."""
    driver: Any = tx.connection.connection.driver_connection
    driver.backup(target, pages=_PAGES, progress=lambda *_: None)


def _copy_rows(tx: Transaction, file: Path) -> None:
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(file)), hide_parameters=True)
    try:
        with engine.begin() as target:
            target.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            if tx.store.revision < REVISION:
                from reconcile.store import migrations  # noqa: PLC0415 - Alembic takes 0.2 s to import

                migrations.upgrade(target, tx.store.revision)
                copying.copy_as_it_is(tx.connection, target)
            else:
                copying.create(target)
                copying.copy(tx.connection, target)
    except sa.exc.OperationalError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise
    finally:
        engine.dispose()


# Reading one


def counts(tx: Transaction) -> dict[str, int]:
    """Count the rows of each table that the state's schema has."""
    is_older = tx.store.revision < REVISION
    return {
        table.name: tx.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in (copying.present(tx.connection) if is_older else copying.IN_ORDER)
    }


def created_at(tx: Transaction) -> dt.datetime:
    """Return when the state was created."""
    created: dt.datetime = tx.connection.execute(sa.select(meta.c.created_at)).scalar_one()
    return created


def damage(tx: Transaction) -> str | None:
    """Return what is damaged in an SQLite state: its pages, or references between its rows."""
    result = tx.connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    if result != "ok":
        return " ".join(str(result).split())
    row = tx.connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    return None if row is None else f"rows of {row[0]} refer to missing rows of {row[2]}"


# Replacing a state


def lock_out_others(tx: Transaction) -> None:
    """Lock out other readers and writers until the end: each transaction of ours first reads this table.

    On SQLite a writer is alone, and others read the old rows.
    """
    if tx.store.is_shared:
        tx.connection.execute(sa.text("LOCK TABLE meta IN ACCESS EXCLUSIVE MODE"))
        if tx.connection.execute(sa.select(meta.c.epoch)).scalar() != tx.store.epoch:
            raise errors.StoreReplaced(tx.store.where)


def replace(tx: Transaction, old: Transaction, epoch: int) -> None:
    """Replace every row of the state by those of the image, and begin a new epoch."""
    copying.clear(tx.connection)
    copying.copy(old.connection, tx.connection)
    tx.connection.execute(sa.update(meta).values(epoch=epoch))


def highest_fence(tx: Transaction) -> int:
    """Return the highest fence that any process ever held."""
    return max(tx.connection.execute(sa.select(sa.func.max(c.fence))).scalar() or 0 for c in _FENCED)


_FENCED = (leases.c, slots.c, outbox.c)


def lease_names(tx: Transaction) -> list[str]:
    return list(tx.connection.execute(sa.select(leases.c.name)).scalars())


def free_leases(tx: Transaction, names: set[str], fence: int) -> None:
    """Free every lease of the state and the image, with a fence that no process ever held."""
    tx.connection.execute(sa.delete(leases))
    free = [{"name": name, "fence": fence, "lease_until": tx.now, "taken_at": tx.now} for name in sorted(names)]
    if free:
        tx.connection.execute(sa.insert(leases), free)


def miss_slots(tx: Transaction, fence: int, reason: str) -> int:
    """End due times that wait or run in the image; none between the image and now will come due.

    Nor is a job late because of events after the image. Return the number of ended due times.
    """
    missed_values = {"status": "missed", "reason": reason, "owner": None, "fence": fence, "ended_at": tx.now}
    end_waiting = sa.update(slots).where(slots.c.status.in_(("due", "running"))).values(missed_values)
    missed: int = tx.connection.execute(end_waiting).rowcount
    tx.connection.execute(sa.update(schedules).values(since=tx.now, watermark=tx.now))
    tx.connection.execute(sa.update(expectations).where(expectations.c.since.is_not(None)).values(since=tx.now))
    return missed


def requeue_as_unknown(tx: Transaction, fence: int) -> int:
    """Queue messages that wait or are being sent, as unknown: they may have been sent since. Return their number."""
    values = {"status": "queued", "outcome_unknown": True, "owner": None, "fence": fence, "next_at": tx.now}
    requeue = sa.update(outbox).where(outbox.c.status.in_(("queued", "sending"))).values(values)
    requeued: int = tx.connection.execute(requeue).rowcount
    return requeued
