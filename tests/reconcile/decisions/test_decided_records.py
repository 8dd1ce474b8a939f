"""A record that a person decided about is cleaned only after another person's word, wherever it is by then."""

from pathlib import Path

import pytest

from reconcile.people import tokens
from tests.support.web import Browser, cheap_hashes, site_of
from tests.support.world import ALONE, CUSTOMERS, TWO, World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]

SIX = [(n, "a@x", f"Anna {n}") for n in range(1, 7)] + [(n, f"{n}@x", "Bob") for n in range(100, 120)]


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


@pytest.mark.parametrize("decision", ["handle", "dismiss"])
def test_a_decision_holds_after_an_edit_that_gives_every_record_another_name(decision: str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    assert world.command(decision, world.only()).code == 0

    world.config = {"datasets": {"customers": CUSTOMERS | {"columns": {"id": "text"}}}}
    for _ in range(3):
        world.run()

    assert world.shop.ids() == [1, 2, 3]


def test_after_a_finding_was_reopened_nothing_of_it_is_asked(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    name = world.only()
    assert world.command("handle", name).code == 0
    assert world.command("reopen", name).code == 0

    assert world.cleaning(world.run()) == {"cleaned": 1}


def test_reopening_is_about_the_records_that_are_shown(tmp_path: Path) -> None:
    """Two handled findings were joined by a record that left again: each is handled by itself."""
    rows = [(1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Rob")]
    world = World.at(tmp_path / "w", *rows, twins=ALONE | {"key": {"any": [["email"], ["name"]]}, "max_share": "100%"})
    world.run()
    for name in world.findings():
        assert world.command("handle", name).code == 0
    world.add((5, "a@x", "Bob"))
    world.run()
    world.shop.sql("DELETE FROM customers WHERE id = 5")
    world.run()
    handled = [name for name, state in world.findings().items() if state == "handled"]
    shown = {world.command("show", name, "--json").json["keeper"][0]: name for name in handled}
    assert sorted(shown) == [1, 3]

    assert world.command("reopen", shown[1]).code == 0

    assert world.cleaning(world.run()) == {"cleaned": 1}
    assert world.findings()[shown[3]] == "handled"
    assert [world.cleaning(world.run()) for _ in range(2)] == [{}, {}]
    assert world.shop.ids() == [1, 3, 4]
    assert world.intact()


@pytest.mark.parametrize("door", ["command", "console", "api"])
@pytest.mark.parametrize(("decision", "state"), [("handle", "awaiting_approval"), ("dismiss", "open")])
def test_every_door_takes_back_the_decisions_about_records_of_an_open_finding(
    decision: str, state: str, door: str, tmp_path: Path
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    name = world.only()
    assert world.command(decision, name).code == 0
    world.add((4, "a@x", "Annie"))
    world.run()
    assert world.findings() == {name: state}

    with site_of(world) as site:
        with site.store.begin() as tx:
            token = tokens.add(tx, "of-bob", "bob", by="ada")
        browser, page = site.browser("bob"), f"/findings/{name}"
        program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})
        button = f'formaction="{page}/reopen"'
        assert button in browser.get(page).body.decode()
        assert button not in site.browser("vic").get(page).body.decode()
        if door == "command":
            assert world.command("reopen", name).code == 0
        elif door == "console":
            assert browser.send(f"{page}/reopen", page, version=browser.get(page).field("version")).status == 303
        else:
            headers = {"Content-Type": "application/json"}
            assert program.ask("POST", f"/api/v1{page}/reopen", "{}", **headers).json["changed"]
        assert button not in browser.get(page).body.decode()

    assert world.findings() == {name: "open"}
    assert world.cleaning(world.run()) == {"cleaned": 1}
    assert world.shop.ids() == [1, 3]
    assert world.intact()
