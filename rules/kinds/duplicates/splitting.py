"""Apply `gap`, `window`, `overlap` and `repeats`: check their columns, split records, find what is nearby.

Runs of `consecutive` are in a module of their own.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from rules import fitting, grouping, nearness
from rules.grouping import Record, RecordName
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.spans import MaximumDistance, Overlap
from rules.nearness import Limit
from rules.values import Schema, sameness

Pairs = frozenset[frozenset[RecordName]]


def misfits(rule: DuplicatesRule, schema: Schema) -> Iterator[str]:
    """Yield a sentence for each column whose type does not fit."""
    if rule.overlap:
        yield from fitting.period(schema, rule.overlap.begin, rule.overlap.end)
        return
    if rule.consecutive:
        yield from fitting.order(schema, "consecutive", rule.consecutive.by)
        return
    span = rule.gap or rule.window
    while span is not None:
        yield from fitting.span(schema, rule.span_setting, span.column, span.by)
        span = span.also


def split(rule: DuplicatesRule, records: list[Record]) -> list[list[Record]]:
    """Split records of one key, at least one, that take part; without a span they stay together."""
    if rule.overlap:
        return _by_period(rule.overlap, records)
    if rule.gap:
        return nearness.chains(records, *_limits(rule.gap)) if rule.gap.also else _chains(rule.gap, records)
    if rule.window:
        return nearness.windows(records, *_limits(rule.window)) if rule.window.also else _windows(rule.window, records)
    return [sorted(records, key=lambda record: record.place)]


def numbered(column: str, records: Sequence[Record]) -> list[list[tuple[Record, int]]]:
    """Return the first records of each value of the column, then the second ones, and so on.

    Each record has the number of records with its value. The order within a value is that of ids, without an id that
    of files and rows; of records with one id the first counts.
    """
    of_value: dict[Hashable, list[Record]] = defaultdict(list)
    for record in grouping.once(sorted(records, key=lambda record: record.place)):
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
        reach = grouping.Reach(window.column, window.by, excepted)
        return lambda group, number: grouping.nearby(group, windows, number, reach)
    neighbours = nearness.neighbours(windows, *_limits(window))
    return lambda group, _number: nearness.nearest(group, neighbours, window.column, excepted)


def _by_period(overlap: Overlap, records: list[Record]) -> list[list[Record]]:
    are_instants = isinstance(records[0].values[overlap.begin], dt.datetime)
    includes_ends = overlap.includes_ends(are_instants=are_instants)
    return nearness.overlapping(records, overlap.begin, overlap.end, includes_ends=includes_ends)


def _chains(gap: MaximumDistance, records: list[Record]) -> list[list[Record]]:
    return grouping.chains(records, gap.column, gap.by)


def _windows(window: MaximumDistance, records: list[Record]) -> list[list[Record]]:
    return grouping.windows(records, window.column, window.by)


def _limits(span: MaximumDistance) -> tuple[Limit, Limit]:
    second = span.also or span
    return Limit(span.column, span.by), Limit(second.column, second.by)
