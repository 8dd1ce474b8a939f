"""Tables that have the names of ours and are not as we make them are refused: nothing of them runs with our rights."""

import json
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.sql.source import SqlSource
from connectors.target import Receipt, TargetRefused
from tests.support.cli import Answer, Project
from tests.support.shop import Shop

NAMES = ("reconcile_receipts", "reconcile_owner")
PAIRS = "insert into customers values (1, 'a@x', 'active'), (2, 'a@x', 'active'), (3, 'b@x', 'active'), (4, 'b@x', '')"


def project(folder: Path, url: str) -> Project:
    settings = {
        "version": 1,
        "sources": {"shop": {"type": "sql", "url": url}},
        "datasets": {"customers": {"source": "shop", "table": "customers", "id": "id"}},
        "rules": {
            "twins": {
                "kind": "duplicates",
                "dataset": "customers",
                "key": ["email"],
                "keep": [{"first": "id"}],
                "clean": {"action": "set", "values": {"status": "twin"}},
                "limits": {"share": "100%"},
            }
        },
    }
    folder.mkdir(exist_ok=True)
    return Project(folder).write(json.dumps(settings))


def add_customers(shop: Shop) -> None:
    shop.sql("create table customers (id integer primary key, email varchar(60), status varchar(20))", PAIRS)


def approve_one(item: Project) -> Answer:
    assert item("run").code == 0
    waiting = item("findings", "--state", "awaiting_approval", "--json").json
    return item("approve", str(waiting[0]["id"]))


def refused(item: Project, table: str, *words: str) -> None:
    """Every command that would use the table names it and says what to do, and none uses it."""
    answer = approve_one(item)
    assert answer.code == 4, answer
    seen = item("check")
    assert seen.code == 4
    assert item("target", "adopt", "shop").code == 4
    for output in (answer.out + answer.err, seen.out):
        assert table in output
        assert "is not as Reconcile creates it" in output
        for word in words:
            assert word in output, output


# PostgreSQL


@pytest.fixture
def mallory(postgres_url: str) -> Iterator[str]:
    """A role that may create tables in our schema, and nothing else."""
    root, name = Shop(postgres_url, Path()), f"mallory_{uuid.uuid4().hex[:8]}"
    root.sql(f"create role {name} login", f"grant usage, create on schema public to {name}")
    yield name
    root.sql(f"drop owned by {name} cascade", f"drop role {name}")


EVIL = (
    "create function public.evil() returns trigger language plpgsql as $$ begin "
    "create table if not exists stolen as select current_user::text as by; return new; end $$"
)


def as_we_make_them(root: Shop, folder: Path) -> Project:
    """A project whose tables Reconcile made, and none of its rows cleaned."""
    ours = project(folder, root.url)
    source: Any = SqlSource("shop", SqlSource.Settings(type="sql", url=root.url), folder)
    assert source.remembers("customers")
    source.close()
    return ours


def prepared(root: Shop, mallory: str, *statements: str) -> None:
    with root.engine.begin() as connection:
        connection.exec_driver_sql(f"set role {mallory}")
        for statement in statements:
            connection.exec_driver_sql(statement)


LIKE_OURS = {
    "reconcile_receipts": (
        'create table reconcile_receipts ("key" text collate "C" not null primary key, fingerprint text not null, '
        "store text not null, epoch bigint not null, fence bigint not null, plan text not null, "
        '"after" text not null, "at" timestamptz not null default now())'
    ),
    "reconcile_owner": (
        "create table reconcile_owner (id bigint not null primary key, identity text not null, store text not null, "
        "epoch bigint not null, ratchet bigint not null)"
    ),
}


@pytest.mark.server
@pytest.mark.parametrize("name", NAMES)
def test_a_table_that_another_role_prepared_never_runs_its_trigger_as_us(
    name: str, mallory: str, postgres_url: str, tmp_path: Path
) -> None:
    root = Shop(postgres_url, Path())
    add_customers(root)
    trigger = f"create trigger t before insert or update on {name} for each row execute function evil()"
    rights = f"grant all on {name} to public"
    prepared(root, mallory, LIKE_OURS[name], EVIL, trigger, rights)

    refused(project(tmp_path / "p", postgres_url), f"public.{name}", f"belongs to role {mallory}", "OWNER TO")

    assert root.sql("select to_regclass('public.stolen')") == [(None,)]
    assert root.sql("select status from customers where id = 2") == [("active",)]


