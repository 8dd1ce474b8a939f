"""Compare the next version of a sheet with what every reader of it reads, before it takes the place of the file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from connectors.disk.cleaning.contents import Edits, Unwritable
from connectors.target import Cells
from connectors.workbook.cleaning.table import NewRows, SheetTable, text_of


def confirm(before: SheetTable, edits: Edits, new: NewRows, now: SheetTable) -> None:
    """Raises Unwritable if a record would be read differently, or a planned cell would not hold its value."""
    if now.columns != before.columns:
        raise Unwritable("its header would be read differently afterwards")
    removed = {number for number, cells in edits.changed.items() if cells is None}
    last = max([before.grid.text.last_row, 0])
    written: dict[int, Cells] = {before.rows[n]: cells for n, cells in edits.changed.items() if cells is not None}
    written |= dict(new.placed)
    written |= {last + position: cells for position, cells in enumerate(new.appended, 1)}
    kept = [number for number in range(before.count) if number not in edits.changed]
    rows = [before.rows[number] for number in range(before.count) if number not in removed]
    if sorted({*rows, *written}) != list(now.rows):
        raise Unwritable("its records would be read in other rows afterwards")
    for row, cells in written.items():
        if now.cells_of_row(row) != {name: cells.get(name) for name in now.columns}:
            raise Unwritable("a value would be read differently afterwards")
    place = {row: number for number, row in enumerate(now.rows)}
    was, is_ = before.sheet.stored(), now.sheet.stored()
    then = pa.array(kept, pa.int64())
    same = pa.array([place[before.rows[number]] for number in kept], pa.int64())
    if not all(_are_same(was.column(name).take(then), is_.column(name).take(same)) for name in before.columns):
        raise Unwritable("a value would be read differently afterwards")


def _are_same(first: pa.ChunkedArray[Any], second: pa.ChunkedArray[Any]) -> bool:
    """Compare columns, also if the record that left or came gave all of its column another type."""
    if first.type == second.type:
        return bool(first.equals(second))
    return [text_of(value) for value in first.to_pylist()] == [text_of(value) for value in second.to_pylist()]
