"""Databases without a reader of their own, stood for by aliases under which SQLAlchemy knows PostgreSQL and SQLite."""

import datetime as dt
import re
import sqlite3
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.dialects import mssql, oracle

from connectors.base import Queryable
from connectors.conformance import source as conformance
from connectors.conformance.source import Kit
from connectors.errors import (
    AccessDenied,
    ColumnMissing,
    ConnectorError,
    DatasetMissing,
    DriverMissing,
    NotReadOnly,
    QueryRefused,
    Reaction,
    SourceMissing,
    SourceUnreachable,
    StatementTimeout,
    ValueDoesNotFit,
)
from connectors.sql.errors import ErrorContext
from connectors.sql.generic.source import GenericSource, connector_error, no_records, secrets_of, untyped
from connectors.sql.generic.values import GenericColumn, described, inspected
from connectors.sql.source import SqlDataset, SqlSettings, SqlSource
from connectors.sql.values import arrow_type
from rules.engines.base import Relation
from rules.kinds.duplicates import DuplicatesRule
from rules.values import Column, Schema, Type
from tests.connectors.sql.test_conformance import SECRET, SqlKit
from tests.support.cli import Answer, Project
from tests.support.rules import pushdown_obstacle
from tests.support.servers import execute, postgres_url

__all__ = ["postgres_url"]

sa.dialects.registry.register("otherdb", "sqlalchemy.dialects.postgresql.psycopg", "PGDialect_psycopg")
sa.dialects.registry.register("otherfile", "sqlalchemy.dialects.sqlite.pysqlite", "SQLiteDialect_pysqlite")
sa.dialects.registry.register("otherdb.nodriver", "sqlalchemy.dialects.postgresql.pg8000", "PGDialect_pg8000")
CANARY = "s3cr3t-canary"


def alias(url: str) -> str:
    """The same database, under a name that the connector does not know."""
    address = sa.make_url(url)
    family = {"postgresql": "otherdb", "sqlite": "otherfile"}[address.get_backend_name()]
    return address.set(drivername=family).render_as_string(hide_password=False)


def source(url: str, root: Path = Path(), **settings: Any) -> Any:
    return SqlSource.open("shop", SqlSettings.model_validate({"type": "sql", "url": url, **settings}), root)


def dataset(**given: Any) -> SqlDataset:
    return SqlDataset.model_validate(given)


