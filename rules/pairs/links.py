"""Pairs that connect items: a few that stand for all, the parts they connect, and the bridges among them. Pure.

Items are numbers from 0; a pair has the smaller number first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

Pair = tuple[int, int]


def pair(first: int, second: int) -> Pair:
    return (first, second) if first < second else (second, first)


def connecting(alike: Sequence[int], apart: Collection[Pair] = ()) -> set[Pair]:
    """Return a few pairs that stand for all pairs of these items but those kept `apart`.

    The result has the same parts and bridges as all pairs, also beside any other pairs: where a cut of the items
    separates none, one or more of all pairs, it separates none, one or more of the result. A star would have bridges
    where all pairs have none.
    """
    if not apart:
        ring = zip(alike, (*alike[1:], *alike[:1]), strict=True)
        return {pair(first, second) for first, second in ring if first != second}
    # Two forests, the second without the pairs of the first (Nagamochi and Ibaraki 1992).
    first_forest = set(_forest(alike, apart))
    return first_forest | set(_forest(alike, {*apart, *first_forest}))


def _forest(items: Sequence[int], apart: Collection[Pair]) -> Iterator[Pair]:
    """Yield the pairs of a forest that connects what all pairs but those `apart` connect."""
    waiting = list(items)
    while waiting:
        reached = [waiting.pop(0)]
        for item in reached:
            near = [candidate for candidate in waiting if pair(item, candidate) not in apart]
            yield from (pair(item, candidate) for candidate in near)
            waiting = [candidate for candidate in waiting if pair(item, candidate) in apart]
            reached += near


def parts(items: int, pairs: Iterable[Pair]) -> list[list[int]]:
    """Return the items that the pairs connect, part by part, in ascending order."""
    neighbours = _neighbours(pairs)
    waiting, connected = set(range(items)), []
    for start in range(items):
        if start in waiting:
            part = [start]
            for item in part:
                waiting.discard(item)
                near = [neighbour for neighbour in neighbours[item] if neighbour in waiting]
                waiting.difference_update(near)
                part += near
            connected.append(sorted(part))
    return connected


def bridges(pairs: Collection[Pair]) -> set[Pair]:
    """Return the pairs without which a part falls apart (Tarjan 1974)."""
    if len(pairs) == 1:
        return set(pairs)
    neighbours = _neighbours(pairs)
    entered: dict[int, int] = {}
    parent: dict[int, int | None] = {}
    for root in tuple(neighbours):
        path: list[tuple[int, int | None]] = [(root, None)]
        while path:
            item, previous = path.pop()
            if item not in entered:
                entered[item], parent[item] = len(entered), previous
                path += [(neighbour, item) for neighbour in neighbours[item] if neighbour not in entered]
    lowest = dict(entered)
    for item in reversed(entered):
        for neighbour in neighbours[item]:
            if neighbour != parent[item]:
                reached = lowest if parent[neighbour] == item else entered
                lowest[item] = min(lowest[item], reached[neighbour])
    above = ((item, parent[item]) for item in entered if lowest[item] == entered[item])
    return {pair(item, previous) for item, previous in above if previous is not None}


def _neighbours(pairs: Iterable[Pair]) -> dict[int, list[int]]:
    neighbours: dict[int, list[int]] = defaultdict(list)
    for first, second in pairs:
        neighbours[first].append(second)
        neighbours[second].append(first)
    return neighbours
