"""An example as its author wrote it: every value is still text, with its position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rules.document.mistakes import Position

DEFAULT_SLOT = "2026-01-01T00:00Z"
"""The due time of an example that has no `at`."""

_RECORDS = {"type": "array", "items": {"type": "object"}}
SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["expect"],
        "properties": {
            "name": {"type": "string"},
            "given": {"anyOf": [_RECORDS, {"type": "object", "additionalProperties": _RECORDS}]},
            "at": {"type": "string"},
            "expect": _RECORDS,
        },
    },
}
"""The JSON Schema of `examples`."""


@dataclass(frozen=True)
class Cell:
    """One value: None if it is empty. `quoted` marks a text in quotes, which no inference takes for a number."""

    text: str | None
    at: Position
    quoted: bool = False


@dataclass(frozen=True)
class GivenRecord:
    """One record of `given`: its cells by column. `columns` holds the position of each column's name."""

    at: Position
    cells: Mapping[str, Cell]
    columns: Mapping[str, Position]


@dataclass(frozen=True)
class WrittenId:
    """The id of a record in `expect`, a cell per column of the id, and its dataset if the author names one."""

    at: Position
    parts: tuple[Cell, ...]
    dataset: str | None = None
    is_list: bool = False


@dataclass(frozen=True)
class ExpectedGroup:
    """One group of `expect`: the ids of its records by role. Any form fits if `form` is None."""

    at: Position
    records: Mapping[str, tuple[WrittenId, ...]]
    form: str | None = None


@dataclass(frozen=True)
class Example:
    """Records by dataset, the due time at which the rule runs on them, and the groups it must find."""

    name: str
    at: Position
    given: Mapping[str, tuple[GivenRecord, ...]]
    expect: tuple[ExpectedGroup, ...]
    slot: Cell

    @property
    def place(self) -> str:
        return f"{self.at.file}:{self.at.line}"
