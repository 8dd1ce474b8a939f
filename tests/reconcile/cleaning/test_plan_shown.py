"""A plan as people and programs see it, and `reconcile plan`."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconcile.cleaning import shown
from reconcile.findings.plan import Plan
from reconcile.findings.results import most_common_reasons
from reconcile.masking.personal import Masking
from rules.cleaning import Caps
from tests.reconcile.cleaning.planned_shop import PlannedShop, rule_of
from tests.support.cli import Project
from tests.support.folders import ROOT
from tests.support.shop import LOCAL

TABLES = """
create table customers (id integer primary key, email text, name text, phone text, tags text, spent numeric);
create table orders (id integer primary key, customer integer references customers(id), ship_to text);
create table clubs (customer integer references customers(id), club text, primary key (customer, club));
insert into customers values (1, 'ann@x.com', 'Ann', null, 'vip', 20), (2, 'ann@x.com', 'Ann B.', '0221/4', 'new', 5.5),
    (3, 'bob@x.com', 'Bob', '', null, 7);
insert into orders values (10, 2, 'Ann, Elm street'), (11, 1, 'Ann');
insert into clubs values (1, 'go'), (2, 'go'), (2, 'chess');
"""
CONFIG = """
version: 1
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets:
  customers:
    {source: shop, table: customers, id: id, pii: [email, name, phone], money: {amount: spent, currency: EUR}}
rules:
  twins:
    kind: duplicates
    dataset: customers
    key: [email]
    clean: {action: CLEAN}
  quiet: {kind: duplicates, dataset: customers, key: [name]}
