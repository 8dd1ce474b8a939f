"""How rows become groups."""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from rules import grouping, survivorship
from rules.engines.base import Group, Nearby, Positions
from rules.kinds.duplicates.bound import BoundRule
from rules.normalise import chain_function
from rules.packed import Packed
from rules.values import Value, order_key

_AT_ONCE = 5_000
"""Records that are objects at the same time, and those with a key that one of them has."""
_NO_PART = -1
_NEAREST = 10  # records near a group that it names
_Key = tuple[Value, ...]


@dataclass(frozen=True)
class Grouping:
    """Exact groups from the records an engine brought back."""

    bound: BoundRule
    slot: dt.datetime

    def groups(self, members: pa.Table, instead_of: pa.Table | None = None) -> Sequence[Group]:
        """Groups of the members; of the records in `instead_of` only those whose key no member has."""
        tables = [one.combine_chunks() for one in (members, instead_of) if one is not None]
        with _no_collections():
            return Packed(group for some in self._by_key(tables) for group in self._together(self._keyed(some)))

    def _by_key(self, tables: Sequence[pa.Table]) -> Iterator[list[dict[str, Value]]]:
        """The records, some at a time in the order of their keys, so that those of one key come together."""
        order, ranks = _in_order(*self._numbered(tables))
        begin = 0
        while begin < len(order):
            last = min(begin + _AT_ONCE, len(order)) - 1
            end = int(np.searchsorted(ranks, ranks[last], side="right"))
            yield list(_rows_at(tables, np.sort(order[begin:end])))
            begin = end

    def _numbered(self, tables: Sequence[pa.Table]) -> tuple[list[tuple[Any, ...]], Positions]:
        """Different keys as what orders them, and which of these each record has; one of a later table has none that a
        table before it has."""
        read = list(self.bound.columns.sources([part.column for part in self.bound.parts]))
        known: dict[tuple[Any, ...], int] = {}
        found = [np.empty(0, np.int64)]
        for table in tables:
            before = len(known)
            for begin in range(0, len(table), _AT_ONCE):
                rows = grouping.rows(table.select(read).slice(begin, _AT_ONCE))
                numbers = [_number(key, known) for key, _ in self._with_keys(rows)]
                found.append(np.array([n if n >= before else _NO_PART for n in numbers], np.int64))
        return list(known), np.concatenate(found)

    def of_rows(self, rows: Iterable[Mapping[str, Value]]) -> tuple[Group, ...]:
        """Groups of records that take part."""
        return self._together(self._keyed(rows))

    def _together(self, keyed: Iterable[grouping.Keyed]) -> tuple[Group, ...]:
        records = grouping.identified(keyed, self.bound.relation, self.bound.content)
        return grouping.in_order(group for alike in grouping.by_key(records) for group in self._of_key(alike))

    def _of_key(self, alike: list[grouping.Record]) -> Iterator[Group]:
        window = self.bound.rule.window
        apart = self._apart(alike)
        for number, together in enumerate(apart):
            for part in grouping.connected(grouping.once(together), self._excepted):
                group = self._group(part)
                if group is not None and window is not None:
                    reach = grouping.Reach(window.column, window.by, self._excepted)
                    yield self._with_nearby(group, grouping.nearby(part, apart, number, reach), window.column)
                elif group is not None:
                    yield group

    def _with_nearby(self, group: Group, near: list[grouping.Record], column: str) -> Group:
        members = ((grouping.member(one, self.bound.shown), one.values[column]) for one in near[:_NEAREST])
        nearest = tuple(Nearby(one.id, one.values, at) for one, at in members)
        return replace(group, nearby=nearest, nearby_records=len(near))

    def _keyed(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[grouping.Keyed]:
        return ((key, whole) for key, whole in self._with_keys(rows) if key is not None)

    def _with_keys(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[tuple[_Key | None, Mapping[str, Value]]]:
        """The key of each, None for one that takes no part, and the record with its derived columns."""
        parts = self.bound.parts
        functions = [chain_function(part.steps, self.bound.relation.timezone) for part in parts]
        for row in rows:
            whole = self.bound.columns.complete(row, self.slot)
            key = tuple(f(whole[p.column]) for f, p in zip(functions, parts, strict=True))
            takes_part = None not in key or all(
                v is not None or self.bound.matches_null(p) for v, p in zip(key, parts, strict=True)
            )
            yield key if takes_part else None, whole

    def _apart(self, alike: list[grouping.Record]) -> list[list[grouping.Record]]:
        rule = self.bound.rule
        if rule.gap:
            return grouping.chains(alike, rule.gap.column, rule.gap.by)
        if rule.window:
            return grouping.windows(alike, rule.window.column, rule.window.by)
        return [sorted(alike, key=lambda one: one.place)]

    def _group(self, records: list[grouping.Record]) -> Group | None:
        rule, relation = self.bound.rule, self.bound.relation
        if len(records) < rule.minimum or not self._wanted(records):
            return None
        keeper, *surplus = survivorship.in_order(
            records, self.bound.keep, self.bound.considered, lambda record: record.place
        )
        at = (
            sorted((r.values[self.bound.span_column] for r in records), key=order_key) if self.bound.span_column else []
        )
        return Group(
            key=dict(zip(self.bound.key_names, records[0].key, strict=True)),
            keeper=grouping.member(keeper, self.bound.shown),
            surplus=tuple(grouping.member(one, self.bound.shown) for one in surplus),
            money=grouping.money_at_risk(surplus, relation),
            span=(at[0], at[-1]) if at else None,
        )

    @cached_property
    def _excepted(self) -> frozenset[frozenset[tuple[str, ...]]]:
        return frozenset(frozenset(pair) for pair in self.bound.rule.except_)

    def _wanted(self, records: list[grouping.Record]) -> bool:
        rule = self.bound.rule
        if rule.distinct and grouping.different(records, rule.distinct) < 2:
            return False
        return self.bound.having is None or self.bound.having.evaluate([r.values for r in records], self.slot) is True


def _number(key: _Key | None, known: dict[tuple[Any, ...], int]) -> int:
    return _NO_PART if key is None else known.setdefault(tuple(map(order_key, key)), len(known))


def _in_order(keys: list[tuple[Any, ...]], numbers: Positions) -> tuple[Positions, Positions]:
    """The positions of records that take part, in the order of their keys, and the rank of each one's key."""
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    positions = np.flatnonzero(numbers != _NO_PART)
    found = ranks[numbers[positions]]
    order = np.argsort(found, kind="stable")
    return positions[order], found[order]


def _rows_at(tables: Sequence[pa.Table], positions: Positions) -> Iterator[dict[str, Value]]:
    """The rows at these ascending positions, counted through all tables."""
    begin = 0
    for table in tables:
        mine = positions[(positions >= begin) & (positions < begin + len(table))] - begin
        yield from _picked(table, mine)
        begin += len(table)


def _picked(table: pa.Table, positions: Positions) -> Iterable[dict[str, Value]]:
    if len(table) > _AT_ONCE:
        return grouping.rows(table.take(pa.array(positions)))
    rows = list(grouping.rows(table))  # `take` would load functions of pyarrow that take longer than a small file
    return (rows[position] for position in positions.tolist())


@contextmanager
def _no_collections() -> Iterator[None]:
    """Records and groups are many objects that stay and hold no cycles: looking for some takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
