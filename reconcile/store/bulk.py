"""Many rows in one statement whose text never changes, so that it is compiled and prepared once for any number of rows.

A list of values is one parameter: an array on PostgreSQL, JSON text on SQLite.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeDecorator, TypeEngine

from reconcile.store.columns import json_text
from reconcile.store.database import Transaction


class Words(TypeDecorator[Sequence[str]]):
    """A list of texts as one parameter."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        shared = dialect.name == "postgresql"
        return dialect.type_descriptor(postgresql.ARRAY(sa.Text()) if shared else sa.Text())

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> Any:
        listed = list(value or ())
        return listed if dialect.name == "postgresql" else json_text(listed)


class _IsOneOf(sa.sql.functions.GenericFunction[bool]):
    """Whether a column holds one of a list."""

    inherit_cache = True
    name = "reconcile_is_one_of"
    type = sa.Boolean()


@compiles(_IsOneOf, "postgresql")
def _is_any(element: _IsOneOf, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(one, **options) for one in element.clauses)
    return f"({column} = ANY ({listed}))"


@compiles(_IsOneOf, "sqlite")
def _is_in(element: _IsOneOf, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(one, **options) for one in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({listed})))"


def one_of(column: sa.ColumnElement[str], name: str) -> sa.ColumnElement[bool]:
    """The column holds one of the texts bound under that name."""
    return _IsOneOf(column, sa.bindparam(name, type_=Words()))


def insert(tx: Transaction, table: sa.Table, rows: Sequence[Mapping[str, Any]], *, ignore: bool = False) -> int:
    """Rows with the same columns, at once; how many. With `ignore`, those whose primary key is there are left out."""
    if not rows:
        return 0
    if not tx.store.is_shared:
        return tx.connection.execute(_each(table, ignore=ignore), rows if len(rows) > 1 else rows[0]).rowcount
    names = tuple(rows[0])
    columns = {name: [row[name] for row in rows] for name in names}
    return tx.connection.execute(_unnested(table, names, ignore=ignore), columns).rowcount


@functools.cache
def _each(table: sa.Table, *, ignore: bool) -> sa.Insert:
    made = sqlite.insert(table)
    return made.on_conflict_do_nothing(index_elements=list(table.primary_key.columns)) if ignore else made


@functools.cache
def _unnested(table: sa.Table, names: tuple[str, ...], *, ignore: bool) -> sa.Insert:
    lists = [sa.bindparam(name, type_=postgresql.ARRAY(table.c[name].type)) for name in names]
    rows = sa.func.unnest(*lists).table_valued(*names, name="new").render_derived()
    made = postgresql.insert(table).from_select(names, sa.select(*(rows.c[name] for name in names)))
    made = made.execution_options(preserve_rowcount=True)
    return made.on_conflict_do_nothing(index_elements=list(table.primary_key.columns)) if ignore else made
