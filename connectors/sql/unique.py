"""Columns that PostgreSQL keeps unique, so that the table need not be read to check."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from connectors.sql.columns import Base, regclass

_KEPT_UNIQUE = sa.text(
    """
    select exists (
        select from pg_index i
        join pg_class t on t.oid = i.indrelid
        where t.oid = to_regclass(:name)
        -- A plain table's index knows nothing of the rows in tables that inherit from it; a partitioned one's does.
        and (t.relkind = 'p' or t.relkind in ('r', 'm') and not t.relhassubclass)
        and i.indisunique and i.indimmediate and i.indisvalid and i.indisready and i.indislive
        and i.indpred is null and i.indexprs is null
        and not exists (
            select from unnest(i.indclass::oid[]) one join pg_opclass o on o.oid = one where not o.opcdefault
        )
        and not exists (
            select from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) one
            join pg_attribute a on a.attrelid = t.oid and a.attnum = one
            where a.attname <> all (:columns)
        )
    ) and :wanted = (
        select count(*) from pg_attribute a
        where a.attrelid = to_regclass(:name) and a.attname = any (:columns) and a.attnotnull
        and not exists (
            select from pg_constraint c
            where c.conrelid = a.attrelid and c.contype = 'n' and not c.convalidated and a.attnum = any (c.conkey)
        )
    )
    """
).bindparams(sa.bindparam("columns", type_=sa.ARRAY(sa.Text())))


def kept_unique(connection: sa.Connection, base: Base, columns: Sequence[str]) -> bool:
    """Return True if an index of that table keeps the columns, or some of them, unique, and none may be null.

    Only an index that always holds for every record counts: not a partial, deferrable or unfinished one, nor one over
    an expression or with its own operator class. Queries, views and foreign tables have none.
    """
    if not isinstance(base, sa.TableClause):
        return False
    parameters = {"name": regclass(base), "columns": list(columns), "wanted": len(set(columns))}
    return bool(connection.execute(_KEPT_UNIQUE, parameters).scalar())
