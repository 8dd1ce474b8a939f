"""One consistent, read-only view of a database, in which a rule's queries run (pushdown).

Columns that PostgreSQL keeps unique, so that the table need not be read to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.base import UnreadableCells, unreadable_cells
from connectors.declared import Notation
from connectors.sql.address import Deadline
from connectors.sql.columns import Base, regclass
from connectors.sql.errors import ErrorContext
from connectors.sql.reading import AnswerColumn, AnswerReader, AsDeclared, Kind, misfit, wall_zone
from connectors.sql.settings import SqlDataset
from connectors.sql.stop import read_of
from connectors.sql.stream import DriverRows, close_connection, translated_errors
from connectors.sql.values import NOT_BOOLEAN, Unfit

_KEPT_UNIQUE = sa.text(
    """
    select exists (
        select from pg_index i
        join pg_class t on t.oid = i.indrelid
        where t.oid = to_regclass(:name)
        -- A plain table's index knows nothing of the rows in tables that inherit from it; a partitioned one's does.
        and (t.relkind = 'p' or t.relkind in ('r', 'm') and not t.relhassubclass)
        and i.indisunique and i.indimmediate and i.indisvalid and i.indisready and i.indislive
        and i.indpred is null and i.indexprs is null
        and not exists (
            select from unnest(i.indclass::oid[]) one join pg_opclass o on o.oid = one where not o.opcdefault
        )
        and not exists (
            select from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) one
            join pg_attribute a on a.attrelid = t.oid and a.attnum = one
            where a.attname <> all (:columns)
        )
    ) and :wanted = (
        select count(*) from pg_attribute a
        where a.attrelid = to_regclass(:name) and a.attname = any (:columns) and a.attnotnull
        and not exists (
            select from pg_constraint c
            where c.conrelid = a.attrelid and c.contype = 'n' and not c.convalidated and a.attnum = any (c.conkey)
        )
    )
    """
).bindparams(sa.bindparam("columns", type_=sa.ARRAY(sa.Text())))


def kept_unique(connection: sa.Connection, base: Base, columns: Sequence[str]) -> bool:
    """Return True if an index of that table keeps the columns, or some of them, unique, and none may be null.

    Only an index that always holds for every record counts: not a partial, deferrable or unfinished one, nor one over
    an expression or with its own operator class. Queries, views and foreign tables have none.
    """
    if not isinstance(base, sa.TableClause):
        return False
    parameters = {"name": regclass(base), "columns": list(columns), "wanted": len(set(columns))}
    return bool(connection.execute(_KEPT_UNIQUE, parameters).scalar())


Based = Callable[[sa.Connection, SqlDataset], Base]
"""Finds the table or query of a dataset."""


@contextmanager
def opened(
    connect: Callable[[], sa.Connection], based: Based, place: ErrorContext, seconds: float
) -> Iterator[SqlSnapshot]:
    """Open a transaction whose queries see the same state; it ends, and closes everything, with the block."""
    connection = connect()
    snapshot = None
    try:
        with translated_errors(place, read_of(connection)):
            _begin(connection)
        snapshot = SqlSnapshot(connection, based, place, seconds)
        yield snapshot
    finally:
        if snapshot is not None:
            snapshot.end()
        close_connection(connection)


def _begin(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        _isolate(connection, postgresql_readonly=True)
        connection.begin()
    elif connection.dialect.name == "mysql":
        _isolate(connection)
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    else:
        connection.exec_driver_sql("BEGIN DEFERRED")


def _isolate(connection: sa.Connection, **options: Any) -> None:
    """Choose the isolation level; SQLAlchemy passes on an error of the driver as it is there."""
    try:
        connection.execution_options(isolation_level="REPEATABLE READ", **options)
    except connection.dialect.loaded_dbapi.Error as error:
        raise sa.exc.OperationalError("SET TRANSACTION", {}, error) from error


class SqlSnapshot:
    """Runs statements in one transaction. MariaDB sends one answer at a time: read each before the next query."""

    def __init__(self, connection: sa.Connection, based: Based, place: ErrorContext, seconds: float) -> None:
        self._connection, self._based, self._place = connection, based, place
        self._read_under_way = read_of(connection)
        self._deadline = Deadline(connection, seconds)
        self._open: list[DriverRows] = []
        self._readings: list[AnswerReader] = []
        self._rereadings: list[AnswerReader] = []
        self._booleans: set[str] = set()

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Stream the answer. Raises ValueDoesNotFit for a value that its column's type cannot hold."""
        self._open = [rows for rows in self._open if not rows.done]
        if self._open and self._connection.dialect.name == "mysql":
            raise RuntimeError("MariaDB sends one answer at a time: read the last one to its end before the next query")
        with translated_errors(self._place, self._read_under_way):
            self._must_be_booleans(statement)
            rows = DriverRows(self._connection, statement, self._deadline)
        self._open.append(rows)
        return self._read(rows, statement)

    def whole(self, statement: sa.Select[Any], *, compared: bool = True) -> pa.Table:
        """The whole answer, of few records, at once; PostgreSQL may use all its processors for it.

        `compared`: the database compared values for us, so one that it reads differently is an error.
        """
        with translated_errors(self._place, self._read_under_way):
            if compared:
                self._must_be_booleans(statement)
            rows = DriverRows(self._connection, statement, self._deadline, whole=True)
        return self._read(rows, statement, compared=compared).read_all()

    def unique(self, dataset: SqlDataset, columns: Sequence[str]) -> bool:
        """Return True if an index of PostgreSQL keeps these columns unique and none may be null; else False."""
        if dataset.table is None or self._connection.dialect.name != "postgresql":
            return False
        with translated_errors(self._place, self._read_under_way):
            return kept_unique(self._connection, self._based(self._connection, dataset), columns)

    def problems(self) -> tuple[UnreadableCells, ...]:
        """The cells so far that could not be read as declared."""
        read, reread = (
            [problem for reading in readings for problem in reading.problems()]
            for readings in (self._readings, self._rereadings)
        )
        return unreadable_cells(read, reread)

    def end(self) -> None:
        """Discard unread answers."""
        for rows in self._open:
            rows.close(cut=True)

    def _read(self, rows: DriverRows, statement: sa.Select[Any], *, compared: bool = True) -> pa.RecordBatchReader:
        columns = list(statement.selected_columns)
        named = zip(rows.result.keys(), columns, strict=True)
        asked_columns = [_answer_column(name, column, compared=compared) for name, column in named]
        declaring = (column.type.notation for column in columns if isinstance(column.type, AsDeclared))
        notation = next(declaring, Notation(timezone=wall_zone([column.kind for column in asked_columns])))
        reading = AnswerReader(asked_columns, notation, self._place)
        rereads = statement.get_execution_options().get("rereads")
        (self._rereadings if rereads else self._readings).append(reading)
        return pa.RecordBatchReader.from_batches(reading.schema, self._batches(rows, reading))

    def _batches(self, rows: DriverRows, reading: AnswerReader) -> Iterator[pa.RecordBatch]:
        try:
            with translated_errors(self._place, self._read_under_way):
                for part in rows:
                    yield reading.rows(part)
        finally:
            rows.close(cut=False)
            reading.close()

    def _must_be_booleans(self, statement: sa.Select[Any]) -> None:
        """Raise ValueDoesNotFit for a tinyint(1) of MariaDB that holds more than 0 and 1, as reading it does."""
        if self._connection.dialect.name != "mysql":
            return
        bases = (base for column in statement.selected_columns for base in column.base_columns)
        for base in bases:
            if isinstance(base, sa.ColumnClause) and isinstance(base.type, sa.Boolean) and base.table is not None:
                check = sa.select(sa.func.max(sa.cast(base, sa.Integer).not_in((0, 1)))).select_from(base.table)
                if base.name not in self._booleans and self._connection.execute(check).scalar():
                    raise misfit(self._place, base.name, Unfit(NOT_BOOLEAN, (), fatal=True))
                self._booleans.add(base.name)


def _answer_column(name: str, column: sa.ColumnElement[Any], *, compared: bool) -> AnswerColumn:
    if isinstance(column.type, AsDeclared):
        return AnswerColumn(name, column.type.kind, column.type.declared)
    return AnswerColumn(name, _kind(column), compared=compared)


def _kind(column: sa.ColumnElement[Any]) -> Kind:
    """The column's type; a computed decimal gets all 38 digits, because a sum is longer than its items."""
    kind = column.type
    computed = any(not isinstance(base, sa.ColumnClause) for base in column.base_columns)
    if computed and isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        return sa.Numeric(38, kind.scale) if kind.scale is not None else sa.Numeric()
    return kind
