"""A request that did not succeed but may if it is sent again, and what each status of an answer means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connectors.errors import ConnectorError
from connectors.http.errors import (
    ApiAddressRefused,
    ApiBusy,
    ApiRefused,
    ApiUnanswered,
    CertificateRefused,
    PathMissing,
    RequestRefused,
)
from connectors.outbound import Interrupted, NotConnected, NotPublic, retry_after

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
LONGEST_WAIT = 60.0
"""Seconds between two tries, unless the API asks for more."""


@dataclass(eq=False)
class Again(Exception):
    """A request that may be sent again. `error` ends the read if it is not; `pause` is what the API asked for."""

    error: ConnectorError
    pause: float | None = None

    def wait(self, number: int) -> float:
        """The seconds to wait after the failed try of that number, from 0."""
        return min(2.0**number, LONGEST_WAIT) if self.pause is None else self.pause


def of_status(source: str, where: str, status: int, headers: Mapping[str, str]) -> Again | ConnectorError:
    """Return what an answer without success means."""
    if status in AGAIN:
        pause = retry_after(headers) if "retry-after" in headers else None
        if status == 429:
            return Again(ApiBusy(source, where, pause), pause)
        return Again(ApiUnanswered(source, where, f"it answered with HTTP {status}"), pause)
    if status in (401, 403, 407):
        return ApiRefused(source, where, status)
    if status in (404, 410):
        return PathMissing(source, where, status)
    if 400 <= status < 500:
        return RequestRefused(source, where, status)
    return ApiUnanswered(source, where, f"it answered with HTTP {status}")


def of_connection(source: str, where: str, error: NotPublic | NotConnected | Interrupted) -> Again | ConnectorError:
    """Return what a failed connection means."""
    if isinstance(error, NotPublic):
        return ApiAddressRefused(source, error.subject, error.network)
    if isinstance(error, NotConnected) and error.is_untrusted:
        return CertificateRefused(source, error.where, error.reason)
    return Again(ApiUnanswered(source, where, error.reason))
