"""Where the records of a Spark source are: in Spark's catalogue and in Parquet files, or in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from connectors.spark.columns import SparkColumn, columns
from connectors.spark.errors import PlaceUnsuitable
from connectors.spark.settings import SparkDataset


@dataclass(frozen=True)
class OpenedTable:
    """A dataset as Spark's frame, with its columns. `is_one_read`: one task reads all of it, by one statement."""

    frame: Any
    columns: list[SparkColumn]
    is_one_read: bool = False


class Tables(Protocol):
    """Opens the datasets of a source."""

    def names(self, session: Any) -> Sequence[str]:
        """The tables and views that a dataset can name."""

    def open(self, session: Any, dataset: SparkDataset) -> OpenedTable:
        """Read the schema of the dataset, but no records."""


@dataclass(frozen=True)
class SparkTables:
    """Tables of Spark's catalogue, and Parquet; a relative path begins at `root`."""

    source: str
    root: Path

    def names(self, session: Any) -> Sequence[str]:
        return [table.name for table in session.catalog.listTables()]

    def open(self, session: Any, dataset: SparkDataset) -> OpenedTable:
        if dataset.partition:
            raise PlaceUnsuitable(self.source, "`partition` needs a source with `jdbc`")
        path = dataset.path
        if path is not None and "://" not in path:
            path = str((self.root / path).resolve())
        frame = session.table(dataset.table) if path is None else session.read.parquet(path)
        return OpenedTable(frame, columns(frame, dataset.timezone))
