"""Put records together whose pairs are probable, without chains: average linkage inside each component."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rules.kinds.similar.encoded import Places, sorted_distinct
from rules.kinds.similar.united import unite, unite_sparse

PairBits = Callable[[Places, Places], NDArray[np.float64]]
"""Log odds of pairs in bits."""
ComparedAmong = Callable[[Places], tuple[Places, Places]]
"""The pairs that were compared among some records, which are in ascending order."""

LARGEST = 400
"""In a component of more records, only candidates are scored; other pairs count as `_ABSENT`."""
_ABSENT = -6.0
_PAIRS = 200_000
_CAP = 12.0
"""Bits that one pair counts at most, for or against."""


@dataclass(frozen=True)
class Constraints:
    """Pairs that must be together, and pairs that must not; places of records."""

    together: frozenset[tuple[int, int]] = frozenset()
    apart: frozenset[tuple[int, int]] = frozenset()

    def within(self, members: Places) -> Constraints:
        """Return the pairs of these records."""
        if not self._partners:
            return self
        inside = set(members.tolist())
        together, apart = (
            frozenset(
                (record, partner) for record in inside for partner in partners.get(record, ()) if partner in inside
            )
            for partners in self._partners
        )
        return Constraints(together, apart)

    @cached_property
    def _partners(self) -> tuple[Mapping[int, list[int]], ...]:
        return (_after(self.together), _after(self.apart)) if self.together or self.apart else ()


def _after(pairs: frozenset[tuple[int, int]]) -> Mapping[int, list[int]]:
    """Return for each record the others in a pair after it."""
    partners: dict[int, list[int]] = defaultdict(list)
    for record, partner in pairs:
        partners[record].append(partner)
    return partners


UNCONSTRAINED = Constraints()


def clusters(
    first: Places,
    second: Places,
    compared: ComparedAmong,
    records: int,
    score: PairBits,
    constraints: Constraints = UNCONSTRAINED,
) -> Iterator[Places]:
    """Yield the clusters of two or more records, each in ascending order, in the order of their first records.

    `first` and `second` are the pairs above the threshold, and `compared` returns those that were compared among some
    records. `score` gives the log odds of any pairs in excess of the threshold.
    """
    together = np.asarray(sorted(constraints.together), dtype=np.int64).reshape(-1, 2)
    graph_first = np.concatenate([first, together[:, 0]])
    graph_second = np.concatenate([second, together[:, 1]])
    components = _components(graph_first, graph_second, records)
    apart = {record for pair in constraints.apart for record in pair}
    are_pairs = [len(members) == 2 and apart.isdisjoint(members.tolist()) for members in components]
    rest = [members for members, is_pair in zip(components, are_pairs, strict=True) if not is_pair]
    inner = (groups for batch in _batches(rest) for groups in _of_batch(batch, compared, score, constraints))
    for members, is_pair in zip(components, are_pairs, strict=True):
        if is_pair:
            yield members
        else:
            yield from next(inner)


def _batches(components: list[Places]) -> Iterator[list[Places]]:
    """Yield components together that hold a bounded number of pairs, so that they are scored at once."""
    batch: list[Places] = []
    pairs = 0
    for members in components:
        batch.append(members)
        pairs += len(members) ** 2 if len(members) <= LARGEST else 0
        if pairs > _PAIRS:
            yield batch
            batch, pairs = [], 0
    if batch:
        yield batch


def _of_batch(
    batch: list[Places], compared: ComparedAmong, score: PairBits, constraints: Constraints
) -> Iterator[list[Places]]:
    """Yield the clusters inside each of some components."""
    inner = [members for members in batch if len(members) <= LARGEST]
    corners = [np.triu_indices(len(members), 1) for members in inner]
    empty = np.zeros(0, dtype=np.int64)
    left = np.concatenate([empty, *(members[rows] for members, (rows, _) in zip(inner, corners, strict=True))])
    right = np.concatenate([empty, *(members[columns] for members, (_, columns) in zip(inner, corners, strict=True))])
    bits = score(left, right) if len(left) else np.zeros(0)
    begin = 0
    for members in batch:
        if len(members) > LARGEST:
            yield list(_inside_large(members, compared, score, constraints))
        else:
            pairs = len(members) * (len(members) - 1) // 2
            yield list(_inside(members, bits[begin : begin + pairs], constraints))
            begin += pairs


def _components(first: Places, second: Places, records: int) -> list[Places]:
    """Return the connected components of two or more records, in the order of their first records."""
    graph = sparse.coo_array((np.ones(len(first), np.int8), (first, second)), shape=(records, records))
    _, labels = connected_components(graph, directed=False)
    held = sorted_distinct(np.concatenate([first, second]))
    leaders = np.full(len(labels), -1)
    leaders[labels[held[::-1]]] = held[::-1]  # the last one that is written is the first record
    leader = leaders[labels[held]]
    order = np.argsort(leader, kind="stable")
    bounds = [*np.flatnonzero(np.diff(leader[order], prepend=-1)).tolist(), len(order)]
    members = held[order]
    return [members[begin:end] for begin, end in pairwise(bounds)]


def _inside(members: Places, bits: NDArray[np.float64], constraints: Constraints) -> Iterator[Places]:
    """Yield the clusters inside a component; `bits` are those of its pairs in order."""
    left, right = np.triu_indices(len(members), 1)
    matrix = np.zeros((len(members), len(members)))
    matrix[left, right] = matrix[right, left] = _capped(bits)
    position = {int(place): number for number, place in enumerate(members)}
    own = constraints.within(members)
    for a, b in own.apart:
        matrix[position[a], position[b]] = matrix[position[b], position[a]] = -np.inf
    united, matrix = unite(matrix, sorted((position[a], position[b]) for a, b in own.together))
    for group in average_linkage(matrix):
        records = np.sort(np.concatenate([united[number] for number in group]))
        if len(records) > 1:
            yield members[records]


def _inside_large(
    members: Places, compared: ComparedAmong, score: PairBits, constraints: Constraints
) -> Iterator[Places]:
    """Yield the clusters inside a large component: average linkage over its candidates alone."""
    first, second = compared(members)
    values = _capped(score(first, second))
    scored = dict(zip(zip(first.tolist(), second.tolist(), strict=True), values.tolist(), strict=True))
    own = constraints.within(members)
    scored.update(dict.fromkeys(own.apart, -np.inf))
    united, scored = unite_sparse(scored, sorted(own.together))
    grouped = sparse_linkage(scored, _ABSENT)
    alone = sorted(united.keys() - {record for group in grouped for record in group})
    for group in sorted([*grouped, *([record] for record in alone)]):
        yield np.sort(np.concatenate([united.get(record, np.asarray([record])) for record in group]))


def _capped(bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what pairs count; those that a veto forbids stay impossible."""
    capped: NDArray[np.float64] = np.where(np.isneginf(bits), bits, np.clip(bits, -_CAP, _CAP))
    return capped


