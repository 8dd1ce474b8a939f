"""The view of a table in which its changes are looked up, whatever the database."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import sqlalchemy as sa

from connectors.base import Touched
from connectors.sql.changes.indexes import TableIndexes
from connectors.sql.columns import SqlColumn
from connectors.sql.reading import AsDeclared
from connectors.sql.snapshot import SqlSnapshot
from connectors.sql.values import Wall

_SHIFTED = dt.timedelta(hours=2)
"""The most that a zone's clock is put back at once: naive times repeat for so long."""
_FIRST_YEAR = dt.datetime(1000, 1, 1, tzinfo=dt.UTC)
Condition = sa.ColumnElement[bool]


@dataclass(frozen=True)
class ChangingTable:
    """A table, its columns by name, those that the dataset declares, and the column with the time of a change."""

    base: sa.TableClause
    columns: Mapping[str, SqlColumn]
    declared: Mapping[str, AsDeclared]
    by: str

    @cached_property
    def plain(self) -> sa.TableClause:
        """The table with the columns as they are stored."""
        stored: list[sa.ColumnClause[Any]] = [
            sa.column(sa.sql.quoted_name(column.name, quote=True), sa.types.NULLTYPE if column.cast else column.kind)
            for column in self.columns.values()
        ]
        return sa.table(self.base.name, *stored, schema=self.base.schema)

    @property
    def time(self) -> sa.ColumnElement[Any]:
        """The column with the time of a record's last change, as it is stored."""
        return self.plain.c[self.by]

    def selected(self, name: str) -> sa.ColumnElement[Any]:
        """Return the column as a run reads it."""
        column, shown = self.columns[name], self.plain.c[name]
        value: sa.ColumnElement[Any] = sa.cast(shown, column.kind) if column.cast else shown
        if name in self.declared:
            value = sa.type_coerce(value, self.declared[name])
        return shown if value is shown else value.label(sa.sql.quoted_name(name, quote=True))


