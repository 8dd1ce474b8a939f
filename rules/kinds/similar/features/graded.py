"""Degrees of likeness of texts, computed once for each pair of distinct values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler, Postfix, Prefix

from rules.kinds.similar.encoded import Encoded, Levels, Places

Texts = NDArray[np.object_]


Grade = Callable[[Encoded, Places, Places], Levels]
"""Gives the levels of pairs of unequal values, by their positions among the distinct values."""


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


def by_values(encoded: Encoded, first: Places, second: Places, same: int, grade: Grade) -> Levels:
    """Return levels of pairs: 0 for missing values, `same` for equal ones, else that of the two texts."""
    left, right = encoded.codes[first], encoded.codes[second]
    levels = np.full(len(first), same, dtype=np.int8)
    levels[(left < 0) | (right < 0)] = 0
    unequal = np.flatnonzero((left != right) & (levels > 0))
    if len(unequal):
        low, high = np.minimum(left, right)[unequal], np.maximum(left, right)[unequal]
        packed = low.astype(np.int64) * len(encoded.values) + high
        distinct, positions = np.unique(packed, return_inverse=True)
        graded = grade(encoded, distinct // len(encoded.values), distinct % len(encoded.values))
        levels[unequal] = graded[positions]
    return levels
