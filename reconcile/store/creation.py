"""Creates a new store's tables at once: the result of all migrations, marked as migrated.

Alembic would take longer than the whole first run; a test compares the two on both databases.
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
"""Alembic's own table, the starting point of later migrations."""


def create(connection: sa.Connection) -> None:
    """Create all tables in an empty database, inside the caller's transaction."""
    for statement in _statements(f"{connection.dialect.name}+{connection.dialect.driver}"):
        connection.exec_driver_sql(statement)
    connection.execute(sa.insert(_MIGRATED).values(version_num=tables.REVISION))


@cache
def _statements(driver: str) -> tuple[str, ...]:
    """Compile the statements once for many stores: compiling takes three times as long as executing."""
    statements: list[str] = []

    def note(statement: Any, *_: object) -> None:
        statements.append(str(statement.compile(dialect=engine.dialect)))

    engine = sa.create_mock_engine(f"{driver}://", note)
    for schema in (tables.metadata, _MIGRATED.metadata):
        schema.create_all(engine, checkfirst=False)
    return tuple(statements)
