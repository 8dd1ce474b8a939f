"""Source `google_sheets`: the sheets of a spreadsheet, typed as their cells are.

A read is kept for a few seconds, so that `describe` and `scan` see the same records. `_row` is the row number that the
spreadsheet shows, `_file` the name of the sheet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.base import Declaration, Scan, UnreadableCells
from connectors.changing import Changing
from connectors.disk.scratch import Scratch
from connectors.errors import ReadStopped
from connectors.google_sheets.client import Api
from connectors.google_sheets.connector import GoogleSheetsConnector, GoogleSheetsDataset, GoogleSheetsSettings
from connectors.headers import OURS
from connectors.workbook.declaring import ends, header_row, totals
from connectors.workbook.forms import kinds_of, notation_of

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.google_sheets.cleaning.target import SheetsTarget
    from connectors.target import Change, RowName
    from connectors.workbook.sheet import Sheet

HOLDS = 5.0
"""Seconds for which a read is used again."""


class GoogleSheetsSource(GoogleSheetsConnector, Changing["SheetsTarget"]):
    """The sheets of one spreadsheet. Reads never change them."""

    def __init__(
        self,
        name: str,
        settings: GoogleSheetsSettings,
        directory: Path,
        *,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        """`pause` waits for the next try of a request; None: really."""
        del directory
        self.name = name
        self._settings = settings
        self._api = Api(name, settings, pause)
        self._scratch: Scratch | None = None
        self._read: dict[str, tuple[float, GoogleSheetsDataset, Sheet]] = {}
        self._reads = 0

    def datasets(self) -> Sequence[str]:
        """The visible sheets."""
        from connectors.google_sheets import reading  # noqa: PLC0415 - loads the reader of cells

        return [sheet.title for sheet in reading.sheets_of(self._api)[1] if not sheet.hidden]

    def candidates(self) -> Sequence[str]:
        return self.datasets()

    def declaration(self, candidate: str) -> Declaration:
        """Propose the sheet, its header's row if the first filled row is a title, and the totals to leave out."""
        dataset, settings = GoogleSheetsDataset(sheet=candidate), dict[str, Any](sheet=candidate)
        names = [name for name in self.describe(dataset).names if name not in OURS]
        first, last = ends(self.scan(dataset, ["_file", "_row", *names]), 2)
        reasons: dict[str, str] = {}
        if (row := header_row(names, first)) is not None:
            settings["header_row"], reasons["header_row"] = row, "the rows above it look like a title"
        below = {totals([cells for _, cells in first], cells_of_sheet) for cells_of_sheet in last}
        if len(below) == 1 and (rows := below.pop()):
            settings["skip_footer"], reasons["skip_footer"] = rows, "the last rows are totals"
        return Declaration(settings, reasons)

    def keys(self, dataset: GoogleSheetsDataset) -> Sequence[tuple[str, ...]]:
        del dataset
        return ()

    def describe(self, dataset: GoogleSheetsDataset) -> pa.Schema:
        zoned, sheet = self._sheet(dataset)
        return sheet.described(kinds_of(zoned), notation_of(zoned))

    def scan(self, dataset: GoogleSheetsDataset, columns: Sequence[str]) -> Scan:
        zoned, sheet = self._sheet(dataset)
        return sheet.scan(columns, kinds_of(zoned), notation_of(zoned))

    def warnings(self, dataset: GoogleSheetsDataset, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        return self._sheet(dataset)[1].warnings(columns)

    def state(self, dataset: GoogleSheetsDataset) -> str | None:
        """The version of the whole spreadsheet in Drive: only reading it shows which sheet changed."""
        del dataset
        self._api.begin()
        return self._api.version()

    def content(self, dataset: GoogleSheetsDataset, progress: Callable[[int], None]) -> str:
        """A digest of all values of the sheet; see connectors.base.ContentHashed."""
        from connectors.google_sheets import reading  # noqa: PLC0415 - as above

        del progress
        self._api.begin()
        _, sheets = reading.sheets_of(self._api)
        return reading.content(self._api, reading.chosen(self.name, dataset, sheets))

    def stop(self) -> None:
        self._api.stop()

    def close(self) -> None:
        self._api.close()
        self._read.clear()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def place(self) -> Path:
        """The path of a new temporary file."""
        if self._scratch is None:
            self._scratch = Scratch()
        self._reads += 1
        return self._scratch.path / f"{self._reads}.arrow"

    def _sheet(self, dataset: GoogleSheetsDataset) -> tuple[GoogleSheetsDataset, Sheet]:
        """The settings of the dataset with its time zone, and its records."""
        from connectors.google_sheets import reading  # noqa: PLC0415 - as above

        key, begun = dataset.model_dump_json(), time.monotonic()
        if key in self._read and begun - self._read[key][0] <= HOLDS:
            return self._read[key][1:]
        self._api.begin()
        stops = self._api.stops
        timezone, sheets = reading.sheets_of(self._api)
        zoned = with_timezone(dataset, timezone)
        sheet = reading.read(self.name, self._api, zoned, reading.chosen(self.name, zoned, sheets), self.place())
        if self._api.stops != stops:
            raise ReadStopped(self.name)
        self._read[key] = begun, zoned, sheet
        return zoned, sheet

    def impossible(self, dataset: GoogleSheetsDataset, changes: Sequence[Change]) -> dict[RowName, str]:
        """See connectors.target.Foreseeing."""
        return self._target.impossible(dataset, changes)

    def _new_target(self) -> SheetsTarget:
        from connectors.google_sheets.cleaning.target import SheetsTarget  # noqa: PLC0415 - only cleaning needs it

        return SheetsTarget(self.name, self._settings.spreadsheet, self._api, self.place)


def with_timezone(dataset: GoogleSheetsDataset, timezone: str) -> GoogleSheetsDataset:
    """The settings with the spreadsheet's time zone, unless they have their own."""
    if "timezone" in dataset.model_fields_set:
        return dataset
    return dataset.model_copy(update={"timezone": timezone})
