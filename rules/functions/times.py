"""Functions of instants and dates, exact to the microsecond."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from rules.functions.dialects import arguments


class micros_between(FunctionElement[int]):  # noqa: N801
    """`micros_between(a, b)`: microseconds from a to b, exactly, negative when b is earlier; null for a null.

    Both are instants, or both are dates (`sa.Date`). On SQLite they are ISO text in UTC, `2026-01-31 12:00:00.000000`
    (fewer or no decimals are fine).
    """

    type = sa.BigInteger()
    name = "micros_between"
    inherit_cache = True


class utc_day(FunctionElement[Any]):  # noqa: N801
    """The date of an instant in UTC. Not on SQLite."""

    type = sa.Date()
    name = "utc_day"
    inherit_cache = True


class utc_hour(FunctionElement[Any]):  # noqa: N801
    """The instant at which the hour began in UTC. DuckDB and PostgreSQL."""

    type = sa.DateTime(timezone=True)
    name = "utc_hour"
    inherit_cache = True


class utc_month(FunctionElement[Any]):  # noqa: N801
    """The instant at which the month began in UTC. DuckDB and PostgreSQL."""

    type = sa.DateTime(timezone=True)
    name = "utc_month"
    inherit_cache = True


class utc_week(FunctionElement[Any]):  # noqa: N801
    """The instant at which the week began in UTC, on Monday. DuckDB and PostgreSQL."""

    type = sa.DateTime(timezone=True)
    name = "utc_week"
    inherit_cache = True


class utc_quarter(FunctionElement[Any]):  # noqa: N801
    """The instant at which the quarter began in UTC. DuckDB and PostgreSQL."""

    type = sa.DateTime(timezone=True)
    name = "utc_quarter"
    inherit_cache = True


@compiles(utc_day, "duckdb")
@compiles(utc_day, "postgresql")
def _utc_day(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST(timezone('UTC', {arguments(element, compiler, **kw)[0]}) AS DATE)"


@compiles(utc_day, "mysql", "mariadb")
def _mysql_utc_day(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({arguments(element, compiler, **kw)[0]} AS DATE)"


@compiles(utc_hour, "duckdb")
@compiles(utc_hour, "postgresql")
def _utc_hour(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"timezone('UTC', date_trunc('hour', timezone('UTC', {x})))"


@compiles(utc_month, "duckdb")
@compiles(utc_month, "postgresql")
@compiles(utc_week, "duckdb")
@compiles(utc_week, "postgresql")
@compiles(utc_quarter, "duckdb")
@compiles(utc_quarter, "postgresql")
def _utc_begin(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    period = element.name.removeprefix("utc_")
    return f"timezone('UTC', CAST(date_trunc('{period}', timezone('UTC', {x})) AS TIMESTAMP))"


def calendar_field(moment: sa.ColumnElement[Any], field: str) -> sa.ColumnElement[Any]:
    """Return a field of a date, or of an instant in UTC, as SQL's EXTRACT names it. DuckDB and PostgreSQL.

    Null outside the years 1 to 9999, as in Python: PostgreSQL has infinity and years before 1.
    """
    local = moment
    if not isinstance(moment.type, sa.Date):
        local = sa.func.timezone(sa.literal_column("'UTC'"), moment, type_=sa.DateTime())
    return sa.case((_has_year(local), sa.cast(sa.extract(field, local), sa.BigInteger())), else_=sa.null())


def in_calendar(moment: sa.ColumnElement[Any], dialect: str) -> sa.ColumnElement[Any]:
    """Return a date or an instant, or null where Python has no such day: infinity, years before 1, zeros of MariaDB."""
    if dialect == "postgresql":
        return sa.case((_has_year(moment), moment), else_=sa.null())
    if dialect in ("mysql", "mariadb"):
        has_day = (sa.extract(field, moment) > 0 for field in ("year", "month", "day"))
        return sa.case((sa.and_(*has_day), moment), else_=sa.null())
    return moment


def _has_year(moment: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    kind, first, last, offset = "DATE", "0001-01-01", "9999-12-31", ""
    if not isinstance(moment.type, sa.Date):
        has_zone = isinstance(moment.type, sa.DateTime) and moment.type.timezone
        kind, offset = ("TIMESTAMPTZ", "+00") if has_zone else ("TIMESTAMP", "")
        first, last = f"{first} 00:00:00", f"{last} 23:59:59.999999"
    ends: list[sa.ColumnElement[Any]] = [sa.literal_column(f"{kind} '{end}{offset}'") for end in (first, last)]
    return moment.between(ends[0], ends[1])


def _are_dates(element: FunctionElement[Any]) -> bool:
    return all(isinstance(clause.type, sa.Date) for clause in element.clauses)


@compiles(micros_between, "duckdb")
def _duck_micros(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    a, b = arguments(element, compiler, **kw)
    return f"date_diff('microsecond', {a}, {b})"


@compiles(micros_between, "postgresql")
def _pg_micros(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    a, b = arguments(element, compiler, **kw)
    if _are_dates(element):
        return f"(CAST({b} - {a} AS BIGINT) * 86400000000)"
    return f"CAST(EXTRACT(EPOCH FROM ({b} - {a})) * 1000000 AS BIGINT)"


@compiles(micros_between, "mysql", "mariadb")
def _mysql_micros(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    a, b = arguments(element, compiler, **kw)
    return f"TIMESTAMPDIFF(MICROSECOND, {a}, {b})"


@compiles(micros_between, "sqlite")
def _sqlite_micros(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    a, b = (_sqlite_epoch(x) for x in arguments(element, compiler, **kw))
    return f"({b} - {a})"


def _sqlite_epoch(x: str) -> str:
    # Whole seconds and decimals separately: julianday() is a float and loses microseconds.
    return (
        f"(CAST(strftime('%s', substr({x}, 1, 19)) AS INTEGER) * 1000000"
        f" + CAST(substr(substr({x}, 21, 6) || '000000', 1, 6) AS INTEGER))"
    )
