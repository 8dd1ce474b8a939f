"""One consistent, read-only view of a database, in which a rule's queries run (pushdown)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.coerce import Notation
from connectors.sql_address import Deadline
from connectors.sql_errors import Place
from connectors.sql_reading import Asked, Kind, Reading, wall_zone
from connectors.sql_stream import Rows, telling


@contextmanager
def opened(connect: Callable[[], sa.Connection], place: Place, seconds: float) -> Iterator[SqlSnapshot]:
    """A transaction whose queries agree with one another; ends, and lets go of everything, with the block."""
    connection = connect()
    snapshot = None
    try:
        with telling(place):
            _begin(connection)
        snapshot = SqlSnapshot(connection, place, seconds)
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

    def __init__(self, connection: sa.Connection, place: Place, seconds: float) -> None:
        self._connection, self._place = connection, place
        self._deadline = Deadline(connection, seconds)
        self._open: list[Rows] = []

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Stream the answer; a value that its column's type cannot hold is a ValueDoesNotFit."""
        self._open = [one for one in self._open if not one.done]
        if self._open and self._connection.dialect.name == "mysql":
            raise RuntimeError("MariaDB sends one answer at a time: read the last one to its end before the next query")
        with telling(self._place):
            rows = Rows(self._connection, statement, self._deadline)
        self._open.append(rows)
        columns = list(statement.selected_columns)
        kinds = [_kind(column) for column in columns]
        asked = [Asked(name, kind) for name, kind in zip(rows.result.keys(), kinds, strict=True)]
        reading = Reading(asked, Notation(timezone=wall_zone(kinds)), self._place, strict=True)
        return pa.RecordBatchReader.from_batches(reading.schema, self._batches(rows, reading))

    def end(self) -> None:
        """Give up what is still unread."""
        for rows in self._open:
            rows.close(cut=True)

    def _batches(self, rows: Rows, reading: Reading) -> Iterator[pa.RecordBatch]:
        try:
            with telling(self._place):
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
