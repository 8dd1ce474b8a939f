"""Sheets of xlsx files: large ones in slabs of rows, parsed two at a time, others in one piece.

A slab is a small workbook in memory: some rows of the sheet, and the parts that all sheets share. A sheet is cut only
before a row with a number, and only if it contains nothing but elements and text, as programs write it. Any other sheet
is Indivisible and is read again in one piece.

Sheets of xlsx files whose columns each hold one kind of cell: from file to Arrow without a Python object per cell.

This module reads only sheets for which it agrees with the reader of single cells. Any other sheet is Impure: without a
header of different texts that begins in A1, or with mixed columns, durations, or times of day.
"""

from __future__ import annotations

import datetime as dt
import io
import logging
import re
import zipfile
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import fastexcel
from python_calamine import CalamineError, CalamineWorkbook

from connectors.workbook.blocks import NOTHING, Block, ErrorCell, Impure, blocks, is_day

RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
SLAB = 4 << 20
SHARE = 8
"""A slab is at least so many times as large as the shared parts, which are read with each."""
LARGEST = 8 * SLAB
WORKERS = 2
OPEN = b"<sheetData>"
CLOSE = b"</sheetData>"
BEFORE = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">' + OPEN
AFTER = CLOSE + b"</worksheet>"
ROW = re.compile(rb'<row\s(?:[^>]*\s)?r="[0-9]+"')
NO_DAY = re.compile(rb"v>(?:-|60[.<])")
"""Numbers below 0 and 29 February 1900, anywhere."""
LEAP_DAY = (1900, 2, 28)
DATED = frozenset((dt.time, dt.date, dt.datetime))
Lost = Mapping[tuple[int, int], Any]
ENCODING = re.compile(rb"""encoding=["']([^"']*)""")


class Indivisible(Exception):
    """This sheet cannot be cut; read it in one piece."""


@dataclass(frozen=True)
class _Slab:
    first: int
    offset: int
    rows: list[list[Any]]


def in_one_piece(path: Path, book: CalamineWorkbook, sheet: str) -> Iterator[Block]:
    """Read the sheet in one piece; yield an empty block as soon as the reading has begun."""
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
        yield block
    if by_row:
        raise Indivisible


def in_slabs(path: Path, sheet: str) -> Iterator[Block]:
    """The rows of a large sheet. Raises Indivisible, also in the middle.

    The first block is empty and comes as soon as the first slabs are being parsed.
    """
    offset: int | None = None
    for slab in _slabs(path, sheet):
        if slab is None:
            yield NOTHING
            continue
        offset = slab.offset if offset is None else offset
        aside = slab.offset - offset
        if aside < 0:
            raise Indivisible
        rows = [[None] * aside + row for row in slab.rows] if aside else slab.rows
        yield Block(slab.first, rows)


def _slabs(path: Path, sheet: str) -> Iterator[_Slab | None]:
    """The slabs, with None for an empty one, and None first, when the first ones are being parsed."""
    with zipfile.ZipFile(path) as archive, ThreadPoolExecutor(WORKERS) as workers:
        part = part_of(archive, sheet)
        if part is None:
            raise Indivisible
        shared = [info for info in archive.infolist() if info.filename != part and _is_shared(info.filename)]
        size = max(SLAB, SHARE * sum(info.file_size for info in shared))
        if size > LARGEST or archive.getinfo(part).file_size < 2 * size:
            raise Indivisible
        frame = {info.filename: archive.read(info) for info in shared}
        waiting: deque[Future[_Slab | None]] = deque()
        begun = False
        for rows in _pieces(archive, part, size):
            waiting.append(workers.submit(_parsed, frame, part, sheet, rows))
            if len(waiting) == WORKERS and not begun:
                begun = True
                yield None
            if len(waiting) > WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _is_shared(part: str) -> bool:
    """Return True if every sheet needs that part: facts of the workbook, formats, texts."""
    folder, _, name = part.rpartition("/")
    return folder in ("", "_rels", "xl", "xl/_rels") and name.endswith((".xml", ".rels"))


def _pieces(archive: zipfile.ZipFile, part: str, size: int) -> Iterator[bytes]:
    """The XML of the rows, cut between rows; the file is read to its end."""
    with archive.open(part) as file:
        head, opened, content = file.read(size).partition(OPEN)
        encoding = ENCODING.search(head)
        if not opened or b"<worksheet" not in head or b"<!" in head or head.count(b"<?") > 1:
            raise Indivisible
        if encoding and encoding[1].lower() != b"utf-8":
            raise Indivisible
        while True:
            inside, closed, _ = content.partition(CLOSE)
            if closed:
                break
            cut = _last_row(content)
            yield _plain(content[:cut])
            more = file.read(size)
            if not more:
                raise Indivisible
            content = content[cut:] + more
        yield _plain(inside)
        while file.read(1 << 20):  # the checksum is at the end
            pass


def _last_row(xml: bytes) -> int:
    """The offset of the last row with a number."""
    place = len(xml)
    for _ in range(100):
        place = xml.rfind(b"<row", 0, place)
        if place > 0 and ROW.match(xml, place):
            return place
    raise Indivisible


def _plain(xml: bytes) -> bytes:
    """Return the rows. Raises Indivisible for comments, instructions and the like, which may hold anything."""
    if (b"!" in xml and b"<!" in xml) or (b"?" in xml and b"<?" in xml):  # one byte is found much faster than two
        raise Indivisible
    return xml


def _parsed(frame: dict[str, bytes], part: str, sheet: str, rows: bytes) -> _Slab | None:
    book = io.BytesIO()
    xml = BEFORE + rows + AFTER
    with zipfile.ZipFile(book, "w") as archive:
        for name, content in frame.items():
            archive.writestr(name, content)
        archive.writestr(part, xml)
    book.seek(0)
    try:
        cells = CalamineWorkbook.from_filelike(book).get_sheet_by_name(sheet)
    except CalamineError:  # reading the whole workbook shows the mistake, if any
        raise Indivisible from None
    if cells.start is None:
        return None
    first, offset, parsed_rows = cells.start[0] + 1, cells.start[1], cells.to_python()
    if mentioned := _mentions(xml):
        doubtful = _doubtful(parsed_rows, first, offset) if "day" in mentioned else frozenset[tuple[int, int]]()
        _restore(parsed_rows, dict(_cells_lost(io.BytesIO(xml), doubtful)), first, offset)
    return _Slab(first, offset, parsed_rows)


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
    """Put the lost cells into rows that begin at number `first`. Raises Indivisible if one is outside."""
    for (row, column), cell in lost.items():
        if row < first or column < offset or row - first >= len(rows) or column - offset >= len(rows[row - first]):
            raise Indivisible
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
