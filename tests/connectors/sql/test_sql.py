"""Databases read for real: types, errors, limits and snapshots on PostgreSQL, MariaDB and SQLite."""

import datetime as dt
import resource
import socket
import sqlite3
import sys
import time
import tracemalloc
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pydantic import ValidationError

import connectors.sql.source
from connectors.errors import (
    AccessDenied,
    ColumnMissing,
    ConnectorError,
    DatasetMissing,
    DriverMissing,
    NotReadOnly,
    QueryRefused,
    Reaction,
    SourceBusy,
    SourceMissing,
    SourceUnreachable,
    StatementTimeout,
    ValueDoesNotFit,
)
from connectors.sql.source import SqlDataset, SqlSettings, SqlSource
from tests.support.servers import POSTGRES, execute, mariadb_url, postgres_url

__all__ = ["mariadb_url", "postgres_url"]

CANARY = "s3cr3t-canary"


def source(url: str, root: Path = Path(), **settings: Any) -> SqlSource:
    return SqlSource("shop", SqlSettings.model_validate({"type": "sql", "url": url, **settings}), root)


def table(name: str, **more: Any) -> SqlDataset:
    return SqlDataset.model_validate({"table": name, **more})


def query(text: str, **more: Any) -> SqlDataset:
    return SqlDataset.model_validate({"query": text, **more})


def read(shop: SqlSource, dataset: SqlDataset, *columns: str) -> list[dict[str, Any]]:
    scan = shop.scan(dataset, columns or shop.describe(dataset).names)
    with closing(scan):
        return scan.reader.read_all().to_pylist()


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript(
            """
            create table loose (id integer primary key, whole integer, yes boolean, price decimal(8,2), share real,
                                at datetime, day date, word varchar(5), raw blob, free, epoch integer);
            insert into loose values (1, 7, 1, 20.1, 0.5, '2026-03-01 10:00:00.5', '2026-03-01', '007', x'00', '5',
                                      1772359200);
            insert into loose values (2, 'seven', 2, 0.1 + 0.2, 'half', 1772359200, 'soon', x'ff', 'x', 5, null);
            insert into loose values (3, null, null, null, null, null, null, null, null, null, null);
            """
        )
    return tmp_path / "shop.db"


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with ten charges in it, of each kind in turn."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/ten.db"
    else:
        url = request.getfixturevalue(f"{request.param}_url")
    ids = ", ".join(f"({i}, 'A-{i % 3}')" for i in range(10))
    execute(url, "create table charges (id integer primary key, word varchar(20))", f"insert into charges values {ids}")
    return url


# --- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.server
@pytest.mark.parametrize("adbc", [True, False], ids=["adbc", "psycopg"])
def test_postgresql_values_arrive_alike_by_both_roads(
    postgres_url: str, adbc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(
        postgres_url,
        "create type mood as enum ('sad', 'ok')",
        "create domain email as varchar(20)",
        """create table "T% x:y" (free numeric, cents numeric(12,2), big numeric(60,5), thousands numeric(5,-2),
           code char(5), mail email, mood mood, key uuid, doc jsonb, net inet, raw bytea, ok bool, n bigint not null,
           single real, tags int[], at timestamptz, wall timestamp, day date)""",
        """insert into "T% x:y" values (12345678901234567890.123456789012, 1.10,
           123456789012345678901234567890123.12345, 12300, 'ab', 'e@x', 'ok',
           '2e4a7fd7-e3fc-4602-b731-3c1ca7a1ca10', '{"a":1}', '1.2.3.4', '\\x00ff', true, 9007199254740993, 0.1,
           '{1,2}', '2026-01-01 12:00:00.123456+01', '2026-10-25 02:30', '2026-01-01')""",
    )
    monkeypatch.setattr(connectors.sql.source, "has_adbc", lambda: adbc)

    [row] = read(source(postgres_url), table("T% x:y", timezone="Europe/Berlin"))

    assert row == {
        "free": Decimal("12345678901234567890.123456789012"),
        "cents": Decimal("1.10"),
        "big": Decimal("123456789012345678901234567890123.12345"),
        "thousands": Decimal(12300),
        "code": "ab",
        "mail": "e@x",
        "mood": "ok",
        "key": "2e4a7fd7-e3fc-4602-b731-3c1ca7a1ca10",
        "doc": '{"a": 1}',
        "net": "1.2.3.4/32",
        "raw": b"\x00\xff",
        "ok": True,
        "n": 9007199254740993,
        "single": pytest.approx(0.1, rel=1e-7),
        "tags": "{1,2}",
        "at": dt.datetime(2026, 1, 1, 11, 0, 0, 123456, tzinfo=dt.UTC),
        "wall": dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC),
        "day": dt.date(2026, 1, 1),
    }


