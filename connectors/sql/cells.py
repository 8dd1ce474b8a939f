"""The cells of a row, in a form that can be compared byte for byte and written back.

| database | tag | text |
| --- | --- | --- |
| all | `t` | a text; written into a column of any type, the database reads it as that type |
| PostgreSQL | `t` | every value as PostgreSQL itself writes it, in a session with our settings |
| MariaDB, MySQL | `t` | numbers, dates, texts, enums, json … as the database writes them, floats with all digits |
| | `b` | hex digits: the bytes of binary columns, geometries, and of texts in a character set with ambiguous letters |
| SQLite | `t` | text, where it is UTF-8 |
| | `i` `r` | an integer; a real, shortest digits that give it back, `inf` |
| | `b` `x` | hex digits: a blob; text that is not UTF-8 |

SQLite has a storage class for each cell, the others a type for each column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from connectors.target import Cell

TEXT, BYTES, INTEGER, REAL, BAD_TEXT = "t", "b", "i", "r", "x"
Fragment = tuple[str, tuple[Any, ...]]
"""A piece of SQL and the parameters bound in it."""


@dataclass(frozen=True)
class TableColumn:
    """A column of a table. `form` is the dialect's own word for how it is read and written."""

    name: str
    type: str
    form: str = "plain"
    nullable: bool = True
    generated: bool = False
    identity: bool = False


@dataclass(frozen=True)
class TableShape:
    """A table whose rows can be named: `name` as in RowName, `key` the columns of its primary key or, without one, of
    the first unique key without nulls."""

    name: str
    schema: str | None
    table: str
    columns: tuple[TableColumn, ...]
    key: tuple[str, ...]
    fixed: str | None = None
    """The reason why its rows can only be read, if any."""

    @cached_property
    def by_name(self) -> Mapping[str, TableColumn]:
        return {column.name: column for column in self.columns}

    @cached_property
    def keyed(self) -> tuple[TableColumn, ...]:
        return tuple(self.by_name[name] for name in self.key)


@dataclass(frozen=True)
class TableLink:
    """Columns of a table that refer to those of another; `soft`: declared in YAML, unknown to the database."""

    table: TableShape
    columns: tuple[TableColumn, ...]
    to_table: TableShape
    to_columns: tuple[TableColumn, ...]
    soft: bool


def joined(fragments: Sequence[Fragment], between: str) -> Fragment:
    """Join pieces of SQL by a word, and their parameters."""
    return between.join(sql for sql, _ in fragments), tuple(value for _, bound in fragments for value in bound)


def row_order(key: Sequence[tuple[str, Cell]]) -> list[tuple[str, ...]]:
    """The sort key of rows of one table, nulls first; the same in every process."""
    return [() if cell is None else cell for _, cell in key]


def chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
