"""What to change in a workbook. Rows and columns count from 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from connectors.target import Cell
from connectors.workbook.editing.cells import RawCell

NewCell = RawCell | Cell
"""A cell to write: a RawCell exactly as it was read, a Cell as the sheet writes such a value, None for no element."""


@dataclass(frozen=True)
class SheetEdits:
    """The changes of a sheet: cells by their row and column, and rows to append below the last one. No row moves."""

    cells: Mapping[tuple[int, int], NewCell] = field(default_factory=dict)
    appended: Sequence[Mapping[int, NewCell]] = ()