@pytest.mark.server
@pytest.mark.parametrize("adbc", [True, False], ids=["adbc", "psycopg"])
def test_postgresql_infinity_and_nan_are_counted_not_misread(
    postgres_url: str, adbc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(
        postgres_url,
        "create table odd (a numeric(5,2), b timestamptz, c date, d timestamp)",
        "insert into odd values (1, now(), now(), now()), ('NaN', 'infinity', '0044-03-15 BC', '294276-01-01')",
    )
    monkeypatch.setattr(connectors.sql.source, "has_adbc", lambda: adbc)

    scan = source(postgres_url).scan(table("odd"), ["a", "b", "c", "d"])
    rows = scan.reader.read_all().to_pylist()

    assert rows[1] == {"a": None, "b": None, "c": None, "d": None}
    assert [(p.column, p.records, p.first) for p in scan.problems()] == [
        (c, 1, "record 2 in the order read") for c in "abcd"
    ]


@pytest.mark.server
@pytest.mark.parametrize("adbc", [True, False], ids=["adbc", "psycopg"])
def test_a_number_too_long_for_its_column_is_an_error_and_text_is_the_way_out(
    postgres_url: str, adbc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(postgres_url, "create table odd (a numeric)", "insert into odd values (1), (0.1234567890123)")
    monkeypatch.setattr(connectors.sql.source, "has_adbc", lambda: adbc)
    shop = source(postgres_url)

    with pytest.raises(ValueDoesNotFit, match="Column 'a' of source 'shop' holds a value that is not a decimal"):
        read(shop, table("odd"))
    assert read(shop, table("odd", columns={"a": "text"})) == [{"a": "1"}, {"a": "0.1234567890123"}]
    assert read(shop, table("odd", columns={"a": "decimal(20,15)"}))[1] == {"a": Decimal("0.123456789012300")}


@pytest.mark.server
def test_mariadb_values_arrive_exactly(mariadb_url: str) -> None:
    execute(
        mariadb_url,
        """create table t (id bigint unsigned primary key, long_ decimal(65,30), ok tinyint(1), small tinyint unsigned,
           single float, at datetime(6), stamp timestamp null, day date, clock time, bits bit(3), pick enum('x','y'),
           doc json, raw varbinary(4), code char(5), word varchar(5), price decimal(12,2) unsigned)""",
        "set time_zone = '+02:00'",
        """insert into t values (18446744073709551615, 1234567890123.000000000001, 1, 255, 0.1,
           '2026-10-25 02:30:00.5', '2026-10-25 02:30:00', '2026-01-01', '12:00:00', b'101', 'y', '{"a": 1}', x'00ff',
           'ab', 'Ä', 1.25)""",
    )

    [row] = read(source(mariadb_url), table("t", timezone="Europe/Berlin"))

    assert row == {
        "id": 18446744073709551615,
        "long_": Decimal("1234567890123.000000000001"),
        "ok": True,
        "small": 255,
        "single": pytest.approx(0.1, rel=1e-7),
        "at": dt.datetime(2026, 10, 25, 0, 30, 0, 500000, tzinfo=dt.UTC),
        "stamp": dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC),
        "day": dt.date(2026, 1, 1),
        "clock": "12:00:00",
        "bits": b"\x05",
        "pick": "y",
        "doc": '{"a": 1}',
        "raw": b"\x00\xff",
        "code": "ab",
        "word": "Ä",
        "price": Decimal("1.25"),
    }


@pytest.mark.server
def test_zero_dates_are_null_and_counted(mariadb_url: str) -> None:
    execute(
        mariadb_url,
        "set sql_mode = ''",
        "create table t (a date not null, b datetime)",
        "insert into t values ('2026-01-01', null), ('0000-00-00', '0000-00-00')",
    )
    shop = source(mariadb_url)

    scan = shop.scan(table("t"), ["a", "b"])
    rows = scan.reader.read_all().to_pylist()

    assert rows == [{"a": dt.date(2026, 1, 1), "b": None}, {"a": None, "b": None}]
    assert [(p.column, p.records) for p in scan.problems()] == [("a", 1), ("b", 1)]
    assert shop.describe(table("t")).field("a").nullable


@pytest.mark.server
def test_a_tinyint_with_a_two_in_it_is_no_boolean(mariadb_url: str) -> None:
    execute(mariadb_url, "create table t (a tinyint(1))", "insert into t values (1), (2)")
    shop = source(mariadb_url)

    with pytest.raises(ValueDoesNotFit, match="not a boolean"):
        read(shop, table("t"))
    assert read(shop, table("t", columns={"a": "integer"})) == [{"a": 1}, {"a": 2}]


def test_sqlite_cells_that_are_not_of_the_declared_type_are_null_and_counted(sqlite_file: Path) -> None:
    shop = source(f"sqlite:///{sqlite_file}")
    dataset = table("loose", timezone="Europe/Berlin")

    scan = shop.scan(dataset, shop.describe(dataset).names)
    rows = scan.reader.read_all().to_pylist()

    assert rows[0] == {
        "id": 1,
        "whole": 7,
        "yes": True,
        "price": Decimal("20.10"),
        "share": 0.5,
        "at": dt.datetime(2026, 3, 1, 9, 0, 0, 500000, tzinfo=dt.UTC),
        "day": dt.date(2026, 3, 1),
        "word": "007",
        "raw": b"\x00",
        "free": "5",
        "epoch": 1772359200,
    }
    assert rows[1] == {**dict.fromkeys(rows[1]), "id": 2, "free": "5"}
    assert sorted(p.column for p in scan.problems()) == ["at", "day", "price", "raw", "share", "whole", "word", "yes"]
    assert {p.records for p in scan.problems()} == {1}


def test_integers_are_instants_only_where_declared(sqlite_file: Path) -> None:
    shop = source(f"sqlite:///{sqlite_file}")

    rows = read(shop, table("loose", columns={"epoch": "instant", "free": "integer"}), "epoch", "free")

    assert rows[0] == {"epoch": dt.datetime(2026, 3, 1, 10, 0, tzinfo=dt.UTC), "free": 5}


def test_declared_columns_read_text_the_way_it_is_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    execute(url, "create table t (a text, b text, c text)", "insert into t values ('1.234,50', '31.12.2025', '-')")
    dataset = table("t", columns={"a": "decimal(10,2)", "b": "date %d.%m.%Y"}, decimal=",", null_values=["-"])

    assert read(source(url), dataset) == [{"a": Decimal("1234.50"), "b": dt.date(2025, 12, 31), "c": None}]


def pushable(shop: SqlSource, dataset: SqlDataset) -> set[str]:
    return {f.name for f in shop.describe(dataset) if (f.metadata or {}).get(b"pushdown") == b"exact"}


@pytest.mark.server
def test_only_what_postgresql_compares_as_we_do_is_pushable(postgres_url: str) -> None:
    execute(
        postgres_url,
        "create table t (a numeric, b numeric(5,2), c text, d float8, e timestamp, f timestamptz, g char(3), h bigint)",
    )
    shop = source(postgres_url)

    assert pushable(shop, table("t")) == set("bcefgh")
    assert pushable(shop, table("t", timezone="Europe/Berlin")) == set("bcfgh")
    assert pushable(shop, table("t", columns={"c": "integer"}, null_values=["-"])) == set("befh")


@pytest.mark.server
def test_only_jsonb_is_said_to_be_jsonb(postgres_url: str) -> None:
    execute(
        postgres_url, "create table t (a jsonb, b json, c text)", """insert into t values ('{"x": 1.50}', '{}', '')"""
    )
    shop = source(postgres_url)

    schema = shop.describe(table("t"))

    assert {f.name for f in schema if (f.metadata or {}).get(b"json") == b"jsonb"} == {"a"}
    assert read(shop, table("t")) == [{"a": '{"x": 1.50}', "b": "{}", "c": ""}]
    assert b"json" not in (shop.describe(table("t", null_values=["{}"])).field("a").metadata or {})


def test_sqlite_columns_are_pushable_only_while_every_cell_fits(sqlite_file: Path) -> None:
    shop = source(f"sqlite:///{sqlite_file}")
    dataset = query("select * from loose where id <> 2")

    assert pushable(shop, table("loose")) == {"id", "epoch"}
    assert pushable(shop, dataset) == {"id", "whole", "yes", "word", "free", "epoch"}


# --- datasets ---------------------------------------------------------------------------------------------------------


@pytest.mark.server
def test_a_table_is_found_in_its_schema(postgres_url: str) -> None:
    execute(
        postgres_url, "create schema books", "create table books.ledger (n int not null)", 'create table "a.b" (n int)'
    )
    shop = source(postgres_url)

    assert sorted(shop.datasets()) == ["a.b", "books.ledger"]
    assert not shop.describe(table("books.ledger")).field("n").nullable
    assert shop.describe(table("a.b")).names == ["n"]


def test_a_query_is_a_dataset(url: str) -> None:
    dataset = query("select id, word as \"the % word\", ':x' as colon from charges where word like 'A-1%' -- odd ones;")
    if url.startswith("mysql"):
        dataset = query(
            "select id, word as `the % word`, ':x' as colon from charges where word like 'A-1%' -- odd ones;"
        )

    rows = read(source(url), dataset)

    assert sorted(row["id"] for row in rows) == [1, 4, 7]
    assert rows[0]["the % word"] == "A-1"
    assert rows[0]["colon"] == ":x"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("delete from charges", "starts with 'delete'"),
        ("select 1) as x; delete from charges; --", "more than one statement"),
        ("select 1; select 2", "more than one statement"),
        ("select 1) as a union select (2", "parentheses"),
        ("select 'a", "not closed"),
        ("/* nothing */ ", "empty"),
    ],
)
def test_a_query_that_is_not_one_select_is_never_sent(url: str, text: str, reason: str) -> None:
    with pytest.raises(NotReadOnly, match=reason):
        source(url).describe(query(text))


