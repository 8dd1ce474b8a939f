"""The pairs whose judgement by a person would teach most: those of which the model is least sure.

Uncertainty sampling (Lewis and Gale 1994): an answer is worth most where the probability is near the threshold, which
decides, or near one half, where the model knows least. Pairs of both sides take turns, no record is asked about twice,
and pairs that differ in what speaks for them come first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.clusters import Constraints
from rules.kinds.similar.encoded import Places
from rules.kinds.similar.matching import Matching
from rules.pairs import links

MOST = 50
"""Pairs that a run keeps of a rule."""
_SPARE = 2 * MOST
"""Pairs that are chosen, because a record without an id cannot be judged."""
_SAMPLE = 200_000
"""Candidates that are scored to find pairs below the threshold."""
_NEAREST = 4_000
_FAR = 5.0
"""Bits beyond which a pair is certain enough."""


def pairs(matching: Matching, constraints: Constraints) -> list[links.Pair]:
    """Return up to `_SPARE` pairs of places that nobody decided about, those that teach most first.

    With `one_to_one`, a record that has a partner by decision is in none of them.
    """
    first, second, bits = _scored(matching)
    distance = np.minimum(np.abs(bits - matching.minimum), np.abs(bits))
    near = np.flatnonzero(distance <= _FAR)
    if len(near) > _NEAREST:
        near = near[np.argpartition(distance[near], _NEAREST)[:_NEAREST]]
    near = near[np.lexsort((second[near], first[near], distance[near]))]
    decided = constraints.together | constraints.apart
    paired = {place for pair in constraints.together for place in pair} if matching.settings.one_to_one else set[int]()
    levels = matching.comparison.levels(first[near], second[near])
    below: list[_Listed] = []
    above: list[_Listed] = []
    for number, place in enumerate(near.tolist()):
        pair = links.pair(int(first[place]), int(second[place]))
        if pair not in decided and paired.isdisjoint(pair):
            side = above if bits[place] >= matching.minimum else below
            side.append((pair, levels[number].tobytes()))
    return _different(list(_in_turns(above, below)))


def _scored(matching: Matching) -> tuple[Places, Places, NDArray[np.float64]]:
    """Return the pairs above the threshold, and of the others an even sample, with their bits."""
    first, second, bits = matching.probable
    packed = matching.candidates.packed
    packed = packed[:: -(-len(packed) // _SAMPLE) or 1]
    size = matching.candidates.records
    left, right = packed // size, packed % size
    sampled = matching.score(left, right).bits if len(packed) else np.zeros(0)
    below = sampled < matching.minimum
    return (
        np.concatenate([first, left[below]]),
        np.concatenate([second, right[below]]),
        np.concatenate([bits, sampled[below]]),
    )


_Listed = tuple[links.Pair, bytes]
"""A pair with the pattern of its levels."""


def _in_turns(first: list[_Listed], second: list[_Listed]) -> Iterator[_Listed]:
    """Yield the items of two lists in turns, then what is left of the longer one."""
    shorter = min(len(first), len(second))
    for pair in zip(first[:shorter], second[:shorter], strict=True):
        yield from pair
    yield from first[shorter:]
    yield from second[shorter:]


def _different(listed: list[_Listed]) -> list[links.Pair]:
    """Return the pairs, each record once: first one of each pattern of levels, then the others."""
    chosen: list[links.Pair] = []
    taken: set[int] = set()
    patterns: set[bytes] = set()
    for is_first in (True, False):
        for pair, pattern in listed:
            if len(chosen) == _SPARE:
                return chosen
            if not taken.isdisjoint(pair) or (is_first and pattern in patterns):
                continue
            chosen.append(pair)
            taken.update(pair)
            patterns.add(pattern)
    return chosen
