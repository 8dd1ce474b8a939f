"""Which record of one side belongs to which of the other: most pairs, then the least totals of their costs.

Records take part as dense numbers, which the caller gives in the order of their ids. The answer depends on the
candidates alone: not on their order, nor on unrelated candidates in the same call.

Candidates fall into connected components, mostly small. Single pairs and stars are decided here by counting and
sorting, the others by `optimum` and `alternatives`, in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from rules.pairs.assignment.alternatives import choices, first_pairs, undecided
from rules.pairs.assignment.network import Candidates, Flags, Integers, Network, networks, starts
from rules.pairs.assignment.optimum import optimum

__all__ = ["Assignment", "Candidates", "Open", "assign"]


@dataclass(frozen=True)
class Open:
    """Records that equally good assignments pair differently, so that different ones stay open.

    The longer of the two arrays is the side of the open records; the difference in length is how many stay open.
    """

    lefts: Integers
    rights: Integers


@dataclass(frozen=True)
class Assignment:
    """The pairs, sorted by left, and the records of which some stay open without saying which. All others stay open.

    `interchangeable` counts the pairs whose records could be paired with others without changing who stays open. Of
    these the first left gets the first right that leaves a partner for everyone.
    """

    left: Integers
    right: Integers
    ambiguous: tuple[Open, ...]
    interchangeable: int


def assign(candidates: Candidates, lefts: int, rights: int) -> Assignment:
    """Return the best assignment of `lefts` and `rights` records, as far as it is the only one."""
    is_single = _only(candidates.left, lefts) & _only(candidates.right, rights)
    single, edges = candidates[is_single], _distinct(candidates[~is_single], rights)
    left_ends, right_ends = _only(edges.left, lefts), _only(edges.right, rights)
    around_left = np.bincount(edges.left[~right_ends], minlength=lefts)[edges.left] == 0
    around_right = (np.bincount(edges.right[~left_ends], minlength=rights)[edges.right] == 0) & ~around_left
    parts = (
        Assignment(single.left, single.right, (), 0),
        _stars(edges[around_left], edges.left[around_left]),
        _stars(edges[around_right], edges.right[around_right]),
        *(_network(network) for network in networks(edges[~around_left & ~around_right])),
    )
    partner = np.full(lefts, -1)
    for part in parts:
        partner[part.left] = part.right
    left = np.flatnonzero(partner >= 0)
    ambiguous = sorted(chain.from_iterable(part.ambiguous for part in parts), key=lambda group: int(group.lefts[0]))
    return Assignment(left, partner[left], tuple(ambiguous), sum(part.interchangeable for part in parts))


def _only(side: Integers, size: int) -> Flags:
    """Return for each candidate whether it is the only one of its record."""
    is_only: Flags = np.bincount(side, minlength=size)[side] == 1
    return is_only


def _distinct(candidates: Candidates, rights: int) -> Candidates:
    """Return the candidates by left and right, of equal pairs the nearest."""
    pair = candidates.left * rights + candidates.right
    order = np.argsort(pair)
    if (np.diff(pair[order]) == 0).any():
        order = np.lexsort((*reversed(candidates.costs), pair))
        order = order[starts(pair[order])]
    return candidates[order]


def _stars(edges: Candidates, centre: Integers) -> Assignment:
    """Give each centre its nearest record; if several are equally near, they and the centre are undecided."""
    order = np.lexsort((*reversed(edges.costs), centre))
    edges, first = edges[order], starts(centre[order])
    nearest = np.repeat(first, np.diff(first, append=len(order)))
    is_tied: Flags = np.logical_and.reduce([cost == cost[nearest] for cost in edges.costs])
    ties = np.add.reduceat(is_tied, first, dtype=np.int64) if len(first) else first
    chosen = edges[first[ties == 1]]
    undecided = zip(first[ties > 1].tolist(), ties[ties > 1].tolist(), strict=True)
    groups = (edges[begin : begin + count] for begin, count in undecided)
    return Assignment(chosen.left, chosen.right, tuple(Open(np.unique(g.left), np.unique(g.right)) for g in groups), 0)


def _network(network: Network) -> Assignment:
    options = choices(network, *optimum(network))
    left, right = first_pairs(options)
    groups = tuple(Open(network.lefts[lefts], network.rights[rights]) for lefts, rights in undecided(options))
    return Assignment(network.lefts[left], network.rights[right], groups, options.interchangeable)
