"""Typed parts of expressions: type, Python function, SQL, and the dialects where that SQL is exact."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from rules.functions import DIALECTS
from rules.normalise import Exactness, weakest
from rules.values import Type, Value

Run = Callable[[Any, dt.datetime], Value]

NOWHERE: Mapping[str, Exactness] = {}
EVERYWHERE: Mapping[str, Exactness] = dict.fromkeys(DIALECTS, "always")
SERVERS: Mapping[str, Exactness] = dict.fromkeys(("duckdb", "postgresql", "mysql"), "always")
# Comparisons of decimals and times; SQLite has neither.
TYPED: Mapping[str, Exactness] = {d: "always" for d in DIALECTS if d != "sqlite"}
IF_ASCII: Mapping[str, Exactness] = dict.fromkeys(DIALECTS, "ascii")
# PostgreSQL and DuckDB agree with us on floats, NaN included: it equals itself and is the greatest.
FLOATS: Mapping[str, Exactness] = {"duckdb": "always", "postgresql": "always"}


@dataclass(frozen=True)
class CompileTarget:
    """The target of compilation: the columns, the run's slot, the dialect."""

    columns: Mapping[str, sa.ColumnElement[Any]]
    slot: dt.datetime
    dialect: str


@dataclass(frozen=True)
class Typed:
    """`run` takes a row (or the rows of a group) and the slot. `exact` lacks the dialects where SQL differs.

    A constant depends on no column; `literal` is the text of a text literal, which may become a date. `stays_ascii` is
    False if texts that are not ASCII can come of ASCII columns: SQL that is exact on ASCII is not exact there.
    `is_jsonb` is True for a column whose texts are PostgreSQL's jsonb.
    """

    type: Type
    run: Run
    sql: Callable[[CompileTarget], sa.ColumnElement[Any]]
    exact: Mapping[str, Exactness] = field(default_factory=lambda: EVERYWHERE)
    constant: bool = False
    literal: str | None = None
    stays_ascii: bool = True
    is_jsonb: bool = False


def everywhere_all(parts: Sequence[Typed], own: Mapping[str, Exactness] = EVERYWHERE) -> dict[str, Exactness]:
    """Return where all the parts and the operation over them are exact, by the weakest claim."""
    if not all(p.stays_ascii for p in parts):
        own = {d: claim for d, claim in own.items() if claim != "ascii"}
    claims = {d: [own.get(d, "never"), *(p.exact.get(d, "never") for p in parts)] for d in DIALECTS}
    return {d: weakest(*claim) for d, claim in claims.items()}


def derived(
    kind: Type,
    parts: Sequence[Typed],
    run: Run,
    sql: Callable[[CompileTarget], sa.ColumnElement[Any]],
    own: Mapping[str, Exactness] = EVERYWHERE,
) -> Typed:
    """Build an operation over parts. If all of them are constants it is computed here and compiled as its value."""
    if all(p.constant for p in parts):
        return computed(kind, run)
    return Typed(kind, run, sql, everywhere_all(parts, own), stays_ascii=_stay_ascii(kind, parts))


def _stay_ascii(kind: Type, parts: Sequence[Typed]) -> bool:
    return kind is not Type.TEXT or all(p.stays_ascii for p in parts)


def no_sql(target: CompileTarget) -> sa.ColumnElement[Any]:
    """Fail: the operation is exact in no SQL, so nothing may compile it."""
    raise AssertionError(f"compiled for {target.dialect} although that is exact nowhere")


def computed(kind: Type, run: Run, literal: str | None = None) -> Typed:
    """Build a constant, such as a literal or `slot() - 90d`."""

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        return constant_sql(run({}, target.slot), kind, target.dialect)

    own = EVERYWHERE if kind in (Type.TEXT, Type.INTEGER, Type.BOOLEAN) else TYPED
    # A text without a literal is computed: nobody looked at its characters.
    stays_ascii = kind is not Type.TEXT or (literal is not None and literal.isascii())
    return Typed(kind, run, sql, own, constant=True, literal=literal, stays_ascii=stays_ascii)


_SQL_TYPES: dict[Type, sa.types.TypeEngine[Any]] = {
    Type.TEXT: sa.Text(),
    Type.INTEGER: sa.BigInteger(),
    Type.DECIMAL: sa.Numeric(),
    Type.FLOAT: sa.Double(),
    Type.BOOLEAN: sa.Boolean(),
    Type.DATE: sa.Date(),
    Type.INSTANT: sa.DateTime(timezone=True),
    Type.BYTES: sa.LargeBinary(),
}


def constant_sql(value: Value, kind: Type, dialect: str) -> sa.ColumnElement[Any]:
    """Return a value as a bound literal of that type."""
    match value:
        case None:
            return sa.cast(sa.null(), _SQL_TYPES[kind]) if dialect in ("duckdb", "postgresql") else sa.null()
        case bool() | str():
            return sa.literal(value, _SQL_TYPES[kind])
        case int() if -(2**63) <= value < 2**63:
            return sa.literal(value, sa.BigInteger())
        case int() | Decimal():
            return _decimal_sql(Decimal(value))
        case dt.datetime():
            return _instant_sql(value, dialect)
        case dt.date():
            return sa.cast(sa.literal(value.isoformat(), sa.String()), sa.Date())
    raise TypeError(f"an expression has no constants of type {type(value).__name__}")


def decimal_shape(value: Decimal) -> tuple[int, int]:
    """Return the number of digits of a decimal, and how many are after the point."""
    _, digits, exponent = value.as_tuple()
    places = max(0, -exponent) if isinstance(exponent, int) else 0
    return max(len(digits) + max(0, exponent if isinstance(exponent, int) else 0), places), places


def _decimal_sql(value: Decimal) -> sa.ColumnElement[Any]:
    digits, places = decimal_shape(value)
    return sa.cast(sa.literal(format(value, "f"), sa.String()), sa.Numeric(max(digits, 1), places))


def _instant_sql(value: dt.datetime, dialect: str) -> sa.ColumnElement[Any]:
    text = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    if dialect in ("mysql", "mariadb"):
        from sqlalchemy.dialects import mysql  # noqa: PLC0415 - a run over files does not need it

        return sa.cast(sa.literal(text, sa.String()), mysql.DATETIME(fsp=6))
    return sa.cast(sa.literal(f"{text}+00:00", sa.String()), sa.DateTime(timezone=True))
