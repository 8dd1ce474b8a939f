"""A new store's tables in one go: what all migrations together build, and marked as built by them.

Going through Alembic would take a first run longer than everything it does; a test compares the two on both databases.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa

from reconcile.store import tables

_MIGRATED = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, from which a later migration knows where to start."""


def create(connection: sa.Connection) -> None:
    """All tables, in an empty database, inside the caller's transaction, which keeps them or not."""
    for statement in _statements(f"{connection.dialect.name}+{connection.dialect.driver}"):
        connection.exec_driver_sql(statement)
    connection.execute(sa.insert(_MIGRATED).values(version_num=tables.REVISION))


@cache
def _statements(driver: str) -> tuple[str, ...]:
    """What makes the tables. Compiling it takes three times as long as executing it: once is enough for many stores."""
    made: list[str] = []

    def note(statement: Any, *_: object) -> None:
        made.append(str(statement.compile(dialect=engine.dialect)))

    engine = sa.create_mock_engine(f"{driver}://", note)
    for one in (tables.metadata, _MIGRATED.metadata):
        one.create_all(engine, checkfirst=False)
    return tuple(made)
