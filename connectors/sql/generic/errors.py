"""What errors of any SQLAlchemy driver mean to people: one sentence each, without SQL, values or secrets.

Drivers share the classes of PEP 249 and no codes. What went wrong is told from when it did and from common words; what
the message quotes is shown only where it stands in the statement that was sent, because it may be a cell's value.
"""

from __future__ import annotations

import re
from urllib.parse import quote_plus

import sqlalchemy as sa

from connectors.errors import (
    AccessDenied,
    ConnectorError,
    QueryRefused,
    SourceMissing,
    SourceUnreachable,
    StatementTimeout,
)
from connectors.sql.errors import Place

_DENIED = (
    r"(?i)access (is )?denied|permission|privilege|not authori[sz]ed|unauthori[sz]ed|authentication"
    r"|log[io]n (failed|denied)|incorrect username or password"
)
_GONE = (
    r"(?i)connection (was |is |has been )?(refused|reset|closed|lost|aborted)|(could not|cannot|unable to) connect"
    r"|gone away"
)
_MISSING = r"(?i)does not exist|unknown database|cannot open database|unable to open database file"
_ABOUT_VALUES = r"(?i)\bvalue|conver|\bcast|pars|syntax for type|range|overflow"
_NOT_SHOWN = r"(?i)pass|pwd|secret|token|key|credential|auth|user_info"
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`")


def secrets_of(url: sa.URL) -> tuple[str, ...]:
    """What an error must not show of a URL: its password, and what looks like one among its parameters.

    ODBC's whole connection string may be a parameter; its parts count.
    """
    given = [("password", str(url.password or ""))]
    for name, values in url.normalized_query.items():
        parts = [part.partition("=") for value in values for part in value.split(";")]
        given += [(name, value) for value in values] + [(key, value.strip("{}")) for key, _, value in parts]
    found = {value for name, value in given if value and (len(value) > 20 or re.search(_NOT_SHOWN, name))}
    return tuple(sorted({*found, *map(quote_plus, found)}, key=len, reverse=True))


def told(error: Exception, place: Place, secrets: tuple[str, ...], *, connecting: bool, late: bool) -> ConnectorError:
    """Our error for one of SQLAlchemy, a driver or the operating system.

    `secrets` are texts of the URL that are never shown; `connecting`: nothing was asked yet, so that the message holds
    no values; `late`: the time limit had passed and we cancelled.
    """
    lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and isinstance(error.orig, Exception) else error
    full = _message(cause)
    bare = _QUOTED.sub("", full)
    reason = full if connecting else _shown(full, str(getattr(error, "statement", None) or ""))
    for secret in secrets:
        reason = reason.replace(secret, "***")
    if late:
        return StatementTimeout(place.source, place.limit)
    if re.search(_DENIED, bare):
        return AccessDenied(place.source, place.where, reason)
    if connecting and re.search(_MISSING, bare):
        return SourceMissing(place.source, place.where, reason)
    if connecting or lost or isinstance(cause, OSError) or re.search(_GONE, bare):
        return SourceUnreachable(place.source, place.where, reason)
    return QueryRefused(place.source, reason)


def _message(error: Exception) -> str:
    """The first sentence of what the driver says; ODBC and others give it beside a code."""
    texts = [one.decode(errors="replace") if isinstance(one, bytes) else one for one in error.args]
    said = [one for one in texts if isinstance(one, str) and one.strip()]
    text = max(said, key=len) if said else str(error)
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or ["no reason given"]
    first = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return first.rstrip(". ")


def _shown(reason: str, sent: str) -> str:
    """The message without what may be a value: quotations that we did not send, and the end of a message on values."""

    def known(found: re.Match[str]) -> str:
        inner = found[1] or found[2] or found[3] or ""
        return found[0] if inner in sent else "…"

    masked = _QUOTED.sub(known, reason)
    if not re.search(_ABOUT_VALUES, masked):
        return masked
    head, _, tail = masked.rpartition(": ")
    if head and "…" not in masked and tail not in sent:
        masked = head
    return re.sub(r"(?<![\w-])[+-]?\d[\d.,]{3,}", lambda found: found[0] if found[0] in sent else "…", masked)
