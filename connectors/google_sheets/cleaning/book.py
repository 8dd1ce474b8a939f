"""One consistent read of the spreadsheet for cleaning: sheets with the facts of their cells, and our ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from connectors.errors import RENAMED, DatasetMissing
from connectors.google_sheets import reading
from connectors.google_sheets.cleaning.ledger import LEDGER, LEDGER_ID, Ledger, metadata_of
from connectors.google_sheets.client import Api
from connectors.google_sheets.connector import GoogleSheetsDataset
from connectors.google_sheets.grid import SheetFacts, cell_of, facts_of, quoted, rows_of, value_of, width_of
from connectors.headers import stable_names
from connectors.target import Cell, Cells
from connectors.workbook.blocks import ErrorCell
from connectors.workbook.cells import TextForm, text_of
from connectors.workbook.sheet import Sheet

_CELL = (
    "userEnteredValue,effectiveValue,formattedValue,effectiveFormat.numberFormat.type,dataValidation,"
    "hyperlink,textFormatRuns.startIndex,chipRuns.chip"
)
_TABLES = "tables(range,columnProperties(columnIndex,columnType,dataValidationRule))"
_FIELDS = (
    f"properties(timeZone,locale),developerMetadata(metadataId),"
    f"sheets({reading.FACTS},merges,protectedRanges,{_TABLES},data.rowData.values({_CELL}))"
)
Grid = list[list[Mapping[str, Any]]]
Key = tuple[tuple[str, Cell], ...]


@dataclass
class BookTable:
    """A sheet with records: `header` and `rows` are places of rows, from 0, `columns` those of columns by name."""

    facts: SheetFacts
    dataset: GoogleSheetsDataset
    grid: Grid
    sheet: Sheet
    header: int
    columns: dict[str, int]
    rows: tuple[int, ...]
    merges: Sequence[Mapping[str, int]] = ()
    protected: Sequence[Mapping[str, Any]] = ()
    typed_tables: Sequence[Mapping[str, Any]] = ()
    """Google's tables in the sheet, whose columns may have types."""
    locale: str = ""
    _by_key: dict[tuple[str, ...], dict[tuple[Cell, ...], list[int]]] = field(default_factory=dict)

    def cell(self, row: int, column: int) -> Mapping[str, Any]:
        cells = self.grid[row] if row < len(self.grid) else []
        return cells[column] if column < len(cells) else {}

    def cells(self, row: int) -> Cells:
        return {name: cell_of(self.cell(row, column)) for name, column in self.columns.items()}

    def places(self, key: Key) -> list[int]:
        """The rows of the records with this key."""
        names = tuple(name for name, _ in key)
        if not set(names) <= set(self.columns):
            return []
        if names not in self._by_key:
            by_key: dict[tuple[Cell, ...], list[int]] = defaultdict(list)
            for row in self.rows:
                by_key[tuple(cell_of(self.cell(row, self.columns[name])) for name in names)].append(row)
            self._by_key[names] = dict(by_key)
        return self._by_key[names].get(tuple(cell for _, cell in key), [])

    @property
    def width(self) -> int:
        return max(width_of(self.grid), 1)


@dataclass(frozen=True)
class Book:
    """The spreadsheet at one moment; `ledger` is None before the first cleaning."""

    timezone: str
    sheets: Sequence[SheetFacts]
    tables: Mapping[str, BookTable]
    ledger: Ledger | None
    grids: Mapping[int, Grid]

    def cell(self, sheet: int, row: int, column: int) -> Mapping[str, Any]:
        grid = self.grids.get(sheet, [])
        cells = grid[row] if row < len(grid) else []
        return cells[column] if column < len(cells) else {}


def read(
    source: str,
    api: Api,
    datasets: Mapping[str, GoogleSheetsDataset],
    place: Callable[[], Path],
    also: Iterable[int] = (),
) -> Book:
    """Read these tables, by the title of their sheet, the sheets with the ids `also`, and the ledger, in one request.

    Raises a ConnectorError.
    """
    _, sheets = reading.sheets_of(api)
    titles = [sheet.title for sheet in sheets]
    for title in datasets:
        if title not in titles:
            raise _missing(source, title, sheets)
    ids = {*also, LEDGER_ID}
    ranges = [("ranges", quoted(sheet.title)) for sheet in sheets if sheet.title in datasets or sheet.id in ids]
    if not ranges:
        return Book("UTC", sheets, {}, None, {})
    answer = api.spreadsheet([*ranges, ("fields", _FIELDS)])
    timezone = str(answer.get("properties", {}).get("timeZone", "UTC"))
    locale = str(answer.get("properties", {}).get("locale", ""))
    tables: dict[str, BookTable] = {}
    ledger: Ledger | None = None
    grids: dict[int, Grid] = {}
    for sheet in answer.get("sheets", []):
        facts, grid = facts_of(sheet), rows_of(sheet)
        grids[facts.id] = grid
        if facts.id == LEDGER_ID:
            ledger = Ledger.read(source, facts, grid, metadata_of(answer))
        elif facts.title in datasets:
            tables[facts.title] = _table(source, datasets[facts.title], (timezone, locale), sheet, place())
    missing = next((title for title in datasets if title not in tables), None)
    if missing is not None:
        raise _missing(source, missing, sheets)
    return Book(timezone, sheets, tables, ledger, grids)


def _missing(source: str, title: str, sheets: Sequence[SheetFacts]) -> DatasetMissing:
    return DatasetMissing(source, f"sheet {title}", [sheet.title for sheet in sheets if not sheet.hidden], RENAMED)


def is_ours(sheet: SheetFacts) -> bool:
    return sheet.id == LEDGER_ID or sheet.title == LEDGER


def _table(
    source: str, dataset: GoogleSheetsDataset, where: tuple[str, str], content: Mapping[str, Any], target: Path
) -> BookTable:
    """The table of a sheet; `where` are the time zone and the locale of the spreadsheet."""
    timezone, locale = where
    facts, grid = facts_of(content), rows_of(content)
    zoned = dataset if "timezone" in dataset.model_fields_set else dataset.model_copy(update={"timezone": timezone})
    sheet = reading.typed_rows(source, zoned, facts.title, grid, target)
    header = sheet.header[2] - 1
    texts = [_heading(value_of(cell)) for cell in grid[header]] if header < len(grid) else []
    texts += [""] * (width_of(grid[header:]) - len(texts))
    columns = {name: n for n, name in enumerate(stable_names(texts)) if name in sheet.columns}
    rows = [row - 1 for batch in sheet.read(()) for row in batch.column("_row").to_pylist()]
    return BookTable(
        facts,
        zoned,
        grid,
        sheet,
        header,
        columns,
        tuple(rows),
        content.get("merges", ()),
        content.get("protectedRanges", ()),
        content.get("tables", ()),
        locale,
    )


def _heading(value: Any) -> str:
    return "" if isinstance(value, ErrorCell) else text_of(value, TextForm()) or ""