def test_the_session_itself_cannot_write(url: str) -> None:
    shop = source(url)

    with shop._connected() as connection, pytest.raises(sa.exc.DBAPIError, match=r"(?i)read.?only"):
        connection.exec_driver_sql("insert into charges values (99, 'x')")


def test_the_database_says_what_is_wrong_with_a_query_on_one_line(url: str) -> None:
    with pytest.raises(QueryRefused) as raised:
        source(url).describe(query("select nonsense from charges"))

    assert "nonsense" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "sqlalche.me" not in str(raised.value)


@pytest.mark.server
def test_a_query_may_hold_types_that_are_read_as_text(postgres_url: str, mariadb_url: str) -> None:
    in_postgres = query("select 'a'::char(3) as a, '10:00'::time as b, array[1,2] as c, 1::numeric(500,2) as d")
    in_mariadb = query("select cast('10:00' as time) as b, cast('::1' as inet6) as c, cast(0.5 as float) as d")

    assert read(source(postgres_url), in_postgres) == [{"a": "a", "b": "10:00:00", "c": "{1,2}", "d": Decimal(1)}]
    assert read(source(mariadb_url), in_mariadb) == [{"b": "10:00:00", "c": "::1", "d": 0.5}]


@pytest.mark.server
def test_values_of_records_are_not_in_errors(postgres_url: str) -> None:
    execute(postgres_url, "create table t (a text)", "insert into t values ('private@example.com')")

    with pytest.raises(QueryRefused) as raised:
        read(source(postgres_url), query("select a::int as a from t"))

    assert "invalid input syntax for type integer" in str(raised.value)
    assert "private" not in str(raised.value)


