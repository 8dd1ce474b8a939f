"""The catalogue of PostgreSQL, MariaDB and SQLite: what refers to a table, what names a row, what is refused."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.sql.catalogue.facts import Ident
from connectors.sql.catalogue.mysql import UNSEEN, MySqlCatalogue
from connectors.sql.catalogue.tables import catalogue
from connectors.sql.settings import SqlDataset
from connectors.target import Catalogue, Reference, TargetError, TargetRefused, TransactionOutcome
from tests.support.servers import emptied
from tests.support.shop import Shop

PARENT = "create table customers (id integer primary key, email varchar(50) not null unique, name varchar(50))"


def catalogue_of(shop: Shop, table: str = "customers", *soft: Reference) -> Catalogue:
    with shop.engine.connect() as connection:
        return catalogue(connection, table, soft)


def referring(shop: Shop, reference: Reference, *to: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The rows that refer to the rows of these keys, as texts."""
    dataset = SqlDataset(table=reference.to_table)
    keys = [row for row in shop.source.rows(dataset, reference.to_columns, to) if row is not None]
    cells = [tuple(row.cells[name] for name in reference.to_columns) for row in keys]
    return [tuple(cell and cell[1] for cell in row.cells.values()) for row in shop.source.referring(reference, cells)]


def as_elsewhere(shop: Shop, *tables: str) -> dict[str, tuple[str, ...]]:
    """The triggers as servers tell them that name none to users without the right TRIGGER."""
    with shop.engine.connect() as connection:
        inspector = MySqlCatalogue(connection, names_triggers=False)
        idents = [Ident(str(inspector.default), table) for table in tables]
        return {ident.name: entry.triggers for ident, entry in inspector.described(idents).items()}


@pytest.fixture
def postgres(postgres_server: str, tmp_path: Path) -> Shop:
    return Shop(emptied(postgres_server), tmp_path)


@pytest.fixture
def mariadb(mariadb_server: str, tmp_path: Path) -> Shop:
    return Shop(emptied(mariadb_server), tmp_path)


@pytest.fixture
def sqlite(tmp_path: Path) -> Shop:
    return Shop(f"sqlite:///{tmp_path}/shop.db", tmp_path)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ]
)
def shop(request: pytest.FixtureRequest) -> Shop:
    shop: Shop = request.getfixturevalue(request.param)
    return shop


def the(described: Catalogue, table: str) -> Reference:
    [reference] = [reference for reference in described.references if reference.table == table]
    return reference


# --- references ------------------------------------------------------------------------------------------------------


def test_a_cascade_is_followed_from_child_to_grandchild(shop: Shop) -> None:
    shop.sql(
        PARENT,
        "create table orders (id integer primary key, customer integer, "
        "foreign key (customer) references customers (id) on delete cascade)",
        "create table bits (id integer primary key, orders integer, "
        "foreign key (orders) references orders (id) on delete cascade)",
        "create table parts (id integer primary key, bit integer, foreign key (bit) references bits (id))",
        "create table strangers (id integer primary key)",
    )

    described = catalogue_of(shop)

    assert set(described.tables) == {"customers", "orders", "bits", "parts"}
    assert {(reference.table, reference.to_table, reference.on_delete) for reference in described.references} in (
        {("orders", "customers", "CASCADE"), ("bits", "orders", "CASCADE"), ("parts", "bits", "NO ACTION")},
        {("orders", "customers", "CASCADE"), ("bits", "orders", "CASCADE"), ("parts", "bits", "RESTRICT")},
    )
    assert the(described, "orders").columns == ("customer",)
    assert the(described, "orders").to_columns == ("id",)


def test_references_in_a_circle_end(shop: Shop) -> None:
    """Customers have a favourite order, orders a customer, and customers a parent company."""
    shop.sql("create table customers (id integer primary key, favourite integer, company integer)")
    if shop.dialect == "sqlite":
        shop.sql(
            "drop table customers",
            "create table customers (id integer primary key, favourite integer references orders, "
            "company integer references customers)",
            "create table orders (id integer primary key, customer integer references customers on delete cascade)",
        )
    else:
        shop.sql(
            "create table orders (id integer primary key, customer integer)",
            "alter table orders add foreign key (customer) references customers (id) on delete cascade",
            "alter table customers add foreign key (favourite) references orders (id)",
            "alter table customers add foreign key (company) references customers (id)",
        )

    described = catalogue_of(shop)

    assert [(reference.table, reference.columns, reference.to_table) for reference in described.references] == [
        ("customers", ("company",), "customers"),
        ("orders", ("customer",), "customers"),
        ("customers", ("favourite",), "orders"),
    ]


