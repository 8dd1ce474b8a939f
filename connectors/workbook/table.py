"""Write the typed columns of a sheet, block by block, into an Arrow file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from connectors.headers import repeated, stable_names
from connectors.workbook.blocks import Block, ErrorCell, without_footer
from connectors.workbook.cells import ColumnOfCells, Wish, typed

if TYPE_CHECKING:
    from connectors.workbook.xlsx import Pure

BLANK = ("", None)
BATCH = 40_000


class HeaderMissing(Exception):
    """There is no filled row, or the requested header row is below the last one."""


class HeaderOfErrors(Exception):
    """All cells of the header row are errors."""


def write(order: Mapping[str, Any], arriving: Iterator[Block]) -> dict[str, Any]:
    """Write `_row`, =NAME columns, and !NAME columns that mark error cells.

    Returns the names, the renamed repeated ones, the row of the header, and the rounded cells. Raises HeaderMissing,
    HeaderOfErrors and FooterMissing.
    """
    row, header, below = _header(order["header_row"], arriving)
    if {ErrorCell} == {type(cell) for cell in header if cell not in BLANK}:
        raise HeaderOfErrors
    table = _Table(row, header, order)
    for block in without_footer(below, order["skip_footer"], _filled) if order["skip_footer"] else below:
        table.add(block)
    return _write_table(order, table)


def write_pure(order: Mapping[str, Any], sheet: Pure) -> dict[str, Any]:
    """Write a sheet whose columns are already typed. Raises Impure."""
    table = _Table(1, list(sheet.header), order)
    table.take(sheet)
    return _write_table(order, table)


def _write_table(order: Mapping[str, Any], table: _Table) -> dict[str, Any]:
    schema, arrays = table.finished()
    with pa.OSFile(order["target"], "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema), BATCH)
    return {
        "columns": table.names,
        "repeated": table.repeated,
        "header_row": table.row,
        "rounded": table.rounded,
    }


def _header(header_row: int | None, arriving: Iterator[Block]) -> tuple[int, list[Any], Iterator[Block]]:
    """The row of the header, its cells, and the blocks below it."""
    for block in arriving:
        for at, cells in enumerate(block.rows):
            row = block.first + at
            if row == header_row or (header_row is None and _filled(cells)):
                return row, cells, chain([_below(block, at + 1)], arriving)
            if header_row is not None and row > header_row:  # the block before ended above it: it is empty
                return header_row, [], chain([_below(block, at)], arriving)
    raise HeaderMissing


def _below(block: Block, at: int) -> Block:
    return Block(block.first + at, block.rows[at:])


def _filled(cells: list[Any]) -> bool:
    return bool(cells) and (cells[0] not in BLANK or any(cell not in BLANK for cell in cells))


class _Table:
    def __init__(self, row: int, header: list[Any], order: Mapping[str, Any]) -> None:
        self.row = row
        self._header = ["" if cell is None or isinstance(cell, ErrorCell) else str(cell) for cell in header]
        self._wishes = {name: Wish(**wish) for name, wish in order["wishes"].items()}
        self._nulls = frozenset(order["nulls"])
        self._fill = frozenset(order["fill"])
        self._columns: list[ColumnOfCells] = []
        self._wrong: dict[int, set[int]] = {}
        self._rows: list[int] = []
        self._unique_names: list[str] = []
        self.names: list[str] = []
        self.rounded: dict[str, tuple[int, int]] = {}

    def add(self, block: Block) -> None:
        start, numbers, rows = len(self._rows), *self._filled_rows(block)
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
        self._rows += numbers

    def take(self, sheet: Pure) -> None:
        """Add all rows at once. Raises Impure."""
        self._grow(len(self._header), 0)
        parts = [typed(cells, column.wish) for cells, column in zip(sheet.batch.columns, self._columns, strict=True)]
        touched = {position for position, _ in sheet.errors}
        empty = pa.repeat(pa.scalar(value=True), sheet.batch.num_rows)
        for _, cells in parts:
            empty = pc.and_(empty, pc.is_null(cells))
        left_out = [n for n, is_empty in enumerate(empty.to_pylist()) if is_empty] if pc.sum(empty).as_py() else []
        positions = pa.array(sorted(set(range(sheet.batch.num_rows)) - (set(left_out) - touched)), pa.int64())
        for column, (kind, cells) in zip(self._columns, parts, strict=True):
            column.take(kind, cells.take(positions) if left_out else cells)
        self._rows = pc.add(positions, 2).to_pylist()
        place = {position: n for n, position in enumerate(positions.to_pylist())} if sheet.errors else {}
        for position, column_number in sheet.errors:
            self._wrong.setdefault(column_number, set()).add(place[position])

    def _filled_rows(self, block: Block) -> tuple[Sequence[int], list[list[Any]]]:
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
            column = ColumnOfCells(self._wishes.get(name, Wish()), self._nulls)
            if before:
                column.add([None] * before)
            self._columns.append(column)

    def finished(self) -> tuple[pa.Schema, list[Any]]:
        self._grow(len(self._header), len(self._rows))
        fields: list[tuple[str, pa.DataType]] = [("_row", pa.int64())]
        arrays: list[Any] = [pa.array(self._rows, pa.int64())]
        for place, (name, column) in enumerate(zip(self._unique_names, self._columns, strict=True)):
            wrong = self._wrong.get(place, set())
            if name in self._fill:
                column.fill_down(wrong)
            if not self._header[place].strip() and not column.kinds and not wrong:
                continue  # formatted, never filled
            self.names.append(name)
            if rounded := column.without_rounded():
                self.rounded[name] = len(rounded), self._rows[rounded[0]]
            fields += [(f"={name}", (cells := column.finished()).type)]
            arrays.append(cells)
            if wrong:
                fields.append((f"!{name}", pa.bool_()))
                arrays.append(pa.array([i in wrong for i in range(len(self._rows))], pa.bool_()))
        return pa.schema(fields), arrays
