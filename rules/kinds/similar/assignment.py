"""Give each record at most one partner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from rules.kinds.similar.encoded import Places

_LARGEST = 2_000_000
"""The largest rectangle of a component that is solved exactly; a larger one takes its best pairs first."""


def assign(first: Places, second: Places, gains: NDArray[np.float64], records: int) -> NDArray[np.bool_]:
    """Return which pairs to take: no record twice, the most gain in total. Gains are positive; places decide ties."""
    taken = np.zeros(len(first), dtype=bool)
    degrees = np.bincount(first, minlength=records) + np.bincount(second, minlength=records)
    lonely = (degrees[first] == 1) & (degrees[second] == 1)
    taken[lonely] = True
    rest = np.flatnonzero(~lonely)
    if not len(rest):
        return taken
    graph = sparse.coo_array((np.ones(len(rest)), (first[rest], second[rest])), shape=(records, records))
    _, labels = connected_components(graph, directed=False)
    component = labels[first[rest]]
    order = np.lexsort((second[rest], first[rest], component))
    rest, component = rest[order], component[order]
    bounds = np.flatnonzero(np.diff(component)) + 1
    for pairs in np.split(rest, bounds):
        taken[_solve(pairs, first, second, gains)] = True
    return taken


def _solve(pairs: Places, first: Places, second: Places, gains: NDArray[np.float64]) -> Places:
    left, row = np.unique(first[pairs], return_inverse=True)
    right, column = np.unique(second[pairs], return_inverse=True)
    if len(left) * len(right) > _LARGEST:
        return _greedy(pairs, first, second, gains)
    matrix = np.zeros((len(left), len(right)))
    matrix[row, column] = gains[pairs]
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    chosen = np.full(len(left), -1)
    chosen[rows] = columns
    taken: Places = pairs[chosen[row] == column]
    return taken


def _greedy(pairs: Places, first: Places, second: Places, gains: NDArray[np.float64]) -> Places:
    """Take the best pair, then the best among the records left, and so on."""
    taken, used = [], set()
    for pair in pairs[np.lexsort((second[pairs], first[pairs], -gains[pairs]))].tolist():
        left, right = int(first[pair]), int(second[pair])
        if left not in used and right not in used:
            used |= {left, right}
            taken.append(pair)
    return np.asarray(taken, dtype=np.int64)
