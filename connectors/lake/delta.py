"""Source `delta`: Delta tables in folders or in an object store, read with the library deltalake.

    sources:
      lake: {type: delta, root: /data/lake}
      cloud:
        type: delta
        root: s3://bucket/lake
        options: {aws_region: eu-central-1, aws_access_key_id: KEY, aws_secret_access_key: "${secret:AWS_SECRET}"}
    datasets:
      orders: {source: lake, path: sales/orders, id: order_id}

Deletion vectors and renamed columns are read; a table with a feature that the library does not read is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, SecretStr, field_validator

from connectors.base import ColumnComparison, DatasetSettings, Declaration, SourceSettings
from connectors.errors import ConnectorError, DatasetMissing, DriverMissing, FileRefused, RecordsLost
from connectors.lake.delta_files import chosen, spans_of
from connectors.lake.errors import TableRefused
from connectors.lake.inexact import Inexact, contains, holds_structs
from connectors.lake.places import (
    beneath,
    folders_with,
    is_inside,
    links_below,
    refuse_path,
    refuse_scheme,
    scheme_of,
)
from connectors.lake.source import LakeDataset, LakeSource, PinnedTable, TablePart

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
_MAPPING = "delta.columnMapping.mode"
_UNREADABLE_NAME = re.compile(r"[%\\\x00-\x1f\x7f]")
"""Characters that deltalake takes for others, or refuses, in the path of a folder."""
_FEATURES = (
    r"Unsupported table features required: \[(?P<several>[^\]]+)\]|Feature '(?P<single>\w+)' is not supported"
    r"|(?P<catalog>catalog-managed)|reader version (?P<version>\d+)"
)


class DeltaSettings(SourceSettings):
    """`root` is a folder, relative to the configuration file, or an address in an object store; nothing outside it is
    read. `options` are deltalake's own for the object store.
    """

    type: Literal["delta"]
    root: str = "."
    options: Mapping[str, SecretStr] = Field(default_factory=dict)

    @field_validator("root")
    @classmethod
    def _is_root(cls, root: str) -> str:
        refuse_scheme(root)
        return root


class DeltaDataset(LakeDataset):
    """`path` is the folder of a table below the root."""

    path: str = Field(min_length=1)

    @field_validator("path")
    @classmethod
    def _is_below(cls, path: str) -> str:
        return refuse_path(path)

    @property
    def place(self) -> str:
        return f"table {self.path}"


class DeltaSource(LakeSource):
    """Delta tables below one root."""

    Settings: ClassVar[type[SourceSettings]] = DeltaSettings
    Dataset: ClassVar[type[DatasetSettings]] = DeltaDataset

    def __init__(self, name: str, settings: DeltaSettings, directory: Path) -> None:
        super().__init__(name, settings.root, "deltalake", settings.options)
        self._is_remote = bool(scheme_of(settings.root))
        self._address = settings.root.rstrip("/")
        self._root = directory / settings.root

    def datasets(self) -> Sequence[str]:
        """Folders with a table, up to three deep; none in an object store."""
        return [] if self._is_remote else folders_with(self.name, self._root, LOG)

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        """A folder of tables, or of one."""
        if not path.is_dir() or not folders_with("", path, LOG):
            return None
        return {"type": "delta", "root": str(path)}

    def candidates(self) -> Sequence[str]:
        return self.datasets()

    def declaration(self, candidate: str) -> Declaration:
        return Declaration({"path": candidate})

    def keys(self, dataset: DeltaDataset) -> Sequence[tuple[str, ...]]:  # noqa: ARG002 - Delta keeps nothing unique
        return ()

    def _open(self, dataset: DeltaDataset) -> PinnedTable:
        try:
            from deltalake import DeltaTable  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise DriverMissing(self.name, "deltalake", "reconcile-runner[delta]") from error
        folder = None if self._is_remote else self._folder(dataset)
        address = f"{self._address}/{dataset.path}" if folder is None else str(folder)
        with self._translated(dataset.place, None):
            table = DeltaTable(address, storage_options=self._options)
            opened = DeltaVersion(table, partial(self._translated, dataset.place), self._place.table(dataset.place))
            opened.refuse_outside(self._root if folder else None, folder)
            return opened

    def _folder(self, dataset: DeltaDataset) -> Path:
        """The table's real folder, with everything in its log inside the root."""
        place = self._place.table(dataset.place)
        names = self.datasets()  # raises SourceMissing for the root
        folder = self._root / dataset.path
        if not (folder / LOG).is_dir():
            raise DatasetMissing(self.name, dataset.place, [f"table {name}" for name in names])
        real = beneath(self._root, place, folder)
        if _UNREADABLE_NAME.search(str(real)):
            raise FileRefused(place, "its path has a character that deltalake cannot read", "rename the folder")
        for path in (real / LOG, *links_below(real / LOG)):
            beneath(self._root, place, path)
        return real

    def _own_error(self, dataset: str, error: Exception, text: str) -> ConnectorError | None:
        if type(error).__name__ == "TableNotFoundError":
            return DatasetMissing(self.name, dataset, [f"table {name}" for name in self.datasets()])
        if match := re.search(_FEATURES, text):
            feature = match["several"] or match["single"] or match["catalog"] or f"reader version {match['version']}"
            reason = f"it needs {feature}, which deltalake cannot read"
            return TableRefused(self._place.table(dataset), reason, "read it with a source of type `spark`")
        return None


