"""A folder of CSV files as a target: each file is one table, named by its path below the folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.base import DatasetSettings
from connectors.coerce import Coercion
from connectors.disk.cleaning import exchange
from connectors.disk.cleaning.contents import Edits, NextVersion, Unwritable
from connectors.disk.cleaning.notes import not_ours
from connectors.disk.cleaning.spelling import spelled
from connectors.disk.cleaning.target import FileTarget
from connectors.disk.paths import looking, matching
from connectors.errors import FileRefused
from connectors.files.connector import FilesConnector, FilesDataset
from connectors.files.csv import content as versions
from connectors.files.csv import rewriting
from connectors.files.csv.cells import PLANNED
from connectors.files.csv.content import CsvContent
from connectors.target import Catalogue, Cell, Cells, TableFacts, TargetRefused


class CsvTarget(FileTarget):
    """The CSV files below one folder."""

    kind = "file"

    def __init__(self, name: str, root: Path, read_by: dict[str, FilesDataset]) -> None:
        super().__init__(name, read_by)
        self._root = root

    def identity(self) -> str:
        root = self._root.resolve()
        with looking(self.name, root):
            status = root.stat()
        return f"files:{status.st_dev}:{status.st_ino}:{root}"

    def name_of(self, dataset: FilesDataset) -> str:
        obstacle = FilesConnector.obstacle(None, dataset)
        if obstacle is not None:
            raise TargetRefused(f"Records of {dataset.path} cannot be cleaned: {obstacle}")
        self.path(dataset.path)
        return dataset.path

    def file_of(self, table: str) -> str:
        return table

    def file_name(self, dataset: FilesDataset) -> str | None:
        return dataset.path if FilesConnector.obstacle(None, dataset) is None else None

    def path(self, file: str) -> Path:
        [path] = matching(self.name, self._root, [file])
        exchange.refuse_links(path, file)
        return path.parent.resolve() / path.name

    def content(self, file: str, data: bytes) -> CsvVersion:
        return CsvVersion(self._root, file, data, self._read_by)

    @property
    def folder(self) -> Path:
        return self._root

    def place(self, file: str) -> Path:
        path = self._root / file
        return path.parent.resolve() / path.name

    def beside(self, dataset: FilesDataset, table: str, key: Sequence[str]) -> Catalogue:
        read_by = self._read_by.get(table) or FilesDataset(path=table)
        obstacle = FilesConnector.obstacle(None, read_by)
        if obstacle is None:
            try:
                if self.path(table) != self.path(dataset.path):
                    return self._facts(table, read_by, dataset, key)
                obstacle = f"it is the file {dataset.path} itself"
            except (TargetRefused, FileRefused) as error:
                obstacle = str(error)
        return Catalogue(table, {table: TableFacts(table, (), (), kind=self.kind, refused=obstacle)}, (), "")


@dataclass
class CsvVersion:
    """A version of a CSV file; see connectors.disk.cleaning.contents.FileContent."""

    root: Path
    name: str
    data: bytes
    read_by: Mapping[str, FilesDataset]
    """The settings by which the source read each file. A version can be older than the source's first reading."""
    _tables: dict[str, CsvTable] = field(default_factory=dict)

    def table(self, name: str, dataset: DatasetSettings | Mapping[str, Any] | None = None) -> CsvTable:
        assert name == self.name  # noqa: S101 - a file is one table
        given = dataset if isinstance(dataset, FilesDataset) else self.read_by.get(name) or self._from(dataset)
        key = given.model_dump_json()
        if key not in self._tables:
            self._tables[key] = CsvTable(self._read(given, self.data))
        return self._tables[key]

    def next_version(self, edits: Mapping[str, Edits]) -> NextVersion:
        [(name, changes)] = edits.items()
        assert isinstance(changes.table, CsvTable)  # noqa: S101 - a file of this kind has no others
        content = changes.table.content
        version = rewriting.rewritten(content, changes)
        now = replace(self, data=version.data, _tables={})
        rewriting.confirm(version, now.table(name, content.dataset).content, content.columns)
        return NextVersion(now, {name: version.removed})

    def _read(self, dataset: FilesDataset, data: bytes) -> CsvContent:
        return versions.read(self.root, self.name, dataset, data)

    def _from(self, noted: DatasetSettings | Mapping[str, Any] | None) -> FilesDataset:
        if noted is None:
            return FilesDataset(path=self.name)
        try:
            return FilesDataset.model_validate(noted)
        except ValueError as error:
            raise not_ours(self.name) from error


@dataclass(frozen=True)
class CsvTable:
    """The records of a version; see connectors.disk.cleaning.contents.FileTable."""

    content: CsvContent

    @property
    def columns(self) -> tuple[str, ...]:
        return self.content.columns

    @property
    def count(self) -> int:
        return len(self.content.firsts)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return self.content.dataset.model_dump(mode="json")

    def texts(self, columns: Sequence[str], numbers: Sequence[int] | None = None) -> Iterator[tuple[str, ...]]:
        texts = self._texts(columns, numbers)
        return zip(*(texts.column(name).to_pylist() for name in columns), strict=True)

    def named(self, cell: Cell) -> str:
        return "" if cell is None else cell[1]

    def is_same(self, first: Cell, second: Cell) -> bool:
        return self.named(first) == self.named(second)

    def typed(self, columns: Sequence[str], numbers: Sequence[int] | None = None) -> Iterator[tuple[Any, ...]]:
        import pyarrow.compute as pc  # noqa: PLC0415 - makes hundreds of functions, which no run without changes needs

        content, texts = self.content, self._texts(columns, numbers)
        coercion = Coercion(texts.schema, content.kinds, content.notation)
        try:
            for batch in texts.to_batches():
                arrays = [
                    pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array) for array in batch.columns
                ]
                read = coercion.batch(pa.RecordBatch.from_arrays(arrays, schema=texts.schema))
                yield from zip(*(column.to_pylist() for column in read.columns), strict=True)
        finally:
            coercion.close()

    def _texts(self, columns: Sequence[str], numbers: Sequence[int] | None) -> pa.Table:
        texts = self.content.texts.select(list(columns))
        return texts if numbers is None else texts.take(pa.array(numbers, pa.int64()))

    def places(self, number: int) -> Mapping[str, Any]:
        return {"_file": self.content.name, "_row": self.content.numbers[number] + self.content.csv.dialect.above + 1}

    def cells(self, number: int) -> Cells:
        return self.content.cells(number)

    def check_removal(self, number: int) -> None:
        """Do nothing: any line can be removed."""

    def fitted(self, number: int | None, name: str, cell: Cell, beside: Cells) -> Cell:
        del number
        content = self.content
        if cell is None or cell[0] != PLANNED:
            return content.form.fitting(cell)
        try:
            text = spelled(cell[1], content.kinds.get(name), content.notation)
            fitted = content.form.planned(text, beside.get(name), [c for n, c in beside.items() if n != name])
            content.encoded(content.form.write(fitted))
        except UnicodeEncodeError as error:
            raise Unwritable(f"{content.codec} has no character for it") from error
        return fitted
