"""The columns of a table or query and their types, as the database reports them for a select of no rows.

The same query for tables and queries gives domains, unsigned numbers and the types of expressions as they arrive. Types
that the database compares differently from us are cast to text in the relation: char(n), citext, uuid, enum, json,
inet, arrays, times of day, intervals, money and all others without a type of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.sql.values import DIGITS, Wall

Kind = sa.types.TypeEngine[Any]
Base = sa.TableClause | sa.TextClause
"""A table, or the text of a query."""


@dataclass(frozen=True)
class SqlColumn:
    """A column of the relation; `cast`: the relation casts it to `kind` first."""

    name: str
    kind: Kind
    cast: bool = False
    nullable: bool = True
    pushable: bool = False
    jsonb: bool = False


def columns(connection: sa.Connection, base: Base, zone: str) -> list[SqlColumn]:
    """The columns of a table (a lightweight TableClause) or of a query's text. Database errors pass through."""
    if connection.dialect.name == "mysql":
        from connectors.sql import columns_mysql  # noqa: PLC0415 - needs PyMySQL, which is an extra

        return columns_mysql.columns(connection, base, zone)
    ask = _postgresql if connection.dialect.name == "postgresql" else _sqlite
    return ask(connection, base, zone)


def no_rows(base: Base) -> sa.Select[Any]:
    source = base if isinstance(base, sa.TableClause) else base.columns().subquery("records")
    return sa.select(sa.literal_column("*")).select_from(source).where(sa.false()).limit(0)


_POSTGRESQL: dict[int, Callable[[str], Kind]] = {
    16: lambda _: sa.Boolean(),
    17: lambda _: sa.LargeBinary(),
    19: lambda _: sa.Text(),
    20: lambda _: sa.BigInteger(),
    21: lambda _: sa.SmallInteger(),
    23: lambda _: sa.Integer(),
    25: lambda _: sa.Text(),
    700: lambda _: sa.REAL(),
    701: lambda _: sa.Double(),
    1043: lambda _: sa.Text(),
    1082: lambda _: sa.Date(),
    1114: Wall,
    1184: lambda _: sa.DateTime(timezone=True),
}
_NUMERIC = 1700
_JSONB = 3802


def _postgresql(connection: sa.Connection, base: Base, zone: str) -> list[SqlColumn]:
    result = connection.execute(no_rows(base))
    cursor: Any = result.cursor
    described = list(cursor.description)
    result.close()
    required = _required(connection, base)
    # White space and case of texts match ours only in UTF-8; other encodings lack half of the white space.
    unicode = connection.exec_driver_sql("show server_encoding").scalar() == "UTF8"
    columns_found = []
    for field in described:
        if field.type_code == _NUMERIC:
            column = _postgresql_numeric(field)
        elif field.type_code in _POSTGRESQL:
            kind = _POSTGRESQL[field.type_code](zone)
            calendar = isinstance(kind, (sa.Date, sa.DateTime))  # may hold infinity, which becomes null
            nullable = calendar or field.name not in required
            pushable = exactly_compared(kind) and (unicode or not isinstance(kind, sa.Text))
            column = SqlColumn(field.name, kind, nullable=nullable, pushable=pushable)
        else:
            nullable, is_jsonb = field.name not in required, field.type_code == _JSONB
            column = SqlColumn(field.name, sa.Text(), cast=True, nullable=nullable, pushable=unicode, jsonb=is_jsonb)
        columns_found.append(column)
    return columns_found


def _postgresql_numeric(described: Any) -> SqlColumn:
    """Without a precision, or with more than 38 digits, a value may be too long for our type; only reading shows it."""
    precision, scale = described.precision, described.scale or 0
    if precision is None:
        return SqlColumn(described.name, sa.Numeric())
    pushable = max(precision, scale, precision - scale) <= DIGITS
    return SqlColumn(described.name, sa.Numeric(precision, scale), pushable=pushable)


def _required(connection: sa.Connection, base: Base) -> set[str]:
    if not isinstance(base, sa.TableClause):
        return set()
    statement = sa.text("select attname from pg_attribute where attrelid = to_regclass(:name) and attnotnull")
    return set(connection.execute(statement, {"name": regclass(base)}).scalars())


