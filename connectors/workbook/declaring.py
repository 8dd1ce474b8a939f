"""Propose the row of a sheet's header, where titles are above it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

LOOKED_AT = 50
"""Rows in which the header is looked for."""
_UNNAMED = re.compile(r"column_\d+")


def header_row(names: Sequence[str], rows: Sequence[tuple[int, Sequence[object]]]) -> int | None:
    """Return the row of the header if the first filled row is a title, else None.

    `names` are the columns that the first filled row gives, `rows` the next ones: their number and their cells.
    """
    if not rows or sum(map(bool, map(_UNNAMED.fullmatch, names))) * 2 < len(names):
        return None
    filled = [sum(cell is not None for cell in cells) for _, cells in rows]
    usual = median(filled)
    for (number, cells), count in zip(rows, filled, strict=True):
        if count >= 0.8 * usual and all(isinstance(cell, str) for cell in cells if cell is not None):
            return number
    return None
