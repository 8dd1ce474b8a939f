"""Parts of JSON columns as SQL expressions. The columns hold text: see reconcile.store.columns."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler


def json_part(column: sa.ColumnElement[Any], name: str) -> sa.ColumnElement[str]:
    """Return the value of a name at the top of an object, as JSON text: a text in quotes. NULL without it.

    It stays JSON, because PostgreSQL cannot unescape every text that an object may hold.
    """
    return _JsonPart(column, sa.literal(name, sa.Text()))


def largest_of(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return the largest number of an object of numbers as texts, without signs; NULL if it is empty.

    It is compared with a `number_of`: SQLite has doubles, PostgreSQL numbers of any size.
    """
    return _LargestOf(column)


def number_of(number: Decimal) -> sa.ColumnElement[Any]:
    """Return a number that a `largest_of` is compared with."""
    return _NumberOf(sa.literal(str(number), sa.Text()))


class _JsonPart(sa.sql.functions.GenericFunction[Any]):
    inherit_cache = True
    name = "reconcile_json_part"
    type = sa.Text()


@compiles(_JsonPart, "sqlite")
def _part_in_sqlite(element: _JsonPart, compiler: SQLCompiler, **options: Any) -> str:
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return f"nullif(json_quote(json_extract({column}, '$.' || {name})), 'null')"


@compiles(_JsonPart, "postgresql")
def _part_in_postgresql(element: _JsonPart, compiler: SQLCompiler, **options: Any) -> str:
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return f"CAST(CAST({column} AS json) -> CAST({name} AS text) AS text)"


class _LargestOf(sa.sql.functions.GenericFunction[Any]):
    inherit_cache = True
    name = "reconcile_largest_of"
    type = sa.types.NULLTYPE


@compiles(_LargestOf, "sqlite")
def _largest_in_sqlite(element: _LargestOf, compiler: SQLCompiler, **options: Any) -> str:
    [column] = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(SELECT max(abs(CAST(value AS REAL))) FROM json_each({column}))"


@compiles(_LargestOf, "postgresql")
def _largest_in_postgresql(element: _LargestOf, compiler: SQLCompiler, **options: Any) -> str:
    [column] = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(SELECT max(abs(CAST(value AS numeric))) FROM json_each_text(CAST({column} AS json)))"


class _NumberOf(sa.sql.functions.GenericFunction[Any]):
    inherit_cache = True
    name = "reconcile_number_of"
    type = sa.types.NULLTYPE


@compiles(_NumberOf, "sqlite")
def _number_in_sqlite(element: _NumberOf, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS REAL)"


@compiles(_NumberOf, "postgresql")
def _number_in_postgresql(element: _NumberOf, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS numeric)"
