"""An assignment of most pairs and least cost in every component, and the proof in integers that there is no better one.

Small components are solved together, by successive shortest paths (Ahuja, Magnanti and Orlin, "Network Flows", 9.7):
while a path leads from an open left to an open right, exchange the pairs along a cheapest one. Distances are Bellman
and Ford's, so nothing is rounded. Cheapest paths from different open lefts, which share no record, are taken together.

For a large component SciPy proposes an assignment, computed in doubles: by a dense solver, or by a sparse one (Jonker
and Volgenant, Computing 38, 1987). Potentials, in integers, prove or refute it, and a refuted one is not used: doubles
save time (2,000 × 1,900 records: 0.3 s instead of 200 s; 6,800 records with 32,000 candidates: 0.1 s instead of 9 s)
and decide nothing. Costs that a double cannot hold are proposed for in turn, the most important ones first (5,000
records with 110,000 candidates and five costs: 0.4 s). All steps are counted, so that a component that would take hours
is refused instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from rules.pairs.assignment.network import Amounts, Flags, Integers, Network, as_one, starts


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

    @classmethod
    def of(cls, network: Network, partner: Integers) -> Matching:
        """Return the matching of each right with its `partner`, or -1; they must be candidates."""
        chosen = np.flatnonzero(partner[network.right] == network.left)
        matching = cls.empty(network)
        matching.of_left[network.left[chosen]] = network.right[chosen]
        matching.of_right[network.right[chosen]] = network.left[chosen]
        matching.cost[network.right[chosen]] = network.cost[chosen]
        return matching

    @property
    def pairs(self) -> int:
        return int((self.of_left >= 0).sum())


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


class TooMuchWork(ArithmeticError):
    """The best assignment of a component would take too many steps."""

    def __init__(self, network: Network) -> None:
        super().__init__("The best assignment would take too many steps.")
        self.records = len(network.lefts), len(network.rights)
        self.candidates = len(network.left)


MOST_STEPS = 20_000_000_000
"""Looks at a candidate, 10 to 15 ns each: five minutes."""
_FORESEEN = 1_000_000_000
"""After so many steps, a computation whose progress is too slow to end in time is given up."""
_STEPS_OF_OBJECTS = 10
"""Python's integers take that much longer."""


@dataclass
class _Effort:
    """Counts the steps of a computation over one component. Raises TooMuchWork; several together are never too much."""

    network: Network
    steps: int = 0

    def spend(self, candidates: int) -> None:
        self.steps += candidates * (1 if self.network.cost.dtype != object else _STEPS_OF_OBJECTS)
        if self.steps > MOST_STEPS and self.network.parts == 1:
            raise TooMuchWork(self.network)

    def foresee(self, matching: Matching) -> None:
        """Raise TooMuchWork if all pairs, found as slowly as those so far, would take too many steps."""
        possible = min(len(self.network.lefts), len(self.network.rights))
        is_slow = self.steps > _FORESEEN and self.steps * possible > MOST_STEPS * matching.pairs
        if is_slow and self.network.parts == 1:
            raise TooMuchWork(self.network)


def optimum(network: Network) -> tuple[Matching, Potentials]:
    """Return a matching of most pairs and least cost, with its proof. Raises TooMuchWork."""
    matching, proof, effort = Matching.empty(network), None, _Effort(network)
    if network.solver is not None:
        with suppress(Refuted):
            proposal = proposed(network, effort)
            proof = potentials(network, proposal, effort)
            matching = proposal
    before = matching.pairs
    _complete(network, matching, effort)
    if proof is None or matching.pairs > before:
        proof = potentials(network, matching, effort)
    return matching, proof


def potentials(network: Network, matching: Matching, effort: _Effort | None = None) -> Potentials:
    """Return the proof that the matching is cheapest for its number of pairs, or raise Refuted.

    A shortest path has at most one edge for each pair and two more, so distances that go on shrinking never end.
    """
    edges = _Edges.of(network.left, network.right, network.cost)
    paired, alone = np.flatnonzero(matching.of_left >= 0), np.flatnonzero(matching.of_left < 0)
    taken, free = np.flatnonzero(matching.of_right >= 0), np.flatnonzero(matching.of_right < 0)
    partner, of_left, of_right = matching.of_right[taken], network.part_of_left, network.part_of_right
    sizes = (len(network.lefts), len(network.rights), network.parts, network.parts)
    left, right, open_left, open_right = (np.zeros(size, network.cost.dtype) for size in sizes)
    effort = effort or _Effort(network)
    for _ in range(len(paired) + 4):
        effort.spend(len(network.left))
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


_HELD = 2**50
"""Doubles tell the lengths of paths apart if no path is longer."""


