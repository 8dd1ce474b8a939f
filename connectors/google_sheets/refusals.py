"""Errors for what Google answers: one sentence each, without tokens, keys or values of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connectors.errors import Reaction, SourceMissing, SourceUnavailable, SourceUnreachable

WHERE = "Google Sheets"


class SpreadsheetDenied(SourceUnavailable):
    """Google answered and refused us; a person has to give access."""

    reaction = Reaction.ASK

    def __init__(self, source: str, reason: str, remedy: str) -> None:
        super().__init__(source, f"Source {source!r} has no access to its spreadsheet: {reason}. {remedy}")


class QuotaExceeded(SourceUnavailable):
    """Google's quota of requests per minute is used up; a later try can succeed."""

    def __init__(self, source: str, waited: float) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read: Google's quota of requests is used up, after waiting {waited:.0f} s. "
            "Nothing was changed; run fewer jobs at once, or ask Google for a higher quota",
        )


class RequestRefused(SourceUnavailable):
    """Google did not accept a request of ours; nothing was changed."""

    reaction = Reaction.STOP

    def __init__(self, source: str, status: str) -> None:
        super().__init__(
            source,
            f"Source {source!r}: Google did not accept a request ({status}). Nothing was changed; if the sheet was "
            "renamed or its columns moved meanwhile, try again, else report it",
        )
        self.status = status


def refusal(source: str, code: int, body: Mapping[str, Any], account: str) -> SourceUnavailable | None:
    """The error for an answer that another try cannot change; None for one that may be tried again.

    `account` is the address that a spreadsheet is shared with.
    """
    error = body.get("error")
    status, reasons = _status_and_reasons(error if isinstance(error, Mapping) else {})
    if code == 401:
        return SpreadsheetDenied(
            source, "Google did not accept the credentials", "Check the key or the refresh token, and make a new one"
        )
    if code == 403 and reasons & {"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"}:
        return None
    if code == 403:
        return _denied(source, reasons, account)
    if code == 404:
        return SourceMissing(source, WHERE, f"no spreadsheet with this id, or it is not shared with {account}")
    if code == 413:
        return RequestRefused(source, "too large")
    if code in (408, 409, 429) or code >= 500:
        return None
    return RequestRefused(source, status or f"HTTP {code}")


def _status_and_reasons(error: Mapping[str, Any]) -> tuple[str, set[str]]:
    reasons = {
        str(detail.get("reason", ""))
        for name in ("details", "errors")
        for detail in error.get(name, ())
        if isinstance(detail, Mapping)
    }
    status = error.get("status")
    return (status if isinstance(status, str) and status.replace("_", "").isalpha() else ""), reasons


def _denied(source: str, reasons: set[str], account: str) -> SpreadsheetDenied:
    if reasons & {"SERVICE_DISABLED", "accessNotConfigured"}:
        return SpreadsheetDenied(
            source,
            "the API is off in the Google Cloud project of the credentials",
            "Switch on the Google Sheets API there; `watch` needs the Google Drive API, too",
        )
    if reasons & {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientPermissions"}:
        return SpreadsheetDenied(
            source,
            "the refresh token lacks a scope",
            "Make a new one with the scopes `spreadsheets` and `drive.metadata.readonly`",
        )
    return SpreadsheetDenied(source, "permission denied", f"Share it with {account}; cleaning needs the role editor")


def unreachable(source: str, reason: str) -> SourceUnreachable:
    return SourceUnreachable(source, WHERE, reason)
