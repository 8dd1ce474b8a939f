"""Whatever the tables, references and groups are: a plan loses nothing, leaves nothing dangling, can be undone."""

import contextlib
import itertools
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
import sqlalchemy as sa
from hypothesis import event, given, settings

from connectors.target import Cell, Reference, Row
from reconcile.cleaning.planning import plan as planning
from reconcile.config.settings import LinkEntry
from reconcile.findings.plan import Plan, from_json, to_json
from reconcile.findings.shown import Finding
from rules.kinds.duplicates import DuplicatesRule
from tests.reconcile.cleaning.planned_shop import PlannedShop, rule_of
from tests.support.chance import examples
from tests.support.shop import LOCAL

TABLES = ("customers", "orders", "order_lines", "clubs", "notes", "gone")
EMAILS = ("ann@x", "ann@x", "ann@x", "bob@x", None)
CUSTOMER = (
    "id integer primary key, email varchar(20), phone varchar(20), code varchar(20) unique, rank_ integer, "
    "status varchar(60), parent integer"
)
Told = dict[str, str | None]
Tables = dict[str, list[Told]]


def schema(on_delete: Sequence[str]) -> list[str]:
    """Customers with parents, orders with lines, a link table whose key is made of references, and a soft link."""
    customers, orders, lines, clubs = (f"(id) on delete {item}" for item in on_delete)
    line = "id integer primary key, owner integer, what varchar(20)"
    ref = "customer integer, ref varchar(20), unique (customer, ref)"
    club = "customer integer, club varchar(20), since integer, primary key (customer, club)"
    of_customer = "foreign key (customer) references customers"
    return [
        f"create table customers ({CUSTOMER}, foreign key (parent) references customers{customers})",
        f"create table orders (id integer primary key, {ref}, {of_customer}{orders})",
        f"create table order_lines ({line}, foreign key (owner) references orders{lines})",
        f"create table clubs ({club}, {of_customer}{clubs})",
        "create table notes (id integer primary key, about integer, said varchar(20))",
        f"create table gone ({CUSTOMER}, reconcile_finding varchar(64))",
    ]


