"""A backup: one SQLite file in the shape of a store, whatever the state is kept in, and its key file beside it.

It is copied from one view of the state while others go on writing, and nobody is told that it is done before it was
opened and verified: every row counted, the audit chain recomputed. So it also moves a state between databases.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from connectors.disk.scratch import Scratch
from reconcile.audit import log as audit
from reconcile.store import Store, StoreError, Transaction, copying, creation, errors, key, private_files, tables
from reconcile.store.engine import APPLICATION_ID

_PAGES = 256
"""Of an SQLite state copied in one step: 1 MB, so that Ctrl-C is heard in between."""


class BackupExists(Exception):
    """A backup never overwrites what is there."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} is there already and was left as it is; name another file, or add --replace")


class FolderNamed(BackupExists):
    """A backup is one file."""

    def __init__(self, folder: Path) -> None:
        Exception.__init__(self, f"{folder} is a folder, and a backup is a file; name one, like {folder / 'backup.db'}")


class BackupNotWritten(Exception):
    """The file could not be written; nothing of it is left."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"The backup {file} could not be written: {reason}. Nothing of it was kept")


class BackupUnusable(Exception):
    """The file is not a whole backup."""

    def __init__(self, file: Path, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{file} cannot be used as a backup: {problem}. Nothing was changed")


@dataclass(frozen=True)
class Backup:
    """A backup that was verified: whose state it holds, up to which entry of the audit log, and rows by table."""

    file: Path
    store: str
    schema: str
    entries: int
    head: str
    until: dt.datetime
    rows: Mapping[str, int]
    size: int


def name_for(now: dt.datetime) -> str:
    """The name of a backup that was given none."""
    return f"reconcile-backup-{now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}.db"


def make(store: Store, file: Path, *, replace: bool = False) -> Backup:
    """Back the state up into a file, and its key into `FILE.key`; both can be read by their owner only.

    Both are made in a folder beside the file that has a random name and is closed to others, and moved when they are
    whole: in a folder where others write, nobody can put a file or a link where we write next.
    Writers go on meanwhile. Raises BackupExists, BackupNotWritten (also when it does not verify: the state itself is
    damaged), StoreError.
    """
    try:
        if file.is_dir():
            raise FolderNamed(file)
        key_file = _key_file(file)
        if not replace:
            _refuse_existing(file, key_file, store.key)
        with Scratch(file.parent, hidden=True) as scratch:
            part = scratch / "backup.db"
            private_files.create(part).close()
            rows = _copy(store, part)
            key.write(_key_file(part), store.key, str(part))
            made = _verified(part, rows)
            _sync(part)
            _key_file(part).replace(key_file)
            if replace:
                part.replace(file)
            else:
                private_files.keep(part, file)
            key.sync_folder(file.parent)
    except FileExistsError:
        raise BackupExists(file) from None
    except BackupUnusable as error:
        raise BackupNotWritten(file, f"it does not verify, {error.problem}") from error
    except (OSError, sqlite3.Error) as error:
        raise BackupNotWritten(file, getattr(error, "strerror", None) or str(error)) from error
    return Backup(file, **{name: getattr(made, name) for name in _NAMES})


_NAMES = tuple(name for name in Backup.__dataclass_fields__ if name != "file")


@contextlib.contextmanager
def opened(file: Path, scratch: Path | None = None) -> Iterator[tuple[Transaction, Backup]]:
    """A backup to read from, verified, its rows in the present schema; the file itself is never changed.

    One of an older schema is copied into the folder `scratch` and upgraded there. Raises BackupUnusable, StoreError.
    """
    refuse_unfit(file)
    with contextlib.ExitStack() as open_meanwhile:
        try:
            copy = open_meanwhile.enter_context(Store.examine(file))
            if copy.revision < tables.REVISION:
                folder = open_meanwhile.enter_context(Scratch(scratch, hidden=scratch is not None))
                copy = open_meanwhile.enter_context(_upgraded(file, folder, copy.key))
            tx = open_meanwhile.enter_context(copy.read())
            found = _look(tx, file)
        except (StoreError, sa.exc.SQLAlchemyError, OSError) as error:
            raise BackupUnusable(file, _problem(error)) from error
        yield tx, found


def _problem(error: Exception) -> str:
    """What is wrong with a backup, said of a backup: the errors' own sentences are about states."""
    match error:
        case errors.StoreKeyMissing():
            return f"its key file {error.path} {error.problem}"
        case errors.StoreNewer():
            return "a newer Reconcile made it; use that version"
        case errors.StoreForeign():
            return "it is another program's database"
        case errors.StoreUnreadable() | sa.exc.DatabaseError():
            return "it is not an SQLite file, or not a whole one"
        case _:
            return str(getattr(error, "strerror", None) or error).rstrip(".")


