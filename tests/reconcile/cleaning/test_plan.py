"""What a plan does about references, changed records and decisions, on every database that can be cleaned."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connectors.target import Cell, Reference, Row, TargetRefused
from reconcile.cleaning.planning import plan as planning
from reconcile.cleaning.planning.plan import AsksPerson, NothingToDo, NotPlannable, Stale
from reconcile.config.settings import LinkEntry, Money
from reconcile.findings.keeper import as_chosen
from reconcile.findings.plan import Plan
from rules.kinds.duplicates import DuplicatesRule
from tests.reconcile.cleaning.planned_shop import PlannedShop, planned_shop, rule_of, settled
from tests.support.folders import ROOT
from tests.support.shop import LOCAL

SERVERS = [pytest.param(text, marks=pytest.mark.server) for text in ("postgresql", "mariadb")]
EVERYWHERE = pytest.mark.parametrize("shop", ["sqlite", *SERVERS], indirect=True)
CUSTOMERS = (
    "create table customers (id integer primary key, email varchar(60), seen integer, parent integer, "
    "foreign key (parent) references customers(id))"
)
THREE = "insert into customers values (1, 'ann@x', 1, null), (2, 'ann@x', 2, null), (3, 'bob@x', 3, null)"
ORDERS = (
    "create table orders (id integer primary key, customer integer, ref varchar(20), unique (customer, ref), "
    "foreign key (customer) references customers(id){})"
)
LINES = (
    "create table order_lines (id integer primary key, order_id integer, "
    "foreign key (order_id) references orders(id) on delete cascade)"
)


@pytest.fixture
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PlannedShop]:
    created = planned_shop(request, tmp_path)
    yield created
    created.close()


def delete(references: str = "refuse", **settings: Any) -> DuplicatesRule:
    return rule_of({"action": "delete", "references": references}, key=["email"], **settings)


def merge(references: str = "repoint", **settings: Any) -> DuplicatesRule:
    return rule_of({"action": "merge", "surplus": "delete", "references": references}, key=["email"], **settings)


def why(shop: PlannedShop, rule: DuplicatesRule) -> str:
    with pytest.raises(NotPlannable) as caught:
        shop.plan(rule)
    return str(caught.value)


# References


@EVERYWHERE
def test_a_record_that_others_refer_to_is_not_deleted_unless_it_says_what_becomes_of_them(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, ORDERS.format(""), THREE, "insert into orders values (10, 2, 'x'), (11, 2, 'y'), (12, 1, 'x')")

    assert why(shop, delete()).startswith("2 rows of `orders` refer to its surplus; with `references: repoint`")


@EVERYWHERE
def test_a_cascade_is_never_left_to_the_database(shop: PlannedShop) -> None:
    """What it would delete stands in the plan, row by row, counts, and comes back."""
    shop.sql(CUSTOMERS, ORDERS.format(" on delete cascade"), LINES, THREE)
    shop.sql(
        "insert into orders values (10, 2, 'x'), (11, 1, 'x')", "insert into order_lines values (20, 10), (21, 11)"
    )
    before = shop.tables("customers", "orders", "order_lines")

    assert "`orders` refers to its surplus" in why(shop, delete())
    plan = shop.plan(delete("capture"))
    back = shop.carry_out(plan)

    assert [(change.row.table, change.role) for change in plan.changes if not change.is_guard] == [
        ("order_lines", "captured"),
        ("orders", "captured"),
        ("customers", "surplus"),
    ]
    assert plan.rows == 3
    shop.apply(back)
    assert shop.tables("customers", "orders", "order_lines") == before


@EVERYWHERE
def test_set_null_is_never_left_to_the_database(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, ORDERS.format(" on delete set null"), THREE, "insert into orders values (10, 2, 'x')")
    before = shop.tables("customers", "orders")

    plan = shop.plan(delete("capture"))
    back = shop.carry_out(plan)

    assert [change.after for change in plan.changes if change.row.table == "orders"] == [{"customer": None}]
    assert shop.tables("orders")["orders"] == [(10, None, "x")]
    shop.apply(back)
    assert shop.tables("customers", "orders") == before


@EVERYWHERE
def test_references_of_several_columns_follow_the_keeper(shop: PlannedShop) -> None:
    shop.id = ("tenant", "id")
    shop.sql(
        "create table customers (tenant integer, id integer, email varchar(60), primary key (tenant, id))",
        "create table orders (id integer primary key, tenant integer, buyer integer, payer integer, "
        "foreign key (tenant, buyer) references customers(tenant, id), "
        "foreign key (tenant, payer) references customers(tenant, id))",
        "insert into customers values (7, 1, 'ann@x'), (7, 2, 'ann@x'), (8, 2, 'eve@x')",
        "insert into orders values (10, 7, 2, 2), (11, 7, 1, 2), (12, 8, 2, 2), (13, 7, null, 2)",
    )

    shop.carry_out(shop.plan(merge()))

    assert shop.tables("orders")["orders"] == [(10, 7, 1, 1), (11, 7, 1, 1), (12, 8, 2, 2), (13, 7, None, 1)]


@EVERYWHERE
def test_a_row_the_keeper_has_as_well_goes_and_what_referred_to_it_follows(shop: PlannedShop) -> None:
    """`unique (customer, ref)`: the keeper's order 10 stays, the surplus' order 11 is the same one."""
    shop.sql(CUSTOMERS, ORDERS.format(""), LINES, THREE)
    shop.sql(
        "insert into orders values (10, 1, 'x'), (11, 2, 'x'), (12, 2, 'y')", "insert into order_lines values (20, 11)"
    )
    before = shop.tables("customers", "orders", "order_lines")

    plan = shop.plan(merge())
    back = shop.carry_out(plan)

    assert shop.tables("orders", "order_lines") == {"orders": [(10, 1, "x"), (12, 1, "y")], "order_lines": [(20, 10)]}
    assert [change.row.key for change in plan.changes if change.is_guard and change.row.table == "orders"] != []
    shop.apply(back)
    assert shop.tables("customers", "orders", "order_lines") == before


@EVERYWHERE
def test_two_rows_that_differ_are_never_made_one(shop: PlannedShop) -> None:
    shop.sql(
        CUSTOMERS,
        "create table clubs (customer integer, club varchar(9), since integer, primary key (customer, club), "
        "foreign key (customer) references customers(id))",
        THREE,
        "insert into clubs values (1, 'chess', 2020), (2, 'chess', 2021), (2, 'go', 2022)",
    )

    assert "allows one row for `customer` and `club`" in why(shop, merge())
    assert "differ in `since`" in why(shop, merge())
    shop.sql("update clubs set since = 2020 where club = 'chess'")
    before = shop.tables("customers", "clubs")
    back = shop.carry_out(shop.plan(merge()))
    assert shop.tables("clubs")["clubs"] == [(1, "chess", 2020), (1, "go", 2022)]
    shop.apply(back)
    assert shop.tables("customers", "clubs") == before


@EVERYWHERE
def test_declared_links_follow_too_whatever_the_type_of_their_column(shop: PlannedShop) -> None:
    shop.links = (
        LinkEntry(table="notes", columns=("about",), to=()),
        LinkEntry(table="tasks", columns=("who",), to=()),
    )
    shop.sql(
        CUSTOMERS,
        "create table notes (id integer primary key, about varchar(20))",
        "create table tasks (id integer primary key, who bigint)",
        THREE,
        "insert into notes values (1, '2'), (2, '3'), (3, 'nobody')",
        "insert into tasks values (1, 2), (2, 1), (3, 99)",
    )

    assert "refer to its surplus" in why(shop, delete())
    shop.carry_out(shop.plan(delete("repoint")))

    assert shop.tables("notes", "tasks") == {
        "notes": [(1, "1"), (2, "3"), (3, "nobody")],
        "tasks": [(1, 1), (2, 1), (3, 99)],
    }


@EVERYWHERE
def test_rows_that_cannot_be_told_apart_keep_the_record_they_refer_to(shop: PlannedShop) -> None:
    shop.sql(
        CUSTOMERS,
        "create table visits (customer integer, foreign key (customer) references customers(id))",
        THREE,
    )

    assert "visits" in why(shop, delete("repoint"))


@EVERYWHERE
def test_records_that_refer_to_each_other_go_children_first(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE, "update customers set email = 'ann@x'", "update customers set parent = 2 where id = 3")
    before = shop.tables("customers")

    plan = shop.plan(delete())
    back = shop.carry_out(plan)

    assert [change.row.key[0][1][1] for change in plan.changes if change.after is None and change.row.key[0][1]] == [
        "3",
        "2",
    ]
    shop.apply(back)
    assert shop.tables("customers") == before


def test_records_that_refer_to_each_other_in_a_circle_are_left_to_a_person(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE, "update customers set email = 'ann@x'")
    shop.sql("update customers set parent = 2 where id = 3", "update customers set parent = 3 where id = 2")

    assert "in a circle" in why(shop, delete())


def test_a_record_that_is_marked_already_is_done_with_only_when_nobody_refers_to_it_any_more(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, ORDERS.format(""), THREE, "update customers set seen = 0 where id = 2")
    shop.sql("insert into orders values (10, 2, 'x')")
    rule = rule_of({"action": "set", "values": {"seen": "0"}, "references": "repoint"}, key=["email"])

    plan = shop.plan(rule)
    shop.carry_out(plan)

    assert plan.surplus == ('[["n","2"]]',)
    assert shop.tables("orders")["orders"] == [(10, 1, "x")]
    with pytest.raises(NothingToDo):
        shop.plan(rule)


def test_a_keeper_is_never_made_to_refer_to_itself_nor_deleted_with_what_it_refers_to(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE, "update customers set parent = 2 where id = 1")

    assert "would refer to itself" in why(shop, delete("repoint"))
    assert "A remaining record refers to a surplus record" in why(shop, delete("capture"))
    assert "1 row of `customers` refers to its surplus" in why(shop, delete())


def test_records_that_nobody_found_are_never_deleted_with_the_surplus(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE, "update customers set parent = 2 where id = 3")

    assert "would delete records outside the finding" in why(shop, delete("capture"))
    shop.carry_out(shop.plan(delete("repoint")))
    assert shop.tables("customers")["customers"] == [(1, "ann@x", 1, None), (3, "bob@x", 3, 1)]


def test_a_value_that_others_refer_to_a_record_by_is_not_changed(shop: PlannedShop) -> None:
    shop.sql(
        "create table customers (id integer primary key, email text, number text unique)",
        "create table cards (id integer primary key, number text references customers(number) on update cascade)",
        "insert into customers values (1, 'ann@x', 'A'), (2, 'ann@x', 'B')",
        "insert into cards values (1, 'B')",
    )
    rule = rule_of({"action": "set", "values": {"number": None}}, key=["email"])

    assert "Rows of `cards` refer to a row of `customers` by `number`" in why(shop, rule)
    shop.sql("delete from cards")
    assert shop.plan(rule).rows == 1


def test_a_value_that_moves_to_the_keeper_with_a_declared_link_takes_the_link_along(shop: PlannedShop) -> None:
    """A foreign key would have to let it go first, and nobody can hold it meanwhile."""
    shop.sql(
        "create table customers (id integer primary key, email text, number text unique)",
        "create table cards (id integer primary key, number text references customers(number))",
        "create table letters (id integer primary key, number text)",
        "insert into customers values (1, 'ann@x', null), (2, 'ann@x', 'B')",
        "insert into cards values (1, 'B')",
        "insert into letters values (1, 'B')",
    )
    shop.links = (LinkEntry(table="letters", columns=("number",), to=("number",)),)
    clean = {"action": "merge", "fields": {"number": "longest"}, "surplus": "delete", "references": "repoint"}

    assert "which would move to the keeper: neither change can go first" in why(shop, rule_of(clean, key=["email"]))
    shop.sql("delete from cards")
    shop.carry_out(shop.plan(rule_of(clean, key=["email"])))

    assert shop.tables("customers", "letters") == {"customers": [(1, "ann@x", "B")], "letters": [(1, "B")]}


def test_a_link_to_what_two_records_share_still_leads_to_the_keeper(shop: PlannedShop) -> None:
    shop.links = (LinkEntry(table="letters", columns=("to_",), to=("email",)),)
    shop.sql(CUSTOMERS, "create table letters (id integer primary key, to_ text)", THREE)
    shop.sql("insert into letters values (1, 'ann@x')")

    assert shop.plan(delete()).rows == 1


@pytest.mark.parametrize("action", ["set default"])
def test_what_the_database_would_do_by_a_rule_of_its_own_is_refused(shop: PlannedShop, action: str) -> None:
    shop.sql(CUSTOMERS, ORDERS.format(f" on delete {action}"), THREE, "insert into orders values (10, 2, 'x')")

    assert "ON DELETE SET DEFAULT" in why(shop, delete("capture"))


def test_a_group_with_more_rows_than_a_plan_may_have_is_a_persons(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, ORDERS.format(""), THREE)
    shop.sql(*(f"insert into orders values ({n}, 2, 'r{n}')" for n in range(10, 20)))
    clean = {"action": "delete", "references": "repoint"}

    assert "More than 5 rows would change" in why(shop, rule_of(clean | {"plan_rows": 5}, key=["email"]))
    assert shop.plan(rule_of(clean | {"plan_rows": 11}, key=["email"])).rows == 11
    with pytest.raises(AsksPerson, match="More than 10 rows would change"):
        shop.plan(rule_of(clean | {"plan_rows": 10}, key=["email"]))


# Records that changed, and decisions


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("delete from customers where id = 2", "1 of its 2 records no longer exists"),
        ("update customers set email = 'eve@x' where id = 2", "no longer all alike"),
        ("update customers set email = null where id = 1", "no longer all alike"),
        ("update customers set seen = null where id = 2", "no longer all alike"),
        ("update customers set seen = 0 where id = 2", "a different one would be kept now"),
        ("update customers set seen = 9 where id = 1", "a different one would be kept now"),
        ("update customers set parent = 3 where id = 2", None),
    ],
)
def test_records_that_changed_since_they_were_found_are_not_cleaned(
    shop: PlannedShop, statement: str, says: str | None
) -> None:
    shop.sql(CUSTOMERS, THREE)
    rule = delete(where="seen >= 0", keep=[{"first": "seen"}])
    [finding] = shop.findings(rule)

    shop.sql(statement)

    if says is None:
        assert planning.make(finding, shop.tools(rule)).rows == 1
    else:
        with pytest.raises(Stale, match=says):
            planning.make(finding, shop.tools(rule))


@pytest.mark.parametrize("span", ["gap", "window"])
def test_the_distance_between_records_is_measured_anew(shop: PlannedShop, span: str) -> None:
    shop.sql(CUSTOMERS, THREE)
    rule = delete(**{span: {"seen": "2"}})
    [finding] = shop.findings(rule)
    assert planning.make(finding, shop.tools(rule)).surplus == ('[["n","2"]]',)

    shop.sql("update customers set seen = 4 where id = 2")

    with pytest.raises(Stale):
        planning.make(finding, shop.tools(rule))


def test_only_records_that_no_decision_covers_are_surplus(shop: PlannedShop) -> None:
    """The keeper and what was decided before stand guard."""
    shop.sql(CUSTOMERS, THREE, "update customers set email = 'ann@x'")
    rule = delete()
    [finding] = shop.findings(rule)

    result = planning.make(settled(finding, (1,), (2,)), shop.tools(rule))

    assert result.surplus == ('[["n","3"]]',)
    assert sorted(change.row.key[0][1] for change in result.changes if change.is_guard) == [("i", "1"), ("i", "2")]  # type: ignore[type-var]
    with pytest.raises(NothingToDo):
        planning.make(settled(finding, (2,), (3,)), shop.tools(rule))


def test_records_that_were_handled_are_no_surplus_in_whatever_finding_that_was(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE, "update customers set email = 'ann@x'")
    rule = delete()
    [finding] = shop.findings(rule)
    assert finding.keeper is not None
    handled = replace(finding, handled_pairs=((finding.keeper, finding.surplus[0]),))
    joined = as_chosen(replace(finding, handled_pairs=((finding.surplus[0], finding.surplus[1]),)))

    result = planning.make(handled, shop.tools(rule))
    without_the_first = planning.make(joined, shop.tools(rule))

    assert result.surplus == ('[["n","3"]]',)
    assert (without_the_first.keeper, without_the_first.surplus) == ('[["n","2"]]', ('[["n","1"]]',))


def test_nothing_is_done_in_favour_of_one_of_two_records_that_were_judged_to_be_different(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE, "update customers set email = 'ann@x'")
    [finding] = shop.findings(delete())

    with pytest.raises(AsksPerson, match="are not the same, or undid"):
        planning.make(replace(finding, settled_pairs=((finding.surplus[0], finding.surplus[1]),)), shop.tools(delete()))
    with pytest.raises(AsksPerson):
        shop.plan(delete(**{"except": [["1", "3"]]}))


def test_a_rule_that_no_longer_fits_its_table_plans_nothing_and_says_why(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE)
    rule = rule_of({"action": "set", "values": {"state": "x"}}, key=["email"])

    assert why(shop, rule).startswith("Rule `twins` cleans nothing: `values` names `state`")


def test_a_view_is_never_cleaned(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE, "create view people as select * from customers")
    shop.table = "people"

    with pytest.raises(TargetRefused, match="is a view"):
        shop.plan(delete())


# What a plan says of itself


def test_amounts_of_a_plan_that_cancel_each_other_count_all_the_same(shop: PlannedShop) -> None:
    shop.config = {"money": Money(amount="seen", currency="EUR")}
    shop.sql(CUSTOMERS, "insert into customers values (1, 'ann@x', 1, null), (2, 'ann@x', 5000, null)")
    shop.sql("insert into customers values (3, 'ann@x', -5000, null)")

    plan = shop.plan(delete(keep=[{"first": "id"}]))

    assert plan.money == {"EUR": "10000"}


def test_a_plan_says_its_money_its_triggers_and_what_limits_its_undo(shop: PlannedShop) -> None:
    shop.config = {"money": Money(amount="seen", currency="EUR")}
    shop.sql(CUSTOMERS, ORDERS.format(""), THREE, "insert into orders values (10, 2, 'x')")
    shop.sql(
        "create trigger told after delete on customers begin select 1; end",
        "create trigger kept after update on customers begin select 1; end",
        "create trigger elsewhere after insert on orders begin select 1; end",
    )

    plan = shop.plan(merge())

    assert plan.money == {"EUR": "2"}
    assert plan.triggers == ("customers.kept", "customers.told", "orders.elsewhere")
    assert plan.reversible == "window"
    assert [item for item in plan.why if "number" in item] == [
        "A new row of `customers` may be given the number that a deleted one had in `id`."
    ]
    assert any("Another row of `orders` may take its unique `customer` and `ref`" in reason for reason in plan.why)
    assert any("Triggers of `orders` (`elsewhere`) fire again on undo" in item for item in plan.why)


def test_a_mark_can_be_taken_back_without_conditions(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE)

    plan = shop.plan(rule_of({"action": "set", "values": {"seen": "0"}}, key=["email"]))

    assert (plan.reversible, plan.why, plan.triggers) == ("yes", (), ())


def test_an_effect_is_known_by_what_is_done_neither_by_the_rule_nor_by_what_was_there(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE)
    clean = {"action": "set", "values": {"parent": "3", "seen": "7"}}
    [before] = shop.plan(rule_of(clean, key=["email"])).operations

    shop.sql("update customers set seen = 8 where id = 2")
    [after] = shop.plan(
        rule_of({**clean, "values": {"seen": "7", "parent": "3"}}, key=["email"], where="id > 0")
    ).operations
    [operation] = shop.plan(
        rule_of({"action": "set", "values": {"seen": "9", "parent": "3"}}, key=["email"])
    ).operations

    assert after == before
    assert before.effect == operation.effect == "set:parent,seen"
    assert before.fingerprint != operation.fingerprint


def test_a_new_life_of_a_record_is_said_by_who_remembers_the_old_one(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE)
    rule = delete()
    tools = replace(shop.tools(rule), generations=lambda pairs: dict.fromkeys(pairs, 2))

    [finding] = shop.findings(rule)

    assert [operation.generation for operation in planning.make(finding, tools).operations] == [2]


@pytest.mark.slow
def test_the_same_rows_give_the_same_plan_in_another_process(tmp_path: Path, shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, ORDERS.format(""), THREE, "insert into orders values (10, 2, 'x'), (11, 2, 'y')")
    script = (
        "import sys; from pathlib import Path; from tests.reconcile.cleaning.planned_shop import PlannedShop, rule_of; "
        f"shop = PlannedShop('{LOCAL}', Path({str(tmp_path)!r})); "
        "print(shop.plan(rule_of({'action': 'delete', 'references': 'repoint'}, key=['email'])).plan_hash)"
    )
    environ = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "4711"}

    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environ, check=True)

    assert told.stdout.strip() == shop.plan(delete("repoint")).plan_hash


# Many at once


class Counted:
    """The same target, counting what it is asked."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self.asked: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        self.asked.append(len(ids))
        rows_read: list[Row | None] = self._target.rows(dataset, key, ids)
        return rows_read

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        self.asked.append(len(to))
        rows: list[Row] = self._target.referring(reference, to)
        return rows


