"""The reasons why cleaning waits, in the log of `serve`: one line when a wait begins and one when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from reconcile.cleaning.execution.outcomes import ExecutionResult

LOOK_AGAIN = 5.0
"""Seconds until plans that only wait are looked at again."""

log = structlog.get_logger("reconcile")


@dataclass
class Waits:
    """The reasons for which plans that are due wait. Not safe to share between threads."""

    clock: Callable[[], float] = time.monotonic
    _subjects: frozenset[str] = frozenset()
    _next: float = field(default=0.0)

    @property
    def is_over(self) -> bool:
        """True if it is time to look again, also if nothing waits."""
        return not self._subjects or self.clock() >= self._next

    def note(self, tally: ExecutionResult | None, *, any_left: Callable[[], bool]) -> None:
        """Take up the result of a look at the plans; None if none was due. `any_left`: plans wait for a later look."""
        self._next = self.clock()
        if tally is None:
            if self._subjects and not any_left():
                self._end(frozenset())
            return
        subjects = frozenset(tally.waits)
        if subjects - self._subjects:
            log.warning("cleaning.waits", why=sorted(tally.reasons))
            self._subjects = subjects
        elif self._subjects - subjects:
            self._end(subjects)
        if not tally.counts:
            self._next += LOOK_AGAIN

    def _end(self, left: frozenset[str]) -> None:
        log.info("cleaning.goes_on", still_waits=bool(left))
        self._subjects = left
