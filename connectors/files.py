"""Source `files`: CSV, TSV, JSON Lines and Parquet below one directory, `.gz` too.

All files a dataset's `path` matches are one dataset. Columns are text unless `columns:` declares them (Parquet: as
stored). `_file` is the file's path below the root, `_row` the number of the data record in its file, from 1.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from connectors import csv_files, parquet_files
from connectors.base import DatasetSettings, DuckScan, Problem, Scan, SourceSettings
from connectors.coerce import Coercion
from connectors.csv_dialect import CsvDialect, CsvWish
from connectors.csv_files import CsvFile
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnMissing, ConnectorError, FileRefused, HeadersDiffer
from connectors.file_paths import confined, format_of, listed, matching, state
from connectors.jsonl_files import JsonLines
from connectors.parquet_files import ParquetFile

if TYPE_CHECKING:
    from connectors.base import Positions

ROWS = 65_536
FILE: pa.Field[Any] = pa.field("_file", pa.string(), nullable=False)
ROW: pa.Field[Any] = pa.field("_row", pa.int64(), nullable=False)
PLACES = pa.schema([FILE, ROW])
OneFile = CsvFile | JsonLines | ParquetFile


class FilesSettings(SourceSettings):
    """`root` is relative to the configuration file; nothing outside it is read, links followed."""

    type: Literal["files"]
    root: str = "."


class FilesDataset(DatasetSettings):
    """`path` is a file or a pattern (`bank-*.csv`) below the root; the rest is decided by the file unless said here.

    `header` is true, false (columns are column_1, column_2, …) or a list of names for a file without header. `skip`
    are physical lines before the header; `max_line` is in bytes.
    """

    path: str
    format: Literal["csv", "tsv", "jsonl", "parquet"] | None = None
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    quote: str = Field(default='"', min_length=1, max_length=1)
    encoding: str | None = None
    header: bool | tuple[str, ...] = True
    skip: int = Field(default=0, ge=0)
    max_line: int = Field(default=csv_files.DUCKDB_LINE, ge=1_000, le=1_000_000_000)


class FilesSource:
    """Files below one directory. Reads never change them; copies it needs are temporary and its own."""

    Settings: ClassVar[type[SourceSettings]] = FilesSettings
    Dataset: ClassVar[type[DatasetSettings]] = FilesDataset

    def __init__(self, name: str, settings: FilesSettings, directory: Path) -> None:
        self.name = name
        self.root = directory / settings.root
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._prepared: dict[tuple[Any, ...], CsvFile] = {}

    def datasets(self) -> Sequence[str]:
        return listed(self.name, self.root)

    def describe(self, dataset: FilesDataset) -> pa.Schema:
        return self._opened(dataset).schema

    def dialect(self, dataset: FilesDataset) -> dict[str, CsvDialect]:
        """How each CSV file is read, by its name, for `check`, `explain` and the run record."""
        return {one.name: one.dialect for one in self._files(dataset) if isinstance(one, CsvFile)}

    def scan(self, dataset: FilesDataset, columns: Sequence[str]) -> Scan:
        opened = self._opened(dataset)
        opened.check(columns)
        raw = pa.schema([opened.raw.field(one) for one in columns])
        coercion = Coercion(raw, opened.declared, opened.notation)
        reader = pa.RecordBatchReader.from_batches(coercion.schema, _stream(opened, columns, coercion))
        return Scan(reader, coercion.problems)

    def warnings(self, dataset: FilesDataset, columns: Sequence[str] | None) -> tuple[Problem, ...]:
        """Of several files that are alike the first is named."""
        csv = [one for one in self._files(dataset) if isinstance(one, CsvFile)]
        found: dict[str, Problem] = {}
        for problem in (problem for one in csv for problem in one.warnings(columns)):
            found.setdefault(problem.reason, problem)
        return tuple(found.values())

    def duck_scan(self, dataset: FilesDataset, columns: Sequence[str]) -> DuckScan | None:
        """None for JSON Lines, for `_row`, for naive instants outside UTC and for Parquet with declared columns.

        An error DuckDB raises while it reads is turned into a sentence by `failure`.
        """
        opened = self._opened(dataset)
        opened.check(columns)
        if "_row" in columns or not columns:
            return None
        csv = [one for one in opened.files if isinstance(one, CsvFile)]
        if csv:
            found = csv_files.select(csv, columns, opened.declared, opened.notation)
            return found and replace(found, at=partial(self._some, csv, columns, opened))
        parquet = [one for one in opened.files if isinstance(one, ParquetFile)]
        if not parquet or opened.notation.null_values or set(columns) & set(opened.asked):
            return None
        return parquet_files.select(parquet, columns, dataset.timezone)

    def _some(
        self, csv: list[CsvFile], columns: Sequence[str], opened: _Opened, positions: Positions, of: int, _table: str
    ) -> str | None:
        if len(positions) * csv_files.FEW > of or csv_files.records(csv) != of:
            return None
        return csv_files.some(csv, columns, opened.declared, opened.notation, positions, self._folder())

    def failure(self, dataset: FilesDataset, error: Exception) -> ConnectorError:
        """The sentence for an error that DuckDB raised while it ran a SELECT of `duck_scan`."""
        try:
            for one in self._files(dataset):
                for _ in one.batches(list(one.columns.names)[:1], (), ROWS):
                    pass
        except ConnectorError as found:
            return found
        return self._files(dataset)[0].failure(error)

    def state(self, dataset: FilesDataset) -> str | None:
        return state(self.name, self.root, dataset.path)

    def close(self) -> None:
        self._prepared.clear()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _opened(self, dataset: FilesDataset) -> _Opened:
        files = self._files(dataset)
        first, known = files[0], files[0].columns
        for other in files[1:]:
            _same(first.name, known, other.name, other.columns)
        kinds = {name: declared(name, word) for name, word in dataset.columns.items()}
        for name in kinds:
            if name not in known.names:
                raise ColumnMissing(first.name, name, known.names)
        local = first.local if isinstance(first, ParquetFile) else ()
        asked = tuple(kinds)
        kinds = {**{name: Declared("instant") for name in local}, **kinds}
        notation = Notation(dataset.decimal, dataset.null_values, dataset.timezone)
        return _Opened(files, _with_places(known), kinds, asked, notation)

    def _files(self, dataset: FilesDataset) -> list[OneFile]:
        found = matching(self.name, self.root, dataset.path)
        return [self._one(path, path.relative_to(self.root).as_posix(), dataset) for path in found]

    def _one(self, path: Path, name: str, dataset: FilesDataset) -> OneFile:
        confined(path, self.root)
        kind = dataset.format or format_of(path)
        if kind is None:
            raise FileRefused(name, "its name does not say its format", "set `format` to csv, tsv, jsonl or parquet")
        if kind == "parquet":
            return ParquetFile(path, name)
        if kind == "jsonl":
            return JsonLines(path, name, dataset.max_line, tuple(dataset.columns))
        wish = CsvWish(
            dataset.delimiter or ("\t" if kind == "tsv" else None), dataset.quote, dataset.skip, dataset.header
        )
        stat = path.stat()
        key = (path, stat.st_ino, stat.st_size, stat.st_mtime_ns, wish, dataset.encoding, dataset.max_line)
        if key not in self._prepared:
            self._prepared[key] = csv_files.prepared(
                path, name, wish, encoding=dataset.encoding, max_line=dataset.max_line, scratch=self._folder()
            )
        return self._prepared[key]

    def _folder(self) -> Path:
        """For copies; made when the first one is."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="reconcile-files-")
        return Path(self._scratch.name)


