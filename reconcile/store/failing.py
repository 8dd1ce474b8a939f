"""Repeated failures of one thing as one failure with a beginning and an end, in the memory of this process."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

CALM = 60.0
"""Seconds without a failure after which it is over: near the limit of a disk, small writes succeed between failures."""


@dataclass(frozen=True)
class LastingFailure:
    """A failure that lasts: its last error, its beginning in UTC, and how many seconds lie between first and last."""

    error: Exception
    since: dt.datetime
    seconds: float


class Failing:
    """Notes the attempts at one thing. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failure: LastingFailure | None = None
        self._first = self._last = 0.0
        self._succeeded = clock()

    def failed(self, error: Exception) -> None:
        """Note a failed attempt."""
        with self._lock:
            now = self._clock()
            if self._ongoing(now) is None:
                self._failure, self._first = LastingFailure(error, dt.datetime.now(dt.UTC), 0.0), now
            assert self._failure is not None  # noqa: S101 - set above
            self._last = now
            self._failure = replace(self._failure, error=error, seconds=now - self._first)

    def succeeded(self) -> None:
        """Note a successful attempt."""
        with self._lock:
            self._succeeded = self._clock()

    def ongoing(self) -> LastingFailure | None:
        """Return the failure that lasts: until an attempt succeeded and none failed for `CALM` seconds."""
        with self._lock:
            return self._ongoing(self._clock())

    def age(self) -> float:
        """Return the seconds since the last success, or since the start."""
        with self._lock:
            return max(0.0, self._clock() - self._succeeded)

    def _ongoing(self, now: float) -> LastingFailure | None:
        if self._failure is not None and self._succeeded > self._last and now - self._last >= CALM:
            self._failure = None
        return self._failure
