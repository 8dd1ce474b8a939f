"""The best assignments of a few records, by trying all of them; written from the design, not from the code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Pair = tuple[int, int]
Distance = tuple[int, ...]
"""Costs, the most important one first, such as days and money."""
Record = tuple[str, int]


@dataclass(frozen=True)
class Expected:
    """What `assign` should answer. `ambiguous` holds (lefts, rights) of each group."""

    pairs: tuple[Pair, ...]
    ambiguous: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    interchangeable: int


def assignments(distances: Mapping[Pair, Distance]) -> Iterator[frozenset[Pair]]:
    """Yield every set of pairs in which no record is twice."""
    return _extended(sorted(distances), frozenset())


def _extended(rest: list[Pair], chosen: frozenset[Pair]) -> Iterator[frozenset[Pair]]:
    if not rest:
        yield chosen
        return
    (left, right), *later = rest
    yield from _extended(later, chosen)
    if all(left != taken_left and right != taken_right for taken_left, taken_right in chosen):
        yield from _extended(later, chosen | {(left, right)})


def best(distances: Mapping[Pair, Distance]) -> list[frozenset[Pair]]:
    """Return all assignments with the most pairs, of these the least total of the first cost, and so on."""

    def rank(chosen: frozenset[Pair]) -> tuple[int, ...]:
        return (-len(chosen), *map(sum, zip(*(distances[pair] for pair in chosen), strict=True)))

    every = [(rank(chosen), chosen) for chosen in assignments(distances)]
    least = min(order for order, _ in every)
    return [chosen for order, chosen in every if order == least]


def open_in_some_only(optimal: list[frozenset[Pair]]) -> set[Record]:
    """Return the records that have a partner in one best assignment and none in another."""
    paired = [{record for left, right in chosen for record in (("left", left), ("right", right))} for chosen in optimal]
    return {record for record in set().union(*paired) if any(record not in partners for partners in paired)}


def expected(distances: Mapping[Pair, Distance]) -> Expected:
    """Return the answer: pairs, groups in which it is undecided who stays open, and pairs that could be swapped."""
    optimal = best(distances)
    undecided = open_in_some_only(optimal)
    pairs: list[Pair] = []
    groups = []
    interchangeable = 0
    for cluster in _clusters(set().union(*optimal)):
        lefts, rights = sorted({left for left, _ in cluster}), sorted({right for _, right in cluster})
        if undecided & {*(("left", left) for left in lefts), *(("right", right) for right in rights)}:
            groups.append((tuple(lefts), tuple(rights)))
            continue
        variants = {tuple(sorted(chosen & cluster)) for chosen in optimal}
        pairs.extend(min(variants))
        interchangeable += len(min(variants)) if len(variants) > 1 else 0
    return Expected(tuple(sorted(pairs)), tuple(sorted(groups)), interchangeable)


def _clusters(pairs: set[Pair]) -> list[set[Pair]]:
    """Return the pairs by whether a chain of common records joins them."""
    clusters: list[set[Pair]] = []
    for left, right in sorted(pairs):
        near = [cluster for cluster in clusters if any(left == member[0] or right == member[1] for member in cluster)]
        clusters = [cluster for cluster in clusters if cluster not in near]
        clusters.append({(left, right)}.union(*near))
    return clusters
