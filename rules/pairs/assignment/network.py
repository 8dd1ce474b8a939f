"""Candidates as connected components with one exact cost each, numbered so that one vectorised step serves them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rules.pairs.numbers import largest

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
Amounts = np.ndarray[tuple[int], np.dtype[Any]]
"""int64, or Python ints in an object array where they can be larger."""

Solver = Literal["dense", "sparse"]

_WIDEST = 2**61
"""Twice a smaller number fits into int64."""

_DOUBLE = 2**1000
"""A smaller number fits into a double."""

_LARGE = 64
"""A dense component with more pairs is a network of its own: alone, by a dense solver, it is solved faster."""

_SPARSE = 32
"""A component with more possible pairs for each candidate is not dense: the solver would need too much memory."""

_CELLS = 100_000_000
"""Nor is one with more possible pairs, 8 bytes each in the dense solver."""

_SLOW = 1_000_000
_HOPELESS = 100_000_000_000
"""Candidates times pairs of a component that a sparse solver proposes for: for fewer it saves nothing, and with more
it may take longer than five minutes."""


@dataclass(frozen=True)
class Candidates:
    """Possible pairs: arrays of equal length, all numbers at least 0.

    `costs` are what a pair costs, the most important one first: the next one decides only between equal totals.
    """

    left: Integers
    right: Integers
    costs: tuple[Amounts, ...]

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, which: Integers | Flags | slice) -> Candidates:
        return Candidates(self.left[which], self.right[which], tuple(cost[which] for cost in self.costs))


@dataclass(frozen=True)
class Network:
    """Edges between lefts and rights, sorted by right, then left. The numbers of a component are consecutive.

    Assignments with equally many pairs compare by total `cost` as by the totals of all costs in their order. `far` is
    more than any path costs. `lefts` and `rights` are the caller's numbers, `part_of_…` the components. `solver` is the
    one of SciPy that proposes an assignment, if any does, and `parts_of_cost` are the costs that it looks at.
    """

    left: Integers
    right: Integers
    cost: Amounts
    far: int
    lefts: Integers
    rights: Integers
    part_of_left: Integers
    part_of_right: Integers
    solver: Solver | None
    parts_of_cost: tuple[Amounts, ...]

    @property
    def parts(self) -> int:
        return int(self.part_of_left[-1]) + 1


def networks(edges: Candidates) -> Iterator[Network]:
    """Yield all components: large ones each, the others in two networks by whether int64 holds their costs."""
    if not len(edges):
        return
    left, right = dense(edges.left)[0], dense(edges.right)[0]
    of_left, of_right = components(left, right, int(left.max()) + 1, int(right.max()) + 1)
    lefts, rights, part = np.bincount(of_left), np.bincount(of_right), of_left[left]
    units, far = _units(edges, part, np.minimum(lefts, rights))
    is_dense, is_sparse, is_alone = _large(lefts, rights, np.bincount(part), far)
    group = (far >= _WIDEST).astype(np.int64)
    group[is_alone] = 2 + np.arange(is_alone.sum())
    for inside in _grouped(group[part]):
        chosen, of = edges[inside], part[inside]
        widest = int(far[of].max())
        amount = np.int64 if widest < _WIDEST else object
        cost = np.zeros(len(of), amount)
        for each, unit in zip(chosen.costs, units, strict=True):
            cost += each.astype(amount) * unit[of].astype(amount)
        solver: Solver | None = "dense" if is_dense[of[0]] else "sparse" if is_sparse[of[0]] else None
        yield _network(chosen, dense(of)[0], cost, widest, solver)


def as_one(costs: Sequence[Amounts], pairs: int) -> tuple[Amounts, int]:
    """Return one exact cost that compares as these do, in an assignment of that many pairs, and the most of a pair."""
    units: list[int] = []
    most = 0
    for cost in reversed(costs):
        units.append(pairs * most + 1)
        most += largest(cost) * units[-1]
    amount = np.int64 if most < _WIDEST else object
    total: Amounts = np.zeros(len(costs[0]), amount)
    for cost, unit in zip(costs, reversed(units), strict=True):
        total += cost.astype(amount) * unit
    return total, most


def _large(lefts: Integers, rights: Integers, candidates: Integers, far: Amounts) -> tuple[Flags, Flags, Flags]:
    """Return which components a dense solver proposes for, and a sparse one, and which are networks of their own."""
    pairs, cells = np.minimum(lefts, rights), lefts * rights
    effort = candidates * pairs
    can_propose = far < _DOUBLE
    is_dense = (pairs > _LARGE) & (cells <= np.minimum(_SPARSE * candidates, _CELLS)) & can_propose
    is_slow = (effort > _SLOW) & ~is_dense
    return is_dense, is_slow & (effort <= _HOPELESS) & can_propose, is_dense | is_slow


def components(left: Integers, right: Integers, lefts: int, rights: int) -> tuple[Integers, Integers]:
    """Return the component of each left and of each right, as dense numbers."""
    ones = np.ones(len(left), dtype=np.int8)
    graph = coo_array((ones, (left, lefts + right)), shape=(lefts + rights, lefts + rights))
    labels = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels[:lefts], labels[lefts:]


def dense(numbers: Integers) -> tuple[Integers, Integers]:
    """Return the rank of each number among the different ones, and these in order."""
    present = np.zeros(int(numbers.max()) + 1, dtype=bool)
    present[numbers] = True
    return (np.cumsum(present) - 1)[numbers], np.flatnonzero(present)


def starts(ordered: Integers) -> Integers:
    """Return where each run of equal numbers, all at least 0, begins."""
    return np.flatnonzero(np.diff(ordered, prepend=-1))


def _units(edges: Candidates, part: Integers, pairs: Integers) -> tuple[list[Amounts], Amounts]:
    """Return for each component what one of each cost counts, and more than any path costs.

    One of a cost counts more than all less important costs of any assignment. A path has an edge to each matched right
    and to two open ones.
    """
    units: list[Amounts] = []
    most: Amounts = np.zeros(len(pairs), object)  # of a single pair
    for cost in reversed(edges.costs):
        largest = np.zeros(len(pairs), cost.dtype)
        np.maximum.at(largest, part, cost)
        units.append(pairs.astype(object) * most + 1)
        most = most + largest.astype(object) * units[-1]
    return units[::-1], (pairs.astype(object) + 2) * most + 1


def _grouped(group: Integers) -> list[Integers]:
    """Return the positions of each group."""
    order = np.argsort(group, kind="stable")
    return np.split(order, starts(group[order])[1:])


def _network(edges: Candidates, part: Integers, cost: Amounts, far: int, solver: Solver | None) -> Network:
    left, lefts, part_of_left = _numbered(edges.left, part)
    right, rights, part_of_right = _numbered(edges.right, part)
    order = np.argsort(right * len(lefts) + left)
    sides = (lefts, rights, part_of_left, part_of_right)
    costs = tuple(each[order] for each in edges.costs) if solver else ()
    return Network(left[order], right[order], cost[order], far, *sides, solver, costs)


def _numbered(side: Integers, part: Integers) -> tuple[Integers, Integers, Integers]:
    """Number the records of one side by component, then as the caller does; return edges, records and components."""
    at, numbers = dense(side)
    of = np.empty_like(numbers)
    of[at] = part
    order = np.argsort(of, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[at], numbers[order], of[order]
