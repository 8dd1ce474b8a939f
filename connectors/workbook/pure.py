"""Sheets of xlsx files whose columns each hold one kind of cell: from file to Arrow without a Python object a cell.

Only what this reader and a cell by cell one say alike is read here; any other sheet is Impure, and read cell by cell:
one that does not begin in A1 with a header of different texts, with mixed columns, durations, or times of day.
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
"""How an error cell is told from a text like N/A, which this reader takes for one in a column of numbers."""


@dataclass(frozen=True)
class Pure:
    """A sheet as it was read, header apart: record batches of typed columns, row n of them being row n + 2.

    `errors` are the places (position in the batch, column) of cells that hold an error; they are null.
    """

    header: list[str]
    batch: Any
    errors: frozenset[tuple[int, int]]


def read(path: Path, sheet: str, order: Mapping[str, Any]) -> Pure:
    """The sheet; raises Impure, also for whatever is wrong with it: the other reader says what."""
    if order["header_row"] not in (None, 1):
        raise Impure
    columns = _columns_of_header(path, sheet)
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    with ThreadPoolExecutor(1) as beside:
        loading = beside.submit(_loaded, path, sheet)
        import pyarrow.compute  # noqa: F401, PLC0415 - takes as long as a good part of the sheet

        try:
            found = loading.result()
            batch, wrong = found.to_arrow_with_errors()
        except fastexcel.FastExcelError:
            raise Impure from None
    header = [one.name for one in found.available_columns()]
    if len(header) != columns or _is_doubtful(header):
        raise Impure
    errors = frozenset(_place(cell, order) for cell in wrong.errors) if wrong else frozenset[tuple[int, int]]()
    return Pure(header, batch, errors)


def _place(cell: fastexcel.CellError, order: Mapping[str, Any]) -> tuple[int, int]:
    """Where a cell with an error is; raises Impure where it is a text like N/A, or may be empty by `null_values`."""
    if order["nulls"] or not FAILED.search(cell.detail):
        raise Impure
    return cell.offset_position


def _loaded(path: Path, sheet: str) -> fastexcel.ExcelSheet:
    return fastexcel.read_excel(path).load_sheet(sheet, schema_sample_rows=None, dtype_coercion="strict")


def _columns_of_header(path: Path, sheet: str) -> int:
    """How many cells the first row has, all of them texts."""
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
    if not all(re.search(rb't="(s|inlineStr|str)"', one) for one in cells):
        raise Impure
    return len(cells)


def _is_doubtful(header: list[str]) -> bool:
    """Whether a name may have been changed to tell it from another one, or been given to a column without one."""
    known = set(header)
    numbered = (re.fullmatch(r"(.*)_[0-9]+", one, re.DOTALL) for one in header)
    return any(one.startswith(UNNAMED) for one in header) or any(one and one[1] in known for one in numbered)
