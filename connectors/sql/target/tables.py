"""Tables and how to name, read and write their rows, read from the catalogue once per transaction."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.sql.cells import Column, Link, Shape, chunks, row_order
from connectors.sql.target.dialect import Dialect
from connectors.sql.target.errors import changed_shape, no_table
from connectors.sql.target.session import Session
from connectors.target import Cell, Reference, Row, RowName, TargetRefused

CONDITIONS_AT_ONCE = 100
"""Conditions over several columns: SQLite refuses one that is nested deeper than 1,000."""


class Tables:
    """The shapes of tables by their names. While a transaction has read a table, its columns cannot go away."""

    def __init__(self, session: Session, dialect: Dialect) -> None:
        self._session, self._dialect = session, dialect
        self._shapes: dict[str, Shape] = {}
        self._selects: dict[str, str] = {}

    def named(self, name: str) -> Shape:
        """The table that a RowName means. Raises TargetError if it does not exist, TargetRefused for a view."""
        if name not in self._shapes:
            shape = self.find(name)
            if shape is None:
                raise no_table(self._session.place, name)
            self._shapes[name] = shape
        return self._shapes[name]

    def find(self, name: str) -> Shape | None:
        """The table of this name in the default schema, else `schema.table`."""
        schema, _, table_name = name.rpartition(".")
        shape = self._dialect.shape(self._session, None, name)
        return shape or (self._dialect.shape(self._session, schema, table_name) if schema else None)

    def select(self, shape: Shape) -> str:
        """The SELECT of all cells, which ends with the table."""
        if shape.name not in self._selects:
            columns = ", ".join(map(self._dialect.read, shape.columns))
            self._selects[shape.name] = f"SELECT {columns} FROM {self._dialect.relation(shape)}"
        return self._selects[shape.name]

    def cells(self, shape: Shape, row: Sequence[object]) -> dict[str, Cell]:
        return {
            column.name: self._dialect.cell(column, value) for column, value in zip(shape.columns, row, strict=False)
        }

    def row(self, shape: Shape, cells: dict[str, Cell]) -> Row:
        """The row, named by its key. Raises TargetRefused if the table has none."""
        if not shape.key:
            raise TargetRefused(
                f"Rows of table {shape.name} of source {self._session.place.source!r} cannot be told apart: it has "
                f"neither a primary key nor a unique key without nulls; give it one"
            )
        return Row(RowName(shape.name, tuple((name, cells[name]) for name in shape.key)), cells)

    def columns(self, shape: Shape, names: Sequence[str]) -> tuple[Column, ...]:
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
                f"Rows of {reference.table} refer to {reference.to_table} and cannot be told apart: it has no primary "
                f"key. Give it one, or clean without touching what it refers to"
            )
        ours, theirs = self.columns(shape, reference.columns), self.columns(parent, reference.to_columns)
        link = Link(shape, ours, parent, theirs, soft=reference.soft)
        order = ", ".join(map(self._dialect.quoted, shape.key))
        rows_by_name: dict[RowName, Row] = {}
        for batch in chunks(list(dict.fromkeys(cells for cells in to if None not in cells)), CONDITIONS_AT_ONCE):
            where, bound = self._dialect.refers(link, batch)
            sql = f"{self.select(shape)} WHERE {where} ORDER BY {order}{self._dialect.for_update if lock else ''}"
            for values in self._visible_rows(reference, sql, bound, lock=lock):
                row = self.row(shape, self.cells(shape, values))
                if not lock and any(cell is None for _, cell in row.name.key):
                    raise TargetRefused(
                        f"A row of {reference.table} refers to {reference.to_table} and cannot be told from others: "
                        f"its primary key is null. Give it one"
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
            f"This user may not see all rows of {reference.table}, which refer to {reference.to_table}. Use one with "
            f"SELECT on it and, where row-level security is on, its owner or one with BYPASSRLS"
        )
