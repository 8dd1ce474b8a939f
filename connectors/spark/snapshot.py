"""One moment of Spark datasets, in which a rule's queries run.

Before the first query, the needed columns of each dataset are read once and kept on the executors' disks, without the
plan that produced them. Every query reads these copies, so a table that changes meanwhile changes nothing. If an
executor is lost with its part, queries fail: nothing is read again, so an answer never mixes two moments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.base import UnreadableCells
from connectors.declared import Notation
from connectors.spark.columns import SparkColumn
from connectors.spark.session import Connection, in_session
from connectors.spark.settings import SparkDataset
from connectors.spark.tables import OpenedTable, Tables
from connectors.sql.reading import AnswerColumn, AnswerReader, AsDeclared, wall_zone


def view_name(dataset: SparkDataset) -> str:
    """The name of a dataset in statements: the same in every session."""
    content = dataset.model_dump_json().encode()
    last = dataset.table.rpartition(".")[2] if dataset.table else PurePosixPath(dataset.path or "").stem or "records"
    return f"{last}_{hashlib.sha256(content).hexdigest()[:8]}"


def opened_table(connection: Connection, session: Any, tables: Tables, dataset: SparkDataset) -> OpenedTable:
    """Return the dataset as Spark's frame; nothing is read but its schema."""
    with connection.running(session, dataset.place):
        table = tables.open(session, dataset)
        table.frame.schema  # noqa: B018 - the first use of the schema is where a missing table is noticed
    return table


def kept(
    connection: Connection, session: Any, table: OpenedTable, selected: Sequence[SparkColumn], dataset: str
) -> Any:
    """Read these columns once, and return them as a frame without their origin."""
    from pyspark import StorageLevel  # noqa: PLC0415 - an extra

    def copied(frame: Any) -> Any:
        return in_session(session, frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY))

    with connection.running(session, dataset):
        copy = copied(table.frame.selectExpr(*(column.selected() for column in selected)))
        if not table.is_one_read:
            return copy
        # One task read it; all cores compare it. Only the copy is spread, so a failure there reads nothing again.
        spread = copied(copy.hint("rebalance"))
        copy.unpersist()
        return spread


class SparkSnapshot:
    """Runs statements over the copies of the datasets that were announced with `keep`."""

    def __init__(self, connection: Connection, session: Any, tables: Tables) -> None:
        self._connection, self._session, self._tables = connection, session, tables
        self._announced: dict[str, tuple[SparkDataset, dict[str, None]]] = {}
        self._frames: list[Any] = []
        self._readings: list[AnswerReader] = []

    def announce(self, dataset: SparkDataset, names: Sequence[str]) -> None:
        """Remember the columns that the queries of this snapshot read."""
        _, announced = self._announced.setdefault(view_name(dataset), (dataset, {}))
        announced.update(dict.fromkeys(names))

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Return the answer, which holds only members of groups."""
        self._keep()
        dialect = sa.dialects.registry.load("spark")()
        text = str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        with self._connection.running(self._session):
            table = self._session.sql(text).toArrow()
        return self._read(table, statement)

    def whole(self, statement: sa.Select[Any]) -> pa.Table:
        """Return the answer."""
        return self.query(statement).read_all()

    def unique(self, dataset: SparkDataset, columns: Sequence[str]) -> bool:  # noqa: ARG002 - Spark enforces no keys
        """Return False: Spark keeps nothing unique."""
        return False

    def problems(self) -> tuple[UnreadableCells, ...]:
        """The cells of the answers that could not be read as declared."""
        return tuple(problem for reading in self._readings for problem in reading.problems())

    def end(self) -> None:
        """Release the copies."""
        frames, self._frames = self._frames, []
        with self._connection.running(None):
            for frame in frames:
                frame.unpersist()

    def _keep(self) -> None:
        announced, self._announced = self._announced, {}
        for name, (dataset, names) in announced.items():
            table = opened_table(self._connection, self._session, self._tables, dataset)
            selected = [column for column in table.columns if column.name in names]
            copy = kept(self._connection, self._session, table, selected, dataset.place)
            self._frames.append(copy)
            copy.createOrReplaceTempView(f"`{name}`")

    def _read(self, table: pa.Table, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        asked = [
            _answer_column(name, column)
            for name, column in zip(table.column_names, statement.selected_columns, strict=True)
        ]
        declaring = (c.type.notation for c in statement.selected_columns if isinstance(c.type, AsDeclared))
        notation = next(declaring, Notation(timezone=wall_zone([column.kind for column in asked])))
        reading = AnswerReader(asked, notation, self._connection.place)
        self._readings.append(reading)
        return pa.RecordBatchReader.from_batches(reading.schema, _batches(table, reading))


def _batches(table: pa.Table, reading: AnswerReader) -> Iterator[pa.RecordBatch]:
    for batch in table.to_batches():
        yield from reading.arrow(batch)


def _answer_column(name: str, column: sa.ColumnElement[Any]) -> AnswerColumn:
    if isinstance(column.type, AsDeclared):
        return AnswerColumn(name, column.type.kind, column.type.declared)
    return AnswerColumn(name, column.type, compared=True)


@contextmanager
def opened(connection: Connection, tables: Tables) -> Iterator[SparkSnapshot]:
    """Open a session whose queries see one moment; its copies go with the block."""
    snapshot = SparkSnapshot(connection, connection.session(), tables)
    try:
        yield snapshot
    finally:
        snapshot.end()
