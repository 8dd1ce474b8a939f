"""The part of a dataset that an incremental detection looks at: the groups of keys that may have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rules.values import RecordId, Value

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Scope:
    """The keys whose groups a detection looked at, as `Group.key`, or the `records` with all their groups.

    Findings of other keys or records stay as they are.
    """

    keys: tuple[Mapping[str, Value], ...] = ()
    records: tuple[RecordId, ...] | None = None


@dataclass(frozen=True)
class KnownGroup:
    """A finding with a group: its key and records.

    `due` says, as a clause, why it must be looked at again, whatever its records are now; it is empty if it need not.
    """

    key: Mapping[str, Value]
    records: tuple[RecordId, ...]
    due: str = ""


class KnownGroups(Protocol):
    """The findings of a rule, as earlier runs left them."""

    def open(self) -> Sequence[KnownGroup]:
        """All findings that had a group. Raises Unscoped if their records cannot be looked up."""

    def due(self) -> Sequence[KnownGroup]:
        """Those of the open findings that are due. Raises Unscoped."""

    def following(self, records: Iterable[RecordId]) -> Sequence[KnownGroup]:
        """All findings, also ended ones, that a group with one of these records may continue; raises Unscoped.

        Their records are all those by which they are known again.
        """

    def judged(self) -> Sequence[KnownGroup]:
        """The records that people judged to be different, by the key that they had then; raises Unscoped."""


@dataclass(frozen=True)
class Changed:
    """Records of a table that changed since an earlier run, and others by their values: all of one snapshot.

    `touched` has the needed columns. `matching` returns the records whose columns of these names have one of the tuples
    of values; it may return more. It raises Unscoped for too many. `present` returns the ids of records that exist, of
    some ids. `remembered` returns what the last run gave to remember, by name: see `Detection.remember`.
    """

    touched: pa.Table
    matching: Callable[[tuple[str, ...], Sequence[tuple[Value, ...]]], pa.Table]
    present: Callable[[Sequence[RecordId]], pa.Table]
    remembered: Callable[[], Mapping[str, bytes]]


class Unscoped(Exception):
    """The groups that may have changed are unknown or too many: all records must be read. The text is a clause."""
