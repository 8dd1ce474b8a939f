"""The cells that a formula refers to, as far as its text tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from connectors.workbook.editing.ranges import CellRange, parsed_range

_STRING = re.compile(r'"(?:[^"]|"")*"')
_SHEET = r"(?P<sheet>'(?:[^']|'')+'|[^\s!'\"(),;:=<>&+*/^%{}\[\]-]+(?::[^\s!'\"(),;:=<>&+*/^%{}\[\]-]+)?)!"
_CELLS = (
    r"(?P<cells>\$?[A-Za-z]{1,3}\$?[0-9]{1,7}(?::\$?[A-Za-z]{1,3}\$?[0-9]{1,7})?"
    r"|\$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3}|\$?[0-9]{1,7}:\$?[0-9]{1,7})"
)
_REFERENCE = re.compile(rf"(?<![\w.$])(?:{_SHEET})?(?<![\w.])(?:\[\d+\])?{_CELLS}(?![\w.(!\[])")


@dataclass(frozen=True)
class CellReference:
    """Cells that a formula refers to; `sheet` None: its own. `last_sheet` is another one for several sheets."""

    sheet: str | None
    last_sheet: str | None
    cells: CellRange


def references(formula: str) -> Iterator[CellReference]:
    """The references to cells in a formula, those in other workbooks left out."""
    for match in _REFERENCE.finditer(_STRING.sub('""', formula)):
        cells = parsed_range(match["cells"])
        sheet = match["sheet"]
        if cells is None or (sheet and sheet.strip("'").startswith("[")):
            continue
        first, _, last = (sheet or "").strip("'").replace("''", "'").partition(":")
        yield CellReference(first or None, last or None, cells)
