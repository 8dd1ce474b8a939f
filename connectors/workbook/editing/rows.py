"""Rows of a sheet: set cells and append rows. All other bytes stay."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from connectors.target import Cell
from connectors.workbook.editing.cells import CellWriter, PlacedCell, RawCell, placed_cells
from connectors.workbook.editing.edits import NewCell
from connectors.workbook.editing.markup import START_TAG, Splice, parsed, spliced
from connectors.workbook.editing.ranges import LAST_ROW, cell_name
from connectors.workbook.editing.refusals import NotEditable
from connectors.workbook.editing.sheet import SheetText
from connectors.workbook.editing.strings import SharedStrings


@dataclass(frozen=True)
class RowEditor:
    """Edits the rows of one version of a sheet; `styles` is the number of styles of the workbook."""

    sheet: SheetText
    strings: SharedStrings
    writer: CellWriter
    styles: int

    def with_cells(self, cells: Mapping[tuple[int, int], tuple[NewCell, int]]) -> SheetText:
        """The sheet with these cells, each with the style of a new element."""
        by_row: dict[int, dict[int, tuple[NewCell, int]]] = defaultdict(dict)
        for (row, column), cell in sorted(cells.items()):
            by_row[row][column] = cell
        splices: list[Splice] = []
        for row, columns in by_row.items():
            splices += self._row_splices(row, columns)
        if splices and not self.sheet.last_row:  # the element of its rows may be closed
            return self.sheet.with_content(self.sheet.place_for(1), b"".join(row for *_, row in splices))
        return self.sheet.with_text(spliced(self.sheet.text, splices))

    def _row_splices(self, number: int, columns: Mapping[int, tuple[NewCell, int]]) -> list[Splice]:
        span = self.sheet.span(number)
        if span is None:
            return self._new_row(number, columns)
        source = self.sheet.text[span]
        element = parsed(self.sheet.name, source, namespaces=False)
        placed = placed_cells(element, number, source, span.start, self.strings)
        existing = {cell.column: cell for cell in placed}
        splices = []
        for column, (cell, style) in columns.items():
            former = existing.get(column)
            if former is None and cell is None:
                continue
            if former is None:
                place = _place_for(column, placed, span.start + element.outside)
                splices.append((place, place, self._written(number, column, cell, style)))
            elif cell is None:
                _check_named(placed, column)
                splices.append((former.start, former.end, b""))
            else:
                splices.append((former.start, former.end, self._instead(number, former, cell)))
        if splices and (element.is_closed or _empties(splices, placed)):
            return [self._whole_row(span, splices)]
        return splices

    def _whole_row(self, span: slice, splices: Sequence[Splice]) -> Splice:
        """The splice of a row that had no cells, or will have none. A row without anything but its number goes."""
        source = self.sheet.text[span]
        tag = START_TAG.match(source)
        assert tag is not None  # noqa: S101 - the row was parsed
        name, attributes, closing = tag[1], tag[2], tag[3].rstrip(b"/")
        content = b"".join(replacement for *_, replacement in splices)
        if content:
            row = b"<" + name + attributes + closing + b">" + content + b"</" + name + b">"
        elif re.fullmatch(rb"\s+r\s*=\s*[\"']\d+[\"']", attributes):
            row = b""
        else:
            row = b"<" + name + attributes + closing + b"/>"
        return span.start, span.stop, row

    def _new_row(self, number: int, columns: Mapping[int, tuple[NewCell, int]]) -> list[Splice]:
        written = [
            self._written(number, column, cell, style) for column, (cell, style) in columns.items() if cell is not None
        ]
        if not written:
            return []
        place = self.sheet.place_for(number)
        if place < self.sheet.frame.inside.stop:
            _check_row_named(self.sheet, place)
        return [(place, place, self._row(number, written))]

    def _row(self, number: int, cells: Iterable[bytes]) -> bytes:
        name = self.sheet.prefix + b"row"
        return b"<" + name + b' r="%d">' % number + b"".join(cells) + b"</" + name + b">"

    def appended(self, rows: Sequence[Sequence[tuple[int, Cell, int]]]) -> SheetText:
        """The sheet with these rows below the last one: for each cell its column, value and style."""
        number = self.sheet.last_row
        written = []
        for row in rows:
            number += 1
            if number > LAST_ROW:
                raise NotEditable("a sheet has no room for more rows")
            cells = (self.writer.new(number, column, cell, style) for column, cell, style in row if cell is not None)
            written.append(self._row(number, cells))
        return self.sheet.with_content(self.sheet.place_for(number + 1), b"".join(written))

    def _instead(self, number: int, former: PlacedCell, cell: RawCell | tuple[str, str]) -> bytes:
        if isinstance(cell, RawCell):
            verbatim = self._verbatim(number, former.column, cell, is_named=former.is_named)
            if verbatim is not None:
                return verbatim
            cell = (cell.tag, cell.text)
        return self.writer.instead(self.sheet.text[former.start : former.end], cell)

    def _written(self, number: int, column: int, cell: NewCell, style: int) -> bytes:
        if isinstance(cell, RawCell):
            verbatim = self._verbatim(number, column, cell, is_named=True)
            return verbatim or self.writer.new(number, column, (cell.tag, cell.text), style)
        return self.writer.new(number, column, cell, style)

    def _verbatim(self, number: int, column: int, raw: RawCell, *, is_named: bool) -> bytes | None:
        """The XML of a cell as it was read; None if it does not mean the same here."""
        if not raw.xml or raw.style >= self.styles:
            return None
        source = b"<row>" + raw.xml.encode() + b"</row>"
        names = re.search(rb"\sr\s*=\s*[\"']([A-Z]+[0-9]+)[\"']", source[: source.index(b">", 5) + 1])
        if (names is None) == is_named or (names and names[1].decode() != cell_name(number, column)):
            return None
        try:
            row = parsed(self.sheet.name, source, namespaces=False)
            (placed,) = placed_cells(row, number, source, 0, self.strings)
        except NotEditable:
            return None
        return raw.xml.encode() if placed.raw == raw else None


def _place_for(column: int, placed: Sequence[PlacedCell], end: int) -> int:
    following = next((cell for cell in placed if cell.column > column), None)
    if following is None:
        return placed[-1].end if placed else end
    if not following.is_named:
        raise NotEditable("a row has cells without names, so no cell can be put between them")
    return following.start


def _check_named(placed: Sequence[PlacedCell], column: int) -> None:
    """Raise NotEditable if the cell behind that column has its place only by being behind it."""
    following = next((cell for cell in placed if cell.column > column), None)
    if following is not None and not following.is_named:
        raise NotEditable("a row has cells without names, so no cell can be taken from between them")


def _check_row_named(sheet: SheetText, place: int) -> None:
    tag = START_TAG.match(sheet.text, place)
    if tag is not None and not re.search(rb"\sr\s*=", tag[2]):
        raise NotEditable("a sheet has rows without numbers, so no row can be put between them")


def _empties(splices: Sequence[Splice], placed: Sequence[PlacedCell]) -> bool:
    return len(splices) >= len(placed) and not any(replacement for *_, replacement in splices)
