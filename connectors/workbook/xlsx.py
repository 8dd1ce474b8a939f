"""Sheets of xlsx files: from file to Arrow without a Python object per cell where that is exact, else cell by cell.

`read` takes only sheets for which it agrees with `by_cells`. Any other sheet needs that reader: one without a
header of different texts that begins in A1, or with mixed columns, durations, or times of day. `by_cells` needs 9 times
the processor time.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import fastexcel
from python_calamine import CalamineWorkbook

from connectors.workbook.blocks import NOTHING, ErrorCell, NeedsCellReader, RowBlock, blocks, is_day

RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
NO_DAY = re.compile(rb"v>(?:-|60[.<])")
"""Numbers below 0 and 29 February 1900, anywhere."""
LEAP_DAY = (1900, 2, 28)
DATED = frozenset((dt.time, dt.date, dt.datetime))
Lost = Mapping[tuple[int, int], Any]


class CellsMissing(Exception):
    """Calamine returned fewer cells than the sheet has."""


def by_cells(path: Path, book: CalamineWorkbook, sheet: str) -> Iterator[RowBlock]:
    """Read the sheet cell by cell; yield an empty block as soon as the reading has begun."""
    with ThreadPoolExecutor(1) as worker:
        parsed = worker.submit(book.get_sheet_by_name, sheet)
        yield NOTHING
        cells = parsed.result()
    offset = (cells.start or (0, 0))[1]
    lost = _lost(path, sheet, cells.iter_rows, offset)
    by_row: dict[int, dict[tuple[int, int], Any]] = defaultdict(dict)
    for place, cell in lost.items():
        by_row[place[0]][place] = cell
    for block in blocks(cells.iter_rows()):
        for number in range(block.first, block.first + len(block.rows)):
            _restore(block.rows, by_row.pop(number, {}), block.first, offset)
        # Calamine's rows begin at the first filled column: a name like column_3 must not depend on what is left of it.
        yield RowBlock(block.first, [[*[None] * offset, *row] for row in block.rows]) if offset else block
    if by_row:
        raise CellsMissing


# Calamine loses errors of cells and the numbers of impossible days: they are restored here


def _lost(path: Path, sheet: str, rows: Callable[[], Iterable[list[Any]]], offset: int) -> Lost:
    """The lost cells of a whole sheet; each call of `rows` returns calamine's rows."""
    with zipfile.ZipFile(path) as archive:
        part = part_of(archive, sheet)
        if part is None:
            return {}
        with archive.open(part) as file:
            tail, mentioned = b"", set[str]()
            while chunk := file.read(1 << 20):
                mentioned |= _mentions(tail + chunk)
                tail = chunk[-8:]
        if not mentioned:
            return {}
        doubtful = _doubtful(rows(), 1, offset) if "day" in mentioned else frozenset[tuple[int, int]]()
        with archive.open(part) as file:
            return dict(_cells_lost(file, doubtful))


def _mentions(xml: bytes) -> set[str]:
    """The kinds of lost cells that may occur: an "error", or an impossible "day"."""
    error = b't="e"' in xml or (b"'" in xml and b"t='e'" in xml)
    return {word for word, is_there in (("error", error), ("day", NO_DAY.search(xml))) if is_there}


def _doubtful(rows: Iterable[list[Any]], first: int, offset: int) -> frozenset[tuple[int, int]]:
    """The places of times of day and of 28 February 1900, to which calamine also converts other numbers."""
    return frozenset(
        (number, column)
        for number, row in enumerate(rows, first)
        if not DATED.isdisjoint(map(type, row))
        for column, cell in enumerate(row, offset)
        if isinstance(cell, dt.time) or (isinstance(cell, dt.date) and cell.timetuple()[:3] == LEAP_DAY)
    )


def _cells_lost(file: IO[bytes], doubtful: Container[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Any]]:
    """(row from 1, column from 0) and the cell that belongs there."""
    from lxml import etree  # noqa: PLC0415 - most sheets have none

    row = 0
    events = etree.iterparse(
        file, events=("start", "end"), tag=("{*}row",), resolve_entities=False, no_network=True, load_dtd=False
    )
    for event, element in events:
        if event == "start":
            row = int(element.get("r") or row + 1)
            continue
        column = -1
        for cell in element:
            column = _letters(cell.get("r")) if cell.get("r") else column + 1
            kind, text = cell.get("t", "n"), cell.findtext("{*}v")
            if kind == "e" and text:
                yield (row, column), ErrorCell(text)
            elif kind == "n" and (row, column) in doubtful and text and not is_day(float(text)):
                yield (row, column), float(text)
        element.clear()


def _restore(rows: list[list[Any]], lost: Lost, first: int, offset: int) -> None:
    """Put the lost cells into rows that begin at number `first`. Raises CellsMissing if one is outside."""
    for (row, column), cell in lost.items():
        if row < first or column < offset or row - first >= len(rows) or column - offset >= len(rows[row - first]):
            raise CellsMissing
        rows[row - first][column - offset] = cell


