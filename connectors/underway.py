"""The current reads of a source, and a way to end them from another thread: cancel first, then cut off."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

CANCEL_SECONDS = 1.0
AGAIN_SECONDS = 0.1
LET_GO_SECONDS = 0.5


def _nothing() -> None:
    """There is nothing to cancel."""


class SocketHandle:
    """A second handle on a connection's socket, which can cut it whatever its driver does."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)
        self._close = weakref.finalize(self, os.close, self._descriptor)

    def cut(self) -> None:
        """Shut the connection down: its readers and writers fail at once."""
        if not self._close.alive:
            return
        handle = socket.socket(fileno=self._descriptor)
        with suppress(OSError):  # the other side was faster
            handle.shutdown(socket.SHUT_RDWR)
        handle.detach()

    def close(self) -> None:
        """Close the handle, which alone would keep the connection open. Safe to call twice."""
        self._close()


class Read:
    """One connection in use. `cancel` asks the database to stop and may block; `line` is None without a socket."""

    def __init__(self, cancel: Callable[[], object], line: SocketHandle | None) -> None:
        self._cancel, self._line = cancel, line
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._canceller: threading.Thread | None = None
        self._is_cancelled = False
        self.ended = False
        """Set before anything else: a driver that calls us back can look at it."""

    def end(self) -> None:
        """Cancel; if that does not help within about a second, cut. Only the first call has an effect."""
        with self._lock:
            if self._finished.is_set() or self.ended:
                return
            self.ended = True
            self._canceller = threading.Thread(target=self._cancel_until_over, name="cancel a read", daemon=True)
            self._canceller.start()
        self._canceller.join(CANCEL_SECONDS)
        if self._is_cancelled:
            self._finished.wait(LET_GO_SECONDS)
        with self._lock:
            if self._line is not None and not self._finished.is_set():
                self._line.cut()

    def over(self) -> None:
        """Forget the connection, which is about to be closed. Safe to call twice."""
        with self._lock:
            self._finished.set()
        if self._canceller is not None:
            self._canceller.join(CANCEL_SECONDS)  # it must not meet a driver that frees its connection
        self._cancel = _nothing  # which releases the connection
        if self._line is not None:
            self._line.close()

    def _cancel_until_over(self) -> None:
        with suppress(Exception):  # a database that refuses this is cut off
            self._cancel()
            self._is_cancelled = True
            # Drivers forget an interrupt that comes between two statements; without a socket, repeat it.
            while self._line is None and not self._finished.wait(AGAIN_SECONDS):
                self._cancel()


class Underway:
    """The current reads of one source. A read ends when it is over or no longer referenced."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reads: weakref.WeakSet[Read] = weakref.WeakSet()
        self.stops = 0
        """The number of stops: a read that began at another number has to end."""

    def begin(self, cancel: Callable[[], object], line: SocketHandle | None = None) -> Read:
        """Register a read. Keep the result while the connection is open, then call its `over`."""
        new_read = Read(cancel, line)
        with self._lock:
            self._reads.add(new_read)
        return new_read

    def stop(self) -> None:
        """End them all, side by side; returns within a few seconds."""
        with self._lock:
            self.stops += 1
            reads = list(self._reads)
        ending = [threading.Thread(target=each_read.end, name="end a read", daemon=True) for each_read in reads]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join(CANCEL_SECONDS + 2 * LET_GO_SECONDS)
