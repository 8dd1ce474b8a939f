"""The limits of a column's values, by the type that its database declares. A type that is not listed has no limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from connectors.target import ColumnLimits

_POSTGRESQL_BITS = {"smallint": 16, "integer": 32, "bigint": 64}
_MYSQL_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_POSTGRESQL: Mapping[str, ColumnLimits] = {
    "real": ColumnLimits("number"),
    "double precision": ColumnLimits("number"),
    "numeric": ColumnLimits("number"),
    "boolean": ColumnLimits("boolean"),
    "date": ColumnLimits("time"),
    "uuid": ColumnLimits("uuid"),
    "json": ColumnLimits("json"),
    "jsonb": ColumnLimits("json"),
}
_MYSQL: Mapping[str, ColumnLimits] = {
    "float": ColumnLimits("number"),
    "double": ColumnLimits("number"),
    "date": ColumnLimits("time"),
    "datetime": ColumnLimits("time"),
    "timestamp": ColumnLimits("time"),
    "uuid": ColumnLimits("uuid"),
    "json": ColumnLimits("json"),
}
_SIZED_TEXT = re.compile(r"(?:character varying|character|varchar|char)\((\d+)\)")
_SIZED_NUMBER = re.compile(r"(?:numeric|decimal)\((\d+),(\d+)\)( unsigned)?.*")
_MYSQL_TYPE = re.compile(r"([a-z]+)(?:\(\d+\))?( unsigned)?(?: zerofill)?")
_LABELS = re.compile(r"enum\((.*)\)", re.DOTALL)
_LABEL = re.compile(r"'((?:[^']|'')*)'")
_SQLITE_TIMES = ("DATE", "DATETIME", "TIMESTAMP")


def of_postgresql(type_: str, labels: Sequence[str]) -> ColumnLimits | None:
    """Return the limits of a type as `format_type` writes it; `labels` are those of an enum."""
    if labels:
        return ColumnLimits("label", labels=tuple(labels))
    if type_ in _POSTGRESQL_BITS:
        return _integers(_POSTGRESQL_BITS[type_])
    if type_.startswith("timestamp"):
        return ColumnLimits("time")
    return _POSTGRESQL.get(type_) or _sized(type_)


def of_mysql(type_: str) -> ColumnLimits | None:
    """Return the limits of a `column_type` of MariaDB or MySQL, which holds the labels of an enum."""
    if labels := _LABELS.fullmatch(type_):
        return ColumnLimits("label", labels=tuple(label.replace("''", "'") for label in _LABEL.findall(labels[1])))
    match = _MYSQL_TYPE.fullmatch(type_)
    if match and match[1] in _MYSQL_BITS:
        return _integers(_MYSQL_BITS[match[1]], is_signed=match[2] is None)
    return (_MYSQL.get(match[1]) if match else None) or _sized(type_)


def of_sqlite(type_: str) -> ColumnLimits | None:
    """Return the limits of a declared type, by SQLite's rules of affinity. It ignores lengths."""
    name = type_.upper().partition("(")[0].strip()
    if "INT" in name:
        return _integers(64)
    if any(part in name for part in ("CHAR", "CLOB", "TEXT", "BLOB")):
        return None
    if any(part in name for part in ("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL")):
        return ColumnLimits("number")
    if "BOOL" in name:
        return ColumnLimits("boolean")
    return ColumnLimits("time") if name in _SQLITE_TIMES else None


def _integers(bits: int, *, is_signed: bool = True) -> ColumnLimits:
    half = 1 << (bits - 1)
    return ColumnLimits("integer", *((-half, half - 1) if is_signed else (0, 2 * half - 1)))


def _sized(type_: str) -> ColumnLimits | None:
    if text := _SIZED_TEXT.fullmatch(type_):
        return ColumnLimits("text", length=int(text[1]))
    if number := _SIZED_NUMBER.fullmatch(type_):
        return ColumnLimits("number", least=0 if number[3] else None, digits=(int(number[1]), int(number[2])))
    return None
