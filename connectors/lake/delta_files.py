"""The files of a Delta table that a rule needs, and the filter with which deltalake reads exactly their records.

The filter names the values of whole files, not those that a rule looks for: so the number of its records is known from
the log, and a record that the library loses is noticed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connectors.base import ColumnComparison
from connectors.duck import identifier, literal
from connectors.lake.pruning import EPOCH, MICROSECOND, Spans, ValueSpan, excluded, is_time, span

_EXACT = (
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)
_MOST_RANGES = 1_000
_MILLISECOND = 1_000
"""Writers cut the microseconds of the least and the greatest time."""


def spans_of(files: pa.Table, schema: pa.Schema, partitions: Sequence[str], columns: Sequence[str]) -> list[Spans]:
    """Return the spans of these columns in each of the files that deltalake lists."""
    by_column = {
        name: list((_partition if name in partitions else _statistics)(files, schema.field(name).type, name))
        for name in columns
    }
    return [
        {name: bounds for name, spans in by_column.items() if (bounds := spans[number]) is not None}
        for number in range(files.num_rows)
    ]


def _partition(files: pa.Table, kind: pa.DataType, name: str) -> Iterator[ValueSpan | None]:
    is_exact = is_time(kind) or any(check(kind) for check in _EXACT)
    for value in _plain(files, f"partition.{name}"):
        yield span(kind, value, value, has_nulls=value is None) if is_exact else None


def _statistics(files: pa.Table, kind: pa.DataType, name: str) -> Iterator[ValueSpan | None]:
    """Spans of whole numbers and times; writers cut texts, and write decimals as floating point numbers."""
    is_exact = "." not in name and (is_time(kind) or pa.types.is_integer(kind))  # a dot may lead into a struct
    margin = _MILLISECOND if pa.types.is_timestamp(kind) else 0
    facts = [_plain(files, column) for column in (f"min.{name}", f"max.{name}", f"null_count.{name}", "num_records")]
    for low, high, nulls, records in zip(*facts, strict=True):
        if not is_exact or nulls is None or (None in (low, high) and nulls < records):
            yield None
        elif nulls == records:
            yield span(kind, None, None, has_nulls=True)
        else:
            yield span(kind, low - margin, high + margin, has_nulls=nulls > 0)


def _plain(files: pa.Table, column: str) -> list[Any]:
    """Return the values of a column, times as in a `ValueSpan`; only None for a column that the table does not have."""
    if column not in files.column_names:
        return [None] * files.num_rows
    values = files.column(column)
    if is_time(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    return list(values.to_pylist())


@dataclass(frozen=True)
class ValueRanges:
    """Some values of a column and its nulls: those in the ranges, from one value to another each, in order."""

    ranges: tuple[tuple[Any, Any], ...]

    @classmethod
    def of(cls, spans: Sequence[ValueSpan | None]) -> ValueRanges | None:
        """Return the smallest one with all values of these files; None if some of them are unknown."""
        if None in spans:
            return None
        ranges: list[tuple[Any, Any]] = []
        for low, high in sorted({(each.low, each.high) for each in spans if each and each.low is not None}):
            if ranges and low <= ranges[-1][1]:
                first, last = ranges.pop()
                ranges.append((first, max(last, high)))
            else:
                ranges.append((low, high))
        return cls(tuple(ranges if len(ranges) <= _MOST_RANGES else [(ranges[0][0], ranges[-1][1])]))

    def may_hold(self, values: ValueSpan | None) -> bool:
        """Return True if a file with such values can have a record within this limit."""
        if values is None or values.has_nulls:
            return True
        return any(low <= values.high and values.low <= high for low, high in self.ranges)

    def sql(self, name: str, kind: pa.DataType) -> str:
        column = identifier(name)
        constants = [(_constant(low, kind), _constant(high, kind)) for low, high in self.ranges]
        single = ", ".join(low for low, high in constants if low == high)
        conditions = [f"{column} between {low} and {high}" for low, high in constants if low != high]
        conditions += [f"{column} in ({single})"] if single else []
        return f"({' or '.join([f'{column} is null', *conditions])})"


def chosen(
    files: Sequence[Spans], comparisons: Sequence[ColumnComparison]
) -> tuple[list[int], Mapping[str, ValueRanges]]:
    """Return the positions of the files to read, and ranges of values that hold their records and no others."""
    numbers = [number for number, spans in enumerate(files) if not excluded(spans, comparisons)]
    while True:
        wanted = {
            each.column: ValueRanges.of([files[number].get(each.column) for number in numbers]) for each in comparisons
        }
        limits = {name: limit for name, limit in wanted.items() if limit is not None}
        within = [
            number
            for number, spans in enumerate(files)
            if all(limit.may_hold(spans.get(name)) for name, limit in limits.items())
        ]
        if within == numbers:
            return numbers, limits
        numbers = within


def _constant(value: Any, kind: pa.DataType) -> str:
    """Write a value of a `ValueSpan` in the SQL of deltalake."""
    if isinstance(value, str):
        return literal(value)
    if pa.types.is_date(kind):
        return f"date '{EPOCH + dt.timedelta(days=value)}'"
    if pa.types.is_timestamp(kind):
        moment = dt.datetime.combine(EPOCH, dt.time()) + value * MICROSECOND
        return f"timestamp '{moment.isoformat(' ', 'microseconds')}{'Z' if kind.tz else ''}'"
    return str(value).lower()
