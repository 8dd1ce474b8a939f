"""Given records as a FROM clause: what a rule finds in them, a database shows without a table of ours.

Every value is a bound parameter, cast to the type of its column, so that the database compares it as its own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.sql.elements import quoted_name

from connectors.sql.reading import AsDeclared, Kind
from connectors.sql.values import Wall


def stand_in(relation: sa.FromClause, records: pa.Table, dialect: str) -> sa.FromClause:
    """Return the records with the names and types of the relation's columns.

    A column that the relation lacks, or that a dataset declares, has the type of its values.
    """
    kinds = {name: _kind(relation, name, records.schema.field(name).type) for name in records.column_names}
    rows = records.to_pylist()
    selects = [_row(row, kinds, dialect) for row in rows or [dict.fromkeys(kinds)]]
    if not rows:
        selects = [selects[0].where(sa.false())]
    name = getattr(relation, "name", None) or "records"
    return sa.union_all(*selects).subquery(str(name)) if len(selects) > 1 else selects[0].subquery(str(name))


def _kind(relation: sa.FromClause, name: str, arrow: pa.DataType) -> Kind:
    kind = relation.c[name].type if name in relation.c else None
    return _of_values(arrow) if kind is None or isinstance(kind, (AsDeclared, sa.types.NullType)) else kind


def _of_values(arrow: pa.DataType) -> Kind:
    t = pa.types
    checks: Sequence[tuple[bool, Kind]] = (
        (t.is_boolean(arrow), sa.Boolean()),
        (t.is_integer(arrow), sa.BigInteger()),
        (t.is_decimal(arrow), sa.Numeric(getattr(arrow, "precision", None), getattr(arrow, "scale", None))),
        (t.is_floating(arrow), sa.Double()),
        (t.is_date(arrow), sa.Date()),
        (t.is_timestamp(arrow), Wall()),
        (t.is_binary(arrow), sa.LargeBinary()),
    )
    return next((kind for is_type, kind in checks if is_type), sa.Text())


def _row(row: Mapping[str, Any], kinds: Mapping[str, Kind], dialect: str) -> sa.Select[Any]:
    return sa.select(
        *(
            sa.type_coerce(_cell(row[name], kind, dialect), kind).label(quoted_name(name, quote=True))
            for name, kind in kinds.items()
        )
    )


def _cell(value: Any, kind: Kind, dialect: str) -> sa.ColumnElement[Any]:
    target = _castable(kind, dialect)
    stored = _stored(value, kind, dialect)
    return sa.cast(sa.null() if stored is None else sa.literal(stored, target), target)


def _castable(kind: Kind, dialect: str) -> Kind:
    """Return the type to cast to: MariaDB casts to few types, and SQLite keeps dates and times as text."""
    if dialect == "sqlite":
        return sa.Text() if isinstance(kind, (sa.Date, sa.DateTime)) else kind
    if dialect != "mysql":
        return kind
    if isinstance(kind, sa.DateTime):
        return mysql.DATETIME(fsp=6)
    return mysql.BIGINT() if isinstance(kind, sa.Boolean) else kind


def _stored(value: Any, kind: Kind, dialect: str) -> Any:
    """Return the value as the column holds it: naive in the zone of the column, and as text in SQLite."""
    if isinstance(value, dt.datetime) and not (isinstance(kind, sa.DateTime) and kind.timezone):
        zone = kind.zone if isinstance(kind, Wall) else "UTC"
        value = value.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    if dialect == "sqlite" and isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat()
    return int(value) if dialect == "mysql" and isinstance(value, bool) else value
