"""Find records by their ids: the cells of their rows, and their values exactly as a scan returns them.

Tables and how to name, read and write their rows, read from the catalogue once per transaction.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.errors import ValueDoesNotFit
from connectors.sql.cells import Fragment, TableColumn, TableLink, TableShape, chunks, joined, row_order
from connectors.sql.cleaning.dialect import Dialect
from connectors.sql.cleaning.outcomes import changed_shape, no_table
from connectors.sql.cleaning.session import TargetSession
from connectors.sql.columns import Kind, SqlColumn, columns
from connectors.sql.reading import ROWS, AnswerColumn, AnswerReader
from connectors.sql.settings import SqlDataset
from connectors.target import Cell, Reference, Row, RowName, TargetRefused

CONDITIONS_AT_ONCE = 100
"""Conditions over several columns: SQLite refuses one that is nested deeper than 1,000."""


class TableShapes:
    """The shapes of tables by their names. While a transaction has read a table, its columns cannot go away."""

    def __init__(self, session: TargetSession, dialect: Dialect) -> None:
        self._session, self._dialect = session, dialect
        self._shapes: dict[str, TableShape] = {}
        self._selects: dict[str, str] = {}

    def named(self, name: str) -> TableShape:
        """The table that a RowName means. Raises TargetError if it does not exist, TargetRefused for a view."""
        if name not in self._shapes:
            shape = self.find(name)
            if shape is None:
                raise no_table(self._session.place, name)
            self._shapes[name] = shape
        return self._shapes[name]

    def find(self, name: str) -> TableShape | None:
        """The table of this name in the default schema, else `schema.table`."""
        schema, _, table_name = name.rpartition(".")
        shape = self._dialect.shape(self._session, None, name)
        return shape or (self._dialect.shape(self._session, schema, table_name) if schema else None)

    def select(self, shape: TableShape) -> str:
        """The SELECT of all cells, which ends with the table."""
        if shape.name not in self._selects:
            columns = ", ".join(map(self._dialect.read, shape.columns))
            self._selects[shape.name] = f"SELECT {columns} FROM {self._dialect.relation(shape)}"
        return self._selects[shape.name]

    def cells(self, shape: TableShape, row: Sequence[object]) -> dict[str, Cell]:
        return {
            column.name: self._dialect.cell(column, value) for column, value in zip(shape.columns, row, strict=False)
        }

    def row(self, shape: TableShape, cells: dict[str, Cell]) -> Row:
        """The row, named by its key. Raises TargetRefused if the table has none."""
        if not shape.key:
            raise TargetRefused(
                f"Rows of table {shape.name} of source {self._session.place.source!r} cannot be distinguished: the "
                f"table has neither a primary key nor a unique key without nulls; add one"
            )
        return Row(RowName(shape.name, tuple((name, cells[name]) for name in shape.key)), cells)

    def columns(self, shape: TableShape, names: Sequence[str]) -> tuple[TableColumn, ...]:
        """The columns of these names. Raises TargetError for one that does not exist."""
        by_name = shape.by_name
        for name in names:
            if name not in by_name:
                raise changed_shape(self._session.place, shape.name, name)
        return tuple(by_name[name] for name in names)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        shape, parent = self.named(reference.table), self.named(reference.to_table)
        if not shape.key:
            raise TargetRefused(
                f"Rows of {reference.table}, which refers to {reference.to_table}, cannot be distinguished: the "
                "table has no primary key. Add one, or don't clean records to which these rows refer"
            )
        ours, theirs = self.columns(shape, reference.columns), self.columns(parent, reference.to_columns)
        link = TableLink(shape, ours, parent, theirs, soft=reference.soft)
        order = ", ".join(map(self._dialect.quoted, shape.key))
        rows_by_name: dict[RowName, Row] = {}
        for batch in chunks(list(dict.fromkeys(cells for cells in to if None not in cells)), CONDITIONS_AT_ONCE):
            where, bound = self._dialect.refers(link, batch)
            sql = f"{self.select(shape)} WHERE {where} ORDER BY {order}{self._dialect.for_update if lock else ''}"
            for values in self._visible_rows(reference, sql, bound, lock=lock):
                row = self.row(shape, self.cells(shape, values))
                if not lock and any(cell is None for _, cell in row.name.key):
                    raise TargetRefused(
                        f"A row of {reference.table}, which refers to {reference.to_table}, cannot be identified: "
                        f"its primary key is null. Fill it in"
                    )
                rows_by_name[row.name] = row
        return sorted(rows_by_name.values(), key=lambda row: row_order(row.name.key))

    def _visible_rows(
        self, reference: Reference, sql: str, bound: Sequence[object], *, lock: bool
    ) -> Sequence[Sequence[object]]:
        """The rows. Raises TargetRefused, which blocks only this reference, if the user may not see all of them."""
        try:
            return self._session.run(sql, bound).rows
        except self._session.errors as error:
            if lock or self._dialect.code(error) not in self._dialect.no_rights:
                raise
        raise TargetRefused(
            f"This user cannot see all rows of {reference.table} that refer to {reference.to_table}. Use a user with "
            f"SELECT on it; where row-level security is on, use its owner or a user with BYPASSRLS"
        )


Id = Sequence[Any]
Typed = tuple[tuple[type, Any], ...]
_IDS_AT_ONCE = 500
_LONG_IDS_AT_ONCE = 100


class TargetRecords:
    """The records of one dataset, within one read-only transaction."""

    def __init__(self, session: TargetSession, dialect: Dialect, dataset: SqlDataset, shape: TableShape) -> None:
        self._session, self._dialect, self._dataset, self._shape = session, dialect, dataset, shape
        self._tables = TableShapes(session, dialect)
        base = sa.table(
            quoted_name(shape.table, quote=True), schema=shape.schema and quoted_name(shape.schema, quote=True)
        )
        self._columns = columns(session.connection, base, dataset.timezone)
        names = [column.name for column in self._columns]
        dataset.must_have(session.place.source, dataset.columns, names)

    def with_ids(self, key: Sequence[str], ids: Sequence[Id]) -> list[Row | None]:
        """As `Target.rows`: in the order of `ids`."""
        self._dataset.must_have(self._session.place.source, key, [column.name for column in self._columns])
        wanted_ids = {typed(id_values): tuple(id_values) for id_values in ids if None not in id_values}
        rows_by_id: dict[Typed, Row] = {}
        size = _IDS_AT_ONCE if len(key) == 1 else _LONG_IDS_AT_ONCE
        for batch in chunks(list(wanted_ids.values()), size):
            condition = self._condition(key, batch)
            if condition:
                self._take(rows_by_id, key, wanted_ids, condition)
        missing = [typed_id for typed_id in wanted_ids if typed_id not in rows_by_id]
        if missing and any(map(self._is_read_otherwise, key)):
            for condition in self._read_through(key, set(missing)):
                self._take(rows_by_id, key, missing, condition)
        return [rows_by_id.get(typed(id_values)) for id_values in ids]

    def _take(self, rows: dict[Typed, Row], key: Sequence[str], wanted: Container[Typed], where: Fragment) -> None:
        for cells, values in self._read(where, self._shape.columns, self._columns):
            row = self._tables.row(self._shape, cells)
            row_id = typed([values.get(name) for name in key])
            if row_id not in wanted:
                continue
            if row_id in rows and rows[row_id].name != row.name:
                raise TargetRefused(
                    f"Two rows of table {self._shape.name} of source {self._session.place.source!r} have the same "
                    f"{', '.join(key)}, so these columns do not identify a record. Choose a unique `id`"
                )
            rows[row_id] = replace(row, values=values)

    def _condition(self, key: Sequence[str], ids: Sequence[Id]) -> Fragment | None:
        shaped, kinds = self._shape.by_name, {column.name: column.kind for column in self._columns}
        conditions = []
        for id_values in ids:
            forms = [
                [
                    form
                    for stored in self._stored(name, kinds[name], value)
                    for form in self._dialect.wanted(shaped[name], kinds[name], stored)
                ]
                for name, value in zip(key, id_values, strict=True)
            ]
            if all(forms):
                conditions.append([joined(fragments, ", ") for fragments in forms])
        if not conditions:
            return None
        if len(key) == 1:
            sql, bound = joined([form for (form,) in conditions], ", ")
            return f"{self._dialect.quoted(key[0])} IN ({sql})", bound
        names = [self._dialect.quoted(name) for name in key]
        rows = []
        for parts in conditions:
            pairs = [(f"{name} IN ({sql})", bound) for name, (sql, bound) in zip(names, parts, strict=True)]
            rows.append(_bracketed(joined(pairs, " AND ")))
        return joined(rows, " OR ")

    def _stored(self, name: str, kind: Kind, value: Any) -> list[Any]:
        """The forms in which the value may be stored, so that an index finds it; empty: only a full read finds it."""
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
        """Return True if no index finds such values, because they are stored differently: declared, dates in SQLite."""
        kind = next(column.kind for column in self._columns if column.name == name)
        calendar = isinstance(kind, (sa.Date, sa.DateTime)) and self._dialect.name == "sqlite"
        return name in self._dataset.columns or calendar

    def _read_through(self, key: Sequence[str], wanted_ids: set[Typed]) -> Iterator[Fragment]:
        """Read the ids of all rows; yield conditions that find the rows with these."""
        keyed, by_name = self._shape.keyed, self._shape.by_name
        ids = [column for column in self._columns if column.name in key]
        names = [
            cells
            for cells, values in self._read(("1 = 1", ()), keyed, ids)
            if typed([values.get(name) for name in key]) in wanted_ids
        ]
        for batch in chunks(names, _LONG_IDS_AT_ONCE):
            conditions = [
                joined([self._dialect.is_exactly(by_name[name], cell) for name, cell in cells.items()], " AND ")
                for cells in batch
            ]
            yield joined(list(map(_bracketed, conditions)), " OR ")

    def _read(
        self, condition: Fragment, cells: Sequence[TableColumn], values: Sequence[SqlColumn]
    ) -> Iterator[tuple[dict[str, Cell], dict[str, Any]]]:
        where, bound = condition
        dialect = self._session.connection.dialect
        expressions = ", ".join([*map(self._dialect.read, cells), *(_expression(column, dialect) for column in values)])
        sql = f"SELECT {expressions} FROM {self._dialect.relation(self._shape)} WHERE {where}"
        answer = self._session.connection.exec_driver_sql(sql, bound, execution_options={"yield_per": ROWS})
        try:
            while rows := answer.fetchmany(ROWS):
                values_of_rows = self._values(values, [tuple(row[len(cells) :]) for row in rows])
                for row, value in zip(rows, values_of_rows, strict=True):
                    stored = zip(cells, row, strict=False)
                    yield {column.name: self._dialect.cell(column, cell) for column, cell in stored}, value
        finally:
            answer.close()

    def _values(self, columns: Sequence[SqlColumn], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """The values a scan returns, without columns whose values it would refuse: no rule reads them."""
        try:
            return self._scanned(columns, rows)
        except ValueDoesNotFit:
            if len(columns) == 1:
                return [{} for _ in rows]
        parts = [self._values([column], [(row[place],) for row in rows]) for place, column in enumerate(columns)]
        return [dict(item for part in parts for item in part[at].items()) for at in range(len(rows))]

    def _scanned(self, columns: Sequence[SqlColumn], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        answer = [AnswerColumn(column.name, column.kind, self._dataset.declared(column.name)) for column in columns]
        reading = AnswerReader(answer, self._dataset.notation, self._session.place)
        try:
            scanned: list[dict[str, Any]] = reading.rows(rows).to_pylist()
        finally:
            reading.close()
        return scanned


def typed(values: Sequence[Any]) -> Typed:
    """An id with the types of its values: True and 1, or 1 and 1.0, are equal in Python but are different ids."""
    return tuple((type(value), value) for value in values)


def _bracketed(fragment: Fragment) -> Fragment:
    return f"({fragment[0]})", fragment[1]


def _expression(column: SqlColumn, dialect: sa.Dialect) -> str:
    """The column as the relation of a scan selects it."""
    plain: sa.ColumnElement[Any] = sa.column(quoted_name(column.name, quote=True))
    expression = sa.cast(plain, column.kind) if column.cast else plain
    return str(expression.compile(dialect=dialect))
