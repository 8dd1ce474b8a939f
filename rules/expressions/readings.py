"""`number(x)`, `date(x)`, `instant(x)`: a text read as another type; a text that is none is null."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from rules.expressions.typed import NOWHERE, SERVERS, CompileTarget, Typed, derived, no_sql
from rules.functions import in_calendar, utc_day
from rules.normalise.times import day
from rules.values import Type, Value

_NUMBER = re.compile("[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
_MOMENT = re.compile(f"{_DAY.pattern}(?:[T ]{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?")
_MOST_WHOLE, _MOST_PLACES = 26, 12  # as of a declared decimal


def number(operand: Typed) -> Typed:
    """The decimal that a text is, with a point; null beyond 26 digits before it or 12 after it."""
    return _reading(Type.DECIMAL, operand, _number)


def date(operand: Typed, zone: ZoneInfo) -> Typed:
    """The day that a text is, like 2026-01-31; of an instant, its day in that time zone."""
    if operand.type is Type.TEXT:
        return _reading(Type.DATE, operand, _date)

    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return day(value, zone.key) if isinstance(value, dt.date) else None

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        return utc_day(in_calendar(operand.sql(target), target.dialect))

    if operand.type is Type.DATE:
        return operand
    own = {d: claim for d, claim in SERVERS.items() if zone.key == "UTC"}
    return derived(Type.DATE, (operand,), run, sql, own)


def instant(operand: Typed, zone: ZoneInfo) -> Typed:
    """The instant that a text is in ISO 8601; without an offset, that of a clock there, null if it skipped the time."""
    return _reading(Type.INSTANT, operand, lambda text: _instant(text, zone))


def _reading(kind: Type, operand: Typed, read: Callable[[str], Value]) -> Typed:
    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return read(value.strip()) if isinstance(value, str) else None

    return derived(kind, (operand,), run, no_sql, NOWHERE)


def _number(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    places = -int(value.as_tuple().exponent)
    return value if value.adjusted() < _MOST_WHOLE and places <= _MOST_PLACES else None


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _instant(text: str, zone: ZoneInfo) -> dt.datetime | None:
    try:
        value = dt.datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else None
        if value is None or value.tzinfo:
            return value and value.astimezone(dt.UTC)
        moment = value.replace(tzinfo=zone).astimezone(dt.UTC)
        return moment if moment.astimezone(zone).replace(tzinfo=None) == value else None
    except (ValueError, OverflowError):
        return None
