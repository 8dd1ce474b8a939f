"""Pairs of records in the same block, without a loop over pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Places
from rules.kinds.similar.records import Records


@dataclass(frozen=True)
class Blocks:
    """Records in blocks of a pass: block `i` holds `places[starts[i]:starts[i] + sizes[i]]`, of which the first
    `lefts[i]` are of the left table. `sizes` counts all records; with one table `lefts` is 0."""

    places: Places
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    lefts: NDArray[np.int64]
    has_sides: bool

    @classmethod
    def of(cls, records: Records, places: Places, keys: NDArray[np.int64]) -> Blocks:
        """Return the blocks of records with equal keys that hold at least one pair."""
        order = (
            np.lexsort((places, keys)) if not records.has_sides else np.lexsort((places, records.sides[places], keys))
        )
        places, keys = places[order], keys[order]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.zeros(0, np.int64)
        sizes = np.diff(np.append(starts, len(keys)))
        lefts = np.zeros(len(starts), dtype=np.int64)
        if records.has_sides and len(starts):
            lefts = np.add.reduceat((records.sides[places] == 0).astype(np.int64), starts)
        blocks = cls(places, starts, sizes, lefts, records.has_sides)
        return blocks.only(blocks.pairs > 0)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """How many pairs each block holds."""
        if self.has_sides:
            return self.lefts * (self.sizes - self.lefts)
        return self.sizes * (self.sizes - 1) // 2

    def only(self, kept: NDArray[np.bool_]) -> Blocks:
        """Return only some of the blocks."""
        return Blocks(self.places, self.starts[kept], self.sizes[kept], self.lefts[kept], self.has_sides)

    def compact(self) -> Blocks:
        """Return the same blocks without the records that are in none of them."""
        begins = np.cumsum(self.sizes) - self.sizes
        within = np.arange(int(self.sizes.sum())) - np.repeat(begins, self.sizes)
        places = self.places[np.repeat(self.starts, self.sizes) + within]
        return Blocks(places, begins, self.sizes, self.lefts, self.has_sides)

    def packed(self, records: int) -> NDArray[np.int64]:
        """Return the pairs of all blocks as `first * records + second`, the left or smaller place first."""
        members = self.lefts if self.has_sides else self.sizes - 1
        blocks = np.repeat(np.arange(len(self.starts)), members)
        within = np.arange(len(blocks)) - np.repeat(np.cumsum(members) - members, members)
        partners = (self.sizes - self.lefts)[blocks] if self.has_sides else self.sizes[blocks] - 1 - within
        first = np.repeat(self.starts[blocks] + within, partners)
        begin = self.starts[blocks] + (self.lefts[blocks] if self.has_sides else within + 1)
        offset = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
        second = np.repeat(begin, partners) + offset
        left, right = self.places[first], self.places[second]
        if not self.has_sides:
            left, right = np.minimum(left, right), np.maximum(left, right)
        packed: NDArray[np.int64] = left * records + right
        return packed
