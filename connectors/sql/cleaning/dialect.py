"""The port that each of the three databases implements for changing rows.

Compare a declared link whose two columns have different types: as numbers or UUIDs, whatever their spelling.

`customer_id bigint` and `about numeric(12,2)` refer to each other as 7 and 7.00, a `uuid` and a text as lower-case and
upper-case digits. A text with leading zeros is a code, not a number. In all other cases the texts have to be equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import sqlalchemy as sa

from connectors.sql.cells import Fragment, TableColumn, TableLink, TableShape, joined
from connectors.sql.cleaning.session import TargetSession
from connectors.sql.columns import Kind
from connectors.target import Cell, Change, Violation


@dataclass(frozen=True)
class RowRule:
    """A rule for the rows of a table. `broken` is the condition, on the table under its own name, that a row violates
    it; empty if this user cannot evaluate it. `columns` are those that decide."""

    name: str
    columns: tuple[str, ...]
    broken: str


def dangling(dialect: Dialect, shape: TableShape, columns: Sequence[str], parent: str, keys: Sequence[str]) -> str:
    """The condition that `parent` lacks the row to which these columns refer; with a null, they refer to none."""
    own = [f"{dialect.relation(shape)}.{dialect.quoted(name)}" for name in columns]
    pairs = [f"reconcile_parent.{dialect.quoted(key)} = {name}" for key, name in zip(keys, own, strict=True)]
    refers = " AND ".join(f"{name} IS NOT NULL" for name in own)
    return f"{refers} AND NOT EXISTS (SELECT 1 FROM {parent} AS reconcile_parent WHERE {' AND '.join(pairs)})"


class Dialect(Protocol):
    """The SQL of one database. Every name in it comes from its catalogue and is quoted."""

    name: ClassVar[str]  # SQLAlchemy's name: postgresql, mysql (MariaDB too), sqlite
    mark: ClassVar[str]
    """The placeholder of a parameter."""
    for_update: ClassVar[str]
    receipt_types: ClassVar[Mapping[str, str]]
    """The types of the columns of our own tables: `key`, `word`, `number`, `time`; `end` follows the columns."""
    receipts_given: ClassVar[str]
    """The relation `given`: many receipts from one parameter, a JSON list of objects. Empty: not supported."""
    insert_new: ClassVar[str]
    """Follows an INSERT to skip existing keys; empty where the caller has to catch the error."""
    or_abort: ClassVar[str]
    """Makes a conflict of an INSERT or UPDATE an error, whatever the table declares; empty where it always is."""
    lost: ClassVar[Collection[str]]
    """Error codes of a connection that broke while it was idle."""
    no_rights: ClassVar[Collection[str]]
    """Error codes that mean: this user may not create or write a table."""
    created_meanwhile: ClassVar[Collection[str]]
    """Error codes of a CREATE TABLE IF NOT EXISTS that ran at the same time as another."""
    duplicate: ClassVar[str]
    """The error code of an INSERT whose key already exists."""

    def engine(self, source: str, url: sa.URL, root: Path, seconds: float) -> sa.Engine:
        """Create an engine whose connections may write. Raises DriverMissing and SourceMissing; does not connect."""

    def stamp(self, session: TargetSession) -> object:
        """A value that changes when a kept connection no longer leads to what the address means."""

    def begin(self, session: TargetSession, seconds: float) -> None:
        """Begin a READ COMMITTED transaction that the database ends by itself: see `target.transaction`."""

    def begin_reading(self, session: TargetSession, seconds: float) -> None:
        """Begin a read-only transaction in which cells read the same as in one that writes."""

    def commit(self, session: TargetSession) -> None:
        """Send COMMIT. Raises a driver's error, or NotCommitted if the database answered with a rollback."""

    def shape(self, session: TargetSession, schema: str | None, table: str) -> TableShape | None:
        """The table as the catalogue describes it; None if it does not exist. Raises TargetRefused."""

    def default_schema(self, session: TargetSession) -> str | None:
        """The schema of names without one."""

    def quoted(self, name: str) -> str:
        """An identifier in a statement with parameters."""

    def read(self, column: TableColumn) -> str:
        """The expression of a column whose value `cell` takes."""

    def cell(self, column: TableColumn, value: Any) -> Cell: ...

    def written(self, column: TableColumn, cell: Cell) -> Fragment:
        """The expression that writes the cell into the column. Raises Unwritable."""

    def is_exactly(self, column: TableColumn, cell: Cell) -> Fragment:
        """The condition, usable by an index, that the column holds this cell, byte for byte."""

    def holds(self, column: TableColumn, cell: Cell) -> Fragment:
        """The condition that the column holds this cell in the form in which the database writes it there."""

    def search_value(self, column: TableColumn, cell: Cell) -> Fragment:
        """The value to compare the column with to find this cell, and maybe more, by an index. Raises Unwritable."""

    def is_any(self, column: TableColumn, cells: Sequence[Cell]) -> Fragment | None:
        """As `is_exactly`, for any of these cells and in few parameters; None if each cell needs its own condition."""

    def refers(self, link: TableLink, to: Sequence[Sequence[Cell]]) -> Fragment:
        """The condition that a row of the referring table refers to any of these, as the database compares them."""

    def relation(self, shape: TableShape) -> str:
        """The table in a statement."""

    def wanted(self, column: TableColumn, kind: Kind, value: Any) -> Sequence[Fragment]:
        """The stored forms for which a scan returns this value, so that an index finds them."""

    def transaction(self, session: TargetSession) -> str | None: ...

    def happened(self, session: TargetSession, transaction: str) -> bool | None: ...

    def identity(self, session: TargetSession) -> str | None:
        """The database's own name for itself; None where it has none."""

    def place(self, session: TargetSession, schema: str) -> str | None:
        """The same for one schema, whatever the session's default is."""

    def row_rules(self, session: TargetSession, shape: TableShape) -> Sequence[RowRule]:
        """The rules of the table that its rows may violate, because the database did not check them."""

    def refused_copies(
        self, session: TargetSession, shape: TableShape, changes: Sequence[Change]
    ) -> Sequence[Violation]:
        """The violations of rules that no condition expresses, found with copies of the rows."""

    def code(self, error: Exception) -> str:
        """The code of a driver's error, as in `connectors.sql.cleaning.outcomes`; empty if the connection broke."""


