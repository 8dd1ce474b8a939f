"""An assignment of most pairs and least cost in every component, and the proof in integers that there is no better one.

Small components are solved together, by successive shortest paths (Ahuja, Magnanti and Orlin, "Network Flows", 9.7):
while a path leads from an open left to an open right, exchange the pairs along a cheapest one. Distances are Bellman
and Ford's, so nothing is rounded. Cheapest paths from different open lefts, which share no record, are taken together.

For a large dense component SciPy proposes an assignment, computed in doubles. Potentials, in integers, prove or refute
it, and a refuted one is not used: doubles save time (2,000 × 1,900 records: 0.3 s instead of 200 s) and decide nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rules.kinds.reconciliation.network import Amounts, Flags, Integers, Network, starts


@dataclass(frozen=True)
class Matching:
    """The partner of each left and of each right, or -1, and the cost of each right's pair. Changed in place."""

    of_left: Integers
    of_right: Integers
    cost: Amounts

    @classmethod
    def empty(cls, network: Network) -> Matching:
        lefts, rights = len(network.lefts), len(network.rights)
        return cls(np.full(lefts, -1), np.full(rights, -1), np.zeros(rights, network.cost.dtype))


@dataclass(frozen=True)
class Potentials:
    """Distances to all records in the residual network; they exist exactly if no matching of as many pairs is cheaper.

    `open_left` and `open_right` are those of "no partner" in each component.
    """

    left: Amounts
    right: Amounts
    open_left: Amounts
    open_right: Amounts


class Refuted(ArithmeticError):
    """A cheaper matching of as many pairs exists."""

    def __init__(self) -> None:
        super().__init__("A cheaper assignment exists: the one that was computed is wrong. Nothing was reported.")


def optimum(network: Network) -> tuple[Matching, Potentials]:
    """Return a matching of most pairs and least cost, with its proof."""
    matching = Matching.empty(network)
    if network.is_dense:
        proposal = _proposed(network)
        with suppress(Refuted):
            potentials(network, proposal)
            matching = proposal
    _complete(network, matching)
    return matching, potentials(network, matching)


def potentials(network: Network, matching: Matching) -> Potentials:
    """Return the proof that the matching is cheapest for its number of pairs, or raise Refuted.

    A shortest path has at most one edge for each pair and two more, so distances that go on shrinking never end.
    """
    edges = _Edges.of(network.left, network.right, network.cost)
    paired, alone = np.flatnonzero(matching.of_left >= 0), np.flatnonzero(matching.of_left < 0)
    taken, free = np.flatnonzero(matching.of_right >= 0), np.flatnonzero(matching.of_right < 0)
    partner, of_left, of_right = matching.of_right[taken], network.part_of_left, network.part_of_right
    sizes = (len(network.lefts), len(network.rights), network.parts, network.parts)
    left, right, open_left, open_right = (np.zeros(size, network.cost.dtype) for size in sizes)
    for _ in range(len(paired) + 4):
        before = left.copy()
        right = np.minimum(right, edges.nearest(left)[1])
        np.minimum.at(open_right, of_right[free], right[free])
        right[taken] = np.minimum(right[taken], open_right[of_right[taken]])
        left[partner] = np.minimum(left[partner], right[taken] - matching.cost[taken])
        np.minimum.at(open_left, of_left[paired], left[paired])
        left[alone] = np.minimum(left[alone], open_left[of_left[alone]])
        if (left == before).all():
            return Potentials(left, right, open_left, open_right)
    raise Refuted


def _proposed(network: Network) -> Matching:
    """Return SciPy's matching, computed in doubles. A pair that is no candidate costs more than all candidates."""
    lefts, rights = len(network.lefts), len(network.rights)
    none = float(network.cost.max()) * (min(lefts, rights) + 1) + 1
    costs = np.full((lefts, rights), none)
    costs[network.left, network.right] = network.cost
    partner = np.full(rights, -1)
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - 17 MB and 0.2 s that few runs need

    left, right = linear_sum_assignment(costs)
    partner[right] = left
    chosen = np.flatnonzero(partner[network.right] == network.left)
    matching = Matching.empty(network)
    matching.of_left[network.left[chosen]] = network.right[chosen]
    matching.of_right[network.right[chosen]] = network.left[chosen]
    matching.cost[network.right[chosen]] = network.cost[chosen]
    return matching


