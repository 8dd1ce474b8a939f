"""Split records of one key where they must be near in two columns, or have periods that overlap. Pure.

The answers are those of comparing every record with every other. Whatever lies between two near values is near both,
so a record is compared only with its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rules.models import Distance
from rules.pairs.distances import apart, is_near
from rules.pairs.record import Record, RecordName, once
from rules.values import order_key

_Entry = tuple[tuple[Any, ...], int]
"""A record's place in the second column, and its number in the order of the first."""


@dataclass(frozen=True)
class Limit:
    """The largest distance in one column."""

    column: str
    by: Distance

    def holds(self, first: Record, second: Record) -> bool:
        return is_near(first.values[self.column], second.values[self.column], self.by)


def chains(records: Sequence[Record], first: Limit, second: Limit) -> list[list[Record]]:
    """Return the parts that are connected by pairs of records near in both columns."""
    recent = _Recent(in_order(records, first.column), first, second)
    parts: dict[int, list[int]] = {}
    for number in range(len(recent.records)):
        parts[number] = [number]
        for neighbour in recent.beside(number):
            _join(parts, neighbour, number)
        recent.add(number)
    return [[recent.records[n] for n in sorted(part)] for number, part in parts.items() if min(part) == number]


def _join(parts: dict[int, list[int]], first: int, second: int) -> None:
    large, small = sorted((parts[first], parts[second]), key=len, reverse=True)
    if large is not small:
        large += small
        parts.update(dict.fromkeys(small, large))


def windows(records: Sequence[Record], first: Limit, second: Limit) -> list[list[Record]]:
    """Return windows: the earliest free record opens one, which holds all free records near it in both columns.

    Openers that can still take records are not near one another, so a record is near two of them at most.
    """
    openers = _Recent(in_order(records, first.column), first, second)
    members: dict[int, list[Record]] = {}
    for number, record in enumerate(openers.records):
        opener = min(openers.beside(number), default=None)
        if opener is None:
            openers.add(number)
        members.setdefault(number if opener is None else opener, []).append(record)
    return list(members.values())


def neighbours(windows: Sequence[Sequence[Record]], first: Limit, second: Limit) -> Mapping[int, Sequence[Record]]:
    """Return, by the identity of a record, the records of other windows that are near it in both columns."""
    recent = _Recent(in_order([record for part in windows for record in part], first.column), first, second)
    window_by_record = {id(record): number for number, part in enumerate(windows) for record in part}
    window = [window_by_record[id(record)] for record in recent.records]
    near_by_record: dict[int, list[Record]] = defaultdict(list)
    for number, record in enumerate(recent.records):
        for near in recent.near(number, window):
            near_by_record[id(record)].append(near)
            near_by_record[id(near)].append(record)
        recent.add(number)
    return near_by_record


def nearest(
    group: Sequence[Record],
    neighbours: Mapping[int, Sequence[Record]],
    column: str,
    excepted: frozenset[frozenset[RecordName]],
) -> list[Record]:
    """Return the neighbours of a group's records, except pairs listed as different, nearest in the column first."""
    distances: dict[int, tuple[Any, tuple[Any, ...], Record]] = {}
    for member in group:
        for near in neighbours.get(id(member), ()):
            if frozenset((member.name, near.name)) not in excepted:
                entry = (apart(member.values[column], near.values[column]), near.place, near)
                distances[id(near)] = min(entry, distances.get(id(near), entry), key=lambda entry: entry[:2])
    in_distance = sorted(distances.values(), key=lambda entry: entry[:2])
    return once([*group, *(record for _, _, record in in_distance)])[len(group) :]


def overlapping(records: Sequence[Record], begin: str, end: str, *, includes_ends: bool) -> list[list[Record]]:
    """Return the parts that are connected by overlapping periods; a period without end never ends."""
    groups: list[list[Record]] = []
    reach: tuple[Any, ...] = ()
    for record in in_order(records, begin):
        begins, ends = order_key(record.values[begin]), order_key(record.values[end])  # nothing is after a null
        if groups and (begins < reach or (begins == reach and includes_ends)):
            groups[-1].append(record)
            reach = max(reach, ends)
        else:
            groups.append([record])
            reach = ends
    return groups


def in_order(records: Sequence[Record], column: str) -> list[Record]:
    return sorted(records, key=lambda record: (order_key(record.values[column]), record.place))


class _Recent:
    """Records near the newest one in the first column, sorted by the second."""

    def __init__(self, records: list[Record], first: Limit, second: Limit) -> None:
        self.records = records
        self._first, self._second = first, second
        self._by_first: deque[_Entry] = deque()
        self._by_second: list[_Entry] = []

    def add(self, number: int) -> None:
        entry = (order_key(self.records[number].values[self._second.column]), number)
        self._by_first.append(entry)
        insort(self._by_second, entry)

    def beside(self, number: int) -> list[int]:
        """Return the numbers of the nearest record on each side in the second column, if it is near in both."""
        at = self._place(number)
        sides = (n for _, n in self._by_second[max(at - 1, 0) : at + 1])
        return [n for n in sides if self._second.holds(self.records[n], self.records[number])]

    def near(self, number: int, windows: Sequence[int]) -> Iterator[Record]:
        """Yield all records of other windows that are near in both columns."""
        at, record = self._place(number), self.records[number]
        for side in (range(at - 1, -1, -1), range(at, len(self._by_second))):
            for place in side:
                _, other = self._by_second[place]
                if windows[other] == windows[number]:
                    continue
                if not self._second.holds(self.records[other], record):
                    break
                yield self.records[other]

    def _place(self, number: int) -> int:
        """Forget the records that this one has left behind; return its place by the second column."""
        record = self.records[number]
        while self._by_first and not self._first.holds(self.records[self._by_first[0][1]], record):
            del self._by_second[bisect_left(self._by_second, self._by_first.popleft())]
        return bisect_left(self._by_second, (order_key(record.values[self._second.column]), number))
