"""Former versions of cleaned files, which their target keeps: count them, delete old ones, and erase a person's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.errors import ConnectorError
from connectors.target import Cells, KeepsVersions, KeptVersions
from reconcile.config.settings import DatasetConfig, Project
from reconcile.store import Store, erasing

Source = Callable[[str], object]
"""A source of the project by its name. Raises a ConnectorError."""


@dataclass(frozen=True)
class Upkeep:
    """The number and size of versions, the number of digests in notes, and why a source was not reached, by name."""

    versions: int = 0
    size: int = 0
    digests: int = 0
    unreached: Mapping[str, str] = field(default_factory=dict)

    @property
    def reached(self) -> Mapping[str, int]:
        """The numbers by what was deleted, without zeros."""
        numbers = {"former versions of files": self.versions, "notes beside files": self.digests}
        return {what: number for what, number in numbers.items() if number}


def kept(project: Project, source: Source) -> Upkeep:
    """Count the versions that are kept now."""
    return _through(project, source, lambda target, datasets: target.kept_versions(_settings(datasets)))


def release(store: Store, project: Project, source: Source, *, dry_run: bool = False) -> Upkeep:
    """Delete the versions from before changes that can no longer be undone, as `compaction` deletes before-images.

    Those from before an erasure of a dataset are deleted too: a source may have been out of reach then, or restored
    since. `dry_run` only counts. Raises a StoreError.
    """
    with store.read() as tx:
        until = tx.now - project.undo_window
        erased: dict[str, dt.datetime] = {}
        for erasure in erasing.recorded(tx):
            erased[str(erasure.subjects["dataset"])] = erasure.at

    def of_target(target: KeepsVersions, datasets: Sequence[DatasetConfig]) -> KeptVersions:
        number = size = 0
        for dataset in datasets:
            latest = max(until, erased.get(dataset.name, until))
            released = target.release_versions([dataset.settings], latest, dry_run=dry_run)
            number, size = number + released.number, size + released.size
        return KeptVersions(number, size)

    return _through(project, source, of_target)


def erase(
    project: Project, source: Source, dataset: str, rows: Sequence[tuple[str, Cells]], *, dry_run: bool = False
) -> Upkeep:
    """Delete all versions of the files of a dataset, and what notes tell of these removed rows.

    `dry_run` only counts the versions. Do this before the state forgets the rows.
    """
    digests = 0

    def of_target(target: KeepsVersions, datasets: Sequence[DatasetConfig]) -> KeptVersions:
        nonlocal digests
        if not dry_run:
            digests += target.forget_rows(_settings(datasets), rows)
        return target.release_versions(_settings(datasets), None, dry_run=dry_run)

    counted = _through(project, source, of_target, only=dataset)
    return Upkeep(counted.versions, counted.size, digests, counted.unreached)


def _through(
    project: Project,
    source: Source,
    of_target: Callable[[KeepsVersions, Sequence[DatasetConfig]], KeptVersions],
    only: str | None = None,
) -> Upkeep:
    number = size = 0
    unreached: dict[str, str] = {}
    for name, datasets in _by_source(project, only):
        try:
            target = source(name)
            counted = of_target(target, datasets) if isinstance(target, KeepsVersions) else KeptVersions()
        except ConnectorError as error:
            unreached[name] = str(error)
            continue
        number, size = number + counted.number, size + counted.size
    return Upkeep(number, size, unreached=unreached)


def _by_source(project: Project, only: str | None) -> Iterator[tuple[str, list[DatasetConfig]]]:
    by_source: dict[str, list[DatasetConfig]] = {}
    for dataset in project.datasets.values():
        if only is None or dataset.name == only:
            by_source.setdefault(dataset.source, []).append(dataset)
    yield from sorted(by_source.items())


def _settings(datasets: Sequence[DatasetConfig]) -> list[Any]:
    return [dataset.settings for dataset in datasets]