def sparse_linkage(scored: Mapping[tuple[int, int], float], absent: float) -> list[list[int]]:
    """Return groups of two or more records by average linkage, pairs without a score counting `absent`.

    As `average_linkage`, with a heap of neighbours instead of a matrix.
    """
    groups: dict[int, list[int]] = {}
    sums: dict[int, dict[int, tuple[float, int]]] = {}
    for (a, b), value in scored.items():
        for record, partner in ((a, b), (b, a)):
            groups.setdefault(record, [record])
            sums.setdefault(record, {})[partner] = (value, 1)

    def mean(a: int, b: int) -> float:
        total, count = sums[a][b]
        pairs = len(groups[a]) * len(groups[b])
        return (total + (pairs - count) * absent) / pairs

    heap = [(-value, min(pair), max(pair), 1, 1) for pair, value in scored.items() if value > 0]
    heapq.heapify(heap)
    while heap:
        _, a, b, size_a, size_b = heapq.heappop(heap)
        if a not in groups or b not in groups or (len(groups[a]), len(groups[b])) != (size_a, size_b):
            continue
        for partner, (total, count) in sums.pop(b).items():
            del sums[partner][b]
            if partner != a:
                own, own_count = sums[a].get(partner, (0.0, 0))
                sums[a][partner] = sums[partner][a] = (own + total, own_count + count)
        groups[a] += groups.pop(b)
        for partner in sums[a]:
            if (value := mean(a, partner)) > 0:
                low, high = min(a, partner), max(a, partner)
                heapq.heappush(heap, (-value, low, high, len(groups[low]), len(groups[high])))
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def average_linkage(matrix: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return groups of positions: the two groups with the largest mean are joined while that mean is positive.

    `-inf` keeps two positions apart. Of equal means the first in order is taken.
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
