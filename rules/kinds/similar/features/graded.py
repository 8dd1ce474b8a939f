"""Degrees of likeness of texts, computed once for each pair of distinct values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler, Postfix, Prefix

from rules.kinds.similar.encoded import Codes, Encoded, Levels, Places, sorted_distinct
from rules.kinds.similar.features.base import DIFFERENT, MISSING

Texts = NDArray[np.object_]


Grade = Callable[[Encoded, Places, Places], Levels]
"""Gives the levels of pairs of unequal values, by their positions among the distinct values."""
Filter = Callable[[Encoded, NDArray[np.integer[Any]], NDArray[np.integer[Any]]], NDArray[np.bool_]]
"""Tells quickly which pairs of unequal values may have another level than that of different ones."""


@dataclass(frozen=True)
class Grading:
    """A grade, and the filter of the pairs that it has to look at."""

    grade: Grade
    may_differ_less: Filter


def _different(_: Encoded, first: Places, second: Places) -> Levels:  # noqa: ARG001 - a grade
    return np.full(len(first), DIFFERENT, dtype=np.int8)


def _never(_: Encoded, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:  # noqa: ARG001
    return np.zeros(len(left), dtype=bool)


UNLIKE = Grading(_different, _never)
"""Of values that are the same or different."""


def edits(left: Texts, right: Texts, most: int) -> NDArray[np.int64]:
    """Return the number of typos between texts, at most `most` + 1; two letters swapped are one typo."""
    return np.asarray(
        process.cpdist(left, right, scorer=OSA.distance, score_cutoff=most, dtype=np.int64), dtype=np.int64
    )


def likeness(left: Texts, right: Texts) -> NDArray[np.float64]:
    """Return how alike texts are from their beginning on, between 0 and 1."""
    return np.asarray(
        process.cpdist(left, right, scorer=JaroWinkler.similarity, score_cutoff=0.7, dtype=np.float64),
        dtype=np.float64,
    )


def beginnings(left: Texts, right: Texts) -> NDArray[np.int64]:
    """Return how many first characters texts share."""
    return np.asarray(process.cpdist(left, right, scorer=Prefix.similarity, dtype=np.int64), dtype=np.int64)


def endings(left: Texts, right: Texts) -> NDArray[np.int64]:
    """Return how many last characters texts share."""
    return np.asarray(process.cpdist(left, right, scorer=Postfix.similarity, dtype=np.int64), dtype=np.int64)


def by_values(encoded: Encoded, first: Places, second: Places, same: int, grading: Grading) -> Levels:
    """Return levels of pairs: 0 for missing values, `same` for equal ones, else that of the two texts."""
    left, right = encoded.codes[first], encoded.codes[second]
    equal = left == right
    levels = np.where(equal, np.int8(same), np.int8(DIFFERENT))
    missing = (left | right) < 0
    levels[missing] = MISSING
    unequal = np.flatnonzero(~(equal | missing))
    levels[unequal] = by_unequal_values(encoded, left[unequal], right[unequal], grading)
    return levels


def by_unequal_values(encoded: Encoded, left: Codes, right: Codes, grading: Grading) -> Levels:
    """Return the levels of pairs of unequal values, by their codes."""
    levels = np.full(len(left), DIFFERENT, dtype=np.int8)
    possible = np.flatnonzero(grading.may_differ_less(encoded, left, right))
    if len(possible):
        left, right = left[possible], right[possible]
        size = len(encoded.values)
        packed = np.minimum(left, right).astype(np.int64) * size + np.maximum(left, right)
        distinct = sorted_distinct(packed)
        graded = grading.grade(encoded, distinct // size, distinct % size)
        levels[possible] = graded[np.searchsorted(distinct, packed)]
    return levels
