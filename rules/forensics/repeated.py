"""The records of one group of duplicates, as the tests see them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rules.values import Value

Record = Mapping[str, Value]


@dataclass(frozen=True)
class Repeated:
    """Records of the same thing, in the order of their `times` if all have one; each after the first is a repeat."""

    records: tuple[Record, ...]
    times: tuple[dt.datetime, ...] = ()

    @classmethod
    def of(cls, records: Sequence[Record], columns: Sequence[str]) -> Repeated:
        """Order the records by the first of these columns in which all have a time."""
        for column in columns:
            times = [time for record in records if isinstance(time := record.get(column), dt.datetime)]
            if len(times) == len(records):
                order = sorted(range(len(records)), key=times.__getitem__)
                return cls(tuple(records[place] for place in order), tuple(times[place] for place in order))
        return cls(tuple(records))

    @property
    def repeats(self) -> int:
        return len(self.records) - 1

    @property
    def lags(self) -> list[tuple[float, float]]:
        """For each repeat, the seconds since the previous record, and its own time in seconds."""
        return [((later - earlier).total_seconds(), later.timestamp()) for earlier, later in pairwise(self.times)]
