"""The alarm clock: APScheduler wakes each duty of `serve` in a thread of its own, and decides nothing.

Its trigger counts from the moment it fires, so a clock that is set forward wakes a duty once, not for every second it
jumped over. A clock that is set back would leave every duty asleep until the old time comes again: `look`, called from
a thread that waits by the monotonic clock, wakes overdue duties.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import Any

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

Tick = Callable[[], None]

_OVERDUE = 5.0


class _Every(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """Fires a fixed time after it last fired, by the current wall clock."""

    __slots__ = ("_interval",)

    def __init__(self, seconds: float) -> None:
        self._interval = dt.timedelta(seconds=seconds)

    def get_next_fire_time(self, _before: dt.datetime | None, now: dt.datetime) -> dt.datetime:
        return now + self._interval


class Alarm:
    """Duties and how often each is woken. A duty is never woken while it is at work, and must not raise."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._woken: dict[str, float] = {}
        self._at_work: set[str] = set()
        self._seconds: dict[str, float] = {}
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # it warns of each tick that still runs
        self._clock: Any = BackgroundScheduler(
            timezone=dt.UTC, job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1}
        )

    def every(self, seconds: float, name: str, tick: Tick) -> None:
        """Wake this duty at this interval. Each duty has its own thread, so one that hangs stops no other."""

        def duty() -> None:
            self._woken[name] = self._monotonic()
            self._at_work.add(name)
            try:
                tick()
            finally:
                self._at_work.discard(name)
                self._woken[name] = self._monotonic()

        self._seconds[name] = seconds
        self._woken[name] = self._monotonic()
        self._clock.add_executor(ThreadPoolExecutor(1), alias=name)
        self._clock.add_job(duty, _Every(seconds), id=name, executor=name)

    def start(self) -> None:
        self._clock.start()

    def look(self) -> None:
        """Wake duties the wall clock missed. Call it about every second."""
        now = self._monotonic()
        for name, woken in list(self._woken.items()):
            if name not in self._at_work and now - woken > self._seconds[name] + _OVERDUE:
                self.wake(name)

    def wake(self, name: str) -> None:
        """Wake a duty now; does nothing after a stop."""
        self._woken[name] = self._monotonic()
        with contextlib.suppress(JobLookupError):  # a stop removes all duties, perhaps in another thread
            self._clock.modify_job(name, next_run_time=dt.datetime.now(dt.UTC))

    def silence(self) -> dict[str, float]:
        """For each duty, the seconds by which its begin or end is overdue."""
        now = self._monotonic()
        return {name: max(0.0, now - woken - self._seconds[name]) for name, woken in list(self._woken.items())}

    def stop(self, patience: float) -> None:
        """Wake nothing more, and wait up to `patience` seconds for running duties; a hung one is abandoned."""
        self._clock.shutdown(wait=False)
        until = self._monotonic() + patience
        while self._at_work and self._monotonic() < until:
            time.sleep(0.01)
