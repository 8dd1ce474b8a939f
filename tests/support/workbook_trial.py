"""A trial of the editor on one workbook: every change without an obstacle, checked by independent readers, and back."""

import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import openpyxl
from openpyxl.worksheet.formula import ArrayFormula
from python_calamine import CalamineWorkbook

from connectors.target import Cell, TargetRefused
from connectors.workbook.editing.book import Book
from connectors.workbook.editing.cells import RawCell
from connectors.workbook.editing.edits import SheetEdits
from connectors.workbook.editing.grid import SheetGrid

MARK = "duplicate of 17"
Place = tuple[int, int]
_NO_ROWS = re.compile(rb"<((?:\w+:)?sheetData)\s*(?:/>|></\1\s*>)")
_DIMENSION = re.compile(rb"<(\w+:)?dimension [^>]*>")


def parts(data: bytes) -> dict[str, bytes]:
    """The unpacked parts of a workbook, in their order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist()}


def changed_parts(before: bytes, after: bytes) -> set[str]:
    """The parts that differ or are only in one of two workbooks."""
    first, second = parts(before), parts(after)
    assert [name for name in second if name in first] == [name for name in first if name in second]
    return {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}


def values(data: bytes) -> dict[tuple[str, int, int], Any]:
    """Every filled cell as calamine reads it, by sheet, row and column."""
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    cells = {}
    for metadata in book.sheets_metadata:
        sheet = book.get_sheet_by_name(metadata.name) if str(metadata.typ).endswith("WorkSheet") else None
        top, left = (sheet.start or (0, 0)) if sheet else (0, 0)
        for row, line in enumerate(sheet.iter_rows() if sheet else (), 1):
            for column, value in enumerate(line, left + 1):
                if value != "":
                    cells[metadata.name, row, column] = value
        assert top >= 0
    return cells


@dataclass(frozen=True)
class Version:
    """A workbook after an edit of a sheet, after the inverse of that edit, and the edited places."""

    sheet: str
    edited: bytes
    restored: bytes
    places: set[Place]


@dataclass
class Trial:
    """What came of the changes of a workbook: how often each outcome, and the last changed version of each sheet."""

    name: str
    data: bytes
    outcomes: Counter[str] = field(default_factory=Counter)
    versions: list[Version] = field(default_factory=list)

    def run(self, *, most_sheets: int = 5) -> Counter[str]:
        try:
            book = Book.open(self.name, self.data)
        except TargetRefused as refusal:
            self._refused("open", refusal)
            return self.outcomes
        self._loads = _loads(self.data)
        self._values = values(self.data)
        for sheet in book.sheets[:most_sheets]:
            try:
                grid = book.sheet(sheet)
                self._set(book, grid)
                self._append(book, grid)
            except TargetRefused as refusal:
                self._refused("sheet", refusal)
        return self.outcomes

    def _refused(self, what: str, refusal: TargetRefused) -> None:
        sentence = str(refusal)
        assert sentence.startswith(f"Records of {self.name} cannot be cleaned: "), sentence
        assert "\n" not in sentence
        self.outcomes[f"{what} refused"] += 1

    def _set(self, book: Book, grid: SheetGrid) -> None:
        cells: dict[Place, Cell] = {}
        before: dict[Place, RawCell | None] = {}
        for place in _places(grid):
            obstacle = grid.obstacle(*place)
            if obstacle:
                self.outcomes["cell refused"] += 1
                assert grid.name in obstacle
                continue
            raw = grid.cell(*place)
            try:
                cells[place] = grid.fitted(*place, None if len(cells) == 3 else ("s", MARK))
            except TargetRefused as refusal:
                self._refused("value", refusal)
                continue
            before[place] = raw
        self._checked(book, grid, SheetEdits(cells=cells), SheetEdits(cells=before), set(cells))
        self.outcomes["cells set"] += len(cells)

    def _append(self, book: Book, grid: SheetGrid) -> None:
        if grid.obstacle_of_rows():
            self.outcomes["append refused"] += 1
            return
        last = grid.text.last_row
        row: Mapping[int, Cell] = {1: ("s", " kept  blanks "), 2: ("n", "12.5"), 3: ("b", "1")}
        places = {(last + position, column) for position in (1, 2) for column in row}
        self._checked(book, grid, SheetEdits(appended=[row, row]), SheetEdits(cells=dict.fromkeys(places)), places)
        after = Book.open(self.name, self.versions[-1].edited)
        empty = {place: after.sheet(grid.name).written(*place, None) for place in places}
        assert set(empty.values()) == {("z", "")}
        emptied = after.edited({grid.name: SheetEdits(cells=empty)})
        assert changed_parts(self.data, emptied) <= {grid.text.name, "xl/workbook.xml"}
        self._read(emptied)
        _same_values(self._values, values(emptied), set())
        self.outcomes["rows appended"] += 2

    def _checked(self, book: Book, grid: SheetGrid, edits: SheetEdits, inverse: SheetEdits, places: set[Place]) -> None:
        after = book.edited({grid.name: edits})
        changed = changed_parts(self.data, after)
        assert changed <= {grid.text.name, "xl/workbook.xml"}, changed
        again = Book.open(self.name, after)
        for place, cell in edits.cells.items():
            raw = again.sheet(grid.name).cell(*place)
            assert (raw.cell if isinstance(raw, RawCell) else None) == cell
        self._read(after)
        _same_values(self._values, values(after), {(grid.name, *place) for place in places})
        restored = again.edited({grid.name: inverse})
        self._same_sheet(grid, restored)
        in_journal = {place: raw.cell if isinstance(raw, RawCell) else raw for place, raw in inverse.cells.items()}
        from_journal = again.edited({grid.name: SheetEdits(cells=in_journal)})
        _same_values(self._values, values(from_journal), set())
        self.versions.append(Version(grid.name, after, restored, places))

    def _same_sheet(self, grid: SheetGrid, restored: bytes) -> None:
        """Assert that the sheet has its bytes again, but for an inexact dimension, and the form of an empty element."""
        assert changed_parts(self.data, restored) <= {grid.text.name, "xl/workbook.xml"}
        former, now = parts(self.data)[grid.text.name], parts(restored)[grid.text.name]
        former, now = (_NO_ROWS.sub(rb"<\1/>", sheet) for sheet in (former, now))
        if former != now:
            without = [_DIMENSION.sub(b"", sheet) for sheet in (former, now)]
            assert without[0] == without[1], _difference(*without)
            self.outcomes["inexact dimension"] += 1
        else:
            self.outcomes["restored byte for byte"] += 1

    def _read(self, after: bytes) -> None:
        if self._loads:
            assert _loads(after)


def _places(grid: SheetGrid) -> Iterable[Place]:
    """Some filled cells, and some places within the same columns that may have no cell."""
    chosen: list[Place] = []
    for row in list(grid.text.numbers)[:40]:
        columns = list(grid.cells(row))
        chosen += [(row, column) for column in columns[:2]]
        if columns:
            chosen += [(row, column) for column in range(columns[0], columns[-1]) if column not in columns][:1]
        if len(chosen) > 12:
            break
    return chosen


def _loads(data: bytes) -> bool:
    try:
        opened(data)
    except Exception:  # noqa: BLE001 - whatever it cannot read before an edit, it need not read after
        return False
    return True


def _same_values(before: dict[Any, Any], after: dict[Any, Any], edited: set[Any]) -> None:
    different = [place for place in before.keys() | after.keys() if before.get(place) != after.get(place)]
    assert set(different) <= edited, sorted(set(different) - edited)[:5]


def opened(data: bytes, **options: Any) -> openpyxl.Workbook:
    """The workbook as openpyxl opens it; it warns of everything that it would lose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(io.BytesIO(data), **options)


def formulas(data: bytes) -> set[tuple[str, int, int]]:
    """The cells with formulas, and those that arrays fill, as openpyxl reads them."""
    book = opened(data)
    places = set()
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, ArrayFormula):
                    filled = sheet[cell.value.ref]
                    cells = filled if isinstance(filled, tuple) else ((filled,),)
                    places |= {(sheet.title, each.row, each.column) for line in cells for each in line}
                elif cell.data_type == "f":
                    places.add((sheet.title, cell.row, cell.column))
    return places


def _difference(first: bytes, second: bytes) -> str:
    place = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return f"{first[max(0, place - 60) : place + 60]!r} became {second[max(0, place - 60) : place + 60]!r}"
