"""Functions of dates and instants: their fields, such as `year`, and `business_days`, `add_business_days`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from rules.expressions.typed import NOWHERE, Typed, derived, no_sql
from rules.functions import calendar_field
from rules.models.calendar import Calendar
from rules.normalise import Exactness
from rules.normalise.times import day, in_zone
from rules.values import Type, Value

# MariaDB's dates may be 0000-00-00, or have a month or day of zero.
_CALENDARS: Mapping[str, Exactness] = {"duckdb": "always", "postgresql": "always"}

_FIELDS: Mapping[str, tuple[str, Callable[[Any], int]]] = {
    "year": ("year", lambda local: local.year),
    "quarter": ("quarter", lambda local: (local.month + 2) // 3),
    "month": ("month", lambda local: local.month),
    "day": ("day", lambda local: local.day),
    "weekday": ("isodow", lambda local: local.isoweekday()),
    "hour": ("hour", lambda local: local.hour),
}


def field(name: str, moment: Typed, zone: ZoneInfo) -> Typed:
    """A field of a date, or of an instant in that time zone; null outside the years 1 to 9999."""
    sql_name, of_day = _FIELDS[name]

    def run(row: Any, slot: Any) -> Value:
        value = moment.run(row, slot)
        local = in_zone(value, zone.key) if isinstance(value, dt.datetime) else value
        return None if local is None else of_day(local)

    # Another zone's rules come from the database's copy of the zone database, which may differ from ours.
    own = _CALENDARS if moment.type is Type.DATE or zone.key == "UTC" else {}
    return derived(Type.INTEGER, (moment,), run, lambda t: calendar_field(moment.sql(t), sql_name), own)


def business_days(first: Typed, last: Typed, zone: ZoneInfo, calendar: Calendar) -> Typed:
    """The business days after the first day, up to and with the last; negative where the last is earlier."""

    def run(row: Any, slot: Any) -> Value:
        begin, end = _local(first.run(row, slot), zone), _local(last.run(row, slot), zone)
        return None if begin is None or end is None else calendar.between(begin, end)

    return derived(Type.INTEGER, (first, last), run, no_sql, NOWHERE)


def add_business_days(moment: Typed, number: Typed, zone: ZoneInfo, calendar: Calendar) -> Typed:
    """The business day that many after a day, or before it; null outside the calendar."""

    def run(row: Any, slot: Any) -> Value:
        begin, by = _local(moment.run(row, slot), zone), number.run(row, slot)
        return None if begin is None or not isinstance(by, int) else calendar.moved(begin, by)

    return derived(Type.DATE, (moment, number), run, no_sql, NOWHERE)


def _local(value: Value, zone: ZoneInfo) -> dt.date | None:
    return day(value, zone.key) if isinstance(value, dt.date) else None
