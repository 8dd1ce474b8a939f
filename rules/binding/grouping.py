"""Groups of the records of several datasets, which have equal keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rules.binding.question import SeveralSettings
from rules.binding.sided import SidedBuilder
from rules.binding.united import PART, column_name
from rules.groups.dataset import DatasetGrouping
from rules.groups.ids import Keyed
from rules.groups.keyed import Grouping, Key
from rules.pairs.record import Record
from rules.values import Value

_Row = Mapping[str, Value]
_NUMBER = "\0dataset"
"""The number of the dataset in a completed row, beside its own columns: none has this name."""


@dataclass(frozen=True)
class SeveralGrouping(SidedBuilder, Grouping):
    """Build groups of the records of several datasets, each with its own id, time zone and money.

    A row is one of the united table.
    """

    bound: SeveralSettings

    @cached_property
    def of_sides(self) -> tuple[DatasetGrouping, ...]:
        return tuple(DatasetGrouping(side, self.slot) for side in self.bound.sides)

    def sources(self, parts: Iterable[int]) -> Sequence[str]:
        wanted = list(parts)
        own = ((n, name) for n, side in enumerate(self.of_sides) for name in side.sources(wanted))
        return [PART, *(column_name(n, name) for n, name in own)]

    def completed(self, row: _Row) -> dict[str, Value]:
        number = int(str(row[PART]))
        own = {name: row[column] for column, name in self._columns[number] if column in row}
        return {_NUMBER: number} | self.of_sides[number].completed(own)

    def values(self, completed: _Row, parts: Iterable[int]) -> Key:
        return self.of_sides[int(str(completed[_NUMBER]))].values(completed, parts)

    def identified(self, keyed: Iterable[Keyed]) -> list[Record]:
        of_side: dict[int, list[Keyed]] = defaultdict(list)
        for key, completed in keyed:
            of_side[int(str(completed[_NUMBER]))].append((key, completed))
        return [
            self.seen(number, record)
            for number in sorted(of_side)
            for record in self.of_sides[number].identified(of_side[number])
        ]

    def values_of(self, record: Record, parts: Iterable[int]) -> Key:
        normal = self.of_sides[self.number_of(record)].normal
        return tuple(normal[n](record.values[self.bound.parts[n].column]) for n in parts)

    @cached_property
    def _columns(self) -> Sequence[Sequence[tuple[str, str]]]:
        """The columns of each dataset in the united table, each with its own name."""
        sides = enumerate(self.bound.sides)
        return [[(column_name(n, name), name) for name in side.needed] for n, side in sides]
