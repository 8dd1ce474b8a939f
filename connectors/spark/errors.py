"""Errors of Spark and of Java for people: one sentence each, without stack trace, values or secrets."""

from __future__ import annotations

import re

from connectors.errors import (
    AccessDenied,
    ConnectorError,
    DatasetMissing,
    QueryRefused,
    SourceUnreachable,
    StatementTimeout,
)
from connectors.sql.errors import ErrorContext

_GONE = r"(?i)unresponsive|stopped SparkContext|SparkContext was shut down|connection refused|JAVA_GATEWAY|unavailable"
_DENIED = r"(?i)permission|access denied|not authorized|unauthenticated|privilege"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LONGEST = 300


def connector_error(error: Exception, place: ErrorContext, *, late: bool, dataset: str = "") -> ConnectorError:
    """Our error for one of Spark, Java or the network. `late`: the time limit had passed and we cancelled."""
    if late:
        return StatementTimeout(place.source, place.limit)
    text = _first_sentence(error)
    if re.search(r"TABLE_OR_VIEW_NOT_FOUND|SCHEMA_NOT_FOUND|PATH_NOT_FOUND", text):
        return DatasetMissing(place.source, dataset or "such table", ())
    reason = _QUOTED.sub("…", text)  # a quotation may be a value of a record
    if re.search(_DENIED, text):
        return AccessDenied(place.source, place.where, reason)
    if isinstance(error, OSError) or re.search(_GONE, text):
        return SourceUnreachable(place.source, place.where, reason)
    return QueryRefused(place.source, reason)


def _first_sentence(error: Exception) -> str:
    """The first line that says what happened; Java's follows a line that only names a call."""
    lines = [line.strip(" :\t") for line in str(error).splitlines() if line.strip()] or ["no reason given"]
    first = lines[1] if lines[0].startswith("An error occurred while calling") and len(lines) > 1 else lines[0]
    first = re.sub(r"^(?:[a-z]\w*\.)+\w+: ", "", first)
    return re.sub(r"\s*SQLSTATE: \w+", "", first)[:_LONGEST].rstrip(". ")
