"""An unsuccessful answer of Airtable's Web API: what it means, and what a person can do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from connectors.airtable.errors import (
    AirtableBusy,
    AirtableRefused,
    AirtableRequestRefused,
    AirtableUnanswered,
)
from connectors.errors import ConnectorError, Reaction
from connectors.target import TargetError, TransactionOutcome

PAUSE_SECONDS = 30.0
"""The pause that Airtable asks for after 429 if the answer does not name another."""
MOST_PAUSE = 600.0
EXPIRED = ("LIST_RECORDS_ITERATOR_NOT_AVAILABLE", "INVALID_OFFSET_VALUE")
"""Airtable has forgotten where a listing was; it begins again."""
GONE = ("ROW_DOES_NOT_EXIST", "RECORD_NOT_FOUND", "INVALID_RECORD_ID")
RENAMED = ("UNKNOWN_FIELD_NAME", "INVALID_MULTIPLE_CHOICE_OPTIONS", "INVALID_VALUE_FOR_COLUMN", *GONE)
"""The base changed since its schema was read: a new plan may fit."""

_SCOPES = {
    "read the fields": "`schema.bases:read`",
    "list the records": "`data.records:read`",
    "change the records": "`data.records:read` and `data.records:write`",
    "note the change": "`data.records:read` and `data.records:write`",
    "create a field of ours": "`schema.bases:write`, as a creator of the base",
    "follow the changes": "`webhook:manage`, as a creator of the base",
}


@dataclass(eq=False)
class Failure(Exception):
    """A request that got no usable answer. `doing` completes "Airtable refused to …".

    `status` is 0 without an answer, `kind` Airtable's own name of a mistake. `is_certain`: the request had no effect,
    and can no longer have one. `pause` are the seconds to wait after 429.
    """

    doing: str
    status: int = 0
    kind: str = ""
    reason: str = ""
    is_certain: bool = True
    pause: float = 0.0

    def __str__(self) -> str:
        return f"{self.doing}: {self.status} {self.kind or self.reason}"


def of_answer(doing: str, status: int, body: Any, headers: Mapping[str, str]) -> Failure:
    """Return the failure that an answer with this status is. A body's message may hold values, so it is dropped."""
    kind = _kind(body)
    if status == 429:
        return Failure(doing, status, kind, "too many requests", pause=_pause(headers.get("Retry-After")))
    if 400 <= status < 500:
        return Failure(doing, status, kind, f"status {status}")
    return Failure(doing, status, kind, f"status {status}", is_certain=False)


def _kind(body: Any) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        error = error.get("type")
    return error if isinstance(error, str) and re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}", error) else ""


def _pause(text: str | None) -> float:
    """The seconds of a Retry-After, a number or a date; those of the documentation if it is missing or nonsense."""
    if text is None:
        return PAUSE_SECONDS
    if re.fullmatch(r"\s*\d{1,9}\s*", text):
        return min(float(text), MOST_PAUSE)
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return PAUSE_SECONDS
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max((at - datetime.now(UTC)).total_seconds(), 0.0), MOST_PAUSE)


def in_words(source: str, failure: Failure) -> ConnectorError:
    """Return the error of a request that only reads."""
    if failure.status == 429:
        return AirtableBusy(source, failure.pause)
    if failure.status == 401:
        return AirtableRefused(source, failure.doing, "create a new personal access token and set it as `token`")
    if failure.status in (403, 404):
        scope = _SCOPES.get(failure.doing, "the scopes in docs/configuration.md")
        remedy = f"check `base` and `table`, and give the token this base and the scopes {scope}"
        return AirtableRefused(source, failure.doing, remedy)
    if 400 <= failure.status < 500:
        kind = failure.kind or f"status {failure.status}"
        return AirtableRequestRefused(source, failure.doing, kind, _remedy(failure))
    return AirtableUnanswered(source, failure.doing, failure.reason)


def of_change(source: str, failure: Failure) -> TargetError:
    """Return the error of a request that changes something."""
    code = failure.kind or (str(failure.status) if failure.status else "")
    if failure.status in (401, 403, 404):
        return TargetError(str(in_words(source, failure)), TransactionOutcome.PAUSE, code)
    if failure.is_certain:
        outcome = TransactionOutcome.NOT_DONE
        if failure.kind in RENAMED:
            outcome = TransactionOutcome.CONFLICT
        elif 400 <= failure.status < 500 and failure.status != 429:
            outcome = TransactionOutcome.TERMINAL
        return TargetError(str(in_words(source, failure)), outcome, code)
    sentence = f"Airtable's answer about a change for source {source!r} was lost: {failure.reason}"
    return TargetError(f"{sentence}. It is asked if the change was made", TransactionOutcome.UNKNOWN, code)


def before_change(error: ConnectorError) -> TargetError:
    """Return the error of a transaction that a request of its reading part ended: nothing was changed."""
    if isinstance(error, TargetError):
        return error
    outcome = {
        Reaction.RETRY: TransactionOutcome.NOT_DONE,
        Reaction.ASK: TransactionOutcome.PAUSE,
        Reaction.STOP: TransactionOutcome.NOT_DONE,
    }[error.reaction]
    return TargetError(str(error), outcome)


def _remedy(failure: Failure) -> str:
    if failure.status == 413:
        return "use fewer or shorter values"
    if failure.kind == "UNKNOWN_FIELD_NAME":
        return "a field was renamed or deleted: correct the configuration, or try again"
    if failure.kind == "VIEW_NAME_NOT_FOUND":
        return "correct `view`"
    if failure.kind == "INVALID_MULTIPLE_CHOICE_OPTIONS":
        return "add the option to the field at Airtable, or choose an existing one"
    if failure.kind in GONE:
        return "a record was deleted meanwhile"
    if failure.kind.startswith("TOO_MANY_WEBHOOKS"):
        return "a base has at most 10 webhooks: delete one that nobody uses"
    return "check the dataset and the table at Airtable"
