"""Errors of any SQLAlchemy driver for people: one sentence each, without SQL, values or secrets.

Drivers share the classes of PEP 249, but no codes. We classify an error by its moment and by common words. A quotation
in its message may be a cell's value, so we show it only if it is also in the statement we sent.
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
    """The parts of a URL that an error must not show: its password and similar parameters.

    ODBC's whole connection string may be one parameter; its parts count.
    """
    parameters = [("password", str(url.password or ""))]
    for name, values in url.normalized_query.items():
        parts = [part.partition("=") for value in values for part in value.split(";")]
        parameters += [(name, value) for value in values] + [(key, value.strip("{}")) for key, _, value in parts]
    secrets = {value for name, value in parameters if value and (len(value) > 20 or re.search(_NOT_SHOWN, name))}
    return tuple(sorted({*secrets, *map(quote_plus, secrets)}, key=len, reverse=True))


def connector_error(
    error: Exception, place: Place, secrets: tuple[str, ...], *, connecting: bool, late: bool
) -> ConnectorError:
    """Our error for one of SQLAlchemy, a driver or the operating system.

    `secrets` are texts of the URL that are never shown. `connecting`: no statement was sent, so the message holds no
    values. `late`: the time limit had passed and we cancelled.
    """
    lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and isinstance(error.orig, Exception) else error
    full = _message(cause)
    bare = _QUOTED.sub("", full)
    reason = full if connecting else _masked(full, str(getattr(error, "statement", None) or ""))
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
    """The first sentence of the driver's message; ODBC and others put it beside a code."""
    texts = [part.decode(errors="replace") if isinstance(part, bytes) else part for part in error.args]
    sentences = [text for text in texts if isinstance(text, str) and text.strip()]
    text = max(sentences, key=len) if sentences else str(error)
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or ["no reason given"]
    first = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return first.rstrip(". ")


def _masked(reason: str, sent: str) -> str:
    """The message without possible values: quotations that we did not send, and the end of a message about values."""

    def mask(match: re.Match[str]) -> str:
        inner = match[1] or match[2] or match[3] or ""
        return match[0] if inner in sent else "…"

    masked = _QUOTED.sub(mask, reason)
    if not re.search(_ABOUT_VALUES, masked):
        return masked
    head, _, tail = masked.rpartition(": ")
    if head and "…" not in masked and tail not in sent:
        masked = head
    return re.sub(r"(?<![\w-])[+-]?\d[\d.,]{3,}", lambda match: match[0] if match[0] in sent else "…", masked)
