"""Every database with a SQLAlchemy dialect but without a reader of its own: SQL Server, Oracle, warehouses, …

    sources:
      erp: {type: sql, url: "mssql+pyodbc://reader:…@erp.example.com/books?driver=ODBC+Driver+18+for+SQL+Server"}

Install the driver, and the dialect if SQLAlchemy does not include it. Records are read and compared here;
`connectors.sql.generic.warehouse` has those that compare records themselves, and `connectors.sql.generic.values`
describes the values.

A read cannot write: a query must be one select, nothing is ever committed, and the session is read-only in PostgreSQL's
relatives, Oracle, SQLite's relatives and DuckDB. Elsewhere only the rights of the database user prevent writing: use a
user who may only read. `statement_timeout` cancels a longer statement if the driver can cancel; else the statement runs
on, but counts as stopped.

The dialect quotes names, so in Oracle and Snowflake lower-case names mean the upper-case ones.

Errors of any SQLAlchemy driver for people: one sentence each, without SQL, values or secrets.

Drivers share the classes of PEP 249, but no codes. We classify an error by its moment and by common words. A quotation
in its message may be a cell's value, so we show it only if it is also in the statement we sent.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote_plus

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from connectors.base import DatasetSettings, Declaration, Scan, SourceSettings
from connectors.errors import (
    AccessDenied,
    ConnectorError,
    DatasetMissing,
    DriverMissing,
    QueryRefused,
    ReadStopped,
    SourceMissing,
    SourceUnreachable,
    StatementTimeout,
)
from connectors.sql.address import EXTRAS, parsed, where
from connectors.sql.declaring import unique_keys, without_ours
from connectors.sql.errors import ErrorContext
from connectors.sql.generic.values import GenericColumn, GenericReading, answer_column, described, inspected
from connectors.sql.reading import ROWS
from connectors.sql.settings import SqlDataset, SqlSettings, seconds
from connectors.sql.stop import interrupt, read_of, watched
from connectors.sql.stream import close_connection

_DENIED = (
    r"(?i)access (is )?denied|permission|privilege|not authori[sz]ed|unauthori[sz]ed|authentication"
    r"|log[io]n (failed|denied)|incorrect username or password"
)
_GONE = (
    r"(?i)connection (was |is |has been )?(refused|reset|closed|lost|aborted)|(could not|cannot|unable to) connect"
    r"|gone away"
)
_MISSING = r"(?i)does not exist|unknown database|cannot open database|unable to open database file"
_ABOUT_VALUES = r"(?i)\bvalue|conver|\bcast|pars|syntax for type|range|overflow"
_NOT_SHOWN = r"(?i)pass|pwd|secret|token|key|credential|auth|user_info"
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`")


def secrets_of(url: sa.URL) -> tuple[str, ...]:
    """The parts of a URL that an error must not show: its password and similar parameters.

    ODBC's whole connection string may be one parameter; its parts count.
    """
    parameters = [("password", str(url.password or ""))]
    for name, values in url.normalized_query.items():
        parts = [part.partition("=") for value in values for part in value.split(";")]
        parameters += [(name, value) for value in values] + [(key, value.strip("{}")) for key, _, value in parts]
    secrets = {value for name, value in parameters if value and (len(value) > 20 or re.search(_NOT_SHOWN, name))}
    return tuple(sorted({*secrets, *map(quote_plus, secrets)}, key=len, reverse=True))


def connector_error(
    error: Exception, place: ErrorContext, secrets: tuple[str, ...], *, connecting: bool, late: bool
) -> ConnectorError:
    """Our error for one of SQLAlchemy, a driver or the operating system.

    `secrets` are texts of the URL that are never shown. `connecting`: no statement was sent, so the message holds no
    values. `late`: the time limit had passed and we cancelled.
    """
    lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and isinstance(error.orig, Exception) else error
    full = _message(cause)
    bare = _QUOTED.sub("", full)
    reason = full if connecting else without_values(full, str(getattr(error, "statement", None) or ""))
    for secret in secrets:
        reason = reason.replace(secret, "***")
    if late:
        return StatementTimeout(place.source, place.limit)
    if re.search(_DENIED, bare):
        return AccessDenied(place.source, place.where, reason)
    if connecting and re.search(_MISSING, bare):
        return SourceMissing(place.source, place.where, reason)
    if connecting or lost or isinstance(cause, OSError) or re.search(_GONE, bare):
        return SourceUnreachable(place.source, place.where, reason)
    return QueryRefused(place.source, reason)


def _message(error: Exception) -> str:
    """The first sentence of the driver's message; ODBC and others put it beside a code."""
    texts = [part.decode(errors="replace") if isinstance(part, bytes) else part for part in error.args]
    sentences = [text for text in texts if isinstance(text, str) and text.strip()]
    text = max(sentences, key=len) if sentences else str(error)
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or ["no reason given"]
    first = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return first.rstrip(". ")


