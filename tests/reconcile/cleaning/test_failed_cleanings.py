"""A cleaning that failed, or could not be planned: its message, its commands, and the exit code of its run."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from notifications.base import CleaningNotice
from notifications.wording.headline import headline
from tests.support.cli import Project
from tests.support.notifications import night
from tests.support.world import TWO, World

REFUSES = "CREATE TRIGGER kept BEFORE DELETE ON customers BEGIN SELECT RAISE(ABORT, 'no row may go'); END"
DELETE = {"clean": {"action": "delete", "triggers": "known"}}


def place(folder: Path, **rule: object) -> tuple[World, Project]:
    world = World.at(folder / "w", *TWO, twins=DELETE | rule)
    world.write()
    return world, Project(world.folder)


@pytest.fixture
def failed(tmp_path: Path) -> tuple[World, Project]:
    """A cleaning that the database forbids twice, so that a person is asked."""
    world, reconcile = place(tmp_path)
    world.shop.sql(REFUSES)
    for _ in range(2):
        reconcile("run", "-q")
        reconcile("approve", world.only())
    assert world.findings() == {world.only(): "failed"}
    return world, reconcile


def test_a_message_asks_to_approve_exactly_the_plan_that_waits(tmp_path: Path) -> None:
    world, reconcile = place(tmp_path)
    reconcile("run", "-q")

    command = re.search(r"reconcile approve (F-\w+) --plan-hash ([0-9a-f]{12})", world.messages())

    assert command is not None, world.messages()
    assert (command[1], command[2]) == (world.only(), reconcile("plan", "--json").json[0]["plan_hash"][:12])
    assert command[0] in reconcile("show", world.only()).err
    assert command[0] in reconcile("notify", "preview", "team").out


def test_an_approval_from_a_message_is_refused_once_the_rule_does_something_else(tmp_path: Path) -> None:
    world, reconcile = place(tmp_path)
    reconcile("run", "-q")
    command = re.search(r"reconcile (approve F-\w+ --plan-hash \w+)", world.messages())
    assert command is not None
    world.rules["twins"] = {"clean": {"action": "set", "values": {"name": "gone"}}}
    world.write()

    answer = reconcile(*command[1].split())

    assert answer.code == 4, answer.said
    assert world.shop.rows() == list(TWO)


@pytest.mark.slow
def test_a_plan_of_a_finding_whose_cleaning_failed_names_the_command_that_tries_it_again(
    failed: tuple[World, Project],
) -> None:
    world, reconcile = failed

    shown, finding = reconcile("plan", "--finding", world.only()).out, reconcile("show", world.only()).out

    assert "The next run plans" not in finding
    assert f"Its cleaning failed, and no run retries it: `reconcile retry {world.only()}` does" in finding
    assert "the next run" not in shown
    assert f"its cleaning failed, and no run retries it: reconcile retry {world.only()}" in shown


@pytest.mark.slow
def test_the_message_of_a_failure_carries_its_reason_and_the_command(failed: tuple[World, Project]) -> None:
    world, reconcile = failed
    reconcile("run", "-q")

    told = world.messages().rpartition("── notice")[2]

    assert "a constraint of the database does not allow it" in told, told
    assert f"reconcile retry {world.only()}" in told
    assert "✅" not in told


@pytest.mark.slow
def test_a_run_whose_cleaning_failed_ends_with_4(tmp_path: Path) -> None:
    world, reconcile = place(tmp_path, approval="none")
    reconcile("run", "-q")
    world.shop.sql(REFUSES)
    reconcile("run", "-q")

    assert reconcile("run", "-q").code == 4
    assert world.findings() == {world.only(): "failed"}


def test_a_run_that_could_not_plan_a_cleaning_ends_with_4(tmp_path: Path) -> None:
    world, reconcile = place(tmp_path)
    world.shop.sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id))")
    world.shop.sql("INSERT INTO orders VALUES (1, 2)")
    world.rules["twins"] = {"clean": {"action": "delete", "references": "refuse"}}
    world.write()

    answer = reconcile("run", "-q")

    assert "1 not planned" in answer.out, answer.said
    assert answer.code == 4


@pytest.mark.parametrize("what", ["failed", "quarantined", "not_undone", "waiting", "stale"])
def test_no_message_about_a_cleaning_that_was_not_done_begins_with_a_tick(what: str) -> None:
    cleaning = replace(CleaningNotice("twins", "high", "customers"), **{what: 1})

    shown = headline(replace(night(), cleaning=(cleaning,)))

    assert "✅" not in shown
    assert "Nothing new" not in shown
