"""The currencies written in a column's amounts. Several are a problem: numbers are compared without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from connectors import amounts
from connectors.base import UnreadableCells


@dataclass
class Currencies:
    """The currencies written in the amounts of one column, with their counts; `first` is the place of a second one."""

    column: str
    counts: dict[str, int] = field(default_factory=dict)
    first: str = ""

    def add(
        self, written: pa.Array[Any], values: pa.Array[Any], start: int, place: Callable[[int], str] | None
    ) -> None:
        """Count those of a batch, whose first record has the position `start`; not those of unreadable amounts."""
        import pyarrow.compute as pc  # noqa: PLC0415 - slow to load, and few columns need it

        written = pc.if_else(values.is_valid(), written, pa.scalar(None, written.type))
        for entry in pc.value_counts(written.drop_null()).to_pylist():
            name = amounts.meant(entry["values"])
            if name not in self.counts and len(self.counts) == 1:
                position = start + pc.index(written, pa.scalar(entry["values"])).as_py()
                self.first = place(position) if place else f"record {position + 1}"
            self.counts[name] = self.counts.get(name, 0) + entry["counts"]

    def merge(self, counts: Mapping[str, int], place: str) -> None:
        """Add the counts of a file, by the currencies as they are written."""
        for written, count in counts.items():
            name = amounts.meant(written)
            self.counts[name] = self.counts.get(name, 0) + count
        if not self.first and len(self.counts) > 1:
            self.first = place

    @property
    def problem(self) -> UnreadableCells | None:
        """A warning if there are several; nothing became null."""
        warning = amounts.mixture(self.column, self.counts)
        return None if warning is None else UnreadableCells("*", warning, 0, self.first)