class TableChanges(ABC):
    """See `connectors.base.Changes`."""

    at_once = 2_000
    """Values of a column in one statement."""
    _ROWS_AT_ONCE = 200
    """Rows of values in one statement: each is a condition, and many are slow to parse."""

    def __init__(self, snapshot: SqlSnapshot, table: ChangingTable, indexes: TableIndexes) -> None:
        self._snapshot, self._table, self._indexes = snapshot, table, indexes

    def obstacle(self, identity: Sequence[str], parts: Sequence[str], columns: Sequence[str]) -> str | None:
        return next(self._obstacles(identity, parts, columns), None)

    def usable(self, parts: Sequence[str]) -> tuple[str, ...]:
        """The columns whose values the database can look up as they are read."""
        return tuple(filter(self._is_comparable, parts))

    @abstractmethod
    def mark(self) -> Mapping[str, Any]: ...

    @abstractmethod
    def refusal(self, mark: Mapping[str, Any]) -> str | None: ...

    def touched(
        self, mark: Mapping[str, Any], overlap: dt.timedelta, columns: Sequence[str], most: int
    ) -> Touched | None:
        untimed = self._read(columns, sa.or_(self._table.time.is_(None), self._is_before_all()), most)
        if untimed is None:
            return None
        tables = [untimed]
        for condition in self._changed_since(mark, overlap):
            table = self._read(columns, condition, most - sum(map(len, tables)))
            if table is None:
                return None
            tables.append(table)
        return Touched(pa.concat_tables(tables), len(untimed))

    def matching(
        self, names: Sequence[str], values: Sequence[tuple[Any, ...]], columns: Sequence[str], most: int
    ) -> pa.Table | None:
        tables: list[pa.Table] = []
        for condition in self._having(names, values):
            table = self._read(columns, condition, most - sum(map(len, tables)))
            if table is None:
                return None
            tables.append(table)
        return pa.concat_tables(tables) if tables else self._read(columns, sa.false(), most)

    def records(self) -> int:
        count = sa.select(sa.func.count().label("records")).select_from(self._table.plain)
        [records] = self._whole(count).column("records").to_pylist()
        return int(records)

    def _obstacles(self, identity: Sequence[str], parts: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
        yield from self._impediments(columns)
        if unfit := [name for name in identity if not self._is_comparable(name)]:
            yield f"the database cannot look up `{unfit[0]}` as it is read"
        if usable := self.usable(parts):
            yield from self._indexes.obstacles(self._table.by, identity, usable)
        else:
            yield "the database cannot look up any part of its key in the form in which it is read"

    @abstractmethod
    def _impediments(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield the reasons, as clauses, why changes of these columns of the table are unknown, whatever its indexes.

        The column with the time of a change must have a type that the database compares.
        """

    @abstractmethod
    def _is_comparable(self, name: str) -> bool:
        """Return True if the database finds all records with a value of the column as a run reads it."""

    @abstractmethod
    def _changed_since(self, mark: Mapping[str, Any], overlap: dt.timedelta) -> Iterator[Condition]:
        """Yield conditions; every record that has a time and changed since the mark meets one of them."""

    def _is_before_all(self) -> Condition:
        """Return a condition for values that are read as no time although they are not null: infinity, zero dates."""
        time = self._table.time
        return time < sa.literal(stored_value(_FIRST_YEAR, time.type), time.type)

    def _having(self, names: Sequence[str], values: Sequence[tuple[Any, ...]]) -> Iterator[Condition]:
        """Yield conditions that together hold for the records with these values."""
        size = self.at_once if len(names) == 1 else self._ROWS_AT_ONCE
        for begin in range(0, len(values), size):
            part = values[begin : begin + size]
            if len(names) == 1:
                yield self._one_of(names[0], [value for (value,) in part])
            else:
                pairs = (zip(names, row, strict=True) for row in part)
                yield sa.or_(*(sa.and_(*(self._one_of(name, [value]) for name, value in pair)) for pair in pairs))

    def _one_of(self, name: str, values: Sequence[Any]) -> Condition:
        column = self._table.plain.c[name]
        return column.in_(any_of([stored_value(value, column.type) for value in values], column.type))

    def _read(self, columns: Sequence[str], condition: Condition, most: int) -> pa.Table | None:
        table = self._whole(sa.select(*map(self._table.selected, columns)).where(condition).limit(most + 1))
        return table if len(table) <= most else None

    def _whole(self, statement: sa.Select[Any]) -> pa.Table:
        """Return an answer with the values of a run that reads all: here they are compared, not there."""
        return self._snapshot.whole(statement, compared=False)


def any_of(values: Sequence[Any], kind: sa.types.TypeEngine[Any]) -> sa.BindParameter[Any]:
    """Return values for `in_` as one parameter: a thousand parameters take SQLAlchemy longer than the database."""
    return sa.bindparam(None, list(values), kind, expanding=True, unique=True)


def stored_value(value: Any, kind: sa.types.TypeEngine[Any]) -> Any:
    """Return a value as the column holds it: instants in a column of days, or of naive times, are in its zone.

    Of the instants that a column may hold for one, the earliest is returned.
    """
    if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        return Decimal(value)
    if not isinstance(value, dt.datetime) or (isinstance(kind, sa.DateTime) and kind.timezone):
        return value
    if isinstance(kind, sa.Date):
        return (value - dt.timedelta(days=1)).date()
    if isinstance(kind, Wall) and kind.zone != "UTC":
        value = value.astimezone(ZoneInfo(kind.zone)) - _SHIFTED
    return value.replace(tzinfo=None)


def since(moment: str, overlap: dt.timedelta) -> dt.datetime:
    """Return the time from which on records may have changed: a database may have rounded it to seconds."""
    return (dt.datetime.fromisoformat(moment) - overlap).replace(microsecond=0)


def written(moment: dt.datetime) -> str:
    """Return an instant as marks hold it."""
    return moment.astimezone(dt.UTC).isoformat()
