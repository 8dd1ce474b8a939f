"""Sheets of xlsx files: large ones in slabs of rows, parsed two at a time, others in one piece.

A slab is a small workbook in memory: some rows of the sheet, and the parts that all sheets share. A sheet is cut only
where it is written as programs write it: before a row that says its number, with nothing but elements and text between
its ends. Any other is Indivisible, and what was read of it is read once more in one piece.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from connectors.workbook_blocks import NOTHING, Block, blocks

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
ENCODING = re.compile(rb"""encoding=["']([^"']*)""")


class Indivisible(Exception):
    """This sheet cannot be cut; it is to be read in one piece."""


@dataclass(frozen=True)
class _Slab:
    first: int
    left: int
    rows: list[list[Any]]
    errors: frozenset[tuple[int, int]]


def whole(path: Path, book: CalamineWorkbook, sheet: str) -> Iterator[Block]:
    """The sheet in one piece, errors looked for beside it; at first an empty block, as soon as that has begun."""
    with ThreadPoolExecutor(WORKERS) as workers:
        parsed = workers.submit(book.get_sheet_by_name, sheet)
        failed = workers.submit(_errors, path, sheet)
        yield NOTHING
        cells = parsed.result()
        left = _left(cells)
        errors = frozenset((row, column - left) for row, column in failed.result())
    yield from blocks(cells.iter_rows(), errors)


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
        yield Block(slab.first, rows, frozenset((row, column - left) for row, column in slab.errors))


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
    errors = frozenset(_error_cells(io.BytesIO(xml))) if _mentions(xml) else frozenset()
    return _Slab(cells.start[0] + 1, cells.start[1], cells.to_python(), errors)


def _left(cells: CalamineSheet) -> int:
    return (cells.start or (0, 0))[1]


# Errors, which calamine gives as empty cells


def _errors(path: Path, sheet: str) -> set[tuple[int, int]]:
    with zipfile.ZipFile(path) as archive:
        part = part_of(archive, sheet)
        if part is None:
            return set()
        tail = b""
        with archive.open(part) as file:
            while chunk := file.read(1 << 20):
                if _mentions(tail + chunk):
                    break
                tail = chunk[-8:]
            else:
                return set()
        with archive.open(part) as file:
            return set(_error_cells(file))


def _mentions(xml: bytes) -> bool:
    return b't="e"' in xml or (b"'" in xml and b"t='e'" in xml)


def _error_cells(file: IO[bytes]) -> Iterator[tuple[int, int]]:
    """(row as people count, column from 0) of each."""
    from lxml import etree  # noqa: PLC0415 - most sheets have no errors

    row = 0
    events = etree.iterparse(
        file, events=("start", "end"), tag=("{*}row",), resolve_entities=False, no_network=True, load_dtd=False
    )
    for event, one in events:
        if event == "start":
            row = int(one.get("r") or row + 1)
            continue
        column = -1
        for cell in one:
            column = _letters(cell.get("r")) if cell.get("r") else column + 1
            if cell.get("t") == "e":
                yield row, column
        one.clear()


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
