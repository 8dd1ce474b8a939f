"""Tables of Delta and Iceberg on the disk, written by their own libraries, and deletes as other writers leave them."""

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record
from pyroaring import BitMap

from connectors.lake.delta import DeltaSettings, DeltaSource
from connectors.lake.iceberg import IcebergSettings, IcebergSource

BASE85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
"""The digits in which Delta writes a deletion vector into its log."""


def read(source: Any, dataset: Any, *columns: str) -> list[dict[str, Any]]:
    """The records, in no order."""
    scan = source.scan(dataset, columns or tuple(source.describe(dataset).names))
    try:
        rows: list[dict[str, Any]] = scan.reader.read_all().to_pylist()
        return sorted(rows, key=str)
    finally:
        scan.close()


@dataclass
class Delta:
    """A folder `lake` with Delta tables."""

    folder: Path

    def source(self, **settings: Any) -> DeltaSource:
        return DeltaSource(
            "lake", DeltaSettings.model_validate({"type": "delta", "root": "lake", **settings}), self.folder
        )

    def path(self, name: str) -> Path:
        return self.folder / "lake" / name

    def write(self, name: str, table: pa.Table, **options: Any) -> None:
        write_deltalake(self.path(name), table, **options)

    def commit(self, name: str, *actions: Mapping[str, Any]) -> None:
        """Add a version with these actions, as any writer may."""
        number = len(list((self.path(name) / "_delta_log").glob("*.json")))
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (self.path(name) / "_delta_log" / f"{number:020}.json").write_text(text)

    def added(self, name: str) -> dict[str, Any]:
        """The only `add` of the log."""
        lines = (self.path(name) / "_delta_log" / f"{0:020}.json").read_text().splitlines()
        [added] = [action["add"] for line in lines if "add" in (action := json.loads(line))]
        return dict(added)

    def require(self, name: str, *features: str) -> None:
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
        self.commit(name, {"protocol": {**protocol, "readerFeatures": features, "writerFeatures": features}})

    def rename(self, name: str, names: Mapping[str, str]) -> None:
        """Give columns other names than they have in files."""
        table = DeltaTable(self.path(name))
        schema = json.loads(table.schema().to_json())
        for number, column in enumerate(schema["fields"], 1):
            column["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": column["name"]}
            column["name"] = names.get(column["name"], column["name"])
        settings = {
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": str(len(schema["fields"])),
        }
        metadata = {"id": "x", "format": {"provider": "parquet", "options": {}}, "partitionColumns": []}
        written = {**metadata, "createdTime": 0, "schemaString": json.dumps(schema), "configuration": settings}
        self.commit(name, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}})
        self.commit(name, {"metaData": written})

    def delete_rows(self, name: str, rows: Iterable[int]) -> None:
        """Delete rows of the only file by a deletion vector."""
        added = self.added(name)
        self.require(name, "deletionVectors")
        rows = list(rows)
        bitmap = struct.pack("<i", 1681511377) + _bitmap_array(rows)
        vector = {
            "storageType": "i",
            "pathOrInlineDv": base85(bitmap),
            "sizeInBytes": len(bitmap),
            "cardinality": len(rows),
        }
        removed = {"path": added["path"], "deletionTimestamp": 0, "dataChange": True}
        self.commit(name, {"remove": removed}, {"add": {**added, "deletionVector": vector}})


@dataclass
class Iceberg:
    """A catalogue in a SQLite file with tables in the folder `lake`."""

    folder: Path

    def __post_init__(self) -> None:
        self.catalog = SqlCatalog(
            "default", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}/lake"
        )
        self.catalog.create_namespace_if_not_exists("shop")

    def source(self, **settings: Any) -> IcebergSource:
        fixed = {"type": "iceberg", "root": "lake", "options": {"uri": "sqlite:///catalog.db"}}
        return IcebergSource("lake", IcebergSettings.model_validate({**fixed, **settings}), self.folder)

    def write(self, name: str, records: pa.Table, *partitions: str) -> Table:
        table = self.catalog.create_table(f"shop.{name}", schema=records.schema)
        with table.update_spec() as update:
            for column in partitions:
                update.add_identity(column)
        table.append(records)
        return table

    def delete_rows(self, table: Table, rows: Iterable[int], *, puffin: bool = False) -> None:
        """Delete rows of the first file, by a file of positions or a deletion vector."""
        task = next(iter(table.scan().plan_files()))
        path = task.file.file_path
        rows = list(rows)
        file = f"{table.location()}/data/deletes-{len(rows)}.{'puffin' if puffin else 'parquet'}"
        place = Path(file.removeprefix("file://"))
        if puffin:
            place.write_bytes(_puffin(path, rows))
        else:
            pq.write_table(pa.table({"file_path": [path] * len(rows), "pos": pa.array(rows, pa.int64())}), place)
        form = FileFormat.PUFFIN if puffin else FileFormat.PARQUET
        deletes(table, data_file(file, form, len(rows), place.stat().st_size, task.file.partition))


def data_file(
    path: str,
    form: FileFormat,
    records: int,
    size: int,
    partition: Record | None = None,
    content: DataFileContent = DataFileContent.POSITION_DELETES,
    **more: Any,
) -> DataFile:
    file = DataFile.from_args(
        content=content,
        file_path=path,
        file_format=form,
        partition=partition or Record(),
        record_count=records,
        file_size_in_bytes=size,
        **more,
    )
    file.spec_id = 0
    return file


def deletes(table: Table, *files: DataFile) -> None:
    """Commit a snapshot with these files of deletes, which pyiceberg itself does not write."""
    with table.transaction() as transaction:
        commit = _WithDeletes(operation=Operation.OVERWRITE, transaction=transaction, io=table.io)
        commit.deletes = files
        commit.commit()


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _WithDeletes(_FastAppendFiles):
    deletes: tuple[DataFile, ...] = ()

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        metadata = self._transaction.table_metadata
        output = self._io.new_output(f"{metadata.location}/metadata/{self.commit_uuid}-deletes.avro")
        with _DeletesWriter(metadata.spec(), metadata.schema(), output, self._snapshot_id, "null") as writer:
            for file in self.deletes:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED, snapshot_id=self._snapshot_id, data_file=file
                    )
                )
        return [*manifests, writer.to_manifest_file()]


def base85(content: bytes) -> str:
    content += b"\0" * (-len(content) % 4)
    text = ""
    for place in range(0, len(content), 4):
        number = int.from_bytes(content[place : place + 4], "big")
        text += "".join(BASE85[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def _bitmap_array(rows: Iterable[int]) -> bytes:
    """The row numbers as one Roaring bitmap in an array of them."""
    return struct.pack("<q", 1) + struct.pack("<I", 0) + BitMap(rows).serialize()


def _puffin(path: str, rows: Iterable[int]) -> bytes:
    """A Puffin file with one deletion vector."""
    bitmap = struct.pack("<i", 1681511377) + _bitmap_array(rows)
    blob = struct.pack(">i", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))
    facts = {"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1}
    facts |= {"offset": 4, "length": len(blob), "properties": {"referenced-data-file": path}}
    footer = json.dumps({"blobs": [facts], "properties": {}}).encode()
    return b"PFA1" + blob + b"PFA1" + footer + struct.pack("<i", len(footer)) + b"\0\0\0\0" + b"PFA1"
