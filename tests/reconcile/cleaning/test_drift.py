"""`ignore_drift`: what may change between the plan and its execution never makes an old value win over a newer one."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.execution.execute import How, TransactionLimits, perform
from reconcile.cleaning.execution.resolve import ask
from tests.reconcile.cleaning.customer_shop import CustomerShop, job
from tests.support.shop import LOCAL, SERVERS, address
from tests.support.world import TWO, World

TABLE = (
    "id integer primary key, email varchar(60), phone varchar(60), seen integer, note varchar(90), status varchar(9)"
)


def say(world: World, clean: str, keep: str = "[{first: id}]", more: str = "", dataset: str = "") -> None:
    """Configure a rule that asks people about what it does."""
    world.command.write(f"""\
sources: {{shop: {{type: sql, url: "{world.url}"}}}}
datasets:
  customers: {{source: shop, table: customers, id: id{dataset}}}
rules:
  twins:
    kind: duplicates
    dataset: customers
    key: [email]
    keep: {keep}
    limits: {{share: 100%}}
    clean: {clean}
    {more}
""")


def rows(world: World, table: str = "customers") -> list[tuple[Any, ...]]:
    return world.shop.rows(table, "id, phone, seen, note")


def proposed(world: World) -> str:
    """The only finding, whose plan waits; its id."""
    assert world.command("run").code == 0
    [finding] = world.command("findings", "--json").json
    assert finding["state"] == "awaiting_approval", finding
    return str(finding["id"])


def state(world: World) -> str:
    [finding] = world.command("findings", "--state", "all", "--json").json
    return str(finding["state"])


@pytest.fixture(params=SERVERS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Two customers who are one."""
    world = World(tmp_path, url=address(request))
    world.shop.sql(
        f"create table customers ({TABLE})",
        f"create table attic ({TABLE})",
        "insert into customers values (1, 'a@x', '11', 10, 'one', 'x'), (2, 'a@x', '2222', 20, 'two', 'x')",
    )
    yield world
    assert world.command.audit_is_intact()


READING = {
    "a field of a merge": ("phone", "{action: merge, fields: {phone: longest}, surplus: delete"),
    "what a merge chooses by": ("seen", "{action: merge, fields: {phone: {last: seen}}, surplus: delete"),
    "a linked field": (
        "seen",
        "{action: merge, fields: {phone: {last: id}}, linked: [[phone, seen]], surplus: delete",
    ),
    "what a merge marks with": ("phone", '{action: merge, surplus: {set: {note: "{{ keeper.phone }}"}}'),
    "a copied cell": ("phone", '{action: set, values: {note: "{{ record.phone }}"}'),
    "a part of a text": ("phone", '{action: set, values: {note: "was {{ keeper.phone }} and {{ keeper.id }}"}'),
}


@pytest.mark.parametrize(("column", "clean"), READING.values(), ids=READING)
@pytest.mark.slow
def test_a_value_that_was_computed_from_an_ignored_column_is_never_written_once_it_changed(
    column: str, clean: str, world: World
) -> None:
    say(world, f"{clean}, ignore_drift: {column}}}")
    finding = proposed(world)
    world.shop.sql(
        f"update customers set {column} = 333 where id = 2", f"update customers set {column} = 4444 where id = 1"
    )
    before = rows(world)

    refused = world.command("approve", finding)

    assert (refused.code != 0, rows(world)) == (True, before)
    assert f"changed since it was planned ({column})" in refused.said
    assert state(world) == "stale"
    assert world.command("approve", proposed(world)).code == 0
    assert state(world) == "cleaned"
    assert world.command("undo", finding).code == 0
    assert rows(world) == before


def test_what_is_moved_takes_its_newest_values_with_it_and_the_undo_brings_them_back(world: World) -> None:
    say(world, "{action: move, to: attic, ignore_drift: [phone, seen]}")
    finding = proposed(world)
    world.shop.sql("update customers set phone = '333333', seen = null where id = 2")
    before = rows(world)

    assert world.command("approve", finding).code == 0
    assert (rows(world), rows(world, "attic")) == ([before[0]], [(2, "333333", None, "two")])
    assert world.command("undo", finding).code == 0
    assert (rows(world), rows(world, "attic")) == (before, [])


def test_a_column_that_nothing_is_computed_from_may_change_and_is_undone_as_it_was(world: World) -> None:
    clean = "{action: merge, fields: {phone: longest}, surplus: delete, ignore_drift: [seen, note]}"
    say(world, clean)
    finding = proposed(world)
    world.shop.sql("update customers set seen = seen + 1, note = 'new'")
    before = rows(world)

    assert world.command("approve", finding).code == 0
    assert rows(world) == [(1, "2222", 11, "new")]
    assert world.command("undo", finding).code == 0
    assert rows(world) == before


def test_a_record_that_only_gives_a_value_is_compared_too(world: World) -> None:
    """It is marked already, so nothing of it changes; but the keeper takes what it holds."""
    world.shop.sql("update customers set status = 'merged' where id = 2")
    say(world, "{action: merge, fields: {phone: longest}, surplus: {set: {status: merged}}}")
    finding = proposed(world)
    world.shop.sql("update customers set phone = '9' where id = 2")

    assert world.command("approve", finding).code != 0
    assert rows(world) == [(1, "11", 10, "one"), (2, "9", 20, "two")]


