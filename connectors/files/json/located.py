"""A record of JSON with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from connectors.files.left_out import MalformedRecords


class Located(NamedTuple):
    """`number` is its position in the file or the list, and `line` where it begins, or its page; both from 1."""

    number: int
    line: int
    record: Mapping[str, Any]


class RecordLayout(Protocol):
    """Where records of JSON are: lines of a file, an array in a document, or the pages of a list."""

    @property
    def name(self) -> str:
        """The file or list, for people."""

    @property
    def left_out(self) -> MalformedRecords:
        """The malformed records that are skipped."""

    def located(self) -> Iterator[Located]:
        """Yield the records in their order. Raises FileUnreadable with the place."""

    def place(self, located: Located) -> str:
        """The place of a record, for people."""

    def count(self) -> int:
        """The number of records."""