@pytest.mark.slow
def test_many_findings_are_planned_with_few_questions_a_few_at_a_time_and_in_their_order(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, ORDERS.format(""))
    with shop.engine.begin() as connection:
        for n in range(1200):
            connection.exec_driver_sql("insert into customers values (?, ?, 1, null)", (n, f"c{n // 2}@x"))
            connection.exec_driver_sql("insert into orders values (?, ?, ?)", (n, n, f"r{n}"))
    rule = delete("repoint")
    findings = shop.findings(rule)
    target = Counted(shop.source)
    tools = replace(shop.tools(rule), target=target)
    handed_out: list[str] = []

    def each() -> Iterator[Any]:
        for finding in findings:
            handed_out.append(finding.id)
            yield finding

    answers = planning.make_many(each(), tools)
    first = next(answers)

    assert len(handed_out) == planning.CHUNK + 1
    rest = list(answers)
    assert [name for name, _ in (first, *rest)] == [item.id for item in findings]
    assert all(isinstance(item, Plan) for _, item in (first, *rest))
    assert len(target.asked) < 12


def test_rows_refer_as_their_database_compares_not_as_texts_look(shop: PlannedShop) -> None:
    """A collation finds ANN equal to ann; that row follows as well."""
    shop.id = ("code",)
    shop.sql(
        "create table customers (code text collate nocase primary key, email text)",
        "create table cards (id integer primary key, code text references customers(code))",
        "insert into customers values ('ann', 'x'), ('bob', 'x'), ('eve', 'y'), ('zoe', 'y')",
        "insert into cards values (1, 'BOB'), (2, 'bob'), (3, 'zoe'), (4, 'EVE')",
    )

    for plan in shop.plans(delete("repoint")):
        assert isinstance(plan, Plan)
        shop.carry_out(plan)

    assert shop.tables("cards")["cards"] == [(1, "ann"), (2, "ann"), (3, "eve"), (4, "EVE")]


