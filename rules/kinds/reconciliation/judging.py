"""What agrees and what differs between records that are Python values: exact, and the reference for SQL and arrays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from zoneinfo import ZoneInfo

from rules import distances
from rules.engines.base import Difference
from rules.kinds.reconciliation.bound import BoundRule, BoundSide, Limits
from rules.kinds.reconciliation.members import Record, Sides
from rules.kinds.reconciliation.pairs import ComparedPair
from rules.normalise import chain_function
from rules.values import EXACT, Value, canonical

_ZERO = Decimal(0)
Chain = Callable[[Value], Value]


def within(left: Decimal, right: Decimal, limits: Limits) -> bool:
    """Return True if two amounts differ by no more than the limits allow."""
    distance = EXACT.abs(EXACT.subtract(left, right))
    if limits.by is None and limits.percent is None:
        return distance == 0
    larger = max(EXACT.abs(left), EXACT.abs(right))
    share = limits.percent is None or EXACT.multiply(distance, Decimal(100)) <= EXACT.multiply(limits.percent, larger)
    return share and (limits.by is None or distance <= limits.by)


def day_of(value: Value, timezone: str) -> dt.date | None:
    """Return the local day of a date or an instant."""
    if isinstance(value, dt.datetime):
        return value.astimezone(ZoneInfo(timezone)).date()
    return value if isinstance(value, dt.date) else None


@dataclass(frozen=True)
class Judge:
    """Finds the differences between the records of a discrepancy."""

    bound: BoundRule

    def differences(self, sides: Sides) -> Iterator[Difference]:
        """Yield the sums, dates and compared fields that differ."""
        yield from self._sums(sides)
        yield from self._dates(sides)
        for number, pair in enumerate(self.bound.compared):
            yield from self._field(number, pair, sides)

    def _sums(self, sides: Sides) -> Iterator[Difference]:
        left, right = self.bound.sides
        if self.bound.limits is None or left.amount is None or right.amount is None or self.bound.rule.is_assigned:
            return
        totals = [_total(records, side.amount) for records, side in zip(sides, self.bound.sides, strict=True)]
        if not within(totals[0], totals[1], self.bound.limits):
            yield self.difference(left.amount, right.amount, totals[0], totals[1])

    def difference(self, left_column: str, right_column: str, left: Value, right: Value) -> Difference:
        """Name a difference by the columns of both sides; an expression of the rule counts as its first column."""
        name = left_column if left_column == right_column else f"{left_column} / {right_column}"
        origins = (
            (side.origins(column) or (column,))[0]
            for side, column in zip(self.bound.sides, (left_column, right_column), strict=True)
        )
        return Difference(name, left, right, next(origins), next(origins))

    def _dates(self, sides: Sides) -> Iterator[Difference]:
        """Yield the nearest dates of two bundles if they are too far apart."""
        date = self.bound.date
        if date is None or self.bound.rule.is_assigned or not all(sides):
            return
        left, right = (
            [(self._rank(side, record), record.values[column]) for record in records]
            for side, records, column in zip(self.bound.sides, sides, (date.left, date.right), strict=True)
        )
        pairs = [(rank - of_left, day, of_right) for of_left, day in left for rank, of_right in right]
        if not any(-date.earlier <= apart <= date.later for apart, _, _ in pairs):
            _, nearest_left, nearest_right = min(pairs, key=lambda pair: abs(pair[0]))
            yield self.difference(date.left, date.right, nearest_left, nearest_right)

    def _rank(self, side: BoundSide, record: Record) -> int:
        day = day_of(record.values[side.date or ""], side.relation.timezone)
        assert day is not None  # noqa: S101 - a record without date matches nothing
        return self.bound.rank(day)

    @cached_property
    def _chains(self) -> Sequence[tuple[Chain, Chain]]:
        left, right = (side.relation.timezone for side in self.bound.sides)
        return [
            (chain_function(pair.left.steps, left), chain_function(pair.right.steps, right))
            for pair in self.bound.compared
        ]

    def _field(self, number: int, pair: ComparedPair, sides: Sides) -> Iterator[Difference]:
        """Yield the first two values of a field that do not agree."""
        columns = pair.left.column, pair.right.column
        lefts, rights = (
            {str(canonical(value)): (value, shown) for value, shown in values}
            for values in (
                [(chain(record.values[column]), record.values[column]) for record in records]
                for records, column, chain in zip(sides, columns, self._chains[number], strict=True)
            )
        )
        for ours, shown_left in lefts.values():
            for theirs, shown_right in rights.values():
                if not self.agree(pair, ours, theirs):
                    yield self.difference(*columns, shown_left, shown_right)
                    return

    def agree(self, pair: ComparedPair, left: Value, right: Value) -> bool:
        """Return True if two normalised values agree: two empty ones do, an empty one and a value do not."""
        if left is None or right is None or not pair.has_tolerance:
            return canonical(left) == canonical(right)
        if pair.days is not None:
            zones = [side.relation.timezone for side in self.bound.sides]
            days = day_of(left, zones[0]), day_of(right, zones[1])
            return None not in days and abs((days[0] - days[1]).days) <= pair.days  # type: ignore[operator]
        return within(distances.number(left), distances.number(right), Limits(pair.by, pair.percent))


def _total(records: Sequence[Record], column: str | None) -> Decimal:
    total = _ZERO
    for record in records:
        value = record.values[column or ""]
        if value is not None:
            total = EXACT.add(total, distances.number(value))
    return total