def _letters(place: str) -> int:
    position = 0
    for char in place:
        if not char.isalpha():
            break
        position = position * 26 + ord(char.upper()) - 64
    return position - 1


def part_of(archive: zipfile.ZipFile, sheet: str) -> str | None:
    from lxml import etree  # noqa: PLC0415 - beside the parsing

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    book = etree.fromstring(archive.read("xl/workbook.xml"), parser)
    target = next((element.get(RELATION) for element in book.iter("{*}sheet") if element.get("name") == sheet), None)
    links = etree.fromstring(archive.read("xl/_rels/workbook.xml.rels"), parser)
    target_path = next((link.get("Target") for link in links if link.get("Id") == target), None)
    if target_path is None:
        return None
    part = target_path.lstrip("/") if target_path.startswith("/") else f"xl/{target_path}"
    return part if part in archive.namelist() else None


HEAD = 1 << 16
FIRST = re.compile(
    rb'<sheetData>\s*<row\s(?:[^>]*\s)?r="1"[^>]*>\s*<c\s(?:[^>]*\s)?r="A1"([^>]*)>(.*?)</row>', re.DOTALL
)
EMPTY = re.compile(rb"<sheetData\s*(?:/>|>\s*</sheetData>)")
CELL = re.compile(rb"<c\s([^>]*?)/?>")
UNNAMED = "__UNNAMED__"
FAILED = re.compile(r"got '(?:Some\()?Error\(")
"""Matches an error cell, but not a text like N/A, which this reader also reports as an error in a numeric column."""


@dataclass(frozen=True)
class TypedSheet:
    """A sheet as it was read, without header: a batch of typed columns, whose row n is row n + 2 of `sheet`.

    `errors` are the places (position in the batch, column) of error cells; they are null.
    """

    sheet: str
    header: list[str]
    batch: Any
    errors: frozenset[tuple[int, int]]


def read(path: Path, sheets: Sequence[str], order: Mapping[str, Any]) -> Iterator[TypedSheet]:
    """Read the sheets, but for empty ones. Raises NeedsCellReader, also for a mistake, which that reader reports."""
    if order["header_row"] not in (None, 1):
        raise NeedsCellReader
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    opened = cache(lambda: fastexcel.read_excel(path))
    for sheet in sheets:
        columns = _columns_of_header(path, sheet)
        if columns is not None:
            yield _read(sheet, columns, opened, order)


def _read(
    sheet: str, columns: int, opened: Callable[[], fastexcel.ExcelReader], order: Mapping[str, Any]
) -> TypedSheet:
    with ThreadPoolExecutor(1) as beside:
        loading = beside.submit(_loaded, opened, sheet)
        import pyarrow.compute  # noqa: F401, PLC0415 - slow, so it loads beside the sheet

        try:
            loaded = loading.result()
            batch, wrong = loaded.to_arrow_with_errors()
        except fastexcel.FastExcelError:
            raise NeedsCellReader from None
    header = [column.name for column in loaded.available_columns()]
    if len(header) != columns or _is_doubtful(header):
        raise NeedsCellReader
    errors = frozenset(_place(cell, order) for cell in wrong.errors) if wrong else frozenset[tuple[int, int]]()
    return TypedSheet(sheet, header, batch, errors)


def _place(cell: fastexcel.CellError, order: Mapping[str, Any]) -> tuple[int, int]:
    """The place of an error cell. Raises NeedsCellReader if it is a text like N/A, or may be empty by `null_values`."""
    if order["nulls"] or not FAILED.search(cell.detail):
        raise NeedsCellReader
    return cell.offset_position


def _loaded(opened: Callable[[], fastexcel.ExcelReader], sheet: str) -> fastexcel.ExcelSheet:
    return opened().load_sheet(sheet, schema_sample_rows=None, dtype_coercion="strict")


def _columns_of_header(path: Path, sheet: str) -> int | None:
    """The number of cells in the first row; None without rows. Raises NeedsCellReader unless all are texts."""
    with zipfile.ZipFile(path) as archive:
        part = part_of(archive, sheet)
        if part is None:
            raise NeedsCellReader
        with archive.open(part) as file:
            head = file.read(HEAD)
    if EMPTY.search(head):
        return None
    first = FIRST.search(head)
    if first is None:
        raise NeedsCellReader
    cells = CELL.findall(first[0])
    if not all(re.search(rb't="(s|inlineStr|str)"', cell) for cell in cells):
        raise NeedsCellReader
    return len(cells)


def _is_doubtful(header: list[str]) -> bool:
    """Return True if the reader may have changed a repeated name, or named a column without one."""
    names = set(header)
    numbered = (re.fullmatch(r"(.*)_[0-9]+", name, re.DOTALL) for name in header)
    return any(name.startswith(UNNAMED) for name in header) or any(match and match[1] in names for match in numbered)
