"""Every database that SQLAlchemy has a dialect for and that has no reader of its own: SQL Server, Oracle, DuckDB, …

    sources:
      erp: {type: sql, url: "mssql+pyodbc://reader:…@erp.example.com/books?driver=ODBC+Driver+18+for+SQL+Server"}

Install the driver, and the dialect where SQLAlchemy does not bring it. Records are read here and compared here: such a
database is never asked to compare (no pushdown). Values are told in `connectors.sql.generic.values`.

What keeps a read from writing: a query must be one select, nothing is ever committed, and where the dialect is known
to have them, the session itself is read-only (PostgreSQL's relatives, Oracle, SQLite's relatives, DuckDB). Elsewhere
only the rights of the database user do: give a user who may only read. `statement_timeout` cancels what runs longer
where the driver can be cancelled; else the statement ends as it likes and counts as stopped.

Names are quoted as the dialect does it, so in Oracle and Snowflake lower-case names stand for the upper-case ones.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from connectors.base import DatasetSettings, Scan, SourceSettings
from connectors.errors import DatasetMissing, DriverMissing, ReadStopped
from connectors.sql.address import parsed, where
from connectors.sql.errors import Place
from connectors.sql.generic.errors import secrets_of, told
from connectors.sql.generic.values import GenericColumn, GenericReading, asked, described, inspected
from connectors.sql.query import select_only
from connectors.sql.reading import ROWS
from connectors.sql.settings import SqlDataset, SqlSettings, seconds
from connectors.sql.stop import interrupt, read_of, watched
from connectors.sql.stream import let_go

Base = sa.TableClause | sa.TextClause
_READ_ONLY = {"oracle": "SET TRANSACTION READ ONLY", "sqlite": "PRAGMA query_only = ON"}
_ARGUMENTS: dict[str, dict[str, Any]] = {"duckdb": {"read_only": True}}  # which also keeps it from creating the file


class GenericSource:
    """Tables and queries of one database, read by what SQLAlchemy's dialects have in common.

    Opening connects to nothing; connections live as long as a read. It has no `relation`: rules run here.
    """

    Settings: ClassVar[type[SourceSettings]] = SqlSettings
    Dataset: ClassVar[type[DatasetSettings]] = SqlDataset

    def __init__(self, name: str, settings: SqlSettings, root: Path) -> None:
        self.name = name
        self._url = _beside(parsed(settings.url), root)
        self._seconds = seconds(settings.statement_timeout)
        self._place = Place(name, where(parsed(settings.url)), self._url.drivername, settings.statement_timeout)
        self._made: sa.Engine | None = None

    def __repr__(self) -> str:
        return f"GenericSource({self.name!r} at {self._place.where})"

    def datasets(self) -> Sequence[str]:
        """Tables and views of the default schema; those of others can be read as `schema.table`."""
        with self._connected() as connection, self._asking(connection):
            return _names(connection, None)

    def describe(self, dataset: SqlDataset) -> pa.Schema:
        """Columns in their order, with the types of `scan`; none is compared exactly as we do."""
        with self._connected() as connection:
            _, found = self._columns(connection, dataset)
        reading = self._reading(found, dataset)
        reading.close()
        return reading.schema

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        """Stream these columns row by row, as many at a time as a batch holds."""
        connection = self._connected()
        try:
            base, found = self._columns(connection, dataset)
            by_name = {one.name: one for one in found}
            dataset.must_have(self.name, columns, by_name)
            relation = untyped(base, found)
            with self._asking(connection):
                streamed = connection.execution_options(yield_per=ROWS)
                result = streamed.execute(sa.select(*(relation.c[name] for name in columns)))
        except BaseException:
            let_go(connection)
            raise
        reading = self._reading([by_name[name] for name in columns], dataset)

        def release() -> None:
            result.close()
            let_go(connection)
            reading.close()

        batches = self._batches(connection, result, reading)
        return Scan(pa.RecordBatchReader.from_batches(reading.schema, batches), reading.problems, release)

    def stop(self) -> None:
        """Cancel what the driver can be told to cancel; every read under way ends before its next rows, at the latest.

        Only the driver itself ends the call it is in: one that cannot be cancelled returns when it likes.
        """
        self._place.underway.stop()

    def close(self) -> None:
        """Nothing is held between reads but the engine."""
        if self._made is not None:
            self._made.dispose()
            self._made = None

    def _reading(self, found: Sequence[GenericColumn], dataset: SqlDataset) -> GenericReading:
        return GenericReading([asked(one, dataset.declared(one.name)) for one in found], dataset.notation, self._place)

    def _batches(
        self, connection: sa.Connection, result: sa.CursorResult[Any], reading: GenericReading
    ) -> Iterator[pa.RecordBatch]:
        stops = self._place.underway.stops
        try:
            while True:
                with self._asking(connection):
                    rows = result.fetchmany(ROWS)
                self._place.must_go_on(stops)
                if not rows:
                    return
                yield reading.rows(rows)
        finally:
            result.close()
            let_go(connection)

    def _connected(self) -> sa.Connection:
        if self._made is None:
            self._made = watched(self._engine(), self._place.underway)
        stops = self._place.underway.stops
        with self._asking(None):
            connection = self._made.connect().execution_options(postgresql_readonly=True)  # others pass it over
        try:
            self._place.must_go_on(stops)
            if self._made.dialect.name in _READ_ONLY:
                with self._asking(connection):
                    connection.exec_driver_sql(_READ_ONLY[self._made.dialect.name])
        except BaseException:
            let_go(connection)
            raise
        return connection

    def _engine(self) -> sa.Engine:
        arguments = _ARGUMENTS.get(self._url.get_backend_name(), {})
        try:
            return sa.create_engine(self._url, poolclass=NullPool, connect_args=arguments, hide_parameters=True)
        except (ImportError, sa.exc.NoSuchModuleError) as error:
            missing = getattr(error, "name", None) or self._url.get_driver_name()
            needs = f"{missing}, the driver that {self._url.drivername}:// asks for"
            raise DriverMissing(self.name, needs, missing) from error

    @contextmanager
    def _asking(self, connection: sa.Connection | None) -> Iterator[None]:
        """Errors of databases become ours, and what takes too long is cancelled; without a connection: connecting."""
        limit = _Limit(self._seconds, connection)
        stops = self._place.underway.stops
        read = None if connection is None or connection.closed or connection.invalidated else read_of(connection)
        try:
            with limit:
                yield
        except (sa.exc.SQLAlchemyError, OSError) as error:
            if read is not None and read.ended:  # between two statements
                raise ReadStopped(self.name) from None
            self._place.must_go_on(stops)
            hidden = secrets_of(self._url)
            raise told(error, self._place, hidden, connecting=connection is None, late=limit.passed) from None
        if limit.passed:
            raise told(TimeoutError(), self._place, (), connecting=False, late=True)

    def _columns(self, connection: sa.Connection, dataset: SqlDataset) -> tuple[Base, list[GenericColumn]]:
        with self._asking(connection):
            base = self._base(connection, dataset)
            found = _inspected(connection, base, dataset.timezone) if isinstance(base, sa.TableClause) else []
        if not found:
            with self._asking(connection):
                found = _probed(connection, base, dataset.timezone)
        dataset.must_have(self.name, dataset.columns, [one.name for one in found])
        return base, found

    def _base(self, connection: sa.Connection, dataset: SqlDataset) -> Base:
        if dataset.query is not None:
            return sa.text(select_only(self.name, dataset.query).replace(":", "\\:"))
        name = str(dataset.table)
        schema, _, rest = name.rpartition(".")
        inspector = sa.inspect(connection)
        for table, inside in ((name, None), (rest, schema)):
            if table and inside != "" and inspector.has_table(table, schema=inside):
                return sa.table(table, schema=inside)
        near = [f"table {one}" for inside in (None, schema) if inside != "" for one in _names(connection, inside)]
        raise DatasetMissing(self.name, f"table {name}", near)


class _Limit:
    """Cancels what a connection does when it takes longer; `passed` says that it did."""

    def __init__(self, allowed: float, connection: sa.Connection | None) -> None:
        self.passed = False
        self._raw: Any = connection.connection.dbapi_connection if connection is not None else None
        self._timer = threading.Timer(allowed, self._cancel)
        self._timer.daemon = True

    def __enter__(self) -> None:
        if self._raw is not None:
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _cancel(self) -> None:
        self.passed = True
        with suppress(Exception):  # then the statement ends by itself, and still counts as stopped
            interrupt(self._raw)


def _beside(url: sa.URL, root: Path) -> sa.URL:
    """A file beside the configuration is meant relative to it."""
    beside = root / str(url.database or "")
    return url.set(database=str(beside.resolve())) if not url.host and url.database and beside.is_file() else url


def _inspected(connection: sa.Connection, table: sa.TableClause, zone: str) -> list[GenericColumn]:
    """What the inspector knows of a table; nothing where the dialect cannot say, so that the table is probed."""
    try:
        told_of = sa.inspect(connection).get_columns(table.name, schema=table.schema)
    except (NotImplementedError, sa.exc.DBAPIError):
        connection.rollback()
        return []
    return [GenericColumn(str(one["name"]), inspected(one["type"], zone)) for one in told_of]


def _probed(connection: sa.Connection, base: Base, zone: str) -> list[GenericColumn]:
    """The columns of an answer without records."""
    result: sa.CursorResult[Any] = connection.execute(no_records(base))
    cursor: Any = result.cursor
    pairs = list(zip(result.keys(), cursor.description, strict=True))
    result.close()
    return [GenericColumn(name, described(one, connection.dialect.loaded_dbapi, zone)) for name, one in pairs]


def no_records(base: Base) -> sa.Select[Any]:
    """All columns and no rows, in words every database understands: not all have a false, or a limit of none."""
    source = base if isinstance(base, sa.TableClause) else base.columns().subquery("records")
    never = sa.literal_column("1") == sa.literal_column("0")
    return sa.select(sa.literal_column("*")).select_from(source).where(never)


def untyped(base: Base, found: Sequence[GenericColumn]) -> sa.FromClause:
    """The dataset without types, so that the driver's values arrive as they are."""
    plain: list[sa.ColumnClause[Any]] = [sa.column(one.name) for one in found]
    if isinstance(base, sa.TableClause):
        return sa.table(base.name, *plain, schema=base.schema)
    return base.columns(*plain).subquery("records")


def _names(connection: sa.Connection, schema: str | None) -> list[str]:
    inspector = sa.inspect(connection)
    found = inspector.get_table_names(schema=schema)
    with suppress(NotImplementedError):  # a dialect may know no views
        found = [*found, *inspector.get_view_names(schema=schema)]
    return [f"{schema}.{name}" for name in found] if schema else list(found)
