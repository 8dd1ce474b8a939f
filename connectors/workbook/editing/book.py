"""A workbook (xlsx, xlsm) to edit: bytes in, bytes out. It knows no files, locks or targets.

Every part stays as it is, byte for byte, but for the edited sheets and the flag that asks for a recalculation. The
chain of calculation stays right, since no cell with a formula is changed. Filters, pivot tables and charts show what
they showed until a program that opens the workbook refreshes them. Excel computes all formulas as it opens the
workbook; LibreOffice does so only if it is set to.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO, Self

from connectors.errors import FileRefused, FileUnreadable
from connectors.target import Cell
from connectors.workbook.editing.cells import CellWriter, RawCell, shared
from connectors.workbook.editing.contents import Contents, ListedSheet
from connectors.workbook.editing.dimension import with_dimension
from connectors.workbook.editing.edits import NewCell, SheetEdits
from connectors.workbook.editing.grid import Facts, SheetGrid
from connectors.workbook.editing.markup import MAIN, PartText, PartXml
from connectors.workbook.editing.package import Package
from connectors.workbook.editing.refusals import NotEditable, refused
from connectors.workbook.editing.relations import only_part
from connectors.workbook.editing.rows import RowEditor
from connectors.workbook.editing.sheet import SheetText
from connectors.workbook.editing.strings import SharedStrings
from connectors.workbook.editing.styles import Styles
from connectors.workbook.editing.surroundings import Surroundings
from connectors.workbook.guard import WorkbookLimits, kind_of

_MOST_UNPACKED = 2_000_000_000
_OTHER_KINDS = {
    ".ods": "it is an OpenDocument workbook (.ods)",
    ".xls": "it is an old workbook (.xls)",
    ".xlsb": "it is a binary workbook (.xlsb)",
}
_NO_STRINGS = b'<sst xmlns="%s"/>' % MAIN.encode()
_FINAL = "_MarkAsFinal"


@dataclass(frozen=True)
class _InMemory:
    """The bytes of a workbook, for the checks of files."""

    name: str
    content: bytes = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.content)

    def bytes(self) -> BinaryIO:
        return io.BytesIO(self.content)


@dataclass(frozen=True)
class Book:
    """One version of a workbook. All methods raise TargetRefused, with a sentence that holds no values."""

    name: str
    package: Package = field(repr=False)
    _grids: dict[str, SheetGrid] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(cls, name: str, data: bytes, *, unpacked: int = _MOST_UNPACKED) -> Self:
        """Check a workbook and read its list of sheets; `unpacked` is the most bytes that it may unpack to."""
        ending = name[name.rfind(".") :].lower() if "." in name else ""
        if ending not in (".xlsx", ".xlsm"):
            what = _OTHER_KINDS.get(ending, "its name does not end with .xlsx or .xlsm")
            raise refused(name, f"{what}; only .xlsx and .xlsm workbooks are cleaned")
        try:
            kind = kind_of(_InMemory(name, data), WorkbookLimits(unpacked, 0, 0))
        except (FileRefused, FileUnreadable) as error:
            raise refused(name, error.reason) from error
        if kind != "xlsx":
            raise refused(name, f"it is {kind} under another name; only .xlsx and .xlsm workbooks are cleaned")
        book = cls(name, Package(data))
        try:
            if obstacle := book._obstacle():
                raise refused(name, obstacle)
        except NotEditable as error:
            raise refused(name, str(error)) from error
        return book

    def _obstacle(self) -> str | None:
        """The reason why nothing in the workbook is changed, as a clause."""
        parts = [part.lower() for part in self.package.names]
        if any(part.startswith("_xmlsignatures/") for part in parts):
            return "it is signed, and any change would make the signature invalid"
        if any(part.startswith("xl/revisions/") for part in parts):
            return "it is shared and tracks changes; end the sharing in Excel first"
        if self._contents.asks_for_password:
            return "saving it needs a password"
        if "docprops/custom.xml" in parts and self._is_final():
            return "it is marked as final"
        return None if self.sheets else "it has no sheet of cells"

    def _is_final(self) -> bool:
        name = next(part for part in self.package.names if part.lower() == "docprops/custom.xml")
        properties = PartXml.of(name, self.package.read(name)).root.children
        final = [element for element in properties if element.get("name") == _FINAL]
        return any(child.text.strip().lower() in ("true", "1") for element in final for child in element.children)

    @property
    def sheets(self) -> tuple[str, ...]:
        """The names of the sheets of cells, in their order; hidden ones too."""
        return tuple(sheet.name for sheet in self._contents.sheets if sheet.kind == "worksheet")

    def sheet(self, name: str) -> SheetGrid:
        """The sheet of that name."""
        if name not in self._grids:
            listed = next((sheet for sheet in self._contents.sheets if sheet.name == name), None)
            if listed is None or listed.kind != "worksheet":
                what = "has no sheet" if listed is None else f"has a {listed.kind}, which holds no cells,"
                raise refused(self.name, f"it {what} of that name")
            try:
                self._grids[name] = self._grid(listed, self._sheet_text(listed))
            except NotEditable as error:
                raise refused(self.name, str(error)) from error
        return self._grids[name]

    def edited(self, edits: Mapping[str, SheetEdits]) -> bytes:
        """The workbook with these changes of its sheets.

        All or nothing: raises TargetRefused if any change has an obstacle.
        """
        try:
            return self.package.rewritten(self._changed_parts(edits))
        except NotEditable as error:
            raise refused(self.name, str(error)) from error

    def _changed_parts(self, edits: Mapping[str, SheetEdits]) -> Mapping[str, bytes]:
        """The parts that these changes change, unpacked. Raises NotEditable, too."""
        changed = {}
        for name, sheet_edits in edits.items():
            grid = self.sheet(name)
            data = self._edited_sheet(grid, sheet_edits)
            if data != grid.text.data:
                changed[grid.text.name] = data
        has_formulas, _ = self._traits
        if changed and has_formulas:
            part = self._contents.part
            changed[part.name] = part.spliced(self._contents.recalculating())
        return changed

    def _edited_sheet(self, grid: SheetGrid, edits: SheetEdits) -> bytes:
        _check(self.name, grid, edits)
        written = [*edits.cells.values(), *(cell for row in edits.appended for cell in row.values())]
        texts = [text for cell in written if (text := shared(cell.cell if isinstance(cell, RawCell) else cell))]
        writer = CellWriter(grid.text.prefix, self._traits[1], self._strings.indexes(texts), self._strings.prefix)
        editor = RowEditor(grid.text, self._strings, writer, self._styles.number)
        sheet = grid.text
        if edits.cells:
            sheet = editor.with_cells({place: (cell, _style(grid, place, cell)) for place, cell in edits.cells.items()})
        if edits.appended:
            next_row = sheet.last_row + 1
            rows = [
                [(column, _value(cell), _style(grid, (next_row, column), cell)) for column, cell in sorted(row.items())]
                for row in edits.appended
            ]
            sheet = RowEditor(sheet, self._strings, writer, self._styles.number).appended(rows)
        return with_dimension(grid.text, sheet, edits).data

    @cached_property
    def _contents(self) -> Contents:
        return Contents.of(self.package)

    @cached_property
    def _strings(self) -> SharedStrings:
        name = only_part(self.package, self._contents.part.name, "sharedStrings")
        if name is None:
            return SharedStrings(PartText(_NO_STRINGS, b"", "utf-8"))
        return SharedStrings.of(name, self.package.read(name))

    @cached_property
    def _styles(self) -> Styles:
        name = only_part(self.package, self._contents.part.name, "styles")
        return Styles(PartXml.of(name, self.package.read(name)) if name else None)

    @cached_property
    def _traits(self) -> tuple[bool, bool]:
        """Whether any sheet has formulas, which may read a changed cell, and whether any writes the type of numbers."""
        has_formulas = types_numbers = False
        for sheet in self._contents.sheets:
            if sheet.kind == "worksheet" and not (has_formulas and types_numbers):
                text = self._sheet_text(sheet)
                has_formulas, types_numbers = has_formulas or text.has_formulas, types_numbers or text.types_numbers
        return has_formulas, types_numbers

    def _sheet_text(self, listed: ListedSheet) -> SheetText:
        grid = self._grids.get(listed.name)
        return grid.text if grid else SheetText.of(listed.part, self.package.read(listed.part))

    def _grid(self, listed: ListedSheet, text: SheetText) -> SheetGrid:
        facts = Facts(
            self.name,
            self._strings,
            self._styles,
            self._contents.dates_from_1904,
            {name.name.casefold(): name.formula for name in self._contents.names if name.sheet in (None, listed.name)},
            self.sheet,
        )
        return SheetGrid(listed.name, text, Surroundings(self.package, listed.part, text, self._styles), facts)


def _value(cell: NewCell) -> Cell:
    return cell.cell if isinstance(cell, RawCell) else cell


def _style(grid: SheetGrid, place: tuple[int, int], cell: NewCell) -> int:
    return cell.style if isinstance(cell, RawCell) else grid.style(*place) if cell is not None else 0


def _check(name: str, grid: SheetGrid, edits: SheetEdits) -> None:
    """Raise TargetRefused for the first change with an obstacle."""
    obstacles = [grid.obstacle(*place) for place in edits.cells]
    if edits.appended:
        obstacles.append(grid.obstacle_of_rows())
    for obstacle in filter(None, obstacles):
        raise refused(name, obstacle)
