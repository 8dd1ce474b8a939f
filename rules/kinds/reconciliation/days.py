"""The local day of an instant in SQL, by the rules of Python's time zones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from rules.functions import utc_day

_SECOND = dt.timedelta(seconds=1)
_DAY = dt.timedelta(days=1)


def local_day(
    moment: sa.ColumnElement[Any], zone: str, days: Iterable[dt.date], dialect: str = "duckdb"
) -> sa.ColumnElement[Any]:
    """Return the day of an instant in a time zone; `days` are all UTC days that the column has."""
    offsets = list(_offsets(ZoneInfo(zone), sorted(days)))
    if all(offset == dt.timedelta() for _, offset in offsets):
        return utc_day(moment)
    (_, first), *later = offsets
    cases = [(moment >= _instant(begin, dialect), _seconds(offset)) for begin, offset in reversed(later)]
    offset = sa.case(*cases, else_=_seconds(first)) if cases else _seconds(first)
    return sa.cast(_moved(moment, offset, dialect), sa.Date())


def _moved(moment: sa.ColumnElement[Any], seconds: sa.ColumnElement[int], dialect: str) -> sa.ColumnElement[Any]:
    if dialect in ("mysql", "mariadb"):
        return sa.func.timestampadd(sa.literal_column("SECOND"), seconds, moment)
    utc = sa.func.timezone("UTC", moment, type_=sa.DateTime())
    if dialect == "duckdb":
        return utc + sa.func.to_seconds(seconds)
    return utc + sa.func.make_interval(*(sa.literal_column("0") for _ in range(6)), seconds)


def _offsets(zone: ZoneInfo, days: list[dt.date]) -> Iterator[tuple[dt.datetime, dt.timedelta]]:
    """Yield each change of the offset: the first instant of these days that has it, and the offset."""
    current: dt.timedelta | None = None
    for day in days:
        begin = dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)
        first, last = _offset(begin, zone), _offset(begin + _DAY - _SECOND, zone)
        if first != current:
            yield begin, first
        if last != first:
            yield _change(begin, begin + _DAY - _SECOND, zone), last
        current = last


def _change(begin: dt.datetime, end: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """Return the first second with the offset of `end`."""
    before = _offset(begin, zone)
    while end - begin > _SECOND:
        middle = begin + (end - begin) // 2 // _SECOND * _SECOND
        begin, end = (middle, end) if _offset(middle, zone) == before else (begin, middle)
    return end


def _offset(moment: dt.datetime, zone: ZoneInfo) -> dt.timedelta:
    try:
        return moment.astimezone(zone).utcoffset() or dt.timedelta()
    except OverflowError:  # the local time would be before year 1 or after year 9999
        return dt.timedelta()


def _instant(moment: dt.datetime, dialect: str) -> sa.ColumnElement[Any]:
    if dialect in ("mysql", "mariadb"):  # the sessions there are in UTC
        return sa.cast(sa.literal(moment.replace(tzinfo=None).isoformat(" ")), sa.DateTime())
    return sa.cast(sa.literal(moment.isoformat(" ")), sa.DateTime(timezone=True))


def _seconds(offset: dt.timedelta) -> sa.ColumnElement[int]:
    return sa.literal_column(str(offset // _SECOND), sa.Integer())