def test_an_amount_that_limits_count_does_not_drift(world: World) -> None:
    clean = "{action: delete, ignore_drift: seen}"
    say(world, clean, dataset=", money: {amount: seen, currency: EUR}")
    finding = proposed(world)
    world.shop.sql("update customers set seen = 50000 where id = 2")

    assert world.command("approve", finding).code != 0
    assert len(rows(world)) == 2


@pytest.mark.slow
def test_the_most_complete_record_may_get_other_values_and_neither_more_nor_fewer(world: World) -> None:
    world.shop.sql("update customers set note = null, seen = null where id = 2")
    say(world, "{action: delete, ignore_drift: [phone, note, seen]}", keep="[most_complete, {first: id}]")
    finding = proposed(world)
    world.shop.sql(
        "update customers set note = 'now', seen = 7 where id = 2", "update customers set note = null where id = 1"
    )
    assert world.command("approve", finding).code != 0
    assert len(rows(world)) == 2

    world.shop.sql(
        "update customers set note = null, seen = null where id = 2", "update customers set note = 'a' where id = 1"
    )
    finding = proposed(world)
    world.shop.sql("update customers set phone = '7'", "update customers set note = 'b' where id = 1")
    assert world.command("approve", finding).code == 0
    assert rows(world) == [(1, "7", 10, "b")]


@pytest.mark.parametrize(
    ("keep", "dataset"),
    [
        ("[{last: seen}]", ""),
        ("[{last: id}, {prefer: {seen: [1, 2]}}]", ""),
        ("[{max: more}]", ', columns: {half: {is: "seen + 1"}, more: {is: "half + 1"}}'),
    ],
)
def test_keep_by_an_ignored_column_is_refused_with_its_place(keep: str, dataset: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    say(world, "{action: delete, ignore_drift: [note, seen]}", keep=keep, dataset=dataset)

    for command in ("check", "run"):
        answer = world.command(command)
        assert answer.code == 2
        assert "reconcile.yaml:11:" in answer.said
        assert "`ignore_drift` names `seen`, which `keep` uses to choose the record that stays" in answer.said


def test_what_a_group_as_a_whole_is_judged_by_does_not_drift(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.shop.sql(f"create table customers ({TABLE})")
    say(world, "{action: delete, ignore_drift: seen}", more="having: max(seen) > 5")

    answer = world.command("check")

    assert answer.code == 2
    assert "`ignore_drift` names `seen`, which rule `twins` uses: it matches records" in answer.said


@pytest.mark.parametrize("receipts", [True, False])
@pytest.mark.parametrize("drifted", [True, False])
def test_what_a_column_that_may_drift_held_before_is_never_made_up(
    receipts: bool, drifted: bool, tmp_path: Path
) -> None:
    """It would be written back by an undo: of a plan whose answer was lost, only a receipt says what it was."""
    shop = CustomerShop.at(LOCAL, tmp_path)
    shop.add(1, 2)
    assert shop.target.remembers()
    item = job(replace(shop.deletion(1, 2), ignore_drift=("touched",)), "a", receipts=receipts)
    if drifted:
        shop.sql("UPDATE customers SET touched = 'today' WHERE id = 2")
    [done] = perform(shop.target, [item], TransactionLimits(lambda: 20.0))

    answer = ask(shop.target, item, 20.0, None)

    assert answer.how is How.DONE_BEFORE
    assert answer.images == (done.images if receipts and not drifted else None)
    shop.close()


@pytest.mark.parametrize(("column", "where"), [("email", None), ("name", "name <> 'gone'")])
def test_what_makes_records_twins_may_not_drift(column: str, where: str | None, tmp_path: Path) -> None:
    """Else the surplus goes though the keeper is somebody else's by now, and nobody is left of them."""
    dataset = {"source": "shop", "table": "customers", "id": "id"} | ({"where": where} if where else {})
    rule = {"clean": {"action": "delete", "ignore_drift": [column]}}
    world = World.at(tmp_path / "w", *TWO, config={"datasets": {"customers": dataset}}, twins=rule)
    world.run()
    world.shop.sql(f"UPDATE customers SET {column} = 'gone' WHERE id = 1")

    with world.decisions() as decisions, pytest.raises(NotPlannable, match="matches records; remove it"):
        decisions.approve(world.only())

    assert world.shop.ids() == [1, 2, 3]


DRIFTING = {"clean": {"action": "delete", "ignore_drift": ["name"]}}


@pytest.mark.slow
def test_an_approval_stands_though_a_column_that_may_drift_changed_meanwhile(tmp_path: Path) -> None:
    """Else two people would never approve what changes more often than they look."""
    world = World.at(tmp_path / "w", *TWO, twins=DRIFTING | {"approval": "two_person"})
    world.run()
    world.approve(world.only(), actor="anna")
    world.shop.sql("UPDATE customers SET name = 'seen' WHERE id < 3")
    world.run()

    assert world.approve(world.only(), actor="bob").ok
    assert world.shop.rows() == [(1, "a@x", "seen"), (3, "b@x", "Bob")]
    world.undo(world.only())
    assert world.shop.rows()[1] == (2, "a@x", "seen")


def test_a_plan_that_was_turned_down_does_not_come_back_when_a_column_changes_that_may_drift(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DRIFTING)
    world.run()
    with world.decisions() as decisions:
        decisions.reject(world.only())
    world.shop.sql("UPDATE customers SET name = 'seen' WHERE id = 1")

    world.run()

    assert world.findings() == {world.only(): "open"}
