"""Open a view of the changes of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from connectors.sql.changes import postgresql, sqlite
from connectors.sql.changes.view import ChangingTable, TableChanges
from connectors.sql.columns import Base, SqlColumn
from connectors.sql.errors import ErrorContext
from connectors.sql.reading import AsDeclared
from connectors.sql.settings import SqlDataset
from connectors.sql.snapshot import SqlSnapshot, opened
from connectors.sql.stop import read_of
from connectors.sql.stream import close_connection, translated_errors


def _prepared(dialect: str) -> Callable[[sa.Connection, ChangingTable], Callable[[SqlSnapshot], TableChanges]]:
    if dialect == "mysql":
        from connectors.sql.changes import mysql  # noqa: PLC0415 - needs PyMySQL, which is an extra

        return mysql.prepared
    return postgresql.prepared if dialect == "postgresql" else sqlite.prepared


def untracked(dataset: SqlDataset) -> str | None:
    """Return why a dataset's changes cannot be found, as a clause."""
    return None if dataset.table else "it is a `query`, and only a `table` says which of its records changed"


@contextmanager
def changes(
    connect: Callable[[], sa.Connection],
    described: Callable[[sa.Connection, SqlDataset], tuple[Base, list[SqlColumn]]],
    declared: Callable[[SqlColumn], AsDeclared | None],
    dataset: SqlDataset,
    by: str,
    place: ErrorContext,
    seconds: float,
) -> Iterator[TableChanges]:
    """Open a view of a table's changes, as its column `by` tells them."""
    connection = connect()
    try:
        base, columns = described(connection, dataset)
        assert isinstance(base, sa.TableClause)  # noqa: S101 - untracked() refuses queries
        kinds = {column.name: kind for column in columns if (kind := declared(column)) is not None}
        table = ChangingTable(base, {column.name: column for column in columns}, kinds, by)
        with translated_errors(place, read_of(connection)):
            view = _prepared(place.dialect)(connection, table)
            connection.rollback()
    except BaseException:
        close_connection(connection)
        raise
    with opened(lambda: connection, lambda *_: base, place, seconds) as snapshot:
        yield view(snapshot)
