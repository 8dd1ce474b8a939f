"""Where tables are: folders below the root of a source, or an object store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from connectors.disk.paths import looking
from connectors.errors import FileRefused, SourceMissing

STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")
"""Schemes of object stores that are read."""
DEPTH = 3
"""How many folders deep tables are listed."""
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_OUTSIDE = "it is outside the root of its source"


def scheme_of(address: str) -> str:
    """The scheme of an address in lower case; empty for a path."""
    match = _SCHEME.match(address)
    return match["scheme"].lower() if match else ""


def refuse_scheme(address: str) -> None:
    """Raise ValueError for an address that is neither a path nor one of an object store that is read."""
    scheme = scheme_of(address)
    if scheme and scheme not in STORES:
        raise ValueError(
            f"'{scheme}:' is not an address of tables; write a folder, or an address like s3://bucket/folder, "
            "gs://bucket/folder or abfss://container@account.dfs.core.windows.net/folder"
        )


def refuse_path(path: str) -> str:
    """Return the path of a table below a root; raise ValueError for one that leaves it."""
    parts = PurePosixPath(path).parts
    if scheme_of(path) or PurePosixPath(path).is_absolute() or ".." in parts or "\0" in path:
        raise ValueError("write the folder of the table relative to `root`, without ..")
    return path


def beneath(root: Path, place: str, path: Path) -> Path:
    """The real path of something below the root, links followed. Raises FileRefused, OSError."""
    real = path.resolve(strict=True)
    if not real.is_relative_to(root.resolve(strict=True)):
        raise FileRefused(place, _OUTSIDE, "copy it there or widen `root`")
    return real


def folders_with(source: str, root: Path, child: str) -> list[str]:
    """Folders below the root that have a folder of that name. Raises SourceMissing, AccessDenied."""
    with looking(source, root):
        if not root.is_dir():
            raise SourceMissing(source, str(root), "it is not a folder" if root.exists() else "folder not found")
        return sorted(_folders_with(root, child, DEPTH, ""))


def _folders_with(folder: Path, child: str, depth: int, name: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        inside = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    if child in inside:
        yield name or "."
    elif depth:
        for inner in inside:
            yield from _folders_with(folder / inner, child, depth - 1, f"{name}/{inner}" if name else inner)


def links_below(folder: Path) -> Iterator[Path]:
    """Links in a folder, at any depth."""
    for place, folders, files in os.walk(folder):
        yield from (path for name in (*folders, *files) if (path := Path(place, name)).is_symlink())


def is_inside(path: str) -> bool:
    """Return True if a path that a table's log names is one below the table's folder."""
    return not scheme_of(path) and not any(
        text.startswith("/") or ".." in text.split("/")
        for text in (path.replace("\\", "/"), unquote(path).replace("\\", "/"))
    )