def read(shop: Any, wanted: SqlDataset) -> list[dict[str, Any]]:
    with closing(shop.scan(wanted, shop.describe(wanted).names)) as scan:
        rows: list[dict[str, Any]] = scan.reader.read_all().to_pylist()
        return rows


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.server)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each sort, by the name that has a reader of its own."""
    if request.param == "file":
        return f"sqlite:///{tmp_path}/shop.db"
    server: str = request.getfixturevalue("postgres_url")
    return server


class GenericKit(SqlKit):
    """The tables of the `sql` kit, read through the alias."""

    def store(self, table: Any) -> Any:
        stored = super().store(table)
        assert isinstance(stored.source, GenericSource)
        return stored


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.slow
def test_an_unknown_database_keeps_the_promises_of_every_connector(
    check: Callable[[Kit], None], url: str, tmp_path: Path
) -> None:
    secret = None
    if url.startswith("postgresql"):  # the server trusts us: any password will do, and must not be shown
        url, secret = sa.make_url(url).set(password=SECRET).render_as_string(hide_password=False), SECRET

    check(GenericKit(alias(url), tmp_path, secret))


# --- which source ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["postgresql://h/d", "postgres://h/d", "mysql://h/d", "mariadb://h/d", "sqlite:///a.db", "mysql+mysqldb://h/d"],
)
def test_the_three_databases_keep_their_own_readers(url: str) -> None:
    shop = source(url)

    assert isinstance(shop, SqlSource)
    assert isinstance(shop, Queryable)


@pytest.mark.parametrize("url", ["mssql+pyodbc://u:p@h/d", "oracle+oracledb://u:p@h/d", "otherdb://h/d"])
def test_any_other_database_is_read_and_never_asked_to_compare(url: str) -> None:
    shop = source(url)

    assert isinstance(shop, GenericSource)
    assert not isinstance(shop, Queryable)


def test_an_unknown_scheme_is_told_by_its_name_and_nothing_else_of_the_url() -> None:
    with pytest.raises(
        ValidationError, match=r"'nosuch://' is not a supported database.* install its driver"
    ) as raised:
        SqlSettings.model_validate({"type": "sql", "url": f"nosuch://u:{CANARY}@h/d"})

    assert CANARY not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "module", "package"),
    [
        ("mssql+pyodbc://u:p@h/d", "pyodbc", "pyodbc"),
        ("oracle+oracledb://u:p@h/d", "oracledb", "reconcile-runner[oracle]"),
    ],
)
def test_a_missing_driver_is_told_with_the_scheme_and_the_package(
    url: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    scheme = url.partition(":")[0].replace("+", r"\+")

    sentence = rf"{module}, the driver for {scheme}://.*pip install '{re.escape(package)}'"
    with pytest.raises(DriverMissing, match=sentence):
        source(url).datasets()


# --- values ----------------------------------------------------------------------------------------------------------

TABLE = """create table "T% x:y" (n bigint, "Price" numeric(12,2), free numeric, part double precision, yes boolean,
    day date, aware timestamptz, wall timestamp, clock time, key uuid, doc jsonb, raw bytea, code char(3), tags int[],
    mood varchar(5), "select" int)"""
ROW = """insert into "T% x:y" values (9007199254740993, 1.10, 0.5, 0.1, true, '2026-01-01',
    '2026-01-01 12:00:00.123456+01', '2026-10-25 02:30', '10:00', '2e4a7fd7-e3fc-4602-b731-3c1ca7a1ca10', '{"a": "é"}',
    '\\x00ff', 'ab', '{1,2}', 'ok', 7)"""
READ = {
    "n": 9007199254740993,
    "Price": Decimal("1.10"),
    "free": Decimal("0.5"),
    "part": 0.1,
    "yes": True,
    "day": dt.date(2026, 1, 1),
    "aware": dt.datetime(2026, 1, 1, 11, 0, 0, 123456, tzinfo=dt.UTC),
    "wall": dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC),
    "clock": "10:00:00",
    "key": "2e4a7fd7-e3fc-4602-b731-3c1ca7a1ca10",
    "doc": '{"a": "é"}',
    "raw": b"\x00\xff",
    "code": "ab ",
    "tags": "[1, 2]",
    "mood": "ok",
    "select": 7,
}


@pytest.mark.server
def test_the_values_of_a_table_arrive_by_the_types_the_inspector_tells(postgres_url: str) -> None:
    execute(postgres_url, TABLE, ROW, 'insert into "T% x:y" default values')

    rows = read(source(alias(postgres_url)), dataset(table="T% x:y", timezone="Europe/Berlin"))

    assert rows == [READ, dict.fromkeys(READ)]


@pytest.mark.server
def test_the_values_of_a_query_arrive_by_what_the_driver_tells(postgres_url: str) -> None:
    """A number is a decimal and a day an instant there, because the driver says no more; the rest is text."""
    execute(postgres_url, TABLE, ROW)
    query = 'select *, \'a%:b\' as "a %:b" from "T% x:y" -- the one;'

    [row] = read(source(alias(postgres_url)), dataset(query=query, timezone="Europe/Berlin"))

    midnight = dt.datetime(2025, 12, 31, 23, tzinfo=dt.UTC)
    numbers = {"n": Decimal(9007199254740993), "part": Decimal("0.1"), "select": Decimal(7)}
    assert {**row, "clock": None} == {**READ, **numbers, "yes": "true", "day": midnight, "clock": None, "a %:b": "a%:b"}


@pytest.mark.server
def test_what_a_query_cannot_tell_is_declared(postgres_url: str) -> None:
    query = """select 12345678901234567890 as long_, 1::float8 / 3 as third, true as yes, date '2026-03-01' as day,
               7 as whole, '1.234,50' as price, 1772359200 as epoch"""
    words = {"long_": "text", "third": "float", "yes": "boolean", "day": "date", "whole": "integer", "price": "decimal"}
    words["epoch"] = "instant"

    [row] = read(source(alias(postgres_url)), dataset(query=query, columns=words, decimal=",", timezone="Asia/Tokyo"))

    assert row == {
        "long_": "12345678901234567890",
        "third": 1 / 3,
        "yes": True,
        "day": dt.date(2026, 3, 1),
        "whole": 7,
        "price": Decimal("1234.5"),
        "epoch": dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC),
    }


@pytest.mark.server
def test_a_number_that_does_not_fit_is_an_error_and_never_cut(postgres_url: str) -> None:
    with pytest.raises(ValueDoesNotFit, match=r"Column 'third' of source 'shop' .* is not a decimal"):
        read(source(alias(postgres_url)), dataset(query="select 1::float8 / 3 as third"))


def test_cells_that_are_not_of_their_type_are_null_and_counted(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.executescript(
            """create table t (n integer, at datetime, day date, price decimal(9,2));
               insert into t values (1, '2026-03-01 10:00:00.5', '2026-03-01', '1.10'), ('x', 'soon', 5, 'dear');"""
        )
    shop = source(f"otherfile:///{tmp_path}/a.db")

    scan = shop.scan(dataset(table="t", timezone="Europe/Berlin"), ["n", "at", "day", "price"])
    first, second = scan.reader.read_all().to_pylist()
    scan.close()

    at = dt.datetime(2026, 3, 1, 9, 0, 0, 500000, tzinfo=dt.UTC)
    assert first == {"n": 1, "at": at, "day": dt.date(2026, 3, 1), "price": Decimal("1.10")}
    assert set(second.values()) == {None}
    assert {(p.column, p.records, p.first) for p in scan.problems()} == {
        (name, 1, "record 2 in the order read") for name in ("n", "at", "day", "price")
    }


def test_no_column_is_said_to_be_compared_exactly(url: str) -> None:
    execute(url, "create table t (id integer primary key, word varchar(5))")

    schema = source(alias(url)).describe(dataset(table="t"))

    assert [field.metadata for field in schema] == [None, None]


@pytest.mark.server
def test_a_table_is_found_in_its_schema_and_near_names_are_offered(postgres_url: str) -> None:
    execute(postgres_url, "create schema books", "create table books.ledger (n int)", 'create table "a.b" (n int)')
    shop = source(alias(postgres_url))

    assert shop.describe(dataset(table="books.ledger")).names == ["n"]
    assert shop.describe(dataset(table="a.b")).names == ["n"]
    with pytest.raises(DatasetMissing, match=r"did you mean table books\.ledger"):
        shop.describe(dataset(table="books.ledgre"))
    with pytest.raises(ColumnMissing, match="no column 'm'"):
        shop.describe(dataset(table="books.ledger", columns={"m": "text"}))


DESCRIBED = [
    (int, None, None, pa.int64()),
    (Decimal, None, None, pa.decimal128(38, 12)),
    (dt.datetime, None, None, pa.timestamp("us", "UTC")),
    (dt.time, None, None, pa.string()),
    ("TIMESTAMP WITH TIME ZONE", None, None, pa.timestamp("us", "UTC")),
    ("DECIMAL(12,2)", None, None, pa.decimal128(12, 2)),
    ("VARCHAR", None, None, pa.string()),
    ("number", 12, 2, pa.decimal128(12, 2)),
    ("number", 9, 0, pa.int64()),
    ("number", 38, 0, pa.decimal128(38, 0)),
    ("number", 126, -127, pa.decimal128(38, 12)),
    ("day or time", None, None, pa.timestamp("us", "UTC")),
    ("bytes", None, None, pa.binary()),
    (None, None, None, pa.string()),
]


@pytest.mark.parametrize(("code", "precision", "scale", "expected"), DESCRIBED)
def test_drivers_describe_columns_in_different_ways(
    code: object, precision: int | None, scale: int | None, expected: pa.DataType
) -> None:
    """By Python's classes as pyodbc, by SQL's words as DuckDB and Trino, by PEP 249's objects as oracledb, or not."""
    driver = SimpleNamespace(NUMBER="number", DATETIME="day or time", BINARY="bytes")

    assert arrow_type(described(("a", code, None, None, precision, scale, None), driver, "UTC")) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (mssql.MONEY(), pa.decimal128(19, 4)),
        (mssql.DATETIMEOFFSET(), pa.timestamp("us", "UTC")),
        (mssql.BIT(), pa.bool_()),
        (mssql.UNIQUEIDENTIFIER(), pa.string()),
        (mssql.XML(), pa.string()),
        (oracle.NUMBER(12, 2), pa.decimal128(12, 2)),
        (oracle.NUMBER(), pa.decimal128(38, 12)),
        (oracle.DATE(), pa.timestamp("us", "UTC")),
        (oracle.CLOB(), pa.string()),
    ],
    ids=repr,
)
def test_types_of_other_databases_have_a_type_of_ours(kind: Any, expected: pa.DataType) -> None:
    assert arrow_type(inspected(kind, "UTC")) == expected


