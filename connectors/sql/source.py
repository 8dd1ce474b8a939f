"""Databases: PostgreSQL, MariaDB and MySQL, SQLite. Read-only sessions, exact values, bounded memory.

For every other database with a SQLAlchemy dialect see `connectors.sql.generic.source`.

    sources:
      shop: {type: sql, url: "postgresql://reader@db.example.com/shop", statement_timeout: 5m}
      copy: {type: sql, url: "postgresql://…/shop", replica: "postgresql://reader@replica.example.com/shop"}
    datasets:
      charges: {source: shop, table: public.charges}
      ledger:  {source: shop, query: "select * from ledger where not void"}

`connectors.sql.values` describes the conversion of values, `connectors.sql.columns` the types that are read as text. In
SQLite any cell may hold any type: a value that does not match its column's declared type becomes null and is counted.
Dates and times there are ISO text; integers are times (seconds since 1970) only if `columns:` declares them `instant`.
A column without a declared type is text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.base import Changes, Declaration, Scan, Snapshot
from connectors.changing import Changing
from connectors.errors import DatasetMissing
from connectors.sql.address import Deadline, engine, parsed, where
from connectors.sql.changes.opening import changes, untracked
from connectors.sql.columns import Base, SqlColumn, columns, unfit_in_sqlite
from connectors.sql.connector import SqlConnector
from connectors.sql.declaring import unique_keys, without_ours
from connectors.sql.errors import ErrorContext
from connectors.sql.reading import AnswerColumn, AnswerReader, AsDeclared
from connectors.sql.replica import Replica
from connectors.sql.row_security import hidden_rows
from connectors.sql.settings import SqlDataset, SqlSettings, seconds
from connectors.sql.snapshot import opened
from connectors.sql.stand_in import stand_in
from connectors.sql.stop import read_of, watched
from connectors.sql.stream import AdbcStream, RowStream, close_connection, has_adbc, translated_errors
from connectors.sql.values import arrow_type

if TYPE_CHECKING:
    from connectors.sql.cleaning.database import SqlTarget


class SqlSource(SqlConnector, Changing["SqlTarget"]):
    """Tables and queries of one database. Creating it does not connect; connections live as long as a read.

    It is also a `connectors.target.Target`; changes use other connections: `connectors.sql.cleaning.database`. With a
    replica, everything but the Target reads there: `connectors.sql.replica`.
    """

    def __init__(self, name: str, settings: SqlSettings, root: Path) -> None:
        self.name = name
        self._url = parsed(settings.replica or settings.url)
        self._root = root
        self._seconds = seconds(settings.statement_timeout)
        self.dialect = self._url.get_backend_name()
        self._place = ErrorContext(name, where(self._url), self.dialect, settings.statement_timeout)
        self._opened_engine: sa.Engine | None = None
        self._primary = self
        self._replica: Replica | None = None
        if settings.replica is not None:
            self._primary = SqlSource(name, settings.model_copy(update={"replica": None}), root)
            at_primary, connect = self._primary._place, self._primary._session  # noqa: SLF001 - of this class
            self._place = replace(self._place, underway=at_primary.underway, is_replica=True)
            self._replica = Replica(self._place, at_primary, connect)

    def __repr__(self) -> str:
        return f"SqlSource({self.name!r} at {self._place.where})"

    @property
    def replica(self) -> str | None:
        """See connectors.base.Replicated."""
        return None if self._replica is None else self._place.where

    def primary(self) -> SqlSource:
        """See connectors.base.Replicated."""
        return self._primary

    def datasets(self) -> Sequence[str]:
        """Tables and views; those outside the default schema as `schema.table`."""
        with self._session() as connection, translated_errors(self._place, read_of(connection)):
            return _names(connection)

    def candidates(self) -> Sequence[str]:
        return without_ours(self.datasets())

    def declaration(self, candidate: str) -> Declaration:
        return Declaration({"table": candidate})

    def keys(self, dataset: SqlDataset) -> Sequence[tuple[str, ...]]:
        if dataset.table is None:
            return ()
        with self._session() as connection, translated_errors(self._place, read_of(connection)):
            return unique_keys(connection, dataset.table)

    def describe(self, dataset: SqlDataset) -> pa.Schema:
        """Columns in their order, with the types of `scan`; metadata as in the port."""
        with self._session() as connection:
            base, all_columns = self._columns(connection, dataset)
            with translated_errors(self._place, read_of(connection)):
                unfit = unfit_in_sqlite(connection, base, all_columns) if self.dialect == "sqlite" else set()
        reading = AnswerReader(
            [_answer_column(column, dataset) for column in all_columns], dataset.notation, self._place
        )
        reading.close()
        fields = []
        for field, column in zip(reading.schema, all_columns, strict=True):
            declared = _is_declared(column, dataset)
            exact = column.pushable and not declared and column.name not in unfit
            claims = ({"pushdown": "exact"} if exact else {}) | ({"json": "jsonb"} if exact and column.jsonb else {})
            fields.append(field.with_nullable(column.nullable or declared).with_metadata(claims))
        return pa.schema(fields)

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        """Stream these columns: through ADBC from PostgreSQL if it is installed, else row by row."""
        stops = self._place.underway.stops
        connection = self._connected()
        try:
            base, all_columns = self._columns(connection, dataset)
            by_name = {column.name: column for column in all_columns}
            dataset.must_have(self.name, columns, by_name)
            relation = _relation(base, all_columns)
            statement = sa.select(*(relation.c[name] for name in columns))
        except BaseException:
            close_connection(connection)
            raise
        reading = AnswerReader(
            [_answer_column(by_name[name], dataset) for name in columns], dataset.notation, self._place
        )
        stream: RowStream | AdbcStream
        if self.dialect == "postgresql" and has_adbc():
            close_connection(connection)
            ready = None if self._replica is None else self._replica.await_with
            stream = AdbcStream(self._url, self._seconds, statement, reading, self._place, stops, ready)
        else:
            stream = RowStream(connection, statement, reading, self._place, Deadline(connection, self._seconds))
        return Scan(pa.RecordBatchReader.from_batches(reading.schema, iter(stream)), reading.problems, stream.close)

    def relation(self, dataset: SqlDataset) -> sa.FromClause:
        """The dataset as a FROM clause, with the column types of `connectors.sql.values`; others are cast to text.

        A declared column keeps its declaration in every statement.
        """
        with self._session() as connection:
            base, all_columns = self._columns(connection, dataset)
        return _relation(base, [_declaring(column, dataset) for column in all_columns])

    def stand_in(self, relation: sa.FromClause, records: pa.Table) -> sa.FromClause:
        """The records as constants, with the column types of the relation."""
        return stand_in(relation, records, self.dialect)

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a read-only transaction; every query in it sees the same state of the database."""
        return opened(self._connected, self._base, self._place, self._seconds)

    def untracked(self, dataset: SqlDataset) -> str | None:
        """See connectors.base.Trackable."""
        return untracked(dataset)

    def changes(self, dataset: SqlDataset, by: str) -> AbstractContextManager[Changes]:
        """Open a view of a table's changes; see `connectors.sql.changes`."""

        def declared(column: SqlColumn) -> AsDeclared | None:
            kind = _declaring(column, dataset).kind
            return kind if isinstance(kind, AsDeclared) else None

        return changes(self._connected, self._columns, declared, dataset, by, self._place, self._seconds, self._replica)

    def hides_rows(self, dataset: SqlDataset) -> str | None:
        """See connectors.base.RowSecured. Only PostgreSQL filters the rows of a table by user."""
        if self.dialect != "postgresql":
            return None
        with self._session() as connection:
            relation = _relation(*self._columns(connection, dataset))
            with translated_errors(self._place, read_of(connection)):
                return hidden_rows(connection, relation)

    def close(self) -> None:
        """Close the engine, the only thing kept between reads, and the connection kept between changes."""
        if self._changing is not None:
            self._changing.close()
        if self._opened_engine is not None:
            self._opened_engine.dispose()
            self._opened_engine = None
        if self._primary is not self:
            self._primary.close()

    def stop(self) -> None:
        """Cancel every current read in the database, then cut its connection; see `connectors.sql.stop`."""
        self._place.underway.stop()

    def _new_target(self) -> SqlTarget:
        if self._primary is not self:
            return self._primary._target  # noqa: SLF001 - of this class
        from connectors.sql.cleaning.database import SqlTarget  # noqa: PLC0415 - a process that only reads saves its time

        return SqlTarget(self._url, self._root, self._place, self._seconds, self.datasets)

    @contextmanager
    def _session(self) -> Iterator[sa.Connection]:
        connection = self._connected()
        try:
            yield connection
        finally:
            close_connection(connection)

    def _connected(self) -> sa.Connection:
        if self._opened_engine is None:
            new_engine = engine(self.name, self._url, self._root, self._seconds)
            self._opened_engine = watched(new_engine, self._place.underway)
        stops = self._place.underway.stops
        with translated_errors(self._place):
            connection = self._opened_engine.connect()
        try:
            self._place.must_go_on(stops)
            if self._replica is not None:
                self._replica.await_on(connection)
        except BaseException:
            close_connection(connection)
            raise
        return connection

    def _columns(self, connection: sa.Connection, dataset: SqlDataset) -> tuple[Base, list[SqlColumn]]:
        Deadline(connection, self._seconds)
        with translated_errors(self._place, read_of(connection)):
            base = self._base(connection, dataset)
            all_columns = columns(connection, base, dataset.timezone)
        dataset.must_have(self.name, dataset.columns, [column.name for column in all_columns])
        return base, all_columns

    def _base(self, connection: sa.Connection, dataset: SqlDataset) -> Base:
        if dataset.query is not None:
            return sa.text(dataset.statement(self.name, self.dialect).replace(":", "\\:"))
        name = str(dataset.table)
        inspector = sa.inspect(connection)
        schema, _, bare_name = name.rpartition(".")
        for table, inside in ((name, None), (bare_name, schema or None)):
            if inspector.has_table(table, schema=inside):
                return sa.table(quoted_name(table, quote=True), schema=inside and quoted_name(inside, quote=True))
        raise DatasetMissing(self.name, f"table {name}", [f"table {table}" for table in _names(connection)])


