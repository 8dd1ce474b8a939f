"""What the three databases say differently when rows are changed: the port that each of them fills."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import sqlalchemy as sa

from connectors.sql.cells import Column, Fragment, Link, Shape, joined
from connectors.sql.columns import Kind
from connectors.sql.target.session import Session
from connectors.target import Cell


class Dialect(Protocol):
    """The words of one database. Every name in them is one that its catalogue gave, and quoted."""

    name: ClassVar[str]  # SQLAlchemy's name: postgresql, mysql (MariaDB too), sqlite
    mark: ClassVar[str]
    """What stands for a parameter."""
    for_update: ClassVar[str]
    receipt_types: ClassVar[Mapping[str, str]]
    """The types of the columns of our own tables: `key`, `word`, `number`, `time`, and what follows the columns."""
    receipts_given: ClassVar[str]
    """The relation `given` of many receipts, read from one parameter, a JSON list of objects; empty where none can."""
    insert_new: ClassVar[str]
    """What follows an INSERT so that it skips keys that are there; empty where the error has to be caught."""
    or_abort: ClassVar[str]
    """What an INSERT or UPDATE says so that a conflict is an error, whatever the table declares; empty where it is."""
    lost: ClassVar[Collection[str]]
    """Codes of errors that a connection gives when it went away while nobody used it."""
    no_rights: ClassVar[Collection[str]]
    """Codes of errors that say that this user may not create or write a table."""
    made_meanwhile: ClassVar[Collection[str]]
    """Codes of the errors of a CREATE TABLE IF NOT EXISTS that met another one."""
    duplicate: ClassVar[str]
    """The code of the error of an INSERT whose key is there."""

    def engine(self, source: str, url: sa.URL, root: Path, seconds: float) -> sa.Engine:
        """Connections that may write. Raises DriverMissing and SourceMissing; connects to nothing yet."""

    def stamp(self, session: Session) -> object:
        """Another one when the connection, which was kept, no longer leads to what the address means."""

    def begin(self, session: Session, seconds: float) -> None:
        """A transaction, READ COMMITTED, that the database ends by itself: see `connectors.sql.target.transaction`."""

    def begin_reading(self, session: Session, seconds: float) -> None:
        """A read-only transaction in which cells read the same as in one that writes."""

    def commit(self, session: Session) -> None:
        """Send COMMIT; raises a driver's error, or NotCommitted where the answer was that nothing was."""

    def shape(self, session: Session, schema: str | None, table: str) -> Shape | None:
        """The table as the catalogue tells; None: there is none. Raises TargetRefused."""

    def default_schema(self, session: Session) -> str | None:
        """The schema that a name without one means."""

    def quoted(self, name: str) -> str:
        """An identifier in a statement with parameters."""

    def read(self, column: Column) -> str:
        """The expression of a column whose value `cell` takes."""

    def cell(self, column: Column, value: Any) -> Cell: ...

    def written(self, column: Column, cell: Cell) -> Fragment:
        """The expression that puts the cell into the column. Raises Unwritable."""

    def is_exactly(self, column: Column, cell: Cell) -> Fragment:
        """The condition that the column holds this cell, byte for byte, of which an index can find the rows."""

    def holds(self, column: Column, cell: Cell) -> Fragment:
        """The condition that the column holds what the database makes of this cell when it is written there."""

    def sought(self, column: Column, cell: Cell) -> Fragment:
        """What the column is compared with to find this cell, and maybe more, by an index. Raises Unwritable."""

    def is_any(self, column: Column, cells: Sequence[Cell]) -> Fragment | None:
        """The condition that the column holds one of these cells, byte for byte, of which an index can find the rows,
        in few parameters; None where it has to be said of each."""

    def refers(self, link: Link, to: Sequence[Sequence[Cell]]) -> Fragment:
        """The condition that a row of the referring table refers to any of these, as the database itself sees it."""

    def relation(self, shape: Shape) -> str:
        """The table in a statement."""

    def wanted(self, column: Column, kind: Kind, value: Any) -> Sequence[Fragment]:
        """What may stand in the column where a scan gives this value; nothing more than an index is to find."""

    def transaction(self, session: Session) -> str | None: ...

    def happened(self, session: Session, transaction: str) -> bool | None: ...

    def identity(self, session: Session) -> str | None:
        """What the database is by its own account; None where it has none."""

    def place(self, session: Session, schema: str) -> str | None:
        """The same of one schema, whatever the session's default is."""

    def code(self, error: Exception) -> str:
        """The code of a driver's error, as listed in `connectors.sql.target.outcomes`; empty: connection lost."""


class NotCommitted(Exception):
    """The database answered COMMIT with a rollback."""


class Unwritable(Exception):
    """A cell that no database can hold in that column: it was not made by this one."""


def any_of(dialect: Dialect, columns: Sequence[Column], to: Sequence[Sequence[Cell]], prefix: str = "") -> Fragment:
    """The condition that the columns are equal to any of these, as the database compares."""
    if len(columns) == 1:
        sql, bound = joined([dialect.sought(columns[0], cell) for (cell,) in to], ", ")
        return f"{prefix}{dialect.quoted(columns[0].name)} IN ({sql})", bound
    each = []
    for cells in to:
        parts = []
        for column, cell in zip(columns, cells, strict=True):
            sql, bound = dialect.sought(column, cell)
            parts.append((f"{prefix}{dialect.quoted(column.name)} = {sql}", bound))
        sql, bound = joined(parts, " AND ")
        each.append((f"({sql})", bound))
    return joined(each, " OR ")