def test_near_names_are_offered(url: str) -> None:
    shop = source(url)

    with pytest.raises(DatasetMissing, match="did you mean table charges"):
        shop.describe(table("chrages"))
    with pytest.raises(DatasetMissing, match="no table kunden; there is table") as unlike:
        shop.describe(table("kunden"))
    assert "did you mean" not in str(unlike.value)
    with pytest.raises(ColumnMissing, match="no column 'wrod'; did you mean word"):
        shop.scan(table("charges"), ["wrod"])
    with pytest.raises(ColumnMissing, match="no column 'wrod'; did you mean word"):
        shop.describe(table("charges", columns={"wrod": "text"}))


def test_a_column_dropped_after_describe_is_told(url: str) -> None:
    shop = source(url)
    names = shop.describe(table("charges")).names
    execute(url, "alter table charges drop column word")

    with pytest.raises(ColumnMissing, match="no column 'word'"):
        shop.scan(table("charges"), names)


# --- reaching it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_is_not_there_is_unreachable_and_its_password_not_shown(scheme: str) -> None:
    shop = source(f"{scheme}://reader:{CANARY}@127.0.0.1:1/shop")

    with pytest.raises(SourceUnreachable, match=r"'shop' did not answer at 127\.0\.0\.1:1/shop: ") as raised:
        shop.describe(table("charges"))

    assert CANARY not in str(raised.value)
    assert raised.value.reaction is Reaction.RETRY