NAMES = {
    "mssql": "SELECT books.[Charges].id, books.[Charges].[Order No], books.[Charges].[select] FROM books.[Charges]",
    "oracle": 'SELECT books."Charges".id, books."Charges"."Order No", books."Charges"."select" FROM books."Charges"',
}


@pytest.mark.parametrize("dialect", [mssql.dialect(), oracle.dialect()], ids=lambda dialect: dialect.name)
def test_statements_are_in_the_words_of_the_dialect(dialect: sa.Dialect) -> None:
    charges, names = sa.table("Charges", schema="books"), ["id", "Order No", "select"]
    relation = untyped(charges, [GenericColumn(name, sa.Text()) for name in names])

    statement = " ".join(str(sa.select(*(relation.c[name] for name in names)).compile(dialect=dialect)).split())
    probe = " ".join(str(no_records(sa.text("select 1 as n from dual")).compile(dialect=dialect)).split())

    assert statement == NAMES[dialect.name]
    assert probe.replace(" AS records", " records") == "SELECT * FROM (select 1 as n from dual) records WHERE 1 = 0"


# --- safety ----------------------------------------------------------------------------------------------------------


def test_the_session_cannot_write_where_the_dialect_can_forbid_it(url: str) -> None:
    execute(url, "create table t (n integer)")
    shop = source(alias(url))

    with shop._connected() as connection, pytest.raises(sa.exc.DBAPIError, match=r"(?i)read.?only"):
        connection.exec_driver_sql("insert into t values (99)")
    with pytest.raises(NotReadOnly):
        shop.describe(dataset(query="delete from t"))


