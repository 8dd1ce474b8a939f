"""Two states that clean one table meet, however each of them reaches it: the owner is found by the cleaned table."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.cli import Answer, Project

pytestmark = pytest.mark.server

PAIRS = [(1, "a@x"), (2, "a@x"), (3, "b@x"), (4, "b@x")]


@dataclass
class Base:
    """A database server with the customers of one schema, reached with any default schema."""

    url: str
    folder: Path
    is_postgresql: bool
    made: list[str]

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)

    def do(self, *statements: str) -> None:
        with self.engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement.replace("%", "%%"))

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(statement)]

    def schema(self, name: str) -> str:
        """A new schema, or database; its full name."""
        full = name if self.is_postgresql else f"{sa.make_url(self.url).database}_{name}"
        self.do(f"create schema {full}")
        self.made.append(full)
        return full

    def customers(self, schema: str) -> str:
        """A new table there; its full name."""
        table = f"{schema}.customers"
        self.do(f"create table {table} (id integer primary key, email varchar(60), status varchar(20))")
        rows = ", ".join(f"({ident}, '{email}', 'active')" for ident, email in PAIRS)
        self.do(f"insert into {table} values {rows}")
        return table

    def with_default(self, *schemas: str) -> str:
        """The address of a session that looks for tables in these schemas, in order."""
        url = sa.make_url(self.url)
        if self.is_postgresql:
            url = url.update_query_dict({"options": f"-csearch_path={','.join(schemas)}"})
        else:
            url = url.set(database=schemas[0])
        return url.render_as_string(hide_password=False)

    def owners(self) -> list[str]:
        """The schemas that hold an owner's row."""
        result = self.ask("select table_schema from information_schema.tables where table_name = 'reconcile_owner'")
        mine = {schema for (schema,) in result} & {*self.made, "public", str(sa.make_url(self.url).database)}
        return sorted(
            schema for schema in mine if self.ask(f"select 1 from {schema}.reconcile_owner where store <> ''")
        )

    def status(self, table: str) -> list[str]:
        return [status for (status,) in self.ask(f"select status from {table} order by id")]

    def project(self, name: str, url: str, *tables: str, keep: str = "first", mark: str = "twin") -> Project:
        folder = self.folder / name
        folder.mkdir()
        rule = {
            "kind": "duplicates",
            "key": ["email"],
            "keep": [{keep: "id"}],
            "clean": {"action": "set", "values": {"status": mark}},
            "limits": {"share": "100%"},
        }
        settings = {
            "version": 1,
            "sources": {"shop": {"type": "sql", "url": url}},
            "datasets": {f"d{n}": {"source": "shop", "table": table, "id": "id"} for n, table in enumerate(tables)},
            "rules": {f"twins{n}": rule | {"dataset": f"d{n}"} for n in range(len(tables))},
        }
        return Project(folder).write(json.dumps(settings))


