"""The records of a sheet: their values as a scan reads them, and the raw cells that a plan compares and writes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from connectors.declared import Declared, Notation, declared
from connectors.disk.cleaning.contents import Edits, Unwritable
from connectors.disk.cleaning.spelling import spelled
from connectors.target import Cell, Cells, TargetRefused
from connectors.workbook.editing.cells import BOOLEAN, NUMBER, TEXT
from connectors.workbook.editing.edits import NewCell, SheetEdits
from connectors.workbook.editing.fitting import PLANNED
from connectors.workbook.editing.grid import SheetGrid
from connectors.workbook.editing.refusals import NotEditable
from connectors.workbook.sheet import Sheet
from connectors.workbook.source import WorkbookDataset

_BATCH = 10_000


@dataclass(frozen=True)
class NewRows:
    """Where records that are added go: into empty rows where they were once, by number, or below the last row."""

    placed: Sequence[tuple[int, Cells]]
    appended: Sequence[Cells]


@dataclass(frozen=True)
class SheetTable:
    """See connectors.disk.cleaning.contents.FileTable. Cells are found by the row of their record and their column."""

    name: str
    file: str
    dataset: WorkbookDataset
    sheet: Sheet
    grid: SheetGrid

    @property
    def columns(self) -> tuple[str, ...]:
        return self.sheet.columns

    @property
    def count(self) -> int:
        return len(self.rows)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return self.dataset.model_dump(mode="json")

    @cached_property
    def values(self) -> pa.Table:
        """All records as a scan reads them; error cells are null."""
        return self.sheet.whole(self._kinds, self._notation)

    @cached_property
    def rows(self) -> Sequence[int]:
        """The number of each record's row."""
        return self.sheet.rows()

    @cached_property
    def places_of_columns(self) -> Mapping[str, int]:
        """The column of the sheet, from 1, of each column of the records."""
        return {name: position + 1 for name, position in zip(self.sheet.columns, self.sheet.positions, strict=True)}

    def texts(self, columns: Sequence[str], numbers: Sequence[int] | None = None) -> Iterator[tuple[str, ...]]:
        return (tuple(map(text_of, values)) for values in self.typed(columns, numbers))

    def named(self, cell: Cell) -> str:
        if cell is None:
            return ""
        kind, text = cell
        if kind == BOOLEAN:
            return text_of(text == "1")
        return text_of(Decimal(text)) if kind == NUMBER else text

    def is_same(self, first: Cell, second: Cell) -> bool:
        return first == second

    def typed(self, columns: Sequence[str], numbers: Sequence[int] | None = None) -> Iterator[tuple[Any, ...]]:
        values = self.values.select(list(columns))
        if numbers is not None:
            values = values.take(pa.array(numbers, pa.int64()))
        for batch in values.to_batches(_BATCH):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def places(self, number: int) -> Mapping[str, Any]:
        return {"_file": self.file, "_row": self.rows[number]}

    def cells(self, number: int) -> Cells:
        return self.cells_of_row(self.rows[number])

    def check_removal(self, number: int) -> None:
        row = self.rows[number]
        for name, cell in self.cells(number).items():
            if cell is not None and (obstacle := self.grid.obstacle(row, self.places_of_columns[name])):
                raise Unwritable(obstacle)

    def fitted(self, number: int | None, name: str, cell: Cell, beside: Cells) -> Cell:
        del beside
        column = self.places_of_columns[name]
        row = self._next_row if number is None else self.rows[number]
        if number is not None and cell != self._cell(row, column) and (obstacle := self.grid.obstacle(row, column)):
            raise Unwritable(obstacle, "free the cell in the workbook, or write to another column")
        if cell is None or cell[0] != PLANNED:
            return cell
        with _clauses():
            fitted = self.grid.fitted(row, column, cell, first_row=self._first_row)
            style = self.grid.style(row, column, first_row=self._first_row)
        if fitted is not None and fitted[0] == TEXT:
            return TEXT, spelled(cell[1], self._kinds.get(name), self._notation)
        return self.grid.as_shown(fitted, style)

    def new_rows(self, edits: Edits) -> NewRows:
        """Where the added records go. Raises Unwritable."""
        former = {place.row: place.at for place in edits.removed}
        placed: dict[int, Cells] = {}
        appended: list[Cells] = []
        below = max([self._first_row - 1, *self.rows]) + 1
        last = self.grid.text.last_row
        for cells, row_digest in edits.added:
            row = former.get(row_digest)
            if row is None or row in placed or not self._is_empty(row):
                row = next((n for n in range(below, last + 1) if n not in placed and self._is_empty(n)), None)
            if row is None:
                appended.append(cells)
            else:
                placed[row] = cells
        if appended and self.dataset.skip_footer:
            raise Unwritable(f"the last rows of the sheet {self.name} are a footer, so no record can follow")
        return NewRows(list(placed.items()), appended)

    def sheet_edits(self, edits: Edits, new: NewRows) -> SheetEdits:
        cells: dict[tuple[int, int], NewCell] = {}
        for number, after in edits.changed.items():
            before = self.cells(number)
            cells |= self._changed(self.rows[number], before, after or dict.fromkeys(self.columns))
        for row, after in new.placed:
            cells |= self._changed(row, {}, after)
        appended = [
            {column: cell for (_, column), cell in self._changed(self._next_row, {}, after).items()}
            for after in new.appended
        ]
        return SheetEdits(cells=cells, appended=appended)

    def _changed(self, row: int, before: Cells, after: Cells) -> dict[tuple[int, int], NewCell]:
        changed: dict[tuple[int, int], NewCell] = {}
        for name, cell in after.items():
            if cell != before.get(name):
                column = self.places_of_columns[name]
                changed[row, column] = self._written(row, column, cell)
        return changed

    def _written(self, row: int, column: int, cell: Cell) -> NewCell:
        with _clauses():
            return self.grid.written(row, column, cell, first_row=self._first_row)

    @property
    def _next_row(self) -> int:
        return self.grid.text.last_row + 1

    def _is_empty(self, row: int) -> bool:
        return not any(self.cells_of_row(row).values())

    def cells_of_row(self, row: int) -> dict[str, Cell]:
        return {name: self._cell(row, column) for name, column in self.places_of_columns.items()}

    def _cell(self, row: int, column: int) -> Cell:
        return self.grid.shown(row, column)

    @property
    def _first_row(self) -> int:
        return self.sheet.header[2] + 1

    @cached_property
    def _kinds(self) -> dict[str, Declared]:
        return {name: declared(name, word) for name, word in self.dataset.columns.items()}

    @property
    def _notation(self) -> Notation:
        return Notation(self.dataset.decimal, self.dataset.null_values, self.dataset.timezone)


@contextmanager
def _clauses() -> Iterator[None]:
    """Raise Unwritable with the clause of a refusal, without the sentence around it."""
    try:
        yield
    except (NotEditable, TargetRefused) as error:
        raise Unwritable(str(error.__cause__ or error)) from error


def text_of(value: Any) -> str:
    """The text by which a value names its record, whatever type its whole column has: 5 and 5.00 are the same."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case Decimal() | float():
            number = Decimal(str(value))
            return format(number.normalize(), "f") if number.is_finite() else str(number)
        case dt.datetime():
            is_day = value.time() == dt.time()
            return value.date().isoformat() if is_day else value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
    return str(value)
