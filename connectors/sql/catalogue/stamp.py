"""Whether what refers to a table changed since its catalogue was read: asked inside the transaction that changes it.

Between a plan and its execution somebody may add a foreign key with ON DELETE CASCADE, and rows that nobody planned
would go. The transaction first locks out such changes, then compares stamps: a stamp is another one after any change
of the foreign keys that refer to a table, and of its triggers and rules. It may be another one
without such a change; then the catalogue, read anew, is as it was.

Holding: PostgreSQL takes the lock of a writer on each table, which a new foreign key or trigger waits for. SQLite has
one writer, who has the whole file. MariaDB lets nobody change a table, or refer to one of its rows, that a transaction
has locked rows of: there the rows have to be locked first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from connectors.sql.catalogue.facts import Ident

Run = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]
"""One statement of the driver's own words, and its rows."""
Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Several statements without parameters, sent at once, and the rows of all of them."""
_POSTGRESQL = (
    "select {place}, g.oid, g.xmin::text from pg_trigger g where g.tgrelid = {table}",
    "select {place}, r.oid, r.xmin::text from pg_rewrite r where r.ev_class = {table}",
    (
        "select {place}, g.oid, g.xmin::text from pg_trigger g"
        " where g.tgrelid = any (array(select relid::oid from pg_partition_tree({table})))"
    ),
)
"""Of one table each: together they are planned in a fifth of the time that one statement of all tables takes."""
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
        asked = " union all ".join(_asked(map(_looked_up, tables.values())))
        return _told(tables, run(asked.replace("%", "%%"), ()))
    if dialect == "mysql":
        return _mysql(run, tables)
    [[version]] = run("PRAGMA schema_version", ())
    return dict.fromkeys(tables, str(version))


def held(run: Run, ask: Ask, dialect: str, tables: Mapping[str, Ident]) -> dict[str, str]:
    """The same, in a transaction during which they cannot become other ones any more."""
    if dialect == "postgresql" and tables:
        named = [_quoted(one) for one in tables.values()]
        locks = f"LOCK TABLE {', '.join(sorted(named))} IN ROW EXCLUSIVE MODE"
        # Each statement has a snapshot of its own: those after LOCK see what the lock waited for.
        return _told(tables, ask("; ".join([locks, *_asked(f"{_literal(one)}::regclass" for one in named)])))
    return stamps(run, dialect, tables)


def _asked(tables: Iterable[str]) -> list[str]:
    """Statements about tables, each said as an expression of its oid."""
    return [one.format(place=place, table=table) for place, table in enumerate(tables) for one in _POSTGRESQL]


def _told(tables: Mapping[str, Ident], rows: Sequence[Sequence[Any]]) -> dict[str, str]:
    said: list[list[str]] = [[] for _ in tables]
    for place, oid, changed in rows:
        said[place].append(f"{oid}:{changed}")
    return {name: " ".join(sorted(one)) for name, one in zip(tables, said, strict=True)}


def _mysql(run: Run, tables: Mapping[str, Ident]) -> dict[str, str]:
    links = [list(map(str, row)) for row in run(_MYSQL_LINKS, ())]
    found = {}
    for name, table in tables.items():
        place = [table.schema, table.name]
        triggers = [list(map(str, row)) for row in run(_MYSQL_TRIGGERS, place)]
        said = [[row for row in links if row[:2] == place], triggers]
        found[name] = hashlib.sha256(repr(said).encode()).hexdigest()
    return found


def _quoted(table: Ident) -> str:
    parts = (table.schema, table.name) if table.schema else (table.name,)
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _looked_up(table: Ident) -> str:
    """Not by `regclass`, which refuses to name a table in a schema that this user may not use."""
    schema = f"select n.oid from pg_namespace n where n.nspname = {_literal(table.schema)}"
    return f"(select c.oid from pg_class c where c.relname = {_literal(table.name)} and c.relnamespace = ({schema}))"


def _literal(told: str) -> str:
    """A text in a statement, whatever the server takes a backslash for."""
    escaped = told.replace("'", "''")
    return " E'" + escaped.replace("\\", "\\\\") + "'" if "\\" in told else f"'{escaped}'"