@pytest.mark.slow
@pytest.mark.parametrize("url", ["postgresql://r@{}/shop?connect_timeout=2", "mysql://r@{}/shop?read_timeout=1"])
def test_a_server_that_accepts_and_says_nothing_is_unreachable(url: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        shop = source(url.format(f"127.0.0.1:{silent.getsockname()[1]}"))

        with pytest.raises(SourceUnreachable, match="time"):
            shop.describe(table("charges"))


@pytest.mark.server
def test_a_wrong_password_is_access_denied_without_the_password(mariadb_url: str) -> None:
    execute(mariadb_url, "create user if not exists reconcile_reader@'%' identified by 'right'")
    wrong = sa.make_url(mariadb_url).set(username="reconcile_reader", password=CANARY)
    shop = source(wrong.render_as_string(hide_password=False))

    with pytest.raises(AccessDenied) as raised:
        shop.describe(table("charges"))

    execute(mariadb_url, "drop user reconcile_reader@'%'")
    assert CANARY not in str(raised.value)
    assert "Access denied for user 'reconcile_reader'" in str(raised.value)


@pytest.mark.server
def test_an_unknown_role_is_access_denied(postgres_url: str) -> None:
    """The test server trusts every password, so a role that does not exist stands for a refused one."""
    unknown = sa.make_url(postgres_url).set(username="nobody_here", password=CANARY)
    shop = source(unknown.render_as_string(hide_password=False))

    with pytest.raises(AccessDenied, match='role "nobody_here" does not exist') as raised:
        shop.describe(table("charges"))

    assert CANARY not in str(raised.value)


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
def test_a_database_that_does_not_exist_is_told(server: str, request: pytest.FixtureRequest) -> None:
    url = sa.make_url(request.getfixturevalue(server)).set(database="no_such_database")

    with pytest.raises(SourceMissing, match="no_such_database"):
        source(url.render_as_string(hide_password=False)).datasets()


def test_a_missing_sqlite_file_is_told_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match=r"cannot be opened at data/shop\.db: file not found"):
        source("sqlite:///data/shop.db", tmp_path).describe(table("charges"))

    assert list(tmp_path.iterdir()) == []


def test_a_relative_sqlite_path_is_relative_to_the_configuration(sqlite_file: Path) -> None:
    odd = sqlite_file.rename(sqlite_file.with_name("a%b#c d.db"))

    assert source("sqlite:///a%b#c d.db", odd.parent).datasets() == ["loose"]


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "shop.db").write_text("id,amount\n" * 200)

    with pytest.raises(SourceMissing, match="cannot be read as a SQLite database"):
        source("sqlite:///shop.db", tmp_path).describe(table("charges"))


def test_a_locked_sqlite_file_is_busy_and_worth_another_try(sqlite_file: Path) -> None:
    shop = source(f"sqlite:///{sqlite_file}?timeout=0.1")
    with closing(sqlite3.connect(sqlite_file)) as writer:
        writer.execute("begin exclusive")

        with pytest.raises(SourceBusy, match=r"locked .*shop\.db") as raised:
            shop.describe(table("loose"))

    assert raised.value.reaction is Reaction.RETRY


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)

    with pytest.raises(DriverMissing, match=r"pip install 'reconcile-runner\[mysql\]'"):
        source("mysql://root@127.0.0.1/shop").datasets()


