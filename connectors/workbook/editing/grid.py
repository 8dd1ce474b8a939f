"""One sheet as rows and raw cells: reads only what is asked for, and tells what cannot be changed."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from connectors.target import Cell
from connectors.workbook.editing.cells import DATE, EMPTY, FORMULA, NUMBER, PlacedCell, RawCell, placed_cells
from connectors.workbook.editing.edits import NewCell
from connectors.workbook.editing.fitting import Place, fitted, serial, shown_date
from connectors.workbook.editing.formulas import references
from connectors.workbook.editing.markup import Element
from connectors.workbook.editing.ranges import LAST_COLUMN, LAST_ROW, CellRange, cell_name
from connectors.workbook.editing.refusals import NotEditable, refused
from connectors.workbook.editing.sheet import SheetText
from connectors.workbook.editing.strings import SharedStrings
from connectors.workbook.editing.styles import Styles
from connectors.workbook.editing.surroundings import Surroundings

_NEAR = 100
"""How many rows above and below a cell are looked at for the kind and the style of its column."""
_CACHED = 4096
_MOST_IN_LIST = 10_000
"""The most cells of a range that a data validation lists."""


@dataclass(frozen=True)
class Facts:
    """What a sheet has in common with its workbook; `others` opens another sheet."""

    book: str
    strings: SharedStrings
    styles: Styles
    dates_from_1904: bool
    names: Mapping[str, str]
    others: Callable[[str], SheetGrid]


@dataclass(frozen=True)
class SheetGrid:
    """A sheet of a workbook. Rows and columns count from 1. Raises TargetRefused for what cannot be read exactly."""

    name: str
    text: SheetText
    around: Surroundings
    facts: Facts
    _cache: dict[int, Mapping[int, PlacedCell]] = field(default_factory=dict, compare=False, repr=False)

    def cell(self, row: int, column: int) -> RawCell | None:
        """The cell as it is stored; None if the sheet has no element for it."""
        with self._refusing():
            return self._cell(row, column)

    def shown(self, row: int, column: int) -> Cell:
        """The cell as a plan shows it: a number that shows as a date has the tag `d`. None without a value.

        A date whose text would not give the very same number stays a number.
        """
        raw = self.cell(row, column)
        return None if raw is None or raw.tag == EMPTY else self.as_shown(raw.cell, raw.style)

    def as_shown(self, cell: Cell, style: int) -> Cell:
        """The cell as `shown` tells it once it is written with that style."""
        if cell is None or cell[0] != NUMBER or self.facts.styles.shown_as(style) != "date":
            return cell
        return shown_date(cell[1], dates_from_1904=self.facts.dates_from_1904) or cell

    def written(self, row: int, column: int, cell: Cell, *, first_row: int | None = None) -> NewCell:
        """The cell to write so that `shown` tells the same. Raises NotEditable.

        A date gets a style that shows dates where the place has none.
        """
        former = self.cell(row, column)
        if cell is None:
            return None if former is None else (EMPTY, "")
        if cell[0] != DATE or (former is not None and former.tag == DATE):
            return cell
        style = self.style(row, column, first_row=first_row)
        if self.facts.styles.shown_as(style) != "date":
            style = self.facts.styles.first_date
        return RawCell(NUMBER, serial(cell[1], dates_from_1904=self.facts.dates_from_1904), style)

    def cells(self, row: int) -> Mapping[int, RawCell]:
        """The cells of a row by their columns."""
        with self._refusing():
            return {column: placed.raw for column, placed in self._placed(row).items()}

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except NotEditable as error:
            raise refused(self.facts.book, str(error)) from error

    def _cell(self, row: int, column: int) -> RawCell | None:
        placed = self._placed(row).get(column)
        return placed.raw if placed else None

    def obstacle(self, row: int, column: int) -> str | None:
        """The reason why the value of the cell cannot be replaced, as a clause; None if it can."""
        try:
            reason = self._obstacle(row, column)
        except NotEditable as error:
            return str(error)
        return self._about(row, column, reason) if reason else None

    def obstacle_of_rows(self) -> str | None:
        """The reason why no row can be appended, as a clause; None if one can."""
        try:
            return self._obstacle_of_rows()
        except NotEditable as error:
            return str(error)

    def _obstacle_of_rows(self) -> str | None:
        if self.around.is_protected:
            return f"the sheet {self.name} is protected, so no row can be added"
        if self.around.is_fetched:
            return f"the cells of the sheet {self.name} come from a query, so no row can be added"
        below = [*self.around.merges, *(table.cells for table in self.around.tables), *self.around.pivots]
        if any(cells.last_row > self.text.last_row for cells in [*below, *self.around.arrays]):
            return f"a table, a pivot table or a merge lies below the last row of the sheet {self.name}"
        return None

    def fitted(self, row: int, column: int, cell: Cell, *, first_row: int | None = None) -> Cell:
        """The planned cell as it is written at that place, which `edited` takes.

        The tag `t` is a planned text: the cell that is there, or the nearest of its column from `first_row` on (by
        default the second row of the sheet), tells if it becomes a number, a date, a boolean or a text. The tag `d` is
        a date in ISO form. Raises TargetRefused if the value cannot be written or a data validation forbids it.
        """
        try:
            former, beside = self._cell(row, column), self._beside(row, column, first_row)
            shown = self.facts.styles.shown_as(self.style(row, column, first_row=first_row))
            new = fitted(cell, Place(former, beside, shown, self.facts.dates_from_1904))
            self._check_validations(row, column, new)
        except NotEditable as error:
            reason = NotEditable(self._about(row, column, str(error)))
            raise refused(self.facts.book, str(reason)) from reason
        return new

    def _check_validations(self, row: int, column: int, cell: Cell) -> None:
        for validation in self.around.validations:
            is_here = any(cells.has(row, column) for cells in validation.ranges)
            if is_here and (reason := validation.obstacle(cell, self._listed)):
                raise NotEditable(reason)

    def style(self, row: int, column: int, *, first_row: int | None = None) -> int:
        """The style of the cell; of a cell without an element the style that it would get."""
        former = self._cell(row, column)
        if former is not None:
            return former.style
        beside = next(self._near(row, column, first_row), None)
        return beside.style if beside else self.around.default_style(self._element(row), column)

    def _obstacle(self, row: int, column: int) -> str | None:
        if not (1 <= row <= LAST_ROW and 1 <= column <= LAST_COLUMN):
            return "is outside of the sheet"
        raw = self._cell(row, column)
        if raw is not None and raw.obstacle:
            return raw.obstacle
        style = raw.style if raw else self.around.default_style(self._element(row), column)
        return self.around.obstacle(row, column, style)

    def _placed(self, row: int) -> Mapping[int, PlacedCell]:
        if row not in self._cache:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            span = self.text.span(row)
            element = self._element(row)
            if span is None or element is None:
                self._cache[row] = {}
            else:
                cells = placed_cells(element, row, self.text.text[span], span.start, self.facts.strings)
                self._cache[row] = {cell.column: cell for cell in cells}
        return self._cache[row]

    def _element(self, row: int) -> Element | None:
        return self.text.row(row)

    def _near(self, row: int, column: int, first_row: int | None) -> Iterator[RawCell]:
        """The cells of the column near a row, the nearest first."""
        first = first_row if first_row is not None else (self.text.numbers[1] if len(self.text.numbers) > 1 else 0)
        headers = {table.cells.first_row for table in self.around.tables if table.header_rows}
        for distance in range(1, _NEAR + 1):
            for number in (row - distance, row + distance):
                if number >= max(first, 1) and number not in headers:
                    cell = self._cell(number, column)
                    if cell is not None:
                        yield cell

    def _beside(self, row: int, column: int, first_row: int | None) -> RawCell | None:
        kinds = (EMPTY, FORMULA, "e")
        return next((cell for cell in self._near(row, column, first_row) if cell.tag not in kinds), None)

    def _listed(self, formula: str) -> Sequence[Cell] | None:
        """The cells of a range or of a name for one."""
        formula = self.facts.names.get(formula.strip().casefold(), formula)
        cited = list(references(formula))
        if len(cited) != 1 or cited[0].last_sheet or "(" in formula:
            return None
        sheet = cited[0].sheet
        grid = self if sheet in (None, self.name) else self.facts.others(str(sheet))
        return grid.in_range(cited[0].cells)

    def in_range(self, cells: CellRange) -> Sequence[Cell] | None:
        """The cells with an element in a range; None if it is too large to be a list."""
        first, end = (
            bisect.bisect_left(self.text.numbers, cells.first_row),
            bisect.bisect_right(self.text.numbers, cells.last_row),
        )
        rows = self.text.numbers[first:end]
        if len(rows) * (cells.last_column - cells.first_column + 1) > _MOST_IN_LIST:
            return None
        return [
            raw.cell
            for row in rows
            for column, raw in ((column, placed.raw) for column, placed in self._placed(row).items())
            if cells.first_column <= column <= cells.last_column
        ]

    def _about(self, row: int, column: int, reason: str) -> str:
        return f"the cell {cell_name(row, column)} of the sheet {self.name} {reason}"
