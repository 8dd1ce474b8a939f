"""Propose the row of a sheet's header, where titles are above it, and the number of totals below its data."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from statistics import median

from connectors.base import Scan
from connectors.headers import TOTAL

LOOKED_AT = 50
"""Rows in which the header is looked for."""
MOST_BELOW = 5
"""Rows at the end in which totals are looked for."""
_UNNAMED = re.compile(r"column_\d+")

Row = tuple[int, Sequence[object]]
"""The number of a row and its cells."""


def ends(scan: Scan, place: int) -> tuple[list[Row], list[list[Sequence[object]]]]:
    """Return the first rows of the first sheet, and the cells of the last rows of each sheet.

    So many columns at the beginning, the last of them `_row`, are the place of a row.
    """
    first: list[Row] = []
    last: dict[tuple[object, ...], list[Sequence[object]]] = {}
    try:
        for batch in scan.reader:
            rows = [tuple(row.values()) for row in batch.to_pylist()]
            for sheet, rows_of_sheet in itertools.groupby(rows, lambda row: row[: place - 1]):
                cells = list(rows_of_sheet)
                if sheet not in last and not last:
                    first = [(row[place - 1], row[place:]) for row in cells[:LOOKED_AT]]
                last[sheet] = [*last.get(sheet, ()), *(row[place:] for row in cells)][-MOST_BELOW:]
    finally:
        scan.close()
    return first, list(last.values())


def header_row(names: Sequence[str], rows: Sequence[Row]) -> int | None:
    """Return the row of the header if the first filled row is a title, else None.

    `names` are the columns that the first filled row gives, `rows` the next ones: their number and their cells.
    """
    if not rows or sum(map(bool, map(_UNNAMED.fullmatch, names))) * 2 < len(names):
        return None
    filled = [_filled(cells) for _, cells in rows]
    usual = median(filled)
    for (number, cells), count in zip(rows, filled, strict=True):
        if count >= 0.8 * usual and all(isinstance(cell, str) for cell in cells if cell is not None):
            return number
    return None


def totals(first: Sequence[Sequence[object]], last: Sequence[Sequence[object]]) -> int:
    """Return how many of the last filled rows are totals: such a word in a row with more empty cells than usual."""
    usual = median(map(_filled, first)) if first else 0
    is_total = (_filled(cells) < usual and any(map(_begins_total, cells)) for cells in filter(_filled, reversed(last)))
    below = len(list(itertools.takewhile(bool, is_total)))
    return below if below < len(last) else 0  # not in a sheet of totals


def _begins_total(cell: object) -> bool:
    return isinstance(cell, str) and TOTAL.match(cell) is not None


def _filled(cells: Sequence[object]) -> int:
    return sum(cell is not None for cell in cells)
