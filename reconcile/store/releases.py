"""Releases in the store: each configuration once, by its hash, and the current one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import meta, promotion, releases, runs, unchanged_runs


@dataclass(frozen=True)
class Current:
    """The release that new runs take. `held`: only a person changes it."""

    release: str
    held: bool
    since: dt.datetime
    by: str
    note: str | None


@dataclass(frozen=True)
class ReleaseRow:
    """One release. `files` are its texts by path, the main one first, if they could be kept."""

    release: str
    first_seen: dt.datetime
    config: Mapping[str, Any]
    files: Mapping[str, str] | None
    last_run: dt.datetime | None


def current(tx: Transaction, *, lock: bool = False) -> Current | None:
    """Return the current release; `lock` prevents changes until the end of the transaction."""
    if lock:
        tx.connection.execute(_LOCK)
    row = tx.connection.execute(_CURRENT).one_or_none()
    return None if row is None else Current(*row)


def make_current(tx: Transaction, release: str, *, held: bool, by: str, note: str | None) -> Current:
    """Make a kept release current for all processes from the end of the transaction on."""
    insert = insert_for(tx, promotion)
    newer = {name: insert.excluded[name] for name in ("release", "held", "since", "by", "note")}
    row = {"release": release, "held": held, "since": tx.now, "by": by, "note": note}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=newer), row | {"id": 1})
    return Current(release, held, tx.now, by, note)


def hashes(tx: Transaction) -> list[str]:
    return list(tx.connection.execute(sa.select(releases.c.hash).order_by(releases.c.hash)).scalars())


def get(tx: Transaction, release: str) -> ReleaseRow:
    """Return a kept release."""
    return _row(tx.connection.execute(_with_last_run().where(releases.c.hash == release)).mappings().one())


def of_latest_run(tx: Transaction) -> str | None:
    """Return the release of the run that began last."""
    newest = sa.select(runs.c.release).order_by(runs.c.started.desc(), runs.c.id).limit(1)
    return tx.connection.execute(newest).scalar_one_or_none()


def listed(tx: Transaction, limit: int) -> list[ReleaseRow]:
    """Return the latest releases, newest first."""
    newest = _with_last_run().order_by(releases.c.first_seen.desc(), releases.c.hash).limit(limit)
    return [_row(row) for row in tx.connection.execute(newest).mappings()]


def _with_last_run() -> sa.Select[Any]:
    last = sa.func.max(runs.c.started, type_=runs.c.started.type)
    unchanged = sa.func.max(unchanged_runs.c.finished, type_=unchanged_runs.c.finished.type)
    return sa.select(
        *(releases.c[name] for name in ("hash", "first_seen", "config", "files")),
        sa.select(last).where(runs.c.release == releases.c.hash).scalar_subquery().label("last_run"),
        sa.select(unchanged).where(unchanged_runs.c.release == releases.c.hash).scalar_subquery().label("unchanged"),
    )


def _row(row: sa.RowMapping) -> ReleaseRow:
    files = None if row["files"] is None else dict(row["files"])
    last_run = max(filter(None, (row["last_run"], row["unchanged"])), default=None)
    return ReleaseRow(row["hash"], row["first_seen"], row["config"], files, last_run)


_CURRENT = sa.select(promotion.c.release, promotion.c.held, promotion.c.since, promotion.c.by, promotion.c.note)
_LOCK = sa.select(meta.c.id).with_for_update()  # a row that exists even before the first release is current