def test_a_query_that_the_database_refuses_is_told_in_its_words_on_one_line(url: str) -> None:
    execute(url, "create table charges (n integer)")

    with pytest.raises(QueryRefused, match="nonsense") as raised:
        source(alias(url)).describe(dataset(query="select nonsense from charges"))

    assert "\n" not in str(raised.value)
    assert "sqlalche.me" not in str(raised.value)


@pytest.mark.server
@pytest.mark.parametrize(
    "query",
    [
        "select a::int as a from t",
        "select a::uuid as a from t",
        "select a::date as a from t",
        "select (n * 1000000)::int as a from t",
        "select (n || '')::json -> 'x' || a::jsonb as a from t",
    ],
)
def test_values_of_records_are_not_in_errors(postgres_url: str, query: str) -> None:
    execute(postgres_url, "create table t (a text, n bigint)", "insert into t values ('private@example.com', 8372615)")

    with pytest.raises(ConnectorError) as raised:
        read(source(alias(postgres_url)), dataset(query=query, columns={"a": "text"}))

    assert "private" not in str(raised.value)
    assert "8372615" not in str(raised.value)


ODBC = "[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"
SAID: list[tuple[tuple[object, ...], bool, type[ConnectorError], str]] = [
    (("42S02", f"[42S02] {ODBC}Invalid object name 'charges'. (208)"), False, QueryRefused, "object name 'charges'"),
    (
        ("22018", f"[22018] {ODBC}Conversion of the value 'private' failed."),
        False,
        QueryRefused,
        "value … failed",
    ),
    (("28000", f"[28000] {ODBC}Login failed for user 'reader'."), True, AccessDenied, "for user 'reader'"),
    (("ORA-00942: table or view does not exist\nHelp: https://…",), False, QueryRefused, "view does not exist. Noth"),
    (("ORA-01017: invalid credential or not authorized; logon denied",), True, AccessDenied, "logon denied"),
    (("DPY-6005: cannot connect to database.\n[Errno 111]",), True, SourceUnreachable, "cannot connect"),
    (
        ("SQL compilation error:\ninvalid identifier 'amount'",),
        False,
        QueryRefused,
        "error: invalid identifier 'amount'",
    ),
    (("Numeric value 'private' is not recognized",), False, QueryRefused, "Numeric value … is not"),
    (("Bad int64 value: private",), False, QueryRefused, "Bad int64 value. Noth"),
    (("value 83726151 is out of range",), False, QueryRefused, "value … is out of range"),
    ((208, b"Invalid object name 'charges'.DB-Lib error"), False, QueryRefused, "name 'charges'"),
    (("the password is hunter2, or s3cr%2Bt",), True, SourceUnreachable, "the password is ***, or ***"),
    (("cannot open database 'books'",), True, SourceMissing, "'books'"),
    (("the connection was reset by the peer",), False, SourceUnreachable, "reset"),
    ((), False, QueryRefused, "no reason given"),
]


