"""A new store's tables in one go: what all migrations together build, and marked as built by them.

Going through Alembic would take a first run longer than everything it does; a test compares the two on both databases.
"""

from __future__ import annotations

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
    tables.metadata.create_all(connection, checkfirst=False)
    _MIGRATED.create(connection, checkfirst=False)
    connection.execute(sa.insert(_MIGRATED).values(version_num=tables.REVISION))
