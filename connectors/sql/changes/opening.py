"""Open a view of the changes of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import sqlalchemy as sa

from connectors.sql.changes import postgresql, sqlite
from connectors.sql.changes.view import ChangingTable, TableChanges
from connectors.sql.columns import Base, SqlColumn
from connectors.sql.errors import ErrorContext
from connectors.sql.reading import AsDeclared
from connectors.sql.replica import Replica
from connectors.sql.settings import SqlDataset
from connectors.sql.snapshot import SqlSnapshot, opened
from connectors.sql.stop import read_of
from connectors.sql.stream import close_connection, translated_errors


class _Database(Protocol):
    """The module of a database."""

    def moment(self, connection: sa.Connection, base: sa.TableClause) -> Any:
        """Return what a mark says of this moment, as the server tells on which the table is changed."""

    def prepared(
        self, connection: sa.Connection, table: ChangingTable, moment: Any
    ) -> Callable[[SqlSnapshot], TableChanges]:
        """Read the catalogue, before the snapshot."""


def _database(dialect: str) -> _Database:
    if dialect == "mysql":
        from connectors.sql.changes import mysql  # noqa: PLC0415 - needs PyMySQL, which is an extra

        return mysql
    return postgresql if dialect == "postgresql" else sqlite


def untracked(dataset: SqlDataset) -> str | None:
    """Return why a dataset's changes cannot be found, as a clause."""
    return None if dataset.table else "it is a `query`, and only a `table` reports which records changed"


@contextmanager
def changes(
    connect: Callable[[], sa.Connection],
    described: Callable[[sa.Connection, SqlDataset], tuple[Base, list[SqlColumn]]],
    declared: Callable[[SqlColumn], AsDeclared | None],
    dataset: SqlDataset,
    by: str,
    place: ErrorContext,
    seconds: float,
    replica: Replica | None = None,
) -> Iterator[TableChanges]:
    """Open a view of a table's changes, as its column `by` tells them.

    The mark's time is taken before the snapshot is opened. So the snapshot, also one on a replica, has every
    transaction that was committed before that time.
    """
    connection, database = connect(), _database(place.dialect)
    try:
        base, columns = described(connection, dataset)
        assert isinstance(base, sa.TableClause)  # noqa: S101 - untracked() refuses queries
        kinds = {column.name: kind for column in columns if (kind := declared(column)) is not None}
        table = ChangingTable(base, {column.name: column for column in columns}, kinds, by)
        if replica is None:
            with translated_errors(place, read_of(connection)):
                moment = database.moment(connection, base)
        else:
            with replica.at_primary() as primary:
                moment = database.moment(primary, base)
            replica.await_on(connection)
        with translated_errors(place, read_of(connection)):
            view = database.prepared(connection, table, moment)
            connection.rollback()
    except BaseException:
        close_connection(connection)
        raise
    with opened(lambda: connection, lambda *_: base, place, seconds) as snapshot:
        yield view(snapshot)