@pytest.mark.parametrize(("args", "connecting", "expected", "words"), SAID)
def test_drivers_say_the_same_in_different_ways(
    args: tuple[object, ...], connecting: bool, expected: type[ConnectorError], words: str
) -> None:
    """As SQL Server's two drivers, Oracle's, Snowflake's and BigQuery's put it; none of them is here to ask."""
    error = sa.exc.ProgrammingError("select amount from charges", None, Exception(*args))
    secrets = secrets_of(sa.make_url("mssql+pyodbc://reader:hunter2@h/d?odbc_connect=Server=x;PWD={s3cr%2Bt}"))
    place = ErrorContext("erp", "erp.example.com/books", "mssql+pyodbc", "5m")

    answer = connector_error(error, place, secrets, connecting=connecting, late=False)

    assert type(answer) is expected
    assert words in str(answer)
    assert not {"private", "83726151", "hunter2"} & set(re.findall(r"\w+", str(answer)))


def test_a_server_that_is_not_there_is_unreachable_and_its_password_not_shown() -> None:
    shop = source(f"otherdb://reader:{CANARY}@127.0.0.1:1/shop?application_name={CANARY}2")

    with pytest.raises(SourceUnreachable, match=r"'shop' did not answer at 127\.0\.0\.1:1/shop: ") as raised:
        shop.describe(dataset(table="charges"))

    assert CANARY not in str(raised.value) + repr(shop)
    assert raised.value.reaction is Reaction.RETRY


@pytest.mark.server
def test_what_the_user_may_not_read_is_access_denied(postgres_url: str) -> None:
    execute(
        postgres_url, "create table t (n int)", "create role reconcile_generic login", "revoke all on t from public"
    )
    reader = sa.make_url(alias(postgres_url)).set(username="reconcile_generic").render_as_string(hide_password=False)

    try:
        with pytest.raises(AccessDenied, match="permission denied"):
            read(source(reader), dataset(table="t"))
    finally:
        execute(postgres_url, "drop role reconcile_generic")


SLOW = {
    "otherfile": "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) as n from n",
    "otherdb": "select pg_sleep(20)::text as n",
}


@pytest.mark.slow
def test_a_statement_that_runs_too_long_is_cancelled(url: str) -> None:
    execute(url, "create table t (n integer)")
    shop = source(alias(url), statement_timeout="0.3s")
    started = time.monotonic()

    with pytest.raises(StatementTimeout, match=r"stopped after 0\.3s"):
        read(shop, dataset(query=SLOW[alias(url).partition(":")[0]]))

    assert time.monotonic() - started < 10


MANY = {
    "otherfile": """with recursive n(i) as (select 1 union all select i + 1 from n limit 150000)
                    select cast(i as text) || '{}' as w from n""",
    "otherdb": "select i::text || '{}' as w from generate_series(1, 150000) i",
}


@pytest.mark.slow
def test_a_long_answer_streams_in_bounded_memory_and_can_be_given_up(url: str) -> None:
    execute(url, "create table t (n integer)")
    shop = source(alias(url))
    wanted = dataset(query=MANY[alias(url).partition(":")[0]].format("x" * 200))
    read(shop, dataset(query="select 'x' as w"))  # what is imported at the first read is not what is measured
    tracemalloc.start()

    with closing(shop.scan(wanted, ["w"])) as scan:
        sizes = [batch.num_rows for batch in scan.reader]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with closing(shop.scan(wanted, ["w"])) as given_up:
        first = given_up.reader.read_next_batch()

    assert (sum(sizes), max(sizes)) == (150_000, 10_000)
    assert peak < 45_000_000, "150,000 texts of 250 bytes are 55 MB as Python objects: they must not be held together"
    assert first.num_rows == 10_000


# --- the whole way ---------------------------------------------------------------------------------------------------

