"""Records that several keys connect: the parts of them, the pairs that agree, and the values by which they do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from rules.groups.shared import NO_VALUE
from rules.pairs import links
from rules.pairs.evidence import Link
from rules.pairs.links import Pair
from rules.pairs.record import Record

SharedValue = tuple[int, int]
"""The number of a key, and the rank of one of its values."""


class Component:
    """Connected records, each with the ranks of its values as its key; no key joins the pairs kept `apart`."""

    def __init__(self, records: Sequence[Record], apart: Collection[Pair] = ()) -> None:
        self._records = records
        self._alike: dict[SharedValue, list[int]] = defaultdict(list)
        for position, record in enumerate(records):
            for number, rank in enumerate(record.key):
                if isinstance(rank, int) and rank != NO_VALUE:
                    self._alike[number, rank].append(position)
        self._pairs_by_value = {value: links.connecting(alike, apart) for value, alike in self._alike.items()}
        self._pairs = {pair for pairs in self._pairs_by_value.values() for pair in pairs}

    def parts(self) -> list[list[int]]:
        """Return the positions of the records in each part that the other pairs connect."""
        return links.parts(len(self._records), self._pairs)

    def links(self, ordered: Sequence[Record]) -> tuple[Link, ...]:
        """Return the links of one part, given its records in the order of the group's members."""
        place = {id(record): place for place, record in enumerate(ordered)}
        members = {position: place[id(r)] for position, r in enumerate(self._records) if id(r) in place}
        pairs = [pair for pair in self._pairs if pair[0] in members]
        bridges = links.bridges(pairs)
        linked = [
            Link(*links.pair(members[first], members[second]), self._shared(first, second), (first, second) in bridges)
            for first, second in pairs
        ]
        return tuple(sorted(linked, key=lambda link: (link.first, link.second)))

    def linking(self, part: Collection[int]) -> Iterator[tuple[int, Record]]:
        """Yield the values that link a part, each as the number of its key and its first record.

        They come in the order of the keys; of one key, those of most records first, then in their own order.
        """
        inside = frozenset(part)
        values = (value for value, pairs in self._pairs_by_value.items() if any(pair[0] in inside for pair in pairs))
        of_part = {value: [position for position in self._alike[value] if position in inside] for value in values}
        for value in sorted(of_part, key=lambda value: (value[0], -len(of_part[value]), value[1])):
            yield value[0], self._records[of_part[value][0]]

    def _shared(self, first: int, second: int) -> tuple[int, ...]:
        """Return the numbers of the keys by which two records agree."""
        ranks = zip(self._records[first].key, self._records[second].key, strict=True)
        return tuple(number for number, (one, two) in enumerate(ranks) if one == two != NO_VALUE)
