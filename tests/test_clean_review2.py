"""What could go wrong between the parts of a cleaning, a second look: erased, elsewhere, in part, too late."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from clean_support import World

from reconcile import erasure
from reconcile.clean.actions.base import Stale
from reconcile.store import Store, tables

DELETE = {"clean": {"action": "delete"}}
ALONE = DELETE | {"approval": "none"}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))


# Records that nobody can be asked for


def erase_one(store: Store) -> None:
    """The second record of the only finding is erased."""
    with store.read() as tx:
        *_, record = tx.connection.execute(sa.select(tables.finding_members.c.record)).scalars()
        [dataset] = tx.connection.execute(sa.select(tables.findings.c.dataset)).scalars()
    erasure.erase(store, erasure.of_record(store, dataset, record, ["email"]))


def test_a_finding_with_an_erased_record_is_left_alone_and_keeps_no_other_from_being_planned(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    with world.open() as application:
        erase_one(application.store)

    with world.desk() as desk, pytest.raises(Stale, match="1 of its 2 records is gone"):
        desk.approve(world.only())
    world.run()

    assert (world.ids(), world.intact()) == ([1, 3], True)


@pytest.mark.server
def test_no_database_is_asked_for_a_record_that_was_erased(postgres_url: str, tmp_path: Path) -> None:
    """It would not take the mark of an erased record for a uuid."""
    engine = sa.create_engine(postgres_url)
    ids = [f"5b0c7a0e-0c9a-4c27-9f0c-0d9d6f3b1a0{n}" for n in (1, 2)]
    with engine.begin() as connection:
        connection.exec_driver_sql("create table people (id uuid primary key, email varchar(60))")
        connection.execute(sa.text("insert into people values (:id, 'a@x')"), [{"id": one} for one in ids])
    said = {
        "sources": {"shop": {"type": "sql", "url": postgres_url}},
        "datasets": {"people": {"source": "shop", "table": "people", "id": "id"}},
    }
    world = World.at(tmp_path / "w", config=said, twins=ALONE | {"dataset": "people"})
    world.run()
    with world.open() as application:
        erase_one(application.store)

    with world.desk() as desk, pytest.raises(Stale, match="1 of its 2 records is gone"):
        desk.approve(world.only())


@pytest.mark.parametrize("ids", [["id", "name"], "email"])
def test_a_finding_from_before_the_id_was_another_one_is_stale(ids: list[str] | str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    world.config["datasets"] = {"customers": {"source": "shop", "table": "customers", "id": ids}}

    with world.desk() as desk, pytest.raises(Stale, match="2 of its 2 records are gone"):
        desk.approve(world.only())
