"""Cells of the Sheets API: as values of a record, and as cells of a target.

A date is a number of days since 30 December 1899 whose format shows a date. The cell of a target is None if it is
empty, else a tag and a text: `s` text, `n` number, `d` number shown as a date or time, `b` boolean, `e` error, `f`
formula with its result.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from connectors.target import Cell
from connectors.workbook.blocks import ErrorCell

TEXT, NUMBER, DATE, BOOLEAN, ERROR, FORMULA, PLANNED = "s", "n", "d", "b", "e", "f", "t"
_DAY_ZERO = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no zone
_LAST_DAY = 2_958_465
"""31 December 9999."""
_ERRORS = {
    "ERROR": "#ERROR!",
    "NULL_VALUE": "#NULL!",
    "DIVIDE_BY_ZERO": "#DIV/0!",
    "VALUE": "#VALUE!",
    "REF": "#REF!",
    "NAME": "#NAME?",
    "NUM": "#NUM!",
    "N_A": "#N/A",
    "LOADING": "Loading...",
}


@dataclass(frozen=True)
class SheetFacts:
    """A sheet: its name, its size, and if it is hidden. `is_grid`: it has cells, and is no chart."""

    id: int
    title: str
    rows: int
    columns: int
    hidden: bool
    is_grid: bool


def facts_of(sheet: Mapping[str, Any]) -> SheetFacts:
    properties = sheet.get("properties", {})
    size = properties.get("gridProperties", {})
    return SheetFacts(
        int(properties.get("sheetId", 0)),
        str(properties.get("title", "")),
        int(size.get("rowCount", 0)),
        int(size.get("columnCount", 0)),
        bool(properties.get("hidden", False)),
        properties.get("sheetType", "GRID") == "GRID",
    )


def quoted(title: str) -> str:
    """The name of a sheet in A1 notation."""
    return "'" + title.replace("'", "''") + "'"


def rows_of(sheet: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """The rows of the grid data of one range; cells and rows at the end may be missing."""
    [data] = sheet.get("data", [{}]) or [{}]
    return [row.get("values", []) for row in data.get("rowData", [])]


def value_of(cell: Mapping[str, Any]) -> Any:
    """The value of a cell as workbooks have it: text, float, bool, date, datetime, ErrorCell, or None."""
    value = cell.get("effectiveValue")
    if not value:
        return None
    kind, content = next(iter(value.items()))
    match kind:
        case "numberValue":
            return _number(float(content), _format(cell))
        case "errorValue":
            return ErrorCell(_ERRORS.get(content.get("type", ""), "#ERROR!"))
        case "boolValue":
            return bool(content)
    return str(content)


def cell_of(cell: Mapping[str, Any]) -> Cell:
    """The cell of a target, by which two states of a row are compared exactly."""
    result = result_of(cell)
    formula = (cell.get("userEnteredValue") or {}).get("formulaValue")
    return (FORMULA, json.dumps([formula, result])) if formula is not None or is_computed(cell) else result


def is_computed(cell: Mapping[str, Any]) -> bool:
    """Return True for a cell that nobody filled: a formula or a pivot table in another cell gives it its value.

    To write into it would break that formula, and so every cell that shows a part of its result.
    """
    return bool(cell.get("effectiveValue")) and not cell.get("userEnteredValue")


def result_of(cell: Mapping[str, Any]) -> Cell:
    """As `cell_of`, but the result of a formula is like a value that was typed."""
    value = cell.get("effectiveValue")
    if not value:
        return None
    kind, content = next(iter(value.items()))
    match kind:
        case "numberValue":
            return (DATE if _format(cell) in ("DATE", "TIME", "DATE_TIME") else NUMBER), plain(float(content))
        case "errorValue":
            return ERROR, str(content.get("type", ""))
        case "boolValue":
            return BOOLEAN, "TRUE" if content else "FALSE"
    return (TEXT, str(content)) if content != "" else None


def plain(number: float) -> str:
    """A number by its shortest text, in plain digits."""
    text = format(Decimal(repr(number)), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _format(cell: Mapping[str, Any]) -> str:
    formats = cell.get("effectiveFormat") or {}
    return str((formats.get("numberFormat") or {}).get("type", ""))


def _number(number: float, shown_as: str) -> Any:
    if shown_as == "TIME" and 0 <= number < 1:
        return str(_moment(number).time())
    if shown_as not in ("DATE", "DATE_TIME", "TIME") or not -_LAST_DAY < number <= _LAST_DAY:
        return number
    moment = _moment(number)
    if shown_as == "TIME":
        return str(moment - _DAY_ZERO)
    return moment.date() if shown_as == "DATE" and number == int(number) else moment


def _moment(days: float) -> dt.datetime:
    return _DAY_ZERO + dt.timedelta(milliseconds=round(days * 86_400_000))


def width_of(rows: Sequence[Sequence[object]]) -> int:
    return max(map(len, rows), default=0)
