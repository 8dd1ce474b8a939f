"""Records that several keys connect: the parts of them, the pairs that agree, and the values by which they do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rules import links
from rules.engines.base import Link
from rules.grouping import Record
from rules.kinds.duplicates.shared import NO_VALUE
from rules.links import Pair

SharedValue = tuple[int, int]
"""The number of a key, and the rank of one of its values."""


@dataclass(frozen=True)
class Component:
    """Connected records, each with the ranks of its values as its key, and the pairs of them listed as different."""

    records: Sequence[Record]
    apart: Collection[Pair] = ()

    @cached_property
    def parts(self) -> list[list[int]]:
        """The positions of records that are connected by pairs not listed as different."""
        return links.parts(len(self.records), self._pairs)

    def links(self, ordered: Sequence[Record]) -> tuple[Link, ...]:
        """Return the links of one part, given its records in the order of the group's members."""
        place = {id(record): place for place, record in enumerate(ordered)}
        members = {position: place[id(r)] for position, r in enumerate(self.records) if id(r) in place}
        of_part = [pair for pair in self._pairs if pair[0] in members]
        found = (self._link(pair, links.pair(members[pair[0]], members[pair[1]])) for pair in of_part)
        return tuple(sorted(found, key=lambda link: (link.first, link.second)))

    def linking(self, part: Collection[int]) -> Iterator[tuple[int, Record]]:
        """Yield the values that link a part, each as the number of its key and its first record.

        They come in the order of the keys; of one key, those of most records first, then in their own order.
        """
        inside = frozenset(part)
        values = {value for value, pairs in self._pairs_by_value.items() if any(pair[0] in inside for pair in pairs)}
        of_part = {value: [position for position in self._alike[value] if position in inside] for value in values}
        for value in sorted(of_part, key=lambda value: (value[0], -len(of_part[value]), value[1])):
            yield value[0], self.records[of_part[value][0]]

    def _link(self, positions: Pair, members: Pair) -> Link:
        first, second = (self.records[position].key for position in positions)
        keys = (n for n, (one, two) in enumerate(zip(first, second, strict=True)) if one == two != NO_VALUE)
        return Link(*members, tuple(keys), positions in self._bridges)

    @cached_property
    def _alike(self) -> Mapping[SharedValue, list[int]]:
        """The ascending positions of the records with each value."""
        alike: dict[SharedValue, list[int]] = defaultdict(list)
        for position, record in enumerate(self.records):
            for number, rank in enumerate(record.key):
                if isinstance(rank, int) and rank != NO_VALUE:
                    alike[number, rank].append(position)
        return alike

    @cached_property
    def _pairs_by_value(self) -> Mapping[SharedValue, set[Pair]]:
        return {value: links.connecting(positions, self.apart) for value, positions in self._alike.items()}

    @cached_property
    def _pairs(self) -> set[Pair]:
        return {pair for pairs in self._pairs_by_value.values() for pair in pairs}

    @cached_property
    def _bridges(self) -> set[Pair]:
        return links.bridges(self._pairs)
