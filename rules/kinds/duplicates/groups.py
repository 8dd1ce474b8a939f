"""Build groups from rows."""

from __future__ import annotations

import datetime as dt
import gc
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from rules import grouping, survivorship
from rules.engines.base import DuplicateGroup, Nearby, Positions
from rules.kinds.base import Sample
from rules.kinds.duplicates.bound import BoundRule, Criteria
from rules.normalise import chain_function
from rules.packed import Packed
from rules.values import Value, order_key

_AT_ONCE = 5_000
"""Records that are Python objects at the same time; all records of a key come together, so it may be more."""
_NO_PART = -1
_NEAREST = 10  # records near a group that it names
Key = tuple[Value, ...]


@dataclass(frozen=True)
class Grouping(ABC):
    """Build exact groups from the records that an engine returned."""

    bound: Criteria
    slot: dt.datetime

    @property
    @abstractmethod
    def key_columns(self) -> Sequence[str]:
        """The columns of a table of members from which `keys` computes the keys."""

    @abstractmethod
    def keys(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[Key | None]:
        """Yield the key of each row; None if it takes no part."""

    @abstractmethod
    def records(self, rows: Iterable[Mapping[str, Value]]) -> list[grouping.Record]:
        """Return the records that take part."""

    @abstractmethod
    def money(self, surplus: Sequence[grouping.Record]) -> dict[str, Decimal]:
        """Return the sum of the surplus per currency."""

    def groups(self, members: pa.Table, instead_of: pa.Table | None = None) -> Sequence[DuplicateGroup]:
        """Group the members, and those records of `instead_of` whose key no member has."""
        tables = [table.combine_chunks() for table in (members, instead_of) if table is not None]
        with _no_collections():
            return Packed(group for rows in self._by_key(tables) for group in self.of_rows(rows))

    def _by_key(self, tables: Sequence[pa.Table]) -> Iterator[list[dict[str, Value]]]:
        """Yield the records in parts and in the order of their keys; records of one key are in one part."""
        order, ranks = _in_order(*self._numbered(tables))
        begin = 0
        while begin < len(order):
            last = min(begin + _AT_ONCE, len(order)) - 1
            end = int(np.searchsorted(ranks, ranks[last], side="right"))
            yield list(_rows_at(tables, np.sort(order[begin:end])))
            begin = end

    def _numbered(self, tables: Sequence[pa.Table]) -> tuple[list[tuple[Any, ...]], Positions]:
        """Return the different keys in sortable form, and for each record the number of its key.

        A record takes no part if an earlier table has its key.
        """
        columns = list(self.key_columns)
        key_numbers: dict[tuple[Any, ...], int] = {}
        numbers_by_table = [np.empty(0, np.int64)]
        for table in tables:
            first_new = len(key_numbers)
            for begin in range(0, len(table), _AT_ONCE):
                rows = grouping.rows(table.select(columns).slice(begin, _AT_ONCE))
                numbers = [_number(key, key_numbers) for key in self.keys(rows)]
                numbers_by_table.append(np.array([n if n >= first_new else _NO_PART for n in numbers], np.int64))
        return list(key_numbers), np.concatenate(numbers_by_table)

    def of_rows(self, rows: Iterable[Mapping[str, Value]]) -> tuple[DuplicateGroup, ...]:
        """Group rows that meet all conditions."""
        return self.of_records(self.records(rows))

    def of_records(self, records: Iterable[grouping.Record]) -> tuple[DuplicateGroup, ...]:
        """Group records that take part."""
        return grouping.in_order(group for alike in grouping.by_key(records) for group in self._of_key(alike))

    def samples(self, rows: Iterable[Mapping[str, Value]]) -> list[Sample]:
        """Return how each of these records is compared; all of them take part unless a part of their key is empty."""
        columns = [part.column for part in self.bound.parts]
        return [
            Sample(
                record.id,
                {name: record.values[name] for name in self.bound.shown},
                tuple(zip(columns, (record.values[name] for name in columns), record.key, strict=True)),
            )
            for record in self.records(rows)
        ]

    def _of_key(self, alike: list[grouping.Record]) -> Iterator[DuplicateGroup]:
        window = self.bound.rule.window
        parts = self._split(alike)
        for number, records in enumerate(parts):
            for part in grouping.connected(grouping.once(records), self.bound.excepted):
                group = self._group(part)
                if group is not None and window is not None:
                    reach = grouping.Reach(window.column, window.by, self.bound.excepted)
                    yield self._with_nearby(group, grouping.nearby(part, parts, number, reach), window.column)
                elif group is not None:
                    yield group

    def _with_nearby(self, group: DuplicateGroup, near: list[grouping.Record], column: str) -> DuplicateGroup:
        members = ((grouping.member(record, self.bound.shown), record.values[column]) for record in near[:_NEAREST])
        nearest = tuple(Nearby(member.id, member.values, member.dataset, at=at) for member, at in members)
        return replace(group, nearby=nearest, nearby_records=len(near))

    def _split(self, alike: list[grouping.Record]) -> list[list[grouping.Record]]:
        rule = self.bound.rule
        if rule.gap:
            return grouping.chains(alike, rule.gap.column, rule.gap.by)
        if rule.window:
            return grouping.windows(alike, rule.window.column, rule.window.by)
        return [sorted(alike, key=lambda record: record.place)]

    def _group(self, records: list[grouping.Record]) -> DuplicateGroup | None:
        if len(records) < self.bound.rule.minimum or not self._matches(records):
            return None
        keeper, *surplus = survivorship.in_order(
            records, self.bound.keep, self.bound.considered, lambda record: record.place
        )
        places = (
            sorted((r.values[self.bound.span_column] for r in records), key=order_key) if self.bound.span_column else []
        )
        return DuplicateGroup(
            key=dict(zip(self.bound.key_names, records[0].key, strict=True)),
            keeper=grouping.member(keeper, self.bound.shown),
            surplus=tuple(grouping.member(record, self.bound.shown) for record in surplus),
            money=self.money(surplus),
            span=(places[0], places[-1]) if places else None,
        )

    def _matches(self, records: list[grouping.Record]) -> bool:
        rule = self.bound.rule
        if rule.distinct and grouping.different(records, rule.distinct) < 2:
            return False
        return self.bound.having is None or self.bound.having.evaluate([r.values for r in records], self.slot) is True


@dataclass(frozen=True)
class DatasetGrouping(Grouping):
    """Build groups of the records of one dataset."""

    bound: BoundRule

    @property
    def key_columns(self) -> Sequence[str]:
        return list(self.bound.columns.sources([part.column for part in self.bound.parts]))

    def keys(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[Key | None]:
        return (key for key, _ in self._with_keys(rows))

    def records(self, rows: Iterable[Mapping[str, Value]]) -> list[grouping.Record]:
        keyed = ((key, record) for key, record in self._with_keys(rows) if key is not None)
        return grouping.identified(keyed, self.bound.relation, self.bound.content)

    def money(self, surplus: Sequence[grouping.Record]) -> dict[str, Decimal]:
        return grouping.money_at_risk(surplus, self.bound.relation)

    def _with_keys(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[tuple[Key | None, Mapping[str, Value]]]:
        """Yield the key of each record (None if it takes no part), and the record with its derived columns."""
        parts = self.bound.parts
        functions = [chain_function(part.steps, self.bound.relation.timezone) for part in parts]
        for row in rows:
            record = self.bound.columns.complete(row, self.slot)
            key = tuple(function(record[part.column]) for function, part in zip(functions, parts, strict=True))
            takes_part = None not in key or all(
                value is not None or self.bound.matches_null(part) for value, part in zip(key, parts, strict=True)
            )
            yield key if takes_part else None, record


def _number(key: Key | None, key_numbers: dict[tuple[Any, ...], int]) -> int:
    return _NO_PART if key is None else key_numbers.setdefault(tuple(map(order_key, key)), len(key_numbers))


def _in_order(keys: list[tuple[Any, ...]], numbers: Positions) -> tuple[Positions, Positions]:
    """Return the positions of records that take part, in the order of their keys, and the rank of each key."""
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    positions = np.flatnonzero(numbers != _NO_PART)
    record_ranks = ranks[numbers[positions]]
    order = np.argsort(record_ranks, kind="stable")
    return positions[order], record_ranks[order]


def _rows_at(tables: Sequence[pa.Table], positions: Positions) -> Iterator[dict[str, Value]]:
    """Yield the rows at these ascending positions, counted through all tables."""
    begin = 0
    for table in tables:
        local = positions[(positions >= begin) & (positions < begin + len(table))] - begin
        yield from _picked(table, local)
        begin += len(table)


def _picked(table: pa.Table, positions: Positions) -> Iterable[dict[str, Value]]:
    if len(table) > _AT_ONCE:
        return grouping.rows(table.take(pa.array(positions)))
    rows = list(grouping.rows(table))  # `take` loads functions of pyarrow, which takes longer than a small file
    return (rows[position] for position in positions.tolist())


@contextmanager
def _no_collections() -> Iterator[None]:
    """Pause garbage collection: groups are many lasting objects without cycles, and a third of the time went there."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
