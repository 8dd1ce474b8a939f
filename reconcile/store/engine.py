"""Creates the SQLAlchemy engine for `state:`, with connections that save durably."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reconcile.store import errors

APPLICATION_ID = 0x52434E4C  # "RCNL" in the SQLite header: identifies our files
SCHEMA = "reconcile"  # in PostgreSQL our tables have their own schema


@dataclass(frozen=True)
class StoreLocation:
    """The place of a store: the engine, its name in errors (no password), and its key file."""

    engine: sa.Engine
    where: str
    key_file: Path
    file: Path | None = None  # SQLite only


def locate(url: str, root: Path, patience: dt.timedelta) -> StoreLocation:
    """Create the engine for a state URL without connecting; a relative SQLite path is relative to `root`."""
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise errors.StoreUrlRefused("this `state:`: it is not a database URL") from None
    if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return _sqlite(parsed, root, patience)
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return _postgresql(parsed, root, patience)
    raise errors.StoreUrlRefused(f"a `{parsed.drivername}` database")


def _sqlite(url: sa.URL, root: Path, patience: dt.timedelta) -> StoreLocation:
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise errors.StoreUrlRefused("memory or a `file:` address: it must be a file, so that it outlives the process")
    if url.query:
        raise errors.StoreUrlRefused("an SQLite address with `?` options: none are needed")
    file = root / url.database
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(file)),
        connect_args={"isolation_level": None, "timeout": patience.total_seconds()},
        hide_parameters=True,
    )
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return StoreLocation(engine, str(file), file.with_name(file.name + ".key"), file)


def _set_up_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """Switch our own or an empty file to WAL. Two processes may switch at once, and SQLite does not wait there."""
    names = [name for (name,) in cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    if names and cursor.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return
    for _ in range(100):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except Exception as error:
            if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise
            time.sleep(0.02)
        else:
            return
    cursor.execute("PRAGMA journal_mode = WAL")


def _begin_sqlite(connection: sa.Connection) -> None:
    """Take the write lock at BEGIN: upgrading a lock in mid-transaction could fail without a retry."""
    reading = connection.get_execution_options().get("reconcile_reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def enlarge_cache(connection: sa.Connection) -> None:
    """Let SQLite keep 64 MB of the file in memory for as long as this connection is open.

    Keys come in no order, so each row of many changes another page. Pages that do not fit are written again and again.
    """
    if not connection.info.get(_ENLARGED):
        connection.info[_ENLARGED] = True
        connection.exec_driver_sql("PRAGMA cache_size = -65536").close()


_ENLARGED = "reconcile_enlarged"


def look_up_references(connection: sa.Connection, *, enabled: bool) -> None:
    """Turn SQLite's foreign key checks on or off for this connection; call it between two transactions."""
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA foreign_keys = {'ON' if enabled else 'OFF'}")


def frozen(file: Path, *, unused: bool = True) -> StoreLocation:
    """Return an SQLite file for reading; an unused one without locks, and without SQLite files beside it."""
    address = f"{file.absolute().as_uri()}?mode=ro{'&immutable=1' if unused else ''}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool, hide_parameters=True)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return StoreLocation(engine, str(file), file.with_name(file.name + ".key"), file)


def create_file(place: StoreLocation) -> None:
    """Create an empty SQLite file readable by its owner only (findings hold personal data), unless one exists."""
    if place.file is None or is_there(place):
        return
    try:
        os.close(os.open(place.file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise errors.StoreNotWritable(place.where, error.strerror or str(error)) from error


def is_there(place: StoreLocation) -> bool:
    """Return True if an SQLite store's file exists. Raises StoreUrlRefused if it is not a file.

    Raises StoreFolderMissing instead of creating a folder: with a misspelt name, every finding would be reported again.
    """
    file = place.file
    assert file is not None  # noqa: S101 - the caller looked
    try:
        if not file.parent.is_dir():
            raise errors.StoreFolderMissing(place.where, str(file.parent))
        if file.exists() and not file.is_file():
            raise errors.StoreUrlRefused(f"{place.where}: it is not a file")
        return file.exists()
    except OSError as error:
        raise errors.StoreNotWritable(place.where, error.strerror or str(error)) from error


def standing(place: StoreLocation) -> tuple[int, int] | None:
    """Return the device and inode of an SQLite store's file; None without a file, and for a server."""
    try:
        status = place.file.stat() if place.file is not None else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status is not None else None


def _postgresql(url: sa.URL, root: Path, patience: dt.timedelta) -> StoreLocation:
    if not url.database:
        raise errors.StoreUrlRefused("PostgreSQL without the name of a database")
    limits = {"connect_timeout": 10, "keepalives_idle": 30, "tcp_user_timeout": 30_000}
    try:
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={k: v for k, v in limits.items() if k not in url.query} | {"application_name": "reconcile"},
        )
    except ModuleNotFoundError:
        raise errors.StoreDriverMissing from None
    waits = int(patience.total_seconds() * 1000)

    def set_up(connection: Any, _record: object) -> None:
        """Limit how long a stopped writer blocks others, and turn synchronous commits on."""
        connection.autocommit = True
        connection.execute(f"SET search_path TO {SCHEMA}")
        connection.execute("SET TIME ZONE 'UTC'")
        connection.execute(f"SET lock_timeout TO {waits}")
        connection.execute("SET idle_in_transaction_session_timeout TO '60s'")
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.autocommit = False

    sa.event.listen(engine, "connect", set_up)
    return StoreLocation(engine, url.render_as_string(hide_password=True), root / "reconcile.key")