@pytest.mark.parametrize(
    "given",
    [
        {"url": f"://{CANARY}"},
        {"url": f"nosuch://u:{CANARY}@h/d"},
        {"url": "sqlite://"},
        {"url": "sqlite:///a.db", "statement_timeout": "soon"},
        {"url": "sqlite:///a.db", "statement_timeout": "0s"},
        {"url": f"sqlite:///{CANARY}", "urll": CANARY},
    ],
)
def test_wrong_settings_are_refused_without_showing_them(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as raised:
        SqlSettings.model_validate({"type": "sql", **given})

    assert CANARY not in str(raised.value)


def test_a_dataset_is_a_table_or_a_query() -> None:
    for given in ({}, {"table": "a", "query": "select 1"}):
        with pytest.raises(ValidationError, match="either a `table` or a `query`"):
            SqlDataset.model_validate(given)


# --- limits -----------------------------------------------------------------------------------------------------------

SLOW = {
    "sqlite": "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) as n from n",
    "postgresql": "select pg_sleep(10)::text as n",
    "mysql": "select count(*) as n from seq_1_to_1000000 a, seq_1_to_1000000 b where a.seq < b.seq",
}


@pytest.mark.slow
def test_a_statement_that_runs_too_long_is_stopped(url: str) -> None:
    shop = source(url, statement_timeout="0.3s")
    started = time.monotonic()

    with pytest.raises(StatementTimeout, match=r"stopped after 0\.3s") as raised:
        read(shop, query(SLOW[shop.dialect]), "n")

    assert time.monotonic() - started < 5
    assert raised.value.reaction is Reaction.RETRY


@pytest.mark.slow
def test_a_statement_in_a_snapshot_is_stopped_too(url: str) -> None:
    shop = source(url, statement_timeout="0.3s")
    charges = shop.relation(table("charges"))
    slow = {
        "sqlite": sa.select(sa.func.count().label("n")).select_from(*(charges.alias(f"c{i}") for i in range(10))),
        "postgresql": sa.select(sa.func.pg_sleep(10, type_=sa.Text()).label("n")),
        "mysql": sa.select(sa.func.sleep(charges.c.id + 5, type_=sa.Integer()).label("n")),
    }

    with pytest.raises(StatementTimeout), shop.snapshot() as snapshot:
        snapshot.query(slow[shop.dialect]).read_all()


MANY = {
    "sqlite": """with recursive n(i) as (select 1 union all select i + 1 from n limit 200000)
                 select cast(i as text) || '{}' as w from n""",
    "postgresql": "select i::text || '{}' as w from generate_series(1, 200000) i",
    "mysql": "select concat(seq, '{}') as w from seq_1_to_200000",
}


@pytest.mark.slow
def test_a_long_answer_streams_in_bounded_memory_and_can_be_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors.sql.source, "has_adbc", lambda: False)
    shop = source(url)
    dataset = query(MANY[shop.dialect].format("x" * 200))
    read(shop, query("select 'x' as w"))  # what is imported at the first read is not what is measured
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()

    scan = shop.scan(dataset, ["w"])
    rows = sum(batch.num_rows for batch in scan.reader)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    scan.close()

    assert rows == 200_000
    assert peak < 45_000_000, "200,000 texts of 250 bytes are 60 MB as Python objects: they must not be held together"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    started = time.monotonic()
    given_up = shop.scan(dataset, ["w"])
    given_up.reader.read_next_batch()
    given_up.close()
    assert time.monotonic() - started < 3


@pytest.mark.server
def test_adbc_streams_in_bounded_batches_and_can_be_given_up(postgres_url: str) -> None:
    shop = source(postgres_url)
    dataset = query(MANY["postgresql"].format("x" * 200))

    scan = shop.scan(dataset, ["w"])
    sizes = [batch.num_rows for batch in scan.reader]
    scan.close()
    given_up = shop.scan(query("select i::bigint as i from generate_series(1, 20000000) i"), ["i"])
    first = given_up.reader.read_next_batch()
    given_up.close()

    assert sum(sizes) == 200_000
    assert max(sizes) <= 50_000
    assert first.num_rows > 0
    with shop._connected() as connection:
        alive = """select pg_stat_clear_snapshot(), pg_sleep(0.05), count(*) from pg_stat_activity
                   where datname = current_database()"""
        counts = (connection.exec_driver_sql(alive).one()[2] for _ in range(100))
        assert 1 in counts, "the connection of a scan that was given up is still there after five seconds"


