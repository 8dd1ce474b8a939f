"""How rows become groups."""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from rules import grouping, survivorship
from rules.engines.base import Group
from rules.kinds.duplicates.fitted import Fitted
from rules.normalise import chain_function
from rules.values import Value, order_key, sameness


@dataclass(frozen=True)
class Grouping:
    """Exact groups from the records an engine brought back."""

    fitted: Fitted
    slot: dt.datetime

    def groups(self, members: pa.Table, instead_of: pa.Table | None = None) -> tuple[Group, ...]:
        """Groups of the members; of the records in `instead_of` only those whose key no member has."""
        with _no_collections():
            return self._groups(members, instead_of)

    def _groups(self, members: pa.Table, instead_of: pa.Table | None) -> tuple[Group, ...]:
        keyed = list(self._keyed(grouping.rows(members)))
        if instead_of is not None:
            known = {sameness(key) for key, _ in keyed}
            keyed += [one for one in self._keyed(grouping.rows(instead_of)) if sameness(one[0]) not in known]
        return self._together(keyed)

    def of_rows(self, rows: Iterable[Mapping[str, Value]]) -> tuple[Group, ...]:
        """Groups of records that take part."""
        return self._together(self._keyed(rows))

    def _together(self, keyed: Iterable[grouping.Keyed]) -> tuple[Group, ...]:
        records = grouping.identified(keyed, self.fitted.relation, self.fitted.content)
        found = (self._group(one) for alike in grouping.by_key(records) for one in self._apart(alike))
        return grouping.in_order(group for group in found if group is not None)

    def _keyed(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[grouping.Keyed]:
        parts = self.fitted.parts
        functions = [chain_function(part.steps, self.fitted.relation.timezone) for part in parts]
        blank = self.fitted.rule.key != "all"
        for row in rows:
            whole = self.fitted.columns.complete(row, self.slot)
            key = tuple(f(whole[p.column]) for f, p in zip(functions, parts, strict=True))
            key = tuple(map(_filled, key)) if blank else key
            if None not in key or all(
                v is not None or self.fitted.matches_null(p) for v, p in zip(key, parts, strict=True)
            ):
                yield key, whole

    def _apart(self, alike: list[grouping.Record]) -> list[list[grouping.Record]]:
        rule = self.fitted.rule
        if rule.gap:
            return grouping.chains(alike, rule.gap.column, rule.gap.by)
        if rule.window:
            return grouping.windows(alike, rule.window.column, rule.window.by)
        return [alike]

    def _group(self, records: list[grouping.Record]) -> Group | None:
        rule, relation = self.fitted.rule, self.fitted.relation
        records = grouping.without_excepted(sorted(records, key=lambda one: one.place), self._excepted)
        if len(records) < rule.minimum or not self._wanted(records):
            return None
        keeper, *surplus = survivorship.in_order(records, rule.keep, self.fitted.considered)
        at = (
            sorted((r.values[self.fitted.span_column] for r in records), key=order_key)
            if self.fitted.span_column
            else []
        )
        return Group(
            key=dict(zip(self.fitted.key_names, records[0].key, strict=True)),
            keeper=grouping.member(keeper, self.fitted.shown),
            surplus=tuple(grouping.member(one, self.fitted.shown) for one in surplus),
            money=grouping.money_at_risk(surplus, relation),
            span=(at[0], at[-1]) if at else None,
        )

    @cached_property
    def _excepted(self) -> frozenset[frozenset[tuple[str, ...]]]:
        return frozenset(frozenset(pair) for pair in self.fitted.rule.except_)

    def _wanted(self, records: list[grouping.Record]) -> bool:
        rule = self.fitted.rule
        if rule.distinct and grouping.different(records, rule.distinct) < 2:
            return False
        return self.fitted.having is None or self.fitted.having.evaluate([r.values for r in records], self.slot) is True


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


def _filled(value: Value) -> Value:
    """Nothing for a blank text: it names nothing, so two of them are no duplicates."""
    return None if isinstance(value, str) and not value.strip() else value