def test_references_of_several_columns_and_to_other_unique_keys_keep_their_order(shop: Shop) -> None:
    shop.sql(
        "create table customers (country varchar(2) not null, number integer not null, email varchar(50) not null, "
        "primary key (country, number), unique (email))",
        "create table orders (id integer primary key, n integer, c varchar(2), mail varchar(50), "
        "foreign key (n, c) references customers (number, country), "
        "foreign key (mail) references customers (email) on update cascade on delete set null)"
        if shop.dialect != "mysql"
        else "create table orders (id integer primary key, n integer, c varchar(2), mail varchar(50), "
        "foreign key (c, n) references customers (country, number), "
        "foreign key (mail) references customers (email) on update cascade on delete set null)",
    )

    described = catalogue_of(shop)

    pairs = [dict(zip(reference.columns, reference.to_columns, strict=True)) for reference in described.references]
    assert sorted(pairs, key=len) == [{"mail": "email"}, {"c": "country", "n": "number"}]
    by_mail = next(reference for reference in described.references if reference.columns == ("mail",))
    assert (by_mail.on_delete, by_mail.on_update) == ("SET NULL", "CASCADE")
    assert described.tables["customers"].primary_key == ("country", "number")
    assert described.tables["customers"].uniques == (("email",),)


def test_a_declared_soft_link_is_a_reference_and_is_followed(shop: Shop) -> None:
    shop.sql(
        PARENT,
        "create table notes (id integer primary key, customer_id integer)",
        "create table stars (id integer primary key, note integer, foreign key (note) references notes (id))",
    )

    described = catalogue_of(shop, "customers", Reference("notes", "notes", ("customer_id",), "", ("id",), soft=True))

    assert the(described, "notes").soft
    assert the(described, "notes").to_table == "customers"
    assert not the(described, "stars").soft


def test_a_link_that_is_declared_twice_or_is_a_foreign_key_already_is_one_reference(shop: Shop) -> None:
    shop.sql(
        PARENT,
        "create table notes (id integer primary key, about integer)",
        "create table orders (id integer primary key, c integer, foreign key (c) references customers (id))",
    )
    notes = Reference("notes", "notes", ("about",), "", ("id",), soft=True)

    described = catalogue_of(
        shop, "customers", notes, notes, Reference("o", "orders", ("c",), "customers", ("id",), soft=True)
    )

    assert [(reference.table, reference.soft) for reference in described.references] == [
        ("notes", True),
        ("orders", False),
    ]


@pytest.mark.parametrize(
    ("soft", "names"),
    [
        (Reference("n", "nots", ("customer_id",), "", ("id",), soft=True), "There is no table nots"),
        (Reference("n", "notes", ("customer",), "", ("id",), soft=True), "column 'customer', which table notes"),
        (Reference("n", "notes", ("customer_id",), "", ("key",), soft=True), "column 'key', which table customers"),
        (Reference("n", "notes", ("id", "customer_id"), "", ("id",), soft=True), "more columns on one side"),
    ],
)
def test_a_soft_link_that_cannot_be_is_refused(shop: Shop, soft: Reference, names: str) -> None:
    shop.sql(PARENT, "create table notes (id integer primary key, customer_id integer)")

    with pytest.raises(TargetRefused, match=names):
        catalogue_of(shop, "customers", soft)


@pytest.mark.server
def test_references_from_other_schemas_are_found(postgres: Shop) -> None:
    postgres.sql(
        PARENT,
        'create schema "crm x"',
        'create table "crm x".customers (id int primary key, who int references public.customers deferrable)',
    )

    described = catalogue_of(postgres)

    assert [(reference.table, reference.deferrable) for reference in described.references] == [
        ("crm x.customers", True)
    ]
    assert catalogue_of(postgres, "crm x.customers").table == "crm x.customers"


@pytest.mark.server
def test_references_from_other_databases_of_the_server_are_found(mariadb: Shop) -> None:
    other_database = f"{sa.make_url(mariadb.url).database}_other"
    mariadb.sql(
        PARENT,
        f"create database {other_database}",
        f"create table {other_database}.notes (id int primary key, c int, "
        f"foreign key (c) references {sa.make_url(mariadb.url).database}.customers (id) on delete cascade)",
    )
    try:
        assert [reference.table for reference in catalogue_of(mariadb).references] == [f"{other_database}.notes"]
    finally:
        mariadb.sql(f"drop database {other_database}")


@pytest.mark.server
def test_on_mariadb_columns_that_the_server_itself_renews_are_named(mariadb: Shop) -> None:
    renewed = "seen datetime default current_timestamp on update current_timestamp"
    mariadb.sql(f"create table customers (id int primary key, {renewed})")

    [sentence] = catalogue_of(mariadb).remarks

    assert sentence.startswith("The server itself sets customers.seen (ON UPDATE)")


