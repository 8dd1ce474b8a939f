"""Group records that share any of several keys: exact, in Python, and the same for every engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

import numpy as np
import pyarrow as pa

from rules.engines.base import Positions, RecordCounts, Skipped
from rules.groups.component import Component
from rules.groups.group import DuplicateGroup, Group, in_order
from rules.groups.keyed import AT_ONCE, Grouping, no_collections, rows_at
from rules.groups.settings import KeySettings
from rules.groups.share import ShareLimit
from rules.groups.shared import NO_VALUE, Comparable, JoiningValues, components
from rules.pairs.evidence import LinkingValues, linking_values
from rules.pairs.record import Record, once
from rules.pairs.separated import SeparatedPairs
from rules.values import Value, canonical, order_key
from rules.values.packed import Packed

Row = Mapping[str, Value]
Ranked = tuple[tuple[int, ...], Row]
"""The rank of a record's value under each key, see `JoiningValues`, and the record."""


def grouped(
    grouping: Grouping, members: pa.Table, instead_of: pa.Table | None, tally: RecordCounts, limit: ShareLimit
) -> tuple[Sequence[Group], tuple[Skipped, ...]]:
    """Return the groups of an engine's answer, and the records that a key did not join because too many share it.

    Raises KeyTooCommon.
    """
    if len(grouping.bound.keys) == 1:
        return grouping.groups(members, limit, instead_of), ()
    joined = Joining(grouping).groups(members, limit)
    return joined.groups, _crowded(grouping.bound, [tally.crowded, joined.left_out])


@dataclass(frozen=True)
class Joined:
    """Groups, and for each key the number of records whose value too many records share."""

    groups: Sequence[DuplicateGroup]
    left_out: tuple[int, ...]