@dataclass(frozen=True)
class _Opened:
    """The files of a dataset and what they have in common; `asked` are the columns a user declared."""

    files: Sequence[OneFile]
    raw: pa.Schema
    declared: dict[str, Declared]
    asked: tuple[str, ...]
    notation: Notation

    @property
    def schema(self) -> pa.Schema:
        coercion = Coercion(self.raw, self.declared, self.notation)
        return coercion.schema

    def check(self, columns: Sequence[str]) -> None:
        for one in columns:
            if one not in self.raw.names:
                raise ColumnMissing(self.files[0].name, one, self.raw.names)


def _stream(opened: _Opened, columns: Sequence[str], coercion: Coercion) -> Iterator[pa.RecordBatch]:
    wanted = [one for one in columns if one not in PLACES.names] or [opened.raw.names[0]]
    before = 0
    try:
        for file in opened.files:
            row = 0
            for batch in file.batches(wanted, opened.notation.null_values, ROWS):
                extra: dict[str, pa.Array[Any]] = {
                    "_file": pa.repeat(pa.scalar(file.name, pa.string()), batch.num_rows),
                    "_row": pa.array(range(row + 1, row + batch.num_rows + 1), pa.int64()),
                }
                arrays = [extra[one] if one in extra else batch.column(wanted.index(one)) for one in columns]
                whole = pa.RecordBatch.from_arrays(arrays, schema=pa.schema([opened.raw.field(one) for one in columns]))
                yield coercion.batch(whole, lambda i, file=file, start=before: file.place(i - start))  # type: ignore[misc]
                row += batch.num_rows
            before += row
    finally:
        coercion.close()


def _with_places(columns: pa.Schema) -> pa.Schema:
    for name in PLACES.names:
        columns = columns.append(PLACES.field(name))
    return columns


def _same(first: str, known: pa.Schema, name: str, columns: pa.Schema) -> None:
    for one in columns.names:
        if one not in known.names:
            raise HeadersDiffer(name, one, first)
    for field in known:
        if field.name not in columns.names:
            raise HeadersDiffer(first, field.name, name)
        if columns.field(field.name).type != field.type:
            raise HeadersDiffer(name, f"{field.name} of type {columns.field(field.name).type}", first)