@pytest.mark.server
def test_on_mariadb_a_user_is_told_what_cannot_be_seen(mariadb: Shop) -> None:
    """Foreign keys that the user has no rights to see are not in its catalogue, nor, on some servers, triggers."""
    database = sa.make_url(mariadb.url).database
    mariadb.sql(
        PARENT,
        "create user 'reconcile_few'@'%' identified by 'few'",
        f"grant select, update, delete on {database}.* to 'reconcile_few'@'%'",
        "create user 'reconcile_more'@'%' identified by 'more'",
        f"grant select, update, delete, trigger on {database}.customers to 'reconcile_more'@'%'",
        f"grant select on {database}.* to 'reconcile_more'@'%'",
        "create table orders (id int primary key)",
        "create trigger t before delete on customers for each row set @x = 1",
    )
    url = sa.make_url(mariadb.url)
    few, more = (
        Shop(url.set(username=f"reconcile_{name}", password=name).render_as_string(False), mariadb.folder)
        for name in ("few", "more")
    )
    try:
        sentence, process, blind = catalogue_of(few).remarks
        assert process.startswith("This user lacks the right PROCESS")
        assert blind.endswith("nothing can be cleaned where triggers fire: customers.")
        assert sentence.startswith("This user cannot see every database of the server, so foreign keys")
        assert catalogue_of(few).tables["customers"].triggers == ("t",)
        assert catalogue_of(mariadb).remarks == ()
        mariadb.sql("drop trigger t")
        assert as_elsewhere(few, "customers", "orders") == {"customers": (UNSEEN,), "orders": (UNSEEN,)}
        assert as_elsewhere(more, "customers", "orders") == {"customers": (), "orders": (UNSEEN,)}
    finally:
        mariadb.sql("drop user 'reconcile_few'@'%'", "drop user 'reconcile_more'@'%'")


# --- rows that refer -------------------------------------------------------------------------------------------------


def test_the_rows_that_refer_come_in_the_order_of_their_key(shop: Shop) -> None:
    shop.sql(
        PARENT,
        "create table orders (country varchar(2), n integer, customer integer, primary key (country, n), "
        "foreign key (customer) references customers (id))",
        "insert into customers values (1, 'a', ''), (2, 'b', ''), (3, 'c', '')",
        "insert into orders values ('de', 2, 1), ('at', 9, 2), ('de', 1, 1), ('ch', 1, 3), ('fr', 1, null)",
    )
    described = catalogue_of(shop)

    rows = referring(shop, the(described, "orders"), (1,), (2,))

    assert rows == [("at", "9", "2"), ("de", "1", "1"), ("de", "2", "1")]
    assert referring(shop, the(described, "orders")) == []


def test_rows_that_refer_to_their_own_table_are_found(shop: Shop) -> None:
    shop.sql(
        "create table customers (id integer primary key, boss integer, foreign key (boss) references customers (id))",
        "insert into customers values (1, null), (2, 1), (3, 1), (4, 2)",
    )
    described = catalogue_of(shop)

    assert referring(shop, the(described, "customers"), (1,)) == [("2", "1"), ("3", "1")]


def test_a_row_refers_as_the_database_compares_keys_and_not_as_bytes_do(sqlite: Shop) -> None:
    """In SQLite the key's collation and affinity decide: a cascade would delete both rows."""
    sqlite.sql(
        "create table customers (mail text collate nocase unique not null, n integer primary key)",
        "create table notes (id integer primary key, mail text references customers (mail), "
        "n text references customers)",
        "insert into customers values ('A@x', 7)",
        "insert into notes values (1, 'a@X', null), (2, null, '07'), (3, 'b@x', '8')",
    )
    described = catalogue_of(sqlite)
    by_mail, by_number = (
        next(reference for reference in described.references if reference.columns == (name,)) for name in ("mail", "n")
    )

    assert referring(sqlite, by_mail, ("A@x",)) == [("1", "a@X", None)]
    assert referring(sqlite, by_number, (7,)) == [("2", None, "07")]


@pytest.mark.server
def test_on_mariadb_a_row_refers_by_the_collation_of_the_key(mariadb: Shop) -> None:
    mariadb.sql(
        "create table customers (mail varchar(20) primary key)",
        "create table notes (id int primary key, mail varchar(20), foreign key (mail) references customers (mail))",
        "insert into customers values ('A@x')",
        "insert into notes values (1, 'a@X')",
    )
    described = catalogue_of(mariadb)

    assert referring(mariadb, the(described, "notes"), ("A@x",)) == [("1", "a@X")]


def test_soft_links_of_another_type_are_compared_as_text(shop: Shop) -> None:
    """As numbers, MariaDB would take 'none' for 0 and '7b' for 7."""
    shop.sql(
        PARENT,
        "create table notes (id integer primary key, about varchar(20))",
        "insert into customers values (0, 'a', ''), (7, 'b', '')",
        "insert into notes values (1, '7'), (2, '7b'), (3, 'none'), (4, null)",
    )
    described = catalogue_of(
        shop, "customers", Reference("notes", "notes", ("about",), "customers", ("id",), soft=True)
    )

    assert referring(shop, the(described, "notes"), (0,), (7,)) == [("1", "7")]


