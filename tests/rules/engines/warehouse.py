"""Warehouses stood for by DuckDB: each statement is parsed in the warehouse's SQL and run as DuckDB's.

`stand_in("snowflake", folder)` is the URL of such a warehouse. SQLAlchemy knows it as a driver of that warehouse, so
the product takes it for one. sqlglot parses and translates what the product sends; what sqlglot does not translate is
defined in DuckDB below.
"""

# ruff: noqa: ARG002, N802 - SQLAlchemy calls the methods of dialects by these names

import re
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import sqlalchemy as sa
import sqlglot
from sqlalchemy.dialects.postgresql.base import PGIdentifierPreparer, PGTypeCompiler
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlglot import exp

from connectors.sql.generic.warehouse import WAREHOUSES
from rules.functions.dialects import DuckDialect

TIMELESS = "timeless"
"""A table of this name cannot be read as of a moment."""
NOW = "2026-03-01 00:00:00.000001 +00:00"
_MACROS = (
    "CREATE OR REPLACE TEMP MACRO to_varbyte(x, form) AS encode(x)",
    "CREATE OR REPLACE TEMP MACRO with_timezone(x, zone) AS timezone(zone, x)",
)
_TYPES = (
    (r"VARCHAR", lambda _: sa.String(256)),
    (r"BIGINT|INTEGER", lambda _: sa.BigInteger()),
    (r"DECIMAL\((\d+),(\d+)\)", lambda match: sa.Numeric(int(match[1]), int(match[2]))),
    (r"DOUBLE", lambda _: sa.Double()),
    (r"BOOLEAN", lambda _: sa.Boolean()),
    (r"DATE", lambda _: sa.Date()),
    (r"TIMESTAMP WITH TIME ZONE", lambda _: sa.TIMESTAMP(timezone=True)),
    (r"TIMESTAMP", lambda _: sa.DATETIME()),
)


def translated(sql: str, warehouse: str) -> tuple[str, set[str]]:
    """DuckDB's form of a warehouse's statement, and the times as of which it reads its tables."""
    [tree] = sqlglot.parse(sql, dialect=warehouse)
    assert tree is not None
    times = set()
    for table in tree.find_all(exp.Table):
        for travel in (table.args.get("when"), table.args.get("version")):
            if travel is not None:
                times.add(next(travel.find_all(exp.Literal)).this)
        table.set("when", None)
        table.set("version", None)
    for cast in tree.find_all(exp.Cast):
        if cast.to.this in (exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY):  # DuckDB's cast reads escapes
            cast.replace(exp.Encode(this=cast.this, charset=exp.Literal.string("utf-8")))
    for length in tree.find_all(exp.Length, exp.ByteLength, exp.Anonymous):
        if isinstance(length.this, exp.Encode):  # DuckDB's LENGTH takes no bytes, and its OCTET_LENGTH no text
            length.replace(exp.func("STRLEN", length.this.this))
        elif isinstance(length, exp.ByteLength) or length.name == "OCTET_LENGTH":
            length.replace(exp.func("STRLEN", *(length.expressions or [length.this])))
    return tree.sql(dialect="duckdb"), times


class _Cursor:
    def __init__(self, raw: Any, warehouse: str, sent: list[tuple[str, set[str]]]) -> None:
        self._raw, self._warehouse, self._sent = raw, warehouse, sent
        self.arraysize = 1
        self._rows: Iterator[tuple[Any, ...]] | None = None

    def execute(self, sql: str, parameters: Any = None) -> None:
        """Statements of our own dialects have no parameters: they are the warehouse's SQL."""
        if sql == WAREHOUSES[self._warehouse].now:
            sql = f"SELECT '{NOW}'"
        elif parameters is None:
            sql, times = translated(sql, self._warehouse)
            self._sent.append((sql, times))
            if times and TIMELESS in sql:
                raise duckdb.NotImplementedException("this table has no versions")
        self._raw.execute(sql, list(parameters or ()))
        self._rows = None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Rows by way of Arrow: by itself, DuckDB needs another package for times with a zone."""
        if self._rows is None:
            with warnings.catch_warnings(action="ignore"):  # of the copy
                columns = [column.to_pylist() for column in self._raw.to_arrow_table().columns]
            self._rows = iter(list(zip(*columns, strict=True)))
        return list(islice(self._rows, size))

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(sys.maxsize)

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self.fetchmany(1)), None)

    def executemany(self, sql: str, rows: Any) -> None:
        self._raw.executemany(sql, [list(row) for row in rows])

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


class _Connection:
    def __init__(self, path: str, warehouse: str, sent: list[tuple[str, set[str]]]) -> None:
        self._raw, self._warehouse, self._sent = duckdb.connect(path), warehouse, sent
        for statement in ("SET TimeZone = 'UTC'", *_MACROS):
            self._raw.execute(statement)

    def cursor(self) -> _Cursor:
        return _Cursor(self._raw, self._warehouse, self._sent)

    def commit(self) -> None:
        pass

    rollback = commit

    def close(self) -> None:
        self._raw.close()


class _Quoting(PGIdentifierPreparer):
    def _requires_quotes(self, _value: str) -> bool:
        return True


class StandIn(DuckDialect):
    """DuckDB under a warehouse's name; `sent` are the statements of all connections, with the times they read."""

    driver = "standin"
    preparer = _Quoting
    supports_statement_cache = True
    sent: list[tuple[str, set[str]]]

    @classmethod
    def import_dbapi(cls) -> Any:
        return SimpleNamespace(paramstyle="qmark", Error=duckdb.Error)

    def create_connect_args(self, url: sa.URL) -> Any:
        return [url.database], {}

    def connect(self, *arguments: Any, **_: Any) -> Any:
        return _Connection(arguments[0], self.name, self.sent)

    def initialize(self, connection: Any) -> None:
        self.server_version_info = (16,)
        self.default_schema_name = "main"

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> bool:
        return table_name in self.get_table_names(connection)

    def get_table_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        rows = connection.exec_driver_sql("SELECT table_name FROM information_schema.tables", ())
        return [name for (name,) in rows]

    def get_view_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        return []

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> list[Any]:
        sql = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = ?"
        rows = connection.exec_driver_sql(sql, (table_name,)).all()
        return [{"name": name, "type": _type(kind), "nullable": True, "default": None} for name, kind in rows]

    def do_begin(self, dbapi_connection: Any) -> None:
        pass


