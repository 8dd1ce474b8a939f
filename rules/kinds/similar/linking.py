"""The pairs that hold the records of a group together, each with what speaks for and against it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Places
from rules.kinds.similar.evidence import evidence
from rules.kinds.similar.matching import Matching
from rules.pairs import links
from rules.pairs.evidence import Link, rounded

_FEW = 8
"""Records of a group between which every probable pair is shown; of more, for each record its best ones."""
_BEST = 2
_MANY = 200
"""Records of a group of which only the pairs with the keeper are looked at."""
_PAIRS = 20_000
"""So many pairs of groups are scored at once."""

T = TypeVar("T")


def batches(groups: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield groups together that hold a bounded number of pairs."""
    batch: list[T] = []
    pairs = 0
    for group in groups:
        batch.append(group)
        pairs += size(group) * min(size(group), _MANY)
        if pairs > _PAIRS:
            yield batch
            batch, pairs = [], 0
    if batch:
        yield batch


def linked(matching: Matching, groups: Sequence[Places]) -> Iterator[tuple[Link, ...]]:
    """Yield the links of each group of records, keeper first. All their pairs are scored at once."""
    corners = [_compared(len(places)) for places in groups]
    left = np.concatenate([places[rows] for places, (rows, _) in zip(groups, corners, strict=True)])
    right = np.concatenate([places[columns] for places, (_, columns) in zip(groups, corners, strict=True)])
    bits = np.split(matching.score(left, right).bits, np.cumsum([len(rows) for rows, _ in corners])[:-1])
    chosen = [
        _chosen(own, rows, columns, len(places), matching.minimum)
        for own, (rows, columns), places in zip(bits, corners, groups, strict=True)
    ]
    shown = [
        (int(places[first]), int(places[second]))
        for places, (pairs, _) in zip(groups, chosen, strict=True)
        for first, second in pairs
    ]
    reasons = evidence(matching, shown)
    for pairs, bridges in chosen:
        yield tuple(
            Link(*pair, (), pair in bridges, why.words, why.score, rounded(why.probability))
            for pair, why in zip(pairs, islice(reasons, len(pairs)), strict=True)
        )


def _compared(size: int) -> tuple[Places, Places]:
    """Return the pairs of a group that are looked at, by position: all, or in a large group those with the keeper."""
    if size <= _MANY:
        left, right = np.triu_indices(size, 1)
        return left, right
    return np.zeros(size - 1, np.int64), np.arange(1, size)


def _chosen(
    bits: NDArray[np.float64], left: Places, right: Places, size: int, minimum: float
) -> tuple[list[links.Pair], set[links.Pair]]:
    """Return the pairs of a group that are shown, in order, and the bridges among all probable ones."""
    probable = np.flatnonzero(bits >= minimum).tolist()
    pairs = {(int(left[number]), int(right[number])): float(bits[number]) for number in probable}
    bridges = links.bridges(pairs) if pairs else set()
    return sorted(_shown(pairs, size) | bridges), bridges


def _shown(pairs: Mapping[links.Pair, float], size: int) -> set[links.Pair]:
    """Return the pairs that are shown: all of a small group, of a larger one the best of each record."""
    if size <= _FEW:
        return set(pairs)
    of_record: dict[int, list[links.Pair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda pair: -pairs[pair]):
        for record in pair:
            of_record[record].append(pair)
    return {pair for best in of_record.values() for pair in best[:_BEST]}
