"""Cut off transactions that take too long, in any driver: one thread for all transactions of a process."""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_KEPT = 1000


class Watch:
    """Calls back when a block does not end in time. Its thread starts with the first block, and again after a fork."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._finished: set[int] = set()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    @contextmanager
    def within(self, seconds: float, late: Callable[[], None]) -> Iterator[None]:
        """Call `late`, once and in another thread, if the block is not over after so many seconds."""
        if self._process != os.getpid():
            self._begin()
        number = next(self._numbers)
        with self._changed:
            heapq.heappush(self._waiting, (time.monotonic() + seconds, number, late))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="time limits of targets", daemon=True)
                self._thread.start()
            elif self._waiting[0][1] == number:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._finished.add(number)
                if len(self._finished) > _KEPT:
                    self._waiting = [entry for entry in self._waiting if entry[1] not in self._finished]
                    heapq.heapify(self._waiting)
                    self._finished.clear()

    def _run(self) -> None:
        while True:
            with self._changed:
                late = self._next()
            if late is not None:
                late()

    def _next(self) -> Callable[[], None] | None:
        """The next callback that is due; None after waiting in vain."""
        while self._waiting and self._waiting[0][1] in self._finished:
            self._finished.discard(heapq.heappop(self._waiting)[1])
        if not self._waiting:
            self._changed.wait()
            return None
        seconds_left = self._waiting[0][0] - time.monotonic()
        if seconds_left > 0:
            self._changed.wait(seconds_left)
            return None
        return heapq.heappop(self._waiting)[2]


watch = Watch()
