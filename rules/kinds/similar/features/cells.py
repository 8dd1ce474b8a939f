"""Cells that hold several values, such as two e-mail addresses: two cells are as alike as their best pair of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar import words
from rules.kinds.similar.encoded import Encoded, Levels, Places
from rules.kinds.similar.features.graded import Filter, Finer, Grade
from rules.kinds.similar.sketches import Numbers
from rules.kinds.similar.texts import SEVERAL
from rules.kinds.similar.words import Bags


@dataclass(frozen=True)
class Cells:
    """The values of distinct cells: cell `i` has `values[starts[i]:starts[i] + counts[i]]`, codes of `distinct`."""

    distinct: Encoded
    values: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, column: Any) -> Cells | None:
        """Return the values of the distinct cells of a column, or None if each holds a single one."""
        text = column.cast(pa.string())
        if not pc.any(pc.match_substring(text, SEVERAL)).as_py():
            return None
        pieces = pc.split_pattern(text, SEVERAL)
        distinct = Encoded.of(pc.list_flatten(pieces))
        counts = np.asarray(pc.list_value_length(pieces), dtype=np.int64)
        return cls(distinct, distinct.codes, np.cumsum(counts) - counts, counts)

    def bags(self, encoded: Encoded) -> Bags:
        """Return the values of each record of the column."""
        parents = np.repeat(np.arange(len(self.counts)), self.counts)
        vocabulary = np.asarray(self.distinct.values.to_pylist(), dtype=object)
        return words.by_record(encoded, parents, self.values.astype(np.int64), vocabulary)

    def best(self, grade: Grade, may_differ_less: Filter, shared: int) -> Finer:
        """Return a grade of cells: that of their best pair of values, `shared` if they have a value in common."""

        def graded(encoded: Encoded, first: Places, second: Places) -> Levels:
            several = (self.counts[first] > 1) | (self.counts[second] > 1)
            levels = np.zeros(len(first), dtype=np.int8)
            levels[~several] = grade(encoded, first[~several], second[~several])
            levels[several] = self._best(grade, shared, first[several], second[several])
            return levels

        def passing(encoded: Encoded, first: Numbers, second: Numbers) -> NDArray[np.bool_]:
            several: NDArray[np.bool_] = (self.counts[first] > 1) | (self.counts[second] > 1)
            return several | may_differ_less(encoded, first, second)

        return graded, passing

    def _best(self, grade: Grade, shared: int, first: Places, second: Places) -> Levels:
        sizes = self.counts[first] * self.counts[second]
        pair = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        width = self.counts[second][pair]
        left = self.values[self.starts[first][pair] + within // width]
        right = self.values[self.starts[second][pair] + within % width]
        levels = np.full(len(pair), shared, dtype=np.int8)
        unequal = left != right
        levels[unequal] = grade(self.distinct, left[unequal].astype(np.int64), right[unequal].astype(np.int64))
        best = np.zeros(len(sizes), dtype=np.int8)
        np.maximum.at(best, pair, levels)
        return best
