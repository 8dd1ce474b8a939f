"""Refuse Parquet files of a Delta or Iceberg table: which files count, and which of their rows, only the table says."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from connectors.disk.paths import format_of
from connectors.errors import FileRefused


def refuse_tables(root: Path, files: Iterable[Path]) -> None:
    """Raise FileRefused for a file that is in the folder of a table, at any depth."""
    first: dict[Path, Path] = {}
    for file in files:
        for folder in {file.parent, _folder_behind_links(file)}:
            first.setdefault(folder, file)
    above = {folder: file for near, file in first.items() for folder in _real(near)}
    for folder, file in above.items():
        for kind, settings in _tables(Path(os.path.realpath(root)), folder):
            reason = f"it belongs to the {kind} table in {folder}, so its rows may be deleted or outdated"
            raise FileRefused(file.relative_to(root).as_posix(), reason, f"read the table with {settings}")


def without_tables(root: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the names of files in the root, but of Parquet files only the first if they belong to a table."""
    is_in_table = False
    for name in names:
        if format_of(Path(name)) == "parquet":
            if is_in_table:
                continue
            try:
                refuse_tables(root, [root / name])
            except FileRefused:
                is_in_table = True
        yield name


def _folder_behind_links(file: Path) -> Path:
    try:
        return Path(os.path.realpath(file)).parent if file.is_symlink() else file.parent
    except OSError:  # it is no link any more, or leads nowhere: opening it says so
        return file.parent


def _real(folder: Path) -> Iterator[Path]:
    """Yield the folder behind links, and all above it."""
    real = Path(os.path.realpath(folder))
    yield from (real, *real.parents)


def _tables(root: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind of a table in the folder, and the settings that read it."""
    if os.path.isdir(folder / "_delta_log"):  # noqa: PTH112 - False, too, where this user may not look
        is_below = folder.is_relative_to(root)
        base, at = (root, "the same `root`") if is_below else (folder.parent, f"`root: {folder.parent}`")
        yield "Delta", f"a source of `type: delta` with {at} and a dataset with `path: {folder.relative_to(base)}`"
    if any((folder / "metadata").glob("*.metadata.json")):
        yield "Iceberg", "a source of `type: iceberg` with its catalogue and a dataset with `table: NAMESPACE.TABLE`"
