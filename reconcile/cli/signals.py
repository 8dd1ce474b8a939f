"""Ctrl-C and SIGTERM while a command runs: everything open is closed, and leases are released on exit."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import ClassVar

GRACE = 1.0
"""Seconds a driver that only knows Ctrl-C gets to react to SIGTERM by itself."""


class Terminated(BaseException):
    """SIGTERM. Without this, a service manager that stops us would leave a lease that the next run waits for."""


class Signals:
    """A context in which both signals raise KeyboardInterrupt or Terminated, once.

    A driver can wait in C, where Python's handlers do not run, or turn Ctrl-C into its own error. So a thread receives
    signals as they come: they are recorded whatever the driver does, and SIGTERM becomes a Ctrl-C for a driver that
    does not react.
    """

    current: ClassVar[Signals | None] = None

    def __init__(self) -> None:
        self._heard = 0
        self._handed_over = False
        self._left = threading.Event()
        self._ear, self._wire = os.pipe()
        os.set_blocking(self._wire, False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)

    def __enter__(self) -> Signals:
        self._wire_before = signal.set_wakeup_fd(self._wire, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        self._thread.start()
        Signals.current = self
        return self

    def __exit__(self, *_: object) -> None:
        Signals.current = None
        signal.set_wakeup_fd(self._wire_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._left.set()
        os.close(self._wire)
        self._thread.join()
        os.close(self._ear)

    def leave(self) -> None:
        """Raise KeyboardInterrupt or Terminated if a signal was received."""
        if self._heard:
            self._left.set()
            raise KeyboardInterrupt if self._heard == signal.SIGINT else Terminated

    @property
    def code(self) -> int | None:
        """The exit code for the received signal, if any."""
        return 128 + self._heard if self._heard else None

    @contextlib.contextmanager
    def handed_over(self, hear: Callable[[int], None]) -> Iterator[None]:
        """Pass both signals and SIGHUP to `hear`, as often as they come; they stop nothing by themselves.

        A signal from inside is not handled again afterwards, however late the listening thread wakes up.
        """
        self._handed_over = True
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, lambda number_, _frame: hear(number_)) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        self._heard = self._heard or number
        if not self._left.is_set():
            self.leave()

    def _listen(self) -> None:
        while heard := os.read(self._ear, 1):
            if heard[0] not in (signal.SIGINT, signal.SIGTERM) or self._handed_over:
                continue
            self._heard = self._heard or heard[0]
            if heard[0] == signal.SIGTERM and not self._left.wait(GRACE):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def leave() -> None:
    """Raise KeyboardInterrupt or Terminated if the command received a signal; for long loops."""
    if Signals.current is not None:
        Signals.current.leave()