@pytest.mark.server
def test_an_error_in_the_middle_of_a_scan_is_ours(postgres_url: str) -> None:
    shop = source(postgres_url)
    scan = shop.scan(query("select 1 / (150000 - i) as x from generate_series(1, 200000) i"), ["x"])

    with pytest.raises(ConnectorError, match="division by zero"):
        scan.reader.read_all()

    scan.close()


# --- snapshots --------------------------------------------------------------------------------------------------------


def test_a_snapshot_answers_our_query_with_typed_columns(url: str) -> None:
    shop = source(url)
    charges = shop.relation(table("charges"))
    statement = (
        sa.select(charges.c.word, sa.func.count().label("n"), sa.func.sum(charges.c.id).label("total"))
        .where(charges.c.id.in_([0, 1, 2, 3, 4, 5]), charges.c.word != sa.bindparam("not", "A-2%"))
        .group_by(charges.c.word)
        .order_by(charges.c.word)
    )

    with shop.snapshot() as snapshot:
        answer = snapshot.query(statement).read_all()

    assert answer.to_pylist() == [
        {"word": "A-0", "n": 2, "total": 3},
        {"word": "A-1", "n": 2, "total": 5},
        {"word": "A-2", "n": 2, "total": 7},
    ]
    assert answer.schema.types == [pa.string(), pa.int64(), pa.int64()]


def test_every_query_of_a_snapshot_sees_the_same_state(url: str) -> None:
    if url.startswith("sqlite"):
        execute(url, "pragma journal_mode = wal")
    shop = source(url)
    charges = shop.relation(table("charges"))
    count = sa.select(sa.func.count().label("n")).select_from(charges)

    with shop.snapshot() as snapshot:
        first = snapshot.query(count).read_all().to_pylist()
        execute(url, "insert into charges values (100, 'late')")
        second = snapshot.query(count).read_all().to_pylist()
    with shop.snapshot() as later:
        third = later.query(count).read_all().to_pylist()

    assert first == second == [{"n": 10}]
    assert third == [{"n": 11}]


@pytest.mark.server
def test_a_relation_keeps_its_types_through_the_answer(postgres_url: str, mariadb_url: str) -> None:
    stamp = "2026-03-01 10:00:00.123456"
    for url, kind in ((postgres_url, "timestamp"), (mariadb_url, "datetime(6)")):
        execute(
            url,
            f"create table t (id int, at {kind}, price decimal(12,2), code char(3))",
            f"insert into t values (1, '{stamp}', 1.10, 'a'), (2, '{stamp}', 9999999999.99, 'b')",
        )
        shop = source(url)
        relation = shop.relation(table("t"))
        latest = sa.func.max(relation.c.at).label("at")
        cutoff = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

        with shop.snapshot() as snapshot:
            answer = snapshot.query(
                sa.select(
                    latest,
                    sa.func.sum(relation.c.price * 10).label("price"),
                    sa.func.max(relation.c.code).label("code"),
                ).where(relation.c.at > cutoff)
            ).read_all()

        assert answer.to_pylist() == [
            {
                "at": dt.datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=dt.UTC),
                "price": Decimal("100000000010.90"),
                "code": "b",
            }
        ]


def test_sqlite_times_in_an_answer_are_instants_of_their_zone(sqlite_file: Path) -> None:
    shop = source(f"sqlite:///{sqlite_file}")
    loose = shop.relation(table("loose", timezone="Europe/Berlin"))

    with shop.snapshot() as snapshot:
        answer = snapshot.query(sa.select(loose.c.at, loose.c.day).where(loose.c.id == 1)).read_all()

    assert answer.to_pylist() == [
        {"at": dt.datetime(2026, 3, 1, 9, 0, 0, 500000, tzinfo=dt.UTC), "day": dt.date(2026, 3, 1)}
    ]


def test_a_value_that_nobody_would_hear_of_is_an_error_in_a_snapshot(sqlite_file: Path) -> None:
    shop = source(f"sqlite:///{sqlite_file}")
    loose = shop.relation(table("loose"))

    with pytest.raises(ValueDoesNotFit, match=r"Column 'whole'.*engine: embedded"), shop.snapshot() as snapshot:
        snapshot.query(sa.select(loose.c.whole)).read_all()


