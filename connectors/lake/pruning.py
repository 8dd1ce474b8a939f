"""Which files of a table cannot hold a record that a rule looks for, by the least and greatest values in its log.

A file is left out only if it has a value in each of its records, and each is certain to make a comparison false: then
the number of its records is all that a rule needs to know of them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connectors.base import ColumnComparison
from connectors.coerce import BLANKS

EPOCH = dt.date(1970, 1, 1)
_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
_DAYS = tuple((dt.date(year, *day) - EPOCH).days for year, *day in ((1000, 1, 1), (9999, 12, 31)))
"""Other days may be read as empty."""
_DAY = 86_400_000_000


@dataclass(frozen=True)
class ValueSpan:
    """The values of a column in a file: none is below `low` or above `high`, both None if there are only nulls.

    A date is in days and an instant in microseconds since 1970.
    """

    low: Any
    high: Any
    has_nulls: bool

    def excludes(self, comparison: ColumnComparison) -> bool:
        """Return True if the comparison is false for each record; not if it may be unknown."""
        if self.has_nulls or self.low is None or self._may_be_blank:
            return False
        values = [plain(value) for value in comparison.values]
        match comparison.operator:
            case "=":
                return not any(self.low <= value <= self.high for value in values)
            case "<":
                return bool(self.low >= values[0])
            case "<=":
                return bool(self.low > values[0])
            case ">":
                return bool(self.high <= values[0])
        return bool(self.high < values[0])

    @property
    def _may_be_blank(self) -> bool:
        """Return True if a text may be one of white space, which counts as null."""
        return isinstance(self.low, str) and any(self.low[:1] <= blank <= self.high[:1] for blank in BLANKS)


Spans = Mapping[str, ValueSpan]
"""The spans of a file by column, without columns whose values are unknown."""


def excluded(spans: Spans, comparisons: Sequence[ColumnComparison]) -> bool:
    """Return True if a comparison is false for each record of the file."""
    return any(
        comparison.column in spans and spans[comparison.column].excludes(comparison) for comparison in comparisons
    )


def plain(value: Any) -> Any:
    """A date or an aware time as a number, as in a `ValueSpan`; other values as they are."""
    if isinstance(value, dt.datetime):
        return (value - _MIDNIGHT) // MICROSECOND
    return (value - EPOCH).days if isinstance(value, dt.date) else value


def span(kind: pa.DataType, low: Any, high: Any, *, has_nulls: bool) -> ValueSpan | None:
    """The span of plain values; None if a date or time between them may be read as empty."""
    if low is not None and is_time(kind):
        unit = 1 if pa.types.is_date(kind) else _DAY
        if not _DAYS[0] * unit <= low <= high <= _DAYS[1] * unit:
            return None
    return ValueSpan(low, high, has_nulls)


def is_time(kind: pa.DataType) -> bool:
    """Return True for a date and for a time with microseconds."""
    return pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and bool(kind.unit == "us"))
