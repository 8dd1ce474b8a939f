"""Limits as people meet them: what a plan counts, what a first run says, and who may go beyond."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconcile.coordination import pauses
from reconcile.decisions.refusals import AnotherWentBeyond
from reconcile.findings.states import PlanState
from tests.support.cli import Project
from tests.support.findings import FindingsOffice, group
from tests.support.world import ALONE, CUSTOMERS, DELETE, TWO, World


@pytest.mark.slow
def test_a_limit_for_groups_that_was_lowered_holds_for_what_was_let_go_before(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, (4, "a@x", "Anne"), twins=ALONE)
    world.run()
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="month end", by="anna")
    world.run()
    assert [plan.state for plan in world.plans()] == [PlanState.APPROVED]
    world.rules["twins"] = ALONE | {"limits": {"records": 1000, "share": "100%", "group": 2}}
    with world.open() as application, application.store.begin() as tx:
        pauses.resume(tx, pauses.of_rule("twins"), "anna")

    world.run()
    world.run()

    assert world.shop.ids() == [1, 2, 3, 4]
    assert [plan.state for plan in world.plans()] == [PlanState.SKIPPED, PlanState.AWAITING]
    assert world.approve(world.only()).ok


def test_of_two_people_each_says_that_it_goes_beyond_limits(tmp_path: Path) -> None:
    limits = {"records": 1, "share": "100%", "group": 5}
    rule = DELETE | {"approval": "two_person", "limits": limits}
    world = World.at(tmp_path / "w", *TWO, (4, "a@x", "Anne"), twins=rule)
    world.run()
    world.approve(world.only(), "anna", over_limit=True)

    with pytest.raises(AnotherWentBeyond, match=f"too: `reconcile approve {world.only()} --over-limit`"):
        world.approve(world.only(), "ben")
    assert world.shop.ids() == [1, 2, 3, 4]

    assert world.approve(world.only(), "ben", over_limit=True).state is PlanState.SUCCEEDED


def test_what_is_at_risk_is_exact_however_large_and_in_whatever_order(tmp_path: Path) -> None:
    """A decimal may have 38 digits; a sum of them kept 28."""
    office = FindingsOffice.new("sqlite:///state.db", tmp_path)
    amounts = ("10000000000000000000000000000.01", "0.02", "-10000000000000000000000000000.00")  # a size each
    groups = [group(f"A-{n}", 2 * n, 2 * n + 1, money=amount) for n, amount in enumerate(amounts)]

    outcomes = [office.record(*groups, tell=False), office.record(*reversed(groups), tell=False)]

    assert [outcome.money for outcome in outcomes] == [{"EUR": Decimal("20000000000000000000000000000.03")}] * 2


def test_what_is_less_than_nothing_makes_no_room_in_a_limit(tmp_path: Path) -> None:
    """Refunds that were entered twice are as much money as charges that were."""
    rows = ((1, "a@x", "900"), (2, "a@x", "900"), (3, "b@x", "-900"), (4, "b@x", "-900"))
    money = {"amount": "name", "currency": "EUR"}
    world = World.at(tmp_path / "w", config={"datasets": {"customers": CUSTOMERS | {"money": money}}}, twins=ALONE)
    world.shop.sql(
        "DROP TABLE customers", "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name INTEGER)"
    )
    world.add(*rows)
    world.rules["twins"] = ALONE | {"limits": {"share": "100%", "money": {"EUR": 1000}}}
    world.run()

    report = world.run()

    assert (world.shop.ids(), world.cleaning(report), report.refused) == ([1, 2, 3, 4], {"proposed": 2}, True)


def world_at(folder: Path, *rows: tuple[Any, ...], **rules: Any) -> tuple[World, Project]:
    world = World.at(folder / "w", *(rows or TWO), **rules)
    world.write()
    return world, Project(world.folder)


def test_a_plan_counts_rows_once_and_says_which_the_limits_count(tmp_path: Path) -> None:
    """The keeper takes a value in: its row changes, and limits leave it out."""
    merge = {"clean": {"action": "merge", "fields": {"name": "longest"}, "surplus": "delete"}}
    _, reconcile = world_at(tmp_path, (1, "a@x", "An"), (2, "a@x", "Anna"), twins=merge)
    reconcile("run", "-q")

    shown = reconcile("plan").out

    assert "twins: 1 plan, 1 surplus record, 1 row changes, and 1 keeper gets values from the surplus\n" in shown
    assert "limits (the keeper's own row is not counted): 1 of 1,000 rows" in shown


def test_a_plan_without_changes_of_a_keeper_counts_rows_alone(tmp_path: Path) -> None:
    _, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")

    assert "twins: 1 plan, 1 surplus record, 1 row changes\n" in reconcile("plan").out


FOUR = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Bo"))


@pytest.mark.slow
def test_a_plan_shows_what_other_plans_used_of_its_limits_in_the_words_of_a_refusal(tmp_path: Path) -> None:
    limited = DELETE | {"limits": {"records": 1, "share": "100%", "group": 5}}
    world, reconcile = world_at(tmp_path, *FOUR, twins=limited)
    reconcile("run", "-q")
    first, second = sorted(world.findings())
    before = reconcile("plan").out
    reconcile("approve", first)

    after = reconcile("plan").out
    refused = reconcile("approve", second)

    used = "2 rows would be changed by rule `twins` in 24 hours"
    over = "over the limit in rows: every plan needs approval; plans beyond it also need --over-limit."
    assert f"{used}; the limit is 1 (`records`)\n" in before
    assert f"{used}, 1 of them by other plans; the limit is 1 (`records`)\n" in after
    assert (
        "2 rows would be changed by all rules in this target in 24 hours, 1 of them by other plans; the limit" in after
    )
    assert over in before
    assert over in after
    assert (refused.code, f"{used}; the limit is 1 (`records`)" in refused.said) == (4, True)


def test_a_limit_that_is_lowered_holds_for_plans_that_were_counted_under_a_higher_one(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, *FOUR, twins=DELETE)
    reconcile("run", "-q")
    world.rules["twins"] = DELETE | {"limits": {"records": 1, "share": "100%", "group": 5}}
    world.write()

    shown = reconcile("plan").out

    assert "2 rows would be changed by rule `twins` in 24 hours; the limit is 1 (`records`)\n" in shown
    assert "over the limit in rows" in shown
    first, second = sorted(world.findings())
    assert reconcile("approve", first).code == 0
    assert reconcile("approve", second).code == 4
    assert reconcile("approve", second, "--over-limit").code == 0


def test_a_limit_that_is_lowered_stops_plans_that_were_approved_for_later(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, *FOUR, twins=DELETE)
    reconcile("run", "-q")
    reconcile("approve", *world.findings(), "--later")
    world.rules["twins"] = DELETE | {"limits": {"records": 1, "share": "100%", "group": 5}}
    world.write()

    answer = reconcile("run")

    assert answer.code == 4
    assert "2 rows would be changed by rule `twins` in 24 hours; the limit is 1 (`records`)" in answer.said
    assert world.shop.ids() == [1, 2, 3, 4]


def test_a_plan_shows_the_money_of_the_last_24_hours_too(tmp_path: Path) -> None:
    rows = ((1, "a@x", "20"), (2, "a@x", "20"), (3, "b@x", "30"), (4, "b@x", "30"))
    money = {"amount": "name", "currency": "EUR"}
    limited = DELETE | {"limits": {"share": "100%", "money": {"EUR": 100}}}
    world, reconcile = world_at(tmp_path, *rows, twins=limited)
    world.config["datasets"] = {"customers": CUSTOMERS | {"money": money, "columns": {"name": "decimal"}}}
    world.write()
    reconcile("run", "-q")
    reconcile("approve", *sorted(world.findings())[:1])

    shown = reconcile("plan").out

    sentence = (
        r"50\.00 EUR would be changed by {} in 24 hours, [23]0\.00 EUR of that by other plans; the limit is 100 EUR"
    )
    assert re.search(sentence.format("rule `twins`"), shown)
    assert re.search(sentence.format("all rules in this target"), shown)


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_a_first_run_that_asks_nobody_says_how_many_the_next_cleans_at_most(tmp_path: Path, how: tuple[str]) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE | {"approval": "none"})

    answer = reconcile("run", "-q", *how)

    assert "twins: The next run cleans at most 1 finding without approval; this one" in answer.out
    assert len(world.shop.rows()) == 3


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_a_first_run_beyond_its_limits_says_that_the_next_asks_people(tmp_path: Path, how: tuple[str]) -> None:
    rows = [(n, f"{n // 2}@x", "A") for n in range(10)]
    tight = {"limits": {"records": 3, "share": "100%", "group": 100}}
    _, reconcile = world_at(tmp_path, *rows, twins=DELETE | tight | {"approval": "none"})

    answer = reconcile("run", "-q", *how)

    assert (
        "twins: The next run asks for approval of 5 findings, because they exceed the limit in rows; this one"
        in answer.out
    )


def test_the_run_after_a_first_one_beyond_its_limits_asks_people_about_all(tmp_path: Path) -> None:
    rows = [(n, f"{n // 2}@x", "A") for n in range(10)]
    tight = {"limits": {"records": 3, "share": "100%", "group": 100}}
    world, reconcile = world_at(tmp_path, *rows, twins=DELETE | tight | {"approval": "none"})
    reconcile("run", "-q")

    answer = reconcile("run", "-q")

    assert answer.code == 4
    assert "twins: 5 proposed" in answer.out
    assert len(world.shop.rows()) == 10
