"""One consistent, read-only view of a database, in which a rule's queries run (pushdown)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.base import Problem
from connectors.declared import Notation
from connectors.sql.address import Deadline
from connectors.sql.columns import Base
from connectors.sql.errors import Place
from connectors.sql.reading import AsDeclared, Asked, Kind, Reading, misfit, wall_zone
from connectors.sql.settings import SqlDataset
from connectors.sql.stop import read_of
from connectors.sql.stream import Rows, let_go, telling
from connectors.sql.unique import kept_unique
from connectors.sql.values import NOT_BOOLEAN, Unfit

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
        let_go(connection)


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
        self._readings: list[Reading] = []
        self._booleans: set[str] = set()

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Stream the answer; a value that its column's type cannot hold is a ValueDoesNotFit."""
        self._open = [one for one in self._open if not one.done]
        if self._open and self._connection.dialect.name == "mysql":
            raise RuntimeError("MariaDB sends one answer at a time: read the last one to its end before the next query")
        with telling(self._place, self._read_under_way):
            self._must_be_booleans(statement)
            rows = Rows(self._connection, statement, self._deadline)
        self._open.append(rows)
        return self._read(rows, statement)

    def whole(self, statement: sa.Select[Any]) -> pa.Table:
        """The same answer, of few records, at once: from PostgreSQL by all the processors it would take."""
        with telling(self._place, self._read_under_way):
            self._must_be_booleans(statement)
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

    def problems(self) -> tuple[Problem, ...]:
        """Cells of the answers so far that could not be read as declared."""
        found: dict[tuple[str, str], Problem] = {}
        for problem in (one for reading in self._readings for one in reading.problems()):
            known = found.get((problem.column, problem.reason))
            more = replace(known, records=known.records + problem.records) if known else problem
            found[problem.column, problem.reason] = more
        return tuple(found.values())

    def end(self) -> None:
        """Give up what is still unread."""
        for rows in self._open:
            rows.close(cut=True)

    def _read(self, rows: Rows, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        columns = list(statement.selected_columns)
        asked = [_asked(name, column) for name, column in zip(rows.result.keys(), columns, strict=True)]
        declaring = (one.type.notation for one in columns if isinstance(one.type, AsDeclared))
        notation = next(declaring, Notation(timezone=wall_zone([one.kind for one in asked])))
        reading = Reading(asked, notation, self._place)
        self._readings.append(reading)
        return pa.RecordBatchReader.from_batches(reading.schema, self._batches(rows, reading))

    def _batches(self, rows: Rows, reading: Reading) -> Iterator[pa.RecordBatch]:
        try:
            with telling(self._place, self._read_under_way):
                for part in rows:
                    yield reading.rows(part)
        finally:
            rows.close(cut=False)
            reading.close()

    def _must_be_booleans(self, statement: sa.Select[Any]) -> None:
        """Raises ValueDoesNotFit for a tinyint(1) of MariaDB's that holds more than 0 and 1, as reading it does."""
        if self._connection.dialect.name != "mysql":
            return
        bases = (base for column in statement.selected_columns for base in column.base_columns)
        for base in bases:
            if isinstance(base, sa.ColumnClause) and isinstance(base.type, sa.Boolean) and base.table is not None:
                asked = sa.select(sa.func.max(sa.cast(base, sa.Integer).not_in((0, 1)))).select_from(base.table)
                if base.name not in self._booleans and self._connection.execute(asked).scalar():
                    raise misfit(self._place, base.name, Unfit(NOT_BOOLEAN, (), fatal=True))
                self._booleans.add(base.name)


def _asked(name: str, column: sa.ColumnElement[Any]) -> Asked:
    if isinstance(column.type, AsDeclared):
        return Asked(name, column.type.kind, column.type.declared)
    return Asked(name, _kind(column), compared=True)


def _kind(column: sa.ColumnElement[Any]) -> Kind:
    """The column's type; a computed decimal gets all the digits there are: a sum outgrows what it sums."""
    kind = column.type
    computed = any(not isinstance(one, sa.ColumnClause) for one in column.base_columns)
    if computed and isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        return sa.Numeric(38, kind.scale) if kind.scale is not None else sa.Numeric()
    return kind
