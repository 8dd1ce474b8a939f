"""Stop a rule before its groups hold more than `max_share` of the records that take part."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rules.engines.base import Positions
from rules.groups.group import DuplicateGroup
from rules.groups.implausible import FEW, KeyTooCommon, LargeGroup
from rules.groups.settings import GroupSettings
from rules.values import Value

_SHOWN = 3


@dataclass(frozen=True)
class ShareLimit:
    """The limit for one detection. `taking_part` is the number of records that took part.

    With `ids_differ`, no two records have the same id.
    """

    bound: GroupSettings
    taking_part: int
    ids_differ: bool

    @property
    def most(self) -> int:
        """The largest number of records in groups."""
        return max(FEW, int(self.bound.max_share * self.taking_part))

    def check(self, sizes: Positions, key_of: Callable[[int], Mapping[str, Value]]) -> None:
        """Raise KeyTooCommon if that is certain before any group is built.

        `sizes` has the number of records of each key, or of each component, and `key_of` returns the key of one.
        """
        large = np.flatnonzero(sizes >= self.bound.minimum)
        if self.keeps_all and sizes[large].sum() > self.most:
            largest = sorted(large.tolist(), key=lambda number: -sizes[number])[:_SHOWN]
            raise self._error([LargeGroup(key_of(number), int(sizes[number])) for number in largest])

    def watched(self, groups: Iterable[DuplicateGroup]) -> Iterator[DuplicateGroup]:
        """Pass the groups on. Raises KeyTooCommon as soon as they hold too many records."""
        records, largest = 0, list[tuple[int, int, LargeGroup]]()
        for number, group in enumerate(groups):
            size = len(group.members)
            records += size
            if len(largest) < _SHOWN or size > largest[0][0]:
                heapq.heappush(largest, (size, -number, LargeGroup(group.key, size)))
                largest = heapq.nlargest(_SHOWN, largest)[::-1]
            if records > self.most:
                raise self._error([large for _, _, large in sorted(largest, reverse=True)])
            yield group

    @property
    def keeps_all(self) -> bool:
        """True if all records of a key are in its group."""
        return self.ids_differ and self.bound.keeps_all

    def _error(self, largest: list[LargeGroup]) -> KeyTooCommon:
        return KeyTooCommon(self.bound.name, self.bound.identifier, self.most, self.taking_part, largest)
