"""A column as codes of its distinct values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Places = NDArray[np.int64]
"""Positions of records."""
Levels = NDArray[np.int8]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Encoded:
    """A column of records: `codes` are positions in `values`, -1 for null."""

    codes: Codes
    values: Any
    """The distinct values as an Arrow array."""

    @classmethod
    def of(cls, column: Any) -> Encoded:
        """Return an Arrow column as codes, numbered by first occurrence."""
        chunk = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        encoded = chunk.dictionary_encode()
        codes = np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int32)
        return cls(codes, encoded.dictionary)

    @cached_property
    def texts(self) -> NDArray[np.object_]:
        return np.asarray(self.values.to_pylist(), dtype=object)

    @cached_property
    def before_at(self) -> Encoded:
        """The part of each distinct e-mail address before the @."""
        return Encoded.of(pc.replace_substring_regex(self.values.cast(pa.string()), "@.*$", ""))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many records have each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @cached_property
    def filled(self) -> int:
        """How many records have a value."""
        return int((self.codes >= 0).sum())

    @cached_property
    def chance(self) -> float:
        """The chance that two random records with a value have the same."""
        if self.filled < 2:
            return 1.0
        pairs = float((self.counts.astype(np.float64) * (self.counts - 1)).sum())
        return max(pairs, 1.0) / (float(self.filled) * (self.filled - 1))

    def rarity(self, places: Places) -> Floats:
        """Return the bits by which agreement on these records' values says more than on an average one."""
        codes = self.codes[places]
        counts = np.where(codes >= 0, self.counts[codes], 1)
        bits: Floats = np.log2(self.chance * self.filled / np.maximum(counts, 1)).astype(np.float32)
        return bits


def sorted_distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers in order, each once; by sorting, since `np.unique` hashes and took 50 times as long."""
    ordered = np.sort(numbers)
    if not len(ordered):
        return ordered
    distinct: NDArray[np.int64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    return distinct
