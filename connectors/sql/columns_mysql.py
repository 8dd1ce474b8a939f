"""The columns of MariaDB and MySQL, from the wire protocol, which says more about a result than the schema."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from pymysql.constants import FIELD_TYPE, FLAG
from sqlalchemy.dialects import mysql

from connectors.sql.columns import Base, Kind, SqlColumn, exactly_compared, no_rows
from connectors.sql.values import DIGITS, Wall

BINARY_CHARSET = 63


def columns(connection: sa.Connection, base: Base, zone: str) -> list[SqlColumn]:
    result = connection.execute(no_rows(base))
    cursor: Any = result.cursor
    fields = list(cursor._result.fields)  # noqa: SLF001 - the public description lacks the flags and the charset
    result.close()
    return [_mysql_column(field, zone) for field in fields]


_MYSQL_WHOLE = (FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.LONG, FIELD_TYPE.INT24, FIELD_TYPE.YEAR)
_MYSQL_BLOBS = (
    FIELD_TYPE.TINY_BLOB,
    FIELD_TYPE.MEDIUM_BLOB,
    FIELD_TYPE.LONG_BLOB,
    FIELD_TYPE.BLOB,
    FIELD_TYPE.VAR_STRING,
    FIELD_TYPE.STRING,
    FIELD_TYPE.VARCHAR,
)


def _mysql_column(field: Any, zone: str) -> SqlColumn:
    kind = _mysql_kind(field, zone)
    enumerated = bool(field.flags & (FLAG.ENUM | FLAG.SET))
    nullable = not field.flags & FLAG.NOT_NULL or isinstance(kind, (sa.Date, sa.DateTime))  # zero dates become null
    if kind is None or enumerated:
        return SqlColumn(field.name, sa.Text(), cast=True, nullable=nullable, pushable=True)
    single = isinstance(kind, sa.REAL)  # a text loses digits; a double has all of them
    long = isinstance(kind, sa.Numeric) and not single and (kind.precision or 0) > DIGITS
    bits = field.type_code in (FIELD_TYPE.BIT, FIELD_TYPE.GEOMETRY)
    return SqlColumn(
        field.name, kind, cast=single, nullable=nullable, pushable=exactly_compared(kind) and not bits and not long
    )


def _mysql_kind(field: Any, zone: str) -> Kind | None:
    code, unsigned = field.type_code, bool(field.flags & FLAG.UNSIGNED)
    if code == FIELD_TYPE.TINY and field.length == 1 and not unsigned:
        return sa.Boolean()
    if code in _MYSQL_WHOLE:
        return sa.Integer()
    if code == FIELD_TYPE.LONGLONG:
        return mysql.BIGINT(unsigned=True) if unsigned else sa.BigInteger()
    if code in (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL):
        return sa.Numeric(field.length - bool(field.scale) - (not unsigned), field.scale)
    if code in _MYSQL_BLOBS:
        return sa.LargeBinary() if field.charsetnr == BINARY_CHARSET else sa.Text()
    other_kinds: dict[int, Kind] = {
        FIELD_TYPE.FLOAT: sa.REAL(),
        FIELD_TYPE.DOUBLE: sa.Double(),
        FIELD_TYPE.TIMESTAMP: sa.DateTime(timezone=True),
        FIELD_TYPE.DATETIME: Wall(zone),
        FIELD_TYPE.DATE: sa.Date(),
        FIELD_TYPE.NEWDATE: sa.Date(),
        FIELD_TYPE.BIT: sa.LargeBinary(),
        FIELD_TYPE.GEOMETRY: sa.LargeBinary(),
        FIELD_TYPE.NULL: sa.Text(),
    }
    return other_kinds.get(code)
