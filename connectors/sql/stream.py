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
from connectors.sql.errors import Place, translated
from connectors.sql.reading import ROWS, Reading
from connectors.sql.stop import connected_adbc, read_of
from connectors.underway import Read


@contextmanager
def telling(place: Place, read: Read | None = None) -> Iterator[None]:
    """Errors of databases become ours; the driver's own, which quote SQL and values, end here.

    Without the connection's `read`: connecting. It may have been ended between two statements.
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
    """Whether PostgreSQL's faster road is installed; without it rows stream through psycopg."""
    try:
        import adbc_driver_postgresql.dbapi  # noqa: PLC0415 - an extra
    except ImportError:
        return False
    return bool(adbc_driver_postgresql.dbapi.connect)


class RowStream:
    """Batches of one select, row by row through SQLAlchemy; owns the connection. Close it at any point, also twice."""

    def __init__(
        self, connection: sa.Connection, statement: sa.Executable, reading: Reading, place: Place, deadline: Deadline
    ) -> None:
        self._connection, self._reading, self._place = connection, reading, place
        self._read = read_of(connection)
        try:
            with telling(place, self._read):
                self._rows = Rows(connection, statement, deadline)
        except BaseException:
            self._let_go()
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            with telling(self._place, self._read):
                for rows in self._rows:
                    yield self._reading.rows(rows)
        finally:
            self.close()

    def close(self) -> None:
        self._rows.close(cut=True)
        self._let_go()

    def _let_go(self) -> None:
        let_go(self._connection)
        self._reading.close()


class AdbcStream:
    """Batches of one select through ADBC, twice as fast as rows. Close it at any point, also twice."""

    def __init__(
        self, url: sa.URL, seconds: float, statement: sa.Executable, reading: Reading, place: Place, stops: int
    ) -> None:
        import adbc_driver_manager  # noqa: PLC0415 - an extra
        import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415

        self._reading, self._place = reading, place
        self._error: type[Exception] = adbc_driver_manager.Error
        self._connection: Any = None
        self._stops = stops
        # No bind parameters occur in a scan; with named style "%" in names stays as it is.
        clause: Any = statement
        plain: sa.Dialect = postgresql.base.PGDialect(paramstyle="named")  # type: ignore[no-untyped-call]
        text = str(clause.compile(dialect=plain))
        try:
            with self._telling():
                connecting = functools.partial(adbc.connect, libpq_uri(url))
                self._connection, self._read = connected_adbc(connecting, url, place.underway)
                self._cursor = self._connection.cursor()
                place.must_go_on(self._stops)
                for setting in postgresql_session(seconds):
                    self._cursor.execute(setting)
                self._connection.commit()
                self._cursor.execute(text)
                self._batches = self._cursor.fetch_record_batch()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            with self._telling():
                while (batch := self._next()) is not None:
                    yield from self._reading.arrow(batch)
        finally:
            self.close()

    def _next(self) -> pa.RecordBatch | None:
        try:
            return next(self._batches, None)
        except (OSError, pa.ArrowException) as error:  # what the server says half-way arrives as Arrow's own errors
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
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise translated(error, self._place, self._stops) from None


class Rows:
    """The rows of one select as the driver gives them, in pieces.

    `whole`: the server sends all of them before the first is read. PostgreSQL answers a cursor, which streams, with one
    processor only.
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
                self.close(cut=True)  # PyMySQL would go on reading, from a connection that is gone
                raise
            self.done = len(rows) == 0
            if rows:
                yield rows

    def close(self, *, cut: bool) -> None:
        """`cut`: the connection is not needed any more, so that an unread rest need not be read."""
        if not self.done and cut:
            _cut(self.result)
        self.done = True
        self.result.close()


def _cut(result: sa.CursorResult[Any]) -> None:
    """Cut the connection of an answer with an unread rest.

    PyMySQL reads an answer to its end when it is closed, and ours may be endless; other drivers ask the server to close
    it, which may have ended the connection.
    """
    cursor: Any = result.cursor
    unread = getattr(cursor, "_result", None) if result.connection.dialect.name == "mysql" else None
    result.connection.invalidate()
    if unread is not None:
        unread.unbuffered_active = False


def let_go(connection: sa.Connection) -> None:
    """Close a connection that only read. A server that ended it already has nothing left to roll back."""
    if not connection.closed and not connection.invalidated:
        connection.invalidate()
    connection.close()


Bound = Mapping[str, Any] | tuple[Any, ...]


def raw(statement: sa.Executable, dialect: sa.Dialect) -> tuple[str, Bound]:
    """The statement as the driver takes it, its parameters converted. Run so, the answer's values stay the driver's."""
    clause: Any = statement
    compiled = clause.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    values = compiled.construct_params()
    ready = {}
    for bind, name in compiled.bind_names.items():
        if name in values:
            process = _processor(bind, dialect)
            ready[name] = process(values[name]) if process and values[name] is not None else values[name]
    ready = {**values, **ready}
    if compiled.positional:
        return str(compiled), tuple(ready[name] for name in compiled.positiontup or ())
    return str(compiled), ready


def _processor(bind: sa.BindParameter[Any], dialect: sa.Dialect) -> Callable[[Any], Any] | None:
    kind = bind.type.dialect_impl(dialect)
    found: Callable[[Any], Any] | None = kind.bind_processor(dialect)
    return found
