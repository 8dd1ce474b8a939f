"""Copies of datasets for a comparison: readers of the same place share one copy, so that they see the same records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from connectors.base import DatasetSettings, SourceSettings
from connectors.errors import ConnectorError, SourceUnavailable
from reconcile.config.settings import Project
from reconcile.detection.copied import CopiedSource
from reconcile.detection.subject import Subject


@dataclass(frozen=True)
class Place:
    """Where the records of a dataset come from and how they are read; equal places hold equal records."""

    source: SourceSettings
    directory: Path
    dataset: DatasetSettings

    @classmethod
    def of(cls, project: Project, dataset: str) -> Place:
        settings = project.datasets[dataset]
        return cls(project.sources[settings.source].settings, project.directory, settings.settings)


@dataclass(frozen=True)
class NeededDataset:
    """A dataset that a rule reads in one release, with the columns it needs."""

    place: Place
    subject: Subject
    columns: tuple[str, ...]


class DatasetCopies:
    """Makes copies in a folder of this process, and removes them at the end of the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[CopiedSource] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for copy in self._made:
            copy.close()

    def read(
        self, needed: Sequence[NeededDataset], progress: Callable[[int], None]
    ) -> list[CopiedSource | ConnectorError]:
        """Return the copy for each dataset, or the error of reading it. Datasets for one place share a copy.

        They get separate copies if a column that only one of them needs cannot be read, or leaves out records.
        """
        copies: dict[int, CopiedSource | ConnectorError] = {}
        for number, dataset in enumerate(needed):
            if number not in copies:
                alike = [n for n in range(number, len(needed)) if needed[n].place == dataset.place]
                read = self._together([needed[place] for place in alike], progress)
                copies.update(zip(alike, read, strict=True))
        return [copies[number] for number in range(len(needed))]

    def _together(
        self, needed: Sequence[NeededDataset], progress: Callable[[int], None]
    ) -> list[CopiedSource | ConnectorError]:
        columns = tuple(dict.fromkeys(column for dataset in needed for column in dataset.columns))
        copy = self._copy(needed[0], columns, progress)
        if isinstance(copy, CopiedSource):
            is_shared = not any(copy.skips_by_any_but(dataset.columns) for dataset in needed)
        else:
            is_shared = isinstance(copy, SourceUnavailable) or all(
                len(dataset.columns) == len(columns) for dataset in needed
            )
        return [copy if is_shared else self._copy(dataset, dataset.columns, progress) for dataset in needed]

    def _copy(
        self, dataset: NeededDataset, columns: Sequence[str], progress: Callable[[int], None]
    ) -> CopiedSource | ConnectorError:
        path = self._folder / f"copy-{len(self._made)}.arrow"
        try:
            copy = CopiedSource(dataset.subject.source, dataset.subject.dataset.settings, columns, path, progress)
        except ConnectorError as error:
            return error
        self._made.append(copy)
        return copy
