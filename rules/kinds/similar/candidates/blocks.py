"""Records with equal keys, and the pairs of them, without a loop over records or pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.contents import mixed
from rules.kinds.similar.records import Records

Packed = NDArray[np.int64]
"""Pairs of places as `first * records + second`, the left or smaller place first."""


@dataclass(frozen=True)
class Keyed:
    """Records with keys smaller than `bound`; a record with several keys is there several times."""

    keys: NDArray[np.int64]
    places: NDArray[np.int64]
    bound: int

    def packed(self, records: int) -> tuple[NDArray[np.int64], int]:
        """Return the records in order of their keys and places, as `key << bits | place`, and the number of bits.

        Sorting one number for both takes a tenth of the time of sorting by two columns. Keys that leave no room for a
        place are mixed to smaller ones; the few that become equal only make a block larger.
        """
        bits = max(records - 1, 1).bit_length()
        keys = self.keys
        if self.bound > 1 << (63 - bits):
            keys = (mixed(keys.astype(np.uint64)) >> np.uint64(bits + 1)).astype(np.int64)
        packed = (keys << bits) | self.places
        packed.sort()
        return packed, bits


@dataclass
class Blocks:
    """The blocks of a pass that hold a pair and are not too large.

    `by_shape[size, left]` has a row for each block of so many records, of which the first `left` are of the left
    table (0 with one table): their places in ascending order.
    """

    by_shape: dict[tuple[int, int], NDArray[np.int32]]
    excess: Excess

    @classmethod
    def of(cls, records: Records, keyed: Keyed, largest: int) -> Blocks:
        """Return the blocks of records with equal keys."""
        packed, bits = keyed.packed(len(records))
        if not len(packed):
            return cls({}, Excess())
        starts = np.flatnonzero(np.concatenate([[True], (packed[1:] ^ packed[:-1]) >> bits != 0]))
        sizes = np.diff(np.append(starts, len(packed)))
        packed &= (1 << bits) - 1
        places = packed.astype(np.int32)
        starts, sizes = starts[sizes > 1], sizes[sizes > 1]
        lefts = np.zeros(len(starts), dtype=np.int64)
        if records.has_sides:
            left_before = np.concatenate([[0], np.cumsum(places < records.left)])
            lefts = left_before[starts + sizes] - left_before[starts]
            both = (lefts > 0) & (lefts < sizes)
            starts, sizes, lefts = starts[both], sizes[both], lefts[both]
        large = sizes > largest
        excess = Excess.of(sizes[large], lefts[large]) if large.any() else Excess()
        return cls(_by_shape(places, starts[~large], sizes[~large], lefts[~large]), excess)

    def limit(self, sizes: Sequence[int], budget: int) -> int:
        """Return the first of these sizes up to which the blocks alone hold more pairs than the budget, or the last."""
        pairs = np.zeros(max(sizes) + 1, dtype=np.int64)
        for (size, left), blocks in self.by_shape.items():
            pairs[size] += len(blocks) * (left * (size - left) if left else size * (size - 1) // 2)
        total = np.cumsum(pairs)
        return next((size for size in sizes if total[size] > budget), sizes[-1])

    def take(self, limit: int, records: int) -> Iterator[Packed]:
        """Yield the pairs of the blocks up to this size, and forget the blocks."""
        for size, left in sorted(shape for shape in self.by_shape if shape[0] <= limit):
            blocks = self.by_shape.pop((size, left)).astype(np.int64)
            if left:
                yield (blocks[:, :left, None] * records + blocks[:, None, left:]).ravel()
            else:
                first, second = _corners(size)
                yield (blocks[:, first] * records + blocks[:, second]).ravel()

    def keep(self, limit: int) -> None:
        """Forget the blocks of more records than that."""
        for shape in [shape for shape in self.by_shape if shape[0] > limit]:
            del self.by_shape[shape]


@lru_cache
def _corners(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the pairs of a block."""
    first, second = np.triu_indices(size, 1)
    return first, second


@dataclass(frozen=True)
class Excess:
    """How many blocks of a pass were too large, and how many pairs and records they hold."""

    blocks: int = 0
    pairs: int = 0
    records: int = 0

    @classmethod
    def of(cls, sizes: NDArray[np.int64], lefts: NDArray[np.int64]) -> Excess:
        pairs = np.where(lefts > 0, lefts * (sizes - lefts), sizes * (sizes - 1) // 2)
        return cls(len(sizes), int(pairs.sum()), int(sizes.sum()))


def _by_shape(
    places: NDArray[np.int32], starts: NDArray[np.int64], sizes: NDArray[np.int64], lefts: NDArray[np.int64]
) -> dict[tuple[int, int], NDArray[np.int32]]:
    """Return the blocks by their number of records, and of those of the left table."""
    width = int(sizes.max(initial=0)) + 1
    shapes = sizes * width + lefts
    order = np.argsort(shapes.astype(np.uint16) if width < 256 else shapes, kind="stable")  # 16 bits sort fastest
    starts, sizes, lefts, shapes = starts[order], sizes[order], lefts[order], shapes[order]
    bounds = [0, *(np.flatnonzero(np.diff(shapes)) + 1).tolist(), len(shapes)]
    return {
        (int(sizes[begin]), int(lefts[begin])): places[starts[begin:end, None] + np.arange(sizes[begin])]
        for begin, end in pairwise(bounds)
        if begin < end
    }
