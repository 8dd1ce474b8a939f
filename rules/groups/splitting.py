"""Apply `gap`, `window`, `overlap` and `repeats`: split records of one key, and find what is nearby. Pure."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal

from rules.groups.spans import Consecutive, MaximumDistance, Overlap
from rules.pairs import nearness, order
from rules.pairs.nearness import Limit
from rules.pairs.record import Record, RecordName, once
from rules.values import order_key, sameness

Pairs = frozenset[frozenset[RecordName]]


def numbered(column: str, records: Sequence[Record]) -> list[list[tuple[Record, int]]]:
    """Return the first records of each value of the column, then the second ones, and so on.

    Each record has the number of records with its value. The order within a value is that of ids, without an id that
    of files and rows; of records with one id the first counts.
    """
    of_value: dict[Hashable, list[Record]] = defaultdict(list)
    for record in once(sorted(records, key=lambda record: record.place)):
        of_value[sameness((record.values[column],))].append(record)
    longest = max(map(len, of_value.values()))
    return [
        [(alike[number], len(alike)) for alike in of_value.values() if number < len(alike)] for number in range(longest)
    ]


def nearby(
    window: MaximumDistance, windows: Sequence[Sequence[Record]], excepted: Pairs
) -> Callable[[Sequence[Record], int], list[Record]]:
    """Return a function from a group and its window's number to the near records of other windows, nearest first."""
    if window.also is None:
        reach = order.Reach(window.column, window.by, excepted)
        return lambda group, number: order.nearby(group, windows, number, reach)
    neighbours = nearness.neighbours(windows, *_limits(window))
    return lambda group, _number: nearness.nearest(group, neighbours, window.column, excepted)


def by_period(overlap: Overlap, records: list[Record]) -> list[list[Record]]:
    """Split records where their periods do not overlap."""
    are_instants = isinstance(records[0].values[overlap.begin], dt.datetime)
    includes_ends = overlap.includes_ends(are_instants=are_instants)
    return nearness.overlapping(records, overlap.begin, overlap.end, includes_ends=includes_ends)


def chains(gap: MaximumDistance, records: list[Record]) -> list[list[Record]]:
    """Split records where two neighbours are too far apart."""
    return nearness.chains(records, *_limits(gap)) if gap.also else order.chains(records, gap.column, gap.by)


def windows(window: MaximumDistance, records: list[Record]) -> list[list[Record]]:
    """Split records into windows, each within a distance from its first one."""
    if window.also:
        return nearness.windows(records, *_limits(window))
    return order.windows(records, window.column, window.by)


def runs(setting: Consecutive, position_column: str, records: Sequence[Record]) -> list[list[Record]]:
    """Split records of one key where another record is between two of them; each run is in the order of `by`."""
    chains = order.chains(records, position_column, Decimal(1))
    return [sorted(run, key=lambda record: (order_key(record.values[setting.by]), record.place)) for run in chains]


def _limits(span: MaximumDistance) -> tuple[Limit, Limit]:
    second = span.also or span
    return Limit(span.column, span.by), Limit(second.column, second.by)