def _type(word: str) -> Any:
    return next(build(match) for pattern, build in _TYPES if (match := re.fullmatch(pattern, word)))


class _VarcharText(PGTypeCompiler):
    def visit_TEXT(self, type_: Any, **kw: Any) -> str:
        return "VARCHAR(30000)"


class RedshiftOnPostgres(PGDialect_psycopg):
    """PostgreSQL under Redshift's name: it runs what the product sends, word for word."""

    name = "redshift"
    driver = "postgres"
    type_compiler_cls = _VarcharText
    supports_statement_cache = True


STAND_INS: dict[str, type[StandIn]] = {
    name: type(name, (StandIn,), {"name": name, "sent": [], "supports_statement_cache": True}) for name in WAREHOUSES
}
for _name, _class in STAND_INS.items():
    sa.dialects.registry.impls[f"{_name}.standin"] = lambda stand_in=_class: stand_in
sa.dialects.registry.register("redshift.postgres", __name__, RedshiftOnPostgres.__name__)

REDSHIFT_FUNCTIONS = (
    "create function to_varbyte(x text, form text) returns bytea language sql as $$ select convert_to(x, 'UTF8') $$",
    "create function to_hex(x bytea) returns text language sql as $$ select encode(x, 'hex') $$",
)
"""Redshift's functions that PostgreSQL lacks."""


def stand_in(warehouse: str, folder: Path) -> str:
    """The URL of a warehouse that DuckDB stands for."""
    return f"{warehouse}+standin:///{folder}/{warehouse}.duckdb"


def on_postgres(url: str) -> str:
    """The database as Redshift, whose transactions see one snapshot."""
    address = sa.make_url(url).set(drivername="redshift+postgres")
    address = address.update_query_dict({"options": r"-c default_transaction_isolation=repeatable\ read"})
    return address.render_as_string(hide_password=False)


# Every feature of a rule of kind `duplicates` once, over one table of awkward records.