def test_referring_rows_without_a_key_cannot_be_named(shop: Shop) -> None:
    shop.sql(
        PARENT,
        "create table clicks (customer integer, foreign key (customer) references customers (id))",
    )
    described = catalogue_of(shop)

    with pytest.raises(TargetRefused, match="Rows of clicks, which refers to customers, cannot be distinguished"):
        referring(shop, the(described, "clicks"), (1,))
    assert "no primary key and no unique key" in str(described.tables["clicks"].refused)
    assert described.tables["customers"].refused is None


# --- columns and keys ------------------------------------------------------------------------------------------------

_NUMBERED = {
    "sqlite": "n integer primary key",
    "postgresql": "n integer generated always as identity primary key",
    "mysql": "n integer auto_increment primary key",
}
_DOUBLED = "generated always as (a * 2) stored"


def test_columns_are_told_as_the_database_declares_them(shop: Shop) -> None:
    shop.sql(
        f"create table customers ({_NUMBERED[shop.dialect]}, a integer not null, b integer {_DOUBLED}, "
        f"price decimal(8,2) default 1, word varchar(7))"
    )

    columns = {column.name: column for column in catalogue_of(shop).tables["customers"].columns}

    assert list(columns) == ["n", "a", "b", "price", "word"]
    assert [name for name, column in columns.items() if column.identity] == ["n"]
    assert [name for name, column in columns.items() if column.generated] == ["b"]
    assert [name for name, column in columns.items() if not column.nullable] == ["n", "a"]
    assert columns["price"].default
    assert not columns["word"].default
    assert columns["price"].type in ("decimal(8,2)", "numeric(8,2)")


@pytest.mark.server
def test_a_serial_numbers_rows_itself(postgres: Shop) -> None:
    postgres.sql("create table customers (id bigserial primary key, code int default 7)")

    columns = catalogue_of(postgres).tables["customers"].columns

    assert [(column.name, column.type, column.identity) for column in columns] == [
        ("id", "bigint", True),
        ("code", "integer", False),
    ]


def test_without_a_primary_key_a_unique_key_without_nulls_names_the_rows(shop: Shop) -> None:
    shop.sql(
        "create table customers (a integer not null, b integer not null, c integer)",
        "create unique index two on customers (a, b)",
        "create unique index one on customers (b)",
        "create unique index nullable on customers (c)",
    )

    facts = catalogue_of(shop).tables["customers"]

    assert facts.refused is None
    assert facts.primary_key == ("b",)
    assert facts.uniques == (("a", "b"), ("c",))


def test_a_table_without_any_key_is_refused(shop: Shop) -> None:
    shop.sql("create table customers (id integer, b integer unique)", "create index i on customers (id)")

    assert catalogue_of(shop).tables["customers"].refused == (
        "Table customers cannot be cleaned: it has no primary key and no unique key without nulls, so "
        "its rows cannot be identified."
    )


@pytest.mark.parametrize(
    ("dialect", "index"),
    [
        ("sqlite", "(word) where id > 3"),
        ("sqlite", "(lower(word))"),
        pytest.param("postgres", "(word) where id > 3", marks=pytest.mark.server),
        pytest.param("postgres", "(lower(word))", marks=pytest.mark.server),
        pytest.param("postgres", "(word text_pattern_ops)", marks=pytest.mark.server),
        pytest.param("mariadb", "(word(3))", marks=pytest.mark.server),
    ],
)
def test_unique_indexes_that_only_the_database_can_judge_are_named(
    request: pytest.FixtureRequest, dialect: str, index: str
) -> None:
    shop: Shop = request.getfixturevalue(dialect)
    shop.sql(
        "create table customers (id integer primary key, word varchar(9) not null)",
        f"create unique index odd on customers {index}",
    )

    facts = catalogue_of(shop).tables["customers"]

    assert facts.unclear == ("odd",)
    assert facts.uniques == ()


@pytest.mark.server
def test_exclusions_and_nulls_that_are_alike_are_left_to_the_database(postgres: Shop, mariadb: Shop) -> None:
    postgres.sql(
        "create table customers (id int primary key, a int, b int4range, "
        "unique nulls not distinct (a), exclude using gist (b with &&))"
    )
    mariadb.sql(
        "create table customers (id int primary key, a date, b date, period for p (a, b), "
        "unique odd (id, p without overlaps))"
    )

    assert catalogue_of(postgres).tables["customers"].unclear == ("customers_a_key", "customers_b_excl")
    assert catalogue_of(mariadb).tables["customers"].unclear == ("odd",)


def test_sqlite_tables_without_a_rowid_are_fine(sqlite: Shop) -> None:
    sqlite.sql("create table customers (id text primary key, n integer) without rowid")

    facts = catalogue_of(sqlite).tables["customers"]

    assert (facts.primary_key, facts.refused) == (("id",), None)
    assert [column.nullable for column in facts.columns] == [False, True]
    assert not facts.columns[0].identity


# --- triggers --------------------------------------------------------------------------------------------------------


