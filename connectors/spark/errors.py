"""Errors of Spark and of Java for people: one sentence each, without stack trace, values or secrets."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from connectors.errors import (
    AccessDenied,
    ConnectorError,
    DatasetMissing,
    QueryRefused,
    Reaction,
    SourceUnavailable,
    SourceUnreachable,
    StatementTimeout,
)
from connectors.sql.errors import ErrorContext, translated

_GONE = r"(?i)unresponsive|stopped SparkContext|SparkContext was shut down|connection refused|JAVA_GATEWAY|unavailable"
_DENIED = r"(?i)permission|access denied|not authorized|unauthenticated|privilege"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LONGEST = 300


class JdbcDriverMissing(SourceUnavailable):
    """Spark has no driver for the database; nothing was read."""

    reaction = Reaction.STOP

    def __init__(self, source: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} needs PostgreSQL's JDBC driver, which Spark does not have: add its jar to `config: "
            "{spark.jars: …}` of each source with this `url`, or with Spark Connect to the server",
        )


class PlaceUnsuitable(ConnectorError):
    """A dataset's settings that its source cannot read; nothing was read."""

    def __init__(self, source: str, sentence: str) -> None:
        super().__init__(f"Source {source!r}: {sentence}. Nothing was read; correct the dataset")


def database_address(jdbc: str | None) -> str | None:
    """The address of a JDBC URL for people: host, port and database, without anything that may be a secret."""
    if jdbc is None:
        return None
    address = urlsplit(jdbc.removeprefix("jdbc:"))
    return f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"


def database_reason(error: Exception) -> str | None:
    """The message of the database or its driver, if the error is theirs."""
    texts = [str(error)]
    cause: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while cause is not None:
        texts.append(f"{cause.getClass().getName()}: {cause.getMessage()}")
        cause = cause.getCause()
    text = "\n".join(texts)
    match = re.search(r"(?:PSQLException|ClassNotFoundException)[:)] (?P<said>[^\n]+)", text) or re.search(
        r"(?P<said>ERROR: [^\n]+|Couldn't connect to the database)", text
    )
    return match["said"] if match else None


def database_error(reason: str, place: ErrorContext, dataset: str) -> ConnectorError:
    """Our error for what the database or its driver said."""
    if re.search(r"No suitable driver|org\.postgresql\.Driver", reason):
        return JdbcDriverMissing(place.source)
    if re.search(r'relation ".*" does not exist|schema ".*" does not exist', reason):
        return DatasetMissing(place.source, dataset or "such table", ())
    if "canceling statement due to user request" in reason:
        return StatementTimeout(place.source, place.limit)
    if reason.startswith("Bad value"):
        return QueryRefused(place.source, reason.partition(" : ")[0])
    return translated(RuntimeError(reason), replace(place, dialect="postgresql"), place.underway.stops)


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
