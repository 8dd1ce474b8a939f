"""Fields of dates and instants: `year`, `quarter`, `month`, `weekday`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from rules.expressions.typed import Typed, derived
from rules.functions import calendar_field
from rules.normalise import Exactness
from rules.normalise.times import day
from rules.values import Type, Value

# MariaDB's dates may be 0000-00-00, or have a month or day of zero.
_CALENDARS: Mapping[str, Exactness] = {"duckdb": "always", "postgresql": "always"}

_FIELDS: Mapping[str, tuple[str, Callable[[dt.date], int]]] = {
    "year": ("year", lambda local: local.year),
    "quarter": ("quarter", lambda local: (local.month + 2) // 3),
    "month": ("month", lambda local: local.month),
    "weekday": ("isodow", lambda local: local.isoweekday()),
}


def field(name: str, moment: Typed, zone: ZoneInfo) -> Typed:
    """A field of a date, or of an instant in that time zone; null outside the years 1 to 9999."""
    sql_name, of_day = _FIELDS[name]

    def run(row: Any, slot: Any) -> Value:
        value = moment.run(row, slot)
        local = day(value, zone.key) if isinstance(value, dt.date) else None
        return None if local is None else of_day(local)

    # Another zone's rules come from the database's copy of the zone database, which may differ from ours.
    own = _CALENDARS if moment.type is Type.DATE or zone.key == "UTC" else {}
    return derived(Type.INTEGER, (moment,), run, lambda t: calendar_field(moment.sql(t), sql_name), own)
