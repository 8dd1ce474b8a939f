"""The duties of `serve` that fail: logged when it begins and every few minutes, and reported as a trouble if it lasts.

A failure of the state itself is reported without the state; see `reconcile.messages.direct`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import structlog

from reconcile.config.settings import Project
from reconcile.messages import troubles
from reconcile.store import Store, StoreError
from reconcile.store import troubles as stored
from reconcile.store.failing import Failing

REPEAT = 300.0
"""Seconds between two log lines about the same failure."""
LASTS = 60.0
"""Seconds of failing after which a message is sent."""
_SUBJECT = "duty:"

log = structlog.get_logger("reconcile")


@dataclass
class _Duty:
    failing: Failing
    sentences: dict[str, str] = field(default_factory=dict)  # of this failure, by kind of error
    logged: dict[str, float] = field(default_factory=dict)


class Duties:
    """Notes how each duty ends. `sentence` puts an error into words; it is called once for each kind of a failure.

    Safe to share between threads.
    """

    def __init__(self, sentence: Callable[[Exception], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._sentence = sentence
        self._clock = clock
        self._duties: dict[str, _Duty] = {}
        self._told: set[str] = set()

    def add(self, names: Iterable[str]) -> None:
        """Begin to count the ages of these duties."""
        self._duties = {name: _Duty(Failing(self._clock)) for name in names}

    def succeeded(self, name: str) -> None:
        duty = self._duty(name)
        duty.failing.succeeded()
        if duty.logged and duty.failing.ongoing() is None:
            duty.logged.clear()
            duty.sentences.clear()
            log.info("duty.recovered", duty=name)

    def failed(self, name: str, error: Exception) -> None:
        duty, kind = self._duty(name), type(error).__name__
        duty.failing.failed(error)
        if kind not in duty.sentences:  # a defect writes a report, which would fill the disk
            duty.sentences[kind] = self._sentence(error)
        if kind not in duty.logged or self._clock() - duty.logged[kind] >= REPEAT:
            duty.logged[kind] = self._clock()
            failure = duty.failing.ongoing()
            seconds = 0 if failure is None else round(failure.seconds)
            log.error("duty.failed", duty=name, why=duty.sentences[kind], seconds=seconds or None)

    def ages(self) -> dict[str, float]:
        """For each duty, the seconds since it last ended without an error."""
        return {name: duty.failing.age() for name, duty in list(self._duties.items())}

    def tell(self, store: Store, project: Project) -> None:
        """Report duties that go on failing for another reason than the state, and those that work again.

        Raises a StoreError; the next call then does it.
        """
        lasting = dict(self._lasting())
        if not lasting and not self._told - lasting.keys():
            return
        with store.begin() as tx:
            for name, sentence in lasting.items():
                troubles.begin(tx, project, f"{_SUBJECT}{name}", sentence)
            for name in self._told - lasting.keys():
                troubles.end(tx, project, f"{_SUBJECT}{name}", f"The duty `{name}` works again.")
        self._told = set(lasting)

    def adopt(self, store: Store) -> None:
        """Take over the troubles of duties that an earlier process reported, so that their end is reported."""
        with store.read() as tx:
            subjects = [trouble.subject for trouble in stored.ongoing(tx)]
        self._told |= {subject.removeprefix(_SUBJECT) for subject in subjects if subject.startswith(_SUBJECT)}

    def _lasting(self) -> Iterable[tuple[str, str]]:
        for name, duty in list(self._duties.items()):
            failure = duty.failing.ongoing()
            if failure is None or isinstance(failure.error, StoreError) or failure.seconds < LASTS:
                continue
            why = duty.sentences.get(type(failure.error).__name__, "")
            yield name, f"`serve` has failed to {name} for over a minute\n{why}"

    def _duty(self, name: str) -> _Duty:
        return self._duties.setdefault(name, _Duty(Failing(self._clock)))
