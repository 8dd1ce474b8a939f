"""Refuses Parquet files of a Delta or Iceberg table: which of them count, and which rows, only its log says."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from connectors.errors import FileRefused


def refuse_tables(root: Path, files: Iterable[Path]) -> None:
    """Raise FileRefused for a file in a folder of a table, at any depth."""
    first = {folder: path for path in sorted(files, reverse=True) for folder in path.absolute().parents}
    for folder, path in sorted(first.items()):
        for kind, settings in _table(folder):
            name = path.relative_to(root).as_posix()
            reason = f"it belongs to the {kind} table in folder {folder.name!r}, whose log says which rows are current"
            raise FileRefused(name, reason, f"read the table with {settings}")


def _table(folder: Path) -> Iterator[tuple[str, str]]:
    if os.path.isdir(folder / "_delta_log"):  # noqa: PTH112 - False, too, where this user may not look
        yield (
            "Delta",
            f"`type: delta` and `root: {folder.parent}` in the source, and `path: {folder.name}` in the dataset",
        )
    if any((folder / "metadata").glob("*.metadata.json")):
        yield "Iceberg", "`type: iceberg` and its `catalog` in the source, and `table: NAMESPACE.TABLE` in the dataset"
