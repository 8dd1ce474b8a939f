"""Pairs of records that no key joins: known to be different by the rule, or judged to be different by people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rules.pairs.evidence import JudgedPairs, LinkingValues
from rules.pairs.links import Pair, pair
from rules.pairs.record import DifferentPairs, Record
from rules.values import canonical_json

Partners = Mapping[Hashable, Sequence[Hashable]]


@dataclass(frozen=True)
class SeparatedPairs:
    """The pairs that a rule lists, and those that people judged. `agree_by` returns the values by which two agree."""

    excepted: DifferentPairs
    judged_pairs: JudgedPairs
    agree_by: Callable[[Record, Record], LinkingValues]

    def of(self, records: Sequence[Record]) -> set[Pair]:
        """Return the pairs of these records, by their positions.

        A judged pair is one of them while no value links it that did not when it was judged.
        """
        apart = set(_pairs([record.name for record in records], self._listed)) if self._listed else set()
        if self._judged:
            names = [(record.dataset, canonical_json(record.id)) for record in records]
            for first, second in _pairs(names, self._judged):
                judged = self.judged_pairs[frozenset((names[first], names[second]))]
                if self.agree_by(records[first], records[second]) <= judged:
                    apart.add((first, second))
        return apart

    @cached_property
    def _listed(self) -> Partners:
        return _partners(self.excepted)

    @cached_property
    def _judged(self) -> Partners:
        return _partners(self.judged_pairs)


def _partners(pairs: Iterable[Iterable[Hashable]]) -> Partners:
    """Return for each name in a pair the other names."""
    partners: dict[Hashable, list[Hashable]] = defaultdict(list)
    for first, second in pairs:
        partners[first].append(second)
        partners[second].append(first)
    return partners


def _pairs(names: Sequence[Hashable], partners: Partners) -> Iterator[Pair]:
    """Yield the pairs among these names, each once, by their positions."""
    positions = {name: position for position, name in enumerate(names)}
    for name, position in positions.items():
        for partner in partners.get(name, ()):
            if positions.get(partner, -1) > position:
                yield pair(position, positions[partner])