@pytest.fixture(params=["postgres_url", "mariadb_url"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    created = Base(request.getfixturevalue(request.param), tmp_path, request.param == "postgres_url", [])
    yield created
    for schema in created.made:
        created.do(f"drop schema {schema} cascade" if created.is_postgresql else f"drop schema {schema}")


def approve_one(project: Project) -> Answer:
    assert project("run").code == 0
    waiting = project("findings", "--state", "awaiting_approval", "--json").json
    return project("approve", str(waiting[0]["id"]))


def reached(base: Base, name: str, shop: str) -> tuple[str, str]:
    """An address whose default schema is another one of its own, and what the table is called there."""
    second = base.schema(name)
    if base.is_postgresql:
        return base.with_default(second, shop), "customers"
    return base.with_default(second), f"{shop}.customers"


def test_two_states_with_other_default_schemas_meet_at_the_table_they_clean(base: Base) -> None:
    shop = base.schema("shop")
    table = base.customers(shop)
    ours = base.project("ours", *reached(base, "a", shop))
    theirs = base.project("theirs", *reached(base, "b", shop), keep="last", mark="copy")
    assert approve_one(ours).code == 0
    before = base.status(table)
    assert before.count("twin") == 1

    refused = approve_one(theirs)

    assert refused.code == 4
    assert "is cleaned by another state" in refused.out
    assert "target adopt shop" in refused.out
    assert base.status(table) == before
    assert base.owners() == [shop]
    assert len(theirs("findings", "--state", "awaiting_approval", "--json").json) == 2


def test_a_run_of_the_second_state_cleans_nothing_either_until_it_adopts_the_table(base: Base) -> None:
    shop = base.schema("shop")
    table = base.customers(shop)
    ours = base.project("ours", *reached(base, "a", shop))
    theirs = base.project("theirs", *reached(base, "b", shop), keep="last", mark="copy")
    for project in (ours, theirs):
        text = project.folder / "reconcile.yaml"
        document = json.loads(text.read_text())
        document["rules"]["twins0"]["approval"] = "none"
        project.write(json.dumps(document))
        assert project("run").code == 0
    assert ours("run").code == 0
    before = base.status(table)
    assert before.count("twin") == 2

    assert theirs("run").code == 4
    assert base.status(table) == before

    assert theirs("target", "adopt", "shop").code == 0
    assert "another state" in ours("target").out
    assert base.owners() == [shop]


def test_check_approve_doctor_and_target_list_all_say_that_another_state_cleans_there(base: Base) -> None:
    shop = base.schema("shop")
    base.customers(shop)
    ours = base.project("ours", *reached(base, "a", shop))
    url, name = reached(base, "b", shop)
    theirs, empty = base.project("theirs", url, name), base.project("empty", url, name)
    assert approve_one(ours).code == 0

    for project in (theirs, empty):  # with a state, and before there is any
        seen = project("check", "--json")
        assert seen.code == 4
        [wrong] = [check for check in seen.json["checks"] if not check["ok"]]
        assert wrong["subject"] == "cleaning of dataset d0"
        assert "is cleaned by another state" in wrong["sentence"]
        assert project("run").code == 0
    assert "is cleaned by another state" in theirs("doctor").out
    assert "is cleaned by another state" in theirs("target").out
    assert ours("check").code == 0


def test_states_that_clean_tables_of_two_schemas_do_not_meet_and_one_state_may_clean_both(base: Base) -> None:
    first, second = base.schema("first"), base.schema("second")
    tables = [base.customers(first), base.customers(second)]
    url = base.with_default(first)
    answer, other_second = base.project("one", url, tables[0]), base.project("other", url, tables[1])

    assert approve_one(answer).code == 0
    assert approve_one(other_second).code == 0

    assert base.owners() == [first, second]
    both = base.project("both", url, *tables)
    assert approve_one(both).code == 4
    assert both("target", "adopt", "shop").code == 0
    places = both("target", "--json").json
    assert [place["problem"] for place in places] == [None, None]
    for finding in both("findings", "--state", "awaiting_approval", "--json").json:
        assert both("approve", finding["id"]).code == 0
    assert {row for table in tables for row in base.status(table)} == {"active", "twin"}
    assert both("undo", "--run", both("runs", "--json").json[0]["run"]).code == 0
    assert [base.status(table).count("twin") for table in tables] == [1, 1]


@pytest.mark.parametrize("where", ["default", "other"])
def test_what_an_older_version_kept_in_the_default_schema_still_counts(where: str, base: Base) -> None:
    """The owner and the receipts, also for a dataset given as `schema.table`; another state is refused as ever."""
    shop = base.schema("shop")
    home = shop if where == "default" else base.schema("home")
    table = base.customers(shop)
    url = base.with_default(home)
    ours = base.project("ours", url, table)
    assert approve_one(ours).code == 0
    _as_an_older_version_had_it(base, ours, shop, home)
    theirs = base.project("theirs", url, table)

    assert approve_one(theirs).code == 4
    waiting = ours("findings", "--state", "awaiting_approval", "--json").json
    assert ours("approve", waiting[0]["id"]).code == 0

    assert base.owners() == sorted({shop, home})
    [(receipts,)] = base.ask(f"select count(*) from {shop}.reconcile_receipts")
    assert receipts == 2
    assert ours("run").code == 0
    assert ours("check").code == 0
    assert ours("audit", "verify").code == 0
    assert approve_one(theirs).code == 4


def _as_an_older_version_had_it(base: Base, project: Project, shop: str, home: str) -> None:
    for name in ("reconcile_owner", "reconcile_receipts") if shop != home else ():
        move = "alter table {0}.{2} set schema {1}" if base.is_postgresql else "rename table {0}.{2} to {1}.{2}"
        base.do(move.format(shop, home, name))
    base.do(f"update {home}.reconcile_owner set identity = replace(identity, 'schema:', '')")
    with sa.create_engine(f"sqlite:///{project.folder}/reconcile.db").begin() as state:
        [whole] = {target for (target,) in state.exec_driver_sql("select target from plans")}
        state.exec_driver_sql("update targets set identity = ?", (whole,))