@dataclass(frozen=True)
class Joining:
    """Builds exact groups from the records that an engine returned."""

    by_key: Grouping

    @property
    def bound(self) -> KeySettings:
        return self.by_key.bound

    def groups(self, members: pa.Table, limit: ShareLimit) -> Joined:
        """Group the members; their `shared_columns` tell which of their keys may repeat. Raises KeyTooCommon."""
        table = members.combine_chunks()
        with no_collections():
            shared = [self._shared(table, number) for number in range(len(self.bound.keys))]
            order, places = components(shared)
            limit.check(np.bincount(places), lambda n: self._first_link(table, shared, order[places == n]))
            parts = _by_component(table, shared, order, places)
            groups = Packed(limit.watched(group for records in parts for group in self._grouped(records)))
        return Joined(groups, tuple(values.left_out for values in shared))

    def _first_link(self, table: pa.Table, shared: Sequence[JoiningValues], positions: Positions) -> dict[str, Value]:
        """Return the value of one key by which the first record of a component is joined."""
        [row] = rows_at([table], positions[:1])
        number = next(number for number, values in enumerate(shared) if values.ranks[positions[0]] != NO_VALUE)
        columns = (self.bound.parts[part].column for part in self.bound.keys[number])
        values = self.by_key.values(self.by_key.completed(row), self.bound.keys[number])
        return dict(zip(columns, values, strict=True))

    def of_rows(self, rows: Sequence[Row]) -> tuple[DuplicateGroup, ...]:
        """Group records that meet the rule's conditions."""
        shared = []
        for number in range(len(self.bound.keys)):
            values: dict[Comparable, int] = {}
            numbers = [self._numbered(row, number, values) for row in rows]
            shared.append(JoiningValues.of(np.array(numbers, np.int64), list(values), self.bound.rule.max_shared))
        order, places = components(shared)
        parts: dict[int, list[Ranked]] = defaultdict(list)
        for place, position, ranks in zip(places.tolist(), order.tolist(), _ranks(shared, order), strict=True):
            parts[place].append((ranks, rows[position]))
        return tuple(group for part in parts.values() for group in self._grouped(part))

    def _shared(self, table: pa.Table, number: int) -> JoiningValues:
        """Return the shared values of a key; only records where it may repeat are looked at."""
        may_repeat = np.flatnonzero(table.column(self.bound.shared_columns[number]).to_numpy())
        table, numbers = (
            table.select(list(self.by_key.sources(self.bound.keys[number]))),
            np.full(len(table), NO_VALUE),
        )
        values: dict[Comparable, int] = {}
        number_by_row: dict[tuple[Value, ...], int] = {}
        for begin in range(0, len(may_repeat), AT_ONCE):
            positions = may_repeat[begin : begin + AT_ONCE]
            of_rows = []
            for row in rows_at([table], positions):
                given = tuple(row.values())
                if given not in number_by_row:
                    number_by_row[given] = self._numbered(row, number, values)
                of_rows.append(number_by_row[given])
            numbers[positions] = of_rows
        return JoiningValues.of(numbers, list(values), self.bound.rule.max_shared)

    def _numbered(self, row: Row, number: int, values: dict[Comparable, int]) -> int:
        """Return the number of the row's value under a key, a new one for a new value; -1 if it is incomplete."""
        key = self.by_key.values(self.by_key.completed(row), self.bound.keys[number])
        value = self._comparable(key, number)
        return NO_VALUE if value is None else values.setdefault(value, len(values))

    def _comparable(self, key: tuple[Value, ...], number: int) -> Comparable | None:
        """Return the key's value in comparable form; None if an empty part excludes it."""
        parts = (self.bound.parts[part] for part in self.bound.keys[number])
        if None in key and any(v is None and not self.bound.matches_null(p) for v, p in zip(key, parts, strict=True)):
            return None
        return tuple(map(order_key, key))

    def _grouped(self, ranked: Iterable[Ranked]) -> Sequence[DuplicateGroup]:
        """Return the groups of one component."""
        identified = self.by_key.identified((ranks, self.by_key.completed(row)) for ranks, row in ranked)
        records = once(sorted(identified, key=lambda record: record.place))
        component = Component(records, self._apart.of(records))
        groups = []
        for part in component.parts():
            ordered = self.by_key.ordered([records[position] for position in part])
            if ordered:
                groups.append(self.by_key.group(ordered, self._linking(component, part), component.links(ordered)))
        return in_order(groups) if len(groups) > 1 else groups

    def _linking(self, component: Component, part: Sequence[int]) -> dict[str, Value]:
        """Return the values that link a group; a column that has several is named `email`, `email (2)` and so on."""
        key: dict[str, Value] = {}
        for number, record in component.linking(part):
            for column, value in self._values(record, number):
                names = chain([column], (f"{column} ({place})" for place in count(2)))
                name = next(name for name in names if name not in key or canonical(key[name]) == canonical(value))
                key[name] = value
        return key

    def _agree_by(self, first: Record, second: Record) -> LinkingValues:
        """Return the values by which two records agree."""
        ranks = enumerate(zip(first.key, second.key, strict=True))
        keys = [number for number, (one, two) in ranks if one == two != NO_VALUE]
        return linking_values(item for number in keys for item in self._values(first, number))

    def _values(self, record: Record, number: int) -> Iterator[tuple[str, Value]]:
        """Yield the columns of a key with the record's values."""
        columns = (self.bound.parts[part].column for part in self.bound.keys[number])
        return zip(columns, self.by_key.values_of(record, self.bound.keys[number]), strict=True)

    @cached_property
    def _apart(self) -> SeparatedPairs:
        return SeparatedPairs(self.bound.excepted, self.bound.rule.judged, self._agree_by)


def _by_component(
    table: pa.Table, shared: Sequence[JoiningValues], order: Positions, places: Positions
) -> Iterator[list[Ranked]]:
    """Yield the rows of each component; few rows are Python objects at the same time."""
    begin = 0
    while begin < len(order):
        last = min(begin + AT_ONCE, len(order)) - 1
        end = int(np.searchsorted(places, places[last], side="right"))
        ascending = np.argsort(order[begin:end])
        positions = order[begin:end][ascending]
        rows = zip(_ranks(shared, positions), rows_at([table], positions), strict=True)
        parts: dict[int, list[Ranked]] = defaultdict(list)
        for place, row in zip(places[begin:end][ascending].tolist(), rows, strict=True):
            parts[place].append(row)
        yield from (parts[place] for place in sorted(parts))
        begin = end


def _ranks(shared: Sequence[JoiningValues], positions: Positions) -> Iterator[tuple[int, ...]]:
    return zip(*(values.ranks[positions].tolist() for values in shared), strict=True)


def _crowded(bound: KeySettings, counts: Iterable[Sequence[int]]) -> tuple[Skipped, ...]:
    """Put in words how many records of each key were not joined by it, because too many share their value."""
    reason = f"shared by more than {bound.rule.max_shared} records"
    left_out: dict[str, int] = {}
    for by_key in counts:
        for parts, records in zip(bound.keys, by_key, strict=False):
            column = ", ".join(dict.fromkeys(bound.parts[part].column for part in parts))
            left_out[column] = left_out.get(column, 0) + records
    return tuple(Skipped(column, reason, records, whole=False) for column, records in left_out.items() if records)
