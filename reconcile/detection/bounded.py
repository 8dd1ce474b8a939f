"""Limits of one rule: its work runs in a thread that can be given up, while the caller waits and hears signals.

A driver can sit in C for as long as its server likes. Nothing can end a thread there, so: what the work waits for is
stopped (`stop`: cancelled in the database, cut off by socket, interrupted in DuckDB), and if the thread is not back
within a grace, the caller goes on without it. A thread left behind is harmless: it only ever reads, what it brings is
looked at by nobody, its next word of progress ends it, and then it closes what it holds. It is a daemon, so a process
that ends does not wait for it.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reconcile.config.settings import JobConfig
from reconcile.detection.detect import Budget, Detected, Subject, detect, subjects_of
from rules.engines.base import Stop
from rules.kinds.base import Rule

STEP = 0.1
"""Seconds between two looks at the clock, so also how late a signal is heard."""
GRACE = 5.0
"""Seconds the work gets to end by itself after a limit; at a signal there is less time."""
GRACE_AT_A_SIGNAL = 1.5
T = TypeVar("T")


class RuleEnded(Exception):
    """A rule was ended because a limit of its job had passed; its findings were left as they are."""


class RuleTimedOut(RuleEnded):
    """The rule took longer than it may."""

    def __init__(self, rule: str, limits: Limits) -> None:
        super().__init__(
            f"Rule {rule!r} was ended after {said(limits.time)}, the `time_limit` of job {limits.job!r}, so what it "
            f"checks could not be read in time. Its findings were left as they are; raise `time_limit:` of the job, "
            f"or help the source with an index or a narrower dataset"
        )


class RuleStalled(RuleEnded):
    """The rule's source gave nothing for longer than it may be silent."""

    def __init__(self, rule: str, limits: Limits) -> None:
        super().__init__(
            f"Rule {rule!r} was ended because nothing came for {said(limits.stall)}, the `stall` of job "
            f"{limits.job!r}: what it checks could not be read. Its findings were left as they are; look at the "
            f"source, or raise `stall:` of the job where one answer takes longer"
        )


@dataclass(frozen=True)
class Limits:
    """How long a rule of the job may take (`time`), and be without progress, a batch or an answer (`stall`)."""

    time: dt.timedelta = dt.timedelta(hours=1)
    stall: dt.timedelta = dt.timedelta(minutes=15)
    job: str = ""


def bounded(
    work: Callable[[Callable[[int], None]], T],
    rule: str,
    limits: Limits,
    stop: Callable[[], None],
    *,
    watch: Callable[[int], None] = lambda _: None,
    alive: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
    grace: float = GRACE,
) -> T:
    """What `work` returns or raises. It is given a function to tell its progress with: records read so far.

    While it works, `watch` is called here every tenth of a second with the records read, and may raise to end it;
    `alive` is called here after each word of progress. `stop` ends what the work waits for, from another thread; it is
    called again until the work has ended. Raises RuleTimedOut or RuleStalled after a limit.
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
) -> Detected:
    """The rule's answer, within the limits of the job. Raises as `detect` and `bounded` do.

    `stop` ends the reads of a dataset's source; `watch` is told the rule and the records read so far, and may raise.
    """
    interrupt = Stop()

    def work(tell: Callable[[int], None]) -> Detected:
        subjects = subjects_of(rule, subject)
        tell(0)
        return detect(rule, subjects, slot, budget, tell, interrupt)

    def stop_it() -> None:
        interrupt()
        for dataset in rule.datasets:
            stop(dataset)

    def look(read: int) -> None:
        watch(rule.name, read)

    look(0)
    limits = Limits(job.time_limit, job.stall, job.name)
    return bounded(work, rule.name, limits, stop_it, watch=look, alive=alive)


def said(length: dt.timedelta) -> str:
    """A length of time as the configuration writes it, in its largest whole unit: 90s, 15m, 1h."""
    seconds = length.total_seconds()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


class _GivenUp(Exception):
    """Told to work whose result nobody waits for any more."""


class _Attempt(Generic[T]):
    """The work while it is done. Only `_run` and `_tell` are called by its thread."""

    def __init__(self, work: Callable[[Callable[[int], None]], T], rule: str, clock: Callable[[], float]) -> None:
        self._work, self._rule, self._clock = work, rule, clock
        self._begun = self._last = self._heard = clock()
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._given_up = False
        self.read = 0
        self.done = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"checking {self._rule}", daemon=True).start()

    def has_news(self) -> bool:
        """Whether the work said anything since the last call."""
        heard, self._heard = self._heard, self._last
        return heard != self._heard

    def check(self, limits: Limits) -> None:
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
        """Have the work stopped, and wait for it as long as the grace; then it is left behind."""
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
        except BaseException as error:  # noqa: BLE001 - the caller raises it, unless nobody waits any more
            self._error = error
        finally:
            self.done.set()

    def _tell(self, read: int) -> None:
        if self._given_up:
            raise _GivenUp
        self.read = read
        self._last = self._clock()