def without_values(reason: str, sent: str) -> str:
    """The message without possible values: quotations that we did not send, and the end of a message about values."""

    def mask(match: re.Match[str]) -> str:
        inner = match[1] or match[2] or match[3] or ""
        return match[0] if inner in sent else "…"

    masked = _QUOTED.sub(mask, reason)
    if not re.search(_ABOUT_VALUES, masked):
        return masked
    head, _, tail = masked.rpartition(": ")
    if head and "…" not in masked and tail not in sent:
        masked = head
    return re.sub(r"(?<![\w-])[+-]?\d[\d.,]{3,}", lambda match: match[0] if match[0] in sent else "…", masked)


Base = sa.TableClause | sa.TextClause
_READ_ONLY = {"oracle": "SET TRANSACTION READ ONLY", "sqlite": "PRAGMA query_only = ON"}
_NOT_PUSHED = {
    "mssql": "SQL Server compares texts with collations that ignore trailing spaces, and often case",
    "oracle": "Oracle compares texts by session settings, and its numbers may have any scale",
}
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "duckdb": {"read_only": True},  # which also keeps it from creating the file
    "snowflake": {"session_parameters": {"TIMEZONE": "UTC"}},
}


class GenericSource:
    """Tables and queries of one database, read by the common features of SQLAlchemy's dialects.

    Creating it does not connect; connections live as long as a read. It has no `relation`: rules run here.
    """

    Settings: ClassVar[type[SourceSettings]] = SqlSettings
    Dataset: ClassVar[type[DatasetSettings]] = SqlDataset

    def __init__(self, name: str, settings: SqlSettings, root: Path) -> None:
        self.name = name
        self._url = _resolved_url(parsed(settings.url), root)
        self._seconds = seconds(settings.statement_timeout)
        self._place = ErrorContext(name, where(parsed(settings.url)), self._url.drivername, settings.statement_timeout)
        self._opened_engine: sa.Engine | None = None

    def __repr__(self) -> str:
        return f"GenericSource({self.name!r} at {self._place.where})"

    def datasets(self) -> Sequence[str]:
        """Tables and views of the default schema; others can be read as `schema.table`."""
        with self._connected() as connection, self._guarded(connection):
            return _names(connection, None)

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:  # noqa: ARG004 - a file does not say which database wrote it
        return None

    def candidates(self) -> Sequence[str]:
        return without_ours(self.datasets())

    def declaration(self, candidate: str) -> Declaration:
        return Declaration({"table": candidate})

    def keys(self, dataset: SqlDataset) -> Sequence[tuple[str, ...]]:
        if dataset.table is None:
            return ()
        with self._connected() as connection, self._guarded(connection):
            return unique_keys(connection, dataset.table)

    def describe(self, dataset: SqlDataset) -> pa.Schema:
        """Columns in their order, with the types of `scan`; no column has pushdown."""
        with self._connected() as connection:
            _, columns = self._columns(connection, dataset)
        reading = self._reading(columns, dataset)
        reading.close()
        return reading.schema

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        """Stream these columns row by row, as many at a time as a batch holds."""
        connection = self._connected()
        try:
            base, columns_found = self._columns(connection, dataset)
            by_name = {column.name: column for column in columns_found}
            dataset.must_have(self.name, columns, by_name)
            relation = untyped(base, columns_found)
            with self._guarded(connection):
                streamed = connection.execution_options(yield_per=ROWS)
                result = streamed.execute(sa.select(*(relation.c[name] for name in columns)))
        except BaseException:
            close_connection(connection)
            raise
        reading = self._reading([by_name[name] for name in columns], dataset)

        def release() -> None:
            result.close()
            close_connection(connection)
            reading.close()

        batches = self._batches(connection, result, reading)
        return Scan(pa.RecordBatchReader.from_batches(reading.schema, batches), reading.problems, release)

    def no_pushdown(self, dataset: SqlDataset) -> str | None:  # noqa: ARG002 - the same for all of its datasets
        """See connectors.base.LimitedPushdown."""
        return _NOT_PUSHED.get(self._url.get_backend_name())

    def stop(self) -> None:
        """Cancel every current read if the driver can; it ends before its next rows, at the latest.

        A call into a driver that cannot cancel runs to its end.
        """
        self._place.underway.stop()

    def close(self) -> None:
        """Close the engine, the only thing kept between reads."""
        if self._opened_engine is not None:
            self._opened_engine.dispose()
            self._opened_engine = None

    def _reading(self, columns: Sequence[GenericColumn], dataset: SqlDataset) -> GenericReading:
        return GenericReading(
            [answer_column(column, dataset.declared(column.name)) for column in columns], dataset.notation, self._place
        )

    def _batches(
        self, connection: sa.Connection, result: sa.CursorResult[Any], reading: GenericReading
    ) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._rows(connection, result, reading)
        finally:
            close_connection(connection)

    def _rows(
        self, connection: sa.Connection, result: sa.CursorResult[Any], reading: GenericReading
    ) -> Iterator[pa.RecordBatch]:
        stops = self._place.underway.stops
        try:
            while True:
                with self._guarded(connection):
                    rows = result.fetchmany(ROWS)
                self._place.must_go_on(stops)
                if not rows:
                    return
                yield reading.rows(rows)
        finally:
            result.close()

    def _connected(self) -> sa.Connection:
        if self._opened_engine is None:
            self._opened_engine = watched(self._engine(), self._place.underway)
        stops = self._place.underway.stops
        with self._guarded(None):
            connection = self._opened_engine.connect()
            with suppress(NotImplementedError):  # databases other than PostgreSQL ignore it, or do not know it
                connection = connection.execution_options(postgresql_readonly=True)
        try:
            self._place.must_go_on(stops)
            if self._opened_engine.dialect.name in _READ_ONLY:
                with self._guarded(connection):
                    connection.exec_driver_sql(_READ_ONLY[self._opened_engine.dialect.name])
        except BaseException:
            close_connection(connection)
            raise
        return connection

    def _engine(self) -> sa.Engine:
        arguments = _ARGUMENTS.get(self._url.get_backend_name(), {})
        try:
            return sa.create_engine(self._url, poolclass=NullPool, connect_args=arguments, hide_parameters=True)
        except (ImportError, sa.exc.NoSuchModuleError) as error:
            missing = getattr(error, "name", None) or self._url.get_backend_name()
            needs = f"{missing}, the driver for {self._url.drivername}://"
            raise DriverMissing(self.name, needs, EXTRAS.get(missing, missing)) from error

    @contextmanager
    def _guarded(self, connection: sa.Connection | None) -> Iterator[None]:
        """Turn database errors into ours and cancel what takes too long; without a connection: connecting."""
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
            raise connector_error(
                error, self._place, hidden, connecting=connection is None, late=limit.passed
            ) from None
        if limit.passed:
            raise connector_error(TimeoutError(), self._place, (), connecting=False, late=True)

    def _columns(self, connection: sa.Connection, dataset: SqlDataset) -> tuple[Base, list[GenericColumn]]:
        with self._guarded(connection):
            base = self._base(connection, dataset)
            columns = _inspected(connection, base, dataset.timezone) if isinstance(base, sa.TableClause) else []
        if not columns:
            with self._guarded(connection):
                columns = _probed(connection, base, dataset.timezone)
        dataset.must_have(self.name, dataset.columns, [column.name for column in columns])
        return base, columns

    def _base(self, connection: sa.Connection, dataset: SqlDataset) -> Base:
        if dataset.query is not None:
            return sa.text(dataset.statement(self.name, "").replace(":", "\\:"))
        name = str(dataset.table)
        schema, _, bare_name = name.rpartition(".")
        inspector = sa.inspect(connection)
        for table, inside in ((name, None), (bare_name, schema)):
            if table and inside != "" and inspector.has_table(table, schema=inside):
                return sa.table(table, schema=inside)
        near = [f"table {table}" for inside in (None, schema) if inside != "" for table in _names(connection, inside)]
        raise DatasetMissing(self.name, f"table {name}", near)


