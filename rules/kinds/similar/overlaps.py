"""Columns that repeat others: each counts only by what the others do not say."""

from __future__ import annotations

import numpy as np

from rules.kinds.similar.words import Bags

REPEATS = 0.5
"""A column repeats another if on average this share of the other's words is in it."""


def reduced(bags: list[Bags], composite: list[bool]) -> list[Bags]:
    """Return the words of each composite column without those of the columns that it repeats.

    Of two composite columns the longer one repeats the shorter one.
    """
    order = sorted(range(len(bags)), key=lambda number: (composite[number], _length(bags[number]), number))
    result = list(bags)
    for position, longer in enumerate(order):
        if not composite[longer]:
            continue
        for shorter in order[:position]:
            if _share(bags[shorter], bags[longer]) > REPEATS:
                result[longer] = result[longer].only(~np.isin(result[longer].packed, bags[shorter].packed))
    return result


def _length(bag: Bags) -> float:
    return len(bag.words) / max(int(bag.filled().sum()), 1)


def _share(shorter: Bags, longer: Bags) -> float:
    """Return the mean share of the words of one column that the other one has, over records with both."""
    both = shorter.filled() & longer.filled()
    if both.sum() < 2:
        return 0.0
    inside = shorter.places[np.isin(shorter.packed, longer.packed)]
    of_record = np.bincount(shorter.places, minlength=shorter.records)
    shared = np.bincount(inside, minlength=shorter.records)
    return float((shared[both] / of_record[both]).mean())
