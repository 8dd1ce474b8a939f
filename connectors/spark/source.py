"""Spark: tables of its catalogue and Parquet files, with rules that run on the cluster.

    sources:
      lake: {type: spark, url: "spark://spark.example.com:7077", statement_timeout: 2h}
    datasets:
      orders:  {source: lake, path: /data/orders}
      charges: {source: lake, table: shop.charges}

A relative path begins at the folder of the configuration. With `jdbc`, the tables are those of a PostgreSQL database;
see `connectors.spark.jdbc`. Records are never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa

from connectors.base import DatasetSettings, Scan, Snapshot, SourceSettings
from connectors.spark.columns import SparkColumn
from connectors.spark.errors import database_address
from connectors.spark.jdbc import JdbcTables
from connectors.spark.session import Connection
from connectors.spark.settings import SparkDataset, SparkSettings
from connectors.spark.snapshot import kept, opened, opened_table, view_name
from connectors.spark.tables import OpenedTable, SparkTables, Tables
from connectors.sql.errors import ErrorContext
from connectors.sql.reading import AnswerReader
from connectors.sql.settings import seconds
from connectors.sql.stand_in import stand_in

SLICE = 500_000
"""Records that one answer holds when a whole dataset is read."""


class SparkSource:
    """Tables and Parquet files in Spark. Creating it does not connect."""

    Settings: ClassVar[type[SourceSettings]] = SparkSettings
    Dataset: ClassVar[type[DatasetSettings]] = SparkDataset
    dialect = "spark"

    def __init__(self, name: str, settings: SparkSettings, root: Path) -> None:
        self.name = name
        url = settings.url.get_secret_value() if settings.url else None
        where = url.split(";", 1)[0] if url else "the session of this process"  # a token follows the semicolon
        self._place = ErrorContext(name, where, "spark", settings.statement_timeout)
        limit = seconds(settings.statement_timeout)
        jdbc = settings.jdbc.get_secret_value() if settings.jdbc else None
        self._connection = Connection(self._place, url, settings.config, limit, database_address(jdbc))
        self._tables: Tables = SparkTables(name, root)
        if jdbc is not None:
            user, password = (
                secret.get_secret_value() if secret else None for secret in (settings.user, settings.password)
            )
            self._tables = JdbcTables(name, jdbc, user, password, limit)

    def __repr__(self) -> str:
        return f"SparkSource({self.name!r} at {self._place.where})"

    def datasets(self) -> Sequence[str]:
        """Tables and views of the current schema, or of the database."""
        session = self._connection.session()
        with self._connection.running(session):
            return self._tables.names(session)

    def describe(self, dataset: SparkDataset) -> pa.Schema:
        """Columns in their order, with the types of `scan`; metadata as in the port."""
        _, table = self._opened(dataset)
        all_columns = table.columns
        reading = self._reading(all_columns, dataset)
        reading.close()
        fields = []
        for field, column in zip(reading.schema, all_columns, strict=True):
            is_declared = column.is_declared(dataset)
            claims = {"pushdown": "exact"} if column.pushable and not is_declared else {}
            fields.append(field.with_nullable(column.nullable or is_declared).with_metadata(claims))
        return pa.schema(fields)

    def scan(self, dataset: SparkDataset, columns: Sequence[str]) -> Scan:
        """Stream these columns as they are at one moment, a slice of at most some partitions at a time."""
        session, table = self._opened(dataset)
        by_name = {column.name: column for column in table.columns}
        dataset.must_have(self.name, columns, by_name)
        selected = [by_name[name] for name in columns]
        copy = kept(self._connection, session, table, selected, dataset.place)
        reading = self._reading(selected, dataset)

        def release() -> None:
            with self._connection.running(None):
                copy.unpersist()
            reading.close()

        batches = self._batches(session, copy, reading)
        return Scan(pa.RecordBatchReader.from_batches(reading.schema, batches), reading.problems, release)

    def relation(self, dataset: SparkDataset) -> sa.FromClause:
        """The dataset as a FROM clause: the name of its copy in a snapshot."""
        _, table = self._opened(dataset)
        return sa.table(
            view_name(dataset), *(sa.column(column.name, column.declaring(dataset)) for column in table.columns)
        )

    def stand_in(self, relation: sa.FromClause, records: pa.Table) -> sa.FromClause:
        """The records as constants, with the column types of the relation."""
        return stand_in(relation, records, self.dialect)

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a session; every query in it sees the same state of the datasets."""
        return opened(self._connection, self._tables)

    def keep(self, snapshot: Any, dataset: SparkDataset, columns: Sequence[str]) -> None:
        """Announce the columns that the queries of a snapshot read, before its first query."""
        snapshot.announce(dataset, columns)

    def stop(self) -> None:
        """Cancel the jobs of every current read."""
        self._place.underway.stop()

    def close(self) -> None:
        """Stop Spark if this source started it and no other uses it."""
        self._connection.close()

    def _opened(self, dataset: SparkDataset) -> tuple[Any, OpenedTable]:
        session = self._connection.session()
        table = opened_table(self._connection, session, self._tables, dataset)
        dataset.must_have(self.name, dataset.columns, [column.name for column in table.columns])
        return session, table

    def _reading(self, selected: Sequence[SparkColumn], dataset: SparkDataset) -> AnswerReader:
        return AnswerReader([column.answer(dataset) for column in selected], dataset.notation, self._place)

    def _batches(self, session: Any, copy: Any, reading: AnswerReader) -> Iterator[pa.RecordBatch]:
        with self._connection.running(session):
            counts = copy.selectExpr("spark_partition_id() AS partition").groupBy("partition").count().toArrow()
        for numbers in slices(counts.column("partition").to_pylist(), counts.column("count").to_pylist()):
            with self._connection.running(session):
                table = copy.where(f"spark_partition_id() IN ({', '.join(map(str, numbers))})").toArrow()
            for batch in table.to_batches():
                yield from reading.arrow(batch)


def slices(partitions: Sequence[int], records: Sequence[int]) -> Iterator[list[int]]:
    """Yield the partitions in runs of at most SLICE records; a larger partition is one run."""
    run: list[int] = []
    total = 0
    for partition, number in sorted(zip(partitions, records, strict=True)):
        if run and total + number > SLICE:
            yield run
            run, total = [], 0
        run.append(partition)
        total += number
    if run:
        yield run
