"""The requests that replace a cell only where it holds what was planned, and the values that can be written so.

`findReplace` in a range of one cell is Google's only change that looks at the cell first: an edit that came before it
is never overwritten. It searches for what a cell shows, and may read what it writes as if it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from connectors.google_sheets.cleaning.book import BookTable
from connectors.google_sheets.cleaning.ledger import COPY, EXACTLY, LEDGER_ID, Entry, Request, Skills, Write, one_row
from connectors.google_sheets.grid import BOOLEAN, DATE, ERROR, FORMULA, NUMBER, PLANNED, TEXT, cell_of, result_of
from connectors.target import Cell

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{0,14}[1-9])?")
_LETTER = re.compile(r"[^\W\d_]")
_FIRST = "=+'@"
_KINDS = {DATE: "a date", BOOLEAN: "a check box", ERROR: "an error", FORMULA: "a formula"}
MOST_CHARACTERS = 40_000


class Unwritable(Exception):
    """A cell cannot be replaced safely. The message is a clause, without values."""


def expected(cell: Cell) -> Cell:
    """The cell that a planned or former one becomes. Raises Unwritable."""
    if cell is None or cell == (PLANNED, ""):
        return None
    tag, text = cell
    if tag in _KINDS:
        raise Unwritable(f"{_KINDS[tag]} cannot be written exactly")
    if tag == NUMBER or (tag == PLANNED and _NUMBER.fullmatch(text)):
        if not _NUMBER.fullmatch(text):
            raise Unwritable("the number cannot be written exactly")
        return NUMBER, text
    if len(text) > MOST_CHARACTERS:
        raise Unwritable("the text is too long")
    if text[0] in _FIRST or text != text.strip() or "\x00" in text:
        raise Unwritable("Google Sheets could read the text as something else")
    if not _LETTER.search(text) or text.upper() in ("TRUE", "FALSE"):
        raise Unwritable("Google Sheets could read the text as a number, a date or a check box")
    return TEXT, text


def replaceable(table: BookTable, row: int, column: int) -> Cell:
    """The cell in the grid if it can be replaced. Raises Unwritable."""
    cell = table.cell(row, column)
    now = cell_of(cell)
    if now is not None:
        tag, text = now
        if tag in _KINDS:
            raise Unwritable(f"it holds {_KINDS[tag]}")
        if tag == NUMBER and not (_NUMBER.fullmatch(text) and cell.get("formattedValue") == text):
            raise Unwritable("its number is shown in another form than it is stored")
        if len(text) > MOST_CHARACTERS:
            raise Unwritable("its text is too long")
    if any(_covers(merge, row, column) for merge in table.merges):
        raise Unwritable("it is merged with other cells")
    if any(_excludes_us(protection, row, column) for protection in table.protected):
        raise Unwritable("it is protected, and this account may not edit it")
    return now


def must_be_possible(skills: Skills, now: Cell, new: Cell) -> None:
    """Raise Unwritable for what Google Sheets did not do when it was tried."""
    if now is None and not skills.empty:
        raise Unwritable("it is empty, and Google Sheets did not find an empty cell when that was tried")
    if now is not None and now[0] == NUMBER and not (skills.numbers and skills.typed):
        raise Unwritable("it holds a number, and Google Sheets did not replace a number exactly when that was tried")
    if new is not None and new[0] == NUMBER and not skills.typed:
        raise Unwritable("Google Sheets did not read digits as a number when that was tried")


def must_be_valid(table: BookTable, row: int, column: int, new: Cell) -> None:
    """Raise Unwritable for a value that the data validation of the cell may reject."""
    rule = table.cell(row, column).get("dataValidation")
    if not rule or not rule.get("strict") or new is None:
        return
    condition = rule.get("condition", {})
    allowed = [value.get("userEnteredValue") for value in condition.get("values", [])]
    if condition.get("type") != "ONE_OF_LIST" or new[1] not in allowed:
        raise Unwritable("its data validation may reject the value")


def restorable(cell: Cell) -> str | None:
    """The reason why a cell could not be put back; None if it can."""
    try:
        is_same = expected(cell) == cell
    except Unwritable as error:
        return str(error)
    return None if is_same else "the text of a number"


def copied(entry: Entry, to: int) -> Request:
    """The request that copies a row, as it is when the change is made, into this row of the ledger."""
    source = one_row(entry.sheet, entry.row, 0, entry.width)
    target = one_row(LEDGER_ID, to, COPY, COPY + entry.width)
    return {"copyPaste": {"source": source, "destination": target, "pasteType": "PASTE_VALUES"}}


def replaced(entry: Entry, write: Write) -> Request:
    """The request that replaces a cell if it holds what it held."""
    search: dict[str, Any] = dict(EXACTLY)
    new = "" if write.new is None else write.new[1]
    if write.old is None:
        search |= {"find": "^$", "searchByRegex": True, "replacement": re.sub(r"([\\$])", r"\\\1", new)}
    else:
        search |= {"find": write.old[1], "searchByRegex": False, "replacement": new}
    return {"findReplace": {**search, "range": one_row(entry.sheet, entry.row, write.column, write.column + 1)}}


def occurrences(reply: Mapping[str, Any]) -> int:
    return int(reply.get("findReplace", {}).get("occurrencesChanged", 0))


def padded(row: Sequence[Mapping[str, Any]], width: int) -> list[Cell]:
    return [result_of(cell) for cell in row] + [None] * (width - len(row))


def _covers(area: Mapping[str, int], row: int, column: int) -> bool:
    most = 1 << 40
    return area.get("startRowIndex", 0) <= row < area.get("endRowIndex", most) and area.get(
        "startColumnIndex", 0
    ) <= column < area.get("endColumnIndex", most)


def _excludes_us(protection: Mapping[str, Any], row: int, column: int) -> bool:
    if protection.get("warningOnly") or protection.get("requestingUserCanEdit"):
        return False
    if not _covers(protection.get("range", {}), row, column):
        return False
    return not any(_covers(area, row, column) for area in protection.get("unprotectedRanges", ()))
