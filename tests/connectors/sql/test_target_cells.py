"""Cells are lossless: a row that is deleted and inserted from its cells is the same row, also to its database."""

import json
import math
import string
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from connectors.sql.source import SqlSource
from connectors.target import Change, RowName, RowsDiffer, TargetError, TargetRefused, TransactionOutcome
from tests.connectors.sql.shop_kit import Shop, record
from tests.support.chance import examples
from tests.support.servers import MARIADB, POSTGRES
from tests.support.shop import shop_on

Texts = st.SearchStrategy[Any]
LETTERS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
TRICKY = st.sampled_from(
    ["", " ", "a ", "%s", "%(x)s", ":x", "'", '"', "\\", "\\x00", "NULL", "🦊", "e\u0301", "{", "\n"]
)
TEXTS = LETTERS | TRICKY
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SINGLES = st.floats(allow_nan=False, allow_infinity=False, width=32)
DAYS = st.dates().map(str)
MOMENTS = st.datetimes().map(str)
DECIMALS = st.decimals(-(10**14), 10**14, places=5).map(lambda item: format(item, "f"))
BYTES = st.binary(max_size=8)
IPS = st.ip_addresses(v=6).map(str)


def whole(low: int, high: int) -> Texts:
    return st.integers(low, high).map(str)


def array(words: list[str | None]) -> str:
    quoted = ("NULL" if word is None else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words)
    return "{" + ",".join(quoted) + "}"


POSTGRESQL: Mapping[str, tuple[str, Texts]] = {
    "small": ("smallint", whole(-(2**15), 2**15 - 1)),
    "large": ("bigint", whole(-(2**63), 2**63 - 1)),
    "exact": ("numeric", DECIMALS | st.sampled_from(["NaN", "Infinity", "-Infinity", "1e-30", "0.00", "9" * 60])),
    "money": ("numeric(20,5)", DECIMALS | st.just("NaN")),
    "price": ("money", st.sampled_from(["-1234.50", "0.01", "92233720368547758.07"])),
    "single": ("real", SINGLES.map(repr) | st.sampled_from(["NaN", "Infinity", "-0"])),
    "double": ("double precision", FLOATS.map(repr) | st.sampled_from(["NaN", "-Infinity", "-0", "5e-324"])),
    "long": ("text", TEXTS),
    "short": ("varchar(10)", TEXTS),
    "padded": ("char(9)", TEXTS),
    "one": ('"char"', st.sampled_from([*string.ascii_letters])),
    "named": ("name", TEXTS),
    "raw": ("bytea", BYTES.map(lambda item: "\\x" + item.hex())),
    "wall": ("timestamp", MOMENTS | st.sampled_from(["infinity", "-infinity", "4713-01-01 00:00:00 BC"])),
    "moment": (
        "timestamptz",
        MOMENTS.map(lambda item: item + "+00") | st.sampled_from(["infinity", "294276-12-31 UTC"]),
    ),
    "day": ("date", DAYS | st.sampled_from(["infinity", "0044-03-15 BC"])),
    "clock": ("time", st.times().map(str) | st.just("24:00:00")),
    "zoned": ("timetz", st.times().map(lambda item: f"{item}+05:30")),
    "span": (
        "interval",
        st.sampled_from(["1 mon -2 days 03:04:05.6", "-178000000 years", "0", "1 day 24:00:00.000001"]),
    ),
    "unique_id": ("uuid", st.uuids().map(str)),
    "raw_json": ("json", st.sampled_from(['{"a":1,  "a":2}', "null", '"\\u00e9"', "[1.0, 1.00]"])),
    "json_b": ("jsonb", st.sampled_from(['{"a":1,  "a":2}', "null", "[1.0, 1.00, 1e400]"])),
    "numbers": ("int[]", st.sampled_from(["{}", "{1,NULL,3}", "{{1,2},{3,4}}", "[0:1]={5,6}"])),
    "words": ("text[]", st.lists(TEXTS | st.none(), max_size=3).map(array)),
    "some": ("int4range", st.sampled_from(["empty", "[1,5)", "(,3]", "(,)"])),
    "while": ("tstzrange", st.sampled_from(["[2020-01-01,infinity]", "(,2020-01-01 00:00+05)", "empty"])),
    "flag": ("boolean", st.sampled_from(["true", "false"])),
    "mood": ("mood", st.sampled_from(["sad", "o'k", "%"])),
    "positive": ("positive", whole(1, 2**31 - 1)),
    "bits": ("bit(3)", st.sampled_from(["000", "101"])),
    "more_bits": ("varbit", st.text("01", max_size=70)),
    "address": ("inet", IPS | st.sampled_from(["10.0.0.1/8", "::1"])),
    "place": ("point", st.sampled_from(["(0.1,-2)", "(1e300,NaN)"])),
    "pair": ("pair", st.sampled_from(['(1,"a ""q"", b")', "(,)", '(2,"")'])),
    "found": ("tsvector", st.sampled_from(["", "'a':1 'b c':2A"])),
    "page": ("xml", st.sampled_from(["<a>1</a>", "text <b/>"])),
    "number": ("oid", whole(0, 2**32 - 1)),
}
MYSQL: Mapping[str, tuple[str, Texts]] = {
    "tiny": ("tinyint(1)", whole(-128, 127)),
    "large": ("bigint unsigned", whole(0, 2**64 - 1)),
    "filled": ("int(8) zerofill", whole(0, 2**32 - 1)),
    "exact": ("decimal(30,10)", DECIMALS),
    "single": ("float", SINGLES.map(repr)),
    "double": ("double", FLOATS.map(repr)),
    "day": ("date", DAYS | st.sampled_from(["0000-00-00", "2024-00-00", "2023-02-31"])),
    "wall": ("datetime(6)", MOMENTS | st.sampled_from(["0000-00-00 00:00:00", "2024-11-00 01:02:03.000004"])),
    "seconds": ("datetime", MOMENTS),
    "moment": (
        "timestamp(6) null",
        st.sampled_from(["2038-01-19 03:14:07.999999", "1970-01-01 00:00:01", "0000-00-00"]),
    ),
    "clock": ("time(6)", st.times().map(str) | st.sampled_from(["-838:59:59", "838:59:59"])),
    "years": ("year", st.sampled_from(["0000", "1901", "2155"])),
    "padded": ("char(9)", TEXTS),
    "long": ("varchar(40)", TEXTS),
    "western": ("varchar(40) character set latin1", st.text(st.characters(max_codepoint=255), max_size=8)),
    "eastern": ("varchar(40) character set sjis", st.sampled_from(["日本", "ｱｲｳ", "\\", "~", "a"])),
    "wide": ("varchar(40) character set utf16", TEXTS),
    "pages": ("longtext", TEXTS),
    "raw": ("blob", BYTES),
    "fixed": ("binary(4)", st.binary(max_size=4)),
    "some_bytes": ("varbinary(8)", BYTES),
    "mood": ("enum('sad','o''k','%','1')", st.sampled_from(["sad", "o'k", "%", "1"])),
    "moods": ("set('a','b','%')", st.sampled_from(["", "a", "a,%", "a,b,%"])),
    "doc": ("json", st.recursive(st.none() | st.booleans() | TEXTS, st.lists, max_leaves=3).map(json.dumps)),
    "unique_id": ("uuid", st.uuids().map(str)),
    "address": ("inet6", IPS),
}
MYSQL_EXPRESSIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "bits": ("bit(64)", ("b'0'", "18446744073709551615", "b'100000001'", "null")),
    "one_bit": ("bit(1)", ("0", "1", "null")),
    "place": ("point", ("point(1, -2.5)", "null")),
    "area": ("geometry", ("st_geomfromtext('POLYGON((0 0,1 0,1 1,0 0))', 4326)", "null")),
}
"""What cannot be written as a text."""


