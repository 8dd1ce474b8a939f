"""The element `dimension`: the range of a sheet that has cells, a hint for programs that read it.

It grows with the cells, since openpyxl reads no columns beside it. It shrinks if its last row or column loses its last
cell, so that an edit and its inverse give the former bytes wherever the hint was exact.
"""

from __future__ import annotations

import re

from connectors.workbook.editing.edits import SheetEdits
from connectors.workbook.editing.markup import spliced, with_attribute
from connectors.workbook.editing.ranges import CellRange, column_letters, parsed_range
from connectors.workbook.editing.sheet import SheetText


def with_dimension(before: SheetText, after: SheetText, edits: SheetEdits) -> SheetText:
    """The edited sheet with its dimension as it is now."""
    element = before.frame.root.first("dimension")
    cells = parsed_range(element.get("ref")) if element else None
    if element is None or cells is None or cells.last_row < before.last_row:  # a wrong hint helps nobody
        return after
    is_inside = all(
        cells.has(row, column) and (cell is not None or (row < cells.last_row and column < cells.last_column))
        for (row, column), cell in edits.cells.items()
    )
    if is_inside and not edits.appended:
        return after
    new = str(_range(before, after, edits, cells))
    if new == str(cells):
        return after
    tag = with_attribute(after.text[element.start : element.inside], "ref", new)
    return after.with_text(spliced(after.text, [(element.start, element.inside, tag)]))


def _range(before: SheetText, after: SheetText, edits: SheetEdits, cells: CellRange) -> CellRange:
    added = [place for place, cell in edits.cells.items() if cell is not None]
    added += [(after.last_row, column) for row in edits.appended for column, cell in row.items() if cell is not None]
    columns = [column for _, column in added]
    is_new = before.last_row == 0
    last_column = max([*columns, 1 if is_new else cells.last_column])
    gone = [column for (_, column), cell in edits.cells.items() if cell is None]
    if not after.last_row:
        return CellRange(1, 1, 1, 1)
    if cells.last_column in gone and not _has_column(after, cells.last_column):
        last_column = _last_column(after, cells.last_column)
    rows = after.last_row if before.last_row in (0, cells.last_row) else max(cells.last_row, after.last_row)
    first_row = min([rows, cells.first_row, *(row for row, _ in added)])
    return CellRange(first_row, min([*columns, cells.first_column]), rows, max(last_column, cells.first_column))


def _has_column(sheet: SheetText, column: int) -> bool:
    return re.search(rb"[\"']%s\d" % column_letters(column).encode(), sheet.text) is not None


def _last_column(sheet: SheetText, before: int) -> int:
    return next((column for column in range(before - 1, 0, -1) if _has_column(sheet, column)), 1)
