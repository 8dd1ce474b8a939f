"""Which files a dataset means, confined to the root of its source."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote

from connectors.errors import (
    AccessDenied,
    DatasetMissing,
    FileRefused,
    HeadersDiffer,
    SourceMissing,
    SourceUnreachable,
)
from connectors.headers import OURS

NOTHING = ("", "__HIVE_DEFAULT_PARTITION__")
LONGEST_NAME = 255  # bytes; the limit of every file system in common use
FORMATS = {".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@contextlib.contextmanager
def looking(source: str, place: Path) -> Iterator[None]:
    """Where this user may not look, that is said: raises AccessDenied instead of an OSError."""
    try:
        yield
    except OSError as error:
        raise AccessDenied(source, str(place), (error.strerror or type(error).__name__).lower()) from error


def listed(source: str, root: Path) -> list[str]:
    """Names of the files in the root that could be read. Raises SourceMissing when there is no root, AccessDenied."""
    with looking(source, root):
        _refuse_no_folder(source, root)
        return [one.relative_to(root).as_posix() for one in below(root)]


def matching(source: str, root: Path, pattern: str) -> list[Path]:
    """The files that `pattern` (a path or a glob) names below `root`, sorted; they are checked as they are opened.

    Raises SourceMissing when there is no root, AccessDenied, DatasetMissing when there is no such file, and FileRefused
    for a pattern that leaves the root.
    """
    with looking(source, root):
        return _matching(source, root, pattern)


def _refuse_no_folder(source: str, root: Path) -> None:
    if not root.is_dir():
        raise SourceMissing(source, str(root), "it is not a folder" if root.exists() else "there is no such folder")


def _matching(source: str, root: Path, pattern: str) -> list[Path]:
    _refuse_no_folder(source, root)
    if "\0" in pattern:
        raise FileRefused(repr(pattern), "a path has no NUL character", "correct `path`")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(pattern).parts):
        raise FileRefused(pattern, f"no file has a name of more than {LONGEST_NAME} bytes", "correct `path`")
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise FileRefused(pattern, "it is not below the root of its source", "write it relative to `root`, without ..")
    exact = root / pattern
    if exact.is_symlink() or exact.exists():
        found = [exact]
    elif any("**" in part and part != "**" for part in Path(pattern).parts):
        raise FileRefused(pattern, "`**` stands for folders, alone between slashes", "write it like **/*.csv")
    else:
        found = [one for one in sorted(root.glob(pattern)) if not one.is_dir()] if pattern else []
    if not found:
        raise DatasetMissing(source, f"file {pattern}", (p.name for p in below(root)))
    return found


def folder_columns(name: str) -> dict[str, str | None]:
    """The columns that folders like year=2026 give to a file of that name, as Hive and Spark write them."""
    pairs = (folder.partition("=") for folder in name.split("/")[:-1] if "=" in folder)
    return {unquote(column): None if text in NOTHING else unquote(text) for column, _, text in pairs}


def refuse_other_folders(
    name: str, folders: Collection[str], first: str, expected: Collection[str], columns: Collection[str]
) -> None:
    """Raise HeadersDiffer where the folders of two files give other columns, FileRefused for a column of the file."""
    for here, there, file, other in ((folders, expected, name, first), (expected, folders, first, name)):
        if missing := [column for column in here if column not in there]:
            raise HeadersDiffer(file, missing[0], other)
    if both := [column for column in folders if column in (*columns, *OURS)]:
        reason = f"its folder and the file both have a column {both[0]!r}"
        raise FileRefused(name, reason, "rename the folder, or leave `partitions` out")


def state(source: str, root: Path, pattern: str) -> str | None:
    """A digest of names, sizes and times of the files that `pattern` names below `root`; None where there is none.

    Inode numbers are left out: some shares on a network make up new ones each time. Raises SourceUnreachable.
    """
    exact = root / pattern
    try:
        found = sorted([str(exact)] if os.path.lexists(exact) else map(str, root.glob(pattern)))
        facts = [(one.removeprefix(f"{root}/"), *said) for one in found if (said := _size_and_time(one))]
    except (OSError, ValueError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceUnreachable(source, str(root), reason.lower()) from error
    return hashlib.sha256(json.dumps(facts).encode("ascii")).hexdigest() if facts else None


def _size_and_time(path: str) -> tuple[int, int] | None:
    """Of the file a link leads to, and of the link itself where it leads nowhere; None for what is no file."""
    for look in (os.stat, os.lstat):
        with contextlib.suppress(FileNotFoundError):
            said = look(path)
            return None if stat.S_ISDIR(said.st_mode) else (said.st_size, said.st_mtime_ns)
    return None


def below(root: Path) -> list[Path]:
    """Files of a known format directly in the root, for near names."""
    return sorted(one for one in root.iterdir() if one.is_file() and format_of(one) is not None)


def format_of(path: Path) -> str | None:
    """The format a name speaks of, `.gz` aside."""
    name = path.with_suffix("") if path.suffix == ".gz" else path
    return FORMATS.get(name.suffix.lower())
