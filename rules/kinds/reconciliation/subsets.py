"""The one subset of a few amounts that adds up to a target, by exact search."""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice


class Outcome(enum.Enum):
    """How a search ended."""

    FOUND = "found"
    NONE = "none"
    AMBIGUOUS = "ambiguous"
    TOO_MANY = "too many"


@dataclass(frozen=True)
class Subset:
    """The answer of a search; `positions` are those of the amounts that add up, in order, if it found them."""

    outcome: Outcome
    positions: tuple[int, ...] = ()


def subset(target: int, amounts: Sequence[int], tolerance: int, most: int = 12) -> Subset:
    """Find the subset, not empty, whose sum is at most `tolerance` away from the target.

    Two such subsets are ambiguous, even of equal amounts: they are different records. More than `most` amounts are not
    searched: by chance some subset adds up for 3 % of all targets with 12 amounts, and for 58 % with 20.

    Each sum of the first half of the amounts looks up its complement among the sorted sums of the second half (Horowitz
    and Sahni, 1974): 2^(n/2) steps, in integers, and none after the second subset.
    """
    if len(amounts) > most:
        return Subset(Outcome.TOO_MANY)
    match list(islice(_subsets(target, amounts, tolerance), 2)):
        case []:
            return Subset(Outcome.NONE)
        case [positions]:
            return Subset(Outcome.FOUND, tuple(place for place in range(len(amounts)) if positions >> place & 1))
        case _:
            return Subset(Outcome.AMBIGUOUS)


def _subsets(target: int, amounts: Sequence[int], tolerance: int) -> Iterator[int]:
    """Yield the subsets that add up, as bits."""
    half = len(amounts) // 2
    first, second = _sums(amounts[:half]), _sums(amounts[half:])
    order = sorted(range(len(second)), key=second.__getitem__)
    ordered = sorted(second)
    for chosen, total in enumerate(first):
        low = bisect_left(ordered, target - tolerance - total)
        high = bisect_right(ordered, target + tolerance - total)
        yield from filter(None, (chosen | order[place] << half for place in range(low, high)))


def _sums(amounts: Sequence[int]) -> list[int]:
    """Return the sum of every subset; the bits of its place tell the amounts."""
    sums = [0]
    for amount in amounts:
        sums += [total + amount for total in sums]
    return sums
