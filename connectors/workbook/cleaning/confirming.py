"""Compare the next version of a sheet with what every reader of it reads, before it takes the place of the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from connectors.disk.cleaning.contents import Edits, Unwritable
from connectors.target import Cells
from connectors.workbook.cleaning.table import NewRows, SheetTable, text_of


def confirm(before: SheetTable, edits: Edits, new: NewRows, now: SheetTable) -> None:
    """Raises Unwritable if a record would be read differently, or a planned cell would not hold its value."""
    if now.columns != before.columns:
        raise Unwritable("its header would be read differently afterwards")
    last = max([before.grid.text.last_row, 0])
    written: dict[int, Cells] = {before.rows[n]: cells for n, cells in edits.changed.items() if cells is not None}
    written |= dict(new.placed)
    written |= {last + position: cells for position, cells in enumerate(new.appended, 1)}
    rows, rows_now = _numbers(before.rows), _numbers(now.rows)
    kept = np.delete(np.arange(before.count), list(edits.changed))
    if not np.array_equal(np.union1d(rows[kept], _numbers(list(written))), rows_now):
        raise Unwritable("its records would be read in other rows afterwards")
    for row, cells in written.items():
        if now.cells_of_row(row) != {name: cells.get(name) for name in now.columns}:
            raise Unwritable("a value would be read differently afterwards")
    then, same = pa.array(kept), pa.array(np.searchsorted(rows_now, rows[kept]))
    for name in before.columns:
        if not _are_same(before.sheet.stored(name).take(then), now.sheet.stored(name).take(same)):
            raise Unwritable("a value would be read differently afterwards")


def _numbers(rows: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(rows, np.int64)


def _are_same(first: pa.ChunkedArray[Any], second: pa.ChunkedArray[Any]) -> bool:
    """Compare columns, also if the record that left or came gave all of its column another type."""
    if first.type == second.type:
        return bool(first.equals(second))
    return [text_of(value) for value in first.to_pylist()] == [text_of(value) for value in second.to_pylist()]
