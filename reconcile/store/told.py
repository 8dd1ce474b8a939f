"""Translates driver errors into errors of the store: a table, tested row by row."""

from __future__ import annotations

import datetime as dt
import re

import sqlalchemy as sa

from reconcile.store import errors

_LOCKED = ("55P03", "57014", "40001", "40P01")
_REFUSED = ("25006", "42501")
_FULL = ("53100",)
_LOST = ("08", "57P", "28", "3D", "53300", "25P03")


def in_words(
    error: sa.exc.DBAPIError, where: str, patience: dt.timedelta, *, committing: bool = False
) -> errors.StoreError | None:
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
        return errors.StoreInDoubt(where, reason) if committing else _no_connection(where, reason)
    return _postgresql(str(state), reason, where, patience, committing=committing)


def _no_connection(where: str, reason: str) -> errors.StoreError:
    """Remove the driver's decoration from its message; FATAL marks a message of the server."""
    answered = re.search(r"FATAL:\s+(.+)", reason)
    if answered and not re.search(r"starting up|shutting down|too many|connection slots|recovery", reason):
        return errors.StoreRefused(where, answered[1])
    plain = re.sub(r"^connection (?:failed|is bad): (?:connection to server at .*? failed: )?", "", reason)
    return errors.StoreUnreachable(where, re.sub(r" *Is the server running.*$", "", plain))


def _sqlite(name: str, reason: str, where: str, patience: dt.timedelta) -> errors.StoreError | None:
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return errors.StoreLocked(where, patience.total_seconds())
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return errors.StoreNotWritable(where, reason)
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return errors.StoreFull(where, reason)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return errors.StoreUnreadable(where, reason)
    return None


def _postgresql(
    state: str, reason: str, where: str, patience: dt.timedelta, *, committing: bool
) -> errors.StoreError | None:
    if state.startswith(_LOCKED):
        return errors.StoreLocked(where, patience.total_seconds())
    if state in _REFUSED:
        return errors.StoreNotWritable(where, reason)
    if state in _FULL:
        return errors.StoreFull(where, reason)
    if state == "40003" or (committing and state.startswith(("08", "57P"))):
        return errors.StoreInDoubt(where, reason)
    if state.startswith(_LOST):
        return errors.StoreUnreachable(where, reason)
    return None
