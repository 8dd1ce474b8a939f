"""Checks of the state database itself."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from reconcile.store.database import Store, Transaction
from reconcile.store.engine import SCHEMA
from reconcile.store.tables import audit, audit_head, meta


def damage(tx: Transaction) -> str | None:
    """Return the first damage that SQLite's own check of the file finds; None without one, and on PostgreSQL."""
    if tx.store.is_shared:
        return None
    verdict = str(tx.connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
    return None if verdict == "ok" else verdict


def audit_length(tx: Transaction) -> int | None:
    """Return the number of entries of the audit log; None if its end does not match its recorded head."""
    head = tx.connection.execute(sa.select(audit_head.c.seq, audit_head.c.head)).one_or_none()
    last = tx.connection.execute(sa.select(audit.c.seq, audit.c.head).order_by(audit.c.seq.desc()).limit(1)).first()
    if head is None or (last or (0, "")) != (head.seq, head.head if head.seq else ""):
        return None
    return int(head.seq)


def setting(tx: Transaction, name: str) -> str:
    """Return the value of a PostgreSQL setting in this connection."""
    return str(tx.connection.execute(sa.text("SELECT current_setting(:name)"), {"name": name}).scalar_one())


@dataclass(frozen=True)
class DiskRoom:
    """The room on a disk: bytes, and files that can be created; None if the file system has no limit of files."""

    bytes: int
    files: int | None
    is_read_only: bool


def room(store: Store) -> DiskRoom | None:
    """Return the room for an SQLite state; None on PostgreSQL, or if its folder is gone or its disk does not say it.

    Reads no file.
    """
    if store.is_shared:
        return None
    try:
        disk = os.statvfs(Path(store.where).resolve().parent)
    except OSError:  # who asks shows no number: monitoring must answer on a broken disk too
        return None
    files = disk.f_favail if disk.f_files else None
    return DiskRoom(disk.f_bavail * disk.f_frsize, files, bool(disk.f_flag & os.ST_RDONLY))


def write_obstacle(tx: Transaction) -> str | None:
    """Return why this user cannot write the state, as far as that is seen without writing; None if it can."""
    if tx.store.is_shared:
        if tx.connection.execute(_STANDBY).scalar_one():
            return "the server is a standby"
        return "it is read-only by default" if setting(tx, "default_transaction_read_only") == "on" else None
    file = Path(tx.store.where).resolve()
    disk_room = room(tx.store)
    if disk_room is not None and disk_room.is_read_only:
        return "its disk is mounted read-only"
    refused = [path for path in (file, file.parent) if not os.access(path, os.W_OK)]
    return f"{refused[0]} cannot be written by this user" if refused else None


def size(tx: Transaction) -> int:
    """Return the bytes of the state: of the SQLite file with its log, or of our tables in PostgreSQL."""
    if tx.store.is_shared:
        return int(tx.connection.execute(_SIZE, {"schema": SCHEMA}).scalar_one())
    file = Path(tx.store.where)
    return sum(part.stat().st_size for part in (file, file.with_name(f"{file.name}-wal")) if part.exists())


@dataclass(frozen=True)
class Growth:
    """The growth of the state: bytes a year, estimated from so many days."""

    bytes_a_year: int
    days: float


def growth(tx: Transaction, over: dt.timedelta) -> Growth | None:
    """Estimate the growth from the share of the audit log that was written in this time; None for a younger state."""
    created = tx.connection.execute(sa.select(meta.c.created_at)).scalar_one()
    total = tx.connection.execute(sa.select(audit_head.c.seq)).scalar_one()
    if tx.now - created < _YOUNG or total == 0:
        return None
    span = min(over, tx.now - created)
    recent = tx.connection.execute(
        sa.select(sa.func.count()).select_from(audit).where(audit.c.at >= tx.now - span)
    ).scalar_one()
    days = span / dt.timedelta(days=1)
    return Growth(round(size(tx) * recent / total / days * 365), days)


_YOUNG = dt.timedelta(days=1)
_STANDBY = sa.text("SELECT pg_is_in_recovery()")
_SIZE = sa.text(
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = CAST(:schema AS regnamespace)"
)
