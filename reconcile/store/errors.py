"""Errors of the store: one class per failure, with its sentence.

Translates driver errors into errors of the store: a table, tested row by row.
"""

from __future__ import annotations

import datetime as dt
import re

import sqlalchemy as sa

from reconcile.errors import Failed, Wrong


class StoreError(Failed):
    """The state database cannot be used. The message is for the user and contains no secret."""


class StoreMisnamed(StoreError):
    """`state:` is not a place for the state: the configuration is wrong, and nothing was created or changed."""

    exit_code = Wrong.exit_code


class StoreUrlRefused(StoreMisnamed):
    """`state:` names something that cannot store the state."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"The state cannot be kept in {place}. Write `state: sqlite:///reconcile.db` for one host, or "
            "`state: postgresql://user@host/database` when several share it"
        )


class StoreFolderMissing(StoreMisnamed):
    """`state:` names a file in a folder that does not exist; nothing was created."""

    def __init__(self, where: str, folder: str) -> None:
        super().__init__(
            f"The state cannot be kept in {where}: folder {folder} does not exist. Correct `state:`, or create the "
            "folder if this is a new state"
        )


class StoreDriverMissing(StoreError):
    """The driver for PostgreSQL is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "The state is in PostgreSQL, whose driver is missing: pip install 'reconcile-runner[postgres]'"
        )


class StoreUnreachable(StoreError):
    """The store did not answer, or the connection broke before this step was saved."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"The state database {where} did not answer: {reason}. Run it again when it is up")


class StoreRefused(StoreUnreachable):
    """The server answered and refused the connection."""

    def __init__(self, where: str, reason: str) -> None:
        StoreError.__init__(
            self,
            f"The state database {where} refused the connection: {reason}. Nothing was changed; correct `state:`, or "
            "grant this user access",
        )


class CommitUnknown(StoreError):
    """The connection broke while the last step was being committed."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"The state database {where} was lost while saving a step: {reason}. It is unknown whether that "
            "step was saved. Run it again: it checks first and repeats only what is missing"
        )


class StoreLocked(StoreError):
    """Another process locked the database, a row or the file for longer than we wait; nothing was changed."""

    def __init__(self, where: str, seconds: float) -> None:
        super().__init__(
            f"The state database {where} stayed locked by another process for {seconds:g} s; nothing was changed. "
            "Run it again when the other process has ended"
        )


class StoreNotWritable(StoreError):
    """The database cannot be written."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"The state database {where} cannot be written: {reason}. Give this user write access to it")


class StoreFull(StoreError):
    """No space to write; the step was rolled back."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"The state database {where} has no space left: {reason}. This step was not saved")


class StoreUnreadable(StoreError):
    """The file is not an SQLite database, or is damaged."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"The state database {where} cannot be read: {reason}. It was not changed. "
            "Move it away, and restore a backup with `reconcile restore`"
        )


class StoreGone(StoreError):
    """The open file was moved, deleted or replaced; nobody would find later writes to it."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The state database {where} was moved, deleted or replaced while it was open. "
            "Nothing more was written. Put it back and restart Reconcile"
        )


class StoreForeign(StoreMisnamed):
    """The database belongs to another program."""

    def __init__(self, where: str, tables: str) -> None:
        super().__init__(
            f"{where} belongs to another program (it has {tables}) and was not changed. "
            "Name a separate database in `state:`"
        )


class StoreNewer(StoreError):
    """A newer Reconcile has upgraded the store."""

    def __init__(self, where: str, revision: str, ours: str) -> None:
        super().__init__(
            f"The state database {where} was upgraded by a newer Reconcile (schema {revision}; this one supports "
            f"{ours}). Nothing was changed; use the newer version"
        )


class StoreOlder(StoreError):
    """The store has the schema of an older Reconcile, and this command does not upgrade it."""

    def __init__(self, where: str, revision: str, ours: str) -> None:
        super().__init__(
            f"The state database {where} has schema {revision}; this version needs {ours}. Nothing was changed. "
            "Run `reconcile migrate`, which backs it up first"
        )


class StoreUnreleased(StoreError):
    """The store was created before the first schema was final."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The state database {where} was created by a development version of Reconcile and cannot be upgraded. "
            "Nothing was changed; move it away together with its key file, and the next run creates a new state"
        )


class StoreKeyMissing(StoreError):
    """The store exists, but its key file is missing or belongs to another store."""

    def __init__(self, where: str, path: str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(
            f"The key file {path} of the state database {where} {problem}. Restore the file that was created with "
            "this database; without it, subjects of the audit log cannot be identified"
        )


class StoreReplaced(StoreError):
    """The state was restored from a backup while this process had it open."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The state database {where} was restored from a backup while this process was running. Its last step was "
            "not saved. Run it again; it continues from the backup"
        )


_LOCKED = ("55P03", "57014", "40001", "40P01")
_REFUSED = ("25006", "42501")
_FULL = ("53100",)
_LOST = ("08", "57P", "28", "3D", "53300", "25P03")


def in_words(
    error: sa.exc.DBAPIError, where: str, patience: dt.timedelta, *, committing: bool = False
) -> StoreError | None:
    """Return the store's error for a driver's; None for our own defects (a wrong statement, a broken key)."""
    cause = error.orig
    reason = " ".join(str(cause).split())
    name = str(getattr(cause, "sqlite_errorname", ""))
    if name:
        return _sqlite(name, reason, where, patience)
    state = getattr(cause, "sqlstate", None)
    if state is None:
        if not isinstance(error, sa.exc.OperationalError) and not error.connection_invalidated:
            return None
        return CommitUnknown(where, reason) if committing else _no_connection(where, reason)
    return _postgresql(str(state), reason, where, patience, committing=committing)


def _no_connection(where: str, reason: str) -> StoreError:
    """Remove the driver's decoration from its message; FATAL marks a message of the server."""
    answered = re.search(r"FATAL:\s+(.+)", reason)
    if answered and not re.search(r"starting up|shutting down|too many|connection slots|recovery", reason):
        return StoreRefused(where, answered[1])
    plain = re.sub(r"^connection (?:failed|is bad): (?:connection to server at .*? failed: )?", "", reason)
    return StoreUnreachable(where, re.sub(r" *Is the server running.*$", "", plain))


def _sqlite(name: str, reason: str, where: str, patience: dt.timedelta) -> StoreError | None:
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLocked(where, patience.total_seconds())
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StoreNotWritable(where, reason)
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return StoreFull(where, reason)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreUnreadable(where, reason)
    return None


def _postgresql(state: str, reason: str, where: str, patience: dt.timedelta, *, committing: bool) -> StoreError | None:
    if state.startswith(_LOCKED):
        return StoreLocked(where, patience.total_seconds())
    if state in _REFUSED:
        return StoreNotWritable(where, reason)
    if state in _FULL:
        return StoreFull(where, reason)
    if state == "40003" or (committing and state.startswith(("08", "57P"))):
        return CommitUnknown(where, reason)
    if state.startswith(_LOST):
        return StoreUnreachable(where, reason)
    return None
