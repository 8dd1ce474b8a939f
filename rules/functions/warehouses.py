"""The SQL of warehouses: a dialect to compile with for each. It never connects; `connectors.sql` sends its text.

A dialect is a class of templates; `{0}` is the first argument. Text is compared as the bytes of its UTF-8, or as their
hexadecimal digits, so that neither collations nor trailing blanks count, and the order is that of code points. A
statement means what it says in a session in UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import GenericTypeCompiler, IdentifierPreparer, SQLCompiler

from rules.functions import text, times
from rules.functions.dialects import WAREHOUSES, arguments


class _Compiler(SQLCompiler):
    """Writes values as the dialect does."""

    dialect: WarehouseDialect

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """Return the value as a constant that has the type of the value."""
        if isinstance(value, str):
            return self.dialect.quoted(value)
        if isinstance(value, dt.datetime):
            value = value.astimezone(dt.UTC) if value.tzinfo else value
            return f"CAST({self.dialect.quoted(value.isoformat(' '))} AS {self.dialect.types['datetime']})"
        if isinstance(value, dt.date):
            return f"DATE '{value.isoformat()}'"
        if isinstance(value, float):
            return f"CAST('{value!r}' AS {self.dialect.types['DOUBLE']})"
        if isinstance(value, Decimal):
            return self.dialect.decimal.format(format(value, "f"))
        return str(super().render_literal_value(value, type_))


class _TypeCompiler(GenericTypeCompiler):
    """Writes types by the names that the dialect lists; others by the standard's."""

    dialect: WarehouseDialect

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802  (SQLAlchemy's visitor protocol)
        precision, scale = type_.precision or 38, (type_.scale or 0) if type_.precision else 10
        return self.dialect.numeric(precision, scale)


def _named(key: str) -> Callable[..., str]:
    def visit(self: _TypeCompiler, _type: Any, **_kw: Any) -> str:
        return self.dialect.types[key]

    return visit


for _visits, _key in (
    (("TEXT", "VARCHAR", "CHAR", "NVARCHAR"), "TEXT"),
    (("BIGINT", "INTEGER", "SMALLINT"), "BIGINT"),
    (("DOUBLE", "FLOAT"), "DOUBLE"),
    (("datetime", "TIMESTAMP"), "datetime"),
):
    for _visit in _visits:
        setattr(_TypeCompiler, f"visit_{_visit}", _named(_key))


class _Names(IdentifierPreparer):
    """Quotes all names: what a warehouse reserves differs and grows."""

    def __init__(self, dialect: WarehouseDialect) -> None:
        super().__init__(dialect, initial_quote=dialect.quote, escape_quote=dialect.quote)

    def _requires_quotes(self, _value: str) -> bool:
        return True


class WarehouseDialect(DefaultDialect):
    """A dialect by its templates; the standard's forms where a warehouse has them."""

    statement_compiler = _Compiler
    type_compiler_cls = _TypeCompiler
    preparer: type[IdentifierPreparer] = _Names
    supports_statement_cache = True
    supports_native_boolean = True

    quote: ClassVar[str] = '"'
    types: ClassVar[dict[str, str]] = {
        "TEXT": "VARCHAR",
        "BIGINT": "BIGINT",
        "DOUBLE": "DOUBLE PRECISION",
        "datetime": "TIMESTAMP WITH TIME ZONE",
    }
    decimal: ClassVar[str] = "{0}"
    plain: ClassVar[str] = "{0}"
    exact: ClassVar[str]
    is_ascii: ClassVar[str] = "(OCTET_LENGTH({0}) = LENGTH({0}))"
    strip: ClassVar[str] = "TRIM({0}, {1})"
    replaced: ClassVar[str] = "REGEXP_REPLACE({0}, {1}, {2})"
    micros: ClassVar[str]
    """Microseconds from the first instant to the second; slightly less is harmless, because groups are judged here."""
    days: ClassVar[str]
    """Days from the first date to the second."""
    day: ClassVar[str] = "CAST({0} AS DATE)"

    def quoted(self, value: str) -> str:
        """Return the text as a constant."""
        return "'" + value.replace("'", "''") + "'"

    def numeric(self, precision: int, scale: int) -> str:
        """Return the name of a type of decimals with at least these digits."""
        return f"DECIMAL({precision}, {scale})"


class Snowflake(WarehouseDialect):
    """Snowflake. Instants are TIMESTAMP_NTZ in UTC, which depend on no setting of the session."""

    name = "snowflake"
    types: ClassVar[dict[str, str]] = WarehouseDialect.types | {"datetime": "TIMESTAMP_NTZ"}
    plain = "COLLATE({0}, '')"
    exact = "HEX_ENCODE({0})"
    micros = "DATEDIFF(MICROSECOND, {0}, {1})"
    days = "DATEDIFF(DAY, {0}, {1})"

    def quoted(self, value: str) -> str:
        return _escaped(value)


class BigQuery(WarehouseDialect):
    """BigQuery. An unmarked decimal would be a float there."""

    name = "bigquery"
    quote = "`"
    types: ClassVar[dict[str, str]] = {
        "TEXT": "STRING",
        "BIGINT": "INT64",
        "DOUBLE": "FLOAT64",
        "datetime": "TIMESTAMP",
    }
    decimal = "BIGNUMERIC '{0}'"
    plain = "COLLATE({0}, '')"
    exact = "CAST({0} AS BYTES)"
    is_ascii = "(BYTE_LENGTH({0}) = LENGTH({0}))"
    micros = "TIMESTAMP_DIFF({1}, {0}, MICROSECOND)"
    days = "DATE_DIFF({1}, {0}, DAY)"
    day = "DATE({0}, 'UTC')"

    def quoted(self, value: str) -> str:
        return _escaped(value, quote="\\'")

    def numeric(self, precision: int, scale: int) -> str:
        return "NUMERIC" if scale <= 9 and precision - scale <= 29 else "BIGNUMERIC"


class Redshift(WarehouseDialect):
    """Redshift, in which `a` and `a ` are one text, and a backslash may begin an escape."""

    name = "redshift"
    exact = "TO_HEX(TO_VARBYTE({0}, 'utf-8'))"
    strip = "BTRIM({0}, {1})"
    micros = "DATEDIFF(microsecond, {0}, {1})"
    days = "DATEDIFF(day, {0}, {1})"

    def quoted(self, value: str) -> str:
        plain = super().quoted(value)
        for code in (*range(1, 32), 92, 127):
            plain = plain.replace(chr(code), f"' || CHR({code}) || '")
        return f"({plain})" if " || " in plain else plain


class Trino(WarehouseDialect):
    """Trino. It counts milliseconds only, so microseconds come of floats, which are exact to 100 of them."""

    name = "trino"
    types: ClassVar[dict[str, str]] = WarehouseDialect.types | {
        "DOUBLE": "DOUBLE",
        "datetime": "TIMESTAMP(6) WITH TIME ZONE",
    }
    exact = "TO_UTF8({0})"
    is_ascii = "(LENGTH(TO_UTF8({0})) = LENGTH({0}))"
    strip = "TRIM(BOTH {1} FROM {0})"
    micros = "(CAST(FLOOR((TO_UNIXTIME({1}) - TO_UNIXTIME({0})) * 1000000E0) AS BIGINT) - 100)"
    days = "DATE_DIFF('day', {0}, {1})"
    day = "CAST({0} AT TIME ZONE 'UTC' AS DATE)"


def _escaped(value: str, quote: str = "''") -> str:
    """Return the text as a constant in which a backslash begins an escape."""
    characters = {"\\": "\\\\", "'": quote}
    return "'" + "".join(characters.get(c, c if c.isprintable() else _by_number(c)) for c in value) + "'"


def _by_number(character: str) -> str:
    return f"\\u{ord(character):04x}" if character <= "\uffff" else character


def _compiled_by(*elements: type[Any], template: str) -> None:
    """Compile the elements by a template of the warehouse's dialect."""

    def compile_element(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
        return str(getattr(compiler.dialect, template)).format(*arguments(element, compiler, **kw))

    for element in elements:
        compiles(element, *WAREHOUSES)(compile_element)


_compiled_by(text.plain, template="plain")
_compiled_by(text.exact, template="exact")
_compiled_by(text.is_ascii, template="is_ascii")
_compiled_by(text.replaced, template="replaced")
_compiled_by(times.utc_day, template="day")


@compiles(text.strip, *WAREHOUSES)
def _strip(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [x] = arguments(element, compiler, **kw)
    return str(compiler.dialect.strip).format(x, text.white(compiler, **kw))  # type: ignore[attr-defined]


@compiles(times.micros_between, *WAREHOUSES)
def _micros_between(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    moments = arguments(element, compiler, **kw)
    dialect: Any = compiler.dialect
    if all(isinstance(clause.type, sa.Date) for clause in element.clauses):
        return f"({dialect.days.format(*moments)} * 86400000000)"
    return str(dialect.micros.format(*moments))
