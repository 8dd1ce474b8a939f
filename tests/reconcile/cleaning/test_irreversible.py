"""A row that violates a rule of its own table can be deleted, but never inserted again: its plan says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.findings.states import PlanState
from reconcile.store.plans import StoredPlan
from tests.support.shop import SERVERS, Shop, shop_on
from tests.support.world import World

pytestmark = pytest.mark.slow

ALONE = {"approval": "none"}
CAPTURE = {"clean": {"action": "delete", "references": "capture"}}
MERGE = {"clean": {"action": "merge", "surplus": "delete"}}
ROWS = "(1, 'a@x', 'Anna', 1), (2, 'a@x', 'Ann', {}), (3, 'b@x', 'Bob', 1)"
TABLE = "id integer primary key, email varchar(60), name varchar(60), town integer"
UNCHECKED = {
    "sqlite": ("pragma foreign_keys = off", "pragma ignore_check_constraints = on"),
    "mysql": ("set foreign_key_checks = 0, check_constraint_checks = 0, sql_mode = ''",),
    "postgresql": (),
}


@pytest.fixture(params=SERVERS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    server = None if request.param == "sqlite" else str(request.getfixturevalue(request.param))
    yield from shop_on(server, tmp_path)


def load(shop: Shop, rule: str, surplus: object, *more: str) -> None:
    """Customers whose surplus violates a rule of the table, as a bulk load leaves them."""
    inline = "" if shop.dialect == "postgresql" else f", {rule}"
    later = [f"alter table customers add {rule} not valid"] if shop.dialect == "postgresql" else []
    shop.sql("create table towns (id integer primary key)", "insert into towns values (1)")
    shop.sql(
        *UNCHECKED[shop.dialect],
        f"create table customers ({TABLE}{inline})",
        f"insert into customers values {ROWS.format(surplus)}",
        *later,
        *more,
    )


def world_of(shop: Shop, **rule: Any) -> World:
    return World(shop.folder, {"twins": rule}, url=shop.url)


def planned(world: World) -> StoredPlan:
    """The only plan, after two runs: the first one only reports."""
    world.run()
    world.run()
    [plan] = world.plans()
    return plan


FOREIGN_KEY = "constraint in_town foreign key (town) references towns (id)"
CHECK = "constraint few_towns check (town < 5)"
UNRELATED = "alter table customers add constraint other check (id <> 3) not valid"


@pytest.mark.parametrize(("rule", "named"), [(FOREIGN_KEY, "`in_town`|`town`"), (CHECK, "`few_towns`")])
def test_a_plan_says_that_its_surplus_could_not_be_inserted_again_and_asks(shop: Shop, rule: str, named: str) -> None:
    load(shop, rule, 77)
    world = world_of(shop, **CAPTURE, **ALONE)

    plan = planned(world)

    assert (plan.state, plan.reversible, plan.policy) == (PlanState.AWAITING, "no", "required")
    [sentence, *_] = plan.content.why
    assert sentence.startswith("A row of `customers` already violates ")
    assert any(name in sentence for name in named.split("|"))
    assert sentence.endswith(", so the database would refuse to restore it.")
    shown = " ".join(world.command("plan", "--finding", plan.finding, "--show").out.split())
    assert "undo: none" in shown
    assert sentence in shown
    world.approve(plan.finding)
    assert shop.ids() == [1, 3]
    assert world.undo(plan.finding).undone == ()
    assert shop.ids() == [1, 3]


@pytest.mark.parametrize("rule", [FOREIGN_KEY, CHECK])
def test_rows_that_fulfil_the_rule_can_be_restored(shop: Shop, rule: str) -> None:
    load(shop, rule, "null")
    world = world_of(shop, **CAPTURE, **ALONE)
    plan = planned(world)

    undone = world.undo(plan.finding)

    assert "violate" not in " ".join(plan.content.why)
    assert plan.reversible != "no"
    assert undone.undone == (plan.finding,)
    assert shop.ids() == [1, 2, 3]


def test_a_violation_outside_the_plan_changes_no_plan(shop: Shop) -> None:
    is_late = shop.dialect == "postgresql"
    load(shop, FOREIGN_KEY, 1, UNRELATED if is_late else "update customers set town = 88 where id = 3")

    plan = planned(world_of(shop, **CAPTURE, **ALONE))

    assert plan.state is PlanState.SUCCEEDED
    assert plan.reversible != "no"


def test_a_merge_that_deletes_such_a_surplus_cannot_be_undone(shop: Shop) -> None:
    load(shop, CHECK, 77)

    plan = planned(world_of(shop, **MERGE, **ALONE))

    assert (plan.state, plan.reversible) == (PlanState.AWAITING, "no")


def test_a_row_that_moves_to_another_table_could_not_come_back(shop: Shop) -> None:
    load(shop, FOREIGN_KEY, 77)
    shop.sql(f"create table removed ({TABLE})")

    plan = planned(world_of(shop, clean={"action": "move", "to": "removed"}, **ALONE))

    assert (plan.state, plan.reversible) == (PlanState.AWAITING, "no")


@pytest.mark.parametrize(("values", "reversible"), [({"town": 1}, "no"), ({"name": "twin"}, "yes")])
def test_a_value_that_violates_a_rule_could_not_be_set_back(
    shop: Shop, values: dict[str, Any], reversible: str
) -> None:
    load(shop, FOREIGN_KEY, 77)
    rule = {"clean": {"action": "set", "values": values}, "where": "name <> 'twin'"}

    plan = planned(world_of(shop, **rule, **ALONE))

    assert plan.reversible == reversible


def test_a_row_that_a_cascade_deletes_counts_too(shop: Shop) -> None:
    load(shop, FOREIGN_KEY, 1)
    notes = "create table notes (id integer primary key, customer integer references customers (id) on delete cascade"
    if shop.dialect == "mysql":
        notes = notes.replace("integer references", "integer, foreign key (customer) references")
    is_late = shop.dialect == "postgresql"
    check = "constraint short check (id < 5)"
    shop.sql(
        *UNCHECKED[shop.dialect],
        f"{notes})" if is_late else f"{notes}, {check})",
        "insert into notes values (9, 2)",
        *([f"alter table notes add {check} not valid"] if is_late else []),
    )

    plan = planned(world_of(shop, **CAPTURE, **ALONE))

    assert (plan.state, plan.reversible) == (PlanState.AWAITING, "no")
    assert "A row of `notes` already violates `short`" in " ".join(plan.content.why)


def test_a_row_that_came_to_violate_a_rule_after_the_approval_stays(shop: Shop) -> None:
    """The parent vanishes while nothing is checked, between the plan and its execution."""
    load(shop, FOREIGN_KEY, 2, "insert into towns values (2)")
    world = world_of(shop, **CAPTURE)
    plan = planned(world)
    vanish = ("alter table towns disable trigger all",) if shop.dialect == "postgresql" else UNCHECKED[shop.dialect]
    shop.sql(*vanish, "delete from towns where id = 2")

    world.approve(plan.finding)

    assert shop.ids() == [1, 2, 3]
    assert world.findings() == {plan.finding: "stale"}
    world.run()
    again = next(each for each in world.plans() if each.state is PlanState.AWAITING)
    assert again.reversible == "no"


@pytest.mark.server
def test_a_value_that_an_enum_of_mariadb_refused_cannot_be_written_again(mariadb_url: str, tmp_path: Path) -> None:
    shop = Shop(mariadb_url, tmp_path)
    shop.sql(
        "set sql_mode = ''",
        "create table customers (id integer primary key, email varchar(60), name varchar(60), grade enum('p', 'q'))",
        "insert into customers values (1, 'a@x', 'Anna', 'p'), (2, 'a@x', 'Ann', 'zz'), (3, 'b@x', 'Bob', 'q')",
    )

    plan = planned(world_of(shop, **CAPTURE, **ALONE))

    assert (plan.state, plan.reversible) == (PlanState.AWAITING, "no")
    assert "violates `grade`" in plan.content.why[0]
