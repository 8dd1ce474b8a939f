"""The Target side of a source of files, created only on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from connectors.changing import Changing
from connectors.target import Change, Promises, RowName

if TYPE_CHECKING:
    from connectors.disk.cleaning.target import FileTarget

F = TypeVar("F", bound="FileTarget")


class ChangingFiles(Changing[F]):
    """As `Changing`; also a `connectors.target.Foreseeing`."""

    promises = Promises(writes_all=True)

    def impossible(self, dataset: Any, changes: Sequence[Change]) -> dict[RowName, str]:
        return self._target.impossible(dataset, changes)