CHARGES = [
    "create table charges (id varchar(9) primary key, invoice varchar(9), amount decimal(12,2), charged_at timestamp)",
    """insert into charges values ('c1', 'A-1', 20.25, '2026-03-01 10:00:00'), ('c2', 'a-1 ', 20.25,
       '2026-03-01 10:04:00'), ('c3', 'A-1', 20.25, '2026-03-02 10:00:00'), ('c4', 'Ä-9', 5, '2026-03-01 10:00:00'),
       ('c5', 'ä-9', 5, '2026-03-01 10:14:59'), ('c6', null, 5, '2026-03-01 10:00:00'),
       ('c7', 'B-1', 7.50, '2026-03-01 10:00:00')""",
]
CONFIG = """\
version: 1
state: {state}
sources:
  shop: {{type: sql, url: "{url}"}}
datasets:
  charges:
    source: shop
    {what}
    id: id
    money: {{amount: amount, currency: EUR}}
    columns: {{amount: "decimal(12,2)", charged_at: instant}}
rules:
  twice:
    kind: duplicates
    dataset: charges
    key: [invoice: [trim, casefold], amount]
    gap: {{charged_at: 15m}}
    keep: {{first: charged_at}}
    severity: high
"""


def project(folder: Path, url: str, what: str) -> Project:
    folder.mkdir()
    return Project(folder).write(CONFIG.format(url=url, what=what, state="sqlite:///state.db"))


def found(answer: Answer) -> dict[str, dict[str, Any]]:
    """The findings by the records that they keep, without what names this run or its state."""
    assert answer.code == 0, answer.said
    own = ("id", "first_seen", "last_seen", "state_since", "first_run", "last_run")
    return {
        str(finding["keeper"]): {name: value for name, value in finding.items() if name not in own}
        for finding in answer.json["findings"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("what", ["table: charges", 'query: "select * from charges where amount > 1"'])
def test_a_whole_run_finds_what_the_databases_own_reader_finds(url: str, tmp_path: Path, what: str) -> None:
    execute(url, *CHARGES)
    own, other_project = project(tmp_path / "own", url, what), project(tmp_path / "other", alias(url), what)

    expected, answer = found(own("run", "--json")), other_project("run", "--json")

    assert found(answer) == expected
    assert sorted(finding["keeper"] for finding in expected.values()) == [["c1"], ["c4"]]
    [rule] = answer.json["rules"]
    assert (rule["engine"], rule["read"], rule["skipped"][0]["records"]) == ("embedded", 7, 1)


def test_a_rule_over_an_unknown_database_is_checked_and_explained_as_run_here(url: str, tmp_path: Path) -> None:
    execute(url, *CHARGES)
    other_project = project(tmp_path / "other", alias(url), "table: charges")

    checked, explained = other_project("check"), other_project("explain", "twice", "--sql")

    assert (checked.code, explained.code) == (0, 0), checked.said + explained.said
    assert "twice runs embedded (DuckDB, in this process): source 'shop' cannot run queries" in explained.out
    assert "PARTITION BY" in explained.out


@pytest.mark.slow
def test_a_table_of_an_unknown_database_is_profiled(url: str, tmp_path: Path) -> None:
    execute(url, *CHARGES)
    execute(url, "create table tickets (place int not null, seat varchar(9) not null, primary key (place, seat))")
    execute(url, "insert into tickets values (1, 'a'), (1, 'b'), (2, 'a')")
    other_project = project(tmp_path / "other", alias(url), "table: charges")

    suggested = other_project("suggest", "shop")

    assert suggested.code == 0, suggested.said
    assert "id: [place, seat]  # a key of the table" in suggested.out


def test_a_rule_that_asks_for_pushdown_on_an_unknown_database_is_refused(url: str, tmp_path: Path) -> None:
    execute(url, *CHARGES)
    other_project = project(tmp_path / "other", alias(url), "table: charges")
    config = other_project.folder / "reconcile.yaml"
    config.write_text(config.read_text().replace("key: [", "engine: pushdown\n    key: ["))

    answer = other_project("explain", "twice")

    assert answer.code != 0
    assert "Source 'shop' cannot run queries; use `engine: embedded` or remove the setting." in answer.said


@pytest.mark.slow
def test_the_planner_knows_nothing_of_an_unknown_dialect() -> None:
    rule = DuplicatesRule.model_validate(
        {"name": "twice", "kind": "duplicates", "dataset": "charges", "key": ["word"], "severity": "high"}
    )
    relation = Relation("charges", Schema((Column("word", Type.TEXT, pushable=True),)))

    assert "Reconcile does not know how oracle" in str(pushdown_obstacle(rule, relation, "oracle"))
    assert pushdown_obstacle(rule, relation, "postgresql") is None