@dataclass(frozen=True)
class _Edges:
    """Edges sorted by right, and the rights they lead to."""

    left: Integers
    right: Integers
    cost: Amounts
    starts: Integers
    counts: Integers
    rights: Integers

    @classmethod
    def of(cls, left: Integers, right: Integers, cost: Amounts) -> _Edges:
        first = starts(right)
        return cls(left, right, cost, first, np.diff(first, append=len(right)), right[first])

    def __getitem__(self, which: Flags) -> _Edges:
        return self.of(self.left[which], self.right[which], self.cost[which])

    def nearest(self, to_left: Amounts) -> tuple[Amounts, Amounts]:
        """Return the distance through each edge, and the least one to each of the rights."""
        through = to_left[self.left] + self.cost
        return through, np.minimum.reduceat(through, self.starts)


@dataclass(frozen=True)
class _Paths:
    """Cheapest paths from the open lefts: the distance to each right, and the last edge's left and cost."""

    to_right: Amounts
    left: Integers
    cost: Amounts


def _complete(network: Network, matching: Matching) -> None:
    """Add pairs until no component has room for more, and keep the matching cheapest for its number of pairs."""
    edges = _Edges.of(network.left, network.right, network.cost)
    while len(edges.left):
        paths = _paths(network, matching, edges)
        ends = _ends(network, matching, paths, edges.rights)
        _exchange(matching, paths, ends)
        goes_on = np.zeros(network.parts, dtype=bool)
        goes_on[network.part_of_right[ends]] = True
        edges = edges[goes_on[network.part_of_right[edges.right]]]


def _paths(network: Network, matching: Matching, edges: _Edges) -> _Paths:
    rights, cost = len(network.rights), network.cost.dtype
    to_left = np.full(len(network.lefts), network.far, cost)
    to_left[matching.of_left < 0] = 0
    paths = _Paths(np.full(rights, network.far, cost), np.full(rights, -1), np.zeros(rights, cost))
    while True:
        through, nearest = edges.nearest(to_left)
        is_nearer = nearest < paths.to_right[edges.rights]
        if not is_nearer.any():
            return paths
        reached = edges.rights[is_nearer]
        is_last = np.repeat(is_nearer, edges.counts) & (through == np.repeat(nearest, edges.counts))
        last = _one_each(edges, np.flatnonzero(is_last), reached)
        paths.to_right[reached] = nearest[is_nearer]
        paths.left[reached], paths.cost[reached] = edges.left[last], edges.cost[last]
        paired = reached[matching.of_right[reached] >= 0]
        to_left[matching.of_right[paired]] = paths.to_right[paired] - matching.cost[paired]


def _one_each(edges: _Edges, equal: Integers, reached: Integers) -> Integers:
    """Return one of the equally near edges to each right, not always the first: then more paths share no record."""
    first = starts(edges.right[equal])
    chosen: Integers = equal[first + reached % np.diff(first, append=len(equal))]
    return chosen


def _ends(network: Network, matching: Matching, paths: _Paths, rights: Integers) -> Integers:
    """Return open rights with the cheapest paths of their component, at most one for each open left."""
    ends = rights[(matching.of_right[rights] < 0) & (paths.to_right[rights] < network.far)]
    if len(ends):
        first = starts(network.part_of_right[ends])
        least = np.minimum.reduceat(paths.to_right[ends], first)
        ends = ends[paths.to_right[ends] == np.repeat(least, np.diff(first, append=len(ends)))]
    roots = paths.left[ends]
    while len(inner := np.flatnonzero(matching.of_left[roots] >= 0)):
        roots[inner] = paths.left[matching.of_left[roots[inner]]]
    return ends[np.unique(roots, return_index=True)[1]]


def _exchange(matching: Matching, paths: _Paths, ends: Integers) -> None:
    """Pair along the paths to these rights, which share no record."""
    while len(ends):
        left = paths.left[ends]
        before = matching.of_left[left]
        matching.of_left[left], matching.of_right[ends], matching.cost[ends] = ends, left, paths.cost[ends]
        ends = before[before >= 0]