class NotCommitted(Exception):
    """The database answered COMMIT with a rollback."""


class Unwritable(Exception):
    """A cell that this database cannot hold in that column, because another one made it."""


def any_of(
    dialect: Dialect, columns: Sequence[TableColumn], to: Sequence[Sequence[Cell]], prefix: str = ""
) -> Fragment:
    """The condition that the columns equal any of these, as the database compares."""
    if len(columns) == 1:
        sql, bound = joined([dialect.search_value(columns[0], cell) for (cell,) in to], ", ")
        return f"{prefix}{dialect.quoted(columns[0].name)} IN ({sql})", bound
    conditions = []
    for cells in to:
        parts = []
        for column, cell in zip(columns, cells, strict=True):
            sql, bound = dialect.search_value(column, cell)
            parts.append((f"{prefix}{dialect.quoted(column.name)} = {sql}", bound))
        sql, bound = joined(parts, " AND ")
        conditions.append((f"({sql})", bound))
    return joined(conditions, " OR ")


def referring(
    refers: Callable[[TableColumn, TableColumn, Cell, bool], Fragment], link: TableLink, to: Sequence[Sequence[Cell]]
) -> Fragment:
    """The condition that a row refers to any of these; `refers` compares one of its columns with one cell."""
    conditions = []
    for cells in to:
        parts = list(map(refers, link.columns, link.to_columns, cells, [link.soft] * len(cells)))
        sql, bound = joined(parts, " AND ")
        conditions.append((f"({sql})", bound))
    return joined(conditions, " OR ")


Family = Literal["number", "uuid", "text", "other"]
_NUMBER = re.compile(r"int|serial|numeric|decimal|real|float|double|money", re.IGNORECASE)
_TEXT = re.compile(r"char|text|clob|citext|enum", re.IGNORECASE)
_LOOKS_LIKE_A_NUMBER = re.compile(r"\s*[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?\s*")


def family(declared: str) -> Family:
    """The family of values of a column of this declared type."""
    if "uuid" in declared.lower() or "uniqueidentifier" in declared.lower():
        return "uuid"
    if declared.endswith("[]") or "point" in declared.lower() or "interval" in declared.lower():
        return "other"
    if not declared or _TEXT.search(declared):  # SQLite keeps anything in a column without a type
        return "text"
    return "number" if _NUMBER.search(declared) else "other"


def number_of(column: TableColumn, to: TableColumn, cell: Cell) -> str | None:
    """The number to look for, if one column holds numbers and the other numbers of another type, or texts."""
    families = {family(column.type), family(to.type)}
    if cell is None or column.type == to.type or "number" not in families or not families <= {"number", "text"}:
        return None
    return cell[1].strip() if _LOOKS_LIKE_A_NUMBER.fullmatch(cell[1]) else None


def uuid_of(column: TableColumn, to: TableColumn, cell: Cell) -> str | None:
    """The 32 lower-case digits to look for, if one column holds UUIDs and the other texts."""
    if cell is None or {family(column.type), family(to.type)} != {"uuid", "text"}:
        return None
    digits = re.sub(r"[-{}]", "", cell[1]).lower()
    return digits if re.fullmatch(r"[0-9a-f]{32}", digits) else None