def proposed(network: Network, effort: _Effort | None = None) -> Matching:
    """Return SciPy's matching. Costs that are too large together are taken in turn, the most important first.

    Each time only the best assignments by the costs before remain: those of candidates without slack that leave no
    record open that must have a partner, which costs more than anything. Raises Refuted.
    """
    pairs = min(len(network.lefts), len(network.rights))
    edges = np.arange(len(network.left))
    must_left, must_right = np.zeros(len(network.lefts), np.int64), np.zeros(len(network.rights), np.int64)
    stages = _stages(network.parts_of_cost, pairs) if network.far > _HELD else [(network.cost,)]
    for number, costs in enumerate(stages, 1):
        left, right = network.left[edges], network.right[edges]
        without = (2 - must_left[left] - must_right[right],) if number > 1 else ()
        cost, _ = as_one([*without, *(each[edges] for each in costs)], pairs)
        stage = replace(network, left=left, right=right, cost=cost)
        matching = _solved(stage)
        if number < len(stages):
            proof = potentials(stage, matching, effort)
            edges = edges[proof.left[left] + cost == proof.right[right]]
            must_left = (proof.left != proof.open_left[network.part_of_left]).astype(np.int64)
            must_right = (proof.right != proof.open_right[network.part_of_right]).astype(np.int64)
    return Matching.of(network, matching.of_right)


def _stages(costs: Sequence[Amounts], pairs: int) -> list[tuple[Amounts, ...]]:
    """Return the costs in as few groups as doubles can hold, with room for the records that must have a partner."""
    stages: list[tuple[Amounts, ...]] = []
    for cost in costs:
        if stages and as_one([*stages[-1], cost], pairs)[1] * pairs**2 < _HELD:
            stages[-1] = (*stages[-1], cost)
        else:
            stages.append((cost,))
    return stages


def _solved(network: Network) -> Matching:
    """Return SciPy's matching, computed in doubles. "No partner" costs more than all candidates of an assignment."""
    none = float(network.cost.max()) * (min(len(network.lefts), len(network.rights)) + 1) + 1
    partner = _dense_partners(network, none) if network.solver == "dense" else _sparse_partners(network, none)
    return Matching.of(network, partner)


def _dense_partners(network: Network, none: float) -> Integers:
    costs = np.full((len(network.lefts), len(network.rights)), none)
    costs[network.left, network.right] = network.cost
    partner = np.full(len(network.rights), -1)
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - 17 MB and 0.2 s that few runs need

    left, right = linear_sum_assignment(costs)
    partner[right] = left
    return partner


def _sparse_partners(network: Network, none: float) -> Integers:
    """Return the left of each right, -1 for none. Each record of the smaller side has an own "no partner", at `none`.

    SciPy takes no costs of zero, so all are one higher.
    """
    lefts, rights = len(network.lefts), len(network.rights)
    is_turned = rights < lefts
    rows, columns = (network.right, network.left) if is_turned else (network.left, network.right)
    height, width = min(lefts, rights), max(lefts, rights)
    alone = np.arange(height)
    places = (np.concatenate([rows, alone]), np.concatenate([columns, width + alone]))
    costs = np.concatenate([network.cost.astype(np.float64) + 1, np.full(height, none + height + 1)])
    row, column = min_weight_full_bipartite_matching(csr_array((costs, places), shape=(height, width + height)))
    has_partner = column < width
    row, column = row[has_partner].astype(np.int64), column[has_partner].astype(np.int64)
    partner = np.full(rights, -1)
    partner[row if is_turned else column] = column if is_turned else row
    return partner


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


def _complete(network: Network, matching: Matching, effort: _Effort) -> None:
    """Add pairs until no component has room for more, and keep the matching cheapest for its number of pairs."""
    edges = _Edges.of(network.left, network.right, network.cost)
    while len(edges.left):
        paths = _paths(network, matching, edges, effort)
        ends = _ends(network, matching, paths, edges.rights)
        _exchange(matching, paths, ends)
        effort.foresee(matching)
        goes_on = np.zeros(network.parts, dtype=bool)
        goes_on[network.part_of_right[ends]] = True
        edges = edges[goes_on[network.part_of_right[edges.right]]]


def _paths(network: Network, matching: Matching, edges: _Edges, effort: _Effort) -> _Paths:
    rights, cost = len(network.rights), network.cost.dtype
    to_left = np.full(len(network.lefts), network.far, cost)
    to_left[matching.of_left < 0] = 0
    paths = _Paths(np.full(rights, network.far, cost), np.full(rights, -1), np.zeros(rights, cost))
    while True:
        effort.spend(len(edges.left))
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
