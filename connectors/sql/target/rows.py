"""Records found by their ids: the cells of their rows, and their values exactly as a scan gives them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.errors import ValueDoesNotFit
from connectors.sql.cells import Column, Fragment, Shape, chunks, joined
from connectors.sql.columns import Kind, SqlColumn, columns
from connectors.sql.reading import ROWS, Asked, Reading
from connectors.sql.settings import SqlDataset
from connectors.sql.target.dialect import Dialect
from connectors.sql.target.session import Session
from connectors.sql.target.tables import Tables
from connectors.target import Cell, Row, TargetRefused

Id = Sequence[Any]
Typed = tuple[tuple[type, Any], ...]
_IDS_AT_ONCE = 500
_LONG_IDS_AT_ONCE = 100


class Records:
    """The records of one dataset, within one read-only transaction."""

    def __init__(self, session: Session, dialect: Dialect, dataset: SqlDataset, shape: Shape) -> None:
        self._session, self._dialect, self._dataset, self._shape = session, dialect, dataset, shape
        self._tables = Tables(session, dialect)
        base = sa.table(
            quoted_name(shape.table, quote=True), schema=shape.schema and quoted_name(shape.schema, quote=True)
        )
        self._columns = columns(session.connection, base, dataset.timezone)
        known = [one.name for one in self._columns]
        dataset.must_have(session.place.source, dataset.columns, known)

    def with_ids(self, key: Sequence[str], ids: Sequence[Id]) -> list[Row | None]:
        """As `Target.rows`: in the order of `ids`."""
        self._dataset.must_have(self._session.place.source, key, [one.name for one in self._columns])
        wanted = {typed(one): tuple(one) for one in ids if None not in one}
        found: dict[Typed, Row] = {}
        size = _IDS_AT_ONCE if len(key) == 1 else _LONG_IDS_AT_ONCE
        for some in chunks(list(wanted.values()), size):
            condition = self._condition(key, some)
            if condition:
                self._take(found, key, wanted, condition)
        missing = [one for one in wanted if one not in found]
        if missing and any(map(self._is_read_otherwise, key)):
            for condition in self._read_through(key, set(missing)):
                self._take(found, key, missing, condition)
        return [found.get(typed(one)) for one in ids]

    def _take(self, found: dict[Typed, Row], key: Sequence[str], wanted: Container[Typed], where: Fragment) -> None:
        for cells, values in self._read(where, self._shape.columns, self._columns):
            row = self._tables.row(self._shape, cells)
            own = typed([values.get(name) for name in key])
            if own not in wanted:
                continue
            if own in found and found[own].name != row.name:
                raise TargetRefused(
                    f"Two rows of table {self._shape.name} of source {self._session.place.source!r} have one "
                    f"{', '.join(key)}: a record cannot be told from another by it; name an id that is unique"
                )
            found[own] = replace(row, values=values)

    def _condition(self, key: Sequence[str], ids: Sequence[Id]) -> Fragment | None:
        shaped, kinds = self._shape.by_name, {one.name: one.kind for one in self._columns}
        each = []
        for one in ids:
            forms = [
                [
                    form
                    for stored in self._stored(name, kinds[name], value)
                    for form in self._dialect.wanted(shaped[name], kinds[name], stored)
                ]
                for name, value in zip(key, one, strict=True)
            ]
            if all(forms):
                each.append([joined(some, ", ") for some in forms])
        if not each:
            return None
        if len(key) == 1:
            sql, bound = joined([form for (form,) in each], ", ")
            return f"{self._dialect.quoted(key[0])} IN ({sql})", bound
        names = [self._dialect.quoted(name) for name in key]
        pairs = [[(f"{name} IN ({sql})", bound) for name, (sql, bound) in zip(names, one, strict=True)] for one in each]
        return joined([_bracketed(joined(one, " AND ")) for one in pairs], " OR ")

    def _stored(self, name: str, kind: Kind, value: Any) -> list[Any]:
        """How the value may be stored, so that an index finds it; none: only reading all of them does."""
        if name not in self._dataset.columns or self._dialect.name == "sqlite":
            return [value]
        match kind:
            case sa.Integer():
                if isinstance(value, dt.datetime):
                    return [round(value.timestamp())]
                return [value] if isinstance(value, int) else []
            case sa.Numeric() | sa.Date() | sa.DateTime() | sa.Boolean() | sa.LargeBinary():
                return []
        return [str(value)]

    def _is_read_otherwise(self, name: str) -> bool:
        """Whether values are not what is stored, so that no index finds them: declared types, dates in SQLite."""
        kind = next(one.kind for one in self._columns if one.name == name)
        calendar = isinstance(kind, (sa.Date, sa.DateTime)) and self._dialect.name == "sqlite"
        return name in self._dataset.columns or calendar

    def _read_through(self, key: Sequence[str], wanted: set[Typed]) -> Iterator[Fragment]:
        """Conditions that find the rows with these ids, by reading the ids of all."""
        keyed, by_name = self._shape.keyed, self._shape.by_name
        ids = [one for one in self._columns if one.name in key]
        names = [
            cells
            for cells, values in self._read(("1 = 1", ()), keyed, ids)
            if typed([values.get(name) for name in key]) in wanted
        ]
        for some in chunks(names, _LONG_IDS_AT_ONCE):
            each = [
                joined([self._dialect.is_exactly(by_name[name], cell) for name, cell in one.items()], " AND ")
                for one in some
            ]
            yield joined(list(map(_bracketed, each)), " OR ")

    def _read(
        self, condition: Fragment, cells: Sequence[Column], values: Sequence[SqlColumn]
    ) -> Iterator[tuple[dict[str, Cell], dict[str, Any]]]:
        where, bound = condition
        dialect = self._session.connection.dialect
        wanted = ", ".join([*map(self._dialect.read, cells), *(_expression(one, dialect) for one in values)])
        sql = f"SELECT {wanted} FROM {self._dialect.relation(self._shape)} WHERE {where}"
        answer = self._session.connection.exec_driver_sql(sql, bound, execution_options={"yield_per": ROWS})
        try:
            while some := answer.fetchmany(ROWS):
                read = self._values(values, [tuple(row[len(cells) :]) for row in some])
                for row, value in zip(some, read, strict=True):
                    stored = zip(cells, row, strict=False)
                    yield {one.name: self._dialect.cell(one, cell) for one, cell in stored}, value
        finally:
            answer.close()

    def _values(self, columns: Sequence[SqlColumn], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """What a scan gives. A column that holds a value which a scan would refuse is left out: no rule reads it."""
        try:
            return self._scanned(columns, rows)
        except ValueDoesNotFit:
            if len(columns) == 1:
                return [{} for _ in rows]
        parts = [self._values([one], [(row[place],) for row in rows]) for place, one in enumerate(columns)]
        return [dict(item for part in parts for item in part[at].items()) for at in range(len(rows))]

    def _scanned(self, columns: Sequence[SqlColumn], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        asked = [Asked(one.name, one.kind, self._dataset.declared(one.name)) for one in columns]
        reading = Reading(asked, self._dataset.notation, self._session.place)
        try:
            found: list[dict[str, Any]] = reading.rows(rows).to_pylist()
        finally:
            reading.close()
        return found


def typed(values: Sequence[Any]) -> Typed:
    """An id with the types of its values: True and 1, or 1 and 1.0, are equal in Python and are not the same id."""
    return tuple((type(one), one) for one in values)


def _bracketed(fragment: Fragment) -> Fragment:
    return f"({fragment[0]})", fragment[1]


def _expression(column: SqlColumn, dialect: sa.Dialect) -> str:
    """The column as the relation of a scan gives it."""
    plain: sa.ColumnElement[Any] = sa.column(quoted_name(column.name, quote=True))
    asked = sa.cast(plain, column.kind) if column.cast else plain
    return str(asked.compile(dialect=dialect))
