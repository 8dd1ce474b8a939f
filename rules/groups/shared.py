"""The values of several keys that join records, and the components they connect, in arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rules.engines.base import Positions

NO_VALUE = -1
Comparable = tuple[Any, ...]
"""The value of a key in sortable form, equal exactly for equal ones."""


@dataclass(frozen=True)
class JoiningValues:
    """The values of a key that join records.

    `ranks` has for each record the rank of its value among these, or -1; `count` is their number. `crowded` are the
    values that too many records share, and `left_out` is the number of these records.
    """

    ranks: Positions
    count: int
    crowded: frozenset[Comparable]
    left_out: int

    @classmethod
    def of(cls, numbers: Positions, values: Sequence[Comparable], most: int) -> JoiningValues:
        """Return the values that 2 to `most` records share; `numbers` has each record's position in `values`, or -1."""
        records = np.bincount(numbers[numbers != NO_VALUE], minlength=len(values))
        is_crowded = records > most
        joining = np.flatnonzero((records > 1) & ~is_crowded)
        ranks = np.full(len(values) + 1, NO_VALUE, np.int64)  # the last one is that of -1
        ranks[sorted(joining.tolist(), key=values.__getitem__)] = np.arange(len(joining))
        crowded = frozenset(values[number] for number in np.flatnonzero(is_crowded).tolist())
        return cls(ranks[numbers], len(joining), crowded, int(records[is_crowded].sum()))


def components(shared: Sequence[JoiningValues]) -> tuple[Positions, Positions]:
    """Return the positions of records that any key joins, component by component, and the component of each.

    Components are numbered in the order of their smallest value: of the first key, then of the second, and so on.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415 - takes a third of a second to load
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    alike = [_by_value(values.ranks) for values in shared]
    first, second = (np.concatenate([order[part][same] for order, same in alike]) for part in _NEIGHBOURS)
    records = len(shared[0].ranks)
    pairs = coo_array((np.ones(len(first), np.bool_), (first, second)), shape=(records, records))
    _, labels = connected_components(pairs, directed=False)
    smallest = np.full(records, _LAST, np.int64)
    begin = 0
    for values, (order, _) in zip(shared, alike, strict=True):
        np.minimum.at(smallest, labels[order], begin + values.ranks[order])
        begin += values.count
    places = smallest[labels]
    joined = np.flatnonzero(places != _LAST)
    order = joined[np.argsort(places[joined], kind="stable")]
    return order, places[order]


_NEIGHBOURS = (slice(None, -1), slice(1, None))
_LAST = np.iinfo(np.int64).max


def _by_value(ranks: Positions) -> tuple[Positions, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return the positions of the records with a value, in the order of values, and whether the next has the same."""
    positions = np.flatnonzero(ranks != NO_VALUE)
    order = positions[np.argsort(ranks[positions], kind="stable")]
    return order, ranks[order][1:] == ranks[order][:-1]
