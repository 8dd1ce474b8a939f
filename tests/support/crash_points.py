"""Make a process die, stop or fail at a place of `reconcile.points`, at the n-th time it reaches it.

arm(Fault("target.committed"))                  # SIGKILL at the first time
arm(Fault("store.sent.committed", 2, "stop"))   # SIGSTOP at the second
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from reconcile import points

How = Literal["kill", "stop", "raise"]


class Crashed(BaseException):
    """Raised at a place; error handlers do not catch it."""


class LabelUnknown(Exception):
    """The place is unknown; nothing was armed."""

    def __init__(self, label: str) -> None:
        super().__init__(f"Unknown crash point {label!r}; known are: {', '.join(points.LABELS)}")


@dataclass(frozen=True)
class Fault:
    """A fault of the process when it reaches the place for the `nth` time."""

    label: str
    nth: int = 1
    how: How = "kill"

    def __post_init__(self) -> None:
        if self.label not in points.LABELS:
            raise LabelUnknown(self.label)
        if self.nth < 1 or self.how not in get_args(How):
            raise ValueError(f"a fault is label:nth:kill|stop|raise, nth from 1, not {self}")

    def __str__(self) -> str:
        return f"{self.label}:{self.nth}:{self.how}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Parse the output of `str`; nth and how may be left out."""
        label, nth, how = (*text.split(":"), "", "")[:3]
        return cls(label, int(nth or 1), cast(How, how or "kill"))


def arm(*faults: Fault, log: Path | None = None) -> None:
    """Arm these faults in this process; each reached place is written to `log` before its fault happens."""
    how_at = {(fault.label, fault.nth): fault.how for fault in faults}
    reached: Counter[str] = Counter()
    lock = threading.Lock()
    file = None if log is None else os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def at(label: str) -> None:
        if label not in points.LABELS:
            raise LabelUnknown(label)
        with lock:
            reached[label] += 1
            how = how_at.get((label, reached[label]))
        if file is not None:
            os.write(file, f"{label}\n".encode())
        if how == "raise":
            raise Crashed(label)
        if how is not None:
            os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSTOP)

    points.armed = at


def disarm() -> None:
    """Remove all faults."""
    points.armed = None
