"""The pairs of equally good assignments: which are certain, which interchangeable, and where it is open who stays open.

A candidate is in some best assignment exactly if potentials leave it no slack and it is a pair or lies on a cycle of
such candidates and pairs; "no partner" is a node of each side. Joined, these candidates fall into small components, in
which assignments vary independently. If one has as many lefts as rights, everyone always has a partner; in others some
record stays open, and which one is undecided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, compress, pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rules.pairs.assignment.network import Flags, Integers, Network, components, starts
from rules.pairs.assignment.optimum import Matching, Potentials


@dataclass(frozen=True)
class Choices:
    """Candidates in some best assignment, sorted by component, left and right.

    `is_pair` marks those of the given matching. `lefts` and `rights` are the sizes of their components.
    """

    left: Integers
    right: Integers
    is_pair: Flags
    part: Integers
    lefts: Integers
    rights: Integers

    def __getitem__(self, which: Integers | Flags) -> Choices:
        sides = self.left[which], self.right[which]
        return Choices(*sides, self.is_pair[which], self.part[which], self.lefts[which], self.rights[which])

    @property
    def is_even(self) -> Flags:
        """Return for each candidate whether everyone in its component always has a partner."""
        even: Flags = self.lefts == self.rights
        return even

    @property
    def interchangeable(self) -> int:
        """The number of pairs whose records could have other partners without leaving anyone open."""
        return int((self.is_pair & self.is_even & (self.lefts > 1)).sum())

    @property
    def slices(self) -> Iterator[slice]:
        """The place of each component."""
        bounds = [*starts(self.part).tolist(), len(self.part)]
        return (slice(begin, end) for begin, end in pairwise(bounds))


def choices(network: Network, matching: Matching, proof: Potentials) -> Choices:
    left, right = network.left, network.right
    no_slack = proof.left[left] + network.cost == proof.right[right]
    left, right = left[no_slack], right[no_slack]
    is_pair = matching.of_left[left] == right
    ring_of_left, ring_of_right = _rings(network, matching, proof, left, right, is_pair)
    shared = is_pair | (ring_of_left[left] == ring_of_right[right])
    left, right, is_pair = left[shared], right[shared], is_pair[shared]
    of_left, of_right = components(left, right, len(network.lefts), len(network.rights))
    part = of_left[left]
    sizes = np.bincount(of_left)[part], np.bincount(of_right)[part]
    return Choices(left, right, is_pair, part, *sizes)[np.lexsort((right, left, part))]


def undecided(choices: Choices) -> Iterator[tuple[Integers, Integers]]:
    """Yield the lefts and the rights of each component in which some record stays open."""
    uneven = choices[~choices.is_even]
    return ((np.unique(uneven.left[part]), np.unique(uneven.right[part])) for part in uneven.slices)


def first_pairs(choices: Choices) -> tuple[Integers, Integers]:
    """Return the pairs of the other components: the first left gets the first right that leaves a partner for everyone.

    Where every left may have every right, that is the first with the first, the second with the second.
    """
    even = choices[choices.is_even]
    first = starts(even.part)
    counts = np.diff(first, append=len(even.part))
    is_full = np.repeat(counts, counts) == even.lefts * even.rights
    offset = np.arange(len(even.part)) - np.repeat(first, counts)
    full, scarce = even[is_full & (offset % (even.lefts + 1) == 0)], even[~is_full]
    left, right, is_pair = scarce.left.tolist(), scarce.right.tolist(), scarce.is_pair.tolist()
    exchanged = (_first_pairs(left[part], right[part], is_pair[part]) for part in scarce.slices)
    lefts, rights = np.array(list(chain.from_iterable(exchanged)), dtype=np.int64).reshape(-1, 2).T
    return np.concatenate([full.left, lefts]), np.concatenate([full.right, rights])


def _first_pairs(lefts: list[int], rights: list[int], is_pair: list[bool]) -> Iterator[tuple[int, int]]:
    """Return the first pairs of one component by exchanges along paths. A set of lefts is an int, bit by bit."""
    wants: dict[int, list[int]] = defaultdict(list)
    takers: dict[int, int] = defaultdict(int)
    for left, right in zip(lefts, rights, strict=True):
        wants[left].append(right)
        takers[right] |= 1 << len(wants) - 1
    of_left = list(compress(rights, is_pair))
    of_right = {right: taker for taker, right in enumerate(of_left)}
    for first, wanted in enumerate(wants.values()):
        given = of_left[first]
        moves = _moves(first, of_left, takers) if wanted[0] < given else {}
        taker, better = first, next(right for right in wanted if right == given or of_right[right] in moves)
        while better != given:
            displaced = of_right[better]
            of_left[taker], of_right[better] = better, taker
            taker, better = displaced, moves[displaced]
        of_left[taker], of_right[given] = given, taker
    return zip(wants, of_left, strict=True)


def _moves(first: int, of_left: list[int], takers: Mapping[int, int]) -> dict[int, int]:
    """Return which right each later left would take to make up for others, the last of whom takes that of `first`."""
    moves: dict[int, int] = {}
    later = -2 << first
    waiting = [of_left[first]]
    while waiting:
        right = waiting.pop()
        movers = takers[right] & later
        later &= ~movers
        while movers:
            mover = movers.bit_length() - 1
            movers ^= 1 << mover
            moves[mover] = right
            waiting.append(of_left[mover])
    return moves


def _rings(
    network: Network, matching: Matching, proof: Potentials, left: Integers, right: Integers, is_pair: Flags
) -> tuple[Integers, Integers]:
    """Return the strongly connected component of each left and right, by candidates and pairs without slack.

    A candidate leads from left to right and a pair back; "no partner" stands for an open left and an open right.
    """
    lefts, rights = len(network.lefts), len(network.rights)
    no_right = lefts + rights + network.part_of_left
    no_left = no_right[-1] + 1 + network.part_of_right
    to_none = np.flatnonzero(proof.left == proof.open_left[network.part_of_left])
    of_none = np.flatnonzero(proof.right == proof.open_right[network.part_of_right])
    origin = np.concatenate([left, to_none, no_left[of_none]])
    target = np.concatenate([lefts + right, no_right[to_none], lefts + of_none])
    leads_back = np.concatenate([is_pair, matching.of_left[to_none] < 0, matching.of_right[of_none] < 0])
    origin, target = np.where(leads_back, target, origin), np.where(leads_back, origin, target)
    size = int(no_left[-1]) + 1
    graph = coo_array((np.ones(len(origin), dtype=np.int8), (origin, target)), shape=(size, size))
    labels = connected_components(graph, directed=True, connection="strong")[1]
    return labels[:lefts], labels[lefts:]
