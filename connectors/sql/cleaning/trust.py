"""Check that our own tables in a database are as we create them: we trust their rows, and their code runs as us.

A user who may create tables beside the cleaned ones could have created `reconcile_receipts` or `reconcile_owner` first.
Such a table could have a trigger, rule, default or check that runs with our rights, or lack the key that detects
existing receipts. It is refused: nothing is read from it or written to it.

| database | checked |
| --- | --- |
| PostgreSQL | it is a plain table; its owner is this role, a role it is a member of, or a superuser; columns, types, defaults and primary key are ours; it has no trigger, rule, row security, inheritance, further constraint, or index that runs code |
| MariaDB, MySQL | it is a base table of InnoDB; columns, types, defaults, and primary key are ours; it has no trigger, foreign key or check. There are no owners, triggers run with the rights of their authors, and they are visible only with the right TRIGGER |
| SQLite | it is a table, created by exactly the statement that we send; it has no trigger |

A check inside a writing transaction holds until it ends: in PostgreSQL we lock the table first.
"""  # noqa: E501 - a table

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connectors.target import TargetRefused

Run = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]
"""Runs one statement in the driver's own style; returns its rows."""
Columns = Sequence[tuple[str, str]]
"""The name of each column and its kind: `key`, `word`, `number`, `time`, or `one`, a number that is the primary key."""
_FACTS: Mapping[str, Mapping[str, str]] = {
    "postgresql": {
        "key": "text C required key",
        "word": "text required",
        "number": "bigint required",
        "time": "timestamp with time zone required now()",
        "one": "bigint required key",
    },
    "mysql": {
        "key": "varchar(255) ascii_bin required key",
        "word": "varchar(255) utf8mb4_bin required",
        "number": "bigint required",
        "time": "timestamp required current_timestamp(6)",
        "one": "bigint required key",
    },
}
"""Each kind as the statements below describe it."""
_OTHER_COLUMNS = "its columns, defaults or primary key differ"


class TableNotOurs(TargetRefused):
    """A table has the name of one of ours but is not as we create it; it was not used, and nothing was changed."""

    def __init__(self, source: str, table: str, fault: str, remedy: str) -> None:
        super().__init__(
            f"Table {table} of source {source!r} is not as Reconcile creates it: {fault}. Nothing is cleaned there. "
            f"{remedy}"
        )


_POSTGRESQL = """
    WITH RECURSIVE roles (id) AS (
        SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user
        UNION SELECT m.roleid FROM pg_catalog.pg_auth_members m JOIN roles ON roles.id = m.member
    )
    SELECT c.relkind::text || c.relpersistence::text, pg_catalog.pg_get_userbyid(c.relowner), current_user,
           c.relowner IN (SELECT id FROM roles) OR coalesce(o.rolsuper, false),
           array(SELECT t.tgname::text FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
                 ORDER BY 1),
           array(SELECT r.rulename::text FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid ORDER BY 1),
           c.relrowsecurity OR c.relforcerowsecurity
               OR EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid),
           EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)),
           array(SELECT con.conname::text FROM pg_catalog.pg_constraint con
                 WHERE c.oid IN (con.conrelid, con.confrelid) AND con.contype NOT IN ('p', 'n') ORDER BY 1)
           || array(SELECT x.relname::text FROM pg_catalog.pg_index i
                    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
                    WHERE i.indrelid = c.oid AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL
                        OR (i.indisunique AND NOT i.indisprimary) OR EXISTS (
                            SELECT FROM unnest(i.indclass::oid[]) used
                            JOIN pg_catalog.pg_opclass oc ON oc.oid = used WHERE NOT oc.opcdefault
                        )) ORDER BY 1),
           array(SELECT a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod)
                        || CASE WHEN l.collname = 'C' THEN ' C' ELSE '' END
                        || CASE WHEN a.attnotnull THEN ' required' ELSE '' END
                        || CASE WHEN a.attidentity <> '' OR a.attgenerated <> '' THEN ' computed' ELSE '' END
                        || coalesce(' ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '')
                        || CASE WHEN k.indisprimary THEN ' key' ELSE '' END
                 FROM pg_catalog.pg_attribute a
                 LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                 LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
                 LEFT JOIN pg_catalog.pg_index k ON k.indrelid = c.oid AND k.indisprimary AND k.indimmediate
                     AND k.indisvalid AND k.indkey::text = a.attnum::text
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_roles o ON o.oid = c.relowner
    WHERE n.nspname = %s AND c.relname = %s
"""
_PLAIN, _UNLOGGED = "rp", "ru"
_KINDS = {"v": "a view", "m": "a materialised view", "f": "a foreign table", "p": "a partitioned table"}


