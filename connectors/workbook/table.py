"""Type the columns of sheets, block by block, and write them into one Arrow file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from connectors.headers import repeated, stable_names
from connectors.workbook.blocks import (
    ErrorCell,
    FooterMissing,
    NeedsCellReader,
    NotInWorkbook,
    RowBlock,
    without_footer,
)
from connectors.workbook.cells import ColumnOfCells, TextForm, text_of, typed

if TYPE_CHECKING:
    from connectors.workbook.xlsx import TypedSheet

FileSheet = tuple[str, str]
"""The name of a workbook, and a sheet of it."""
SheetRow = tuple[str, str, int]
"""A row of such a sheet."""
BLANK = ("", None)
BATCH = 40_000


class SheetEmpty(Exception):
    """The sheet has no filled row."""


def tables_of(order: Mapping[str, Any], file: str, sheets: Iterable[tuple[str, Iterator[RowBlock]]]) -> list[Table]:
    """The sheets of a workbook but for empty ones. Raises NotInWorkbook, also if all are empty."""
    tables: list[Table] = []
    for sheet, arriving in sheets:
        with suppress(SheetEmpty):
            tables.append(_of_sheet(order, (file, sheet), arriving))
    return _not_empty(tables)


def typed_tables(order: Mapping[str, Any], file: str, sheets: Iterable[TypedSheet]) -> list[Table]:
    """The sheets of a workbook whose columns are already typed. Raises NeedsCellReader and NotInWorkbook."""
    tables: list[Table] = []
    for sheet in sheets:
        tables.append(Table((file, sheet.sheet), 1, list(sheet.header), order))
        tables[-1].take(sheet)
    return _not_empty(tables)


def _not_empty(tables: list[Table]) -> list[Table]:
    if not tables:
        raise NotInWorkbook("header", [])
    return tables


def write(order: Mapping[str, Any], tables: Sequence[Table], *, are_pure: bool = False) -> dict[str, Any]:
    """Write `_row`, =NAME columns, and !NAME columns that mark error cells.

    Each column has one type over all sheets. Returns the names with their places in the first sheet, counted from 0,
    the renamed repeated ones, the place of the first
    header, the rounded cells, and the file, name and number of records of each sheet. Raises NotInWorkbook, and
    NeedsCellReader for typed sheets that hold different kinds of cells.
    """
    first = tables[0]
    rows = [row for table in tables for row in table.rows]
    columns = _united(tables)
    if are_pure and any(len(column.kinds) > 1 for column, _ in columns.values()):
        raise NeedsCellReader
    rounded: dict[str, tuple[int, SheetRow]] = {}
    fields: list[tuple[str, pa.DataType]] = [("_row", pa.int64())]
    arrays: list[Any] = [pa.array(rows, pa.int64())]
    for name, (column, wrong) in columns.items():
        if positions := column.without_rounded():
            rounded[name] = len(positions), (*_sheet_at(tables, positions[0]), rows[positions[0]])
        fields += [(f"={name}", (cells := column.finished()).type)]
        arrays.append(cells)
        if wrong:
            fields.append((f"!{name}", pa.bool_()))
            arrays.append(pa.array([place in wrong for place in range(len(rows))], pa.bool_()))
    schema = pa.schema(fields)
    with pa.OSFile(order["target"], "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema), BATCH)
    return {
        "columns": list(columns),
        "positions": [first.position(name) for name in columns],
        "repeated": first.repeated,
        "header": (*first.sheet, first.row),
        "rounded": rounded,
        "parts": [(*table.sheet, len(table.rows)) for table in tables],
    }


def _of_sheet(order: Mapping[str, Any], sheet: FileSheet, arriving: Iterator[RowBlock]) -> Table:
    row, header, below = _header(sheet[1], order["header_row"], arriving)
    if {ErrorCell} == {type(cell) for cell in header if cell not in BLANK}:
        raise NotInWorkbook("errors", [], sheet[1])
    table = Table(sheet, row, header, order)
    try:
        for block in without_footer(below, order["skip_footer"], _filled) if order["skip_footer"] else below:
            table.add(block)
    except FooterMissing:
        raise NotInWorkbook("footer", [], sheet[1]) from None
    return table


def _united(tables: Sequence[Table]) -> dict[str, tuple[ColumnOfCells, set[int]]]:
    """The columns of the sheets below each other, with the positions of errors. Raises NotInWorkbook if they differ."""
    columns, start = tables[0].columns(), len(tables[0].rows)
    for table in tables[1:]:
        more = table.columns()
        for these, those, sheet, without in (
            (more, columns, table.sheet, tables[0].sheet),
            (columns, more, tables[0].sheet, table.sheet),
        ):
            if missing := [name for name in these if name not in those]:
                raise NotInWorkbook("columns", [missing[0], *sheet, *without])
        for name, (column, wrong) in columns.items():
            column.append(more[name][0])
            wrong |= {start + place for place in more[name][1]}
        start += len(table.rows)
    return columns


def _sheet_at(tables: Sequence[Table], position: int) -> FileSheet:
    """The sheet of the record at that position of all."""
    ends = accumulate(len(table.rows) for table in tables)
    return next(table.sheet for table, end in zip(tables, ends, strict=True) if position < end)


def _header(
    sheet: str, header_row: int | None, arriving: Iterator[RowBlock]
) -> tuple[int, list[Any], Iterator[RowBlock]]:
    """The row of the header, its cells, and the blocks below it. Raises SheetEmpty, and NotInWorkbook for one below."""
    is_empty = True
    for block in arriving:
        for at, cells in enumerate(block.rows):
            row = block.first + at
            if row == header_row or (header_row is None and _filled(cells)):
                return row, cells, chain([_below(block, at + 1)], arriving)
            if header_row is not None and row > header_row:  # the block before ended above it: it is empty
                return header_row, [], chain([_below(block, at)], arriving)
            is_empty = is_empty and not _filled(cells)
    if is_empty:
        raise SheetEmpty
    raise NotInWorkbook("header", [], sheet)


def _below(block: RowBlock, at: int) -> RowBlock:
    return RowBlock(block.first + at, block.rows[at:])


def _filled(cells: list[Any]) -> bool:
    return bool(cells) and (cells[0] not in BLANK or any(cell not in BLANK for cell in cells))


class Table:
    """The records of one sheet, whose header is in `row`; `rows` are their numbers."""

    def __init__(self, sheet: FileSheet, row: int, header: list[Any], order: Mapping[str, Any]) -> None:
        self.sheet, self.row = sheet, row
        self._header = ["" if isinstance(cell, ErrorCell) else text_of(cell, TextForm()) or "" for cell in header]
        self._text_forms = {name: TextForm(**text_form) for name, text_form in order["text_forms"].items()}
        self._nulls = frozenset(order["nulls"])
        self._fill = frozenset(order["fill"])
        self._columns: list[ColumnOfCells] = []
        self._wrong: dict[int, set[int]] = {}
        self.rows: list[int] = []
        self._unique_names: list[str] = []

    def add(self, block: RowBlock) -> None:
        start, numbers, rows = len(self.rows), *self._filled_rows(block)
        if not rows:
            return
        widths = set(map(len, rows))
        width = max(len(self._header), *widths)
        if len(widths) > 1:
            rows = [[*cells, *[None] * (width - len(cells))] for cells in rows]
        self._grow(width, start)
        for place, cells in enumerate(zip(*rows, strict=True)):
            self._columns[place].add(self._without_errors(place, cells, start))
        for column in self._columns[len(rows[0]) :]:
            column.add([None] * len(rows))
        self.rows += numbers

    def take(self, sheet: TypedSheet) -> None:
        """Add all rows at once. Raises NeedsCellReader."""
        self._grow(len(self._header), 0)
        parts = [
            typed(cells, column.text_form) for cells, column in zip(sheet.batch.columns, self._columns, strict=True)
        ]
        touched = {position for position, _ in sheet.errors}
        empty = pa.repeat(pa.scalar(value=True), sheet.batch.num_rows)
        for _, cells in parts:
            empty = pc.and_(empty, pc.is_null(cells))
        left_out = [n for n, is_empty in enumerate(empty.to_pylist()) if is_empty] if pc.sum(empty).as_py() else []
        positions = pa.array(sorted(set(range(sheet.batch.num_rows)) - (set(left_out) - touched)), pa.int64())
        for column, (kind, cells) in zip(self._columns, parts, strict=True):
            column.take(kind, cells.take(positions) if left_out else cells)
        self.rows = pc.add(positions, 2).to_pylist()
        place = {position: n for n, position in enumerate(positions.to_pylist())} if sheet.errors else {}
        for position, column_number in sheet.errors:
            self._wrong.setdefault(column_number, set()).add(place[position])

    def _filled_rows(self, block: RowBlock) -> tuple[Sequence[int], list[list[Any]]]:
        """The rows that are not empty, with their numbers."""
        numbers = range(block.first, block.first + len(block.rows))
        if all(map(_filled, block.rows)):
            return numbers, block.rows
        numbered_rows = [(n, row) for n, row in zip(numbers, block.rows, strict=True) if _filled(row)]
        return [n for n, _ in numbered_rows], [row for _, row in numbered_rows]

    def _without_errors(self, place: int, cells: tuple[Any, ...], start: int) -> Sequence[Any]:
        if ErrorCell not in set(map(type, cells)):
            return cells
        errors = {i: cell for i, cell in enumerate(cells, start) if isinstance(cell, ErrorCell)}
        self._wrong.setdefault(place, set()).update(i for i, cell in errors.items() if cell.text not in self._nulls)
        return [None if i in errors else cell for i, cell in enumerate(cells, start)]

    @property
    def repeated(self) -> tuple[tuple[str, ...], ...]:
        return repeated(self._header, self._unique_names)

    def _grow(self, width: int, before: int) -> None:
        self._header += [""] * (width - len(self._header))
        self._unique_names = list(stable_names(self._header))
        for name in self._unique_names[len(self._columns) :]:
            column = ColumnOfCells(self._text_forms.get(name, TextForm()), self._nulls)
            if before:
                column.add([None] * before)
            self._columns.append(column)

    def position(self, name: str) -> int:
        return self._unique_names.index(name)

    def columns(self) -> dict[str, tuple[ColumnOfCells, set[int]]]:
        """The columns by name, filled down, with the positions of errors. They are complete: nothing may be added."""
        self._grow(len(self._header), len(self.rows))
        columns: dict[str, tuple[ColumnOfCells, set[int]]] = {}
        for place, (name, column) in enumerate(zip(self._unique_names, self._columns, strict=True)):
            wrong = self._wrong.get(place, set())
            if name in self._fill:
                column.fill_down(wrong)
            if self._header[place].strip() or column.kinds or wrong:  # else formatted, never filled
                columns[name] = column, wrong
        return columns
