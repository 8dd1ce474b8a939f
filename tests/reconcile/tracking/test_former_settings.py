"""Findings of former settings: another id, another dataset, a rule that is gone."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reconcile.cleaning.actions.base import Stale
from reconcile.decisions import decide
from tests.support.cli import Project
from tests.support.world import ALONE, CUSTOMERS, DELETE, TWO, World


@pytest.mark.parametrize("ids", [["id", "name"], "name"])
def test_a_finding_from_before_the_id_was_another_one_is_stale(ids: list[str] | str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    world.config["datasets"] = {"customers": {"source": "shop", "table": "customers", "id": ids}}

    with world.decisions() as decisions, pytest.raises(Stale, match="2 of its 2 records no longer exist"):
        decisions.approve(world.only())


def in_quarantine(folder: Path, **config: Any) -> World:
    """One finding with an unknown outcome, so no run updates it; `team` was notified."""
    world = World.at(folder, *TWO, config=config, twins=DELETE)
    world.run()
    world.approve(world.only(), later=True)
    with closing(sqlite3.connect(folder / "reconcile.db")) as connection:
        connection.execute("UPDATE plans SET content = replace(content, 'Ann', 'Eve')")
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


@pytest.mark.slow
@pytest.mark.parametrize(("ids", "rule"), [(["id", "email"], DELETE), ([], {})])
def test_a_finding_from_before_the_id_was_another_one_is_told(ids: list[str], rule: Any, tmp_path: Path) -> None:
    world = in_quarantine(tmp_path / "w")
    anew = {"was": {"id": ids}} if ids else {}
    world.config["datasets"] = {"customers": CUSTOMERS | {"id": ids} | anew}
    world.rules["twins"] = rule

    told = tell_others(world)

    assert "quarantine" in told
    assert "a@x" in told


@pytest.mark.slow
def test_a_finding_from_before_its_rule_looked_elsewhere_is_told_without_what_was_personal_there(
    tmp_path: Path,
) -> None:
    world = in_quarantine(tmp_path / "w", datasets={"customers": CUSTOMERS | {"pii": ["email"]}})
    world.shop.sql("CREATE TABLE firms (id INTEGER PRIMARY KEY, email VARCHAR(60))")
    world.config["datasets"]["firms"] = CUSTOMERS | {"table": "firms"}
    world.rules["twins"] = DELETE | {"dataset": "firms"}

    told = tell_others(world)

    assert "quarantine" in told
    assert "a@x" not in told


def test_a_rule_that_is_gone_since_the_last_run_keeps_no_message_from_being_shown(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE, others={"key": ["name"]})
    world.run()
    del world.rules["others"]
    world.write()

    shown = Project(world.folder)("notify", "preview", "team")

    assert (shown.code, "twins" in shown.out) == (0, True), shown.said


@pytest.mark.slow
@pytest.mark.parametrize("ids", [(1, 1, 2), (1, None, 2)])
def test_records_of_one_group_that_share_their_id_are_found_and_told_and_never_cleaned(
    ids: tuple[int | None, ...], tmp_path: Path
) -> None:
    """Those that share an id count once; those without one take no part."""
    world = _without_a_key(tmp_path, ids)

    reports = [world.run() for _ in range(3)]

    assert [report.checked[0].findings.new for report in reports] == [1, 0, 0]
    assert [report.checked[0].findings.known for report in reports] == [0, 1, 1]
    [finding] = reports[-1].findings
    assert (finding.records, finding.keeper and finding.keeper.id) == (2, (ids[0],))
    assert world.only() in world.messages()
    assert "Nothing is cleaned: the id of" in (reports[-1].rules[0].cleaning.stopped or "")
    assert len(world.shop.rows()) == len(ids)
    with world.open() as application:
        decide.dismiss(application.store, world.only(), actor="anna")
    assert world.run().checked[0].findings.settled == 1


def _without_a_key(folder: Path, ids: Sequence[int | None]) -> World:
    """Customers with these ids and one e-mail."""
    world = World.at(folder / "w", twins=ALONE)
    world.shop.sql("DROP TABLE customers", "CREATE TABLE customers (id INTEGER, email VARCHAR(60), name VARCHAR(60))")
    world.add(*((one_id, "a@x", f"Ann {n}") for n, one_id in enumerate(ids)))
    return world


def test_records_that_are_one_by_their_id_are_no_group_and_are_told(tmp_path: Path) -> None:
    world = _without_a_key(tmp_path, (1, 1))

    report = world.run()

    assert report.findings == []
    assert [entry.reason for entry in report.rules[0].skipped] == ["not unique"]
    assert len(world.shop.rows()) == 2