def nullable(search_strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | search_strategy


@st.composite
def contents(draw: st.DrawFn) -> dict[str, list[tuple[Any, ...]]]:
    """Rows that the constraints allow, in an order that they allow."""
    ids = list(range(1, draw(st.integers(2, 6)) + 1))
    some_id = st.sampled_from(ids)
    word = st.sampled_from(["x", "y"])
    customers = []
    for n in ids:
        parent = draw(nullable(st.sampled_from(ids[:n]))) if draw(st.booleans()) else None
        code = f"code{n}" if draw(st.booleans()) else None
        phone, rank = draw(nullable(st.sampled_from(["1", "22"]))), draw(nullable(st.integers(0, 3)))
        customers.append((n, draw(st.sampled_from(EMAILS)), phone, code, rank, None, parent))
    owners = draw(st.lists(st.tuples(nullable(some_id), nullable(word)), max_size=6))
    seen: set[Any] = set()
    orders = [
        (10 + n, owner, ref)
        for n, (owner, ref) in enumerate(owners)
        if None in (owner, ref) or not ((owner, ref) in seen or seen.add((owner, ref)))
    ]
    of_orders = st.sampled_from([order[0] for order in orders]) if orders else st.none()
    lines = [(30 + n, *item) for n, item in enumerate(draw(st.lists(st.tuples(nullable(of_orders), word), max_size=4)))]
    clubs = draw(st.lists(st.tuples(some_id, word, st.integers(0, 1)), max_size=5, unique_by=lambda item: item[:2]))
    notes = [(50 + n, *item) for n, item in enumerate(draw(st.lists(st.tuples(nullable(some_id), word), max_size=4)))]
    return {"customers": customers, "orders": orders, "order_lines": lines, "clubs": clubs, "notes": notes}


ACTIONS: dict[str, dict[str, Any]] = {
    "delete": {"action": "delete"},
    "set": {"action": "set", "values": {"status": "twin of {{ keeper.id }}"}},
    "merge and delete": {
        "action": "merge",
        "fields": {"phone": "longest", "code": {"last": "rank_"}},
        "linked": [["status", "rank_"]],
        "surplus": "delete",
    },
    "merge and mark": {
        "action": "merge",
        "fields": {"phone": "most_frequent", "rank_": {"max": "rank_"}},
        "surplus": {"set": {"status": "merged", "code": None}},
    },
    "move": {"action": "move", "to": "gone"},
}
rules = st.builds(
    lambda action, references, keep: rule_of(ACTIONS[action] | {"references": references}, key=["email"], keep=keep),
    st.sampled_from(sorted(ACTIONS)),
    st.sampled_from(["refuse", "repoint", "repoint", "capture"]),
    st.sampled_from([["most_complete"], [{"last": "rank_"}], []]),
)
on_deletes = st.lists(
    st.sampled_from(["no action", "restrict", "cascade", "set null", "set default"]), min_size=4, max_size=4
).map(lambda four: [*four[:3], "cascade" if four[3].startswith("set") else four[3]])


@contextmanager
def shop_with(
    tables: dict[str, list[tuple[Any, ...]]], on_delete: Sequence[str], url: str = ""
) -> Iterator[PlannedShop]:
    """These tables in a SQLite file of their own, or in the empty database at `url`, which is empty afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        links = (LinkEntry(table="notes", columns=("about",), to=("id",)),)
        shop = PlannedShop(url or LOCAL, Path(folder), links=links)
        if "mysql" in url:  # InnoDB knows no SET DEFAULT, and deletes no row that refers to itself
            on_delete = ["no action" if item == "set default" else item for item in on_delete]
            customers = [(*row[:6], None if row[6] == row[0] else row[6]) for row in tables["customers"]]
            tables = tables | {"customers": customers}
        try:
            shop.sql(*schema(on_delete), *(written(name, row) for name, rows in tables.items() for row in rows))
            yield shop
        finally:
            if url:
                shop.sql(*(f"drop table if exists {name}" for name in ("order_lines", "orders", "clubs", *TABLES)))
            shop.close()


def written(table: str, row: Sequence[Any]) -> str:
    return f"insert into {table} values ({', '.join('null' if item is None else repr(item) for item in row)})"


def told(shop: PlannedShop) -> Tables:
    """All rows, every value as text."""
    tables: Tables = {}
    with shop.engine.connect() as connection:
        for name in TABLES:
            rows = connection.exec_driver_sql(f"select * from {name}").mappings().all()
            texts = [{column: None if item is None else str(item) for column, item in row.items()} for row in rows]
            tables[name] = sorted(texts, key=repr)
    return tables


class Shuffled:
    """The same target, whose answers come in another order."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        return list(reversed(self._target.referring(reference, to)))


def expected(before: Tables, plan: Plan) -> Tables:
    """What the tables look like when exactly the changes of the plan are made, and no others."""
    after = {name: [dict(row) for row in rows] for name, rows in before.items()}
    columns = [*re.findall(r"(\w+) (?:integer|varchar)", CUSTOMER), "reconcile_finding"]
    for change in plan.changes:
        rows, key = after[change.row.table], {name: cell and cell[1] for name, cell in change.row.key}
        at = [n for n, row in enumerate(rows) if key.items() <= row.items()]
        cells = {name: cell and cell[1] for name, cell in (change.after or {}).items()}
        if change.before is None:
            rows.append(dict.fromkeys(columns) | cells)
        elif change.after is None:
            rows.pop(*at)
        else:
            rows[at[0]].update(cells)
    return {name: sorted(rows, key=repr) for name, rows in after.items()}


def planned(shop: PlannedShop, rule: DuplicatesRule, finding: Finding) -> Plan | None:
    """The plan as the findings are now, the same in whatever order the target answers."""
    tools = shop.tools(rule)
    others = replace(tools, target=Shuffled(tools.target))
    [(_, created)], [(_, again)] = planning.make_many([finding], tools), planning.make_many([finding], others)
    event(f"{tools.settings.action}, {tools.settings.references}: {'planned' if isinstance(created, Plan) else 'none'}")
    if not isinstance(created, Plan):
        assert str(again) == str(created)
        return None
    assert isinstance(again, Plan)
    assert again.plan_hash == created.plan_hash
    assert from_json(to_json(created)) == created
    return created


def does_what_it_says(shop: PlannedShop, rule: DuplicatesRule) -> None:
    assert rule.clean is not None
    for finding in shop.findings(rule):
        before = told(shop)
        plan = planned(shop, rule, finding)
        if plan is None:
            continue

        back = shop.carry_out(plan)

        after = told(shop)
        assert after == expected(before, plan)
        assert finding.keeper is not None
        assert str(finding.keeper.id[0]) in customers_of(after)
        nothing_dangles(before, after)
        if plan.action != "set" or rule.clean.references == "repoint":
            nobody_refers_to_the_surplus(after, {str(member.id[0]) for member in finding.surplus})
        if rule.clean.references == "repoint":
            no_reference_is_lost(before, after, plan)
        shop.apply(back)
        assert told(shop) == before
        shop.carry_out(plan)


@pytest.mark.slow
@settings(max_examples=examples(50))
@given(contents(), rules, on_deletes)
def test_a_plan_does_what_it_says_and_nothing_else_and_its_inverse_restores_every_row(
    tables: dict[str, list[tuple[Any, ...]]], rule: DuplicatesRule, on_delete: Sequence[str]
) -> None:
    with shop_with(tables, on_delete) as shop:
        does_what_it_says(shop, rule)


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
def test_a_plan_does_what_it_says_on_servers_too(server: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(server)

    @settings(max_examples=8, database=None)
    @given(contents(), rules, on_deletes)
    def any_tables(tables: dict[str, Any], rule: DuplicatesRule, on_delete: Sequence[str]) -> None:
        with shop_with(tables, on_delete, url) as shop:
            does_what_it_says(shop, rule)

    any_tables()


def customers_of(tables: Tables) -> set[str | None]:
    return {row["id"] for row in tables["customers"]}


def nothing_dangles(before: Tables, after: Tables) -> None:
    """Foreign keys are the database's to hold; what was a link before still leads somewhere."""
    remembered, was = customers_of(after), customers_of(before)
    for table, column in (("customers", "parent"), ("orders", "customer"), ("clubs", "customer"), ("notes", "about")):
        linked = {row[column] for row in after[table]} - {None}
        assert linked & was <= remembered
    assert {row["owner"] for row in after["order_lines"]} - {None} <= {row["id"] for row in after["orders"]}


def nobody_refers_to_the_surplus(after: Tables, surplus: set[str]) -> None:
    left = {row["parent"] for row in after["customers"] if row["id"] not in surplus}
    left |= {row["customer"] for table in ("orders", "clubs") for row in after[table]}
    left |= {row["about"] for row in after["notes"]}
    assert not left & surplus


def no_reference_is_lost(before: Tables, after: Tables, plan: Plan) -> None:
    """Rows only go that say what another one says that stays."""
    captured = [change for change in plan.changes if change.role == "captured"]
    for table in ("orders", "order_lines", "clubs", "notes"):
        assert len(after[table]) == len(before[table]) - sum(item.row.table == table for item in captured)
    assert {row["club"] for row in before["clubs"]} == {row["club"] for row in after["clubs"]}


edits = st.one_of(
    st.tuples(st.just("update customers set phone = '{1}' where id = {0}"), st.integers(1, 6), st.integers(1, 3)),
    st.tuples(st.just("update customers set rank_ = {1} where id = {0}"), st.integers(1, 6), st.integers(0, 3)),
    st.tuples(st.just("insert or ignore into orders values (900 + {0}, {0}, 'z')"), st.integers(1, 6), st.just(0)),
    st.tuples(st.just("insert or ignore into notes values (900 + {0}, {0}, 'z')"), st.integers(1, 6), st.just(0)),
)


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(contents(), rules, rules, st.lists(st.none() | edits, max_size=5), st.randoms(use_true_random=False))
def test_whatever_plans_of_two_rules_and_edits_of_others_meet_somebody_survives_and_nothing_dangles(
    tables: dict[str, list[tuple[Any, ...]]],
    one: DuplicatesRule,
    other: DuplicatesRule,
    between: list[tuple[str, int, int] | None],
    random: Any,
) -> None:
    """All plans are made first; then they are carried out in any order, while others write."""
    other = other.model_copy(update={"key": rule_of({"action": "delete"}, key=["phone"]).key})
    with shop_with(tables, ["no action"] * 4) as shop:
        collected = [finding for rule in (one, other) for finding in shop.findings(rule)]
        groups = [{str(member.id[0]) for member in finding.members} for finding in collected]
        plans = [created for rule in (one, other) for created in shop.plans(rule) if isinstance(created, Plan)]
        random.shuffle(plans)
        for plan, edit in itertools.zip_longest(plans, between):
            if edit is not None:
                a_third_party(shop, *edit)
            if plan is not None:
                before = told(shop)
                event(f"{plan.action}: {'done' if shop.carried_out(plan) else 'drifted'}")
                nothing_dangles(before, told(shop))

        left = customers_of(told(shop))
        assert all(group & left for group in joined(groups))


def a_third_party(shop: PlannedShop, statement: str, first: int, second: int) -> None:
    with contextlib.suppress(sa.exc.IntegrityError):
        shop.sql(statement.format(first, second))


def joined(groups: list[set[str]]) -> list[set[str]]:
    """Groups that share a record as one: who was merged into a record that was merged on survives in the last one."""
    values: list[set[str]] = []
    for group in groups:
        touching = [item for item in values if item & group]
        values = [item for item in values if not item & group] + [group.union(*touching)]
    return values
