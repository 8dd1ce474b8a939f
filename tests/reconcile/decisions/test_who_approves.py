"""A name on the command line proves nothing: the operating system's user is kept beside it."""

import getpass
import socket
from pathlib import Path

import pytest

from reconcile.decisions.refusals import NotYours
from tests.support.cli import Project
from tests.support.world import DELETE, TWO, World

pytestmark = pytest.mark.slow

SYSTEM = f"{getpass.getuser()}@{socket.gethostname()}"
TWINS = ((1, "a@x", "Anna"), (2, "a@x", "Ann"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.at(tmp_path / "w", *TWINS, twins={"clean": {"action": "delete"}, "approval": "two_person"})


def test_two_names_from_one_user_of_one_host_are_told_apart_from_two_people(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run()
    finding, shop = world.only(), Project(world.folder)
    monkeypatch.setenv("RECONCILE_ACTOR", "anna")
    assert "proves nothing" not in shop("approve", finding).out
    monkeypatch.setenv("RECONCILE_ACTOR", "bob")

    answer = shop("approve", finding)

    assert answer.code == 0
    assert f"All approvals came from {SYSTEM}, under different names" in answer.out
    assert world.shop.ids() == [1]
    history = shop("show", finding).out
    assert f"anna  approved\n                      from {SYSTEM}\n" in history
    assert f"bob  approved\n                      from {SYSTEM}\n" in history
    assert shop("audit", "--event", "approval").out.count(f"system={SYSTEM}") == 2
    assert {item["system"] for item in shop("show", finding, "--json").json["history"] if "system" in item} == {SYSTEM}
    assert shop("audit", "verify").code == 0


def test_two_people_at_two_hosts_are_not_remarked(world: World) -> None:
    world.run()
    for actor, system in (("anna", "anna@till-1"), ("bob", "bob@till-2")):
        with world.open() as application:
            answer = application.decisions(actor, system).approve(world.only())

    assert "proves nothing" not in answer.sentence
    assert world.shop.ids() == [1]


def test_a_rejection_says_from_where_it_came_too(world: World) -> None:
    world.run()
    shop = Project(world.folder)

    assert shop("reject", world.only()).code == 0

    assert f"system={SYSTEM}" in shop("audit", "--event", "approval.rejected").out


@pytest.mark.parametrize("again", ["Anna", "ANNA", " anna ", "\uff21nna"])
def test_a_name_that_is_written_otherwise_is_no_second_person(again: str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"approval": "two_person"})
    world.run()
    world.approve(world.only(), actor="anna")

    with pytest.raises(NotYours):
        world.approve(world.only(), actor=again)

    assert world.shop.ids() == [1, 2, 3]
    assert world.approve(world.only(), actor="bob").ok