def test_a_row_that_cannot_be_named_keeps_only_the_record_it_refers_to(shop: PlannedShop) -> None:
    """SQLite allows nulls in a primary key."""
    shop.sql(
        CUSTOMERS,
        "create table cards (number text primary key, customer integer references customers(id))",
        "insert into customers values (1, 'a', 1, null), (2, 'a', 1, null), (3, 'b', 1, null), (4, 'b', 1, null)",
        "insert into cards values (null, 2), ('x', 4)",
    )

    first, second = shop.plans(delete("repoint"))

    assert isinstance(first, NotPlannable)
    assert isinstance(second, Plan)


def test_ids_of_any_number_type_find_their_rows(shop: PlannedShop) -> None:
    shop.sql(
        "create table customers (id decimal(9,2) primary key, email text)",
        "insert into customers values (1, 'ann@x'), (2.5, 'ann@x')",
    )

    assert shop.plan(delete()).surplus == (json.dumps([["n", "2.5"]], separators=(",", ":")),)


def test_a_finding_of_other_records_than_the_target_has_is_stale(shop: PlannedShop) -> None:
    shop.sql(CUSTOMERS, THREE)
    rule = delete()
    tools = shop.tools(rule)
    [finding] = shop.findings(rule)
    strange = replace(finding, members=(replace(finding.members[0], id=(77,)), *finding.members[1:]))

    with pytest.raises(Stale):
        planning.make(strange, tools)
