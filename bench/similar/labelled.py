"""Labelled sets: tables, the types of their compared columns, and the pairs of rows that are the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from rules.kinds.similar.matching import Matching
from rules.kinds.similar.settings import Settings

PairsOfRows = set[tuple[int, int]]
"""Pairs of rows, the lower one first; the rows of a second table go on after those of the first."""


@dataclass(frozen=True)
class Labelled:
    """A set whose true pairs are known. Only its types are configured: one default serves all sets."""

    tables: Sequence[pa.Table]
    types: Mapping[str, str]
    truth: PairsOfRows
    one_to_one: bool = False

    @property
    def settings(self) -> Settings:
        return Settings.of(self.types, one_to_one=self.one_to_one)

    @property
    def records(self) -> int:
        return sum(table.num_rows for table in self.tables)

    def at_most(self, records: int) -> Labelled:
        """Return about so many of the records, chosen at random; what belongs together stays together."""
        if self.records <= records:
            return self
        entity = np.arange(self.records)
        for low, high in sorted(self.truth):
            entity[high] = entity[low]
        draw = np.random.default_rng(1).random(self.records)
        kept = draw[entity] < records / self.records
        position = np.cumsum(kept) - 1
        tables, begin = [], 0
        for table in self.tables:
            tables.append(table.filter(pa.array(kept[begin : begin + table.num_rows])))
            begin += table.num_rows
        truth = {(int(position[low]), int(position[high])) for low, high in self.truth if kept[low]}
        return replace(self, tables=tables, truth=truth)


@dataclass(frozen=True)
class Rates:
    """The share of the reported pairs that is right, and the share of the true pairs that is reported."""

    precision: float
    recall: float

    @classmethod
    def of(cls, reported: PairsOfRows, truth: PairsOfRows) -> Rates:
        right = len(reported & truth)
        return cls(right / max(len(reported), 1), right / max(len(truth), 1))

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / max(self.precision + self.recall, 1e-9)


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    """Return the rows in another order: where both sides have one order, ties broken by row number leak the truth."""
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def same_entity(entities: Iterable[object]) -> PairsOfRows:
    """Return all pairs of rows that have the same entity; rows without one are in none."""
    rows: dict[object, list[int]] = {}
    for row, entity in enumerate(entities):
        if entity is not None:
            rows.setdefault(entity, []).append(row)
    return {pair for group in rows.values() for pair in pairs_within(group)}


def linked(left: Sequence[object], right: Sequence[object], links: Iterable[tuple[object, object]]) -> PairsOfRows:
    """Return the pairs of rows of links between the ids of two tables."""
    first = {value: row for row, value in enumerate(left)}
    second = {value: row + len(left) for row, value in enumerate(right)}
    return {(first[a], second[b]) for a, b in links if a in first and b in second}


def pairs_within(rows: Sequence[int]) -> PairsOfRows:
    """Return all pairs of some rows."""
    ordered = sorted(rows)
    return {(a, b) for place, a in enumerate(ordered) for b in ordered[place + 1 :]}


def reported_pairs(matching: Matching) -> PairsOfRows:
    """Return the pairs of rows that the engine puts together."""
    rows = matching.records.rows
    return {pair for cluster in matching.clusters() for pair in pairs_within(rows[cluster].tolist())}