jobs: {nightly: {rules: [twins, quiet]}}
"""
MERGE = "merge, surplus: delete, references: repoint, fields: {name: longest, phone: longest, tags: union}"
PII = Masking(frozenset({"email", "name", "phone"}), ("id",))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[PlannedShop]:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(TABLES)
    connection.close()
    planned_shop = PlannedShop(LOCAL, tmp_path)
    yield planned_shop
    planned_shop.close()


def project(shop: PlannedShop, clean: str) -> Project:
    return Project(shop.folder).write(CONFIG.replace("CLEAN", clean))


def merge(shop: PlannedShop, references: str = "repoint") -> Plan:
    clean = {
        "action": "merge",
        "surplus": "delete",
        "references": references,
        "fields": {"name": "longest", "phone": "longest", "tags": "union"},
    }
    return shop.plan(rule_of(clean, key=["email"]))


def test_every_row_and_field_is_shown_before_and_after_the_record_that_stays_first(shop: PlannedShop) -> None:
    told = shown.for_people(merge(shop))

    assert [(item.does, item.role, item.table, item.row) for item in told] == [
        ("update", "keeper", "customers", "id = 1"),
        ("delete", "surplus", "customers", "id = 2"),
        ("stay", "reference", "clubs", "customer = 1, club = go"),
        ("delete", "captured", "clubs", "customer = 2, club = go"),
        ("update", "reference", "clubs", "customer = 2, club = chess"),
        ("update", "reference", "orders", "id = 10"),
    ]
    second = [2]
    assert told[0].fields == (
        ("name", "Ann", "Ann B.", (second,)),
        ("phone", None, "0221/4", (second,)),
        ("tags", "vip", "vip, new", ([1], second)),
    )
    assert told[1].fields[:2] == (("id", "2", None, ()), ("email", "ann@x.com", None, ()))
    assert told[5].fields == (("customer", "2", "1", ()),)


def test_personal_data_is_hidden_wherever_it_stands_in_a_plan(shop: PlannedShop) -> None:
    """In records, in values made of it, and in rows of other tables that go, which nobody marked."""
    clean = {"action": "set", "values": {"tags": "was {{ record.name }}", "phone": "{{ keeper.email }}"}}
    marked = shop.plan(rule_of(clean, key=["email"]))
    gone = merge(shop, references="capture")

    told = json.dumps([shown.to_json(item, PII) for item in (marked, gone)])

    for secret in ("ann@x.com", "Ann", "0221/4", "Elm"):
        assert secret not in told
        assert secret in json.dumps([shown.to_json(item) for item in (marked, gone)])
    assert "vip, new" in told


def test_an_id_that_is_personal_data_is_hidden_as_well(shop: PlannedShop) -> None:
    shop.sql(
        "create table people (email text primary key, name text)",
        "insert into people values ('ann@x', 'A'), ('bob@x', 'A')",
    )
    shop.table, shop.id = "people", ("email",)
    plan = shop.plan(rule_of({"action": "delete"}, key=["name"]))

    told = shown.to_json(plan, Masking(frozenset({"email"}), ("email",)))

    assert told["keeper"] == ["•••"]
    assert "@x" not in json.dumps(told)


def test_the_counts_are_those_of_the_changes(shop: PlannedShop) -> None:
    assert shown.counts(merge(shop)) == {
        "records": 1,
        "rows": 5,
        "deleted": 2,
        "updated": 3,
        "inserted": 0,
        "references": 2,
        "captured": 1,
    }


def test_what_is_over_a_limit_is_said() -> None:
    caps = Caps(records=100, share=10, group=5, money={"EUR": Decimal(50)})

    output, over = shown.limits_said(caps, rows=11, group=6, money={"EUR": Decimal(60), "USD": Decimal(1)})

    assert output == ("11 of 100 rows, 11 of 10 rows (`share`), 6 of 5 records in one group, 60 of 50 EUR, 1 of 0 USD")
    assert over == "rows (`share`) and EUR and USD"


def test_plan_shows_what_would_be_done_and_changes_nothing(shop: PlannedShop) -> None:
    here = project(shop, MERGE)
    assert here("run").code == 0
    before = [(shop.folder / name).read_bytes() for name in ("shop.db", "reconcile.db")]

    answer = here("plan", "--show")

    assert answer.code == 0
    assert [(shop.folder / name).read_bytes() for name in ("shop.db", "reconcile.db")] == before
    assert re.search(r"F-\w{6}  twins  1 record merged into the keeper, 2 references moved, 1 other row", answer.out)
    assert re.search(r"kept, updated  customers  id = 1\n  name +Ann +→  Ann B\.  \(from 2\)", answer.out)
    assert re.search(r"deleted  customers  id = 2\n  id = 2, email = ann@x.com", answer.out)
    assert re.search(r"re-pointed  orders  id = 10\n  customer  2  →  1", answer.out)
    assert "5.50 EUR at risk" in answer.out
    assert "undo: possible unless these rows change" in answer.out
    assert "twins: 1 plan, 1 surplus record, 4 rows change, and 1 keeper gets values from the surplus" in answer.out
    assert "limits (the keeper's own row is not counted): 4 of 100 rows" in answer.out
    assert "Personal data" not in answer.said
    assert "Ann" not in here("plan").out


def test_the_plan_that_is_shown_is_the_one_that_waits_for_approval(shop: PlannedShop) -> None:
    here = project(shop, MERGE)
    here("run")

    [planned] = here("plan", "--json").json

    with sqlite3.connect(shop.folder / "reconcile.db") as state:
        assert state.execute("select plan_hash from plans").fetchall() == [(planned["plan_hash"],)]
    assert (planned["state"], planned["approval"]) == ("awaiting_approval", "required")
    assert f"reconcile approve {planned['finding']} --plan-hash {planned['plan_hash'][:12]}" in here("plan").out
    shop.sql("update customers set tags = 'gold' where id = 1")
    assert here("plan", "--json").json[0]["state"] == "another"


def test_a_plan_has_the_documented_shape(shop: PlannedShop) -> None:
    here = project(shop, MERGE)
    here("run")  # the first run asks, so its plan has a time
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    documented = next(
        document
        for document in map(json.loads, re.findall(r"```json\n(.*?)```", page, re.DOTALL))
        if "plan_hash" in document
    )

    [printed] = here("plan", "--json").json

    assert names(printed) == names(documented)


def names(value: Any) -> Any:
    """The names at every level but those that are columns."""
    return {
        **dict.fromkeys(value),
        "counts": set(value["counts"]),
        "references": set(value["references"][0]),
        "changes": {name for change in value["changes"] for name in change},
        "fields": {name for change in value["changes"] for each in change["fields"].values() for name in each},
    }


def test_findings_without_a_plan_are_told_with_the_reason(shop: PlannedShop) -> None:
    here = project(shop, "delete")
    here("run")

    told, [printed] = here("plan"), here("plan", "--json").json

    assert "not planned, 1 finding: rows of `clubs` and `orders` refer to its surplus" in told.out
    assert (printed["plan_hash"], printed["rule"]) == (None, "twins")
    assert printed["reason"].startswith("3 rows of `clubs` and `orders`")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nobody",), 2, "There is no rule 'nobody'"),
        (("quiet",), 2, "Rule `quiet` only reports: it has no `clean:`"),
        (("--finding", "F-ZZZZZZ"), 2, "There is no finding `F-ZZZZZZ`"),
        (("twins", "--limit", "1"), 0, "twins: 1 plan"),
    ],
)
def test_what_is_not_there_is_told(shop: PlannedShop, words: tuple[str, ...], code: int, says: str) -> None:
    here = project(shop, MERGE)
    here("run")

    answer = here("plan", *words)

    assert (answer.code, says in answer.said) == (code, True)


def test_a_finding_of_a_rule_that_only_reports_has_no_plan(shop: PlannedShop) -> None:
    here = project(shop, MERGE)
    shop.sql("update customers set name = 'Ann' where id = 3")
    here("run")
    [finding] = [item["id"] for item in here("findings", "--rule", "quiet", "--json").json]

    answer = here("plan", "--finding", finding)

    assert (answer.code, "which does not clean" in answer.err) == (2, True)


def test_reasons_beyond_the_five_most_common_are_one_number() -> None:
    reasons = Counter({f"reason {n}": 10 - n for n in range(7)})

    shown = most_common_reasons(reasons)

    assert list(shown)[:5] == [f"reason {n}" for n in range(5)]
    assert shown["other reasons; `reconcile plan` names them"] == 9
    assert sum(shown.values()) == reasons.total()


def test_a_source_that_refuses_or_fails_hides_no_plans_of_other_rules(shop: PlannedShop) -> None:
    """The plans of all other rules are shown, the JSON is one whole document, and the exit code tells of it."""
    rules = "  seen: {kind: duplicates, dataset: view, key: [email], clean: {action: delete}}\n  twins:\n"
    view = "rules:\n" + rules
    table = "  view: {source: views, table: customers, id: id}\nrules:\n"
    text = CONFIG.replace("CLEAN", MERGE).replace("rules:\n  twins:\n", view).replace("rules:\n", table, 1)
    sources = 'sources: {views: {type: sql, url: "sqlite:///views.db"}, '
    here = Project(shop.folder).write(text.replace("sources: {", sources).replace("[twins,", "[seen, twins,"))
    with sqlite3.connect(shop.folder / "views.db") as connection:
        connection.executescript(f"{TABLES} alter table customers rename to people;")
        connection.executescript("create view customers as select * from people;")
    connection.close()
    assert here("run").code in (0, 4)

    as_json, as_text = here("plan", "--json"), here("plan")
    (shop.folder / "views.db").unlink()
    (shop.folder / "views.db").mkdir()
    unreachable = here("plan", "--json")

    seen, twin = as_json.json
    assert (seen["rule"], seen["plan_hash"], as_json.code) == ("seen", None, 4)
    assert "is a view. Nothing is cleaned there" in seen["reason"]
    assert (twin["rule"], len(twin["plan_hash"])) == ("twins", 64)
    assert twin["plan_hash"] in as_text.out
    assert "not planned, 1 finding: customers of source 'views' is a view." in as_text.out
    assert as_text.code == 4
    assert [plan["plan_hash"] for plan in unreachable.json] == [None, twin["plan_hash"]]
    assert unreachable.code == 3
