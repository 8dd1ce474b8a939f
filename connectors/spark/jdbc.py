"""Tables of PostgreSQL that Spark reads by JDBC.

    sources:
      shop:
        type: spark
        url: "spark://spark.example.com:7077"
        config: {spark.jars: /opt/postgresql.jar}
        jdbc: jdbc:postgresql://db.example.com/shop
        user: reader
        password: "${secret:SHOP_PASSWORD}"
    datasets:
      orders: {source: shop, table: orders}
      clicks: {source: shop, table: log.clicks, partition: {column: id, parts: 8}}

A table is read over one connection by one statement, so it is read as it was at one moment. The parts of a dataset with
`partition` are statements of several connections, which begin at different moments.

Each column is selected so that Spark gets the value that the `sql` connector reads: numbers that Spark would round and
types that it does not have arrive as PostgreSQL's text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from connectors.spark.columns import SparkColumn, columns
from connectors.spark.errors import PlaceUnsuitable
from connectors.spark.settings import Partition, SparkDataset
from connectors.spark.tables import OpenedTable

FETCHED_ROWS = 10_000
"""Rows that a task holds of a statement's answer; without a number, the driver holds all of them."""

_DRIVER = "org.postgresql.Driver"
_LONGEST_LIMIT = 2**31 - 1
_NUMBERS = {"int2", "int4", "int8", "smallserial", "serial", "bigserial"}
_SAME = {*_NUMBERS, "bool", "bytea", "float4", "float8", "name", "text", "varchar"}
_INFINITE = {kind: f"{kind} '10000-01-01'" for kind in ("date", "timestamp", "timestamptz")}
"""A substitute for an infinite date or time: later than every value that can be read, and counted as unreadable."""
_READ_ONLY = "set transaction read only; set time zone 'UTC'"
_NAMES = """(
    select case when table_schema = current_schema() then table_name else table_schema || '.' || table_name end as name
    from information_schema.tables where table_schema not in ('information_schema', 'pg_catalog')
) as names"""


@dataclass(frozen=True)
class JdbcTables:
    """Tables and views of a PostgreSQL database. `seconds` is the limit of a statement."""

    source: str
    url: str = field(repr=False)
    user: str | None = field(repr=False)
    password: str | None = field(repr=False)
    seconds: float

    def names(self, session: Any) -> Sequence[str]:
        return sorted(row[0] for row in self._frame(session, _NAMES).collect())

    def open(self, session: Any, dataset: SparkDataset) -> OpenedTable:
        if dataset.table is None:
            raise PlaceUnsuitable(self.source, "a source with `jdbc` has no files; write `table` instead of `path`")
        table = _quoted(*dataset.table.split("."))
        fields = list(self._frame(session, table).schema.fields)
        chosen = f"(select {', '.join(map(_selected, fields))} from {table}) as records"
        parts = self._parts(session, dataset.partition, table, fields) if dataset.partition else {}
        frame = self._frame(session, chosen, parts)
        exact = zip(columns(frame, dataset.timezone), fields, strict=True)
        return OpenedTable(frame, [_column(column, field) for column, field in exact], is_one_read=not parts)

    def _frame(self, session: Any, table: str, parts: Mapping[str, str] | None = None) -> Any:
        options = {
            "url": self.url,
            "driver": _DRIVER,
            "dbtable": table,
            "fetchsize": str(FETCHED_ROWS),
            "queryTimeout": str(max(1, min(int(self.seconds), _LONGEST_LIMIT))),
            "preferTimestampNTZ": "true",
            "sessionInitStatement": _READ_ONLY,
            **({"user": self.user} if self.user is not None else {}),
            **({"password": self.password} if self.password is not None else {}),
        }
        return session.read.format("jdbc").options(**options, **(parts or {})).load()

    def _parts(self, session: Any, partition: Partition, table: str, fields: Sequence[Any]) -> dict[str, str]:
        """Spark's options for a read in parts between the least and the greatest value; none for an empty table."""
        kind = next((_client_type(each) for each in fields if each.name == partition.column), None)
        if kind not in _NUMBERS | _INFINITE.keys():
            raise PlaceUnsuitable(
                self.source, f"`partition` needs a column of whole numbers, dates or times, not {partition.column!r}"
            )
        column = _quoted(partition.column)
        finite = f" where isfinite({column})" if kind in _INFINITE else ""
        bounds = f"(select min({column}) as least, max({column}) as greatest from {table}{finite}) as bounds"
        [(least, greatest)] = self._frame(session, bounds).selectExpr("string(least)", "string(greatest)").collect()
        if least is None:
            return {}
        return {
            "partitionColumn": partition.column,
            "lowerBound": least,
            "upperBound": greatest,
            "numPartitions": str(partition.parts),
        }


def _selected(field: Any) -> str:
    """The column in the statement that PostgreSQL runs."""
    name, kind = _quoted(field.name), _client_type(field)
    if kind in _SAME or (kind == "numeric" and _is_exact(field)):
        return name
    if kind in _INFINITE:
        return f"case when isfinite({name}) is false then {_INFINITE[kind]} else {name} end as {name}"
    return f"cast({name} as text) as {name}"


def _column(column: SparkColumn, field: Any) -> SparkColumn:
    """The column here, with the number that PostgreSQL has; only this process compares some of them exactly."""
    kind = _client_type(field)
    if kind == "numeric" and not _is_exact(field):
        return replace(column, kind=sa.Numeric(), pushable=False)
    if kind == "float4":
        return replace(column, kind=sa.REAL(), cast=None, pushable=False)
    return column


def _is_exact(field: Any) -> bool:
    """Return True if Spark's decimal has PostgreSQL's places; Spark rounds numbers without a precision."""
    return bool(field.metadata.get("scale") == field.dataType.scale)


def _client_type(field: Any) -> str:
    return str(field.metadata.get("jdbcClientType", ""))


def _quoted(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
