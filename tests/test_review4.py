"""What could go wrong between the parts, a fourth look: messages about what was found under a former configuration."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from clean_support import World
from findings_support import World as Findings
from findings_support import group

DELETE = {"clean": {"action": "delete"}}
ALONE = DELETE | {"approval": "none"}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))
CUSTOMERS: dict[str, Any] = {"source": "shop", "table": "customers", "id": "id"}


def in_quarantine(folder: Path, **config: Any) -> World:
    """One finding of which nobody knows what happened, so no run brings it up to date; it was told to `team`."""
    world = World.at(folder, *TWO, config=config, twins=DELETE)
    world.run()
    world.approve(world.only(), later=True)
    with closing(sqlite3.connect(folder / "reconcile.db")) as connection:
        connection.execute("UPDATE bundles SET content = replace(content, 'Ann', 'Eve')")
        connection.commit()
    world.run()
    assert world.findings() == {world.only(): "quarantined"}
    return world


def tell_others(world: World) -> str:
    """What a channel is told by the next run that never heard of any finding."""
    world.config["channels"] = {
        "team": {"type": "file", "path": "messages.txt"},
        "others": {"type": "file", "path": "others.txt"},
    }
    world.config["jobs"] = {"nightly": {"rules": "all", "notify": ["team", "others"]}}
    assert world.run().status == "succeeded"
    return (world.folder / "others.txt").read_text()


# Messages


@pytest.mark.parametrize(("ids", "rule"), [(["id", "email"], DELETE), ([], {})])
def test_a_finding_from_before_the_id_was_another_one_is_told(ids: list[str], rule: Any, tmp_path: Path) -> None:
    world = in_quarantine(tmp_path / "w")
    world.config["datasets"] = {"customers": CUSTOMERS | {"id": ids}}
    world.rules["twins"] = rule

    told = tell_others(world)

    assert "quarantine" in told
    assert "a@x" in told


def test_a_finding_from_before_its_rule_looked_elsewhere_is_told_without_what_was_personal_there(
    tmp_path: Path,
) -> None:
    world = in_quarantine(tmp_path / "w", datasets={"customers": CUSTOMERS | {"pii": ["email"]}})
    world.do("CREATE TABLE firms (id INTEGER PRIMARY KEY, email VARCHAR(60))")
    world.config["datasets"]["firms"] = CUSTOMERS | {"table": "firms"}
    world.rules["twins"] = DELETE | {"dataset": "firms"}

    told = tell_others(world)

    assert "quarantine" in told
    assert "a@x" not in told


# Money


def test_what_is_at_risk_is_exact_however_large_and_in_whatever_order(tmp_path: Path) -> None:
    """A decimal may have 38 digits; a sum of them kept 28."""
    world = Findings.at("sqlite:///state.db", tmp_path)
    amounts = ("10000000000000000000000000000.01", "0.02", "-10000000000000000000000000000.00")
    groups = [group(f"A-{n}", 2 * n, 2 * n + 1, money=amount) for n, amount in enumerate(amounts)]

    outcomes = [world.run(*groups, tell=False), world.run(*reversed(groups), tell=False)]

    assert [one.money for one in outcomes] == [{"EUR": Decimal("0.03")}] * 2


def test_what_is_less_than_nothing_makes_no_room_in_a_limit(tmp_path: Path) -> None:
    """Refunds that were entered twice are as much money as charges that were."""
    rows = ((1, "a@x", "900"), (2, "a@x", "900"), (3, "b@x", "-900"), (4, "b@x", "-900"))
    money = {"amount": "name", "currency": "EUR"}
    world = World.at(tmp_path / "w", config={"datasets": {"customers": CUSTOMERS | {"money": money}}}, twins=ALONE)
    world.do("DROP TABLE customers", "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name INTEGER)")
    world.add(*rows)
    world.rules["twins"] = ALONE | {"limits": {"share": "100%", "money": {"EUR": 1000}}}
    world.run()

    report = world.run()

    assert (world.ids(), world.cleaning(report), report.refused) == ([1, 2, 3, 4], {"proposed": 2}, True)