class _Limit:
    """Cancels a connection's statement after a time limit; `passed`: it did."""

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
        with suppress(Exception):  # the statement then runs to its end, and still counts as stopped
            interrupt(self._raw)


def _resolved_url(url: sa.URL, root: Path) -> sa.URL:
    """The URL with the path of a file beside the configuration made absolute."""
    beside = root / str(url.database or "")
    return url.set(database=str(beside.resolve())) if not url.host and url.database and beside.is_file() else url


def _inspected(connection: sa.Connection, table: sa.TableClause, zone: str) -> list[GenericColumn]:
    """A table's columns from the inspector; empty if the dialect cannot tell, so that the table is probed."""
    try:
        fields = sa.inspect(connection).get_columns(table.name, schema=table.schema)
    except (NotImplementedError, sa.exc.DBAPIError):
        connection.rollback()
        return []
    return [GenericColumn(str(column["name"]), inspected(column["type"], zone), column["type"]) for column in fields]


def _probed(connection: sa.Connection, base: Base, zone: str) -> list[GenericColumn]:
    """The columns of an answer without records."""
    result: sa.CursorResult[Any] = connection.execute(no_records(base))
    cursor: Any = result.cursor
    pairs = list(zip(result.keys(), cursor.description, strict=True))
    result.close()
    return [GenericColumn(name, described(field, connection.dialect.loaded_dbapi, zone)) for name, field in pairs]


def no_records(base: Base) -> sa.Select[Any]:
    """Select all columns and no rows in portable SQL: some databases lack `false` or `limit 0`."""
    source = base if isinstance(base, sa.TableClause) else base.columns().subquery("records")
    never = sa.literal_column("1") == sa.literal_column("0")
    return sa.select(sa.literal_column("*")).select_from(source).where(never)


def untyped(base: Base, columns: Sequence[GenericColumn]) -> sa.FromClause:
    """The dataset without types, so that the driver's values stay unchanged."""
    plain: list[sa.ColumnClause[Any]] = [sa.column(column.name) for column in columns]
    if isinstance(base, sa.TableClause):
        return sa.table(base.name, *plain, schema=base.schema)
    return base.columns(*plain).subquery("records")


def _names(connection: sa.Connection, schema: str | None) -> list[str]:
    inspector = sa.inspect(connection)
    names = inspector.get_table_names(schema=schema)
    with suppress(NotImplementedError):  # a dialect may not support views
        names = [*names, *inspector.get_view_names(schema=schema)]
    return [f"{schema}.{name}" for name in names] if schema else list(names)
