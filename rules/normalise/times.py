"""Normalisers of instants: truncated in local time of the dataset's time zone."""

from __future__ import annotations

import datetime as dt
import functools
from typing import Any
from zoneinfo import ZoneInfo

from rules.normalise.normaliser import Normaliser, built_in, no_argument
from rules.values import Type

_zone = functools.cache(ZoneInfo)
_DAYS = dt.date | dt.datetime


def day(value: _DAYS, timezone: str) -> dt.date | None:
    """The calendar day in the time zone; a date is its own day. None outside the years 1 to 9999."""
    if not isinstance(value, dt.datetime):
        return value
    local = _local(value, timezone)
    return local.date() if local else None


def hour(value: dt.datetime, timezone: str) -> dt.datetime | None:
    """The instant in UTC at which the wall clock's hour began; the two hours of a clock set back stay two."""
    local = _local(value, timezone)
    return _instant(local.replace(minute=0, second=0, microsecond=0)) if local else None


def month(value: _DAYS, timezone: str) -> _DAYS | None:
    """The instant in UTC at which the month began in the time zone; for a date, the first day of its month."""
    if not isinstance(value, dt.datetime):
        return value.replace(day=1)
    local = _local(value, timezone)
    if local is None:
        return None
    return _instant(local.replace(day=1, hour=0, minute=0, second=0, microsecond=0, fold=0))


def _local(value: dt.datetime, timezone: str) -> dt.datetime | None:
    try:
        return value.astimezone(_zone(timezone))
    except OverflowError:
        return None


def _instant(local: dt.datetime) -> dt.datetime | None:
    try:
        return local.astimezone(dt.UTC)
    except OverflowError:
        return None


def _in_utc(_argument: Any, kind: Type, timezone: str) -> bool:
    # Another zone's rules come from the database's copy of the zone database, which may differ from ours.
    return timezone == "UTC" and kind is Type.INSTANT


TIMES = (
    Normaliser(
        "day",
        lambda value, _argument, timezone: day(value, timezone),
        {Type.INSTANT: Type.DATE, Type.DATE: Type.DATE},
        no_argument,
        built_in("day"),
        {"duckdb": "always", "postgresql": "always", "mysql": "always"},
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
)
