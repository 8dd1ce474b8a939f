"""How many entries of the audit log an effect takes, and the story that a person reads in them."""

from pathlib import Path

import pytest

from reconcile.cleaning import cleaning
from reconcile.cleaning.execution import executor
from reconcile.views import findings
from tests.support.world import ALONE, DELETE, TWO, World

AUTOMATIC = ["plan.proposed", "operation.sent", "operation.succeeded"]
"""The entries of an effect when nobody is asked, and of its undo."""


def _events(world: World) -> list[str]:
    """The events of findings, plans and operations in the log."""
    return [event for event in world.events() if event.startswith(("finding.", "plan.", "operation.", "approval."))]


def _story(world: World) -> list[tuple[str, str]]:
    """The history of the only finding as people read it: who, and what."""
    with world.open() as application:
        history = findings.detail(application, world.only(), show=False).history
    return [(event.actor, event.words) for event in history]


@pytest.mark.parametrize("batch", [1, 250])
def test_an_effect_that_asks_nobody_is_one_entry_for_each_transition(
    tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "BATCH", batch)
    world = World.at(tmp_path / "w", *TWO, (4, "b@x", "Bo"), twins=ALONE)
    world.run()
    before = len(_events(world))

    world.run()

    assert sorted(_events(world)[before:]) == sorted(2 * AUTOMATIC)
    assert world.shop.ids() == [1, 3]
    assert world.intact()


@pytest.mark.slow
def test_many_plans_that_ask_nobody_are_approved_in_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "CHUNK", 2)
    rows = [(number, f"{number // 2}@x", "Ann") for number in range(10)]
    world = World.at(tmp_path / "w", *rows, twins=ALONE)
    world.run()
    before = len(_events(world))

    world.run()

    assert sorted(_events(world)[before:]) == sorted([*(5 * AUTOMATIC), "plan.approved", "plan.approved"])
    assert world.shop.ids() == [0, 2, 4, 6, 8]
    assert world.intact()


@pytest.mark.slow
def test_an_undo_is_one_entry_for_each_transition_and_its_finding_tells_the_whole_story(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    world.run()
    before = len(_events(world))

    world.undo(world.only())

    assert _events(world)[before:] == AUTOMATIC
    assert _story(world) == [
        *(("reconcile", words) for words in ("found", "proposed, no approval needed")),
        *(("reconcile", words) for words in ("cleaning started", "cleaned")),
        ("anna", "undo requested"),
        *(("reconcile", words) for words in ("undo started", "undone")),
    ]
    assert world.intact()


def test_an_approved_effect_tells_who_approved_it(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    before = len(_events(world))

    world.approve(world.only())

    assert _events(world)[before:] == ["approval.approved", "plan.approved", *AUTOMATIC[1:]]
    assert _story(world) == [
        *(("reconcile", words) for words in ("found", "awaiting approval")),
        *(("anna", words) for words in ("approved", "approved for cleaning")),
        *(("reconcile", words) for words in ("cleaning started", "cleaned")),
    ]


@pytest.mark.slow
def test_an_undo_that_was_not_done_tells_of_no_second_cleaning(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    world.run()
    trigger = "CREATE TRIGGER no BEFORE INSERT ON customers BEGIN SELECT RAISE(ABORT, 'no'); END"
    world.shop.sql(trigger)

    assert world.undo(world.only()).failed

    [*_, started, ended, failed] = [words for _, words in _story(world)]
    assert (started, ended, failed) == ("undo started", "undo not executed", "undo failed")
    assert world.findings() == {world.only(): "cleaned"}
    assert world.intact()