def test_triggers_are_named_and_those_of_foreign_keys_are_none(shop: Shop) -> None:
    body = {
        "sqlite": "create trigger audit_it after delete on customers begin select 1; end",
        "mysql": "create trigger audit_it after delete on customers for each row set @x = 1",
        "postgresql": "create trigger audit_it after delete on customers for each statement execute function f()",
    }[shop.dialect]
    if shop.dialect == "postgresql":
        shop.sql("create function f() returns trigger language plpgsql as 'begin return null; end'")
    shop.sql(
        PARENT,
        "create table orders (id integer primary key, c integer, foreign key (c) references customers (id))",
        body,
    )

    described = catalogue_of(shop)

    assert described.tables["customers"].triggers == ("audit_it",)
    assert described.tables["orders"].triggers == ()


@pytest.mark.server
def test_rules_are_told_and_triggers_that_never_fire_are_not(postgres: Shop) -> None:
    postgres.sql(
        PARENT,
        "create function f() returns trigger language plpgsql as 'begin return new; end'",
        "create trigger off before update on customers for each row execute function f()",
        "create trigger replica before update on customers for each row execute function f()",
        "create trigger always before update on customers for each row execute function f()",
        "alter table customers disable trigger off, enable replica trigger replica, enable always trigger always",
        "create rule keep as on delete to customers do instead nothing",
    )

    assert catalogue_of(postgres).tables["customers"].triggers == ("always", "rule keep")


# --- what is refused -------------------------------------------------------------------------------------------------


def test_views_are_refused(shop: Shop) -> None:
    shop.sql(PARENT, "create view seen as select * from customers")

    assert catalogue_of(shop, "seen").tables["seen"].refused == (
        "Table seen cannot be cleaned: it is a view; clean the table behind it."
    )


@pytest.mark.parametrize(
    ("make", "name", "why"),
    [
        ("create virtual table words using fts5(a)", "words", "it is a virtual table"),
        ("create virtual table words using fts5(a)", "words_content", "it stores the content of a virtual table"),
        ("create table seen (id integer primary key autoincrement)", "sqlite_sequence", "belongs to the database"),
        ("create table reconcile_receipts (id integer primary key)", "reconcile_receipts", "or to Reconcile"),
        (
            "create table a (id integer primary key, b integer); create table c (x integer references a (b))",
            "a",
            "a foreign key of c refers to columns that are not unique",
        ),
    ],
)
def test_of_sqlite_is_refused(sqlite: Shop, make: str, name: str, why: str) -> None:
    sqlite.sql(*make.split("; "))

    assert why in str(catalogue_of(sqlite, name).tables[name].refused)


def test_temporary_tables_of_sqlite_are_refused(sqlite: Shop) -> None:
    with sqlite.engine.connect() as connection:
        connection.exec_driver_sql("create temp table t (id integer primary key)")
        described = catalogue(connection, sa.table("t"))

    assert "it is a temporary table" in str(described.tables[described.table].refused)


_FOREIGN = (
    "create extension file_fdw; create server s foreign data wrapper file_fdw; "
    "create foreign table f (id int) server s options (filename '/dev/null')"
)
_PARTITIONED = (
    "create table whole (id int primary key, a int) partition by range (id); "
    "create table low partition of whole for values from (0) to (10); "
)


@pytest.mark.server
@pytest.mark.parametrize(
    ("make", "name", "why"),
    [
        ("create materialized view m as select 1 as id", "m", "it is a materialised view"),
        ("create unlogged table t (id int primary key)", "t", "it is unlogged"),
        ("select 1", "pg_catalog.pg_class", "it belongs to the database itself"),
        ("create table reconcile_owner (id int primary key)", "reconcile_owner", "it belongs to Reconcile"),
        (_PARTITIONED, "low", "it is a partition of another table"),
        (
            f"{_PARTITIONED}create table x (id int primary key, l int references low)",
            "whole",
            "a foreign key of x refers to its partition low alone",
        ),
        (
            "create table t (id int primary key); create table u (x int) inherits (t)",
            "t",
            "other tables inherit from it",
        ),
        (_FOREIGN, "f", "it is a foreign table"),
    ],
)
def test_of_postgresql_is_refused(postgres: Shop, make: str, name: str, why: str) -> None:
    postgres.sql(*[statement for statement in make.split("; ") if statement])

    assert why in str(catalogue_of(postgres, name).tables[name].refused)


@pytest.mark.server
def test_a_partitioned_table_is_cleaned_as_a_whole(postgres: Shop) -> None:
    """Triggers of a partition fire for the whole; keys of a partition alone say nothing of the others."""
    postgres.sql(
        *[statement for statement in _PARTITIONED.split("; ") if statement],
        "create table orders (id int primary key, w int references whole) partition by range (id)",
        "create table few partition of orders for values from (0) to (10)",
        "create unique index only_low on low (a)",
        "create function f() returns trigger language plpgsql as 'begin return new; end'",
        "create trigger all_of_it before update on whole for each row execute function f()",
        "create trigger low_only before update on low for each row execute function f()",
    )

    described = catalogue_of(postgres, "whole")

    assert described.tables["whole"].refused is None
    assert described.tables["whole"].triggers == ("all_of_it", "low_only")
    assert described.tables["whole"].unclear == ("only_low",)
    assert [(reference.table, reference.to_table) for reference in described.references] == [("orders", "whole")]


