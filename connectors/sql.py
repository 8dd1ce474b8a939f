"""Databases: PostgreSQL, MariaDB and MySQL, SQLite. Read-only sessions, exact values, bounded memory.

    sources:
      shop: {type: sql, url: "postgresql://reader@db.example.com/shop", statement_timeout: 5m}
    datasets:
      charges: {source: shop, table: public.charges}
      ledger:  {source: shop, query: "select * from ledger where not void"}

What a column's values become is told in `connectors.sql_values`, which types are read as text in
`connectors.sql_columns`. In SQLite any cell may hold anything: a value that is not of its column's declared type
becomes null and is counted. Dates and times there are ISO text; integers are times (seconds since 1970) only where
`columns:` declares them `instant`. A column without a declared type is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa
from pydantic import Field, SecretStr, field_validator, model_validator
from sqlalchemy.sql.elements import quoted_name

from connectors.base import DatasetSettings, Scan, Snapshot, SourceSettings
from connectors.coerce import Declared, Notation, declared
from connectors.errors import ColumnMissing, DatasetMissing
from connectors.sql_address import Deadline, engine, libpq_uri, parsed, where
from connectors.sql_columns import Base, SqlColumn, columns, unfit_in_sqlite
from connectors.sql_errors import Place
from connectors.sql_query import select_only
from connectors.sql_reading import Asked, Reading
from connectors.sql_snapshot import opened
from connectors.sql_stream import AdbcStream, RowStream, has_adbc, telling

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class SqlSettings(SourceSettings):
    """A database. `url` is a secret as a whole; a relative SQLite path is relative to the configuration file.

    `statement_timeout` (`30s`, `5m`, `2h`) stops a statement that runs longer.
    """

    url: SecretStr
    statement_timeout: str = "1h"

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: SecretStr) -> SecretStr:
        parsed(url)
        return url

    @field_validator("statement_timeout")
    @classmethod
    def _is_duration(cls, text: str) -> str:
        seconds(text)
        return text


class SqlDataset(DatasetSettings):
    """A `table` (or view), with its schema where it is not the default one, or a read-only `query`."""

    table: str | None = Field(default=None, min_length=1)
    query: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_of_them(self) -> SqlDataset:
        if (self.table is None) == (self.query is None):
            raise ValueError("a dataset of a database is either a `table` or a `query`")
        return self


def seconds(text: str) -> float:
    """The length of `90s`, `5m`, `2h`, `1d`. Raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not found or float(found[1]) == 0:
        raise ValueError("a time limit is a number and a unit: 30s, 5m, 2h")
    return float(found[1]) * _UNITS[found[2]]