QUICK = settings(max_examples=examples(12), phases=(Phase.explicit, Phase.generate))


def rows_of(columns: Mapping[str, tuple[str, Texts]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    item = st.fixed_dictionaries({name: st.none() | values for name, (_, values) in columns.items()})
    return st.lists(item, min_size=4, max_size=4)


def written_again(shop: Shop, source: SqlSource, rows: int) -> None:
    """Delete every row and insert it from its cells; the cells have to be equal."""
    dataset = SqlSource.Dataset(table="wild")
    ids = [(number,) for number in range(rows)]
    before = [row for row in source.rows(dataset, ["id"], ids) if row]
    assert len(before) == rows
    with source.work(30) as work:
        locked = work.lock([row.name for row in before])
        assert [locked[row.name] for row in before] == before
        for row in before:
            work.apply(Change(row.name, row.cells, None, "surplus"))
        work.apply_all([Change(row.name, None, row.cells, "surplus") for row in before])
        work.commit()

    assert source.rows(dataset, ["id"], ids) == before


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    for shop in shop_on(POSTGRES, tmp_path_factory.mktemp("cells")):
        shop.sql(
            "create type mood as enum ('sad', 'o''k', '%')",
            "create domain positive as int check (value > 0)",
            "create type pair as (a int, b text)",
        )
        yield shop


@pytest.fixture(scope="module")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from shop_on(MARIADB, tmp_path_factory.mktemp("cells"))


@pytest.fixture
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from shop_on(None, tmp_path_factory.mktemp("cells"))


@pytest.mark.server
@QUICK
@given(rows=rows_of(POSTGRESQL))
def test_postgresql_rows_come_back_whatever_is_in_them(rows: list[dict[str, Any]], postgresql: Shop) -> None:
    """Also where the server's settings write or read dates, intervals, bytes, numbers and arrays in other ways."""
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, _) in POSTGRESQL.items())
    name = sa.make_url(postgresql.url).database
    postgresql.sql(
        "drop table if exists wild, twin",
        f"create table wild (id int primary key, {columns})",
        *(
            f"alter database {name} set {text}"
            for text in (
                "DateStyle = 'SQL, DMY'",
                "IntervalStyle = 'sql_standard'",
                "bytea_output = 'escape'",
                "extra_float_digits = -3",
                "array_nulls = off",
                "TimeZone = 'Asia/Kolkata'",
            )
        ),
    )
    with postgresql.engine.begin() as connection:
        connection.exec_driver_sql("set DateStyle = 'ISO, YMD'; set TimeZone = 'UTC'; set array_nulls = on")
        for ident, row in enumerate(rows):
            values = ", ".join(f"cast(%s as {kind})" for kind, _ in POSTGRESQL.values())
            connection.exec_driver_sql(
                f"insert into wild values ({ident}, {values})", tuple(row[column] for column in POSTGRESQL)
            )
    postgresql.sql("create table twin as table wild")

    written_again(postgresql, postgresql.open(), len(rows))

    same = " and ".join(
        f'w."{item}"::text is not distinct from t."{item}"::text'
        if kind in ("json", "xml", "point")
        else f'w."{item}" is not distinct from t."{item}"'
        for item, (kind, _) in POSTGRESQL.items()
    )
    assert postgresql.sql(f"select count(*) from wild w join twin t on w.id = t.id and {same}") == [(len(rows),)]
    postgresql.close()


