"""Database errors for people: one sentence each, without SQL, values or secrets."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field

import sqlalchemy as sa

from connectors.errors import (
    AccessDenied,
    ConnectorError,
    QueryRefused,
    ReadStopped,
    ReplicaConflict,
    SourceBusy,
    SourceMissing,
    SourceUnreachable,
    StatementTimeout,
)
from connectors.underway import Underway

_MYSQL_DENIED = {1044, 1045, 1095, 1130, 1142, 1143, 1227, 1370, 1698, 3118}
_MYSQL_GONE = {1040, 1053, 1129, 1152, 1153, 1158, 1159, 1160, 1161, 1203, 1927, 2002, 2003, 2006, 2013, 2055}
_MYSQL_TIMEOUT = {1317, 1969, 3024}
_MYSQL_LOCKED = {1205, 1213}
_MYSQL_DATA = {1264, 1265, 1292, 1366, 1367, 1411, 1690}
_SQLITE_NOT_OURS = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


@dataclass(frozen=True)
class ErrorContext:
    """The source, its address and its time limit, for every sentence. Holds no password.

    `underway` are its reads; an error after they were stopped is due to that. `is_replica`: its primary is another
    server.
    """

    source: str
    where: str
    dialect: str
    limit: str
    underway: Underway = field(default_factory=Underway, compare=False, repr=False)
    is_replica: bool = False

    def must_go_on(self, stops: int) -> None:
        """Raise ReadStopped if the reads of this source were stopped since the count was `stops`."""
        if self.underway.stops != stops:
            raise ReadStopped(self.source)


def translated(error: Exception, place: ErrorContext, stops: int) -> ConnectorError:
    """Our error for one that SQLAlchemy, a driver or ADBC raised. Re-raise other exceptions instead.

    `stops` is the count of the source's stops when this read began.
    """
    if place.underway.stops != stops:
        return ReadStopped(place.source)
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and isinstance(error.orig, Exception) else error
    if place.dialect == "postgresql":
        return _postgresql(cause, place)
    if place.dialect == "mysql":
        return _mysql(cause, place)
    return _sqlite(cause, place)


def _postgresql(error: Exception, place: ErrorContext) -> ConnectorError:
    state = str(getattr(error, "sqlstate", None) or "")
    reason = _postgresql_reason(error)
    if "conflict with recovery" in reason or (place.is_replica and state == "40001"):
        return ReplicaConflict(place.source, place.where)
    if state == "57014" or (not state and "due to statement timeout" in reason):
        return StatementTimeout(place.source, place.limit)
    if state == "3D000" or re.search(r'database ".*" does not exist', reason):
        return SourceMissing(place.source, place.where, reason)
    if state[:2] == "28" or state == "42501" or re.search(r"authentication|pg_hba|role \".*\" |permission", reason):
        return AccessDenied(place.source, place.where, reason)
    if state in ("40001", "40P01", "55P03"):
        return SourceBusy(place.source, place.where)
    answered = state or "ERROR: " in str(error)  # in the middle of an ADBC stream, errors have no state
    if not answered or state[:2] in ("08", "53") or state[:3] == "57P":
        return SourceUnreachable(place.source, place.where, reason)
    return QueryRefused(place.source, _without_values(reason) if not state or state[:2] in ("22", "23") else reason)


def _postgresql_reason(error: Exception) -> str:
    """The server's message: after the severity, on one line, without the driver's additions."""
    text = str(error).replace("\r", "")
    match = re.search(r"(?:FATAL|ERROR|PANIC):\s+(.+)", text)
    line = match[1] if match else (text.strip().splitlines() or ["no reason given"])[0]
    return re.sub(r'^connection (?:failed|is bad): |^connection to server at "[^"]*".*?failed: ', "", line).rstrip(". ")


def _mysql(error: Exception, place: ErrorContext) -> ConnectorError:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    reason = _first_line(str(error.args[1]) if len(error.args) > 1 else str(error))
    if code in _MYSQL_TIMEOUT:
        return StatementTimeout(place.source, place.limit)
    if code in _MYSQL_DENIED:
        return AccessDenied(place.source, place.where, reason)
    if code == 1049:
        return SourceMissing(place.source, place.where, reason)
    if code in _MYSQL_LOCKED:
        return SourceBusy(place.source, place.where)
    if code in _MYSQL_GONE or code == 0:
        return SourceUnreachable(place.source, place.where, reason)
    return QueryRefused(place.source, _without_values(reason) if code in _MYSQL_DATA else reason)


def _sqlite(error: Exception, place: ErrorContext) -> ConnectorError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reason = _first_line(str(error))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return SourceBusy(place.source, place.where)
    if code == sqlite3.SQLITE_INTERRUPT:
        return StatementTimeout(place.source, place.limit)
    if code in _SQLITE_NOT_OURS:
        return SourceMissing(place.source, place.where, f"it cannot be read as a SQLite database ({reason})")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_IOERR):
        return AccessDenied(place.source, place.where, reason)
    return QueryRefused(place.source, reason)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[0].rstrip(". ")


def _without_values(reason: str) -> str:
    """The kind of an error about data, without the data it quotes."""
    return re.split(r"""[:'"]""", reason)[0].strip()