@pytest.mark.server
def test_temporary_tables_of_postgresql_are_refused(postgres: Shop) -> None:
    with postgres.engine.connect() as connection:
        connection.exec_driver_sql("create temp table t (id int primary key)")
        described = catalogue(connection, "t")

    assert "it is a temporary table" in str(described.tables[described.table].refused)


@pytest.mark.server
def test_rows_and_columns_that_the_user_may_not_see_forbid_cleaning(postgres: Shop) -> None:
    postgres.sql(
        PARENT,
        "create table orders (id int primary key, c int references customers)",
        "drop role if exists reconcile_clerk",
        "create role reconcile_clerk",
        "grant usage on schema public to reconcile_clerk",
        "grant select, update, delete on customers to reconcile_clerk",
        "grant select (id) on orders to reconcile_clerk",
        "create schema hidden",
        "create table hidden.notes (id int primary key, c int references customers)",
        "alter table customers enable row level security",
    )
    try:
        with postgres.engine.connect() as connection:
            connection.exec_driver_sql("set role reconcile_clerk")
            described = catalogue(connection, "customers")
        assert "row-level security hides some of its rows" in str(described.tables["customers"].refused)
        assert "cannot read all of its columns" in str(described.tables["orders"].refused)
        assert "cannot read all of its columns" in str(described.tables["hidden.notes"].refused)
        assert catalogue_of(postgres).tables["customers"].refused is None
    finally:
        postgres.sql("drop owned by reconcile_clerk", "drop role reconcile_clerk")


@pytest.mark.server
@pytest.mark.parametrize(
    ("make", "name", "why"),
    [
        ("create table t (id int primary key) engine=myisam", "t", "its storage engine MyISAM has no transactions"),
        ("create table t (id int primary key) engine=aria", "t", "its storage engine Aria has no transactions"),
        ("create table t (id int primary key) engine=memory", "t", "its storage engine MEMORY has no transactions"),
        ("create table t (id int not null) engine=csv", "t", "its storage engine CSV has no transactions"),
        ("create sequence s", "s", "it is a sequence"),
        ("select 1", "mysql.proc", "it belongs to the database itself"),
    ],
)
def test_of_mariadb_is_refused(mariadb: Shop, make: str, name: str, why: str) -> None:
    mariadb.sql(make)

    assert why in str(catalogue_of(mariadb, name).tables[name].refused)


def test_a_table_that_is_not_there_is_refused(shop: Shop) -> None:
    with pytest.raises(TargetRefused, match=r"There is no table customers\."):
        catalogue_of(shop)


@pytest.mark.server
def test_a_name_that_means_two_tables_is_refused(postgres: Shop) -> None:
    postgres.sql(
        "create schema a",
        "create table a.b (id int primary key)",
        'create table "a.b" (id int primary key)',
        'create table "c.d" (id int primary key)',
    )
    with postgres.engine.connect() as connection:
        inside = catalogue(connection, sa.table("b", schema="a"))

    assert catalogue_of(postgres, "a.b").tables["a.b"].refused is None
    assert catalogue_of(postgres, "c.d").tables["c.d"].refused is None
    assert "another table has the same name" in str(inside.tables["a.b"].refused)


# --- digest and sentences --------------------------------------------------------------------------------------------

_CHANGES: dict[str, Callable[[str], list[str]]] = {
    "a column more": lambda _: ["alter table customers add column note varchar(3)"],
    "a column renamed": lambda _: ["alter table customers rename column name to title"],
    "a key more": lambda _: ["create unique index more on customers (name)"],
    "a reference more": lambda _: [
        "create table late (id integer primary key, o int, foreign key (o) references orders (id) on delete cascade)"
    ],
    "a column of a child": lambda _: ["alter table orders add column note varchar(3)"],
    "a trigger": lambda dialect: {
        "sqlite": ["create trigger t after delete on orders begin select 1; end"],
        "mysql": ["create trigger t after delete on orders for each row set @x = 1"],
        "postgresql": [
            "create function f() returns trigger language plpgsql as 'begin return null; end'",
            "create trigger t after delete on orders execute function f()",
        ],
    }[dialect],
}


@pytest.mark.parametrize("change", list(_CHANGES))
def test_the_digest_changes_with_the_schema_and_only_then(shop: Shop, change: str) -> None:
    shop.sql(
        PARENT,
        "create table orders (id integer primary key, c integer, foreign key (c) references customers (id))",
        "create table strangers (id integer primary key)",
    )
    before = catalogue_of(shop).digest
    shop.sql("insert into customers values (1, 'a', '')", "drop table strangers")

    assert catalogue_of(shop).digest == before
    shop.sql(*_CHANGES[change](shop.dialect))
    assert catalogue_of(shop).digest != before


