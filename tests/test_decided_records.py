"""A record that a person decided about is cleaned only after another person's word, wherever it is by then."""

from __future__ import annotations

from pathlib import Path

import pytest
from world_support import ALONE, CUSTOMERS, TWO, World

SIX = [(n, "a@x", f"Anna {n}") for n in range(1, 7)] + [(n, f"{n}@x", "Bob") for n in range(100, 120)]


@pytest.mark.slow
@pytest.mark.parametrize("second", ["approve", "handle", "dismiss"])
@pytest.mark.parametrize("first", ["handle", "dismiss", "undo"])
def test_a_later_decision_about_its_former_finding_does_not_free_a_record(
    first: str, second: str, tmp_path: Path
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    name = world.only()
    if first == "undo":
        assert world.cleaning(world.run()) == {"cleaned": 1}
    assert world.command(first, name).code == 0
    world.shop.sql("UPDATE customers SET email = 'z@x' WHERE id = 2")
    world.add((4, "a@x", "Annie"))
    assert world.cleaning(world.run()) == {"proposed": 1}
    assert world.command(second, name).code == 0

    world.add((0, "z@x", "Zed"))

    assert world.cleaning(world.run()) == {"proposed": 1}
    assert 2 in world.shop.ids()
    assert world.intact()


@pytest.mark.slow
@pytest.mark.parametrize("changes", [["6", "5"], ["6, 5", "4"]])
def test_a_rejected_plan_is_remembered_however_often_the_group_changes(changes: list[str], tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *SIX, twins=ALONE | {"limits": {"records": 1000, "share": "100%", "group": 5}})
    for _ in range(2):
        world.run()
    name = world.only()
    assert world.findings() == {name: "awaiting_approval"}
    assert world.command("reject", name, "--note", "six branches").code == 0

    for gone in changes:
        world.shop.sql(f"DELETE FROM customers WHERE id IN ({gone})")
        assert world.cleaning(world.run()) == {"proposed": 1}

    assert world.approve(name).ok
    assert world.shop.ids()[:2] == [1, 100]
    world.add((9, "a@x", "Annie"))
    assert world.cleaning(world.run()) == {"cleaned": 1}  # the word of the person who approved ends it


@pytest.mark.slow
@pytest.mark.parametrize("meanwhile", ["handle", "dismiss"])
def test_an_undo_covers_its_record_although_its_finding_was_decided_meanwhile(meanwhile: str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    assert world.cleaning(world.run()) == {"cleaned": 1}
    name = world.only()
    world.rules["twins"] = ALONE | {"approval": "required"}
    world.add((4, "a@x", "Annie"))
    world.run()
    assert world.command(meanwhile, name).code == 0
    assert world.command("undo", name).code == 0
    world.run()
    world.rules["twins"] = ALONE
    world.run()

    world.shop.sql("UPDATE customers SET email = 'z@x' WHERE id = 2")
    world.add((0, "z@x", "Zed"))
    for _ in range(2):
        world.run()

    assert 2 in world.shop.ids()
    assert world.intact()


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["handle", "dismiss"])
def test_a_decision_holds_after_an_edit_that_gives_every_record_another_name(decision: str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    assert world.command(decision, world.only()).code == 0

    world.config = {"datasets": {"customers": CUSTOMERS | {"columns": {"id": "text"}}}}
    for _ in range(3):
        world.run()

    assert world.shop.ids() == [1, 2, 3]


@pytest.mark.slow
def test_after_a_finding_was_reopened_nothing_of_it_is_asked(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    name = world.only()
    assert world.command("handle", name).code == 0
    assert world.command("reopen", name).code == 0

    assert world.cleaning(world.run()) == {"cleaned": 1}


@pytest.mark.slow
def test_reopening_is_about_the_records_that_are_shown(tmp_path: Path) -> None:
    """Two handled findings were joined by a record that left again: the one that stays lists the part of the other."""
    rows = [(1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Rob")]
    world = World.at(tmp_path / "w", *rows, twins=ALONE | {"key": {"any": [["email"], ["name"]]}, "max_share": "100%"})
    world.run()
    for name in world.findings():
        assert world.command("handle", name).code == 0
    world.add((5, "a@x", "Bob"))
    world.run()
    world.shop.sql("DELETE FROM customers WHERE id = 5")
    world.run()
    [listed] = [name for name, state in world.findings().items() if state == "handled"]
    shown = world.command("show", listed, "--json").json
    assert (shown["keeper"], shown["surplus"]) == ([1], [[2]])

    assert world.command("reopen", listed).code == 0

    assert world.cleaning(world.run()) == {"proposed": 1}
    assert world.approve(listed).ok
    assert [world.cleaning(world.run()) for _ in range(2)] == [{}, {}]
    assert world.shop.ids() == [1, 3, 4]
    assert world.intact()
