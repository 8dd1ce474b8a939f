"""The pace of requests to a service with a limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SLACK = 1.05
"""Requests do not travel equally fast: at exactly five a second, six can arrive within one (measured)."""


class Pace:
    """The times of requests: no more than so many a second, and none while the service asks for a pause."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._interval = SLACK / per_second
        self._next = 0.0
        self._lock = threading.Lock()

    def turn(self) -> float:
        """Take a turn, and return the seconds to wait for it."""
        with self._lock:
            now = self.clock()
            at = max(self._next, now)
            self._next = at + self._interval
            return at - now

    def pause(self, seconds: float) -> None:
        """Let nobody have a turn for so many seconds."""
        with self._lock:
            self._next = max(self._next, self.clock() + seconds)

    @property
    def pending(self) -> float:
        """The seconds until the next turn."""
        with self._lock:
            return max(self._next - self.clock(), 0.0)