@pytest.mark.slow
def test_the_digest_is_the_same_in_another_process(shop: Shop) -> None:
    shop.sql(PARENT, "create table orders (id integer primary key, c integer references customers (id))")
    code = (
        "import sys, sqlalchemy as sa; from connectors.sql.catalogue.tables import catalogue; "
        "print(catalogue(sa.create_engine(sys.argv[1]).connect(), 'customers').digest)"
    )

    output = subprocess.run([sys.executable, "-c", code, shop.url], capture_output=True, text=True, check=True)

    assert output.stdout.strip() == catalogue_of(shop).digest


@pytest.mark.server
def test_the_digest_changes_with_what_a_trigger_does(postgres: Shop) -> None:
    function = "create or replace function f() returns trigger language plpgsql as 'begin return {}; end'"
    postgres.sql(
        PARENT,
        function.format("null"),
        "create trigger t before delete on customers for each row execute function f()",
    )
    before = catalogue_of(postgres).digest

    postgres.sql(function.format("old"))

    assert catalogue_of(postgres).digest != before


def test_rows_that_may_refer_to_nobody_are_told(sqlite: Shop) -> None:
    sqlite.sql(PARENT, "create table orders (id integer primary key, c integer references customers)")

    [sentence] = catalogue_of(sqlite).remarks
    assert sentence.endswith("rows of orders may refer to missing rows.")
    sqlite.sql("drop table orders")
    assert catalogue_of(sqlite).remarks == ()


@pytest.mark.server
def test_a_foreign_key_that_was_never_checked_is_told(postgres: Shop) -> None:
    postgres.sql(
        PARENT,
        "create table orders (id int primary key, c int)",
        "alter table orders add constraint later foreign key (c) references customers not valid",
    )

    [sentence] = catalogue_of(postgres).remarks

    assert sentence.startswith("The foreign key later of orders was never checked")


def test_names_are_taken_as_they_are_written(shop: Shop) -> None:
    mark = "`{}`" if shop.dialect == "mysql" else '"{}"'
    odd, column = mark.format("Ku%nden x:y"), mark.format("i'd; --")
    shop.sql(
        f"create table {odd} ({column} integer primary key)",
        f"create table notes (id integer primary key, k integer, foreign key (k) references {odd} ({column}))",
        f"insert into {odd} values (1)",
        "insert into notes values (5, 1)",
    )

    described = catalogue_of(shop, "Ku%nden x:y")

    assert the(described, "notes").to_columns == ("i'd; --",)
    assert referring(shop, the(described, "notes"), (1,)) == [("5", "1")]


# --- what changes while rows are changed -----------------------------------------------------------------------------

_BORN = {
    "a cascade": lambda dialect: [
        "alter table notes add foreign key (customer) references customers (id) on delete cascade"
        if dialect != "sqlite"
        else "create table late (id integer primary key, c integer references customers (id) on delete cascade)"
    ],
    "a trigger": lambda dialect: [
        statement.replace("on orders", "on customers") for statement in _CHANGES["a trigger"](dialect)
    ],
}


def _open_to_changes(shop: Shop) -> None:
    shop.sql(
        PARENT,
        "create table notes (id integer primary key, customer integer)",
        "insert into customers values (1, 'a', ''), (2, 'b', '')",
        "insert into notes values (1, 1)",
    )


@pytest.mark.parametrize("born", list(_BORN))
def test_what_was_born_since_the_catalogue_was_read_shows_in_the_transaction(shop: Shop, born: str) -> None:
    _open_to_changes(shop)
    stamps = catalogue_of(shop).stamps
    with shop.source.work(30) as work:
        assert work.hold(["customers"]) == {"customers": stamps["customers"]}

    shop.sql(*_BORN[born](shop.dialect))

    with shop.source.work(30) as work:
        assert work.hold(["customers"]) != {"customers": stamps["customers"]}


@pytest.mark.parametrize("born", list(_BORN))
def test_nothing_is_born_while_the_transaction_lasts(shop: Shop, born: str) -> None:
    """Between the look at the stamps and the change there is no moment in which a cascade could appear."""
    _open_to_changes(shop)
    impatient = {"sqlite": "pragma busy_timeout = 50", "mysql": "set lock_wait_timeout = 1"}
    waits = impatient.get(shop.dialect, "set lock_timeout = 50")
    [row] = [row for row in shop.source.rows(SqlDataset(table="customers"), ["id"], [(1,)]) if row]
    if shop.dialect == "postgresql":
        shop.sql("create function f() returns trigger language plpgsql as 'begin return null; end'")
    with shop.source.work(60) as work:
        work.lock([row.name])
        work.hold(["customers"])

        with pytest.raises(sa.exc.OperationalError, match=r"(?i)lock"):
            shop.sql(waits, _BORN[born](shop.dialect)[-1])


