"""Unite records that people judged to be the same before the others are put together with them.

United records count as one, which resembles another record as much as the most similar of them does: what a person says
of two records must not cost a third one its place. Records that must not be together are never united, not even by
others of the same thing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
Bits = NDArray[np.float64]


def unite(matrix: Bits, pairs: Sequence[Pair]) -> tuple[list[NDArray[np.int64]], Bits]:
    """Return the positions that each row of the new matrix stands for, and that matrix; `-inf` keeps two apart."""
    if not pairs:
        return [np.asarray([number]) for number in range(len(matrix))], matrix
    sets = _sets(pairs, lambda first, second: bool(np.isneginf(matrix[np.ix_(first, second)]).any()))
    inside = {position for members in sets for position in members}
    nodes = sorted([*sets, *([position] for position in range(len(matrix)) if position not in inside)])
    order, starts = np.concatenate(nodes), np.cumsum([0, *map(len, nodes[:-1])])
    arranged = matrix[np.ix_(order, order)]
    best = np.maximum.reduceat(np.maximum.reduceat(arranged, starts, axis=0), starts, axis=1)
    worst = np.minimum.reduceat(np.minimum.reduceat(arranged, starts, axis=0), starts, axis=1)
    best[np.isneginf(worst)] = -np.inf
    return [np.asarray(members) for members in nodes], best


def unite_sparse(
    scored: Mapping[Pair, float], pairs: Sequence[Pair]
) -> tuple[dict[int, NDArray[np.int64]], dict[Pair, float]]:
    """Return the records that a united one stands for, by the first of them, and what the pairs count then."""
    apart = {pair for pair, value in scored.items() if value == -np.inf}
    sets = _sets(pairs, lambda first, second: any(_ordered(a, b) in apart for a in first for b in second))
    first_of = {record: members[0] for members in sets for record in members}
    values: dict[Pair, list[float]] = defaultdict(list)
    for (a, b), value in scored.items():
        left, right = first_of.get(a, a), first_of.get(b, b)
        if left != right:
            values[_ordered(left, right)].append(value)
    new = {pair: -np.inf if -np.inf in counted else max(counted) for pair, counted in values.items()}
    return {members[0]: np.asarray(members) for members in sets}, new


def _sets(pairs: Iterable[Pair], must_not: Callable[[list[int], list[int]], bool]) -> list[list[int]]:
    """Return the sets of two or more that the pairs unite, in this order, without those that must not be together."""
    set_of: dict[int, list[int]] = {}
    for first, second in pairs:
        left, right = set_of.get(first, [first]), set_of.get(second, [second])
        if left is not right and not must_not(left, right):
            united = sorted([*left, *right])
            set_of |= dict.fromkeys(united, united)
    return sorted({id(members): members for members in set_of.values()}.values())


def _ordered(first: int, second: int) -> Pair:
    return (first, second) if first < second else (second, first)
