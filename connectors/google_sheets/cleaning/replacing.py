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
from connectors.google_sheets.cleaning.typed import may_become_another
from connectors.google_sheets.grid import (
    BOOLEAN,
    DATE,
    ERROR,
    FORMULA,
    NUMBER,
    PLANNED,
    TEXT,
    cell_of,
    is_computed,
    result_of,
)
from connectors.target import Cell

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{0,14}[1-9])?")
_LINKED = ("", "mailto:", "http://", "https://", "tel:")
"""What Google puts before a text that it made a link of by itself; it does so again when the text is typed again."""
_LIST = "ONE_OF_LIST"
_POINTS = frozenset(("en", "ja", "zh", "ko", "th", "he", "iw", "hi", "ga", "cy", "es_MX", "de_CH", "de_LI"))
"""Languages and locales with a decimal point."""
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
    if another := may_become_another(text):
        raise Unwritable(f"Google Sheets could read the text as {another}")
    return TEXT, text


def fitted(table: BookTable, row: int, column: int, planned: Cell, skills: Skills | None) -> Cell:
    """The cell that a planned one becomes at this place. Without `skills`, Google was not tried yet.

    Raises Unwritable.
    """
    new = expected(planned)
    now = replaceable(table, row, column)
    if skills is not None:
        must_be_possible(skills, now, new)
    must_be_valid(table, row, column, new)
    return new


def replaceable(table: BookTable, row: int, column: int) -> Cell:
    """The cell in the grid if it can be replaced. Raises Unwritable."""
    cell = table.cell(row, column)
    if is_computed(cell):
        raise Unwritable("a formula or a pivot table in another cell gives it its value")
    now = cell_of(cell)
    if now is not None:
        tag, text = now
        if tag in _KINDS:
            raise Unwritable(f"it holds {_KINDS[tag]}")
        if tag == NUMBER and not (_NUMBER.fullmatch(text) and cell.get("formattedValue") == text):
            raise Unwritable("its number is shown in another form than it is stored")
        if len(text) > MOST_CHARACTERS:
            raise Unwritable("its text is too long")
        if (part := _part_that_would_be_lost(cell, text)) is not None:
            raise Unwritable(f"it holds {part}, which could not be put back")
    if any(_covers(merge, row, column) for merge in table.merges):
        raise Unwritable("it is merged with other cells")
    if any(_excludes_us(protection, row, column) for protection in table.protected):
        raise Unwritable("it is protected, and this account may not edit it")
    return now


def _part_that_would_be_lost(cell: Mapping[str, Any], text: str) -> str | None:
    """What a cell holds besides its text: Google keeps none of it when the text is replaced."""
    if any(run.get("chip") for run in cell.get("chipRuns", ())):
        return "a smart chip"
    if any(run.get("startIndex") for run in cell.get("textFormatRuns", ())):
        return "text of which parts have their own format or link"
    link = str(cell.get("hyperlink") or "").casefold()
    plain = text.casefold()
    is_of_text = link in {f"{before}{plain}{after}" for before in _LINKED for after in ("", "/")}
    return "a link" if link and not is_of_text else None


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
    if new is None:
        return
    if new[0] == NUMBER and "." in new[1] and not _writes_points(table.locale):
        raise Unwritable("the locale of the spreadsheet may write another decimal mark")
    rule = table.cell(row, column).get("dataValidation")
    if rule and rule.get("strict") and new[1] not in _listed(rule):
        raise Unwritable("its data validation may reject the value")
    for typed in table.typed_tables:
        area = typed.get("range", {})
        if _covers(area, row, column):
            _must_be_of_type(typed, column - int(area.get("startColumnIndex", 0)), new)


def _must_be_of_type(typed: Mapping[str, Any], place: int, new: tuple[str, str]) -> None:
    """Raise Unwritable for a value that does not fit the type of this column of one of Google's tables."""
    own: Mapping[str, Any] = next(
        (each for each in typed.get("columnProperties", ()) if int(each.get("columnIndex", 0)) == place), {}
    )
    kind = own.get("columnType", "TEXT")
    if kind == "DROPDOWN":
        is_right = new[1] in _listed(own.get("dataValidationRule") or {})
    else:
        is_right = kind in ("COLUMN_TYPE_UNSPECIFIED", "TEXT") or (kind == "DOUBLE" and new[0] == NUMBER)
    if not is_right:
        raise Unwritable("its column has a type in a table of Google Sheets that the value does not fit")


def _listed(rule: Mapping[str, Any]) -> list[Any]:
    """The values that a validation allows, if it lists them."""
    condition = rule.get("condition", {})
    return [v.get("userEnteredValue") for v in condition.get("values", [])] if condition.get("type") == _LIST else []


def _writes_points(locale: str) -> bool:
    """Return True for a locale that is known to write 1.5, not 1,5."""
    language, _, country = locale.replace("-", "_").partition("_")
    return (language in _POINTS and country != "ZA") or locale in _POINTS


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