def _postgresql(run: Run, schema: str, table: str, columns: Columns) -> tuple[str, str] | None:
    rows = run(_POSTGRESQL, (schema, table))
    if not rows:
        return None
    kind, owner, user, is_trusted, triggers, rules, hides_rows, inherits, other_objects, described = rows[0]
    place = f"{schema}.{table}"
    drop = f"Find out who made it, then drop it: `DROP TABLE {place}`"
    if kind != _PLAIN:
        noun = "an unlogged table" if kind == _UNLOGGED else _KINDS.get(kind[0], "not a plain table")
        return f"it is {noun}", drop.replace("TABLE", "VIEW") if kind[0] == "v" else drop
    if not is_trusted:
        give = f"`ALTER TABLE {place} OWNER TO {user}`"
        return (
            f"it belongs to role {owner}, not to {user}",
            f"If Reconcile created it as {owner}, run {give}; if not, drop it",
        )
    for noun, names in (("trigger", triggers), ("rule", rules)):
        if names:
            return f"it has the {noun} {', '.join(names)}", f"Find out who made that, then drop the {noun}"
    if hides_rows:
        off = f"`ALTER TABLE {place} DISABLE ROW LEVEL SECURITY`"
        return "it has row security", f"Find out who enabled it, drop its policies, then run {off}"
    if inherits:
        return "it inherits from a table, or another one inherits from it", drop
    if other_objects:
        return f"it has the constraint or index {', '.join(other_objects)}", "Find out who made that, then drop it"
    return None if described == _described("postgresql", columns) else (_OTHER_COLUMNS, drop)


_MYSQL = """
    SELECT t.table_type, t.engine FROM information_schema.tables t WHERE t.table_schema = %s AND t.table_name = %s
"""
_MYSQL_COLUMNS = """
    SELECT column_name, data_type, character_maximum_length, collation_name, is_nullable, column_default, extra,
           column_key
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_MYSQL_OTHERS = """
    SELECT 'trigger', trigger_name FROM information_schema.triggers
    WHERE event_object_schema = %s AND event_object_table = %s
    UNION ALL
    SELECT lower(constraint_type), constraint_name FROM information_schema.table_constraints
    WHERE table_schema = %s AND table_name = %s AND constraint_type <> 'PRIMARY KEY'
"""


def _mysql(run: Run, schema: str, table: str, columns: Columns) -> tuple[str, str] | None:
    place = (schema, table)
    rows = run(_MYSQL, place)
    if not rows:
        return None
    [(kind, engine)] = rows
    drop = f"Find out who made it, then drop it: `DROP TABLE {schema}.{table}`"
    if kind != "BASE TABLE":
        return f"it is a {str(kind).lower()}", drop.replace("TABLE", "VIEW") if kind == "VIEW" else drop
    if engine != "InnoDB":
        return f"its engine is {engine}", drop
    other_objects = run(_MYSQL_OTHERS, place + place)
    if other_objects:
        noun, name = other_objects[0]
        return f"it has the {noun} {name}", f"Find out who made that, then drop the {noun}"
    described = [_mysql_column(row) for row in run(_MYSQL_COLUMNS, place)]
    return None if described == _described("mysql", columns) else (_OTHER_COLUMNS, drop)


def _mysql_column(row: Sequence[Any]) -> str:
    name, kind, length, collation, nullable, default, extra, key = row
    words = [name, f"{kind}({length})" if length else kind, collation or ""]
    words += ["required" if nullable == "NO" else "", str(default).lower() if default is not None else ""]
    words += [str(extra).lower().replace("default_generated", "").strip(), "key" if key == "PRI" else ""]
    return " ".join(filter(None, words))


_SQLITE = "SELECT type, sql FROM main.sqlite_master WHERE name = ? COLLATE NOCASE"
_SQLITE_TRIGGERS = (
    "SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE ORDER BY name"
)


def _sqlite(run: Run, table: str, sql: str) -> tuple[str, str] | None:
    rows = run(_SQLITE, (table,))
    if not rows:
        return None
    kind, create_statement = rows[0]
    drop = f"Find out who made it, then drop it: `DROP {str(kind).upper()} {table}`"
    if kind != "table":
        return f"it is a {kind}", drop
    if triggers := run(_SQLITE_TRIGGERS, (table,)):
        names = ", ".join(str(name) for (name,) in triggers)
        return f"it has the trigger {names}", "Find out who made that, then drop the trigger"
    return None if _body(create_statement) == _body(sql) else (_OTHER_COLUMNS, drop)


def _body(sql: object) -> str:
    """The statement after the table's name, with single spaces."""
    return re.sub(r"\s+", " ", str(sql).partition("(")[2]).strip()


def _described(dialect: str, columns: Columns) -> list[str]:
    return [f"{name} {_FACTS[dialect][kind]}" for name, kind in columns]


def check(run: Run, dialect: str, source: str, place: tuple[str, str], columns: Columns, sql: str) -> None:
    """Raise TableNotOurs if the table in `place` (schema, name) exists and is not as we create it.

    `sql` is the statement that creates it. Errors of the database pass through.
    """
    schema, table = place
    if dialect == "sqlite":
        fault = _sqlite(run, table, sql)
    else:
        fault = (_postgresql if dialect == "postgresql" else _mysql)(run, schema, table, columns)
    if fault is not None:
        raise TableNotOurs(source, table if dialect == "sqlite" else f"{schema}.{table}", *fault)