def _key_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.key")


def _refuse_existing(file: Path, key_file: Path, secret: bytes) -> None:
    """A key file without its backup is left of one that was killed: no loss, as long as it is the same key."""
    if os.path.lexists(file):
        raise BackupExists(file)
    if not os.path.lexists(key_file):
        return
    if not key_file.is_file() or key_file.read_text(encoding="ascii", errors="replace").strip() != secret.hex():
        raise BackupExists(key_file)


def _sync(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())


# Copying


def _copy(store: Store, part: Path) -> dict[str, int]:
    """Rows by table of the one view that was copied."""
    with store.read() as tx, contextlib.closing(sqlite3.connect(part, isolation_level=None)) as target:
        rows = copying.counts(tx.connection)
        if store.is_shared:
            _copy_rows(tx, part)
        else:
            _copy_pages(tx, target)
        target.execute("PRAGMA journal_mode = DELETE")
        return rows


def _copy_pages(tx: Transaction, target: sqlite3.Connection) -> None:
    """The view of the transaction is held meanwhile: without it each write of another process begins the copy anew."""
    driver: Any = tx.connection.connection.driver_connection
    driver.backup(target, pages=_PAGES, progress=lambda *_: None)


def _copy_rows(tx: Transaction, part: Path) -> None:
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(part)), hide_parameters=True)
    try:
        with engine.begin() as target:
            target.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            creation.create(target)
            copying.copy(tx.connection, target)
    except sa.exc.OperationalError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise
    finally:
        engine.dispose()


# Verifying


def _verified(part: Path, rows: Mapping[str, int]) -> Backup:
    with opened(part) as (_, made):
        if made.rows != rows:
            wrong = ", ".join(name for name in rows if rows[name] != made.rows[name])
            raise BackupUnusable(part, f"it does not hold all rows of {wrong}")
        return made


def refuse_unfit(file: Path) -> None:
    """Raises BackupUnusable for what is no file, or a state in use; it costs nothing."""
    try:
        if not file.is_file():
            raise BackupUnusable(file, "it is a folder" if file.is_dir() else "there is no such file")
        log = file.with_name(f"{file.name}-wal")
        in_use = log.exists() and log.stat().st_size > 0
    except OSError as error:  # a name that is too long for a file
        raise BackupUnusable(file, (error.strerror or type(error).__name__).lower()) from error
    if in_use:
        raise BackupUnusable(
            file, f"it is a state in use, with writes in {log.name}, and no backup; make one with `reconcile backup`"
        )


def _look(tx: Transaction, file: Path) -> Backup:
    _refuse_damaged(tx, file)
    chain = audit.verify_in(tx)
    if not chain.intact:
        raise BackupUnusable(file, f"its audit log is broken at entry {chain.seq}: {chain.problem}")
    last = sa.select(tables.audit.c.at).where(tables.audit.c.seq == chain.entries)
    until = tx.connection.execute(last).scalar() or tx.connection.execute(_CREATED).scalar_one()
    rows = copying.counts(tx.connection)
    size = file.stat().st_size
    return Backup(file, tx.store.id, tx.store.revision, chain.entries, chain.head, until, rows, size)


def _refuse_damaged(tx: Transaction, file: Path) -> None:
    said = tx.connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
    if said != "ok":
        raise BackupUnusable(file, f"it is damaged ({' '.join(str(said).split())})")
    lost = tx.connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if lost is not None:
        raise BackupUnusable(file, f"it is damaged (rows of {lost[0]} point at rows of {lost[2]} that are gone)")


def _upgraded(file: Path, folder: Path, secret: bytes) -> Store:
    shutil.copyfile(file, folder / "backup.db")
    return Store.open("sqlite:///backup.db", folder, key=secret)


_CREATED = sa.select(tables.meta.c.created_at)
