"""Sheets of xlsx files whose columns each hold one kind of cell: from file to Arrow without a Python object per cell.

This module reads only sheets for which it agrees with the reader of single cells. Any other sheet is Impure: without a
header of different texts that begins in A1, or with mixed columns, durations, or times of day.
"""

from __future__ import annotations

import logging
import re
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastexcel

from connectors.workbook.blocks import Impure
from connectors.workbook.xlsx import part_of

HEAD = 1 << 16
FIRST = re.compile(
    rb'<sheetData>\s*<row\s(?:[^>]*\s)?r="1"[^>]*>\s*<c\s(?:[^>]*\s)?r="A1"([^>]*)>(.*?)</row>', re.DOTALL
)
CELL = re.compile(rb"<c\s([^>]*?)/?>")
UNNAMED = "__UNNAMED__"
FAILED = re.compile(r"got '(?:Some\()?Error\(")
"""Matches an error cell, but not a text like N/A, which this reader also reports as an error in a numeric column."""


@dataclass(frozen=True)
class Pure:
    """A sheet as it was read, without header: a batch of typed columns, whose row n is row n + 2 of the sheet.

    `errors` are the places (position in the batch, column) of error cells; they are null.
    """

    header: list[str]
    batch: Any
    errors: frozenset[tuple[int, int]]


def read(path: Path, sheet: str, order: Mapping[str, Any]) -> Pure:
    """Read the sheet. Raises Impure, also for any mistake, which the other reader reports."""
    if order["header_row"] not in (None, 1):
        raise Impure
    columns = _columns_of_header(path, sheet)
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    with ThreadPoolExecutor(1) as beside:
        loading = beside.submit(_loaded, path, sheet)
        import pyarrow.compute  # noqa: F401, PLC0415 - slow, so it loads beside the sheet

        try:
            loaded = loading.result()
            batch, wrong = loaded.to_arrow_with_errors()
        except fastexcel.FastExcelError:
            raise Impure from None
    header = [column.name for column in loaded.available_columns()]
    if len(header) != columns or _is_doubtful(header):
        raise Impure
    errors = frozenset(_place(cell, order) for cell in wrong.errors) if wrong else frozenset[tuple[int, int]]()
    return Pure(header, batch, errors)


def _place(cell: fastexcel.CellError, order: Mapping[str, Any]) -> tuple[int, int]:
    """The place of an error cell. Raises Impure if it is a text like N/A, or may be empty by `null_values`."""
    if order["nulls"] or not FAILED.search(cell.detail):
        raise Impure
    return cell.offset_position


def _loaded(path: Path, sheet: str) -> fastexcel.ExcelSheet:
    return fastexcel.read_excel(path).load_sheet(sheet, schema_sample_rows=None, dtype_coercion="strict")


def _columns_of_header(path: Path, sheet: str) -> int:
    """The number of cells in the first row. Raises Impure unless all are texts."""
    with zipfile.ZipFile(path) as archive:
        part = part_of(archive, sheet)
        if part is None:
            raise Impure
        with archive.open(part) as file:
            head = file.read(HEAD)
    first = FIRST.search(head)
    if first is None:
        raise Impure
    cells = CELL.findall(first[0])
    if not all(re.search(rb't="(s|inlineStr|str)"', cell) for cell in cells):
        raise Impure
    return len(cells)


def _is_doubtful(header: list[str]) -> bool:
    """Return True if the reader may have changed a repeated name, or named a column without one."""
    names = set(header)
    numbered = (re.fullmatch(r"(.*)_[0-9]+", name, re.DOTALL) for name in header)
    return any(name.startswith(UNNAMED) for name in header) or any(match and match[1] in names for match in numbered)
