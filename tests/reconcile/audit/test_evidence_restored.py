"""A cleaning that was undone since the backup ends as undone once the backup is restored, and not as cleaned."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconcile.audit import proof
from reconcile.findings.states import PlanState
from reconcile.upkeep import backup
from tests.support.world import World

ROWS = ((1, "a@x", "Anna"), (2, "a@x", "Ann"))


def saved(world: World) -> None:
    with world.open() as application:
        backup.make(application.store, world.folder / "backup.db")


def restored(world: World) -> None:
    assert world.command("restore", str(world.folder / "backup.db"), "--yes").code == 0
    assert world.command("target", "adopt", "shop").code == 0


def approve(world: World) -> None:
    world.approve(world.only())


def undo(world: World) -> None:
    world.undo(world.only())


def run(world: World) -> None:
    world.run()


def reopen(world: World) -> None:
    assert world.command("reopen", world.only()).code == 0


CASES: dict[str, tuple[list[Callable[[World], object]], str]] = {
    "before its plan was carried out": ([run, saved, approve, undo, restored, approve], "undone"),
    "after it was cleaned": ([run, approve, saved, undo, restored], "undone"),
    "nothing undone": ([run, saved, approve, restored, approve], "cleaned"),
    "cleaned again after the undo": (
        [run, approve, saved, undo, reopen, run, approve, restored],
        "cleaned",
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_a_restored_state_says_of_a_cleaning_what_became_of_it(name: str, tmp_path: Path) -> None:
    steps, state = CASES[name]
    world = World.at(tmp_path / "w", *ROWS, twins={"clean": {"action": "delete"}})

    for step in steps:
        step(world)

    assert set(world.findings().values()) == {state}
    assert world.shop.ids() == ([1, 2] if state == "undone" else [1])
    with world.open() as application:
        assert proof.prove(application.store, {}).problem is None


@pytest.mark.slow
def test_a_plan_that_was_undone_is_compensated_and_nothing_is_left_to_undo(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={"clean": {"action": "delete"}})
    for step in (run, saved, approve, undo, restored, approve):
        step(world)

    assert [plan.state for plan in world.plans()] == [PlanState.COMPENSATED]
    assert "is already undone" in world.command("undo", world.only()).out
    world.run()
    assert world.shop.ids() == [1, 2]