@pytest.mark.server
@QUICK
@given(rows=rows_of(MYSQL))
def test_mariadb_rows_come_back_whatever_is_in_them(rows: list[dict[str, Any]], mysql: Shop) -> None:
    names = [*MYSQL, *MYSQL_EXPRESSIONS]
    kinds = [kind for kind, _ in [*MYSQL.values(), *MYSQL_EXPRESSIONS.values()]]
    columns = ", ".join(f"`{name}` {kind}" for name, kind in zip(names, kinds, strict=True))
    mysql.sql(
        "drop table if exists wild, twin",
        f"create table wild (id int primary key, {columns}) character set utf8mb4 collate utf8mb4_general_ci",
    )
    with mysql.engine.begin() as connection:
        connection.exec_driver_sql("set sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'")
        for ident, row in enumerate(rows):
            odd = [choices[ident % len(choices)] for _, choices in MYSQL_EXPRESSIONS.values()]
            values = ", ".join(["%s"] * len(MYSQL) + odd)
            connection.exec_driver_sql(
                f"insert into wild values ({ident}, {values})", tuple(row[column] for column in MYSQL)
            )
    mysql.sql("create table twin as select * from wild")

    written_again(mysql, mysql.open(), len(rows))

    same = " and ".join(f"w.`{item}` <=> t.`{item}` and binary w.`{item}` <=> binary t.`{item}`" for item in names)
    assert mysql.sql(f"select count(*) from wild w join twin t on w.id = t.id and {same}") == [(len(rows),)]
    mysql.close()


STORED = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    TRICKY,
    st.sampled_from(["12", "1.0", "1e3", "0x10", "-0.0"]),
    BYTES,
)
AFFINITIES = ("integer", "text", "real", "numeric", "blob", "", "datetime", "boolean", "uuid", "decimal(10,2)")


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(
    rows=st.lists(st.tuples(*[STORED] * len(AFFINITIES)), min_size=4, max_size=4),
    broken=st.lists(st.binary(max_size=4).map(lambda item: b"\xff" + item), min_size=2, max_size=2),
)
def test_sqlite_rows_come_back_with_the_storage_class_of_every_cell(
    rows: list[tuple[Any, ...]], broken: list[bytes], sqlite: Shop
) -> None:
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(AFFINITIES))
    sqlite.sql(
        "drop table if exists wild",
        "drop table if exists twin",
        f"create table wild (id integer primary key, {columns}, broken text)",
    )
    with sqlite.engine.begin() as connection:
        marks = ", ".join("?" * len(AFFINITIES))
        for ident, row in enumerate(rows):
            bad = broken[ident % 2]
            sql = f"insert into wild values ({ident}, {marks}, cast(? as text))"
            connection.exec_driver_sql(sql, (*row, bad))
    sqlite.sql("create table twin as select * from wild")
    names = [*(f"c{place}" for place in range(len(AFFINITIES))), "broken"]
    raw = ", ".join(f"typeof({column}), cast({column} as blob)" for column in names)
    stored = sqlite.sql(f"select {raw} from wild order by id")

    written_again(sqlite, sqlite.open(), len(rows))

    assert sqlite.sql(f"select {raw} from wild order by id") == stored
    sqlite.close()


