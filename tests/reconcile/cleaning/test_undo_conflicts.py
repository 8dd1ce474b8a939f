"""Undo meets other rows: what came since stays, and what waits is done in order or told."""

from pathlib import Path

import pytest

from reconcile.cleaning.undo import Conflicts
from reconcile.coordination import pauses
from tests.support.world import ALONE, MARK, TWO, World

pytestmark = pytest.mark.slow

ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id){})"


LINES = "CREATE TABLE lines (id INTEGER PRIMARY KEY, of INTEGER REFERENCES orders (id) ON DELETE CASCADE)"


SOMEBODY = "INSERT INTO customers VALUES (2, 'zoe@x', 'Zoe')"


@pytest.mark.parametrize(
    ("references", "links"), [("repoint", ""), ("capture", " ON DELETE CASCADE"), ("capture", " ON DELETE SET NULL")]
)
def test_what_referred_to_a_record_never_goes_to_the_stranger_that_has_its_id_since(
    references: str, links: str, tmp_path: Path
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins={"clean": {"action": "delete", "references": references}})
    world.shop.sql(
        ORDERS.format(links), LINES, "INSERT INTO orders VALUES (10, 2)", "INSERT INTO lines VALUES (100, 10)"
    )
    world.run()
    world.approve(world.only())
    left = world.shop.rows("orders"), world.shop.rows("lines")
    world.shop.sql(SOMEBODY)

    with pytest.raises(Conflicts, match="belongs to a row that cannot be restored"):
        world.undo(world.only())
    world.undo(world.only(), partial=True)

    assert (world.shop.rows("orders"), world.shop.rows("lines")) == left
    assert (2, "zoe@x", "Zoe") in world.shop.rows()


MOVE = {"clean": {"action": "move", "to": "kept"}}


KEPT = "CREATE TABLE kept (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))"


def moved(folder: Path) -> World:
    world = World.at(folder, *TWO, twins=MOVE)
    world.shop.sql(KEPT)
    world.run()
    world.approve(world.only())
    assert (world.shop.ids(), world.shop.rows("kept")) == ([1, 3], [(2, "a@x", "Ann")])
    return world


def test_a_record_that_cannot_come_back_stays_where_it_was_moved_to(tmp_path: Path) -> None:
    """Else it would be nowhere at all."""
    world = moved(tmp_path / "w")
    world.shop.sql(SOMEBODY)

    world.undo(world.only(), partial=True)

    assert world.shop.rows("kept") == [(2, "a@x", "Ann")]


NOTES = "CREATE TABLE notes (id INTEGER PRIMARY KEY, of INTEGER REFERENCES kept (id) ON DELETE CASCADE)"


NOTE = "INSERT INTO notes VALUES (1, 2)"


def test_an_undo_deletes_no_row_that_somebody_refers_to_by_now(tmp_path: Path) -> None:
    """A cascade would take rows that nobody planned."""
    world = moved(tmp_path / "w")
    world.shop.sql(NOTES, NOTE)

    with pytest.raises(Conflicts, match=r"rows of `notes` now refer to it"):
        world.undo(world.only())
    world.undo(world.only(), partial=True)

    assert (world.shop.ids(), world.shop.rows("kept"), world.shop.rows("notes")) == (
        [1, 2, 3],
        [(2, "a@x", "Ann")],
        [(1, 2)],
    )


def test_who_comes_to_refer_while_an_undo_waits_stops_it(tmp_path: Path) -> None:
    world = moved(tmp_path / "w")
    world.shop.sql(NOTES)
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="a look", by="anna")
    [(_, why)] = world.undo(world.only()).failed
    assert "is paused" in why
    world.shop.sql(NOTE)

    with world.open() as application:
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_rule("twins"), by="anna")
        application.clean_due()

    assert (world.shop.rows("kept"), world.shop.rows("notes")) == ([(2, "a@x", "Ann")], [(1, 2)])
    assert world.findings() == {world.only(): "cleaned"}


def test_what_is_to_be_taken_back_is_not_forgotten_because_another_plan_is_turned_down(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins={"clean": {"action": "set", "values": {"name": "twin"}}})
    world.run()
    world.approve(world.only())
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="a look", by="anna")
    world.undo(world.only())
    world.add((9, "a@x", "Anne"))
    world.run()

    with world.decisions() as decisions:
        decisions.reject(world.only())
    with world.open() as application:
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_rule("twins"), by="anna")
        application.clean_due()

    assert world.shop.rows() == [*TWO, (9, "a@x", "Anne")]


@pytest.mark.parametrize("name", ["a", "c", "f", "g"])
def test_undos_that_had_to_wait_are_carried_out_in_the_order_they_were_planned_in(name: str, tmp_path: Path) -> None:
    """The second one begins with what the first one leaves; the other way round it would be stale, and forgotten."""
    world = World.at(tmp_path / "w", *TWO, **{f"{name}-marks": MARK, f"{name}-deletes": ALONE})
    world.run()
    world.run()
    [marked] = [plan.finding for plan in world.plans() if plan.action == "set"]
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_source("shop"), reason="a look", by="anna")
    assert len(world.undo(marked, with_later=True).failed) == 2

    with world.open() as application:
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_source("shop"), by="anna")
        application.clean_due()

    assert (world.shop.rows(), world.intact()) == (list(TWO), True)
