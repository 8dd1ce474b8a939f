"""Pairs that the rule or people decided about: they are kept apart or together, whatever their score."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.clusters import UNCONSTRAINED, Constraints
from rules.kinds.similar.encoded import Places
from rules.kinds.similar.matching import Matching
from rules.pairs import links
from rules.pairs.evidence import JudgedPairs, LinkingValues, differing_values, linking_values
from rules.pairs.record import Record
from rules.pairs.separated import SeparatedPairs
from rules.values import Value, canonical_json

if TYPE_CHECKING:
    from rules.kinds.similar.bound import BoundSimilar

Values = Callable[[int], Mapping[str, Value]]
"""Return the values of a record as they are compared, without those that are empty, by its place."""


@dataclass(frozen=True)
class Decided:
    """The decided pairs of a rule over its records.

    `tables` are the records of each dataset, `read` returns the records at some places by place, and `values` those of
    a place as they are compared.
    """

    bound: BoundSimilar
    matching: Matching
    tables: tuple[pa.Table, ...]
    read: Callable[[Places], dict[int, Record]]
    values: Values

    @cached_property
    def constraints(self) -> Constraints:
        """The pairs of places. A pair that the rule excepts, or a veto, or that was judged different is never together.

        "The same" holds while the records differ in no value that they did not differ in when they were judged. With
        `one_to_one`, it holds for records of two datasets that have no other partner; the first pair in order wins.
        """
        rule = self.bound.rule
        if not (self.bound.excepted or rule.judged or rule.judged_same):
            return UNCONSTRAINED
        records = self.named
        places = list(records)
        separated = SeparatedPairs(self.bound.excepted, rule.judged, self._agree_by)
        apart = frozenset(links.pair(places[a], places[b]) for a, b in separated.of(list(records.values())))
        together = self._together(records, rule.judged_same) - apart
        return Constraints(_partners(together, records) if rule.one_to_one else together, apart)

    @cached_property
    def named(self) -> dict[int, Record]:
        """The records that decisions name, and perhaps others, by place."""
        return self.read(self._named_places)

    def _together(self, records: Mapping[int, Record], same: JudgedPairs) -> frozenset[links.Pair]:
        if not same:
            return frozenset()
        names = {(record.dataset, canonical_json(record.id)): place for place, record in records.items()}
        chosen = []
        for pair, differed in same.items():
            places = [names[name] for name in pair if name in names]
            if len(places) == 2 and self._differ_by(*places) <= differed:
                chosen.append(links.pair(*places))
        if not chosen:
            return frozenset()
        first, second = (np.asarray(side, np.int64) for side in zip(*chosen, strict=True))
        vetoed = np.isneginf(self.matching.score(first, second).bits)
        return frozenset(pair for pair, is_vetoed in zip(chosen, vetoed.tolist(), strict=True) if not is_vetoed)

    def _agree_by(self, first: Record, second: Record) -> LinkingValues:
        left, right = self.values(record_place(first)), self.values(record_place(second))
        return linking_values((name, value) for name, value in left.items() if right.get(name) == value)

    def _differ_by(self, first: int, second: int) -> LinkingValues:
        left, right = self.values(first), self.values(second)
        shared = ((name, value, right[name]) for name, value in left.items() if name in right)
        return differing_values(values for values in shared if values[1] != values[2])

    @property
    def _named_places(self) -> Places:
        """The places of the records that decisions name, and perhaps of others."""
        rows, begin = [], 0
        names = self._names
        for number, (side, table) in enumerate(zip(self.bound.sides, self.tables, strict=True)):
            dataset = side.relation.dataset if number else None
            ids = [name for of_dataset, name in names if of_dataset == dataset]
            rows.append(begin + _rows_of(table, side.relation.id, ids))
            begin += len(table)
        chosen = np.zeros(begin, dtype=bool)
        chosen[np.concatenate(rows)] = True
        return np.flatnonzero(chosen[self.matching.records.rows])

    @property
    def _names(self) -> set[tuple[str | None, tuple[str, ...]]]:
        """The records in decisions: dataset, and the parts of the id as texts."""
        rule = self.bound.rule
        names: set[tuple[str | None, tuple[str, ...]]] = {name for pair in self.bound.excepted for name in pair}
        for pairs in (rule.judged, rule.judged_same):
            names |= {(dataset, texts_of(name)) for pair in pairs for dataset, name in pair}
        return names


def _partners(pairs: Collection[links.Pair], records: Mapping[int, Record]) -> frozenset[links.Pair]:
    """Return the pairs of two datasets, of those that share a record the first by their names."""
    chosen, taken = set[links.Pair](), set[int]()
    for pair in sorted(pairs, key=lambda places: sorted(_name(records[place]) for place in places)):
        first, second = (records[place] for place in pair)
        if first.dataset != second.dataset and taken.isdisjoint(pair):
            chosen.add(pair)
            taken.update(pair)
    return frozenset(chosen)


def _name(record: Record) -> tuple[str, str]:
    return record.dataset or "", canonical_json(record.id)


def record_place(record: Record) -> int:
    """Return the place of a record, which is its key."""
    [place] = record.key
    return int(str(place))


def texts_of(name: str) -> tuple[str, ...]:
    """Return the parts of an id in canonical JSON as texts."""
    return tuple("" if part is None else str(part[1]) for part in json.loads(name))


def _rows_of(table: pa.Table, columns: Iterable[str], names: Collection[tuple[str, ...]]) -> NDArray[np.int64]:
    """Return the rows that may have one of these ids: all, where they have another form in the table."""
    rows = np.ones(len(table), dtype=bool)
    if not names:
        rows[:] = False
    for number, column in enumerate(columns):
        values: Any = table[column]
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_integer(values.type):
            texts = sorted({name[number] for name in names if number < len(name)})
            rows &= np.asarray(pc.is_in(values.cast(pa.string()), value_set=pa.array(texts, pa.string())))
    return np.flatnonzero(rows)
