"""What is kept beside cleaned files: count it, delete it when it is old, and erase what it tells about rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.disk.cleaning import notes as beside_file
from connectors.disk.cleaning import versions
from connectors.disk.cleaning.notes import Notes
from connectors.disk.cleaning.opened import OpenedFiles
from connectors.disk.cleaning.swapping import sync_folder
from connectors.disk.cleaning.versions import KeptVersion, stamp_of
from connectors.disk.paths import looking
from connectors.target import Cells, KeptVersions

if TYPE_CHECKING:
    from connectors.disk.cleaning.target import FileTarget

_SECONDS = 20.0


def kept(target: FileTarget, datasets: Iterable[Any]) -> KeptVersions:
    """See connectors.target.KeepsVersions."""
    return _counted([version for path in _files(target, datasets).values() for version in _kept(target, path)])


def release(target: FileTarget, datasets: Iterable[Any], until: dt.datetime | None, *, dry_run: bool) -> KeptVersions:
    """See connectors.target.KeepsVersions."""
    released = KeptVersions()
    for name, path in _files(target, datasets).items():
        old = _counted(_old(_kept(target, path), beside_file.load(path), until))
        if old.number and not dry_run:
            old = _release(target, name, until)
        released = KeptVersions(released.number + old.number, released.size + old.size)
    return released


def _release(target: FileTarget, name: str, until: dt.datetime | None) -> KeptVersions:
    with ExitStack() as locks:
        file, notes = OpenedFiles(target, locks, _SECONDS).settled(name)
        with file.failing("delete a former version of"):
            old = _old(versions.kept(file.path), notes, until)
            released = _counted(old)
            for version in old:
                file.discard(version.path, notes.has_replaced)
            sync_folder(file.path.parent)
    return released


def forget(target: FileTarget, datasets: Iterable[Any], rows: Sequence[tuple[str, Cells]]) -> int:
    """See connectors.target.KeepsVersions."""
    by_file: dict[str, list[tuple[str, Cells]]] = {}
    for table, cells in rows:
        by_file.setdefault(target.file_of(table), []).append((table, cells))
    number = 0
    for name, path in _files(target, datasets).items():
        if name in by_file and _without(beside_file.load(path), by_file[name])[1]:
            with ExitStack() as locks:
                files = OpenedFiles(target, locks, _SECONDS)
                file, notes = files.settled(name)
                notes, removed = _without(notes, by_file[name])
                files.save_notes(file, notes)
                number += removed
    return number


def _kept(target: FileTarget, path: Path) -> list[KeptVersion]:
    with looking(target.name, path.parent):
        return versions.kept(path)


def _counted(kept_versions: Sequence[KeptVersion]) -> KeptVersions:
    return KeptVersions(len(kept_versions), sum(version.size for version in kept_versions))


def _files(target: FileTarget, datasets: Iterable[Any]) -> Mapping[str, Path]:
    """The files of these datasets, and those that changed together with them, even if somebody removed one."""
    names = [name for dataset in datasets if (name := target.file_name(dataset)) is not None]
    if names:
        with looking(target.name, target.folder):
            target.folder.stat()
    paths: dict[str, Path] = {}
    while names:
        name = names.pop()
        if name not in paths and (path := target.place(name)).parent.is_dir():
            paths[name] = path
            names += beside_file.load(path).partners
    return paths


def _old(all_kept: list[KeptVersion], notes: Notes, until: dt.datetime | None) -> list[KeptVersion]:
    """Those of these versions that a change until then replaced; None: all."""
    if until is None:
        return all_kept
    last = notes.versions[-1].at or versions.UNKNOWN_TIME if notes.versions else versions.UNKNOWN_TIME
    return [version for version in all_kept if (version.stamp or last) <= stamp_of(until)]


def _without(notes: Notes, rows: Collection[tuple[str, Cells]]) -> tuple[Notes, int]:
    """The notes without the places of these rows, if they are removed records; and the number of such places."""
    digests = {(table, notes.digest_of(cells)) for table, cells in rows}
    left = {
        table: tuple(place for place in places if (table, place.row) not in digests)
        for table, places in notes.removed.items()
    }
    number = sum(map(len, notes.removed.values())) - sum(map(len, left.values()))
    return replace(notes, removed=left), number
