"""Source `iceberg`: Iceberg tables of a catalogue, read with the library pyiceberg.

    sources:
      lake:
        type: iceberg
        catalog: main
        options: {type: rest, uri: https://catalog.example.com, warehouse: main, credential: "${secret:CATALOG}"}
    datasets:
      orders: {source: lake, table: sales.orders, id: order_id}

Position deletes, deletion vectors and changed schemas are read; equality deletes, which the library does not read, are
refused. Local files are read only below `root`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc
from pydantic import Field, SecretStr, field_validator

from connectors.base import ColumnComparison, DatasetSettings, SourceSettings
from connectors.disk.paths import looking
from connectors.errors import ConnectorError, DatasetMissing, DriverMissing, RecordsLost, SourceMissing
from connectors.lake.errors import TableRefused
from connectors.lake.inexact import (
    ColumnRefused,
    Inexact,
    contains,
    holds_structs,
    is_list,
    is_microseconds,
    is_nanoseconds,
)
from connectors.lake.pruning import excluded
from connectors.lake.source import LakeDataset, LakeSource, PinnedTable, TablePart

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table

OPENS_FILES = "connectors.lake.confined.ConfinedFileIO"
_SQLITE = "sqlite:///"
Deleted = Mapping[str, list[Any]]
"""The positions of deleted records by file, as pyiceberg reads them."""
_CUT_TIMES = "files store its times in nanoseconds or as INT96, which pyiceberg truncates"
_LOST_STRUCTS = "pyiceberg confuses null with empty, and renamed fields, in lists and maps of structs"


class IcebergSettings(SourceSettings):
    """`catalog` is the catalogue's name, `options` are pyiceberg's own for it. Local files are read below `root`, which
    is relative to the configuration file.
    """

    type: Literal["iceberg"]
    catalog: str = "default"
    options: Mapping[str, SecretStr] = Field(default_factory=dict)
    root: str = "."


class IcebergDataset(LakeDataset):
    """`table` is the name of a table with its namespace."""

    table: str

    @field_validator("table")
    @classmethod
    def _has_namespace(cls, table: str) -> str:
        if not all(table.split(".")) or "." not in table:
            raise ValueError("a table of Iceberg has a namespace: write namespace.table")
        return table

    @property
    def place(self) -> str:
        return f"table {self.table}"


class IcebergSource(LakeSource):
    """Tables of one Iceberg catalogue."""

    Settings: ClassVar[type[SourceSettings]] = IcebergSettings
    Dataset: ClassVar[type[DatasetSettings]] = IcebergDataset

    def __init__(self, name: str, settings: IcebergSettings, directory: Path) -> None:
        super().__init__(name, f"catalogue {settings.catalog}", "pyiceberg", settings.options)
        self._catalog_name, self._directory = settings.catalog, directory
        self._root = directory / settings.root
        self._catalog: Catalog | None = None

    def datasets(self) -> Sequence[str]:
        """Tables of the namespaces at the top."""
        with self._translated("the catalogue", None):
            catalog = self._connected()
            tables = (table for namespace in catalog.list_namespaces() for table in catalog.list_tables(namespace))
            return sorted(".".join(table) for table in tables)

    def close(self) -> None:
        super().close()
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None

    def _open(self, dataset: IcebergDataset) -> PinnedTable:
        with self._translated(dataset.place, None):
            table = self._connected().load_table(dataset.table)
            place, translated_errors = self._place.table(dataset.place), partial(self._translated, dataset.place)
            return IcebergVersion(table, self._confined(table), translated_errors, place)

    def _confined(self, table: Table) -> Any:
        """Our reader of the table's files, even if the catalogue chose another."""
        from connectors.lake.confined import ROOT, ConfinedFileIO  # noqa: PLC0415 - an extra

        return ConfinedFileIO({**table.io.properties, ROOT: str(self._root)})

    def _connected(self) -> Catalog:
        if self._catalog is None:
            try:
                from pyiceberg.catalog import load_catalog  # noqa: PLC0415 - an extra

                from connectors.lake.confined import ROOT  # noqa: PLC0415 - see above
            except ImportError as error:
                raise DriverMissing(self.name, "pyiceberg", "reconcile-runner[iceberg]") from error
            ours = {"py-io-impl": OPENS_FILES, ROOT: str(self._root), "init_catalog_tables": "false"}
            self._catalog = load_catalog(self._catalog_name, **{**self._options, **self._address(), **ours})
        return self._catalog

    def _address(self) -> dict[str, str]:
        """The address of a catalogue in a SQLite file, read-only and relative to the configuration."""
        uri = self._options.get("uri", "")
        if not uri.startswith(_SQLITE) or "?" in uri:
            return {}
        path = self._directory / uri.removeprefix(_SQLITE)
        with looking(self.name, path):
            if not path.is_file():
                raise SourceMissing(self.name, str(path))
        return {"uri": f"{_SQLITE}file:{path.resolve()}?mode=ro&uri=true"}

    def _own_error(self, dataset: str, error: Exception, text: str) -> ConnectorError | None:
        if type(error).__name__ in ("NoSuchTableError", "NoSuchNamespaceError"):
            return DatasetMissing(self.name, dataset, [f"table {name}" for name in self.datasets()])
        if re.search(r"(?i)equality.deletes", text):
            reason = "it has equality deletes, which pyiceberg cannot read"
            return TableRefused(self._place.table(dataset), reason, "compact it first, or read it with Spark")
        if "TableMetadata" in text:
            reason = "its format version or the type of a column is unknown to pyiceberg"
            return TableRefused(self._place.table(dataset), reason, "read it with a source of type `spark`")
        return None


