"""One version of a workbook: its sheets as readers read them, beside their raw cells, and the next version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from connectors.base import DatasetSettings
from connectors.disk.cleaning.contents import Edits, FormerPlace, NextVersion, Unwritable
from connectors.disk.cleaning.notes import not_ours
from connectors.disk.scratch import Scratch
from connectors.target import TargetRefused
from connectors.workbook.cleaning.confirming import confirm
from connectors.workbook.cleaning.table import NewRows, SheetTable
from connectors.workbook.editing.book import Book
from connectors.workbook.editing.edits import SheetEdits
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource


@dataclass
class WorkbookVersion:
    """See connectors.disk.cleaning.contents.FileContent."""

    file: str
    data: bytes = field(repr=False)
    settings: WorkbookSettings
    read_by: Mapping[str, WorkbookDataset]
    _tables: dict[str, SheetTable] = field(default_factory=dict)

    @property
    def only_sheet(self) -> str:
        """The name of the only visible sheet. Raises a ConnectorError."""
        return self._source.sheet(WorkbookDataset()).parts[0].sheet

    def table(self, name: str, dataset: DatasetSettings | Mapping[str, Any] | None = None) -> SheetTable:
        if isinstance(dataset, WorkbookDataset):
            given = dataset
        else:
            given = self.read_by.get(name) or self._noted(name, dataset)
        key = f"{name}\n{given.model_dump_json()}"
        if key not in self._tables:
            sheet = self._source.sheet(given)
            self._tables[key] = SheetTable(name, self.file, given, sheet, self._book.sheet(name))
        return self._tables[key]

    def next_version(self, edits: Mapping[str, Edits]) -> NextVersion:
        tables = {name: _sheet(changes) for name, changes in edits.items()}
        rows = {name: table.new_rows(edits[name]) for name, table in tables.items()}
        data = self._edited({name: table.sheet_edits(edits[name], rows[name]) for name, table in tables.items()})
        now = WorkbookVersion(self.file, data, self.settings, self.read_by)
        for name, table in tables.items():
            confirm(table, edits[name], rows[name], now.table(name, table.dataset))
        places = {name: _places(table, edits[name], rows[name]) for name, table in tables.items()}
        return NextVersion(now, places)

    def _edited(self, edits: Mapping[str, SheetEdits]) -> bytes:
        try:
            return self._book.edited(edits)
        except TargetRefused as error:
            raise Unwritable(str(error.__cause__ or error)) from error

    def _noted(self, sheet: str, noted: DatasetSettings | Mapping[str, Any] | None) -> WorkbookDataset:
        if noted is None:
            return WorkbookDataset(sheet=sheet)
        try:
            return WorkbookDataset.model_validate(noted)
        except ValueError as error:
            raise not_ours(self.file) from error

    @cached_property
    def _book(self) -> Book:
        return Book.open(self.file, self.data, unpacked=self.settings.max_unpacked)

    @cached_property
    def _source(self) -> WorkbookSource:
        """Reads this version as every reader does, from a copy."""
        self._scratch = Scratch()
        (self._scratch.path / self.file).write_bytes(self.data)
        settings = self.settings.model_copy(update={"path": self.file})
        return WorkbookSource(Path(self.file).stem, settings, self._scratch.path)


def _sheet(edits: Edits) -> SheetTable:
    assert isinstance(edits.table, SheetTable)  # noqa: S101 - a workbook has no other tables
    return edits.table


def _places(table: SheetTable, edits: Edits, rows: NewRows) -> tuple[FormerPlace, ...]:
    """The places of removed records. Rows do not move: a removed one is emptied, and keeps its number."""
    back = {row for row, _ in rows.placed}
    former = [place for place in edits.removed if place.at not in back]
    gone = [FormerPlace(table.rows[number], "", row) for number, row in edits.row_of.items()]
    return tuple(sorted([*former, *gone], key=lambda place: place.at))
