"""Records of both sides as arrays: codes of their keys, their days, amounts and compared values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rules.kinds.reconciliation.bound import AmountLimits, BoundReconciliation
from rules.kinds.reconciliation.links import Links, linked
from rules.pairs import numbers
from rules.pairs.numbers import Amounts, Flags, Integers, Scaled

_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True)
class Within:
    """The test whether two amounts, as integers of the same unit, differ by no more than the limits allow."""

    by: int | None
    percent: tuple[int, int] | None
    either: bool = False

    @classmethod
    def of(cls, limits: AmountLimits, places: int) -> Within:
        by = None if limits.by is None else numbers.scaled(limits.by, places)
        if limits.by is None and limits.percent is None:
            by = 0
        digits = numbers.decimal_places(limits.percent)
        share = None
        if limits.percent is not None:
            share = (numbers.scaled(limits.percent, digits), 100 * 10**digits)
        return cls(by, share, limits.either)

    def __call__(self, left: Amounts, right: Amounts) -> Flags:
        distance = np.abs(left - right)
        holds: list[Flags] = []
        if self.by is not None:
            holds.append(np.asarray(distance <= self.by, np.bool_))
        if self.percent is not None:
            share, whole = self.percent
            larger = np.maximum(np.abs(left), np.abs(right))
            holds.append(np.asarray(numbers.times(distance, whole) <= numbers.times(larger, share), np.bool_))
        agree: Flags = (np.logical_or if self.either else np.logical_and).reduce(holds)
        return agree


@dataclass(frozen=True)
class Measure:
    """Numbers or days of both sides, which records have one, and the test whether two agree."""

    values: tuple[Amounts, Amounts]
    present: tuple[Flags, Flags]
    test: Callable[[Amounts, Amounts], Flags]

    def agree(self, left: Integers, right: Integers) -> Flags:
        """Return True for each pair of records with two values that agree."""
        both: Flags = self.present[0][left] & self.present[1][right]
        both[both] = self.test(self.values[0][left[both]], self.values[1][right[both]])
        return both


@dataclass(frozen=True)
class Field:
    """A compared pair of columns: a code for each value, -1 for an empty one, and with a tolerance its measure.

    Empty values agree with each other, or, if `needs_value`, with nothing.
    """

    left: Integers
    right: Integers
    measure: Measure | None = None
    needs_value: bool = False

    def differ(self, left: Integers, right: Integers) -> Flags:
        """Return True for each pair of records in which the field differs by more than its tolerance."""
        differ: Flags = self.left[left] != self.right[right]
        if self.needs_value:
            differ |= self.left[left] < 0
        if self.measure is not None:
            differ[differ] = ~self.measure.agree(left[differ], right[differ])
        return differ


@dataclass(frozen=True)
class MatchedSide:
    """The records of one side, in an order that does not depend on how they were read.

    `row` is the number of a record in its table, `key` the code of its key, `day` the days since 1970, `rank` the same
    as the date tolerance counts them, and `due` is False while its grace lasts. `has_equals` is False if the other
    side surely has no record without any difference.
    """

    row: Integers
    key: Integers
    day: Integers | None
    rank: Integers | None
    amount: Amounts | None
    due: Flags
    has_equals: Flags

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class MatchedSides:
    """Both sides of the records that are matched together. `within` tests two amounts.

    `differ` are codes of the values that must differ in a pair, -1 for an empty one. `links` are given if keys agree
    where a text contains a value; then `key` is the component of each record.
    `prefer` are the fields in which partners agree if possible.
    """

    left: MatchedSide
    right: MatchedSide
    fields: tuple[Field, ...]
    within: Within | None
    differ: tuple[tuple[Integers, Integers], ...] = ()
    links: Links | None = None
    prefer: tuple[Field, ...] = ()

    @classmethod
    def of(cls, bound: BoundReconciliation, left: pa.Table, right: pa.Table) -> MatchedSides:
        """Read two tables with the columns of `Statements.left_over`."""
        sizes = (len(left), len(right))
        names = [f"key_{n}" for n in range(len(bound.pairs)) if n != bound.contained]
        keys = numbers.combined([numbers.codes(left[name], right[name]) for name in names], sizes)
        links = linked(bound, left, right, keys)
        keys = keys if links is None else links.keys
        amounts: tuple[Amounts | None, Amounts | None] = (None, None)
        within = None
        if bound.limits is not None:
            places = numbers.decimal_places(bound.limits.by)
            *both, places = numbers.aligned(Scaled.of(left["amount"]), Scaled.of(right["amount"]), places)
            amounts, within = (both[0], both[1]), Within.of(bound.limits, places)
        days = [numbers.days(table["date"]) if bound.date else None for table in (left, right)]
        sides = (
            MatchedSide(
                table["row"].to_numpy(),
                keys[number],
                days[number],
                _ranks(bound, days[number]),
                amounts[number],
                table["due"].to_numpy(),
                table["has_equals"].to_numpy(),
            )
            for number, table in enumerate((left, right))
        )
        fields = tuple(_field(bound, number, left, right) for number in range(len(bound.compared)))
        differ, prefer = (
            [numbers.codes(left[name], right[name]) for name in left.column_names if name.startswith(setting)]
            for setting in ("differ_", "prefer_")
        )
        preferred = tuple(Field(*codes, needs_value=True) for codes in prefer)
        return cls(next(sides), next(sides), fields, within, tuple(differ), links, preferred)

    def may_pair(self, left: Integers, right: Integers) -> Flags:
        """Return True for each pair of records whose values differ where they must; an empty one does not."""
        may: Flags = np.ones(len(left), np.bool_)
        for ours, theirs in self.differ:
            may &= (ours[left] != theirs[right]) & (ours[left] >= 0) & (theirs[right] >= 0)
        return may

    def differences(self, left: Integers, right: Integers) -> Integers:
        """Return, for each pair of records, the number of fields that differ."""
        counts = np.zeros(len(left), np.int64)
        for field in self.fields:
            counts += field.differ(left, right)
        return counts


def _ranks(bound: BoundReconciliation, days: Integers | None) -> Integers | None:
    calendar = bound.calendar
    if days is None or calendar is None:
        return days
    distinct, at = np.unique(days, return_inverse=True)
    ranks = [calendar.rank(_EPOCH + dt.timedelta(days=day)) for day in distinct.tolist()]
    return np.array(ranks, np.int64)[at]


def _field(bound: BoundReconciliation, number: int, left: pa.Table, right: pa.Table) -> Field:
    pair = bound.compared[number]
    ours, theirs = numbers.codes(left[f"compare_{number}"], right[f"compare_{number}"])
    if not pair.has_tolerance:
        return Field(ours, theirs)
    columns = left[f"value_{number}"], right[f"value_{number}"]
    present = ~numbers.is_null(columns[0]), ~numbers.is_null(columns[1])
    if pair.days is not None:
        most = pair.days
        values = numbers.days(columns[0]), numbers.days(columns[1])
        return Field(ours, theirs, Measure(values, present, lambda first, second: np.abs(first - second) <= most))
    scaled = Scaled.of(columns[0]), Scaled.of(columns[1])
    lefts, rights, places = numbers.aligned(*scaled, numbers.decimal_places(pair.by))
    within = Within.of(AmountLimits.of(pair), places)
    return Field(ours, theirs, Measure((lefts, rights), present, within))
