"""Find the files of a dataset, confined to the root of its source."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
_DIGITS = re.compile("[0-9]+")
WILDCARDS = frozenset("*?[")
MARKING_OPEN = ("~$", ".~lock.")
"""The beginnings of the files that Excel and LibreOffice keep beside a file that is open."""
_OF_OURS = re.compile(r"[.].+[.]reconcile(?:-[A-Za-z0-9]+)*")
LONGEST_NAME = 255  # bytes; the limit of every file system in common use
FORMATS = {".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
FORMATS |= {".json": "json", ".xml": "camt", ".sta": "mt940", ".mt940": "mt940", ".940": "mt940"}
FORMATS |= {".ofx": "ofx", ".qfx": "ofx", ".qbo": "ofx", ".qif": "qif"}


@contextlib.contextmanager
def looking(source: str, place: Path) -> Iterator[None]:
    """Raise AccessDenied instead of an OSError."""
    try:
        yield
    except OSError as error:
        raise AccessDenied(source, str(place), (error.strerror or type(error).__name__).lower()) from error


def listed(source: str, root: Path) -> list[str]:
    """Names of the readable files in the root. Raises SourceMissing if there is no root, AccessDenied."""
    with looking(source, root):
        _refuse_no_folder(source, root)
        return [path.relative_to(root).as_posix() for path in below(root)]


def matching(
    source: str, root: Path, patterns: Sequence[str], near: Callable[[Path], Iterable[Path]] | None = None
) -> list[Path]:
    """The files that the patterns (paths or globs) name below `root`, each once, sorted; they are checked when opened.

    `near` lists files of the root with names to propose, by default those of a known format. Raises SourceMissing if
    there is no root, AccessDenied, DatasetMissing if no file matches one of the patterns, and FileRefused for a pattern
    that leaves the root.
    """
    with looking(source, root):
        paths = {path for pattern in patterns for path in _matching(source, root, pattern, near or below)}
        return sorted(paths)


def rooted(directory: Path, paths: Sequence[str]) -> tuple[Path, list[str]]:
    """The folder that holds all these paths and patterns, which are relative to a directory, and their parts below it.

    For one pattern, that is the folder before its first wildcard.
    """
    split = [_split(directory, path) for path in paths]
    if len(split) == 1:
        return split[0][0], [split[0][1]]
    folders = [os.path.realpath(folder) if ".." in folder.parts else str(folder.absolute()) for folder, _ in split]
    root = os.path.commonpath(folders)
    return Path(root), [
        (Path(folder).relative_to(root) / part).as_posix() for folder, (_, part) in zip(folders, split, strict=True)
    ]


def _split(directory: Path, path: str) -> tuple[Path, str]:
    """The folder of a path, or of a pattern before its first wildcard; the rest."""
    parts = Path(path).parts
    fixed = len(parts) - 1
    if not os.path.lexists(directory / path):
        fixed = next((number for number, part in enumerate(parts) if set(part) & WILDCARDS), fixed)
    return directory.joinpath(*parts[:fixed]), "/".join(parts[max(fixed, 0) :])


def _refuse_no_folder(source: str, root: Path) -> None:
    if not root.is_dir():
        raise SourceMissing(source, str(root), "it is not a folder" if root.exists() else "folder not found")


def _matching(source: str, root: Path, pattern: str, near: Callable[[Path], Iterable[Path]]) -> list[Path]:
    _refuse_no_folder(source, root)
    if "\0" in pattern:
        raise FileRefused(repr(pattern), "a path cannot contain a NUL character", "correct `path`")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(pattern).parts):
        raise FileRefused(pattern, f"no file has a name of more than {LONGEST_NAME} bytes", "correct `path`")
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise FileRefused(pattern, "it is not below the root of its source", "write it relative to `root`, without ..")
    exact = root / pattern
    if exact.is_symlink() or exact.exists():
        paths = [exact]
    elif any("**" in part and part != "**" for part in Path(pattern).parts):
        raise FileRefused(pattern, "`**` must be alone between slashes", "write it like **/*.csv")
    else:
        paths = [path for path in _globbed(root, pattern) if not path.is_dir()] if pattern else []
    if not paths:
        raise DatasetMissing(source, f"file {pattern}", (path.name for path in near(root)))
    return paths


def _globbed(root: Path, pattern: str) -> Iterator[Path]:
    """The paths that match a pattern, without those by which office programs mark a file that is open, and ours."""
    return (path for path in root.glob(pattern) if not _is_marker(path.name))


def beside(path: Path, what: str = "") -> Path:
    """The hidden file in which a cleaning keeps something beside a file: its notes, or `what`."""
    return path.with_name(f".{path.name}.reconcile{'-' if what else ''}{what}")


def _is_marker(name: str) -> bool:
    return name.startswith(MARKING_OPEN) or _OF_OURS.fullmatch(name) is not None


def patterns(names: Sequence[str], header: Callable[[str], tuple[str, ...]]) -> list[str]:
    """The names, with one pattern instead of several that differ only in digits and have the same header."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_DIGITS.sub("*", name), []).append(name)
    candidates: list[str] = []
    for pattern, group in alike.items():
        is_exact = len(group) > 1 and fnmatch.filter(names, pattern) == group
        candidates += [pattern] if is_exact and len(set(map(header, group))) == 1 else group
    return candidates