class SqlSource:
    """Tables and queries of one database. Opening connects to nothing; connections live as long as a read."""

    Settings: ClassVar[type[SourceSettings]] = SqlSettings
    Dataset: ClassVar[type[DatasetSettings]] = SqlDataset

    def __init__(self, name: str, settings: SqlSettings, root: Path) -> None:
        self.name = name
        self._url = parsed(settings.url)
        self._root = root
        self._seconds = seconds(settings.statement_timeout)
        self.dialect = self._url.get_backend_name()
        self._place = Place(name, where(self._url), self.dialect, settings.statement_timeout)
        self._made: sa.Engine | None = None

    def __repr__(self) -> str:
        return f"SqlSource({self.name!r} at {self._place.where})"

    def datasets(self) -> Sequence[str]:
        """Tables and views; those outside the default schema as `schema.table`."""
        with self._connected() as connection, telling(self._place):
            return _names(connection)

    def describe(self, dataset: SqlDataset) -> pa.Schema:
        """Columns in their order, with the types of `scan`; metadata `pushdown: exact` as the port says."""
        with self._connected() as connection:
            base, found = self._columns(connection, dataset)
            with telling(self._place):
                unfit = unfit_in_sqlite(connection, base, found) if self.dialect == "sqlite" else set()
        reading = Reading([_asked(one, dataset) for one in found], _notation(dataset), self._place)
        reading.close()
        fields = []
        for field, one in zip(reading.schema, found, strict=True):
            touched = one.name in dataset.columns or (dataset.null_values and field.type == pa.string())
            exact = one.pushable and not touched and one.name not in unfit
            fields.append(
                field.with_nullable(one.nullable or bool(touched)).with_metadata({"pushdown": "exact"} if exact else {})
            )
        return pa.schema(fields)

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        """Stream these columns, through ADBC from PostgreSQL where it is installed, else row by row."""
        connection = self._connected()
        try:
            base, found = self._columns(connection, dataset)
            by_name = {one.name: one for one in found}
            self._must_have(dataset, columns, by_name)
            relation = _relation(base, found)
            statement = sa.select(*(relation.c[name] for name in columns))
        except BaseException:
            connection.close()
            raise
        reading = Reading([_asked(by_name[name], dataset) for name in columns], _notation(dataset), self._place)
        stream: RowStream | AdbcStream
        if self.dialect == "postgresql" and has_adbc():
            connection.close()
            stream = AdbcStream(libpq_uri(self._url), self._seconds, statement, reading, self._place)
        else:
            stream = RowStream(connection, statement, reading, self._place, Deadline(connection, self._seconds))
        return Scan(pa.RecordBatchReader.from_batches(reading.schema, iter(stream)), reading.problems, stream.close)

    def relation(self, dataset: SqlDataset) -> sa.FromClause:
        """The dataset as a FROM clause, columns typed as `connectors.sql_values` tells; casts make text of others."""
        with self._connected() as connection:
            return _relation(*self._columns(connection, dataset))

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """One read-only transaction; every query in it sees the same state of the database."""
        return opened(self._connected, self._place, self._seconds)

    def close(self) -> None:
        """Nothing is held between reads but the engine."""
        if self._made is not None:
            self._made.dispose()
            self._made = None

    def _connected(self) -> sa.Connection:
        if self._made is None:
            self._made = engine(self.name, self._url, self._root, self._seconds)
        with telling(self._place):
            return self._made.connect()

    def _columns(self, connection: sa.Connection, dataset: SqlDataset) -> tuple[Base, list[SqlColumn]]:
        Deadline(connection, self._seconds)
        with telling(self._place):
            base = self._base(connection, dataset)
            found = columns(connection, base, dataset.timezone)
        self._must_have(dataset, dataset.columns, {one.name for one in found})
        return base, found

    def _base(self, connection: sa.Connection, dataset: SqlDataset) -> Base:
        if dataset.query is not None:
            return sa.text(select_only(self.name, dataset.query).replace(":", "\\:"))
        name = str(dataset.table)
        inspector = sa.inspect(connection)
        schema, _, rest = name.rpartition(".")
        for table, inside in ((name, None), (rest, schema or None)):
            if inspector.has_table(table, schema=inside):
                return sa.table(quoted_name(table, quote=True), schema=inside and quoted_name(inside, quote=True))
        raise DatasetMissing(self.name, f"table {name}", [f"table {one}" for one in _names(connection)])

    def _must_have(self, dataset: SqlDataset, wanted: Sequence[str] | dict[str, str], known: Any) -> None:
        what = f"table {dataset.table}" if dataset.table else "the query"
        for column in wanted:
            if column not in known:
                raise ColumnMissing(f"{what} of source {self.name!r}", column, known)


def _relation(base: Base, found: Sequence[SqlColumn]) -> sa.FromClause:
    plain: list[sa.ColumnClause[Any]] = [
        sa.column(quoted_name(one.name, quote=True), sa.types.NULLTYPE if one.cast else one.kind) for one in found
    ]
    name = base.name if isinstance(base, sa.TableClause) else "records"
    source: sa.FromClause
    if isinstance(base, sa.TableClause):
        source = sa.table(base.name, *plain, schema=base.schema)
    else:
        source = base.columns(*plain).subquery("query" if any(one.cast for one in found) else name)
    if not any(one.cast for one in found):
        return source
    wanted = [
        sa.cast(source.c[one.name], one.kind).label(quoted_name(one.name, quote=True))
        if one.cast
        else source.c[one.name]
        for one in found
    ]
    return sa.select(*wanted).subquery(name)


def _names(connection: sa.Connection) -> list[str]:
    inspector = sa.inspect(connection)
    default = inspector.default_schema_name
    system = {"information_schema", "mysql", "performance_schema", "sys", "temp"}
    every = [default] if connection.dialect.name == "mysql" and default else inspector.get_schema_names()
    schemas = [one for one in every if one not in system and not one.startswith("pg_")]
    found = []
    for schema in schemas:
        names = [*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)]
        found += names if schema in (default, "main") else [f"{schema}.{name}" for name in names]
    return found


def _notation(dataset: SqlDataset) -> Notation:
    return Notation(dataset.decimal, dataset.null_values, dataset.timezone)


def _asked(column: SqlColumn, dataset: SqlDataset) -> Asked:
    said: Declared | None = None
    if column.name in dataset.columns:
        said = declared(column.name, dataset.columns[column.name])
    return Asked(column.name, column.kind, said)
