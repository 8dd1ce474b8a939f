"""OpenDocument sheets, cell by cell: exact numbers, booleans, durations and errors, which other readers merge."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from lxml import etree

from connectors.workbook.blocks import ErrorCell, TooMuch

TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
COLUMNS = 16_384
ROWS = 1_048_576
BLANKS = 1_000_000
"""The most blanks that one element may mean; a cell holds fewer characters."""

EXCEL_ERROR = re.compile(r"#[^\d#\s].*|Err:\d+")
"""The text of an error in a cell that Excel wrote as the number 0, in any language."""


@dataclass
class RepeatAllowance:
    """The cells and characters that repeat counts of the sheets may still add."""

    cells: int
    characters: int

    def take(self, row: list[Any], written: int, times: int) -> None:
        """Count a row with a repeat count and so many written cells. Raises TooMuch."""
        if len(row) == written and times == 1:
            return
        self.cells -= len(row) * times - written
        self.take_characters(sum(len(cell) for cell in row if isinstance(cell, str)) * times)
        if self.cells < 0:
            raise TooMuch("repeated")

    def take_characters(self, count: int) -> None:
        """Count text that is repeated but not written. Raises TooMuch."""
        self.characters -= count
        if self.characters < 0:
            raise TooMuch("repeated")


def sheets(path: Path) -> tuple[list[str], set[str]]:
    """The names of all sheets, and of the hidden ones."""
    names: list[str] = []
    hidden: set[str] = set()
    hiding: set[str | None] = set()
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
        for _, element in _events(file, ("start",), f"{TABLE}table", f"{STYLE}table-properties"):
            if element.tag == f"{TABLE}table":
                names.append(element.get(f"{TABLE}name") or "")
                if element.get(f"{TABLE}style-name") in hiding:
                    hidden.add(names[-1])
            elif element.get(f"{TABLE}display") == "false":
                hiding.add(element.getparent().get(f"{STYLE}name"))
    return names, hidden


def rows(path: Path, sheets: Collection[str], repeats: RepeatAllowance) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows of these sheets in the order of the workbook, each with the name of its sheet.

    Rows come from the top, the empty ones above a filled one included; a cell is None, an ErrorCell or a value. Raises
    TooMuch.
    """
    unread = set(sheets)
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
        sheet: str | None = None
        empty = count = 0
        for event, element in _events(file, ("start", "end"), f"{TABLE}table", f"{TABLE}table-row"):
            if element.tag == f"{TABLE}table":
                if sheet is not None and event == "end":
                    unread.discard(sheet)
                    if not unread:
                        return
                name = element.get(f"{TABLE}name") if event == "start" else None
                sheet, empty, count = name if name in unread else None, 0, 0
            elif event == "end":
                if sheet is not None:
                    repeats.take_characters(sum(map(_blanks, element.iter(f"{TEXT}s"))))
                    row, repeat = _row(element), _repeat(element, "rows", ROWS)
                    if not any(cell is not None for cell in row):
                        empty += repeat
                    else:
                        count += empty + repeat
                        if count > ROWS:
                            raise TooMuch("repeated")
                        repeats.take(row, min(len(element), len(row)), repeat)
                        yield from ((sheet, []) for _ in range(empty))
                        yield from ((sheet, row) for _ in range(repeat))
                        empty = 0
                element.clear()


def _events(file: Any, events: tuple[str, ...], *tags: str) -> Iterator[tuple[str, Any]]:
    yield from etree.iterparse(file, events=events, tag=tags, resolve_entities=False, no_network=True, load_dtd=False)


def _repeat(element: Any, noun: str, limit: int) -> int:
    times = int(element.get(f"{TABLE}number-{noun}-repeated") or 1)
    if times < 1:
        raise ValueError("repeated less than once")
    return min(times, limit)


def _row(element: Any) -> list[Any]:
    cells: list[Any] = []
    for cell in element:
        if cell.tag in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            value, repeat = _value(cell), _repeat(cell, "columns", COLUMNS)
            cells += [value] * min(repeat, COLUMNS - len(cells))
    while cells and cells[-1] is None:
        cells.pop()
    return cells


def _value(cell: Any) -> Any:
    kind = cell.get(f"{OFFICE}value-type")
    if cell.get(f"{CALC}value-type") == "error":
        return ErrorCell(_displayed_text(cell))
    if kind in ("float", "percentage", "currency"):
        value = Decimal(cell.get(f"{OFFICE}value"))
        if not value and EXCEL_ERROR.fullmatch(text := _displayed_text(cell)):
            return ErrorCell(text)
        return value
    if kind == "boolean":
        return cell.get(f"{OFFICE}boolean-value") == "true"
    if kind == "date":
        return _moment(cell.get(f"{OFFICE}date-value"))
    if kind == "time":
        return cell.get(f"{OFFICE}time-value")
    if kind == "string":
        text = cell.get(f"{OFFICE}string-value")
        return text or _displayed_text(cell) or None
    return None


def _displayed_text(cell: Any) -> str:
    return "\n".join(_text(p) for p in cell if p.tag == f"{TEXT}p")


def _moment(text: str) -> dt.date | str:
    """A date or a date and time, to the millisecond as in other workbooks; outside the years 1 to 9999 it stays text.

    Midnight is a date, as in other workbooks: some programs write 2026-03-01T00:00:00 for a cell without a time. The
    time that a formula computes may be written as 09:59:59.999999.
    """
    try:
        if len(text) == 10:
            return dt.date.fromisoformat(text)
        moment = dt.datetime.fromisoformat(text[:26])
        moment += dt.timedelta(microseconds=round(moment.microsecond, -3) - moment.microsecond)
        return moment if moment.time() != dt.time() else moment.date()
    except (ValueError, OverflowError):
        return text


def _blanks(element: Any) -> int:
    count = int(element.get(f"{TEXT}c") or 1)
    if count > BLANKS:
        raise ValueError("more blanks than a cell holds")
    return count


def _text(element: Any) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag == f"{TEXT}s":
            parts.append(" " * _blanks(child))
        elif child.tag in (f"{TEXT}tab", f"{TEXT}line-break"):
            parts.append("\t" if child.tag == f"{TEXT}tab" else "\n")
        elif child.tag != f"{OFFICE}annotation":
            parts.append(_text(child))
        parts.append(child.tail or "")
    return "".join(parts)
