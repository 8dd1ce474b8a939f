"""A backup: one SQLite file with the schema of a store, for every kind of state database, and its key file beside it.

It is copied from one view of the state while other processes write. It counts as done only after it was opened and
verified: every row counted, the audit chain recomputed. So it also moves a state between databases.
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

from connectors.disk.scratch import Scratch
from reconcile.audit import log as audit
from reconcile.errors import Failed, Wrong
from reconcile.store import REVISION, Store, StoreError, Transaction, audit_log, errors, image, key, private_files


class BackupExists(Wrong):
    """The file already exists; a backup never overwrites it."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} already exists and was not changed. Choose another file, or add --replace")


class FolderNamed(BackupExists):
    """A folder was named; a backup is one file."""

    def __init__(self, folder: Path) -> None:
        Exception.__init__(self, f"{folder} is a folder, but a backup is a file; name one, like {folder / 'backup.db'}")


class BackupNotWritten(Failed):
    """The file could not be written; no part of it remains."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"The backup {file} could not be written: {reason}. No part of it was kept")


class BackupUnusable(Wrong):
    """The file is not a complete backup."""

    def __init__(self, file: Path, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{file} cannot be used as a backup: {problem}. Nothing was changed")


@dataclass(frozen=True)
class Backup:
    """A verified backup: its state, the last entry of its audit log, and its rows by table."""

    file: Path
    store: str
    schema: str
    entries: int
    head: str
    until: dt.datetime
    rows: Mapping[str, int]
    size: int


def name_for(now: dt.datetime) -> str:
    """The default name of a backup."""
    return f"reconcile-backup-{now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}.db"


def make(store: Store, file: Path, *, replace: bool = False) -> Backup:
    """Back up the state into a file, and its key into `FILE.key`; only their owner can read them.

    Both are written in a private folder with a random name beside the file, and moved when complete: in a folder where
    others write, nobody can put a file or a link where we write next. Writers continue meanwhile.
    Raises BackupExists, BackupNotWritten (also if it does not verify: the state itself is damaged), StoreError.
    """
    try:
        if file.is_dir():
            raise FolderNamed(file)
        key_file = _key_file(file)
        if not replace:
            _refuse_existing(file, key_file, store.key)
        with Scratch(file.parent, hidden=True) as scratch:
            new_file = scratch / "backup.db"
            private_files.create(new_file).close()
            rows = image.write(store, new_file)
            key.write(_key_file(new_file), store.key, str(new_file))
            verified = _verified(new_file, rows)
            _sync(new_file)
            _key_file(new_file).replace(key_file)
            if replace:
                new_file.replace(file)
            else:
                private_files.keep(new_file, file)
            key.sync_folder(file.parent)
    except FileExistsError:
        raise BackupExists(file) from None
    except BackupUnusable as error:
        raise BackupNotWritten(file, f"verification failed: {error.problem}") from error
    except (OSError, sqlite3.Error) as error:
        raise BackupNotWritten(file, getattr(error, "strerror", None) or str(error)) from error
    return Backup(file, **{name: getattr(verified, name) for name in _NAMES})


_NAMES = tuple(name for name in Backup.__dataclass_fields__ if name != "file")


@contextlib.contextmanager
def opened(file: Path, scratch: Path | None = None, *, as_it_is: bool = False) -> Iterator[tuple[Transaction, Backup]]:
    """Open a backup for reading, verified, with rows in the current schema; the file itself is never changed.

    One with an older schema is copied into the folder `scratch` and upgraded there, unless it is wanted `as_it_is`.
    Raises BackupUnusable, StoreError.
    """
    refuse_unfit(file)
    with contextlib.ExitStack() as stack:
        try:
            copy = stack.enter_context(Store.examine(file))
            if copy.revision < REVISION and not as_it_is:
                folder = stack.enter_context(Scratch(scratch, hidden=scratch is not None))
                copy = stack.enter_context(_upgraded(file, folder, copy.key))
            tx = stack.enter_context(copy.read())
            backup = _inspect(tx, file)
        except (StoreError, image.DriverError, OSError) as error:
            raise BackupUnusable(file, _problem(error)) from error
        yield tx, backup


def _problem(error: Exception) -> str:
    """The problem of a backup, in words about backups: the errors' own sentences are about states."""
    match error:
        case errors.StoreKeyMissing():
            return f"its key file {error.path} {error.problem}"
        case errors.StoreNewer():
            return "a newer version of Reconcile made it; use that version"
        case errors.StoreUnreleased():
            return "a development version of Reconcile made it; it cannot be upgraded"
        case errors.StoreForeign():
            return "it is another program's database"
        case errors.StoreUnreadable() | image.DriverError():
            return "it is not a complete SQLite file"
        case _:
            return str(getattr(error, "strerror", None) or error).rstrip(".")


def _key_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.key")


def _refuse_existing(file: Path, key_file: Path, secret: bytes) -> None:
    """Raise BackupExists for a backup or another key; a killed backup may leave a file with the same key."""
    if os.path.lexists(file):
        raise BackupExists(file)
    if not os.path.lexists(key_file):
        return
    if not key_file.is_file() or key_file.read_text(encoding="ascii", errors="replace").strip() != secret.hex():
        raise BackupExists(key_file)


def _sync(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())


# Verifying


def _verified(file: Path, rows: Mapping[str, int]) -> Backup:
    with opened(file, as_it_is=True) as (_, backup):
        if backup.rows != rows:
            wrong = ", ".join(name for name in rows if rows[name] != backup.rows[name])
            raise BackupUnusable(file, f"it lacks rows of {wrong}")
        return backup


def refuse_unfit(file: Path) -> None:
    """Raise BackupUnusable for a missing file, or a state in use; a cheap check."""
    try:
        if not file.is_file():
            raise BackupUnusable(file, "it is a folder" if file.is_dir() else "file not found")
        log = file.with_name(f"{file.name}-wal")
        in_use = log.exists() and log.stat().st_size > 0
    except OSError as error:  # a file name that is too long
        raise BackupUnusable(file, (error.strerror or type(error).__name__).lower()) from error
    if in_use:
        raise BackupUnusable(
            file, f"it is a state in use, with writes in {log.name}, not a backup; make one with `reconcile backup`"
        )


def _inspect(tx: Transaction, file: Path) -> Backup:
    if damage := image.damage(tx):
        raise BackupUnusable(file, f"it is damaged ({damage})")
    chain = audit.verify_in(tx)
    if not chain.intact:
        raise BackupUnusable(file, f"its audit log is broken at entry {chain.seq}: {chain.problem}")
    until = audit_log.time_of(tx, chain.entries) or image.created_at(tx)
    rows = image.counts(tx)
    size = file.stat().st_size
    return Backup(file, tx.store.id, tx.store.revision, chain.entries, chain.head, until, rows, size)


def _upgraded(file: Path, folder: Path, secret: bytes) -> Store:
    shutil.copyfile(file, folder / "backup.db")
    return Store.open("sqlite:///backup.db", folder, key=secret, upgrade=lambda _: None)
