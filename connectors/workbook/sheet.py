"""Sheets that a child process has read as one table, with the types that `columns:` declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connectors.base import Scan, UnreadableCells
from connectors.coerce import Coercion
from connectors.declared import Declared, Notation
from connectors.errors import ColumnMissing
from connectors.headers import confusable

ROUNDED = "numbers with more than 15 digits, which the program that wrote them may have rounded; store such ids as text"
FAILED = "an error like #N/A"
ROWS = 65_536
PLACES = ("_file", "_sheet", "_row")


SheetRow = tuple[str, str, int]
"""The name of a workbook, a sheet of it, and a row."""


@dataclass(frozen=True)
class SheetPart:
    """The number of records of one sheet of a workbook, `file` being its name."""

    file: str
    sheet: str
    records: int


@dataclass(frozen=True)
class Sheet:
    """An Arrow file of `_row`, =NAME columns, and !NAME columns that mark error cells; `parts` says where each begins.

    If a dataset may have `several` sheets of a workbook, it has `_sheet`, and places name the sheet. `columns` are the
    names, `positions` their places in the first sheet, counted from 0. `rounded` has, for each column, the number of
    rounded cells and the place of the first one. `repeated` are the names that come from the same text of the `header`.
    """

    path: Path
    parts: Sequence[SheetPart]
    columns: tuple[str, ...]
    rounded: Mapping[str, tuple[int, SheetRow]]
    header: SheetRow
    repeated: Sequence[Sequence[str]]
    several: bool
    positions: Sequence[int] = ()

    def described(self, kinds: Mapping[str, Declared], notation: Notation) -> pa.Schema:
        """The columns of a scan. Raises ColumnMissing."""
        raw, all_kinds = self._raw(kinds)
        return Coercion(raw, all_kinds, notation).schema

    def scan(self, columns: Sequence[str], kinds: Mapping[str, Declared], notation: Notation) -> Scan:
        """Stream these columns. Raises ColumnMissing."""
        raw, all_kinds = self._raw(kinds)
        names = frozenset(raw.names)  # made again at each access, and a sheet may have 16,384 columns
        for column in columns:
            if column not in names:
                raise ColumnMissing(self.parts[0].file, column, raw.names)
        reading = _Reading(self, pa.schema([raw.field(column) for column in columns]), all_kinds, notation)
        return Scan(pa.RecordBatchReader.from_batches(reading.coercion.schema, reading.batches()), reading.problems)

    def whole(self, kinds: Mapping[str, Declared], notation: Notation) -> pa.Table:
        """All columns of all records, also of those with errors, which are null here. Raises ColumnMissing."""
        raw, all_kinds = self._raw(kinds)
        reading = _Reading(self, raw, all_kinds, notation, are_failed_kept=True)
        return pa.Table.from_batches(reading.batches(), reading.coercion.schema)

    def stored(self, column: str) -> pa.ChunkedArray[Any]:
        """A column of all records as the cells hold it, in its one type. The others are not brought into memory."""
        return self._column(f"={column}")

    def rows(self) -> list[int]:
        """The number of each record's row."""
        rows: list[int] = self._column("_row").to_pylist()
        return rows

    def _column(self, name: str) -> pa.ChunkedArray[Any]:
        with pa.OSFile(str(self.path)) as file:
            position = pa.ipc.open_file(file).schema.get_field_index(name)
            options = pa.ipc.IpcReadOptions(included_fields=[position])
            return pa.ipc.open_file(file, options=options).read_all().column(0)

    def warnings(self, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        """Warnings for readers of these columns, or of any."""
        warning = confusable(self.repeated, columns)
        place = self.place(*self.header)
        return (UnreadableCells("*", f"{warning}; rename them in the sheet", 0, place),) if warning else ()

    def place(self, file: str, sheet: str, row: int) -> str:
        """The place of a row, for people."""
        return f"{file}, sheet {sheet}, row {row}" if self.several else f"{file}, row {row}"

    def _raw(self, kinds: Mapping[str, Declared]) -> tuple[pa.Schema, dict[str, Declared]]:
        for name in kinds:
            if name not in self.columns:
                raise ColumnMissing(self.parts[0].file, name, self.columns)
        with pa.memory_map(str(self.path)) as file:
            schema = pa.ipc.open_file(file).schema
        raw = pa.schema(
            [pa.field(name, schema.field(f"={name}").type) for name in self.columns]
            + [pa.field("_file", pa.string(), nullable=False)]
            + [pa.field("_sheet", pa.string(), nullable=False)] * self.several
            + [pa.field("_row", pa.int64(), nullable=False)]
        )
        naive = {name: Declared("instant") for name in self.columns if pa.types.is_timestamp(raw.field(name).type)}
        return raw, {**naive, **kinds}

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of those of these columns that exist, and of the places."""
        start = 0
        with pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for index in range(reader.num_record_batches):
                batch = reader.get_batch(index)
                end = start + batch.num_rows
                existing = frozenset(batch.schema.names)
                part = batch.select([name for name in ("_row", *names) if name in existing])
                yield part.append_column("_file", self._named(start, end, attrgetter("file"))).append_column(
                    "_sheet", self._named(start, end, attrgetter("sheet"))
                )
                start = end

    def _named(self, start: int, end: int, name: Callable[[SheetPart], str]) -> pa.Array[Any]:
        """The names of the workbooks or the sheets of the records from `start` to before `end`."""
        names, begin = [], 0
        for part in self.parts:
            count = min(end, begin + part.records) - max(start, begin)
            if count > 0:
                names.append(pa.repeat(pa.scalar(name(part), pa.string()), count))
            begin += part.records
        return pa.concat_arrays(names) if names else pa.array([], pa.string())


@dataclass
class _Reading:
    """One pass over sheets; `failed` counts error cells by column, with the place of the first one.

    Records with error cells are left out, or kept with null.
    """

    sheet: Sheet
    chosen: pa.Schema
    kinds: Mapping[str, Declared]
    notation: Notation
    are_failed_kept: bool = False
    failed: dict[str, tuple[int, SheetRow]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.coercion = Coercion(self.chosen, self.kinds, self.notation)

    def batches(self) -> Iterator[pa.RecordBatch]:
        names = [f"{mark}{name}" for name in self.chosen.names for mark in "=!"]
        try:
            for batch in self.sheet.read(names):
                complete = batch if self.are_failed_kept else _without_failed(batch, self.chosen.names, self.failed)
                for start in range(0, complete.num_rows, ROWS):
                    yield self._batch(complete.slice(start, ROWS))
        finally:
            self.coercion.close()

    def _batch(self, part: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [part.column(name if name in PLACES else f"={name}") for name in self.chosen.names]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.chosen)
        return self.coercion.batch(batch, _Places(self.sheet, self.coercion.position, part))

    def problems(self) -> tuple[UnreadableCells, ...]:
        place, rounded = self.sheet.place, self.sheet.rounded
        return (
            *(
                UnreadableCells(column, FAILED, n, place(*first), skipped=True)
                for column, (n, first) in self.failed.items()
            ),
            *(
                UnreadableCells(column, ROUNDED, rounded[column][0], place(*rounded[column][1]))
                for column in self.chosen.names
                if column in rounded
            ),
            *self.coercion.problems(),
        )


@dataclass(frozen=True)
class _Places:
    """Names a record by its workbook and row, and by its sheet if a dataset may have several."""

    sheet: Sheet
    start: int
    part: pa.RecordBatch

    def __call__(self, position: int) -> str:
        return self.sheet.place(*_place(self.part, position - self.start))


def _place(batch: pa.RecordBatch, position: int) -> SheetRow:
    file, sheet, row = (batch.column(name)[position].as_py() for name in PLACES)
    return file, sheet, row


def _without_failed(
    batch: pa.RecordBatch, columns: Sequence[str], failed: dict[str, tuple[int, SheetRow]]
) -> pa.RecordBatch:
    """Leave out records with an error in one of these columns, each counted once, under the first such column."""
    existing = frozenset(batch.schema.names)
    for column in columns:
        if f"!{column}" not in existing or not batch.num_rows:
            continue
        wrong = batch.column(f"!{column}")
        count = pc.sum(wrong).as_py() or 0
        if count:
            place = _place(batch, pc.index(wrong, pa.scalar(value=True)).as_py())
            before, first = failed.get(column, (0, place))
            failed[column] = (before + count, first)
            batch = batch.filter(pc.invert(wrong))
    return batch
