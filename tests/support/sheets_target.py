"""A sheet of the fake that is changed through the port of a target, as cleaning does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from connectors.google_sheets.connector import GoogleSheetsDataset, GoogleSheetsSettings
from connectors.google_sheets.source import GoogleSheetsSource
from connectors.target import Change, Receipt, Row
from tests.support.google_sheets import FakeSheet, GoogleSheets

STORE = ("st_ours", 1)
SECONDS = 20.0
TITLE = "Customers"
ROWS = [
    ["id", "name", "status", "score"],
    ["A-1", "Zoë", None, 5.0],
    ["A-2", "Zoe", "new", 7.0],
    ["A-3", "Ann", None, 5.0],
    ["A-4", "Bob", "new", 1.0],
]


@dataclass
class SheetTarget:
    """The sheet `Customers` with the id `id`, opened anew for each call, as processes do."""

    fake: GoogleSheets
    dataset: GoogleSheetsDataset = field(default_factory=lambda: GoogleSheetsDataset(sheet=TITLE))
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.fake.sheets:
            self.fake.add(TITLE, ROWS)

    @property
    def target(self) -> GoogleSheetsSource:
        """Another process's target."""
        settings = GoogleSheetsSettings(**self.fake.oauth())
        return GoogleSheetsSource("crm", settings, Path(), pause=self.waits.append)

    @property
    def sheet(self) -> FakeSheet:
        return self.fake.sheet(TITLE)

    def record(self, identifier: str) -> dict[str, Any]:
        """The record as it is in the table of the fake."""
        return next(record for record in self.sheet.records() if record["id"] == identifier)

    def column(self, name: str) -> dict[str, Any]:
        return {record["id"]: record[name] for record in self.sheet.records()}

    def rows(self, *ids: str) -> list[Row]:
        rows = self.target.rows(self.dataset, ["id"], [(identifier,) for identifier in ids])
        return [row for row in rows if row is not None]

    def changes(self, after: Mapping[str, Mapping[str, str | None]]) -> list[Change]:
        """Changes of records by id: the texts to set."""
        return [
            Change(
                row.name,
                row.cells,
                {n: None if t is None else ("t", t) for n, t in after[str(row.values["id"])].items()},
                "surplus",
            )
            for row in self.rows(*after)
        ]

    def guards(self, *ids: str) -> list[Change]:
        return [Change(row.name, row.cells, {}, "keeper") for row in self.rows(*ids)]

    def make(self, changes: Sequence[Change], *keys: str, target: GoogleSheetsSource | None = None) -> list[Change]:
        """Make the changes in one transaction as execution does; return those that take them back."""
        target = target or self.target
        target.remembers()
        with target.work(SECONDS) as work:
            if keys:
                work.receive([self.receipt(key) for key in keys])
            before = work.lock([change.row for change in changes])
            if any(before[change.row].cells != change.before for change in changes):
                raise Drifted
            work.apply_all(changes)
            after = work.lock([change.row for change in changes])
            work.commit()
        return [
            Change(change.row, after[change.row].cells, {n: (change.before or {})[n] for n in change.after}, "surplus")
            for change in changes
            if change.after
        ]

    def has_happened(self, key: str) -> bool:
        """Ask as a process does that does not know if a change was made."""
        from connectors.target import ReceiptStands  # noqa: PLC0415

        target = self.target
        try:
            with target.work(SECONDS) as work:
                work.receive([self.receipt(key)])
        except ReceiptStands:
            return True
        return False

    def receipt(self, key: str) -> Receipt:
        return Receipt(key, f"of {key}", *STORE, 3, "P-1", table=TITLE)


class Drifted(Exception):
    """A row was not as planned when it was read."""
