"""A CSV file that is changed through the port of a target, as cleaning does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from connectors.files.connector import FilesDataset, FilesSettings
from connectors.files.source import FilesSource
from connectors.target import Change, Receipt, Row, RowName

STORE = ("st_ours", 1)


@dataclass
class CsvFileTarget:
    """A file `customers.csv` with the id `id`, opened anew for each call, as processes do."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    name: str = "customers.csv"

    @property
    def path(self) -> Path:
        return self.folder / self.name

    @property
    def dataset(self) -> FilesDataset:
        return FilesDataset(path=self.name, **self.settings)

    @property
    def target(self) -> FilesSource:
        """Another process's target, which has read the file."""
        source = FilesSource("files", FilesSettings(type="files"), self.folder)
        source.describe(self.dataset)
        return source

    def write(self, data: bytes | str) -> CsvFileTarget:
        self.path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return self

    def rows(self, *ids: str) -> list[Row]:
        rows = self.target.rows(self.dataset, ["id"], [(identifier,) for identifier in ids])
        return [row for row in rows if row is not None]

    def changes(self, after: Mapping[str, Mapping[str, str | None] | None]) -> list[Change]:
        """Changes of records by id: the texts to set, or None to delete."""
        changes = []
        for row in self.rows(*after):
            texts = after[str(row.values["id"])]
            cells = None if texts is None else {n: None if t is None else ("t", t) for n, t in texts.items()}
            changes.append(Change(row.name, row.cells, cells, "surplus"))
        return changes

    def make(self, changes: Sequence[Change], *keys: str) -> None:
        """Make the changes in one transaction, with receipts of these keys."""
        with self.target.work(5) as work:
            if keys:
                work.receive([self.receipt(key) for key in keys])
            work.lock([change.row for change in changes])
            work.apply_all(changes)
            work.commit()

    def change(self, after: Mapping[str, Mapping[str, str | None] | None], *keys: str) -> list[Change]:
        """Make these changes, and return those that take them back."""
        changes = self.changes(after)
        self.make(changes, *keys)
        with self.target.work(5) as work:
            now = work.lock([change.row for change in changes])
        return [
            Change(change.row, None, change.before, "surplus")
            if change.after is None
            else Change(
                change.row, now[change.row].cells, {n: (change.before or {})[n] for n in change.after}, "surplus"
            )
            for change in changes
        ]

    def moves(self, to: CsvFileTarget, *ids: str) -> list[Change]:
        """Changes that move records with these ids to another file with the same columns."""
        changes = []
        for row in self.rows(*ids):
            changes.append(Change(RowName(to.name, row.name.key), None, row.cells, "moved"))
            changes.append(Change(row.name, row.cells, None, "surplus"))
        return changes

    def receipt(self, key: str) -> Receipt:
        return Receipt(key, f"of {key}", *STORE, 3, "P-1", table=self.name)

    def beside(self) -> set[str]:
        """The names of the files in its folder, without itself."""
        return {path.name for path in self.folder.iterdir()} - {self.name}
