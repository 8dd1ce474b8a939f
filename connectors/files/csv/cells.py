"""Cells of a CSV file: a field exactly as it is written, and how a planned text is written as a field.

The tag of a cell says how its text is written: `f` as it is, `q` between quotes, `q2,1` with blanks around these. A
field without a character is null. The tag `t` is a planned text, which the declared type of its column decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.files.csv.fields import ENDS, quoted_field
from connectors.target import Cell

PLAIN, QUOTED, PLANNED = "f", "q", "t"


@dataclass(frozen=True)
class CellForm:
    """The delimiter and the quote of a file."""

    delimiter: str
    quote: str

    def read(self, written: str) -> Cell:
        if not written:
            return None
        quoted = quoted_field(written, self.delimiter, self.quote)
        if quoted is None:
            return PLAIN, written
        blanks = f"{quoted.before},{quoted.after}" if quoted.before or quoted.after else ""
        return f"{QUOTED}{blanks}", quoted.text

    def write(self, cell: Cell) -> str:
        """The field as it is written, the inverse of `read`."""
        if cell is None:
            return ""
        tag, text = cell
        if not tag.startswith(QUOTED):
            return text
        before, _, after = tag.removeprefix(QUOTED).partition(",")
        doubled = text.replace(self.quote, 2 * self.quote)
        return f"{' ' * int(before or 0)}{self.quote}{doubled}{self.quote}{' ' * int(after or 0)}"

    def fitting(self, cell: Cell) -> Cell:
        """The cell as this file can hold it: quoted if it comes from a file that needs no quotes for its text."""
        if cell is None or cell[0] != PLAIN:
            return cell
        needed = any(mark in cell[1] for mark in (self.delimiter, *ENDS)) or cell[1].lstrip(" ").startswith(self.quote)
        return (QUOTED, cell[1]) if needed else cell

    def planned(self, text: str, before: Cell, beside: Sequence[Cell]) -> Cell:
        """The cell of a text in the place of another one: quoted if it must be, or as that one or its neighbours."""
        filled = [cell for cell in beside if cell is not None]
        is_usual = before[0].startswith(QUOTED) if before else bool(filled) and all(c[0][:1] == QUOTED for c in filled)
        needed = any(mark in text for mark in (self.delimiter, self.quote, *ENDS))
        return (QUOTED if needed or is_usual else PLAIN), text
