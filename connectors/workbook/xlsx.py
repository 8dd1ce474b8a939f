"""Sheets of xlsx files: large ones in slabs of rows, parsed two at a time, others in one piece.

A slab is a small workbook in memory: some rows of the sheet, and the parts that all sheets share. A sheet is cut only
where it is written as programs write it: before a row that says its number, with nothing but elements and text between
its ends. Any other is Indivisible, and what was read of it is read once more in one piece.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from python_calamine import CalamineError, CalamineWorkbook

from connectors.workbook.blocks import NOTHING, Block, ErrorCell, blocks, is_day

RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
SLAB = 4 << 20
SHARE = 8
"""A slab is at least so many times as large as the parts that are read again with each."""
LARGEST = 8 * SLAB
WORKERS = 2
OPEN = b"<sheetData>"
CLOSE = b"</sheetData>"
BEFORE = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">' + OPEN
AFTER = CLOSE + b"</worksheet>"
ROW = re.compile(rb'<row\s(?:[^>]*\s)?r="[0-9]+"')
NO_DAY = re.compile(rb"v>(?:-|60[.<])")
"""Numbers below 0 and 29 February 1900, wherever they stand."""
LEAP_DAY = (1900, 2, 28)
DATED = frozenset((dt.time, dt.date, dt.datetime))
Lost = Mapping[tuple[int, int], Any]
ENCODING = re.compile(rb"""encoding=["']([^"']*)""")


class Indivisible(Exception):
    """This sheet cannot be cut; it is to be read in one piece."""


@dataclass(frozen=True)
class _Slab:
    first: int
    left: int
    rows: list[list[Any]]


def whole(path: Path, book: CalamineWorkbook, sheet: str) -> Iterator[Block]:
    """The sheet in one piece; at first an empty block, as soon as its reading has begun."""
    with ThreadPoolExecutor(1) as worker:
        parsed = worker.submit(book.get_sheet_by_name, sheet)
        yield NOTHING
        cells = parsed.result()
    left = (cells.start or (0, 0))[1]
    lost = _lost(path, sheet, cells.iter_rows, left)
    by_row: dict[int, dict[tuple[int, int], Any]] = defaultdict(dict)
    for place, cell in lost.items():
        by_row[place[0]][place] = cell
    for block in blocks(cells.iter_rows()):
        for number in range(block.first, block.first + len(block.rows)):
            _restore(block.rows, by_row.pop(number, {}), block.first, left)
        yield block
    if by_row:
        raise Indivisible


def in_slabs(path: Path, sheet: str) -> Iterator[Block]:
    """The rows of a large sheet. Raises Indivisible, also half-way.

    The first block, an empty one, comes as soon as the first slabs are being parsed.
    """
    left: int | None = None
    for slab in _slabs(path, sheet):
        if slab is None:
            yield NOTHING
            continue
        left = slab.left if left is None else left
        aside = slab.left - left
        if aside < 0:
            raise Indivisible
        rows = [[None] * aside + row for row in slab.rows] if aside else slab.rows
        yield Block(slab.first, rows)


def _slabs(path: Path, sheet: str) -> Iterator[_Slab | None]:
    """The slabs, or None where one holds nothing, and at first, when some are under way."""
    with zipfile.ZipFile(path) as archive, ThreadPoolExecutor(WORKERS) as workers:
        part = part_of(archive, sheet)
        if part is None:
            raise Indivisible
        shared = [one for one in archive.infolist() if one.filename != part and _is_shared(one.filename)]
        size = max(SLAB, SHARE * sum(one.file_size for one in shared))
        if size > LARGEST or archive.getinfo(part).file_size < 2 * size:
            raise Indivisible
        frame = {one.filename: archive.read(one) for one in shared}
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
    """Whether every sheet is read with that part: what the workbook says of itself, formats, texts."""
    folder, _, name = part.rpartition("/")
    return folder in ("", "_rels", "xl", "xl/_rels") and name.endswith((".xml", ".rels"))


def _pieces(archive: zipfile.ZipFile, part: str, size: int) -> Iterator[bytes]:
    """The rows of the sheet as they are written, cut between two rows; the file is read to its end."""
    with archive.open(part) as file:
        head, opened, rest = file.read(size).partition(OPEN)
        said = ENCODING.search(head)
        if not opened or b"<worksheet" not in head or b"<!" in head or head.count(b"<?") > 1:
            raise Indivisible
        if said and said[1].lower() != b"utf-8":
            raise Indivisible
        while True:
            inside, closed, _ = rest.partition(CLOSE)
            if closed:
                break
            cut = _last_row(rest)
            yield _plain(rest[:cut])
            more = file.read(size)
            if not more:
                raise Indivisible
            rest = rest[cut:] + more
        yield _plain(inside)
        while file.read(1 << 20):  # the checksum stands at the end
            pass


def _last_row(xml: bytes) -> int:
    """Where the last row begins that says its number."""
    place = len(xml)
    for _ in range(100):
        place = xml.rfind(b"<row", 0, place)
        if place > 0 and ROW.match(xml, place):
            return place
    raise Indivisible


def _plain(xml: bytes) -> bytes:
    """Rows without comments, instructions and the like, in which anything could stand."""
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
    except CalamineError:  # the whole workbook decides what is wrong, if anything is
        raise Indivisible from None
    if cells.start is None:
        return None
    first, left, found = cells.start[0] + 1, cells.start[1], cells.to_python()
    if mentioned := _mentions(xml):
        doubtful = _doubtful(found, first, left) if "day" in mentioned else frozenset[tuple[int, int]]()
        _restore(found, dict(_cells_lost(io.BytesIO(xml), doubtful)), first, left)
    return _Slab(first, left, found)


# What calamine does not tell: which cells hold an error, and the numbers of days that no calendar has


def _lost(path: Path, sheet: str, rows: Callable[[], Iterable[list[Any]]], left: int) -> Lost:
    """Those of a whole sheet; `rows` gives what calamine made of it, as often as it is called."""
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
        doubtful = _doubtful(rows(), 1, left) if "day" in mentioned else frozenset[tuple[int, int]]()
        with archive.open(part) as file:
            return dict(_cells_lost(file, doubtful))


def _mentions(xml: bytes) -> set[str]:
    """Whether there may be a cell with an "error", or a "day" that no calendar has."""
    error = b't="e"' in xml or (b"'" in xml and b"t='e'" in xml)
    return {word for word, is_there in (("error", error), ("day", NO_DAY.search(xml))) if is_there}


def _doubtful(rows: Iterable[list[Any]], first: int, left: int) -> frozenset[tuple[int, int]]:
    """The places of times of day and of 28 February 1900, which calamine also makes of other numbers."""
    return frozenset(
        (number, column)
        for number, row in enumerate(rows, first)
        if not DATED.isdisjoint(map(type, row))
        for column, cell in enumerate(row, left)
        if isinstance(cell, dt.time) or (isinstance(cell, dt.date) and cell.timetuple()[:3] == LEAP_DAY)
    )


def _cells_lost(file: IO[bytes], doubtful: Container[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Any]]:
    """(row as people count, column from 0) and the cell that belongs there."""
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


def _restore(rows: list[list[Any]], lost: Lost, first: int, left: int) -> None:
    """Put what was lost into rows, the first of which has that number. Raises Indivisible where there is no room."""
    for (row, column), cell in lost.items():
        if row < first or column < left or row - first >= len(rows) or column - left >= len(rows[row - first]):
            raise Indivisible
        rows[row - first][column - left] = cell


def _letters(place: str) -> int:
    found = 0
    for char in place:
        if not char.isalpha():
            break
        found = found * 26 + ord(char.upper()) - 64
    return found - 1


def part_of(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """The part that holds the sheet of that name."""
    from lxml import etree  # noqa: PLC0415 - beside the parsing

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    book = etree.fromstring(archive.read("xl/workbook.xml"), parser)
    target = next((one.get(RELATION) for one in book.iter("{*}sheet") if one.get("name") == sheet), None)
    links = etree.fromstring(archive.read("xl/_rels/workbook.xml.rels"), parser)
    found = next((one.get("Target") for one in links if one.get("Id") == target), None)
    if found is None:
        return None
    part = found.lstrip("/") if found.startswith("/") else f"xl/{found}"
    return part if part in archive.namelist() else None
