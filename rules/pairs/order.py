"""Split records of one key where they must be near in one column. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rules.models import Distance
from rules.pairs.distances import apart, is_near
from rules.pairs.record import Record, RecordName, once
from rules.values import order_key


def chains(records: Sequence[Record], column: str, by: Distance) -> list[list[Record]]:
    """Split the records, in the column's order, where two neighbours are more than `by` apart."""
    return _cut(records, column, by, against=-1)


def windows(records: Sequence[Record], column: str, by: Distance) -> list[list[Record]]:
    """Split the records greedily: the earliest free record opens a window, which holds all up to `by` later."""
    return _cut(records, column, by, against=0)


def _cut(records: Sequence[Record], column: str, by: Distance, against: int) -> list[list[Record]]:
    """Cut where a record is more than `by` after the first (0) or the last (-1) record of the previous group."""
    groups: list[list[Record]] = []
    for record in sorted(records, key=lambda record: (order_key(record.values[column]), record.place)):
        if groups and is_near(groups[-1][against].values[column], record.values[column], by):
            groups[-1].append(record)
        else:
            groups.append([record])
    return groups


@dataclass(frozen=True)
class Reach:
    """The limit of nearness: values of the column at most `by` apart, except for `pairs` listed as different."""

    column: str
    by: Distance
    pairs: frozenset[frozenset[RecordName]]


def nearby(part: Sequence[Record], windows: Sequence[Sequence[Record]], number: int, reach: Reach) -> list[Record]:
    """Return the records of other windows than this `number` that are near a record of its `part`, nearest first."""
    earlier = (record for n in range(number - 1, -1, -1) for record in reversed(windows[n]))
    later = (record for n in range(number + 1, len(windows)) for record in windows[n])
    near = [*_reached(part, earlier, reach), *_reached(part[::-1], later, reach)]
    near.sort(key=lambda pair: (pair[0], pair[1].place))
    return once([*part, *(record for _, record in near)])[len(part) :]


def _reached(part: Sequence[Record], others: Iterable[Record], reach: Reach) -> Iterator[tuple[Any, Record]]:
    """Yield each of the others that is near a record of the part, with its distance; both start where they meet."""
    for record in others:
        if not is_near(part[0].values[reach.column], record.values[reach.column], reach.by):
            return
        same = (member for member in part if frozenset((member.name, record.name)) not in reach.pairs)
        nearest = next(same, None) if reach.pairs else part[0]
        if nearest is None:
            continue
        values = nearest.values[reach.column], record.values[reach.column]
        if is_near(*values, reach.by):
            yield apart(*values), record
