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
from rules.kinds.similar.features.graded import Grade, Grading
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
    def of(cls, column: Any, *, always: bool = False) -> Cells | None:
        """Return the values of the distinct cells of a column; unless `always`, None if each holds a single one."""
        text = column.cast(pa.string())
        if not always and not pc.any(pc.match_substring(text, SEVERAL)).as_py():
            return None
        pieces = pc.split_pattern(text, SEVERAL)
        distinct = Encoded.of(pc.list_flatten(pieces))
        counts = np.asarray(pc.list_value_length(pieces), dtype=np.int64)
        return cls(distinct, distinct.codes, np.cumsum(counts) - counts, counts)

    def bags(self, encoded: Encoded) -> Bags:
        """Return the values of each record of the column."""
        parents = np.repeat(np.arange(len(self.counts)), self.counts)
        return words.by_record(
            encoded, parents, self.values.astype(np.int64), np.asarray(list(self.distinct.texts), dtype=object)
        )

    def best(self, grading: Grading, shared: int) -> Grading:
        """Return a grading of cells: that of their best pair of values, `shared` if they have a value in common."""

        def graded(encoded: Encoded, first: Places, second: Places) -> Levels:
            several = (self.counts[first] > 1) | (self.counts[second] > 1)
            levels = np.zeros(len(first), dtype=np.int8)
            levels[~several] = grading.grade(encoded, first[~several], second[~several])
            levels[several] = self._best(grading.grade, shared, first[several], second[several])
            return levels

        def may_differ_less(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
            possible: NDArray[np.bool_] = grading.may_differ_less(encoded, left, right)
            return possible | (self.counts[left] > 1) | (self.counts[right] > 1)

        return Grading(graded, may_differ_less)

    def share(self, first: Places, second: Places) -> NDArray[np.bool_]:
        """Return which pairs of cells have a value in common."""
        shared: NDArray[np.bool_] = self._best(lambda *_: np.zeros(1, np.int8), 1, first, second) > 0
        return shared

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
