"""One consistent, read-only view of a database, in which a rule's queries run (pushdown)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.declared import Notation
from connectors.sql_address import Deadline
from connectors.sql_columns import Base
from connectors.sql_errors import Place
from connectors.sql_reading import Asked, Kind, Reading, wall_zone
from connectors.sql_settings import SqlDataset
from connectors.sql_stop import read_of
from connectors.sql_stream import Rows, telling
from connectors.sql_unique import kept_unique

Based = Callable[[sa.Connection, SqlDataset], Base]
"""Finds the table or query of a dataset."""


@contextmanager
def opened(connect: Callable[[], sa.Connection], based: Based, place: Place, seconds: float) -> Iterator[SqlSnapshot]:
    """A transaction whose queries agree with one another; ends, and lets go of everything, with the block."""
    connection = connect()
    snapshot = None
    try:
        with telling(place, read_of(connection)):
            _begin(connection)
        snapshot = SqlSnapshot(connection, based, place, seconds)
        yield snapshot
    finally:
        if snapshot is not None:
            snapshot.end()
        connection.close()


def _begin(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        connection.begin()
    elif connection.dialect.name == "mysql":
        connection.execution_options(isolation_level="REPEATABLE READ")
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    else:
        connection.exec_driver_sql("BEGIN DEFERRED")


class SqlSnapshot:
    """Runs statements in one transaction. MariaDB sends one answer at a time: read each before the next query."""

    def __init__(self, connection: sa.Connection, based: Based, place: Place, seconds: float) -> None:
        self._connection, self._based, self._place = connection, based, place
        self._read_under_way = read_of(connection)
        self._deadline = Deadline(connection, seconds)
        self._open: list[Rows] = []

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Stream the answer; a value that its column's type cannot hold is a ValueDoesNotFit."""
        self._open = [one for one in self._open if not one.done]
        if self._open and self._connection.dialect.name == "mysql":
            raise RuntimeError("MariaDB sends one answer at a time: read the last one to its end before the next query")
        with telling(self._place, self._read_under_way):
            rows = Rows(self._connection, statement, self._deadline)
        self._open.append(rows)
        return self._read(rows, statement)

    def whole(self, statement: sa.Select[Any]) -> pa.Table:
        """The same answer, of few records, at once: from PostgreSQL by all the processors it would take."""
        with telling(self._place, self._read_under_way):
            rows = Rows(self._connection, statement, self._deadline, whole=True)
        return self._read(rows, statement).read_all()

    def unique(self, dataset: SqlDataset, columns: Sequence[str]) -> bool:
        """Whether an index of PostgreSQL's keeps these columns unique, and none of them may be null.

        The other databases are not asked: False.
        """
        if dataset.table is None or self._connection.dialect.name != "postgresql":
            return False
        with telling(self._place, self._read_under_way):
            return kept_unique(self._connection, self._based(self._connection, dataset), columns)

    def end(self) -> None:
        """Give up what is still unread."""
        for rows in self._open:
            rows.close(cut=True)

    def _read(self, rows: Rows, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        kinds = [_kind(column) for column in statement.selected_columns]
        asked = [Asked(name, kind) for name, kind in zip(rows.result.keys(), kinds, strict=True)]
        reading = Reading(asked, Notation(timezone=wall_zone(kinds)), self._place, strict=True)
        return pa.RecordBatchReader.from_batches(reading.schema, self._batches(rows, reading))

    def _batches(self, rows: Rows, reading: Reading) -> Iterator[pa.RecordBatch]:
        try:
            with telling(self._place, self._read_under_way):
                for part in rows:
                    yield reading.rows(part)
        finally:
            rows.close(cut=False)
            reading.close()


def _kind(column: sa.ColumnElement[Any]) -> Kind:
    """The column's type; a computed decimal gets all the digits there are: a sum outgrows what it sums."""
    kind = column.type
    computed = any(not isinstance(one, sa.ColumnClause) for one in column.base_columns)
    if computed and isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        return sa.Numeric(38, kind.scale) if kind.scale is not None else sa.Numeric()
    return kind