def is_pattern(path: Path) -> bool:
    """Return True for a path with wildcards that is no existing file."""
    return not WILDCARDS.isdisjoint(str(path)) and not os.path.lexists(path)


def folder_columns(name: str) -> dict[str, str | None]:
    """The columns from folders like year=2026 in the name of a file, as Hive and Spark write them."""
    pairs = (folder.partition("=") for folder in name.split("/")[:-1] if "=" in folder)
    return {unquote(column): None if text in NOTHING else unquote(text) for column, _, text in pairs}


def refuse_other_folders(
    name: str, folders: Collection[str], first: str, expected: Collection[str], columns: Collection[str]
) -> None:
    """Raise HeadersDiffer if the folders of two files give different columns, FileRefused for a column of the file."""
    for these, those, file, reference_name in ((folders, expected, name, first), (expected, folders, first, name)):
        if missing := [column for column in these if column not in those]:
            raise HeadersDiffer(file, missing[0], reference_name)
    if shared := [column for column in folders if column in (*columns, *OURS)]:
        reason = f"its folder and the file both have a column {shared[0]!r}"
        raise FileRefused(name, reason, "rename the folder, or leave `partitions` out")


def state(source: str, root: Path, patterns: Sequence[str]) -> str | None:
    """A digest of names, sizes and times of the files that the patterns name below `root`; None if there is none.

    It omits inode numbers, which change each time on some network shares. Raises SourceUnreachable.
    """
    try:
        paths = sorted({str(path) for pattern in patterns for path in _existing(root, pattern)})
        facts = [(path.removeprefix(f"{root}/"), *status) for path in paths if (status := _size_and_time(path))]
    except (OSError, ValueError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceUnreachable(source, str(root), reason.lower()) from error
    return hashlib.sha256(json.dumps(facts).encode("ascii")).hexdigest() if facts else None


def _existing(root: Path, pattern: str) -> Iterable[Path]:
    exact = root / pattern
    return [exact] if os.path.lexists(exact) else _globbed(root, pattern)


def _size_and_time(path: str) -> tuple[int, int] | None:
    """The size and time of a file, of the file behind a link, or of a broken link; None for a folder or nothing."""
    for look in (os.stat, os.lstat):
        with contextlib.suppress(FileNotFoundError):
            status = look(path)
            return None if stat.S_ISDIR(status.st_mode) else (status.st_size, status.st_mtime_ns)
    return None


def below(root: Path) -> list[Path]:
    """Files of a known format directly in the root, for near names."""
    return sorted(path for path in root.iterdir() if path.is_file() and format_of(path) is not None)


def format_of(path: Path) -> str | None:
    """The format that a name says, without `.gz`."""
    name = path.with_suffix("") if path.suffix == ".gz" else path
    return FORMATS.get(name.suffix.lower())
