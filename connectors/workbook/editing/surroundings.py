"""What lies over the cells of a sheet: merges, tables, pivot tables, arrays, protection, data validation."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from connectors.workbook.editing.markup import Element, PartXml
from connectors.workbook.editing.package import Package
from connectors.workbook.editing.ranges import CellRange, parsed_range
from connectors.workbook.editing.refusals import NotEditable
from connectors.workbook.editing.relations import Relation, relations
from connectors.workbook.editing.sheet import SheetText
from connectors.workbook.editing.styles import Styles
from connectors.workbook.editing.validation import Validation, validations


@dataclass(frozen=True)
class Table:
    """A table of a sheet: all its cells, and how many of its first and last rows are header and totals.

    `is_fetched`: its rows come from a query, so that a refresh would replace them.
    """

    name: str
    cells: CellRange
    header_rows: int
    totals_rows: int
    is_fetched: bool

    def obstacle(self, row: int, column: int) -> str | None:
        if not self.cells.has(row, column):
            return None
        if self.is_fetched:
            return f"is in the table {self.name}, whose rows come from a query"
        if row < self.cells.first_row + self.header_rows:
            return f"is a header of the table {self.name}"
        if row > self.cells.last_row - self.totals_rows:
            return f"is a total of the table {self.name}"
        return None


@dataclass(frozen=True)
class Surroundings:
    """What lies over the cells of a sheet. Raises NotEditable for what cannot be read."""

    package: Package
    part: str
    sheet: SheetText
    styles: Styles

    @cached_property
    def relations(self) -> list[Relation]:
        return relations(self.package, self.part)

    def related(self, kind: str) -> Iterator[PartXml]:
        """The parts of a kind that belong to the sheet."""
        for relation in self.relations:
            if relation.kind == kind:
                if relation.part is None:
                    raise NotEditable(f"a sheet refers to a part of the kind {kind} that is not there")
                yield PartXml.of(relation.part, self.package.read(relation.part))

    @cached_property
    def merges(self) -> list[CellRange]:
        return [_range(element) for element in self._elements("mergeCells", "mergeCell")]

    @cached_property
    def tables(self) -> list[Table]:
        tables = []
        for part in self.related("table"):
            root = part.root
            tables.append(
                Table(
                    root.get("displayName") or root.get("name"),
                    _range(root),
                    root.number("headerRowCount", 1),
                    root.number("totalsRowCount"),
                    any(relation.kind == "queryTable" for relation in relations(self.package, part.name)),
                )
            )
        return tables

    @cached_property
    def pivots(self) -> list[CellRange]:
        """The cells of pivot tables, those of their page filters too."""
        pivots = []
        for part in self.related("pivotTable"):
            location = part.root.first("location")
            if location is None:
                raise NotEditable("a pivot table has no place")
            top, left, bottom, right = _range(location)
            pages, columns = location.number("rowPageCount"), location.number("colPageCount")
            above = pages + 1 if pages else 0
            pivots.append(CellRange(max(1, top - above), left, bottom, max(right, left + 3 * columns)))
        return pivots

    @cached_property
    def arrays(self) -> list[CellRange]:
        """The cells that a formula of several cells fills: arrays, spilled ones too, and data tables."""
        if not any(word in self.sheet.text for word in (b"array", b"dataTable")):
            return []
        kinds = ("array", "dataTable")
        ranges = [
            parsed_range(formula.get("ref", "")) for formula in self.sheet.formulas() if formula.get("t") in kinds
        ]
        if None in ranges:
            raise NotEditable("a formula fills cells that it does not name")
        return [cells for cells in ranges if cells is not None]

    @cached_property
    def mapped(self) -> list[CellRange]:
        """The cells that are bound to an XML file."""
        parts = self.related("tableSingleCells")
        names = [element.get("r") for part in parts for element in part.root.all("singleXmlCell")]
        return [cells for name in names if (cells := parsed_range(name))]

    @cached_property
    def validations(self) -> list[Validation]:
        return list(validations(self.sheet.frame.root))

    @property
    def is_protected(self) -> bool:
        protection = self.sheet.frame.root.first("sheetProtection")
        return protection is not None and protection.get("sheet", "0") in ("1", "true")

    @property
    def is_fetched(self) -> bool:
        """Return True if cells of the sheet come from a query that is no table."""
        return any(relation.kind == "queryTable" for relation in self.relations)

    def default_style(self, row: Element | None, column: int) -> int:
        """The style of a cell without an element: that of its row or its column."""
        if row is not None and row.get("customFormat", "0") in ("1", "true"):
            return row.number("s")
        firsts, columns = self._columns
        position = bisect.bisect_right(firsts, column) - 1
        if position >= 0 and column <= columns[position][0]:
            return columns[position][1]
        return 0

    @cached_property
    def _columns(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The first column of each group of columns; the last one of it, and their style."""
        elements = sorted(self._elements("cols", "col"), key=lambda element: element.number("min"))
        return (
            [element.number("min") for element in elements],
            [(element.number("max"), element.number("style")) for element in elements],
        )

    def _elements(self, outer: str, inner: str) -> list[Element]:
        return [child for element in self.sheet.frame.root.all(outer) for child in element.all(inner)]

    def obstacle(self, row: int, column: int, style: int) -> str | None:
        """The reason why the value of a cell of that style cannot be replaced, as a clause about the cell."""
        if self.is_fetched:
            return "is on a sheet whose cells come from a query"
        if self.is_protected and self.styles.is_locked(style):
            return "is locked, and its sheet is protected"
        for merge in self.merges:
            if merge.has(row, column) and (row, column) != merge[:2]:
                return "is hidden behind the first cell of a merge"
            if merge.has(row, column) and merge.last_row > row:
                return "is merged with cells of the rows below, so that its value shows in several records"
        for table in self.tables:
            if obstacle := table.obstacle(row, column):
                return obstacle
        if any(pivot.has(row, column) for pivot in self.pivots):
            return "is in a pivot table"
        if any(cells.has(row, column) for cells in self.arrays):
            return "is filled by a formula of another cell"
        return "is bound to an XML file" if any(cells.has(row, column) for cells in self.mapped) else None


def _range(element: Element) -> CellRange:
    cells = parsed_range(element.get("ref"))
    if cells is None:
        raise NotEditable("a range of a sheet is not written as cells")
    return cells