def _relation(base: Base, columns: Sequence[SqlColumn]) -> sa.FromClause:
    plain: list[sa.ColumnClause[Any]] = [
        sa.column(quoted_name(column.name, quote=True), sa.types.NULLTYPE if column.cast else column.kind)
        for column in columns
    ]
    name = base.name if isinstance(base, sa.TableClause) else "records"
    source: sa.FromClause
    if isinstance(base, sa.TableClause):
        source = sa.table(base.name, *plain, schema=base.schema)
    else:
        source = base.columns(*plain).subquery("query" if any(column.cast for column in columns) else name)
    if not any(column.cast for column in columns):
        return source
    selected = [
        sa.cast(source.c[column.name], column.kind).label(quoted_name(column.name, quote=True))
        if column.cast
        else source.c[column.name]
        for column in columns
    ]
    return sa.select(*selected).subquery(name)


def _names(connection: sa.Connection) -> list[str]:
    inspector = sa.inspect(connection)
    default = inspector.default_schema_name
    system = {"information_schema", "mysql", "performance_schema", "sys", "temp"}
    every = [default] if connection.dialect.name == "mysql" and default else inspector.get_schema_names()
    schemas = [schema for schema in every if schema not in system and not schema.startswith("pg_")]
    tables = []
    for schema in schemas:
        names = [*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)]
        tables += names if schema in (default, "main") else [f"{schema}.{name}" for name in names]
    return tables


def _is_declared(column: SqlColumn, dataset: SqlDataset) -> bool:
    """Return True if a value may differ from the one in the database."""
    return column.name in dataset.columns or bool(dataset.null_values and arrow_type(column.kind) == pa.string())


def _declaring(column: SqlColumn, dataset: SqlDataset) -> SqlColumn:
    if not _is_declared(column, dataset):
        return column
    return replace(column, kind=AsDeclared(column.kind, dataset.declared(column.name), dataset.notation))


def _answer_column(column: SqlColumn, dataset: SqlDataset) -> AnswerColumn:
    return AnswerColumn(column.name, column.kind, dataset.declared(column.name))