def test_an_answer_left_half_read_does_not_hold_up_the_end_of_its_snapshot(url: str) -> None:
    shop = source(url)
    relation = shop.relation(query(MANY[shop.dialect].format("x")))

    with shop.snapshot() as snapshot:
        first = snapshot.query(sa.select(relation)).read_next_batch()

    assert 0 < first.num_rows <= 50_000


UNIQUE = {
    "a primary key": ("create table t (id bigint primary key)", True),
    "a unique index of part of the id": ("create table t (id bigint not null unique, more text not null)", True),
    "a partitioned table's": ("create table t (id bigint primary key) partition by hash (id)", True),
    "a materialised view without one": ("create materialized view t as select 1::bigint as id", False),
    "nulls allowed": ("create table t (id bigint unique)", False),
    "only among some records": (
        "create table t (id bigint not null, open bool); create unique index on t (id) where open",
        False,
    ),
    "of an expression": ("create table t (id bigint not null); create unique index on t ((id % 7))", False),
    "looked at when the transaction ends": (
        "create table t (id bigint not null unique deferrable initially deferred)",
        False,
    ),
    "with another column": ("create table t (id bigint not null, n int not null, unique (id, n))", False),
    "including another column": (
        "create table t (id bigint not null, n int); create unique index on t (id) include (n)",
        True,
    ),
    "in the parent only": (
        "create table t (id bigint primary key); create table child () inherits (t); insert into child values (1), (1)",
        False,
    ),
    "behind a view": ("create table own (id bigint primary key); create view t as select * from own", False),
    "of an operator class that tells more apart": (
        "create table t (id varchar not null); create unique index on t (id varchar_pattern_ops)",
        False,
    ),
    "not unique at all": ("create table t (id bigint not null); create index on t (id)", False),
}


@pytest.mark.server
@pytest.mark.parametrize("kept", UNIQUE)
def test_only_an_index_that_holds_for_every_record_at_every_moment_makes_an_id_unique(
    postgres_url: str, kept: str
) -> None:
    statements, expected = UNIQUE[kept]
    execute(postgres_url, *statements.split("; "))
    shop = source(postgres_url)
    columns = ("id", "more") if "more" in statements else ("id",)

    with shop.snapshot() as snapshot:
        assert snapshot.unique(table("t"), columns) is expected
        assert snapshot.unique(query("select * from t"), columns) is False
        assert snapshot.unique(table("t"), ("nothing",)) is False


@pytest.mark.server
def test_an_index_that_failed_to_be_built_makes_nothing_unique(postgres_url: str) -> None:
    execute(postgres_url, "create table t (id bigint not null)", "insert into t values (1), (1)")
    engine = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection, pytest.raises(sa.exc.IntegrityError):
        connection.exec_driver_sql("create unique index concurrently one on t (id)")

    with source(postgres_url).snapshot() as snapshot:
        assert snapshot.unique(table("t"), ("id",)) is False


def test_a_whole_answer_is_the_one_that_streams(url: str) -> None:
    shop = source(url)
    charges = shop.relation(table("charges"))
    statement = sa.select(charges).order_by(charges.c.id)

    with shop.snapshot() as snapshot:
        assert snapshot.whole(statement).equals(snapshot.query(statement).read_all())
        assert snapshot.whole(statement).num_rows == 10


@pytest.mark.server
@pytest.mark.parametrize("encoding", ["LATIN1", "EUC_JP", "SQL_ASCII"])
def test_texts_of_a_database_that_is_not_in_utf8_are_not_compared_there(encoding: str) -> None:
    """White space and case mean something else there: in SQL_ASCII, trimming would cut characters into bytes."""
    maker = sa.create_engine(POSTGRES, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    name = f"reconcile_{encoding.lower()}_{time.monotonic_ns()}"
    with maker.connect() as connection:
        connection.exec_driver_sql(
            f"create database {name} encoding '{encoding}' lc_collate 'C' lc_ctype 'C' template template0"
        )
    url = sa.make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
    try:
        execute(
            f"{url}?client_encoding=utf8", "create table t (id bigint, code text, kind char(3), paid numeric(8, 2))"
        )
        schema = source(url).describe(table("t"))
    finally:
        with maker.connect() as connection:
            connection.exec_driver_sql(f"drop database {name} with (force)")

    pushed = {field.name for field in schema if field.metadata and field.metadata[b"pushdown"] == b"exact"}
    assert pushed == {"id", "paid"}
