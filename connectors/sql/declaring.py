"""The names and keys of a database's tables, to propose how they are declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa

from connectors.sql.catalogue.facts import OURS

_SUFFIXES = (".db", ".db3", ".sqlite", ".sqlite3")
_BEGINNING = b"SQLite format 3\x00"


def address_of(path: Path) -> str | None:
    """Return the address of a SQLite file; None for any other file."""
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return None
    with path.open("rb") as file:
        return f"sqlite:///{path}" if file.read(len(_BEGINNING)) == _BEGINNING else None


def without_ours(tables: Sequence[str]) -> list[str]:
    """Return the tables except those in which Reconcile notes its changes."""
    return [table for table in tables if table.rpartition(".")[2] not in OURS]


def unique_keys(connection: sa.Connection, name: str) -> list[tuple[str, ...]]:
    """Return the columns of the primary key, then those of each unique constraint or index without nullable columns."""
    schema, _, table = name.rpartition(".")
    inspector = sa.inspect(connection)
    if not inspector.has_table(table, schema=schema or None):
        return []
    return list(dict.fromkeys(_keys(inspector, table, schema or None)))


def _keys(inspector: sa.Inspector, table: str, schema: str | None) -> Iterator[tuple[str, ...]]:
    if primary := inspector.get_pk_constraint(table, schema=schema)["constrained_columns"]:
        yield tuple(primary)
    nullable = {column["name"] for column in inspector.get_columns(table, schema=schema) if column["nullable"]}
    unique = [constraint["column_names"] for constraint in inspector.get_unique_constraints(table, schema=schema)]
    for index in inspector.get_indexes(table, schema=schema):
        is_partial = any(name.endswith("_where") for name in index.get("dialect_options", {}))
        if index["unique"] and not is_partial and not index.get("expressions"):
            unique.append([str(column) for column in index["column_names"]])
    yield from (tuple(columns) for columns in unique if not nullable & set(columns))
