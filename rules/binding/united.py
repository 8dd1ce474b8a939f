"""The records of several datasets as one table for DuckDB.

A row holds the number of its dataset, that dataset's own columns, and its id as texts; the columns of other datasets
are null.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from rules.binding.side import Side
from rules.engines.base import Readable, Streamed
from rules.engines.compile import Compiler, column_type
from rules.engines.embedded import Several

PART = "part"
"""The column with the number of the dataset."""
DIALECT = "duckdb"
_NO_COLUMN = "-"  # in place of a part that a dataset's id lacks; null would be an empty id
Functions = dict[str, tuple[Callable[..., str | None], int]]


def column_name(number: int, column: str) -> str:
    """Return the name of a dataset's own column in the table."""
    return f"{number}.{column}"


def part_number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.Integer())


def all_of(selects: Sequence[sa.Select[Any]]) -> sa.Select[Any]:
    """Select the rows of all of these."""
    first, *others = selects
    union = first.union_all(*others).subquery("all_records") if others else first.subquery("all_records")
    return sa.select(*union.c)


@dataclass(frozen=True)
class United:
    """The table of all records of these sides."""

    sides: Sequence[Side]

    @cached_property
    def table(self) -> sa.TableClause:
        """The table in DuckDB."""
        own = (
            sa.column(column_name(number, name), column_type(side.relation.schema[name].type))
            for number, side in enumerate(self.sides)
            for name in side.needed
        )
        ids = (sa.column(name, sa.Text()) for name in self.ids)
        return sa.table("records", sa.column(PART, sa.Integer()), *own, *ids)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table but the texts of ids."""
        return tuple(column.name for column in self.table.c if column.name not in self.ids)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The columns with the ids as texts; none if no id, or a derived one, finds a record again."""
        derived = any(not set(side.relation.id).isdisjoint(side.relation.derived) for side in self.sides)
        return () if derived else tuple(f"id_{n}" for n in range(self._longest_id))

    @property
    def _longest_id(self) -> int:
        return max(len(side.relation.id) for side in self.sides)

    def loaded(self, records: Mapping[str, Streamed | Readable]) -> Several:
        """Return the records of the datasets in the form of the table."""
        tables = [side.table_named(f"{PART}_{number}") for number, side in enumerate(self.sides)]
        selects = [sa.select(*self.row(number, of_side)) for number, of_side in enumerate(tables)]
        sources = (records[side.relation.dataset] for side in self.sides)
        return Several(tuple(zip(tables, sources, strict=True)), all_of(selects))

    def row(self, number: int, of_side: sa.FromClause) -> Iterator[sa.ColumnElement[Any]]:
        """Yield the number of the dataset, the columns of all datasets (null where they are of another one), and the
        texts of its id.
        """
        yield part_number(number).label(PART)
        for n, side in enumerate(self.sides):
            for name in side.needed:
                yield (of_side.c[name] if n == number else sa.null()).label(column_name(n, name))
        ids = [of_side.c[name] for name in self.sides[number].relation.id] if self.ids else []
        yield from self._id_texts(ids, len(self.ids))

    def ids_of(self, number: int, records: sa.FromClause, slot: dt.datetime) -> Iterator[sa.Select[Any]]:
        """Yield the select of the ids of all records of a dataset; nothing if it has no id."""
        side = self.sides[number]
        if side.relation.id:
            own = side.ids(self.compiler(number, records, slot, {})).subquery("own_ids")
            yield sa.select(part_number(number).label(PART), *self._id_texts(list(own.c), self._longest_id))

    def compiler(self, number: int, records: sa.FromClause, slot: dt.datetime, functions: Functions) -> Compiler:
        """Return a compiler over the records of one dataset, under their own names."""
        side = self.sides[number]
        own = (records.c[column_name(number, name)].label(name) for name in side.needed)
        of_side = sa.select(*own).where(records.c[PART] == part_number(number)).subquery(f"{PART}_{number}")
        return Compiler(side.columns, of_side, DIALECT, slot, side.relation.timezone, functions)

    @staticmethod
    def _id_texts(ids: Sequence[sa.ColumnElement[Any]], length: int) -> Iterator[sa.ColumnElement[Any]]:
        """Yield the parts of an id as texts, so many; null without an id."""
        for n in range(length):
            missing = sa.literal(_NO_COLUMN) if ids else sa.null()
            yield (sa.cast(ids[n], sa.Text()) if n < len(ids) else missing).label(f"id_{n}")
