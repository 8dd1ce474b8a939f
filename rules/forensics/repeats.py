"""Why records exist several times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from rules.forensics.batches import Batches, Copies
from rules.forensics.deliveries import Deliveries
from rules.forensics.lags import Lags
from rules.forensics.repeated import Repeated
from rules.values import Value


class Test(Protocol):
    """A test for one kind of cause. It collects what it needs of each group."""

    def add(self, group: Repeated) -> None: ...

    def sentence(self) -> str | None:
        """Return the cause with its figures, or None below the threshold."""


class RepeatCauses:
    """What the duplicates of a rule have in common, collected group by group; the first test that passes names a cause.

    `key` are the columns of the rule's key. `times` are the columns that may hold the time of a record, the best first.
    """

    def __init__(self, key: Collection[str], times: Iterable[str]) -> None:
        self._times = tuple(times)
        self._tests: tuple[Test, ...] = (Deliveries(key), Copies(), Batches(key), Lags())

    def add(self, records: Sequence[Mapping[str, Value]]) -> None:
        """Add the records of one group; one record alone is no repeat."""
        if len(records) > 1:
            group = Repeated.of(records, self._times)
            for test in self._tests:
                test.add(group)

    def cause(self) -> str | None:
        return next((sentence for test in self._tests if (sentence := test.sentence())), None)
