"""The Target side of a source of files, created only on first use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from connectors.changing import Changing
from connectors.target import Cells, Change, KeptVersions, Promises, RowName

if TYPE_CHECKING:
    from connectors.disk.cleaning.target import FileTarget

F = TypeVar("F", bound="FileTarget")


class ChangingFiles(Changing[F]):
    """As `Changing`; also a `connectors.target.Foreseeing`, and a `connectors.target.KeepsVersions`."""

    promises = Promises(writes_all=True)

    def impossible(self, dataset: Any, changes: Sequence[Change]) -> dict[RowName, str]:
        return self._target.impossible(dataset, changes)

    def kept_versions(self, datasets: Sequence[Any]) -> KeptVersions:
        return self._target.kept_versions(datasets)

    def release_versions(
        self, datasets: Sequence[Any], until: dt.datetime | None, *, dry_run: bool = False
    ) -> KeptVersions:
        return self._target.release_versions(datasets, until, dry_run=dry_run)

    def forget_rows(self, datasets: Sequence[Any], rows: Sequence[tuple[str, Cells]]) -> int:
        return self._target.forget_rows(datasets, rows)
