"""Source `files`: CSV, TSV, JSON documents, JSON Lines, Parquet and files of banks below one directory, `.gz` too.

All files that match a dataset's `path` are one dataset. Columns are text unless `columns:` declares them (Parquet: as
stored). `_file` is the file's path below the root, `_row` the number of the data record in its file, from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from connectors.base import Declaration, DuckScan, Scan, UnreadableCells
from connectors.coerce import Coercion
from connectors.declared import Declared, Notation, declared
from connectors.disk.changing import ChangingFiles
from connectors.disk.opened_file import digest, make_room, open_beneath
from connectors.disk.paths import folder_columns, format_of, listed, matching, patterns, refuse_other_folders
from connectors.errors import ColumnMissing, ConnectorError, HeadersDiffer, TypesDiffer
from connectors.files import parquet as parquet_files
from connectors.files.bank import formats as bank
from connectors.files.bank.proposals import proposed as proposed_of_bank
from connectors.files.connector import FilesConnector, FilesDataset, FilesSettings
from connectors.files.csv import reader as csv_files
from connectors.files.csv.dialect import CsvDialect
from connectors.files.csv.fields import DUCKDB_LINE
from connectors.files.csv.layout import proposed
from connectors.files.csv.reader import CsvFile
from connectors.files.json.document import JsonDocument
from connectors.files.json.document import proposed as proposed_records
from connectors.files.json.reader import JsonFile
from connectors.files.left_out import numbered, skipped
from connectors.files.opening import OneFile, Opening
from connectors.files.parquet import ParquetFile
from connectors.files.tables import refuse_tables, without_tables
from connectors.filled import confirm_columns, filled

if TYPE_CHECKING:
    from connectors.files.csv.target import CsvTarget

ROWS = 65_536
FILE: pa.Field[Any] = pa.field("_file", pa.string(), nullable=False)
ROW: pa.Field[Any] = pa.field("_row", pa.int64(), nullable=False)
PLACES = pa.schema([FILE, ROW])


class FilesSource(FilesConnector, ChangingFiles["CsvTarget"]):
    """Files below one directory. Reads never change them; copies are temporary.

    It is also a `connectors.target.Target` of its CSV files: see `connectors.disk.cleaning`.
    """

    def __init__(self, name: str, settings: FilesSettings, directory: Path) -> None:
        super().__init__(name, settings, directory)
        self._opening = Opening(name, settings.max_unpacked)
        self._read_by: dict[str, FilesDataset] = {}

    def datasets(self) -> Sequence[str]:
        return listed(self.name, self.root)

    def describe(self, dataset: FilesDataset) -> pa.Schema:
        return self._opened(dataset).schema

    def dialect(self, dataset: FilesDataset) -> dict[str, CsvDialect]:
        """The dialect of each CSV file by its name, for `check`, `explain` and the run record."""
        return {file.name: file.dialect for file in self._files(dataset) if isinstance(file, CsvFile)}

    def scan(self, dataset: FilesDataset, columns: Sequence[str]) -> Scan:
        opened = self._opened(dataset)
        opened.check(columns)
        raw = pa.schema([opened.raw.field(name) for name in columns])
        coercion = Coercion(raw, opened.declared, opened.notation)
        reader = pa.RecordBatchReader.from_batches(coercion.schema, _stream(opened, columns, coercion, dataset.fill))
        return Scan(reader, coercion.problems)

    def warnings(self, dataset: FilesDataset, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        """One warning per reason, with the first file. Raises FileRefused if too many records are skipped."""
        files = self._files(dataset)
        by_reason: dict[str, UnreadableCells] = {}
        for problem in (problem for file in files for problem in file.warnings(columns)):
            by_reason.setdefault(problem.reason, problem)
        return (
            *by_reason.values(),
            *skipped([file.left_out for file in files if not isinstance(file, ParquetFile)]),
        )

    def duck_scan(self, dataset: FilesDataset, columns: Sequence[str]) -> DuckScan | None:
        """None for JSON, `_row`, columns of folders, and naive instants outside UTC; None for filled columns of CSV and
        declared ones of Parquet.

        `failure` turns an error that DuckDB raises while reading into one of ours.
        """
        opened = self._opened(dataset)
        opened.check(columns)
        without_duckdb = {"_row", *opened.in_folders, *dataset.fill}
        if not columns or not without_duckdb.isdisjoint(columns):
            return None
        csv = [file for file in opened.files if isinstance(file, CsvFile)]
        if csv:
            return csv_files.select(csv, columns, opened.declared, opened.notation)
        parquet = [file for file in opened.files if isinstance(file, ParquetFile)]
        if not parquet or opened.notation.null_values or set(columns) & set(opened.asked):
            return None
        return parquet_files.select(parquet, columns, dataset.timezone)

    def failure(self, dataset: FilesDataset, error: Exception) -> ConnectorError:
        """The sentence for an error that DuckDB raised while it ran a SELECT of `duck_scan`."""
        try:
            for file in self._files(dataset):
                few = None if isinstance(file, ParquetFile) else 1  # its columns are read one by one
                for _ in file.batches(list(file.columns.names)[:few], (), ROWS):
                    pass
        except ConnectorError as mistake:
            return mistake
        return self._files(dataset)[0].failure(error)

    def candidates(self) -> Sequence[str]:
        """Files; those whose names differ only in digits, and that have the same header, are one pattern.

        Of files of a table, which are refused, there is only the first.
        """
        return patterns(list(without_tables(self.root, self.datasets())), self._header)

    def declaration(self, candidate: str) -> Declaration:
        path = matching(self.name, self.root, [candidate])[0]
        kind = format_of(path)
        if kind in ("jsonl", "parquet"):
            return Declaration({"path": candidate})
        file = open_beneath(self.root, path.relative_to(self.root).as_posix())
        self._opening.limit(file, path)
        if kind == "json":
            records = proposed_records(JsonDocument(file, DUCKDB_LINE))
            settings = {} if records is None else {"records": records}
            return Declaration({"path": candidate, **settings}, {"records": "the only array of objects"})
        of_bank = proposed_of_bank(file, kind)
        if of_bank is None and kind not in ("csv", "tsv"):
            return Declaration({"path": candidate})
        settings, reasons = of_bank or proposed(file, "\t" if kind == "tsv" else ",")
        return Declaration({"path": candidate, **settings}, reasons)

    def keys(self, dataset: FilesDataset) -> Sequence[tuple[str, ...]]:
        """The columns with which a bank numbers its entries; other files keep nothing unique."""
        key = bank.key_of(dataset.format or format_of(Path(dataset.path)), dataset.path)
        return (key,) if key and dataset.batches == "whole" else ()

    def _header(self, name: str) -> tuple[str, ...]:
        """The columns of a file; its name alone if it cannot be read."""
        try:
            return tuple(self._opened(FilesDataset.model_validate(self.declaration(name).settings)).raw.names)
        except ConnectorError:
            return (name,)

    def content(self, dataset: FilesDataset, progress: Callable[[int], None]) -> str:
        """See connectors.base.ContentHashed."""
        names = (path.relative_to(self.root).as_posix() for path in self._paths(dataset))
        return digest((open_beneath(self.root, name) for name in names), progress)

    def close(self) -> None:
        """Forget prepared files. An open scan keeps its files until it is closed."""
        self._opening.close()

    def _new_target(self) -> CsvTarget:
        from connectors.files.csv.target import CsvTarget  # noqa: PLC0415 - a process that only reads saves its time

        return CsvTarget(self.name, self.root, self._read_by)

    def _opened(self, dataset: FilesDataset) -> _Opened:
        files = self._files(dataset)
        skipped([file.left_out for file in files if not isinstance(file, ParquetFile)])
        first, schema = files[0], files[0].columns
        for later_file in files[1:]:
            _same(first.name, schema, later_file.name, later_file.columns)
        confirm_columns(first.name, dataset.fill, schema.names)
        folders = {file.name: _folders(file.name, dataset) for file in files}
        for file in files:
            refuse_other_folders(file.name, folders[file.name], first.name, folders[first.name], schema.names)
        schema = pa.schema([*schema, *(pa.field(name, pa.string()) for name in folders[first.name])])
        kinds = {name: declared(name, word) for name, word in dataset.columns.items()}
        for name in kinds:
            if name not in schema.names:
                raise ColumnMissing(first.name, name, schema.names)
        local = first.local if isinstance(first, ParquetFile) else ()
        declared_by_user = tuple(kinds)
        kinds = {**{name: Declared("instant") for name in local}, **kinds}
        notation = Notation(dataset.decimal, dataset.null_values, dataset.timezone)
        return _Opened(files, _with_places(schema), kinds, declared_by_user, notation, folders)

    def _files(self, dataset: FilesDataset) -> list[OneFile]:
        paths = self._paths(dataset)
        make_room(len(paths))
        return [self._file(path, dataset) for path in paths]

    def _paths(self, dataset: FilesDataset) -> list[Path]:
        """The files of a dataset. Raises FileRefused for those of a table of a lake."""
        self._read_by[dataset.path] = dataset
        paths = matching(self.name, self.root, [dataset.path])
        refuse_tables(self.root, (path for path in paths if (dataset.format or format_of(path)) == "parquet"))
        return paths

    def _file(self, path: Path, dataset: FilesDataset) -> OneFile:
        file = open_beneath(self.root, path.relative_to(self.root).as_posix())
        return self._opening.opened(file, path, dataset)


@dataclass(frozen=True)
class _Opened:
    """The files of a dataset and what they have in common; `asked` are the columns a user declared.

    `folders` are the columns that each file, by its name, has from the names of its folders.
    """

    files: Sequence[OneFile]
    raw: pa.Schema
    declared: dict[str, Declared]
    asked: tuple[str, ...]
    notation: Notation
    folders: Mapping[str, Mapping[str, str | None]]

    @property
    def in_folders(self) -> Set[str]:
        return self.folders[self.files[0].name].keys()

    @property
    def schema(self) -> pa.Schema:
        coercion = Coercion(self.raw, self.declared, self.notation)
        return coercion.schema

    def check(self, columns: Sequence[str]) -> None:
        for name in columns:
            if name not in self.raw.names:
                raise ColumnMissing(self.files[0].name, name, self.raw.names)


def _stream(
    opened: _Opened, columns: Sequence[str], coercion: Coercion, fill: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    elsewhere = {*PLACES.names, *opened.in_folders}
    stored = [name for name in columns if name not in elsewhere]
    stored = stored or [name for name in opened.raw.names if name not in elsewhere][:1]  # records of JSON may have none
    before = 0
    try:
        for file in opened.files:
            row, above = 0, file.dialect.above if isinstance(file, CsvFile) else 0
            left_out = () if isinstance(file, ParquetFile) else file.left_out.numbers
            batches = file.batches(stored, opened.notation.null_values, ROWS)
            for batch in filled(batches, fill) if fill else batches:
                same = {**opened.folders[file.name], "_file": file.name}
                extra: dict[str, pa.Array[Any]] = {
                    **{name: pa.repeat(pa.scalar(text, pa.string()), batch.num_rows) for name, text in same.items()},
                    "_row": batch.column("_row")
                    if isinstance(file, JsonFile)
                    else pa.array(numbered(left_out, row, row + batch.num_rows) + above + 1),
                }
                arrays = [extra[name] if name in extra else batch.column(stored.index(name)) for name in columns]
                part = pa.RecordBatch.from_arrays(
                    arrays, schema=pa.schema([opened.raw.field(name) for name in columns])
                )
                yield coercion.batch(part, lambda i, file=file, start=before: file.place(i - start))  # type: ignore[misc]
                row += batch.num_rows
            file.confirm(row)
            before += row
    finally:
        coercion.close()


def _folders(name: str, dataset: FilesDataset) -> dict[str, str | None]:
    return folder_columns(name) if dataset.partitions else {}


def _with_places(columns: pa.Schema) -> pa.Schema:
    for name in PLACES.names:
        columns = columns.append(PLACES.field(name))
    return columns


def _same(first: str, schema: pa.Schema, name: str, columns: pa.Schema) -> None:
    for column in columns.names:
        if column not in schema.names:
            raise HeadersDiffer(name, column, first)
    for field in schema:
        if field.name not in columns.names:
            raise HeadersDiffer(first, field.name, name)
        if (kind := columns.field(field.name).type) != field.type:
            raise TypesDiffer(name, field.name, str(kind), first, str(field.type))
