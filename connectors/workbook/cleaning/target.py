"""A workbook as a target: its sheets are tables, which one exchange of the file changes together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from connectors.disk.cleaning import exchange
from connectors.disk.cleaning.target import FileTarget
from connectors.disk.paths import looking, matching, rooted
from connectors.target import Catalogue, TargetRefused
from connectors.workbook.cleaning.version import WorkbookVersion
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource

MOST_BYTES = 32_000_000
"""A larger workbook is not cleaned: a transaction reads it several times, and may take 20 seconds."""


class WorkbookTarget(FileTarget):
    """One workbook with a fixed name. A table is a sheet, by its name."""

    kind = "sheet"

    def __init__(
        self, name: str, settings: WorkbookSettings, directory: Path, read_by: dict[str, WorkbookDataset]
    ) -> None:
        super().__init__(name, read_by)
        self._settings, self._directory = settings, directory

    def identity(self) -> str:
        path = self._path()
        with looking(self.name, path):
            status = path.parent.stat()
        return f"workbook:{status.st_dev}:{status.st_ino}:{path}"

    def name_of(self, dataset: WorkbookDataset) -> str:
        obstacle = WorkbookSource.obstacle(self._settings, dataset)
        if obstacle is not None:
            raise TargetRefused(f"Records of {self._file} cannot be cleaned: {obstacle}")
        if isinstance(dataset.sheet, str):
            return dataset.sheet
        path = self._path()
        with looking(self.name, path):
            return self.content(self._file, path.read_bytes()).only_sheet

    def file_of(self, table: str) -> str:
        del table
        return self._file

    def file_name(self, dataset: WorkbookDataset) -> str | None:
        return self._file if WorkbookSource.obstacle(self._settings, dataset) is None else None

    @property
    def folder(self) -> Path:
        return self.place(self._file).parent

    def place(self, file: str) -> Path:
        del file
        root, patterns = rooted(self._directory, [str(self._settings.path)])
        path = root.joinpath(*patterns)
        return path.parent.resolve() / path.name

    def path(self, file: str) -> Path:
        path = self._path()
        exchange.refuse_links(path, file)
        return path

    def content(self, file: str, data: bytes) -> WorkbookVersion:
        if len(data) > MOST_BYTES:
            raise TargetRefused(f"Records of {file} cannot be cleaned: it has more than {MOST_BYTES:,} bytes; split it")
        return WorkbookVersion(file, data, self._settings, self._read_by)

    def beside(self, dataset: WorkbookDataset, table: str, key: Sequence[str]) -> Catalogue:
        settings = self._read_by.get(table) or WorkbookDataset(sheet=table, columns=dict[str, Any]())
        return self._facts(table, settings, dataset, key)

    @property
    def _file(self) -> str:
        assert isinstance(self._settings.path, str)  # noqa: S101 - a source of several workbooks is refused before
        return Path(self._settings.path).name

    def _path(self) -> Path:
        root, patterns = rooted(self._directory, [str(self._settings.path)])
        [path] = matching(self.name, root, patterns)
        return path.parent.resolve() / path.name
