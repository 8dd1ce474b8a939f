"""Values of databases as Arrow: exactly, or not at all.

The SQLAlchemy type of a column decides the type of its values:

    Boolean                     bool
    Integer, BigInteger …       int64 (uint64 for MariaDB's unsigned bigint)
    Numeric(p, s)               decimal128(p, s); without p, or with more than 38 digits: decimal128(38, at most 12)
    Float, Double, REAL         float64 (float32 for REAL)
    Date                        date32
    DateTime(timezone=True)     timestamp[us, UTC]
    Wall(zone)                  timestamp[us, UTC]: a naive time of that zone
    LargeBinary                 binary
    String, Text, others        utf8

A value that does not match its column's type is an `Unfit`: null and counted, or an error if null could hide that two
numbers differ.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from connectors.coerce import INSTANT, in_zone

DIGITS = 38
FREE_PRECISION, FREE_SCALE = DIGITS, 12
_FIRST_DAY, _LAST_DAY = dt.date(1, 1, 1), dt.date(9999, 12, 31)
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - wall time, placed in its zone later
_DAYS = ((_FIRST_DAY - _EPOCH.date()).days, (_LAST_DAY - _EPOCH.date()).days)
_MICROS = (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)
OUTSIDE = "not a day between the years 1 and 9999"
NOT_BOOLEAN = "not a boolean, 0 or 1"


class Wall(sa.DateTime):
    """Naive times of a zone's wall clock."""

    cache_ok = True

    def __init__(self, zone: str = "UTC") -> None:
        super().__init__(timezone=False)
        self.zone = zone


class NotUtf8(bytes):
    """Text of a SQLite file that is not UTF-8."""


class OutOfCalendar(str):
    """A date of PostgreSQL that Python cannot hold: infinity, BC, after 9999."""

    __slots__ = ()


@dataclass(frozen=True)
class Unfit:
    """The reason why values of a column are unreadable, and their positions. `fatal`: null would be a wrong answer."""

    reason: str
    positions: tuple[int, ...]
    fatal: bool = False


@dataclass(frozen=True)
class ArrowColumn:
    """A column of a batch; unfit values are null."""

    array: pa.Array[Any]
    unfit: Unfit | None = None


def arrow_type(kind: sa.types.TypeEngine[Any]) -> pa.DataType:
    match kind:
        case sa.Boolean():
            return pa.bool_()
        case mysql.BIGINT(unsigned=True):
            return pa.uint64()
        case sa.Integer():
            return pa.int64()
        case sa.Float():
            return pa.float32() if isinstance(kind, sa.REAL) else pa.float64()
        case sa.Numeric():
            return _decimal(kind.precision, kind.scale)
        case sa.Date():
            return pa.date32()
        case sa.DateTime():
            return INSTANT
        case sa.LargeBinary() | sa.BINARY() | sa.VARBINARY():
            return pa.binary()
    return pa.string()


def _decimal(precision: int | None, scale: int | None) -> pa.DataType:
    """A decimal of at most 38 digits (DuckDB refuses decimal256). A longer column mostly has shorter values.

    Negative scales and scales beyond the precision, which PostgreSQL has, are widened to the usual form.
    """
    scale = FREE_SCALE if precision is None else scale or 0
    precision = precision or FREE_PRECISION
    precision, scale = (precision - scale, 0) if scale < 0 else (max(precision, scale), scale)
    return pa.decimal128(precision, scale) if precision <= DIGITS else pa.decimal128(DIGITS, min(scale, FREE_SCALE))


def to_arrow(values: Sequence[Any], kind: sa.types.TypeEngine[Any], dialect: str) -> ArrowColumn:
    zone = kind.zone if isinstance(kind, Wall) else "UTC"
    target = arrow_type(kind)
    plain = pa.timestamp("us") if isinstance(kind, sa.DateTime) else target
    array, unfit = _array(values, plain, _reader(kind))
    if unfit and dialect == "sqlite":  # its cells may hold any type: such cells are counted, not fatal
        unfit = Unfit(unfit.reason, unfit.positions)
    if not isinstance(kind, sa.DateTime):
        return ArrowColumn(array, unfit)
    aware = array.cast(INSTANT) if zone == "UTC" else in_zone(array, zone)
    return ArrowColumn(aware, unfit)


Reader = tuple[frozenset[type], Callable[[Any], Any]]
"""The types that Arrow accepts unchanged, and the converter of all other values, which raises Misfit."""


