"""Databases keep the promises of every target, and what each of them adds of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.conformance import target as conformance_target
from connectors.conformance.promises import ConformanceFailure
from connectors.conformance.target import StoredTarget, TargetKit
from connectors.errors import DatasetMissing
from connectors.sql.source import SqlSource
from connectors.target import (
    Change,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowsDiffer,
    TargetError,
    TargetRefused,
)
from tests.connectors.sql.shop_kit import Shop, ShopKit, record
from tests.support.servers import MARIADB, POSTGRES
from tests.support.shop import shop_on

SERVERS = {"postgresql": POSTGRES, "mysql": MARIADB}
NAMES = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]


@pytest.fixture(scope="module", params=NAMES)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    name = request.param
    yield from shop_on(SERVERS.get(name), tmp_path_factory.mktemp(name))


@pytest.fixture
def shop(database: Shop) -> Iterator[Shop]:
    database.empty()
    yield database
    database.close()


@pytest.mark.parametrize("check", conformance_target.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.slow
def test_databases_keep_the_promises_of_every_target(check: Callable[[TargetKit], None], shop: Shop) -> None:
    check(ShopKit(shop))


# What a careless target would do


class Wrapped:
    """A target that hands everything on; the careless ones below do one thing wrong."""

    def __init__(self, target: Any) -> None:
        self._inner = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Forgiving(Wrapped):
    """Finds records whatever the case of their ids."""

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        rows = self._inner.rows(dataset, key, ids)
        folded = [
            tuple(value.lower().strip() if isinstance(value, str) else value for value in values) for values in ids
        ]
        return [row or second for row, second in zip(rows, self._inner.rows(dataset, key, folded), strict=True)]


class CarelessWork(Wrapped):
    @contextmanager
    def savepoint(self) -> Iterator[None]:
        failed = None
        with self._inner.savepoint():
            try:
                yield
            except RowsDiffer as error:
                failed = error
        if failed:
            raise failed


class CarelessCounting(Wrapped):
    def apply(self, change: Change) -> None:
        with suppress(RowsDiffer), self._inner.savepoint():
            self._inner.apply(change)


class CarelessReceiving(Wrapped):
    def receive(self, receipts: Sequence[Receipt]) -> None:
        with suppress(ReceiptStands), self._inner.savepoint():
            self._inner.receive(receipts)


class KeepingAll(Wrapped):
    """Commits at the end of the block by itself."""

    @contextmanager
    def work(self, seconds: float) -> Iterator[Any]:
        with self._inner.work(seconds) as work:
            yield work
            with suppress(TargetError):
                work.commit()


def working(kind: type[Wrapped]) -> type[Wrapped]:
    class Working(Wrapped):
        @contextmanager
        def work(self, seconds: float) -> Iterator[Any]:
            with self._inner.work(seconds) as work:
                yield kind(work)

    return Working


@pytest.mark.parametrize(
    ("careless", "check"),
    [
        (Forgiving, conformance_target.records_are_found_by_their_ids_and_no_others),
        (KeepingAll, conformance_target.nothing_is_kept_without_a_commit),
        (working(CarelessWork), conformance_target.a_savepoint_undoes_its_block_and_no_more),
        (working(CarelessCounting), conformance_target.a_change_meets_one_row_or_none_is_made),
        (working(CarelessReceiving), conformance_target.a_receipt_is_written_once),
    ],
    ids=["forgiving", "keeping all", "no savepoint", "not counting", "not receiving"],
)
def test_a_careless_target_does_not_pass(
    careless: type[Wrapped], check: Callable[[TargetKit], None], tmp_path: Path
) -> None:
    class CarelessKit(ShopKit):
        def store(self) -> StoredTarget:
            stored = super().store()
            return replace(stored, target=careless(stored.target), another=lambda: careless(stored.another()))

    for shop in shop_on(None, tmp_path):
        with pytest.raises(ConformanceFailure):
            check(CarelessKit(shop))


# Names, columns and keys of every kind

NAUGHTY = [
    'a "b" `c`',
    "100%",
    "%s",
    "%(x)s",
    ":x",
    "select",
    "a.b",
    "Ünïcode ☃",
    "it's",
    "back\\slash",
    "a;--",
    "{x}",
    "?",
]


@pytest.mark.parametrize("name", NAUGHTY)
def test_any_name_of_a_table_or_a_column_is_only_a_name(name: str, shop: Shop) -> None:
    """Quoted, never pasted: in selects, conditions, changes, references and links."""
    quote = shop.quoted
    plain, column = quote(name), quote(f"{name} x")
    shop.sql(
        f"create table {plain} ({column} integer primary key, {quote(name)} varchar(20))",
        f"create table {quote(name + ' of')} (id integer primary key, {plain} integer, "
        f"foreign key ({plain}) references {plain} ({column}))",
        f"insert into {plain} values (1, 'one'), (2, 'two')",
        f"insert into {quote(name + ' of')} values (7, 2)",
    )
    source = shop.open()
    first, two = source.rows(SqlSource.Dataset(table=name), [f"{name} x"], [(1,), (2,)])
    assert first is not None
    assert two is not None
    link = Reference("soft", f"{name} of", (name,), name, (f"{name} x",), soft=True)

    with source.work(8) as work:
        assert work.lock([first.name, two.name]) == {first.name: first, two.name: two}
        (child,) = work.referring(link, [(two.cells[f"{name} x"],)], lock=True)
        work.apply(Change(child.name, child.cells, {name: first.cells[f"{name} x"]}, "reference"))
        work.apply(Change(two.name, two.cells, None, "surplus"))
        work.apply_all([Change(first.name, first.cells, {name: ("t", name[:20])}, "keeper")])
        work.commit()

    assert shop.sql(f"select * from {plain}") == [(1, name[:20])]
    assert shop.sql(f"select * from {quote(name + ' of')}") == [(7, 1)]


def test_what_the_database_makes_by_itself_is_left_to_it(shop: Shop) -> None:
    """Generated columns are read, and written by nobody; an identity is given back as it was."""
    identity = {
        "sqlite": "integer primary key",
        "postgresql": "int generated always as identity primary key",
        "mysql": "int auto_increment primary key",
    }
    shop.sql(
        f"create table items (id {identity[shop.dialect]}, price integer, "
        "twice integer generated always as (price * 2) stored)",
        "insert into items (price) values (5), (6)",
    )
    source = shop.open()
    row = record(source, "items", 2)
    assert "twice" in row.cells

    with source.work(8) as work:
        work.apply(Change(row.name, row.cells, None, "surplus"))
        work.apply(Change(row.name, None, row.cells, "surplus"))
        work.apply(Change(row.name, row.cells, {**row.cells, "price": ("t", "7")}, "surplus"))
        work.apply(Change(row.name, row.cells, {"twice": ("t", "1")}, "surplus"))
        work.commit()

    assert shop.sql("select id, price, twice from items order by id") == [(1, 5, 10), (2, 7, 14)]


def test_a_row_is_named_by_the_key_that_the_catalogue_names(shop: Shop) -> None:
    """The primary key in its order, else the shortest unique key without nulls."""
    shop.sql(
        "create table pairs (a integer not null, b integer not null, c integer, primary key (b, a))",
        "create table uniques (a integer not null, b integer not null, c integer not null, d integer unique, "
        "unique (a, b), unique (c))",
        "create table keyless (a integer)",
        "insert into pairs values (1, 2, 3)",
        "insert into uniques values (1, 2, 3, 4)",
        "insert into keyless values (1)",
    )
    source = shop.open()

    for table, key in (("pairs", ("b", "a")), ("uniques", ("c",))):
        row = record(source, table, 1, "a")
        facts = source.catalogue(SqlSource.Dataset(table=table)).tables[table]
        assert tuple(name for name, _ in row.name.key) == facts.primary_key == key
        with source.work(8) as work:
            assert work.lock([row.name]) == {row.name: row}
            work.apply_all([Change(row.name, row.cells, None, "surplus")])
            work.apply_all([Change(row.name, None, row.cells, "surplus")])
            work.commit()
    with pytest.raises(TargetRefused, match="keyless"):
        record(source, "keyless", 1, "a")


def test_two_records_with_one_id_are_refused(shop: Shop) -> None:
    """Nobody can say which of them is meant."""
    shop.sql(
        "create table people (number integer primary key, id varchar(10))",
        "insert into people values (1, 'a'), (2, 'a')",
    )

    with pytest.raises(TargetRefused, match="people"):
        record(shop.open(), "people", "a")


def test_a_view_or_a_query_is_no_target(shop: Shop) -> None:
    shop.sql("create table people (id integer primary key)", "create view everybody as select * from people")
    source = shop.open()
    try:
        with pytest.raises(TargetRefused, match="view"):
            record(source, "everybody")
        with pytest.raises(TargetRefused, match="query"):
            source.rows(SqlSource.Dataset(query="select * from people"), ["id"], [(1,)])
        with pytest.raises(DatasetMissing, match="people"):
            record(source, "peopel")
    finally:
        shop.sql("drop view everybody")


IDS: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "text with blanks": ({}, "' a '", {}),
    "decimal": ({"sqlite": "numeric", "": "numeric(20,4)"}, "12.5000", {}),
    "real": ({"": "double precision"}, "0.1", {}),
    "large": ({"": "bigint"}, "9007199254740993", {}),
    "day": ({"": "date"}, "'2024-02-29'", {}),
    "moment": ({"mysql": "datetime(6)", "": "timestamp"}, "'2024-02-29 12:00:00.5'", {}),
    "local moment": ({"mysql": "datetime(6)", "": "timestamp"}, "'2024-02-29 12:00:00'", {"timezone": "Asia/Tokyo"}),
    "a number written as text": ({}, "' 1.007'", {"columns": {"ident": "integer"}, "decimal": ","}),
    "a day written as text": ({}, "'29.02.2024'", {"columns": {"ident": "date %d.%m.%Y"}}),
    "seconds": ({"": "bigint"}, "1709208000", {"columns": {"ident": "instant"}}),
    "uuid": ({"sqlite": "uuid", "": "uuid"}, "'5a424412-b127-bf86-be74-fba931df6c57'", {}),
    "boolean": ({"": "boolean"}, "true", {}),
    "bytes": ({"postgresql": "bytea", "mysql": "varbinary(9)", "": "blob"}, "X'00FF25'", {}),
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.slow
def test_a_record_is_found_by_the_id_a_scan_gives_it(kind: str, shop: Shop) -> None:
    """Whatever type it is stored in and however the dataset declares it."""
    types, value, settings = IDS[kind]
    column = types.get(shop.dialect) or types.get("") or "varchar(20)"
    written = value.replace("X'", "'\\x") if shop.dialect == "postgresql" else value
    shop.sql(
        f"create table t (pk integer primary key, ident {column}, other integer)",
        f"insert into t values (1, {written}, 1), (2, null, 2)",
    )
    source = shop.open()
    dataset = SqlSource.Dataset.model_validate({"table": "t", **settings})
    scanned = source.scan(dataset, ["ident"]).reader.read_all().column("ident").to_pylist()
    ident = next(row for row in scanned if row is not None)

    rows = source.rows(dataset, ["ident"], [(ident,), (None,)])
    pairs = source.rows(dataset, ["ident", "other"], [(ident, 1), (ident, 2)])

    assert [row and row.values["other"] for row in (*rows, *pairs)] == [1, None, 1, None]
    assert rows[0] is not None
    assert rows[0].values["ident"] == ident


def test_a_soft_link_between_columns_of_other_types_is_found(shop: Shop) -> None:
    """As declared: nobody keeps it but us."""
    shop.sql(
        "create table people (id integer primary key)",
        "create table logs (id integer primary key, who varchar(20))",
        "insert into people values (1), (2)",
        "insert into logs values (5, '1'), (6, 'x'), (7, null)",
    )
    source = shop.open()
    person = record(source, "people")
    link = Reference("logs", "logs", ("who",), "people", ("id",), soft=True)
    back = Reference("back", "people", ("id",), "logs", ("who",), soft=True)

    referring = source.referring(link, [(person.cells["id"],), (None,)])
    by_text = source.referring(back, [(("t", "x"),), (("t", "2"),)])

    assert [row.name.table for row in referring] == ["logs"]
    assert [dict(row.name.key)["id"] for row in referring] == [row.cells["id"] for row in referring]
    assert [row.name.table for row in by_text] == ["people"]


@pytest.mark.server
def test_a_table_without_transactions_is_read_and_never_changed(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for shop in shop_on(MARIADB, tmp_path):
        shop.sql("create table old (id int primary key) engine=MyISAM", "insert into old values (1)")
        source = shop.open()
        row = record(source, "old")
        with source.work(8) as work, pytest.raises(TargetRefused, match="MyISAM"):
            work.apply(Change(row.name, row.cells, None, "surplus"))


@pytest.mark.server
def test_tables_outside_of_the_default_schema_are_named_with_theirs(tmp_path: Path) -> None:
    for shop in shop_on(POSTGRES, tmp_path):
        shop.sql(
            "create schema other",
            "create table other.people (id int primary key, name text)",
            "create table people (id int primary key, name text)",
            "insert into other.people values (1, 'there')",
            "insert into people values (1, 'here')",
        )
        source = shop.open()
        present, here, same = (record(source, text) for text in ("other.people", "people", "public.people"))
        with source.work(8) as work:
            work.apply(Change(present.name, present.cells, {"name": ("t", "changed")}, "surplus"))
            work.commit()

        assert present.name.table == source.catalogue(SqlSource.Dataset(table="other.people")).table == "other.people"
        assert here.name == same.name
        assert shop.sql("select name from other.people union all select name from people") == [("changed",), ("here",)]


@pytest.mark.slow
def test_reading_needs_nothing_of_the_changing_side(tmp_path: Path) -> None:
    """A run that cleans nothing does not wait for it to be imported."""
    code = (
        "import sys; from connectors.sql.source import SqlSource; from pathlib import Path\n"
        "SqlSource('a', SqlSource.Settings(type='sql', url='sqlite:///x.db'), Path('.'))\n"
        "loaded = ('connectors.sql.cleaning.database', 'connectors.sql.catalogue.tables')\n"
        "print([one for one in sys.modules if one.startswith(loaded)])"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_another_process_opened_is_left_to_it(shop: Shop) -> None:
    """A child that was forked uses no connection of its parent, and closes none."""
    shop.sql("create table people (id integer primary key, name varchar(9))", "insert into people values (1, 'a')")
    source = shop.open()
    row = record(source, "people")
    with source.work(8) as work:
        work.apply(Change(row.name, row.cells, {"name": ("t", "b")}, "surplus"))
        work.commit()
    child = os.fork()
    if child == 0:
        try:
            with source.work(8) as work:
                work.apply(Change(row.name, row.cells, {"name": ("t", "c")}, "surplus"))
                work.commit()
        finally:
            os._exit(0 if work.committed else 1)
    _, status = os.waitpid(child, 0)

    with source.work(8) as work:
        cell = work.lock([row.name])[row.name].cells["name"]
    assert (os.waitstatus_to_exitcode(status), cell) == (0, ("t", "c"))


@pytest.mark.parametrize(
    "altered",
    [
        ["alter table people add column age integer"],
        ["alter table people rename column name to called"],
        ["drop table people", "create table people (name varchar(9), id integer primary key)"],
    ],
    ids=["a column more", "a column renamed", "another table"],
)
def test_a_table_that_changed_between_two_transactions_is_seen_as_it_is(altered: list[str], shop: Shop) -> None:
    """What was remembered of it is held against the catalogue each time."""
    shop.sql("create table people (id integer primary key, name varchar(9))", "insert into people values (1, 'a')")
    source = shop.open()
    row = record(source, "people")
    for _ in range(2):
        with source.work(8) as work:
            assert work.lock([row.name]) == {row.name: row}
            work.commit()

    shop.sql(*altered)
    shop.sql("delete from people", "insert into people (id) values (1)")

    with source.work(8) as work:
        cells = work.lock([row.name])[row.name].cells
    assert cells == {
        name: None if name != "id" else row.cells["id"]
        for name in source.describe(SqlSource.Dataset(table="people")).names
    }
