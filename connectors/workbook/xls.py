"""Old xls sheets, cell by cell, with errors, code pages and numbers of days, which other readers lose."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import xlrd

from connectors.workbook.blocks import ErrorCell, is_day

UNICODE = 80
"""The first version of the format, times ten, whose text needs no code page."""
EPOCHS = (dt.datetime(1899, 12, 30), dt.datetime(1904, 1, 1))  # noqa: DTZ001 - cells have no zone
MARCH_1900 = 61
LENGTH = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
MILLISECONDS = 86_400_000


class Locked(Exception):
    """The workbook is encrypted."""


def opened(path: Path) -> xlrd.Book:
    """The workbook with unread sheets. Raises Locked, LookupError for an unknown code page, and xlrd's errors.

    A workbook without a code page was written by a program for Windows.
    """
    book = _opened(path, None)
    return _opened(path, "cp1252") if book.codepage is None and book.biff_version < UNICODE else book


def _opened(path: Path, encoding: str | None) -> xlrd.Book:
    try:
        return xlrd.open_workbook(
            path,
            logfile=sys.stderr,  # standard output is for the answer
            encoding_override=encoding,
            formatting_info=True,
            on_demand=True,
            ragged_rows=True,
        )
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise Locked from None
        raise


def hidden(book: xlrd.Book) -> set[str]:
    visible = book._sheet_visibility  # noqa: SLF001 - the public way would read the sheet
    return {name for name, state in zip(book.sheet_names(), visible, strict=False) if state}


def rows(book: xlrd.Book, sheet: str) -> Iterator[list[Any]]:
    """Rows from the top; a cell is None, an ErrorCell or a value."""
    page = book.sheet_by_name(sheet)

    @cache
    def measures(style: int) -> bool:
        form = book.format_map[book.xf_list[style].format_key].format_str
        return LENGTH.search(form) is not None

    for row in range(page.nrows):
        kinds, values = page.row_types(row), page.row_values(row)
        yield [
            _cell(kind, value, book.datemode, kind in NUMBERS and measures(page.cell_xf_index(row, column)))
            for column, (kind, value) in enumerate(zip(kinds, values, strict=True))
        ]


NUMBERS = (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE)


def _cell(kind: int, value: Any, calendar: int, measures: bool) -> Any:  # noqa: FBT001 - two facts of a cell
    if kind in NUMBERS and measures:
        return dt.timedelta(milliseconds=round(value * MILLISECONDS))
    if kind == xlrd.XL_CELL_DATE:
        return _moment(value, calendar)
    if kind == xlrd.XL_CELL_BOOLEAN:
        return bool(value)
    if kind == xlrd.XL_CELL_ERROR:
        return ErrorCell(xlrd.error_text_from_code.get(value, f"#{value}"))
    return value if kind in (xlrd.XL_CELL_TEXT, xlrd.XL_CELL_NUMBER) else None


def _moment(number: float, calendar: int) -> Any:
    """A date, a date and time, or below 1 a time of day; an impossible day stays a number."""
    if not (is_day(number) or (calendar and number >= 0)):
        return number
    leap = 1 if not calendar and number < MARCH_1900 else 0
    try:
        moment = EPOCHS[calendar] + dt.timedelta(days=leap, milliseconds=round(number * MILLISECONDS))
    except OverflowError:
        return number
    if number < 1:
        return moment.time()
    return moment if moment.time() != dt.time() else moment.date()