@pytest.mark.server
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("create trigger t before insert or update on {0} for each row execute function evil()", ("trigger t",)),
        ("create rule r as on insert to {0} do also notify x", ("rule r",)),
        ("alter table {0} enable row level security", ("row security",)),
        ("create policy p on {0} using (true)", ("row security",)),
        ("create table child () inherits ({0})", ("inherits",)),
        ("alter table {0} add column more text", ("columns",)),
        ("alter table {0} alter column store set default 'x'", ("defaults",)),
        ("alter table {0} drop constraint {0}_pkey", ("primary key",)),
        ("alter table {0} add constraint c check (store <> 'x')", ("constraint or index c",)),
        ("create index odd on {0} (lower(store))", ("constraint or index odd",)),
        ("alter table {0} rename to x; create view {0} as select * from x", ("is a view", "DROP VIEW")),
        ("alter table {0} rename to x; create unlogged table {0} (like x including all)", ("unlogged",)),
    ],
)
def test_tables_of_ours_that_somebody_changed_are_refused(
    change: str, words: tuple[str, ...], name: str, postgres_url: str, tmp_path: Path
) -> None:
    root = Shop(postgres_url, Path())
    add_customers(root)
    ours = as_we_make_them(root, tmp_path / "p")
    root.sql(EVIL, *change.format(name).split(";"))

    refused(ours, f"public.{name}", *words)

    assert root.sql("select to_regclass('public.stolen')") == [(None,)]


@pytest.mark.server
def test_a_trigger_that_appears_while_a_process_runs_is_seen_in_the_transaction(
    postgres_url: str, tmp_path: Path
) -> None:
    root = Shop(postgres_url, Path())
    add_customers(root)
    source: Any = SqlSource("shop", SqlSource.Settings(type="sql", url=postgres_url), tmp_path)
    assert source.remembers("customers")
    root.sql(EVIL, "create trigger t before insert on reconcile_receipts for each row execute function evil()")

    with pytest.raises(TargetRefused, match="trigger t"), source.work(20) as work:
        work.receive([Receipt("k", "f", "s", 1, 1, "B", table="customers")])
    source.close()

    assert root.sql("select to_regclass('public.stolen')") == [(None,)]


@pytest.mark.server
def test_tables_that_a_superuser_made_for_the_cleaner_are_used(mallory: str, postgres_url: str, tmp_path: Path) -> None:
    """`mallory` is an honest role here: it may not create anything."""
    root = Shop(postgres_url, Path())
    add_customers(root)
    root.sql(*LIKE_OURS.values(), f"revoke create on schema public from {mallory}, public")
    for name in ("customers", *NAMES):
        root.sql(f"grant select, insert, update, delete on {name} to {mallory}")
    url = sa.make_url(postgres_url).set(username=mallory).render_as_string(hide_password=False)

    assert approve_one(project(tmp_path / "p", url)).code == 0
    assert root.sql("select count(*) from reconcile_receipts") == [(1,)]


# MariaDB


@pytest.mark.server
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("create trigger t before insert on {0} for each row set @x = 1", ("trigger t",)),
        ("alter table {0} add column more int", ("columns",)),
        ("alter table {0} alter column store set default 'x'", ("defaults",)),
        ("alter table {0} drop primary key", ("primary key",)),
        ("alter table {0} add constraint c check (store <> 'x')", ("check c",)),
        ("alter table {0} engine = MyISAM", ("engine is MyISAM",)),
        ("rename table {0} to x; create view {0} as select * from x", ("is a view", "DROP VIEW")),
    ],
)
def test_tables_of_ours_that_somebody_changed_in_mariadb_are_refused(
    change: str, words: tuple[str, ...], name: str, mariadb_url: str, tmp_path: Path
) -> None:
    root = Shop(mariadb_url, Path())
    add_customers(root)
    ours = as_we_make_them(root, tmp_path / "p")
    root.sql(*change.format(name).split(";"))

    refused(ours, f".{name}", *words)


# SQLite


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("create trigger t after insert on {0} begin delete from customers; end", ("trigger t",)),
        ("alter table {0} add column more text", ("columns",)),
        ("drop table {0}; create table {0} (store text)", ("columns",)),
        ("alter table {0} rename to x; create view {0} as select * from x", ("is a view", "DROP VIEW")),
    ],
)
@pytest.mark.slow
def test_tables_of_ours_that_somebody_changed_in_sqlite_are_refused(
    change: str, words: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    root = Shop(f"sqlite:///{tmp_path}/shop.db", Path())
    add_customers(root)
    ours = as_we_make_them(root, tmp_path / "p")
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        for statement in [change.format(name)] if "begin" in change else change.format(name).split(";"):
            shop.execute(statement)

    refused(ours, name, *words)

    assert len(root.sql("select * from customers")) == 4