def regclass(table: sa.TableClause) -> str:
    """The table's name as PostgreSQL's `to_regclass` reads it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in (table.schema, table.name) if part)


def exactly_compared(kind: Kind) -> bool:
    """Return True if databases compare such values as we do: not floats (NaN, -0) or naive times of zones with gaps."""
    if isinstance(kind, Wall):
        return kind.zone == "UTC"
    return not isinstance(kind, sa.Float)


def _sqlite(connection: sa.Connection, base: Base, zone: str) -> list[SqlColumn]:
    if isinstance(base, sa.TableClause):
        name, schema = base.name, base.schema
    else:  # only a view shows the declared types of a query's columns; a temporary one is in memory
        name, schema = "reconcile_asks", "temp"
        connection.exec_driver_sql("PRAGMA query_only = OFF")
        connection.exec_driver_sql(f"CREATE TEMP VIEW {name} AS {_plain(base)}")
        connection.exec_driver_sql("PRAGMA query_only = ON")
    quote = connection.dialect.identifier_preparer.quote_identifier
    inside = f"{quote(schema)}." if schema else ""
    rows = connection.exec_driver_sql(f"PRAGMA {inside}table_xinfo({quote(name)})").all()
    virtual = 1  # a virtual table's hidden column; 2 and 3 are generated columns, which are data
    kinds = [(str(row[1]), sqlite_kind(str(row[2] or ""), zone)) for row in rows if row[6] != virtual]
    return [SqlColumn(name, kind, pushable=isinstance(kind, (sa.Integer, sa.Boolean, sa.Text))) for name, kind in kinds]


def _plain(query: sa.TextClause) -> str:
    return query.text.replace("\\:", ":")


def sqlite_kind(declared: str, zone: str) -> Kind:
    """The type of a declared type: SQLite's affinity rules and the usual names of dates and decimals; else ("", "UUID",
    "JSON") text."""
    text = declared.upper()
    sized = re.search(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", text)
    word = re.sub(r"\(.*", "", text).strip()
    if word.startswith(("DATETIME", "TIMESTAMP")):
        return Wall(zone)
    rules: Sequence[tuple[str, Callable[[], Kind]]] = (
        ("^DATE$", sa.Date),
        ("BOOL", sa.Boolean),
        ("INT", sa.BigInteger),
        ("CHAR|CLOB|TEXT", sa.Text),
        ("BLOB", sa.LargeBinary),
        ("REAL|FLOA|DOUB", sa.Double),
        ("^DEC|^NUMERIC|^NUMBER|^MONEY", lambda: _sized(sized)),
    )
    return next((make() for pattern, make in rules if re.search(pattern, word)), sa.Text())


def _sized(sized: re.Match[str] | None) -> Kind:
    return sa.Numeric(int(sized[1]), int(sized[2] or 0)) if sized and int(sized[1]) else sa.Numeric()


def unfit_in_sqlite(connection: sa.Connection, base: Base, columns: Sequence[SqlColumn]) -> set[str]:
    """Columns that SQLite compares differently from us because some cells are not of the declared type: one pass.

    It compares only whole numbers, booleans and text as we do; there, decimals are doubles and times are text.
    """
    likely = [column for column in columns if isinstance(column.kind, (sa.Integer, sa.Boolean, sa.Text))]
    if not likely:
        return {column.name for column in columns}
    source = base if isinstance(base, sa.TableClause) else base.columns().subquery("records")
    checks = [sa.func.max(_odd(sa.column(quoted_name(column.name, quote=True)), column.kind)) for column in likely]
    row = connection.execute(sa.select(*checks).select_from(source)).one()
    return {column.name for column in columns if column not in likely} | {
        column.name for column, odd in zip(likely, row, strict=True) if odd
    }


def _odd(column: sa.ColumnClause[Any], kind: Kind) -> sa.ColumnElement[Any]:
    stored = "text" if isinstance(kind, sa.Text) else "integer"
    is_other = sa.func.typeof(column).not_in((stored, "null"))
    return sa.or_(is_other, column.not_in((0, 1))) if isinstance(kind, sa.Boolean) else is_other
