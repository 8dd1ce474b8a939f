"""What agrees and what differs between records that are Python values: exact, and the reference for SQL and arrays."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from zoneinfo import ZoneInfo

from rules.groups.group import Difference
from rules.kinds.reconciliation.bound import AmountLimits, BoundReconciliation, BoundSide
from rules.kinds.reconciliation.links import name_each_other
from rules.kinds.reconciliation.members import SideRecord, Sides
from rules.kinds.reconciliation.pairs import SIDES, ComparedPair
from rules.kinds.reconciliation.texts import size
from rules.models import KeyPart
from rules.normalise import chain_function
from rules.pairs import distances
from rules.values import EXACT, Value, canonical, order_key

_ZERO = Decimal(0)
Chain = Callable[[Value], Value]
Values = Sequence[tuple[Value, Value]]
"""Normalised values of a field, each with the value of the record."""


def within(left: Decimal, right: Decimal, limits: AmountLimits) -> bool:
    """Return True if two amounts differ by no more than the limits allow."""
    distance = EXACT.abs(EXACT.subtract(left, right))
    if limits.by is None and limits.percent is None:
        return distance == 0
    larger = max(EXACT.abs(left), EXACT.abs(right))
    holds = [] if limits.by is None else [distance <= limits.by]
    if limits.percent is not None:
        holds.append(EXACT.multiply(distance, Decimal(100)) <= EXACT.multiply(limits.percent, larger))
    return any(holds) if limits.either else all(holds)


def day_of(value: Value, timezone: str) -> dt.date | None:
    """Return the local day of a date or an instant."""
    if isinstance(value, dt.datetime):
        return value.astimezone(ZoneInfo(timezone)).date()
    return value if isinstance(value, dt.date) else None


@dataclass(frozen=True)
class Judge:
    """Finds the differences between the records of a discrepancy."""

    bound: BoundReconciliation

    def differences(self, sides: Sides) -> Iterator[Difference]:
        """Yield the sums, dates and compared fields that differ."""
        yield from self._sums(sides)
        yield from self._dates(sides)
        for number, pair in enumerate(self.bound.compared):
            yield from self._field(number, pair, sides)

    def kept_apart(self, sides: Sides) -> tuple[tuple[str, ...], tuple[Difference, ...]]:
        """Return what is the same in two records, or groups, that were not paired, by name, and what differs."""
        same: list[str] = []
        differ: list[Difference] = []
        for columns, values, is_same in self._paired_by(sides):
            if is_same:
                same.append(columns[0] if columns[0] == columns[1] else " / ".join(columns))
            else:
                differ.append(self.difference(*columns, *values))
        for number, pair in enumerate(self.bound.compared):
            differ += self._field(number, pair, sides)
        return tuple(same), tuple(differ)

    def _paired_by(self, sides: Sides) -> Iterator[tuple[tuple[str, str], tuple[Value, Value], bool]]:
        """Yield the columns by which records are paired, what each side has there, and whether both agree."""
        date, (left, right) = self.bound.date, (side[0] for side in sides)
        both = zip(self.bound.pairs, self.key_of(0, left), self.key_of(1, right), strict=True)
        for pair, ours, theirs in both:
            is_same = (
                canonical(ours) == canonical(theirs)
                if pair.contained is None
                else name_each_other(pair, [ours], [theirs])
            )
            columns = pair.left.column, pair.right.column
            yield columns, (left.values[columns[0]], right.values[columns[1]]), is_same
        if date is not None:
            first = _earliest(sides[0], date.left), _earliest(sides[1], date.right)
            zones = [side.relation.timezone for side in self.bound.sides]
            yield (date.left, date.right), first, day_of(first[0], zones[0]) == day_of(first[1], zones[1])
        left_amount, right_amount = (side.amount for side in self.bound.sides)
        if self.bound.limits is not None and left_amount is not None and right_amount is not None:
            amounts = self._amount(sides[0], left_amount), self._amount(sides[1], right_amount)
            yield (left_amount, right_amount), amounts, canonical(amounts[0]) == canonical(amounts[1])

    def _amount(self, records: Sequence[SideRecord], column: str) -> Value:
        """Return an amount of one record as it is, or the sum of several; None if one is empty."""
        values = [record.values[column] for record in records]
        if len(values) == 1:
            return values[0]
        return None if None in values else _total(records, column)

    def key_of(self, side: int, record: SideRecord) -> Sequence[Value]:
        """Return the normalised key of a record."""
        return [chain(record.values[column]) for column, chain in self._key_chains[side]]

    def named_key(self, sides: Sides) -> dict[str, Value]:
        """Return the key of the first record by the left columns, a column that it holds twice with its normalisers.

        Where texts contain values, it is that of the first record with a value, by its own column.
        """
        side = 0 if sides[0] else 1
        part = self.bound.contained
        if part is not None:
            of_values = SIDES.index(str(self.bound.pairs[part].contained))
            side = of_values if sides[of_values] else side
        return dict(zip(self._key_names[side], self.key_of(side, sides[side][0]), strict=True))

    def has_key(self, side: int, record: SideRecord) -> bool:
        """Return True if a record has the whole key, but for parts whose empty values match each other."""
        key = self.key_of(side, record)
        is_whole = all(value is not None or self.bound.matches_null(n) for n, value in enumerate(key))
        part = self.bound.contained
        if not is_whole or part is None or self.bound.pairs[part].contained != SIDES[side]:
            return bool(key) and is_whole
        return size(str(key[part])) >= self.bound.pairs[part].least

    def share_key(self, sides: Sides) -> bool:
        """Return True if all records have equal keys, or keys that name each other."""
        keys = [[self.key_of(n, record) for record in side] for n, side in enumerate(sides)]
        every = [key for side in keys for key in side]
        for part, pair in enumerate(self.bound.pairs):
            if pair.contained is not None:
                lefts, rights = ([key[part] for key in side] for side in keys)
                if not name_each_other(pair, lefts, rights):
                    return False
            elif any(canonical(key[part]) != canonical(every[0][part]) for key in every):
                return False
        return True

    @cached_property
    def _key_names(self) -> Sequence[tuple[str, ...]]:
        """The names of the parts of the key, for a record of each side."""
        return [self._names_of(side) for side in SIDES]

    def _names_of(self, side: str) -> tuple[str, ...]:
        names: list[str] = []
        for pair in self.bound.pairs:
            part = pair.side(side) if pair.contained is not None else pair.left
            steps = ", ".join(step.name for step in part.steps) or "as it is"
            names.append(f"{part.column} ({steps})" if part.column in names else part.column)
        return tuple(names)

    @cached_property
    def _key_chains(self) -> Sequence[Sequence[tuple[str, Chain]]]:
        return [
            [(part.column, chain_function(part.steps, side.relation.timezone)) for part in parts]
            for side in self.bound.sides
            for parts in [[pair.value(side.name) for pair in self.bound.pairs]]
        ]

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

    def _rank(self, side: BoundSide, record: SideRecord) -> int:
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
        """Yield the first two values of a field that do not agree, unless those of both sides can be paired off.

        Values that both sides have are left out, if others differ.
        """
        columns = pair.left.column, pair.right.column
        lefts, rights = (
            self._values(side, pair.side(side.name), chain, records)
            for side, chain, records in zip(self.bound.sides, self._chains[number], sides, strict=True)
        )
        differing = self._differing(pair, lefts, rights)
        if differing is None or self._paired_off(pair, lefts, rights):
            return
        shared = {str(canonical(value)) for value, _ in lefts} & {str(canonical(value)) for value, _ in rights}
        own = ([each for each in side if str(canonical(each[0])) not in shared] for side in (lefts, rights))
        yield self.difference(*columns, *(self._differing(pair, *own) or differing))

    def _values(self, side: BoundSide, part: KeyPart, chain: Chain, records: Sequence[SideRecord]) -> Values:
        """Return the values of a compared field; amounts of a group are added up."""
        if self.bound.rule.group and side.is_added(part):
            total = self._amount(records, part.column)
            return [(total, total)]
        return [(chain(record.values[part.column]), record.values[part.column]) for record in records]

    def _differing(self, pair: ComparedPair, lefts: Values, rights: Values) -> tuple[Value, Value] | None:
        """Return the first two values that do not agree, as they are shown."""
        distinct = (
            {str(canonical(value)): (value, shown) for value, shown in side}.values() for side in (lefts, rights)
        )
        for (ours, shown_left), (theirs, shown_right) in itertools.product(*distinct):
            if not self.agree(pair, ours, theirs):
                return shown_left, shown_right
        return None

    def _paired_off(self, pair: ComparedPair, lefts: Values, rights: Values) -> bool:
        """Return True if both sides have equally many values, which agree in order.

        Whatever lies between two near values is near both: if any pairing agrees, that of the sorted values does.
        """
        if len(lefts) != len(rights):
            return False
        in_order = [sorted((value for value, _ in side), key=order_key) for side in (lefts, rights)]
        return all(self.agree(pair, *values) for values in zip(*in_order, strict=True))

    def agree(self, pair: ComparedPair, left: Value, right: Value) -> bool:
        """Return True if two normalised values agree: two empty ones do, an empty one and a value do not."""
        if left is None or right is None or not pair.has_tolerance:
            return canonical(left) == canonical(right)
        if pair.days is not None:
            zones = [side.relation.timezone for side in self.bound.sides]
            days = day_of(left, zones[0]), day_of(right, zones[1])
            return None not in days and abs((days[0] - days[1]).days) <= pair.days  # type: ignore[operator]
        return within(distances.number(left), distances.number(right), AmountLimits.of(pair))


def _earliest(records: Sequence[SideRecord], column: str) -> Value:
    return min((record.values[column] for record in records), key=_moment)


def _moment(value: Value) -> dt.date:
    assert isinstance(value, dt.date)  # noqa: S101 - a record without date matches nothing
    return value


def _total(records: Sequence[SideRecord], column: str | None) -> Decimal:
    total = _ZERO
    for record in records:
        value = record.values[column or ""]
        if value is not None:
            total = EXACT.add(total, distances.number(value))
    return total