class DeltaVersion:
    """One version of a Delta table; see `PinnedTable`."""

    def __init__(self, table: DeltaTable, translated: Any, place: str) -> None:
        self._table, self._translated, self._place = table, translated, place
        self.version = f"version {table.version()}"
        self.content = f"{table.metadata().id} {self.version}"
        self.schema = pa.schema(_stored(table.schema().to_arrow()))
        self.inexact: Inexact = dict(self._inexact())

    def refuse_outside(self, root: Path | None, folder: Path | None) -> None:
        """Raise FileRefused if the log names a file outside the table's folder, or a link leads outside the root."""
        for path in self._files.column("path").to_pylist():
            if not is_inside(path):
                reason = "its log names files outside its folder, as in a shallow clone"
                raise FileRefused(self._place, reason, "read the table that it was cloned from, or a deep clone")
            if root is not None and folder is not None and (file := folder / unquote(path)).exists():
                beneath(root, self._place, file)

    def select(self, comparisons: Sequence[ColumnComparison]) -> TablePart:
        """See `PinnedTable`."""
        with self._translated(self.version):
            records = self._records()
            if records is None or not comparisons or _has_other_names(self._table):
                return TablePart(partial(self._batches, None if records is None else sum(records), None))
            partitions, columns = self._table.metadata().partition_columns, [each.column for each in comparisons]
            numbers, limits = chosen(spans_of(self._files, self.schema, partitions, columns), comparisons)
        kept = sum(records[number] for number in numbers)
        conditions = [limit.sql(name, self.schema.field(name).type) for name, limit in limits.items()]
        batches = partial(self._batches, kept, " and ".join(conditions) if len(numbers) < len(records) else None)
        return TablePart(batches if numbers else _nothing, sum(records) - kept)

    def _batches(self, expected: int | None, condition: str | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        returned = 0
        with self._translated(self.version):
            reader = iter(self._table.scan(columns=list(columns), predicate=condition))
        while True:
            with self._translated(self.version):
                batch = next(reader, None)
            if batch is None:
                break
            returned += batch.num_rows
            yield pa.record_batch(batch.with_schema(_stored(batch.schema)))
        if expected is not None and returned != expected:
            raise RecordsLost(self._place, expected, returned)

    def _inexact(self) -> Iterator[tuple[str, str]]:
        metadata = self._table.metadata()
        for field in self.schema:
            if field.name in metadata.partition_columns and contains(field.type, pa.types.is_binary):
                yield (
                    field.name,
                    "the table is partitioned by it, and deltalake reads bytes in names of folders as text",
                )
            if metadata.configuration.get(_MAPPING, "none") != "none" and holds_structs(field.type, pa.types.is_map):
                yield field.name, "deltalake confuses fields that were renamed or dropped in structs inside maps"

    @property
    def _files(self) -> pa.Table:
        return pa.table(self._table.get_add_actions(flatten=True))

    def _records(self) -> list[int] | None:
        """The number of records of each file, less those of its deletion vector; None if the log does not say it."""
        files = self._files
        if "num_records" not in files.column_names or files.column("num_records").null_count:
            return None
        records = dict(zip(files.column("path").to_pylist(), files.column("num_records").to_pylist(), strict=True))
        for batch in pa.RecordBatchReader.from_stream(self._table.deletion_vectors()):
            for file, kept in zip(batch.column("filepath"), batch.column("selection_vector"), strict=True):
                path = file.as_py().removeprefix(self._table.table_uri)
                records[path] -= len(kept) - (pc.sum(kept.values).as_py() or 0)
        return list(records.values())


def _stored(schema: Any) -> Any:
    """The schema without the types of programs: Delta stores a UUID of Arrow as bytes and JSON as text."""
    return type(schema)([field.remove_metadata() for field in schema])


def _has_other_names(table: DeltaTable) -> bool:
    """Return True if columns have other names in files than in the table: the library lists them by either."""
    return table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"


def _nothing(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG001 - no file is read
    yield from ()