def test_sqlite_keeps_infinity_and_makes_null_of_a_number_that_is_none(sqlite: Shop) -> None:
    sqlite.sql("create table wild (id integer primary key, a real, b)")
    with sqlite.engine.begin() as connection:
        connection.exec_driver_sql("insert into wild values (0, ?, ?)", (math.inf, math.nan))

    row = record(sqlite.open(), "wild", 0)

    assert (row.cells["a"], row.cells["b"]) == (("r", "inf"), None)


def test_sqlite_in_utf_16_is_refused(sqlite: Shop) -> None:
    """Text that is broken there cannot be read byte for byte."""
    sqlite.sql("pragma encoding = 'UTF-16'", "create table x (id integer primary key)")
    with sqlite.engine.begin() as connection:
        connection.exec_driver_sql("pragma encoding = 'UTF-16'")
        connection.exec_driver_sql("create table wild (id integer primary key)")
    source = sqlite.open()
    if sqlite.sql("pragma encoding") != [("UTF-16le",)]:
        pytest.fail("the file is in UTF-8 after all")

    with pytest.raises(TargetRefused, match="UTF-16"), source.work(5):
        pass


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_text_that_does_not_fit_is_refused_and_never_cut(name: str, request: pytest.FixtureRequest) -> None:
    shop: Shop = request.getfixturevalue(name)
    shop.sql("drop table if exists short", "create table short (id int primary key, word varchar(5))")
    shop.sql("insert into short values (1, 'abc')")
    source = shop.open()
    row = record(source, "short")

    with source.work(8) as work, pytest.raises(TargetError) as refused:
        work.apply(Change(row.name, row.cells, {"word": ("t", "duplicate")}, "surplus"))
    shop.close()

    assert refused.value.outcome is TransactionOutcome.TERMINAL
    assert "duplicate" not in str(refused.value)


KEYS = {
    "text": ["", " ", "a", "A", "NULL", "null", '"', "\\", '\\"', "{a,b}", "a,b", "{}", "it's", "%s", "ü", "\n"],
    "varchar(30)": ["", "a", "a ", "A", "ä", "NULL", "{", "}", '","', "'", "1", "01"],
    "integer": ["0", "-1", "1", "2147483647"],
    "bigint": ["-9223372036854775808", "0", "9223372036854775807"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    "numeric": ["1", "1.0001", "-2", "12345678901234567890"],
    "char(3)": ["a", "b", ""],
    "bytea": ["\\x", "\\x00", "\\xff5c22"],
    "date": ["2024-02-29", "infinity", "0001-01-01 BC"],
    "varchar(9)[]": ["{}", '{a,"b c"}'],
    "int[]": ["{}", "{1,2}", "{NULL}"],
    "mood": ["sad", "o'k", "%"],
    "positive": ["1", "2", "3"],
}


@pytest.mark.server
@pytest.mark.parametrize("kind", list(KEYS))
def test_many_rows_at_once_are_those_whose_keys_were_named(kind: str, postgresql: Shop) -> None:
    postgresql.sql("drop table if exists named", f"create table named (k {kind} primary key)")
    with postgresql.engine.begin() as connection:
        connection.exec_driver_sql("set local array_nulls = on")  # another test changed the database's own setting
        insert = sa.text(f"insert into named values (cast(:key as {kind}))")
        connection.execute(insert, [{"key": key} for key in KEYS[kind]])
    names = [RowName("named", (("k", ("t", key)),)) for key in KEYS[kind]]
    going, staying = names[::2], names[1::2]

    with postgresql.open().work(8) as work:
        before = work.lock(names)
        work.apply_all([Change(name, before[name].cells, None, "surplus") for name in going])
        after = work.lock(names)
        work.commit()
    postgresql.close()

    assert (list(before), list(after)) == (names, staying)


@pytest.mark.server
def test_a_key_that_only_compares_equal_is_another_row_also_among_many(postgresql: Shop) -> None:
    """A collation without letters' cases, and a number that is written in another way."""
    postgresql.sql(
        "drop table if exists named",
        "create collation if not exists caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "create table named (k varchar(9) collate caseless primary key)",
        "insert into named values ('a'), ('b')",
    )
    names = [RowName("named", (("k", ("t", key)),)) for key in ("A", "b")]

    with postgresql.open().work(8) as work:
        rows = work.lock(names)
        with pytest.raises(RowsDiffer):
            work.apply_all([Change(name, {}, None, "surplus") for name in names])
    postgresql.close()

    assert list(rows) == names[1:]
