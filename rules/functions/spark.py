"""Spark's SQL: a dialect to compile with. It never connects; `connectors.spark` sends its text with `spark.sql`.

A statement means what its text says only in a session with ANSI mode, in UTC, with backslash escapes and without the
substitution of variables in texts, which is what our sessions set.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import GenericTypeCompiler, IdentifierPreparer, SQLCompiler

from rules.functions import text, times
from rules.functions.dialects import arguments


class SparkCompiler(SQLCompiler):
    """Compiles the differences between Spark's SQL and the standard's."""

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """Escape backslashes: in a text they begin an escape, and two quotes do not mean one."""
        if isinstance(value, str):
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        if isinstance(value, dt.datetime):
            return f"TIMESTAMP'{value.isoformat(' ')}'"
        if isinstance(value, dt.date):
            return f"DATE'{value.isoformat()}'"
        if isinstance(value, float):
            return f"CAST('{value!r}' AS DOUBLE)"
        if isinstance(value, bytes):
            return f"X'{value.hex()}'"
        return str(super().render_literal_value(value, type_))


class SparkTypeCompiler(GenericTypeCompiler):
    """Spark's names for types that differ from the standard's."""

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802  (SQLAlchemy's visitor protocol)
        return "STRING"

    visit_VARCHAR = visit_CHAR = visit_NVARCHAR = visit_TEXT  # noqa: N815

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        # A bare DECIMAL has no places in Spark, which would round silently.
        return f"DECIMAL({type_.precision or 38}, {(type_.scale or 0) if type_.precision else 10})"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "DOUBLE"

    def visit_datetime(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002
        return "TIMESTAMP"

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "BINARY"


class SparkIdentifiers(IdentifierPreparer):
    """Names in backticks, always: what Spark reserves depends on its settings."""

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`")

    def _requires_quotes(self, _value: str) -> bool:
        return True


class SparkDialect(DefaultDialect):
    """Compiles statements for `spark.sql`."""

    name = "spark"
    statement_compiler = SparkCompiler
    type_compiler_cls = SparkTypeCompiler
    preparer: type[IdentifierPreparer] = SparkIdentifiers
    supports_statement_cache = True
    supports_native_boolean = True


@compiles(text.plain, "spark")
@compiles(text.exact, "spark")
def _text(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({arguments(element, compiler, **kw)[0]} AS STRING)"


@compiles(text.is_ascii, "spark")
def _is_ascii(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"(octet_length({x}) = char_length({x}))"


@compiles(text.strip, "spark")
def _strip(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"trim(BOTH {text.white(compiler, **kw)} FROM {x})"


@compiles(text.trim_sp, "spark")
def _trim_sp(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"trim(BOTH ' ' FROM {arguments(element, compiler, **kw)[0]})"


@compiles(text.replaced, "spark")
def _replaced(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"regexp_replace({', '.join(arguments(element, compiler, **kw))})"


@compiles(text.zeros_stripped, "spark")
def _zeros_stripped(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return f"regexp_replace({x}, '(?<![0-9])0+(?=[0-9])', '')"


@compiles(text.digits_apart, "spark")
def _digits_apart(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    signs = "[^A-Za-z0-9]+"
    # A backslash in a text of Spark is written as two.
    pattern = rf"(?<=[A-Za-z]){signs}|\\A{signs}|{signs}(?=[A-Za-z]|\\z)"
    return f"regexp_replace(regexp_replace({x}, '{pattern}', ''), '{signs}', '-')"


@compiles(text.characters, "spark")
def _characters(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"char_length({arguments(element, compiler, **kw)[0]})"


@compiles(times.micros_between, "spark")
def _micros_between(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    # A date becomes its midnight in UTC, the zone of our sessions.
    a, b = (f"unix_micros(CAST({x} AS TIMESTAMP))" for x in arguments(element, compiler, **kw))
    return f"({b} - {a})"


@compiles(times.utc_day, "spark")
def _utc_day(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({arguments(element, compiler, **kw)[0]} AS DATE)"