@pytest.mark.server
def test_a_foreign_key_to_a_partition_alone_shows_in_the_stamp_of_the_whole(postgres: Shop) -> None:
    postgres.sql(*[statement for statement in _PARTITIONED.split("; ") if statement])
    stamps = catalogue_of(postgres, "whole").stamps

    postgres.sql("create table x (id int primary key, l int references low on delete cascade)")

    with postgres.source.work(30) as work:
        assert work.hold(["whole"]) != stamps


_ALTERED = {
    "a rule": ["create rule late as on delete to customers do also notify gone"],
    "a rule that goes": ["drop rule early on customers"],
    "a trigger that is switched off": ["alter table customers disable trigger seen"],
    "a trigger that goes": ["drop trigger seen on customers"],
    "a foreign key that goes": ["alter table notes drop constraint known"],
    "another action of a foreign key": [
        "alter table notes drop constraint known",
        "alter table notes add constraint known foreign key (customer) references customers on delete cascade",
    ],
    "a foreign key from another schema": ["create table aside.x (c int references customers on delete set null)"],
}
_ALTERABLE = (
    "create schema if not exists aside",
    "drop table if exists aside.x",
    "create function f() returns trigger language plpgsql as 'begin return null; end'",
    "create trigger seen after delete on customers for each row execute function f()",
    "create rule early as on update to customers do also notify changed",
    "alter table notes add constraint known foreign key (customer) references customers",
)


@pytest.mark.server
@pytest.mark.parametrize("altered", list(_ALTERED))
def test_every_change_of_what_acts_on_a_table_shows_in_its_stamp(postgres: Shop, altered: str) -> None:
    _open_to_changes(postgres)
    postgres.sql(*_ALTERABLE)
    stamps = catalogue_of(postgres).stamps
    with postgres.source.work(30) as work:
        assert work.hold(["customers"]) == {"customers": stamps["customers"]}

    postgres.sql(*_ALTERED[altered])

    with postgres.source.work(30) as work:
        assert work.hold(["customers"]) != {"customers": stamps["customers"]}


@pytest.mark.server
@pytest.mark.parametrize("table", ["low", "higher"])
def test_a_trigger_of_a_partition_alone_shows_in_the_stamp_of_the_whole(postgres: Shop, table: str) -> None:
    postgres.sql(*[statement for statement in _PARTITIONED.split("; ") if statement])
    postgres.sql(
        "create table high partition of whole for values from (1000) to (1020) partition by range (id)",
        "create table higher partition of high for values from (1010) to (1015)",
    )
    postgres.sql("create function f() returns trigger language plpgsql as 'begin return null; end'")
    stamps = catalogue_of(postgres, "whole").stamps

    postgres.sql(f"create trigger late after delete on {table} for each row execute function f()")

    with postgres.source.work(30) as work:
        assert work.hold(["whole"]) != {"whole": stamps["whole"]}


@pytest.mark.server
def test_what_the_lock_of_a_table_had_to_wait_for_shows_in_its_stamp(postgres: Shop) -> None:
    """The trigger is there before the lock is, and was not before the transaction asked for it."""
    _open_to_changes(postgres)
    postgres.sql("create function f() returns trigger language plpgsql as 'begin return null; end'")
    stamps = catalogue_of(postgres).stamps
    waiting = "select count(*) from pg_locks where not granted and relation = 'customers'::regclass"
    late = threading.Event()

    def make_a_trigger(connection: sa.Connection) -> None:
        while not connection.exec_driver_sql(waiting).scalar_one():
            late.wait(0.01)
        connection.commit()

    with postgres.engine.connect() as connection, postgres.source.work(30) as work:
        connection.exec_driver_sql("create trigger late after delete on customers for each row execute function f()")
        maker = threading.Thread(target=make_a_trigger, args=(connection,))
        maker.start()
        locked = work.hold(["customers"])
        maker.join()

    assert locked != {"customers": stamps["customers"]}


@pytest.mark.parametrize("name", ["Ku%nden x:y", "it's", "back\\slash", 'a "b" {0}', "%s"])
def test_a_table_of_any_name_is_held(shop: Shop, name: str) -> None:
    quoted = f"`{name}`" if shop.dialect == "mysql" else '"' + name.replace('"', '""') + '"'
    shop.sql(f"create table {quoted} (id integer primary key)", f"create table x (c int references {quoted} (id))")
    stamps = catalogue_of(shop, name).stamps

    with shop.source.work(30) as work:
        assert work.hold([name, "x"]) == stamps


def test_a_table_that_went_is_planned_anew(shop: Shop) -> None:
    _open_to_changes(shop)
    with shop.source.work(30) as work, pytest.raises(TargetError) as raised:
        work.hold(["gone"])

    assert raised.value.outcome is TransactionOutcome.CONFLICT
