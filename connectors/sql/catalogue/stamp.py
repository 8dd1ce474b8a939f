"""Stamps that show, inside the changing transaction, if a table's catalogue changed since it was read.

Between a plan and its execution a user may add a foreign key with ON DELETE CASCADE, which would delete unplanned rows.
The transaction first locks out such changes, then compares stamps. A stamp changes with the foreign keys that refer to
a table and with its triggers and rules. It may also change without them; then a new read of the catalogue shows no
difference.

Locks: in PostgreSQL a writer's lock on each table, which a new foreign key or trigger waits for. SQLite has one writer,
who locks the whole file. MariaDB blocks changes of a table, and references to its rows, while a transaction has locked
rows of it: there, lock the rows first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from connectors.sql.catalogue.facts import Ident

Run = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]
"""Runs one statement in the driver's own style; returns its rows."""
Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Runs several statements without parameters at once; returns all their rows."""
_POSTGRESQL = (
    "select {place}, g.oid, g.xmin::text from pg_trigger g where g.tgrelid = {table}",
    "select {place}, r.oid, r.xmin::text from pg_rewrite r where r.ev_class = {table}",
    (
        "select {place}, g.oid, g.xmin::text from pg_trigger g"
        " where g.tgrelid = any (array(select relid::oid from pg_partition_tree({table})))"
    ),
)
"""For one table each: PostgreSQL plans them in a fifth of the time of one statement for all tables."""
_MYSQL_LINKS = """
    select k.referenced_table_schema, k.referenced_table_name, k.table_schema, k.table_name, k.constraint_name,
           k.column_name, k.referenced_column_name, r.delete_rule, r.update_rule
    from information_schema.key_column_usage k
    join information_schema.referential_constraints r
      on r.constraint_schema = k.constraint_schema and r.constraint_name = k.constraint_name
      and r.table_name = k.table_name
    where k.referenced_table_name is not null
    order by 1, 2, 3, 4, 5, 6
"""
_MYSQL_TRIGGERS = """
    select trigger_name, action_timing, event_manipulation, action_statement from information_schema.triggers
    where event_object_schema = %s and event_object_table = %s order by 1
"""


def stamps(run: Run, dialect: str, tables: Mapping[str, Ident]) -> dict[str, str]:
    """The stamp of each table by its name. Errors of the database pass through."""
    if not tables:
        return {}
    if dialect == "postgresql":
        statement = " union all ".join(_statements(map(_looked_up, tables.values())))
        return _stamps(tables, run(statement.replace("%", "%%"), ()))
    if dialect == "mysql":
        return _mysql(run, tables)
    [[version]] = run("PRAGMA schema_version", ())
    return dict.fromkeys(tables, str(version))


def lock_and_stamp(run: Run, ask: Ask, dialect: str, tables: Mapping[str, Ident]) -> dict[str, str]:
    """Lock the tables against such changes until the transaction ends; return their stamps."""
    if dialect == "postgresql" and tables:
        names = [_quoted(table) for table in tables.values()]
        locks = f"LOCK TABLE {', '.join(sorted(names))} IN ROW EXCLUSIVE MODE"
        # Each statement has a snapshot of its own: those after LOCK see what the lock waited for.
        return _stamps(tables, ask("; ".join([locks, *_statements(f"{_literal(name)}::regclass" for name in names)])))
    return stamps(run, dialect, tables)


def _statements(tables: Iterable[str]) -> list[str]:
    """The statements for tables, each table given as an expression of its oid."""
    return [
        statement.format(place=place, table=table) for place, table in enumerate(tables) for statement in _POSTGRESQL
    ]


def _stamps(tables: Mapping[str, Ident], rows: Sequence[Sequence[Any]]) -> dict[str, str]:
    parts: list[list[str]] = [[] for _ in tables]
    for place, oid, changed in rows:
        parts[place].append(f"{oid}:{changed}")
    return {name: " ".join(sorted(stamp)) for name, stamp in zip(tables, parts, strict=True)}


def _mysql(run: Run, tables: Mapping[str, Ident]) -> dict[str, str]:
    links = [list(map(str, row)) for row in run(_MYSQL_LINKS, ())]
    by_name = {}
    for name, table in tables.items():
        place = [table.schema, table.name]
        triggers = [list(map(str, row)) for row in run(_MYSQL_TRIGGERS, place)]
        facts = [[row for row in links if row[:2] == place], triggers]
        by_name[name] = hashlib.sha256(repr(facts).encode()).hexdigest()
    return by_name


def _quoted(table: Ident) -> str:
    parts = (table.schema, table.name) if table.schema else (table.name,)
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _looked_up(table: Ident) -> str:
    """The table's oid, without `regclass`, which fails in a schema that this user may not use."""
    schema = f"select n.oid from pg_namespace n where n.nspname = {_literal(table.schema)}"
    return f"(select c.oid from pg_class c where c.relname = {_literal(table.name)} and c.relnamespace = ({schema}))"


def _literal(text: str) -> str:
    """A text literal, whatever a backslash means to the server."""
    escaped = text.replace("'", "''")
    return " E'" + escaped.replace("\\", "\\\\") + "'" if "\\" in text else f"'{escaped}'"