class IcebergVersion:
    """One snapshot of an Iceberg table; see `PinnedTable`."""

    def __init__(self, table: Table, files: Any, translated: Any, place: str) -> None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow  # noqa: PLC0415 - an extra

        self._table, self._translated, self._place = table, translated, place
        table.io = self._files = files
        snapshot = table.metadata.current_snapshot()
        self._snapshot = None if snapshot is None else snapshot.snapshot_id
        self.version = "no snapshot" if snapshot is None else f"snapshot {snapshot.snapshot_id}"
        self.content = f"{table.metadata.table_uuid} {self.version}, schema {table.metadata.current_schema_id}"
        self.schema = schema_to_pyarrow(table.metadata.schema(), include_field_ids=False)
        self.inexact: Inexact = {
            field.name: _LOST_STRUCTS for field in self.schema if holds_structs(field.type, is_list, pa.types.is_map)
        }

    def select(self, comparisons: Sequence[ColumnComparison]) -> TablePart:
        """See `PinnedTable`."""
        if self._snapshot is None:
            return TablePart(partial(self._batches, (), {}))
        with self._translated(self.version):
            from pyiceberg.io.pyarrow import _read_all_delete_files  # noqa: PLC0415 - see _of_file

            tasks = list(self._table.scan(snapshot_id=self._snapshot).plan_files())
            deleted = _read_all_delete_files(self._files, tasks)
            kept = [task for task in tasks if not self._is_excluded(task, comparisons)] if comparisons else tasks
        return TablePart(partial(self._batches, kept, deleted), _records(tasks, deleted) - _records(kept, deleted))

    def _is_excluded(self, task: FileScanTask, comparisons: Sequence[ColumnComparison]) -> bool:
        from connectors.lake.iceberg_files import spans_of  # noqa: PLC0415 - an extra

        metadata, columns = self._table.metadata, [comparison.column for comparison in comparisons]
        spec = metadata.specs()[task.file.spec_id]
        return excluded(spans_of(task.file, metadata.schema(), spec, self.schema, columns), comparisons)

    def _batches(
        self, tasks: Sequence[FileScanTask], deleted: Deleted, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """One file after the other, which bounds the memory."""
        with self._translated(self.version):
            scan = self._scan(columns)
        for task in tasks:
            with self._translated(self.version):
                self._refuse_cut_times(task, columns)
            yield from self._of_file(scan, task, deleted, list(columns))

    def _scan(self, columns: Sequence[str]) -> ArrowScan:
        from pyiceberg.expressions import AlwaysTrue  # noqa: PLC0415 - an extra
        from pyiceberg.io.pyarrow import ArrowScan  # noqa: PLC0415 - see above
        from pyiceberg.schema import Schema  # noqa: PLC0415 - see above

        metadata = self._table.metadata
        projected = Schema(*(field for field in metadata.schema().fields if field.name in columns))
        return ArrowScan(metadata, self._files, projected, AlwaysTrue())

    def _refuse_cut_times(self, task: FileScanTask, columns: Sequence[str]) -> None:
        """Raise ColumnRefused for times that pyiceberg cuts to the years of nanoseconds, as in files of old Spark."""
        from pyiceberg.io.pyarrow import pyarrow_to_schema  # noqa: PLC0415 - an extra

        times = [name for name in columns if contains(self.schema.field(name).type, is_microseconds)]
        if not times:
            return
        stored = self._stored(task.file)
        metadata = self._table.metadata
        names = pyarrow_to_schema(stored, metadata.name_mapping(), True, metadata.format_version)  # noqa: FBT003 - theirs
        for column in times:
            name = names.find_column_name(metadata.schema().find_field(column).field_id)
            if name is not None and contains(stored.field(name).type, is_nanoseconds):
                raise ColumnRefused(self._place, column, _CUT_TIMES, "rewrite its files, or leave the column out")

    def _stored(self, file: DataFile) -> pa.Schema:
        """The schema of a file's footer."""
        with self._files.new_input(file.file_path).open() as content:
            if file.file_format == "ORC":
                return orc.ORCFile(content).schema
            return pq.read_schema(content)

    def _of_file(
        self, scan: ArrowScan, task: FileScanTask, deleted: Deleted, columns: list[str]
    ) -> Iterator[pa.RecordBatch]:
        # Not to_record_batches, which reads all files into memory at once.
        batches = scan._record_batches_from_scan_tasks_and_deletes([task], dict(deleted))  # noqa: SLF001 - see above
        returned = 0
        while True:
            with self._translated(self.version):
                batch = next(batches, None)
            if batch is None:
                break
            returned += batch.num_rows
            yield batch.select(columns)
        expected = _records([task], deleted)
        if returned != expected:
            raise RecordsLost(self._place, expected, returned)


def _records(tasks: Sequence[FileScanTask], deleted: Deleted) -> int:
    """The number of records of these files, less the deleted ones."""
    files = [task.file for task in tasks]
    return sum(file.record_count - _different(deleted.get(file.file_path, ()), file.record_count) for file in files)


def _different(positions: Sequence[pa.ChunkedArray], records: int) -> int:
    """The number of different positions in a file of so many records."""
    chunks = [chunk for array in positions for chunk in array.chunks]
    unique = pc.unique(pa.chunked_array(chunks, pa.int64())) if chunks else pa.array([], pa.int64())
    return int(pc.sum(pc.less(unique, records)).as_py() or 0)
