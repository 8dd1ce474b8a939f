"""SQL dialects, and statements as text."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect, PGTypeCompiler
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

WAREHOUSES = {"snowflake": "Snowflake", "bigquery": "BigQuery", "redshift": "Redshift", "trino": "Trino"}
"""Warehouses that rules are pushed into, each with its name for people, which is also the class of its dialect."""
DIALECTS = ("duckdb", "postgresql", "mysql", "sqlite", "spark", *WAREHOUSES)

# The connectors to Spark and to warehouses compile our statements by these names.
sa.dialects.registry.register("spark", "rules.functions.spark", "SparkDialect")
for _name, _class in WAREHOUSES.items():
    sa.dialects.registry.register(f"warehouse.{_name}", "rules.functions.warehouses", _class)


class _PostgresCompiler(PGCompiler):
    """Writes texts with invisible characters as escapes."""

    def render_literal_value(self, value: Any, type_: Any) -> str:
        if _has_unseen(value) and max(value) <= "\uffff":
            quoted = value.replace("\\", "\\\\").replace("'", "''")
            return "E'" + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in quoted) + "'"
        return str(super().render_literal_value(value, type_))  # type: ignore[no-untyped-call]


class DuckCompiler(PGCompiler):
    """Compiles the differences between DuckDB's and PostgreSQL's SQL."""

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """Write invisible characters by their number; DuckDB computes such a text once."""
        if not _has_unseen(value):
            return str(super().render_literal_value(value, type_))  # type: ignore[no-untyped-call]
        return "(" + " || ".join(_pieces(value)) + ")"


def _has_unseen(value: Any) -> bool:
    return isinstance(value, str) and not value.isprintable() and "\x00" not in value  # render refuses NUL


def _pieces(text: str) -> Iterator[str]:
    for is_printable, run in itertools.groupby(text, str.isprintable):
        if is_printable:
            yield "'" + "".join(run).replace("'", "''") + "'"
        else:
            yield from (f"chr({ord(c)})" for c in run)


class DuckTypeCompiler(PGTypeCompiler):
    """DuckDB's names for types that differ from PostgreSQL's."""

    def visit_BYTEA(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802  (SQLAlchemy's visitor protocol)
        return "BLOB"

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        # A bare NUMERIC is DECIMAL(18,3) in DuckDB, which would round silently.
        if type_.precision is None:
            return "DECIMAL(38, 10)"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"


class DuckDialect(PGDialect):
    """Compiles statements for DuckDB's own API. It never connects."""

    name = "duckdb"
    statement_compiler = DuckCompiler
    type_compiler_cls = DuckTypeCompiler
    supports_statement_cache = True
    _backslash_escapes = False


class _PostgresText(PGDialect):
    """PostgreSQL without a connection to ask: a backslash is an ordinary character since 9.1."""

    supports_statement_cache = True
    statement_compiler = _PostgresCompiler
    _backslash_escapes = False


@functools.cache
def dialect(name: str) -> Dialect:
    """Return the dialect of this name; raises ValueError naming all of them."""
    if name == "duckdb":
        return DuckDialect(paramstyle="named")  # type: ignore[no-untyped-call]
    if name == "postgresql":
        return _PostgresText(paramstyle="named")  # type: ignore[no-untyped-call]
    if name in ("mysql", "mariadb"):
        from sqlalchemy.dialects import mysql  # noqa: PLC0415 - loaded only for such a database

        return mysql.dialect(paramstyle="named")
    if name == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415 - see above

        return sqlite.dialect(paramstyle="named")
    if name == "spark":
        from rules.functions.spark import SparkDialect  # noqa: PLC0415 - see above

        return SparkDialect(paramstyle="named")
    if name in WAREHOUSES:
        return sa.dialects.registry.load(f"warehouse.{name}")(paramstyle="named")  # type: ignore[no-any-return]
    raise ValueError(f"{name!r} is not a dialect rules compile to; use one of {', '.join(DIALECTS)}")


def render(statement: sa.ClauseElement, dialect_name: str) -> str:
    """Return the statement as SQL text with every value inline. Raises ValueError for text with a NUL character."""
    compiled = statement.compile(dialect=dialect(dialect_name), compile_kwargs={"literal_binds": True})
    text = str(compiled)
    if "\x00" in text:
        raise ValueError("a text with a NUL character cannot be part of a statement")
    return text


def arguments(element: FunctionElement[Any], compiler: SQLCompiler, **kw: Any) -> list[str]:
    """Return the compiled arguments of a function."""
    return [compiler.process(clause, **kw) for clause in element.clauses]
