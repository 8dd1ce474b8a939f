"""The settings `gap`, `window`, `overlap` and `consecutive`: which records of one key belong together in an order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from rules.models import Distance, Percent, Strict, as_list, parse_duration
from rules.values import Value, order_key


class MaximumDistance(Strict):
    """`gap:` or `window:`: the column that orders, and the largest distance (inclusive); `also` limits a second column.

    A distance is a duration, a number, or for numbers a percentage of the larger one.
    """

    column: str
    by: Distance
    also: MaximumDistance | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,) if self.also is None else (self.column, self.also.column)

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """The reasons why a record takes no part, each with its column, in the order of checking."""
        return tuple((column, "null") for column in self.columns)

    def admits(self, values: Mapping[str, Value]) -> bool:
        """Return True if a record takes part."""
        return all(values[column] is not None for column in self.columns)


class Overlap(Strict):
    """`overlap:`: the columns with the begin and the end of a period; a period without end is open.

    `ends` says whether the end belongs to the period; by default that of dates and numbers does, that of instants not.
    """

    begin: str = Field(alias="from", description="The column with a period's begin.")
    end: str = Field(alias="to", description="The column with its end; empty means without end.")
    ends: Literal["included", "excluded"] | None = Field(
        default=None, description="Whether the end belongs to the period; default: yes, unless it is an instant."
    )

    @model_validator(mode="after")
    def _has_two_columns(self) -> Overlap:
        if self.begin == self.end:
            raise ValueError(f"a period begins and ends in two columns, and both are `{self.begin}`")
        return self

    @property
    def column(self) -> str:
        """The column that orders."""
        return self.begin

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.begin, self.end)

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        return (self.begin, "null"), (self.end, "empty period")

    def includes_ends(self, *, are_instants: bool) -> bool:
        return not are_instants if self.ends is None else self.ends == "included"

    def admits(self, values: Mapping[str, Value]) -> bool:
        begin, end = values[self.begin], values[self.end]
        if begin is None or end is None:
            return begin is not None
        first, last = order_key(begin), order_key(end)
        return first < last or (first == last and self.includes_ends(are_instants=isinstance(begin, dt.datetime)))


class Consecutive(Strict):
    """`consecutive:`: the column that orders, and the columns of the key that each have an order of their own."""

    by: str
    within: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()

    @property
    def column(self) -> str:
        """The column that orders."""
        return self.by

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.by,)

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        return ((self.by, "null"),)

    def admits(self, values: Mapping[str, Value]) -> bool:
        return values[self.by] is not None


Span = MaximumDistance | Overlap | Consecutive


def parse_consecutive(value: Any) -> Any:
    """Return `consecutive:`, a column or a mapping, as the fields of Consecutive; raises ValueError."""
    if isinstance(value, (Consecutive, dict)):
        return value
    if isinstance(value, str):
        return {"by": value}
    raise ValueError("write the column that orders the records, like `at`, or {by: at, within: [sku]}")


def parse_span(value: Any) -> Any:
    """Return `gap:` or `window:` as the fields of MaximumDistance; raises ValueError."""
    if isinstance(value, MaximumDistance):
        return value
    if not isinstance(value, dict) or not 1 <= len(value) <= 2:
        raise ValueError(
            "write one column and a distance: {charged_at: 15m}, or {position: 3} for a numeric column; "
            "a second one, like {charged_at: 15m, amount: 1%}, must be near too"
        )
    first, *second = ({"column": column, "by": _distance(by)} for column, by in value.items())
    return first | {"also": second[0] if second else None}


def _distance(by: Any) -> Distance:
    if isinstance(by, (dt.timedelta, Percent)):
        return by
    text = str(by).strip()
    if text.endswith("%"):
        return _percent(text)
    number = _number(text)
    if number is None:
        duration: dt.timedelta = parse_duration(by)
        return duration
    if not number.is_finite() or number < 0:
        raise ValueError(f"`{by}` is not a distance; write a duration like 15m, or a number that is not negative")
    return number


def _percent(text: str) -> Percent:
    number = _number(text[:-1].strip())
    if number is None or not 0 <= number < 100:  # NaN is no such number either
        raise ValueError(f"`{text}` is not a percentage; write at least 0% and less than 100%, like 1% or 0.5%")
    return Percent(percent=number)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except ArithmeticError:
        return None


CONSECUTIVE_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "by": {"type": "string"},
                "within": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            },
            "required": ["by"],
            "additionalProperties": False,
        },
    ]
}
SPAN_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 2,
    "additionalProperties": {"type": ["string", "number"]},
}
