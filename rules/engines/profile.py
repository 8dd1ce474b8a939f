"""Count the values of records in DuckDB: empty and different ones, and values that several records share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rules.engines.base import Stop, Streamed
from rules.engines.compile import column_type
from rules.engines.session import Session
from rules.functions import exact, filled
from rules.values import Schema, Type


@dataclass(frozen=True)
class ColumnCounts:
    """Of a column: the number of empty values, and of different ones among the others."""

    empty: int
    different: int


@dataclass(frozen=True)
class SharedValues:
    """Values of some columns together that several records share: their number, and that of the records.

    Records with an empty value are not counted.
    """

    groups: int
    records: int

    @property
    def surplus(self) -> int:
        return self.records - self.groups


class Profile(Session):
    """DuckDB over all records of a dataset, inside a `with`. Empty is as in rules: also white space only."""

    def __init__(
        self,
        schema: Schema,
        records: Streamed,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> None:
        super().__init__(memory, temp, stop)
        self.schema = schema
        self._records = records
        self._table = sa.table("records", *(sa.column(column.name, column_type(column.type)) for column in schema))

    def load(self) -> None:
        self.take(self._records.open(self.schema.names), self.schema.names, "create temp table records as")

    def count(self) -> int:
        """Return the number of records."""
        [(number,)] = self.rows(sa.select(sa.func.count()).select_from(self._table))
        return int(number)

    def column(self, name: str) -> ColumnCounts:
        """Count the values of one column. Raises OutOfMemory."""
        value = self._value(name)
        wanted: list[sa.ColumnElement[Any]] = [sa.func.count(), sa.func.count(value), sa.func.count(value.distinct())]
        counts = sa.select(*wanted)
        [(records, named, different)] = self.fitting(lambda: self.rows(counts.select_from(self._table)))
        return ColumnCounts(int(records) - int(named), int(different))

    def repeats(self, names: Sequence[str]) -> SharedValues:
        """Count the values of these columns together that several records share. Raises OutOfMemory."""
        values = [self._value(name).label(f"value_{number}") for number, name in enumerate(names)]
        each = sa.select(*values).select_from(self._table).subquery("each_record")
        copies = sa.func.count().label("copies")
        shared = sa.select(copies).where(*(column.is_not(None) for column in each.c)).group_by(*each.c)
        repeated = shared.having(sa.func.count() > 1).subquery("repeated")
        wanted: list[sa.ColumnElement[Any]] = [sa.func.count(), sa.func.coalesce(sa.func.sum(repeated.c.copies), 0)]
        total = sa.select(*wanted).select_from(repeated)
        [(groups, records)] = self.fitting(lambda: self.rows(total))
        return SharedValues(int(groups), int(records))

    def _value(self, name: str) -> sa.ColumnElement[Any]:
        column = self._table.c[name]
        return exact(filled(column)) if self.schema[name].type is Type.TEXT else column
