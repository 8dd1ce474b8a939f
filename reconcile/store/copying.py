"""Copies a whole store, row by row, from one database to another without interpreting values.

Creates a new store's tables at once: the result of all migrations, marked as migrated.

Alembic would take longer than the whole first run; a test compares the two on both databases.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa

from reconcile.store import tables
from reconcile.store.columns import Instant, Json, OrderedJson, Word
from reconcile.store.tables import metadata

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


BATCH = 1_000
"""Rows in memory at once."""

_OURS = (OrderedJson, Instant, Json, Word)

IN_ORDER: tuple[sa.Table, ...] = tuple(metadata.sorted_tables)
"""Every table, after the tables it refers to."""


def _as_stored(table: sa.Table) -> sa.TableClause:
    return sa.table(
        table.name, *(sa.column(c.name, sa.Text() if isinstance(c.type, _OURS) else c.type) for c in table.c)
    )


_RAW = {table.name: _as_stored(table) for table in IN_ORDER}
_PLAIN = {table.name: [c.name for c in table.c if isinstance(c.type, sa.Text)] for table in IN_ORDER}
_WITHIN = {
    table.name: [key.parent.name for key in table.foreign_keys if key.column.table is table] for table in IN_ORDER
}
"""Columns that refer to another row of their own table, which may come later."""


def rows(connection: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    """Yield all rows of a table in batches, in their stored form."""
    query = sa.select(*_RAW[table.name].c)
    result = connection.execute(query, execution_options={"yield_per": BATCH}).mappings()
    for batch in result.partitions():
        yield [dict(row) for row in batch]


def copy(old: sa.Connection, new: sa.Connection) -> dict[str, int]:
    """Copy every row of one store into another with empty tables; return the number of rows by table."""
    return {table.name: _copy(old, new, table) for table in IN_ORDER}


def _copy(old: sa.Connection, new: sa.Connection, table: sa.Table) -> int:
    raw, copied = _RAW[table.name], 0
    later: dict[str, list[dict[str, Any]]] = {name: [] for name in _WITHIN[table.name]}
    [key, *_] = table.primary_key.columns.keys()
    for batch in rows(old, table):
        for row in batch:
            _fit(row, table.name, new)
            for name, pointing in later.items():
                if row[name] is not None:
                    pointing.append({"of": row[key], "to": row[name]})
                    row[name] = None
        new.execute(sa.insert(raw), batch)
        copied += len(batch)
    for name, pointing in later.items():
        if pointing:
            point = sa.update(raw).where(raw.c[key] == sa.bindparam("of")).values({name: sa.bindparam("to")})
            new.execute(point, pointing)
    return copied


def _fit(row: dict[str, Any], table: str, new: sa.Connection) -> None:
    """Replace NUL in plain texts by the symbol ␀ for PostgreSQL, whose text cannot hold it."""
    if new.dialect.name == "postgresql":
        for name in _PLAIN[table]:
            if row[name] is not None:
                row[name] = row[name].replace("\0", "␀")


def present(connection: sa.Connection) -> list[sa.Table]:
    """Return the tables of a store that its schema has: an older one lacks some."""
    names = set(sa.inspect(connection).get_table_names())
    return [table for table in IN_ORDER if table.name in names]


def copy_as_it_is(old: sa.Connection, new: sa.Connection) -> None:
    """Copy every row of a store of any schema into another of the same schema, without interpreting values."""
    schema = sa.MetaData()
    schema.reflect(new)
    for table in schema.sorted_tables:
        if table.name == _MIGRATED.name:
            continue
        raw = sa.table(table.name, *(sa.column(column.name) for column in table.c))
        result = old.execute(sa.select(*raw.c), execution_options={"yield_per": BATCH}).mappings()
        for batch in result.partitions():
            new.execute(sa.insert(raw), [dict(row) for row in batch])


def clear(connection: sa.Connection) -> None:
    """Empty every table. On SQLite the caller must turn foreign key checks off."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text(f"TRUNCATE {', '.join(table.name for table in IN_ORDER)}"))
        return
    for table in reversed(IN_ORDER):
        connection.execute(sa.delete(table))
