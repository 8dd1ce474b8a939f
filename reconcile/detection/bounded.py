"""Time limits for a rule: its work runs in a thread that can be abandoned, while the caller waits and gets signals.

A driver can block in C for as long as its server likes, and nothing can end a thread there. So `stop` ends the
operation that blocks: cancelled in the database, cut off by socket, or interrupted in DuckDB. If the thread does not
end within a grace period, the caller goes on without it. An abandoned thread is harmless: it only reads, its result
is ignored, and its next progress report ends it; then it closes its resources. It is a daemon thread, so the process
can end without it.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reconcile.config.settings import JobConfig
from reconcile.detection.detect import Budget, Detected, RuleUnchecked, Share, detect
from reconcile.detection.increments import Earlier
from reconcile.detection.subject import Subject, subjects_of
from rules.engines.base import Stop
from rules.kinds.base import Rule

STEP = 0.1
"""Seconds between two checks of the clock, and so the longest delay of a signal."""
GRACE = 5.0
"""Seconds for the work to end by itself after a limit; there is less time after a signal."""
GRACE_AT_A_SIGNAL = 1.5
T = TypeVar("T")


class RuleEnded(RuleUnchecked):
    """A rule was stopped at a limit of its job; its findings are unchanged."""


class RuleTimedOut(RuleEnded):
    """The rule took longer than `time_limit` of its job."""

    def __init__(self, rule: str, limits: TimeLimits) -> None:
        super().__init__(
            f"Rule {rule!r} timed out after {duration_text(limits.time)}, the `time_limit` of job {limits.job!r}: "
            f"its records could not be read in time. Its findings are unchanged. Raise `time_limit:` of the job, add "
            f"an index to the source, or narrow the dataset"
        )


class RuleStalled(RuleEnded):
    """The rule's source sent nothing for longer than `stall` of its job."""

    def __init__(self, rule: str, limits: TimeLimits) -> None:
        super().__init__(
            f"Rule {rule!r} was stopped because its source sent nothing for {duration_text(limits.stall)}, the `stall` "
            f"of job {limits.job!r}: its records could not be read. Its findings are unchanged. Check the source, or "
            f"raise `stall:` of the job if an answer takes longer"
        )


@dataclass(frozen=True)
class TimeLimits:
    """The longest time of a rule of the job (`time`), and its longest time without a batch or an answer (`stall`)."""

    time: dt.timedelta = dt.timedelta(hours=1)
    stall: dt.timedelta = dt.timedelta(minutes=15)
    job: str = ""


def bounded(
    work: Callable[[Callable[[int], None]], T],
    rule: str,
    limits: TimeLimits,
    stop: Callable[[], None],
    *,
    watch: Callable[[int], None] = lambda _: None,
    alive: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
    grace: float = GRACE,
) -> T:
    """Return or raise the result of `work`, which gets a function to report progress: records read so far.

    Every tenth of a second this thread calls `watch` with the records read; it may raise to end the work. After each
    progress report this thread calls `alive`. Another thread calls `stop` until the work has ended. Raises
    RuleTimedOut or RuleStalled after a limit.
    """
    attempt = _Attempt(work, rule, clock)
    try:
        attempt.start()
        while not attempt.done.wait(STEP):
            if attempt.has_news():
                alive()
            watch(attempt.read)
            attempt.check(limits)
    except RuleEnded:
        attempt.end(stop, grace)
        raise
    except BaseException:
        attempt.end(stop, min(grace, GRACE_AT_A_SIGNAL))
        raise
    return attempt.outcome()


def detected(
    rule: Rule,
    job: JobConfig,
    slot: dt.datetime,
    budget: Budget,
    *,
    subject: Callable[[str], Subject],
    stop: Callable[[str], None],
    watch: Callable[[str, int], None],
    alive: Callable[[], None] = lambda: None,
    earlier: Earlier | None = None,
    share: Share | None = None,
) -> Detected:
    """Return the rule's answer within the limits of the job. Raises as `detect` and `bounded` do.

    `stop` ends the reads of a dataset's source; `watch` gets the rule and the records read so far, and may raise.
    `earlier` and `share` are as for `detect`.
    """
    interrupt = Stop()

    def work(tell: Callable[[int], None]) -> Detected:
        subjects = subjects_of(rule, subject, slot)
        tell(0)
        return detect(rule, subjects, slot, budget, tell, interrupt, earlier, share)

    def stop_all() -> None:
        interrupt()
        for dataset in rule.datasets:
            stop(dataset)

    def report(read: int) -> None:
        watch(rule.name, read)

    report(0)
    limits = TimeLimits(job.time_limit, job.stall, job.name)
    return bounded(work, rule.name, limits, stop_all, watch=report, alive=alive)


def duration_text(length: dt.timedelta) -> str:
    """Return a duration as the configuration writes it, in its largest whole unit: 90s, 15m, 1h."""
    seconds = length.total_seconds()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


class _GivenUp(Exception):
    """Raised in abandoned work."""


class _Attempt(Generic[T]):
    """The work and its progress. Its thread calls only `_run` and `_tell`."""

    def __init__(self, work: Callable[[Callable[[int], None]], T], rule: str, clock: Callable[[], float]) -> None:
        self._work, self._rule, self._clock = work, rule, clock
        self._begun = self._last = self._reported = clock()
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._given_up = False
        self.read = 0
        self.done = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"checking {self._rule}", daemon=True).start()

    def has_news(self) -> bool:
        """Return True if the work reported progress since the last call."""
        reported, self._reported = self._reported, self._last
        return reported != self._reported

    def check(self, limits: TimeLimits) -> None:
        now = self._clock()
        if now - self._begun > limits.time.total_seconds():
            raise RuleTimedOut(self._rule, limits)
        if now - self._last > limits.stall.total_seconds():
            raise RuleStalled(self._rule, limits)

    def outcome(self) -> T:
        if self._error is not None:
            raise self._error
        return self._result[0]

    def end(self, stop: Callable[[], None], grace: float) -> None:
        """Stop the work and wait for it until the grace period ends; then abandon it."""
        self._given_up = True
        stopping = threading.Thread(target=self._stop, args=(stop, time.monotonic() + grace), daemon=True)
        stopping.start()
        stopping.join(grace)

    def _stop(self, stop: Callable[[], None], until: float) -> None:
        while not self.done.is_set() and time.monotonic() < until:
            stop()
            self.done.wait(STEP)

    def _run(self) -> None:
        try:
            self._result.append(self._work(self._tell))
        except BaseException as error:  # noqa: BLE001 - the caller raises it, unless it abandoned the work
            self._error = error
        finally:
            self.done.set()

    def _tell(self, read: int) -> None:
        if self._given_up:
            raise _GivenUp
        self.read = read
        self._last = self._clock()
