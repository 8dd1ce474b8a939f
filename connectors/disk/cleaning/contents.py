"""What a kind of file offers so that its records can be cleaned: its tables, and the next version of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from connectors.base import DatasetSettings
from connectors.target import Cell, Cells


class Unwritable(Exception):
    """The changed file would not be read as planned. The message is a clause, without values."""

    def __init__(self, reason: str, remedy: str = "choose another value") -> None:
        super().__init__(reason)
        self.remedy = remedy


@dataclass(frozen=True)
class FormerPlace:
    """Where a removed record was. `row` is the digest of its cells; its kind of file alone understands the others."""

    at: int
    tail: str
    row: str


@dataclass(frozen=True)
class Edits:
    """The changes of one table in a version of its file.

    `changed` are records by number, None to remove one; `added` have the digest of their cells. `row_of` are those of
    the removed records, and `removed` the places of earlier ones, in the order of the file. An added record whose
    digest is among them goes back there, any other one to the end.
    """

    table: FileTable
    changed: Mapping[int, Cells | None]
    added: Sequence[tuple[Cells, str]] = ()
    removed: Sequence[FormerPlace] = ()
    row_of: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NextVersion:
    """The new version, which every reader reads as planned, and the places of removed records, by table."""

    content: FileContent
    removed: Mapping[str, tuple[FormerPlace, ...]]


class FileTable(Protocol):
    """The records of one table in one version of a file, by number from 0."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def count(self) -> int:
        """The number of records."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the dataset by which it was read, as JSON."""

    def texts(self, columns: Sequence[str], numbers: Sequence[int] | None = None) -> Iterable[tuple[str, ...]]:
        """The texts of these columns by which records are named, "" for null: of all, or of those with these numbers.

        They are the same however a program that saves the file writes the values.
        """

    def named(self, cell: Cell) -> str:
        """The text of a cell as `texts` has it."""

    def is_same(self, first: Cell, second: Cell) -> bool:
        """Return True if both hold the same value, however it is written; the second may be of another table."""

    def typed(self, columns: Sequence[str], numbers: Sequence[int] | None = None) -> Iterator[tuple[Any, ...]]:
        """The values of these columns as a scan reads them, of the records with these numbers; None: of all."""

    def places(self, number: int) -> Mapping[str, Any]:
        """The place of a record in the columns that every source of its kind adds, such as `_row`."""

    def cells(self, number: int) -> Cells: ...

    def fitted(self, number: int | None, name: str, cell: Cell, beside: Cells) -> Cell:
        """The cell as it is written in that column of a record with these cells. Raises Unwritable.

        `number` is None for a record that is added.
        """

    def check_removal(self, number: int) -> None:
        """Raises Unwritable if the record cannot be removed."""


class FileContent(Protocol):
    """One version of a file."""

    @property
    def data(self) -> bytes: ...

    def table(self, name: str, dataset: DatasetSettings | Mapping[str, Any] | None = None) -> FileTable:
        """A table, read by its dataset; by settings that were noted only if the source has not read it itself.

        Raises a ConnectorError.
        """

    def next_version(self, edits: Mapping[str, Edits]) -> NextVersion:
        """Make the next version and read it back. Raises Unwritable, ConnectorError."""
