"""Numbers that may not leave any out: whole numbers, or texts with a number, like INV-0042.

The number of a text is its last run of digits, and the text around it names the series: numbers are compared within a
series only. Digits are 0 to 9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from rules.values import Type, Value

MOST_DIGITS = 38
"""More digits are no number: DuckDB cannot compute with them."""
_DIGITS = re.compile("[0-9]+")
_EXACT = sa.Numeric(MOST_DIGITS, 0)


@dataclass(frozen=True)
class Numbered:
    """A number with what is written around it, in at least `width` digits."""

    number: int
    before: str = ""
    after: str = ""
    width: int = 1

    def at(self, number: int) -> str:
        """Return another number of the series, as it would be written."""
        return f"{self.before}{number:0{self.width}d}{self.after}"


def numbered(value: Value) -> Numbered | None:
    """Return the number of a value; None without one."""
    match value:
        case bool() | None:
            return None
        case int():
            return Numbered(value)
        case Decimal():
            return Numbered(int(value)) if value.is_finite() and value == value.to_integral_value() else None
        case str():
            digits = next(reversed(list(_DIGITS.finditer(value))), None)
            if digits is None or len(digits[0].lstrip("0")) > MOST_DIGITS:
                return None
            return Numbered(int(digits[0]), value[: digits.start()], value[digits.end() :], len(digits[0]))
    return None


def in_words(first: Numbered, value: Value, following: Value) -> str:
    """Return which numbers are missing between a record's value and the following one of its series."""
    last = numbered(following)
    assert last is not None  # noqa: S101 - it has a place in the order of the numbers
    missing = [first.at(first.number + 1), first.at(last.number - 1)]
    if missing[0] == missing[1]:
        return f"{missing[0]} is missing between {written(value)} and {written(following)}"
    return f"{missing[0]} to {missing[1]} are missing between {written(value)} and {written(following)}"


def written(value: Value) -> str:
    """Return a value as people write it."""
    return str(int(value)) if isinstance(value, Decimal) else str(value)


def number_sql(value: sa.ColumnElement[Any], kind: Type) -> sa.ColumnElement[Any]:
    """Return the number of a value of that type in DuckDB; null without one."""
    if kind is Type.TEXT:
        digits = sa.func.regexp_extract(value, r"([0-9]+)[^0-9]*$", 1, "s", type_=sa.Text())
        significant = sa.func.ltrim(digits, "0", type_=sa.Text())
        fits = sa.func.length(significant) <= MOST_DIGITS
        return sa.cast(sa.case((digits == "", sa.null()), (significant == "", "0"), (fits, significant)), _EXACT)
    number = sa.cast(value, _EXACT)
    return number if kind is Type.INTEGER else sa.case((value == sa.func.floor(value), number))


def series_sql(value: sa.ColumnElement[Any]) -> tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]]:
    """Return the text before the number of a text, and the text after it, in DuckDB."""
    before = sa.func.regexp_extract(value, r"^((?:.*[^0-9])?)[0-9]+[^0-9]*$", 1, "s")
    after = sa.func.regexp_extract(value, r"[0-9]([^0-9]*)$", 1, "s")
    return before, after
