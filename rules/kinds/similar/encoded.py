"""A column as codes of its distinct values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.sketches import Sketches

Codes = NDArray[np.int32]
Places = NDArray[np.int64]
"""Positions of records."""
Levels = NDArray[np.int8]
Floats = NDArray[np.float32]

_FEW = 100_000
"""So many texts are kept as Python's; of more, each is made when it is compared."""


class Texts:
    """The distinct values of a column as Python's texts. Few of a large column's values are ever compared in full."""

    def __init__(self, values: Any) -> None:
        self._values = values
        self._whole = np.asarray(values.to_pylist(), dtype=object) if len(values) <= _FEW else None

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        if self._whole is not None:
            yield from self._whole
        else:
            for begin in range(0, len(self), _FEW):
                yield from self._values.slice(begin, _FEW).to_pylist()

    @overload
    def __getitem__(self, positions: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, positions: NDArray[np.integer[Any]]) -> NDArray[np.object_]: ...
    def __getitem__(self, positions: Any) -> Any:
        if self._whole is not None:
            return self._whole[positions]
        if isinstance(positions, np.ndarray):
            return np.asarray(self._values.take(pa.array(positions)).to_pylist(), dtype=object)
        return self._values[int(positions)].as_py()


@dataclass(frozen=True)
class ValueCounts:
    """How common values were among the records of an earlier run: `counts` by code, `filled` and `chance` in all."""

    counts: NDArray[np.int64]
    filled: int
    chance: float


@dataclass(frozen=True)
class Encoded:
    """A column of records: `codes` are positions in `values`, -1 for null."""

    codes: Codes
    values: Any
    """The distinct values as an Arrow array."""
    earlier: ValueCounts | None = None
    """How common its values were in an earlier run, which then decides, instead of these records."""

    @classmethod
    def of(cls, column: Any) -> Encoded:
        """Return an Arrow column as codes, numbered by first occurrence."""
        chunk = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        encoded = chunk.dictionary_encode()
        codes = np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int32)
        return cls(codes, encoded.dictionary)

    def by_place(self, rows: Places) -> Encoded:
        """Return the column with its rows in another order, numbered by first occurrence there."""
        codes = self.codes[rows]
        renumbered = pa.array(codes, mask=codes < 0).dictionary_encode()
        return Encoded(
            np.asarray(pc.fill_null(renumbered.indices, -1), dtype=np.int32), self.values.take(renumbered.dictionary)
        )

    def mapped(self, values: Encoded) -> Encoded:
        """Return the column with each of its values replaced; `values` are the new ones by position, some null."""
        return Encoded(np.append(values.codes, np.int32(-1))[self.codes], values.values)

    @cached_property
    def texts(self) -> Texts:
        return Texts(self.values)

    @cached_property
    def sketches(self) -> Sketches:
        return Sketches.of_texts(self.values)

    @cached_property
    def before_at(self) -> Encoded:
        """The part of each distinct e-mail address before the @."""
        return Encoded.of(pc.replace_substring_regex(self.values.cast(pa.string()), "@.*$", ""))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many records have each value."""
        if self.earlier is not None:
            return self.earlier.counts
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @cached_property
    def filled(self) -> int:
        """How many records have a value."""
        if self.earlier is not None:
            return self.earlier.filled
        return int((self.codes >= 0).sum())

    @cached_property
    def chance(self) -> float:
        """The chance that two random records with a value have the same."""
        if self.earlier is not None:
            return self.earlier.chance
        if self.filled < 2:
            return 1.0
        pairs = float((self.counts.astype(np.float64) * (self.counts - 1)).sum())
        return max(pairs, 1.0) / (float(self.filled) * (self.filled - 1))

    @cached_property
    def rarities(self) -> Floats:
        """The bits by which agreement on each value says more than on an average one; the last is that of null."""
        counts = np.append(np.maximum(self.counts, 1), 1)
        bits: Floats = np.log2(self.chance * max(self.filled, 1) / counts).astype(np.float32)
        return bits

    def rarity(self, places: Places) -> Floats:
        """Return the bits by which agreement on these records' values says more than on an average one."""
        bits: Floats = self.rarities[self.codes[places]]
        return bits


def sorted_distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers in order, each once; by sorting, since `np.unique` hashes and took 50 times as long."""
    return distinct_in_place(numbers.copy())


def distinct_in_place(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers in order, each once, and leave the given array sorted."""
    numbers.sort()
    if not len(numbers):
        return numbers
    is_new = np.empty(len(numbers), dtype=bool)
    is_new[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_new[1:])
    distinct: NDArray[np.int64] = numbers[is_new]
    return distinct
