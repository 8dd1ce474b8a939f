"""Types and values of databases that we know only by their SQLAlchemy dialect and their driver.

A table's columns have the generic form of the types from SQLAlchemy's inspector; types without one, times of day,
intervals, arrays and documents are text. A query's columns have only the driver's types. Some drivers say no more than
"a number", which is read as a decimal, or "a date or a time", which is read as an instant. Columns without a type are
text, written as ISO 8601, plain digits, true and false. `columns:` declares better types.

Naive times are the wall clock of the dataset's `timezone`. A driver's plain text for a number or a time is converted;
other values that do not match their column's type become null and are counted.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.dialects import mssql

from connectors.coerce import INSTANT, in_zone
from connectors.declared import Declared
from connectors.sql.reading import AnswerColumn, AnswerReader, Kind
from connectors.sql.values import DIGITS, OUTSIDE, ArrowColumn, Unfit


class Moment(sa.DateTime):
    """The driver's times: aware ones are instants, naive ones and days the wall clock of a zone."""

    cache_ok = True

    def __init__(self, zone: str) -> None:
        super().__init__()
        self.zone = zone


@dataclass(frozen=True)
class GenericColumn:
    """A column of a table or query, under SQLAlchemy's name for it; `reflected` is the inspector's type of it."""

    name: str
    kind: Kind
    reflected: Kind | None = None


def inspected(kind: Kind, zone: str) -> Kind:
    """The type in which values of a reflected type are read."""
    if isinstance(kind, (mssql.MONEY, mssql.SMALLMONEY)):
        return sa.Numeric(19, 4)
    if kind.__visit_name__.upper().startswith("TIMESTAMP"):  # Snowflake's are no DateTime of SQLAlchemy
        return Moment(zone)
    try:
        generic = kind.as_generic()
    except (NotImplementedError, AssertionError, TypeError):  # SQLAlchemy's words for a type of that database alone
        return sa.Text()
    if isinstance(generic, sa.DateTime):
        return Moment(zone)
    readable = (sa.Boolean, sa.Integer, sa.Float, sa.Numeric, sa.Date, sa.LargeBinary)
    return generic if isinstance(generic, readable) else sa.Text()


def described(column: Any, driver: Any, zone: str) -> Kind:
    """The type in which values of a result column are read; `column`, `driver`: PEP 249's description and module."""
    code = column[1]
    if isinstance(code, type):
        return _BY_CLASS.get(code, _text)(zone)
    if code is None:
        return sa.Text()
    word = str(code).upper()
    if word in _BY_WORD:
        return _BY_WORD[word](zone)
    if sized := re.fullmatch(r"(?:DECIMAL|NUMERIC)\((\d+), ?(\d+)\)", word):
        return sa.Numeric(int(sized[1]), int(sized[2]))
    if code == getattr(driver, "NUMBER", None):
        return _number(column[4], column[5])
    if code == getattr(driver, "DATETIME", None):
        return Moment(zone)
    return sa.LargeBinary() if code == getattr(driver, "BINARY", None) else sa.Text()


def _text(_zone: str) -> Kind:
    return sa.Text()


_BY_CLASS: Mapping[type, Callable[[str], Kind]] = {
    bool: lambda _: sa.Boolean(),
    int: lambda _: sa.BigInteger(),
    float: lambda _: sa.Double(),
    Decimal: lambda _: sa.Numeric(),
    dt.date: lambda _: sa.Date(),
    dt.datetime: Moment,
    bytes: lambda _: sa.LargeBinary(),
    bytearray: lambda _: sa.LargeBinary(),
}
"""For drivers, like pyodbc, whose description names Python's classes."""
_BY_WORD: Mapping[str, Callable[[str], Kind]] = {
    **dict.fromkeys(("BOOL", "BOOLEAN"), lambda _: sa.Boolean()),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), lambda _: sa.BigInteger()),
    **dict.fromkeys(("REAL", "FLOAT", "DOUBLE"), lambda _: sa.Double()),
    "DATE": lambda _: sa.Date(),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"), Moment),
    **dict.fromkeys(("BLOB", "BINARY", "VARBINARY"), lambda _: sa.LargeBinary()),
}
"""For drivers, like DuckDB's and Trino's, whose description names SQL's types."""


