"""Typed values and their canonical form, the basis of keys and fingerprints.

Two values are the same exactly when their canonical forms are equal, on every engine, in every process, forever.

Sums of money, exact for any size and order: the default 28 digits would round sums of wide decimals. Pure.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import functools
import json.encoder
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rules.values.compact import encoder
from rules.values.normal_forms import normalised

if TYPE_CHECKING:
    import pyarrow as pa


Value = str | int | Decimal | float | bool | dt.date | dt.datetime | bytes | None
RecordId = tuple[Value, ...]
PLACE = ("_file", "_sheet", "_row")
"""The columns that locate a record in a file; `_sheet` exists only in datasets that may have several sheets."""


class Type(enum.Enum):
    """The types of columns in rules. An instant is always aware and in UTC; connectors let no naive times through."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    INSTANT = "instant"
    BYTES = "bytes"

    @property
    def is_number(self) -> bool:
        return self in (Type.INTEGER, Type.DECIMAL, Type.FLOAT)


@dataclass(frozen=True)
class Column:
    """One column as a rule sees it.

    `pushable` is the connector's claim that the source compares this column exactly as we do, once text is compared
    binary; without it the planner reads the column and compares it here. `stays_ascii` is False for a derived column
    whose text may not be ASCII although the dataset's texts are. `is_jsonb`: its texts are PostgreSQL's jsonb.
    """

    name: str
    type: Type
    nullable: bool = True
    pushable: bool = False
    stays_ascii: bool = True
    is_jsonb: bool = False


@dataclass(frozen=True)
class Schema:
    """The columns of a dataset, in order."""

    columns: tuple[Column, ...]
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {c.name: c for c in self.columns})

    def __getitem__(self, name: str) -> Column:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)


def type_of(arrow: pa.DataType) -> Type | None:
    """Return the rule type of an Arrow type; None for types that rules cannot compare (lists, structs)."""
    from pyarrow import types as t  # noqa: PLC0415 - reading a configuration needs no pyarrow

    checks = (
        (t.is_boolean, Type.BOOLEAN),
        (t.is_integer, Type.INTEGER),
        (t.is_decimal, Type.DECIMAL),
        (t.is_floating, Type.FLOAT),
        (t.is_date, Type.DATE),
        (t.is_timestamp, Type.INSTANT),
        (lambda a: t.is_string(a) or t.is_large_string(a) or t.is_string_view(a), Type.TEXT),
        (lambda a: t.is_binary(a) or t.is_large_binary(a), Type.BYTES),
    )
    return next((kind for check, kind in checks if check(arrow)), None)


def schema_from_arrow(schema: pa.Schema) -> Schema:
    """Columns that rules can compare; field metadata `pushdown: exact` is the connector's claim for `pushable`."""
    columns = []
    for arrow_field in schema:
        kind = type_of(arrow_field.type)
        if kind is not None:
            metadata = arrow_field.metadata or {}
            pushable, is_jsonb = metadata.get(b"pushdown") == b"exact", metadata.get(b"json") == b"jsonb"
            columns.append(Column(arrow_field.name, kind, arrow_field.nullable, pushable, is_jsonb=is_jsonb))
    return Schema(tuple(columns))


def filled(value: Value) -> Value:
    """The value, or None for a text of white space only: everywhere it counts as null."""
    return None if isinstance(value, str) and not value.strip() else value


def canonical(value: Value) -> list[str] | None:
    """A value as [type tag, text], null as None: equal exactly for equal values; 1, 1.0 and Decimal("1.00") are one."""
    match value:
        case None:
            return None
        case bool():
            return ["b", "true" if value else "false"]
        case str():
            return ["t", value]
        case int() | Decimal() | float():
            return ["n", canonical_number(value)]
        case dt.datetime():
            return ["i", canonical_instant(value)]
        case dt.date():
            return ["d", value.isoformat()]
        case bytes():
            return ["y", value.hex()]
    raise TypeError(f"a {type(value).__name__} cannot be part of a key")


def canonical_number(value: int | Decimal | float) -> str:
    """Plain decimal digits without exponent, trailing zeros or a negative zero; a float is its shortest repr."""
    if type(value) is int:
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return repr(value)
        value = Decimal(repr(value))
    value = Decimal(value)
    if not value.is_finite():
        return repr(float(value))
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def canonical_instant(value: dt.datetime) -> str:
    """UTC with microseconds, always 27 characters; raises ValueError for a naive time, which has no place in a key."""
    if value.tzinfo is None:
        raise ValueError("a naive time has no place in a key: the connector gives it its dataset's time zone")
    return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat("T", "microseconds") + "Z"


def canonical_json(values: Sequence[Value]) -> str:
    """The canonical form of a list of values as one line of ASCII JSON."""
    if len(values) == 1:  # most ids
        [value] = values
        if type(value) is int:
            return f'[["n","{value}"]]'
        if type(value) is str:
            return f'[["t",{_text(value)}]]'
    return _JSON([canonical(v) for v in values])


def sameness(values: Sequence[Value]) -> Hashable:
    """Return a value that is equal exactly where `canonical_json` of the values is equal, without writing the JSON."""
    return tuple(value if type(value) is str else _tagged(value) for value in values)


def _tagged(value: Value) -> tuple[str, ...] | None:
    tagged = canonical(value)
    return None if tagged is None else tuple(tagged)


_text = json.encoder.encode_basestring_ascii
_JSON = encoder()


_RANKS = {"n": 0, "t": 1, "d": 2, "i": 3, "b": 4, "y": 5}


def order_key(value: Value) -> tuple[int, bool, Any]:
    """A total order over all values, equal exactly for equal ones: by type (numbers first), then by value.

    Numbers by their exact decimal value, NaN after all others; text and bytes by code point and by byte; nulls last.
    """
    kind = type(value)
    if kind is int:
        return (_RANKS["n"], False, value)
    if kind is str:
        return (_RANKS["t"], False, value)
    tagged = canonical(value)
    if tagged is None:
        return (len(_RANKS), False, 0)
    tag, text = tagged
    if tag == "n":
        number = Decimal(text)
        return (_RANKS[tag], number.is_nan(), Decimal(0) if number.is_nan() else number)
    return (_RANKS[tag], False, text)


EXACT = decimal.Context(prec=1_000)


def of(parts: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    """Return the sum of each currency."""
    total: dict[str, Decimal] = {}
    for amounts in parts:
        add(total, amounts)
    return total


def by_currency(amounts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Return the sum of each currency, with names that differ only in case, blanks or width of letters as one."""
    return of({currency_name(name): amount} for name, amount in sorted(amounts.items()))


@functools.lru_cache(maxsize=1024)
def currency_name(text: str) -> str:
    """Return the name of a currency as amounts are compared by it: `EUR` for ` eur`."""
    return "".join(normalised("NFKC", text).split()).upper()


def sizes(amounts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """The amounts without their sign: a debit is as large as a credit."""
    return {currency: amount.copy_abs() for currency, amount in amounts.items()}


def add(total: dict[str, Decimal], amounts: Mapping[str, Decimal]) -> None:
    """Add each amount to its currency's sum."""
    for currency, amount in amounts.items():
        total[currency] = EXACT.add(total.get(currency, Decimal(0)), amount)
