"""Put records together whose pairs are probable, without chains: average linkage inside each component."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rules.kinds.similar.encoded import Places, sorted_distinct

PairBits = Callable[[Places, Places], NDArray[np.float64]]
"""Log odds of pairs in bits."""

_LARGEST = 400
"""A component of more records is taken apart at higher probabilities first."""
_CAP = 12.0
"""Bits that one pair counts at most, for or against."""


@dataclass(frozen=True)
class Constraints:
    """Pairs that must be together, and pairs that must not; places of records."""

    together: frozenset[tuple[int, int]] = frozenset()
    apart: frozenset[tuple[int, int]] = frozenset()


def clusters(
    first: Places,
    second: Places,
    bits: NDArray[np.float64],
    records: int,
    score: PairBits,
    constraints: Constraints = Constraints(),
) -> Iterator[Places]:
    """Yield the clusters of two or more records, each in ascending order, in the order of their first records.

    The pairs are those above the threshold, with their log odds in excess of it. `score` gives the same of any pairs.
    """
    together = np.asarray(sorted(constraints.together), dtype=np.int64).reshape(-1, 2)
    graph_first = np.concatenate([first, together[:, 0]])
    graph_second = np.concatenate([second, together[:, 1]])
    for members in _components(graph_first, graph_second, records):
        if len(members) == 2 and not constraints.apart:
            yield members
        else:
            yield from _inside(members, first, second, bits, score, constraints)


def _components(first: Places, second: Places, records: int) -> list[Places]:
    """Return the connected components of two or more records."""
    graph = sparse.coo_array((np.ones(len(first), np.int8), (first, second)), shape=(records, records))
    _, labels = connected_components(graph, directed=False)
    held = sorted_distinct(np.concatenate([first, second]))
    order = held[np.argsort(labels[held], kind="stable")]
    bounds = np.flatnonzero(np.diff(labels[order])) + 1
    return sorted(np.split(order, bounds), key=lambda members: int(members[0])) if len(order) else []


def _inside(
    members: Places,
    first: Places,
    second: Places,
    bits: NDArray[np.float64],
    score: PairBits,
    constraints: Constraints,
) -> Iterator[Places]:
    """Yield the clusters inside a component."""
    if len(members) > _LARGEST:
        yield from _taken_apart(members, first, second, bits, score, constraints)
        return
    left, right = np.triu_indices(len(members), 1)
    matrix = np.zeros((len(members), len(members)))
    scored = np.clip(score(members[left], members[right]), -_CAP, _CAP)
    matrix[left, right] = scored
    matrix[right, left] = scored
    position = {int(place): number for number, place in enumerate(members)}
    for pairs, value in ((constraints.together, np.inf), (constraints.apart, -np.inf)):
        for a, b in pairs:
            if a in position and b in position:
                matrix[position[a], position[b]] = matrix[position[b], position[a]] = value
    for group in average_linkage(matrix):
        if len(group) > 1:
            yield members[group]


def _taken_apart(
    members: Places,
    first: Places,
    second: Places,
    bits: NDArray[np.float64],
    score: PairBits,
    constraints: Constraints,
) -> Iterator[Places]:
    """Leave out the weaker half of the pairs of a large component, and look at what is still connected."""
    inside = np.isin(first, members)
    inner_first, inner_second, inner_bits = first[inside], second[inside], bits[inside]
    strong = inner_bits > np.median(inner_bits)
    if not strong.any():
        yield members
        return
    for part in _components(inner_first[strong], inner_second[strong], int(members.max()) + 1):
        yield from _inside(part, inner_first[strong], inner_second[strong], inner_bits[strong], score, constraints)


def average_linkage(matrix: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return groups of positions: the two groups with the largest mean are joined while that mean is positive.

    `inf` joins two positions first, `-inf` keeps them apart. Of equal means the first in order is taken.
    """
    size = len(matrix)
    total = matrix.copy()
    np.fill_diagonal(total, -np.inf)
    counts = np.ones(size)
    groups: list[list[int]] = [[number] for number in range(size)]
    alive = np.ones(size, dtype=bool)
    while True:
        means = total / np.outer(counts, counts)
        means[~alive] = -np.inf
        means[:, ~alive] = -np.inf
        best = int(np.argmax(means))
        a, b = divmod(best, size)
        if not means[a, b] > 0:
            break
        a, b = min(a, b), max(a, b)
        with np.errstate(invalid="ignore"):
            joined = total[a] + total[b]
        joined[np.isneginf(total[a]) | np.isneginf(total[b])] = -np.inf
        total[a], total[:, a] = joined, joined
        total[a, a] = -np.inf
        counts[a] += counts[b]
        alive[b] = False
        groups[a] += groups[b]
    return [np.asarray(sorted(groups[number]), dtype=np.int64) for number in np.flatnonzero(alive)]