def _number(precision: int | None, scale: int | None) -> Kind:
    """An integer only if the driver says so; a scale beyond the precision means that it does not know."""
    if not precision or scale is None or not 0 <= scale <= precision <= DIGITS:
        return sa.Numeric()
    return sa.BigInteger() if scale == 0 and precision <= 18 else sa.Numeric(precision, scale)


def answer_column(column: GenericColumn, declared: Declared | None) -> AnswerColumn:
    """The column as it is read. A declaration decides here if the driver's values are more precise than the column's
    type: a number too long for it, or a float."""
    kind, word = column.kind, declared.word if declared else ""
    exact = isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float)
    if isinstance(kind, (sa.Integer, sa.Numeric)) and word == "text":
        kind = sa.Text()
    elif isinstance(kind, sa.Integer) and declared and word == "decimal":
        kind = sa.Numeric(declared.precision, declared.scale)
    elif exact and word == "float":
        kind = sa.Double()
    elif exact and declared == Declared("instant"):
        kind = sa.BigInteger()  # seconds since 1970
    return AnswerColumn(column.name, kind, declared)


class GenericReading(AnswerReader):
    def _to_arrow(self, values: Sequence[Any], column: AnswerColumn) -> ArrowColumn:
        if isinstance(column.kind, Moment):
            return _moments(values, column.kind.zone)
        present = set(map(type, values))
        turn = next((turn for kind, turn in _TURNS if isinstance(column.kind, kind)), None)
        if turn and not present <= _NATIVE[turn]:
            values = [None if value is None else turn(value) for value in values]
        return super()._to_arrow(values, column)


def _moments(values: Sequence[Any], zone: str) -> ArrowColumn:
    moments = [_moment(value) for value in values]
    aware = _times([moment if moment and moment.tzinfo else None for moment in moments], INSTANT)
    naive = _times([moment if moment and not moment.tzinfo else None for moment in moments], pa.timestamp("us"))
    array = pc.coalesce(aware, in_zone(naive, zone)) if naive.null_count < len(naive) else aware
    unfit = tuple(
        i for i, (value, moment) in enumerate(zip(values, moments, strict=True)) if moment is None and value is not None
    )
    return ArrowColumn(array, Unfit(OUTSIDE, unfit) if unfit else None)


def _times(values: Sequence[dt.datetime | None], kind: pa.DataType) -> pa.Array[Any]:
    return pa.array(values, kind)


def _moment(value: Any) -> dt.datetime | None:
    if isinstance(value, str):
        value = _parsed(dt.datetime.fromisoformat, value)
    if isinstance(value, dt.datetime):
        return value
    return dt.datetime.combine(value, dt.time()) if isinstance(value, dt.date) else None


def _decimal(value: Any) -> Any:
    return Decimal(value) if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?", value, re.ASCII) else value


def _integer(value: Any) -> Any:
    return int(value) if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,40}", value, re.ASCII) else value


def _boolean(value: Any) -> Any:
    return bool(value) if isinstance(value, Decimal) and value in (0, 1) else value


def _date(value: Any) -> Any:
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date()
    return _parsed(dt.date.fromisoformat, value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """Text for a driver's value of a text column."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return bytes(value) if isinstance(value, memoryview) else value


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        return text  # not a value of its type: becomes null and is counted


Turn = Callable[[Any], Any]
_TURNS: Sequence[tuple[type[Kind], Turn]] = (
    (sa.Boolean, _boolean),
    (sa.Integer, _integer),
    (sa.Float, _decimal),
    (sa.Numeric, _decimal),
    (sa.Date, _date),
    (sa.Text, _plain),
)
_NONE = type(None)
_NATIVE: Mapping[Turn, frozenset[type]] = {
    _boolean: frozenset({bool, int, _NONE}),
    _integer: frozenset({int, Decimal, _NONE}),
    _decimal: frozenset({Decimal, float, int, _NONE}),
    _date: frozenset({dt.date, _NONE}),
    _plain: frozenset({str, _NONE}),
}
"""Classes of values that need no conversion."""