class Misfit(ValueError):
    """One value that its column cannot hold."""

    def __init__(self, reason: str, *, fatal: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.fatal = reason, fatal


def _array(values: Sequence[Any], target: pa.DataType, reader: Reader) -> tuple[pa.Array[Any], Unfit | None]:
    direct, convert = reader
    present = set(map(type, values)) - {type(None)}
    converted = values if present <= direct else [_or_misfit(convert, value) for value in values]
    if converted is values or not any(isinstance(value, Misfit) for value in converted):
        try:
            return pa.array(converted, target), None
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            pass  # some value does not fit; the slow way below finds it
    if converted is values:
        converted = [_or_misfit(convert, value) for value in values]
    converted = [_fitting(value, target) for value in converted]
    misfits = {i: value for i, value in enumerate(converted) if isinstance(value, Misfit)}
    array = pa.array([None if isinstance(value, Misfit) else value for value in converted], target)
    if not misfits:
        return array, None
    worst = max(misfits.values(), key=lambda misfit: misfit.fatal)
    return array, Unfit(worst.reason, tuple(misfits), worst.fatal)


def _or_misfit(convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return None if value is None else convert(value)
    except Misfit as misfit:
        return misfit


def _fitting(value: Any, target: pa.DataType) -> Any:
    if value is None or isinstance(value, Misfit):
        return value
    try:
        pa.array([value], target)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        return Misfit(f"not {_type_name(target)}", fatal=True)
    return value


def _type_name(target: pa.DataType) -> str:
    if pa.types.is_decimal(target):
        return (
            f"a decimal with at most {target.precision - target.scale} digits before the mark and {target.scale} "
            "after it"
        )
    return "a 64-bit integer" if pa.types.is_integer(target) else "text" if pa.types.is_string(target) else str(target)


def _reader(kind: sa.types.TypeEngine[Any]) -> Reader:
    match kind:
        case sa.Boolean():
            return frozenset({bool}), _boolean
        case sa.Integer():
            return frozenset({int}), _integer
        case sa.Float():
            return frozenset({float}), _float
        case sa.Numeric():
            return frozenset({Decimal}), _exact
        case sa.Date():
            return frozenset({dt.date}), _date
        case sa.DateTime():
            return frozenset({dt.datetime}), _wall  # sessions speak UTC, so an aware time is one in UTC
        case sa.LargeBinary() | sa.BINARY() | sa.VARBINARY():
            return frozenset({bytes}), _bytes
    return frozenset({str}), _text


def _boolean(value: Any) -> bool:
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    raise Misfit(NOT_BOOLEAN, fatal=True)


def _integer(value: Any) -> int:
    if isinstance(value, int) or (isinstance(value, Decimal) and value.is_finite() and value == int(value)):
        return int(value)
    raise Misfit("not an integer", fatal=isinstance(value, Decimal))


def _float(value: Any) -> float:
    if isinstance(value, (int, float, Decimal)):
        return float(value)
    raise Misfit("not a number")


def _exact(value: Any) -> Decimal:
    if isinstance(value, float) and math.isfinite(value):
        value = Decimal(repr(value))  # SQLite stores decimals as doubles: the shortest text was written
    if isinstance(value, int):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        raise Misfit("not a number")
    return without_zeros(value)


def without_zeros(value: Decimal) -> Decimal:
    """1.5 for 1.500, since Arrow counts the zeros as digits; Decimal.normalize would round to 28 digits."""
    text = format(value, "f")
    return Decimal(text.rstrip("0").rstrip(".")) if "." in text else value


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    raise Misfit(OUTSIDE)


def _wall(value: Any) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        raise Misfit(OUTSIDE)
    return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)) and not isinstance(value, NotUtf8):
        return bytes(value)
    raise Misfit("not bytes")


def _text(value: Any) -> str:
    if isinstance(value, NotUtf8):
        raise Misfit("not UTF-8 text")
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Misfit("not UTF-8 text") from None
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def from_arrow(array: pa.Array[Any], kind: sa.types.TypeEngine[Any]) -> ArrowColumn:
    """Convert a column of ADBC to the type of `arrow_type`."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    target = arrow_type(kind)
    match kind:
        case sa.Float():
            return ArrowColumn(array.cast(target))
        case sa.Numeric():
            return _decimals(array, target)
        case sa.Date():
            return _between(array.cast(pa.int32()), _DAYS, pa.date32(), "UTC")
        case sa.DateTime():
            zone = kind.zone if isinstance(kind, Wall) else "UTC"
            return _between(array.cast(pa.int64()), _MICROS, pa.timestamp("us"), zone)
    return ArrowColumn(array.cast(target))


def _between(numbers: pa.Array[Any], bounds: tuple[int, int], target: pa.DataType, zone: str) -> ArrowColumn:
    """Days or microseconds in the calendar; ADBC returns infinity and years beyond 294246 as numbers far outside."""
    lowest, highest = (pa.scalar(bound, numbers.type) for bound in bounds)
    inside = pc.and_(pc.greater_equal(numbers, lowest), pc.less_equal(numbers, highest))
    outside = positions(pc.invert(inside))
    if outside:
        numbers = pc.if_else(inside, numbers, pa.scalar(None, numbers.type))
    array = numbers.cast(target)
    if pa.types.is_timestamp(target):
        array = array.cast(INSTANT) if zone == "UTC" else in_zone(array, zone)
    return ArrowColumn(array, Unfit(OUTSIDE, outside) if outside else None)


def _decimals(text: pa.Array[Any], target: Any) -> ArrowColumn:
    try:
        return ArrowColumn(text.cast(target))
    except pa.ArrowInvalid:
        values = [None if text_value is None else Decimal(text_value) for text_value in text.to_pylist()]
        return to_arrow(values, sa.Numeric(target.precision, target.scale), "postgresql")


def positions(mask: pa.Array[Any]) -> tuple[int, ...]:
    return tuple(i for i, is_true in enumerate(mask.to_pylist()) if is_true) if pc.any(mask).as_py() else ()


def decoded(raw: bytes) -> str | NotUtf8:
    """Decode SQLite's text; the driver's own decoder would end the scan at the first value that is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return NotUtf8(raw)


def forgiving_dates(connection: Any) -> None:
    """Make psycopg return OutOfCalendar for dates outside Python's calendar instead of ending the scan."""
    from psycopg.types import datetime as loaders  # noqa: PLC0415 - psycopg is an extra

    def forgiving(loader: Any) -> Any:
        class Forgiving(loader):  # type: ignore[misc] # the base class is chosen at run time
            def load(self, data: Any) -> Any:
                from psycopg import DataError  # noqa: PLC0415 - psycopg is an extra

                try:
                    return super().load(data)
                except DataError:
                    return OutOfCalendar("outside")

        return Forgiving

    for name, loader in (
        ("date", loaders.DateLoader),
        ("timestamp", loaders.TimestampLoader),
        ("timestamptz", loaders.TimestamptzLoader),
    ):
        connection.adapters.register_loader(name, forgiving(loader))