ROWS = (
    "(1, 'A1', 'x', 10.50, 5, '2026-03-01 10:00:00', '2026-03-01 10:30:00', '2026-03-01', true, 'Müller')",
    "(2, 'A1 ', 'x', 10.55, 6, '2026-03-01 10:10:00', '2026-03-01 10:20:00', '2026-03-02', true, 'müller')",
    "(3, 'a1', 'y', 10.61, 9, '2026-03-01 10:20:00.000001', '2026-03-01 11:00:00', '2026-03-05', false, 'Mueller')",
    "(4, chr(160) || 'A1', 'x', 10.50, 5, '2026-03-01 10:10:00.5', null, '2026-03-01', true, 'Muller')",
    "(5, 'A1' || chr(9), 'y', -3.00, -7, '2026-03-02 10:00:00', '2026-03-02 10:00:00', null, null, 'M-07')",
    "(6, 'A1', 'x', 10.50, 5, '2026-03-01 23:59:59.999999', '2026-03-02 01:00:00', '2026-03-01', true, 'M 07')",
    "(7, 'a\\b''c', null, null, null, null, null, '2026-02-28', false, '%')",
    "(8, 'a\\b''c', 'y', 0.05, 9223372036854775807, '2026-03-02 00:00:00', null, '2026-02-28', false, 'm%')",
    "(9, ' ', 'y', 0.00, -9223372036854775808, '2026-03-02 00:10:00', null, '2026-03-03', true, '')",
    "(10, null, 'x', 10.50, 5, '2026-03-01 10:00:00', '2026-03-01 10:30:00', '2026-03-01', true, null)",
    "(11, 'ß', 'x', 10.50, 5, '2026-03-01 10:05:00', '2026-03-01 10:30:00', '2026-03-01', true, 'SS')",
    "(12, 'Kelvin \u212a', 'x', 1.00, 5, '2026-03-01 10:05:00', '2026-03-01 10:30:00', '2026-03-01', true, 'kelvin k')",
    "(13, 'kelvin k', 'x', 1.00, 5, '2026-03-01 10:05:00', '2026-03-01 10:30:00', '2026-03-01', true, 'KELVIN K')",
)
_CHAINS = (
    *("trim", "lower", "upper", "casefold", "nfkc", "unaccent", "alnum", "digits", "letters"),
    *("{prefix: 2}", "{translit: de}", "{map: {A1: B, a1: null, 'a\\b''c': \"it's\"}}"),
)
_CONDITIONS = (
    *(
        "total > 1.5",
        "total = 10.5",
        "total between 0.05 and 10.55",
        "n <> 5",
        "n in (5, 6, 9)",
        "not ok",
        "ok is null",
    ),
    *("day >= '2026-03-01'", "at < '2026-03-01 12:00'", "at > slot() - 9000d", "kind = 'x' or n < 0"),
    *("ref > 'A1'", "ref = 'a\\b''c'", "trim(ref) = 'A1'", "lower(name) = 'm-07'", "upper(name) = 'SS'"),
    *("coalesce(kind, name) = 'x'", "if(ok, kind, name) = 'x'", "name like 'm%'", "name not like '_ül%'"),
)
_KEYS = ("ref", "kind", "n", "total", "day", "ok", "at", "kind, ok, day")
RULES: dict[str, str] = {
    **{f"key-{number}": f"key: [{key}]" for number, key in enumerate(_KEYS)},
    **{f"chain-{number}": f"key: [{{ref: [{chain}]}}]" for number, chain in enumerate(_CHAINS)},
    **{f"names-{number}": f"key: [{{name: [{chain}]}}]" for number, chain in enumerate(_CHAINS)},
    **{
        f"where-{number}": f'key: [kind], where: "{_yaml}"'
        for number, _yaml in enumerate(text.replace("\\", "\\\\") for text in _CONDITIONS)
    },
    "chained": "key: [{ref: [trim, lower, {prefix: 2}]}]",
    "of-day": "key: [{at: [day]}]",
    "gap": "key: [kind], gap: {at: 10m}",
    "window": "key: [kind], window: {at: 10m}",
    "window-of-days": "key: [kind], window: {day: 1d}",
    "window-of-numbers": "key: [kind], window: {n: 1}",
    "window-of-amounts": "key: [kind], window: {total: 0.05}",
    "gap-of-percents": "key: [kind], gap: {total: 1%}",
    "overlap": "key: [kind], overlap: {from: at, to: until}",
    "distinct": "key: [kind], distinct: ref",
    "distinct-amounts": "key: [{ref: [trim]}], distinct: total",
    "having": 'key: [kind], having: "records >= 3 and count_distinct(ref) > 2"',
    "except": "key: [ref], except: [[1, 6]]",
    "minimum": "key: [ref], minimum: 3",
    "nulls": "key: [kind, ref], nulls: {kind: match}",
    "any": "key: {any: [[ref], [name], [kind, total]]}",
    "any-crowded": "key: {any: [[ref], [kind]]}, max_shared: 3",
    "keep": "key: [kind], keep: [{last: at}, {max: n}]",
}
REFUSED: dict[str, tuple[str, ...]] = {
    "bigquery": (" like ",),
    "redshift": (" like ", "[alnum]", "[digits]", "[letters]"),
}
"""Parts of rules that a warehouse does not run."""


def of(warehouse: str) -> dict[str, str]:
    """The rules that the warehouse runs, by name."""
    refused = REFUSED.get(warehouse, ())
    return {name: rule for name, rule in RULES.items() if not any(part in rule for part in refused)}


def write(url: str) -> None:
    """Write the table."""
    columns = 'id bigint, ref varchar, kind varchar, total decimal(12,2), n bigint, "at" timestamptz, until timestamptz'
    engine: Any = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"create table charges ({columns}, day date, ok boolean, name varchar)", ())
        connection.exec_driver_sql(f"insert into charges values {', '.join(ROWS)}", ())
    engine.dispose()


def config(url: str, engine: str, rules: dict[str, str]) -> str:
    """A configuration with these rules, all in that engine."""
    written = "".join(
        f"  {name}: {{kind: duplicates, dataset: charges, engine: {engine}, max_share: 100%, {rule}}}\n"
        for name, rule in rules.items()
    )
    return (
        f'sources: {{lake: {{type: sql, url: "{url}"}}}}\n'
        f"datasets: {{charges: {{source: lake, table: charges, id: id}}}}\nrules:\n{written}"
    )
