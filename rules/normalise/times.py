"""Normalisers of instants and dates: truncated, or one field of them, in local time of the dataset's time zone."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from rules.normalise.normaliser import Exactness, Normaliser, built_in, no_argument
from rules.values import Type

_zone = functools.cache(ZoneInfo)
_DAYS = dt.date | dt.datetime


def day(value: _DAYS, timezone: str) -> dt.date | None:
    """The calendar day in the time zone; a date is its own day. None outside the years 1 to 9999."""
    if not isinstance(value, dt.datetime):
        return value
    local = in_zone(value, timezone)
    return local.date() if local else None


def hour(value: dt.datetime, timezone: str) -> dt.datetime | None:
    """The instant in UTC at which the wall clock's hour began; the two hours of a clock set back stay two."""
    local = in_zone(value, timezone)
    return _instant(local.replace(minute=0, second=0, microsecond=0)) if local else None


def month(value: _DAYS, timezone: str) -> _DAYS | None:
    """The instant in UTC at which the month began in the time zone; for a date, the first day of its month."""
    return _first_day(value, timezone, lambda local: local.replace(day=1))


def week(value: _DAYS, timezone: str) -> _DAYS | None:
    """The instant in UTC at which the week, from Monday on, began in the time zone; for a date, its Monday."""
    return _first_day(value, timezone, lambda local: local - dt.timedelta(days=local.weekday()))


def quarter(value: _DAYS, timezone: str) -> _DAYS | None:
    """The instant in UTC at which the quarter began in the time zone; for a date, the first day of its quarter."""
    return _first_day(value, timezone, lambda local: local.replace(month=local.month - (local.month - 1) % 3, day=1))


PERIODS: Mapping[str, Callable[[dt.date], str]] = {
    "month": lambda first: f"{first:%Y-%m}",
    "quarter": lambda first: f"{first:%Y}-Q{(first.month + 2) // 3}",
}
"""How people write the period that begins on a day, by the normaliser that computes it."""


def _first_day(value: _DAYS, timezone: str, first: Callable[[dt.date], dt.date]) -> _DAYS | None:
    local = day(value, timezone)
    try:
        begin = None if local is None else first(local)
    except OverflowError:  # the first week of year 1
        return None
    if begin is None or not isinstance(value, dt.datetime):
        return begin
    return _instant(dt.datetime.combine(begin, dt.time(), _zone(timezone)))


def in_zone(value: dt.datetime, timezone: str) -> dt.datetime | None:
    """The local time of an instant; None outside the years 1 to 9999."""
    try:
        return value.astimezone(_zone(timezone))
    except OverflowError:
        return None


def _instant(local: dt.datetime) -> dt.datetime | None:
    try:
        return local.astimezone(dt.UTC)
    except OverflowError:
        return None


def _field(name: str, field: Callable[[dt.date], int]) -> Normaliser:
    def python(value: _DAYS, _argument: Any, timezone: str) -> int | None:
        local = day(value, timezone)
        return None if local is None else field(local)

    return Normaliser(
        name,
        python,
        {Type.INSTANT: Type.INTEGER, Type.DATE: Type.INTEGER},
        no_argument,
        built_in(name),
        {"duckdb": "always", "postgresql": "always"},
        lambda _argument, kind, timezone: kind is Type.DATE or timezone == "UTC",
        words=f"its {name}",
    )


def _in_utc(_argument: Any, kind: Type, timezone: str) -> bool:
    # Another zone's rules come from the database's copy of the zone database, which may differ from ours.
    return timezone == "UTC" and kind is Type.INSTANT


_DAY: Mapping[str, Exactness] = dict.fromkeys(
    ("duckdb", "postgresql", "mysql", "spark", "snowflake", "bigquery", "redshift", "trino"), "always"
)
TIMES = (
    Normaliser(
        "day",
        lambda value, _argument, timezone: day(value, timezone),
        {Type.INSTANT: Type.DATE, Type.DATE: Type.DATE},
        no_argument,
        built_in("day"),
        _DAY,
        _in_utc,
        words="its day",
    ),
    Normaliser(
        "hour",
        lambda value, _argument, timezone: hour(value, timezone),
        {Type.INSTANT: Type.INSTANT},
        no_argument,
        built_in("hour"),
        {"duckdb": "always", "postgresql": "always"},
        _in_utc,
        words="its hour",
    ),
    Normaliser(
        "month",
        lambda value, _argument, timezone: month(value, timezone),
        {Type.INSTANT: Type.INSTANT, Type.DATE: Type.DATE},
        no_argument,
        built_in("month"),
        {"duckdb": "always", "postgresql": "always"},
        _in_utc,
        words="its month",
    ),
    Normaliser(
        "week",
        lambda value, _argument, timezone: week(value, timezone),
        {Type.INSTANT: Type.INSTANT, Type.DATE: Type.DATE},
        no_argument,
        built_in("week"),
        {"duckdb": "always", "postgresql": "always"},
        _in_utc,
        words="its week",
    ),
    Normaliser(
        "quarter",
        lambda value, _argument, timezone: quarter(value, timezone),
        {Type.INSTANT: Type.INSTANT, Type.DATE: Type.DATE},
        no_argument,
        built_in("quarter"),
        {"duckdb": "always", "postgresql": "always"},
        _in_utc,
        words="its quarter",
    ),
    _field("year", lambda local: local.year),
    _field("weekday", lambda local: local.isoweekday()),
)
