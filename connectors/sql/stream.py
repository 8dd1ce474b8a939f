"""Streaming the answer of a select as Arrow batches: the server sends as we read, nothing is buffered whole."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from connectors.errors import ReadStopped, SourceUnreachable
from connectors.sql.address import Deadline, libpq_uri, postgresql_session
from connectors.sql.errors import ErrorContext, translated
from connectors.sql.reading import ROWS, AnswerReader
from connectors.sql.replication import Ask
from connectors.sql.stop import connected_adbc, read_of
from connectors.underway import Read


@contextmanager
def translated_errors(place: ErrorContext, read: Read | None = None) -> Iterator[None]:
    """Turn database errors into ours, without the SQL and values that drivers quote.

    `read` is the connection's, None while connecting. It may have been stopped between two statements.
    """
    stops = place.underway.stops
    try:
        yield
    except sa.exc.DBAPIError as error:
        if read is not None and read.ended:
            raise ReadStopped(place.source) from None
        raise translated(error, place, stops) from None
    except sa.exc.PendingRollbackError:
        raise SourceUnreachable(place.source, place.where, "the connection was lost") from None


def has_adbc() -> bool:
    """Return True if PostgreSQL's faster driver ADBC is installed; without it rows stream through psycopg."""
    try:
        import adbc_driver_postgresql.dbapi  # noqa: PLC0415 - an extra
    except ImportError:
        return False
    return bool(adbc_driver_postgresql.dbapi.connect)


class RowStream:
    """Batches of one select, row by row through SQLAlchemy; owns the connection. Close it at any time, also twice."""

    def __init__(
        self,
        connection: sa.Connection,
        statement: sa.Executable,
        reading: AnswerReader,
        place: ErrorContext,
        deadline: Deadline,
    ) -> None:
        self._connection, self._reading, self._place = connection, reading, place
        self._read = read_of(connection)
        try:
            with translated_errors(place, self._read):
                self._rows = DriverRows(connection, statement, deadline)
        except BaseException:
            self._release()
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            with translated_errors(self._place, self._read):
                for rows in self._rows:
                    yield self._reading.rows(rows)
        finally:
            self.close()

    def close(self) -> None:
        self._rows.close(cut=True)
        self._release()

    def _release(self) -> None:
        close_connection(self._connection)
        self._reading.close()


class AdbcStream:
    """Batches of one select through ADBC, twice as fast as rows. Close it at any time, also twice."""

    def __init__(
        self,
        url: sa.URL,
        seconds: float,
        statement: sa.Executable,
        reading: AnswerReader,
        place: ErrorContext,
        stops: int,
        ready: Callable[[Ask], None] | None = None,
    ) -> None:
        """`ready` waits until the server has what is to be read."""
        import adbc_driver_manager  # noqa: PLC0415 - an extra
        import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415

        self._reading, self._place = reading, place
        self._error: type[Exception] = adbc_driver_manager.Error
        self._connection: Any = None
        self._stops = stops
        # A scan has no bind parameters; the named style keeps "%" in names unchanged.
        clause: Any = statement
        plain: sa.Dialect = postgresql.base.PGDialect(paramstyle="named")  # type: ignore[no-untyped-call]
        text = str(clause.compile(dialect=plain))
        try:
            with self._translated_errors():
                connecting = functools.partial(adbc.connect, libpq_uri(url))
                self._connection, self._read = connected_adbc(connecting, url, place.underway)
                self._cursor = self._connection.cursor()
                place.must_go_on(self._stops)
                for setting in postgresql_session(seconds):
                    self._cursor.execute(setting)
                self._connection.commit()
            if ready is not None:
                ready(self._asked)
            with self._translated_errors():
                self._cursor.execute(text)
                self._batches = self._cursor.fetch_record_batch()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            with self._translated_errors():
                while (batch := self._next()) is not None:
                    yield from self._reading.arrow(batch)
        finally:
            self.close()

    def _asked(self, statement: str) -> Sequence[Any]:
        with self._translated_errors():
            self._cursor.execute(statement)
            [row] = self._cursor.fetchall()
            self._connection.rollback()
        return tuple(row)

    def _next(self) -> pa.RecordBatch | None:
        try:
            return next(self._batches, None)
        except (OSError, pa.ArrowException) as error:  # later errors of the server arrive as Arrow's
            raise translated(error, self._place, self._stops) from None

    def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._read.over()
            with suppress(self._error):  # the server may have ended it
                self._cursor.close()
            with suppress(self._error):
                connection.close()
        self._reading.close()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise translated(error, self._place, self._stops) from None


class DriverRows:
    """The driver's rows of one select, in pieces.

    `whole`: the server sends all of them before we read the first. For a cursor, which streams, PostgreSQL uses only
    one processor.
    """

    def __init__(
        self, connection: sa.Connection, statement: sa.Executable, deadline: Deadline, *, whole: bool = False
    ) -> None:
        text, bound = raw(statement, connection.dialect)
        self._deadline = deadline
        deadline.renew()
        options = {} if whole else {"yield_per": ROWS}
        self.result = connection.exec_driver_sql(text, bound, execution_options=options)
        self.done = False

    def __iter__(self) -> Iterator[Sequence[Sequence[Any]]]:
        while not self.done:
            self._deadline.renew()
            try:
                rows = self.result.fetchmany(ROWS)
            except sa.exc.DBAPIError:
                self.close(cut=True)  # PyMySQL would go on reading from a closed connection
                raise
            self.done = len(rows) == 0
            if rows:
                yield rows

    def close(self, *, cut: bool) -> None:
        """Close the result; `cut`: also cut the connection, so that unread rows need not be read."""
        if not self.done and cut:
            _cut(self.result)
        self.done = True
        self.result.close()


def _cut(result: sa.CursorResult[Any]) -> None:
    """Cut the connection of an answer with unread rows.

    On close, PyMySQL reads an answer to its end, which may be endless; other drivers send a request to a server that
    may have ended the connection.
    """
    cursor: Any = result.cursor
    unread = getattr(cursor, "_result", None) if result.connection.dialect.name == "mysql" else None
    result.connection.invalidate()
    if unread is not None:
        unread.unbuffered_active = False


def close_connection(connection: sa.Connection) -> None:
    """Close a connection that only read: there is nothing to roll back."""
    if not connection.closed and not connection.invalidated:
        connection.invalidate()
    connection.close()


Bound = Mapping[str, Any] | tuple[Any, ...]


def raw(statement: sa.Executable, dialect: sa.Dialect) -> tuple[str, Bound]:
    """The statement and parameters in the driver's form, so that SQLAlchemy does not convert the answer's values."""
    clause: Any = statement
    compiled = clause.compile(dialect=dialect)
    state = compiled.construct_expanded_state()
    processors = {name: _processor(bind, dialect) for bind, name in compiled.bind_names.items()} | state.processors
    ready = {
        name: process(value) if value is not None and (process := processors.get(name)) else value
        for name, value in state.parameters.items()
    }
    if state.positiontup is not None:
        return state.statement, tuple(ready[name] for name in state.positiontup)
    return state.statement, ready


def _processor(bind: sa.BindParameter[Any], dialect: sa.Dialect) -> Callable[[Any], Any] | None:
    kind = bind.type.dialect_impl(dialect)
    processor: Callable[[Any], Any] | None = kind.bind_processor(dialect)
    return processor
