"""Erasing meets cleaning: plans, messages, reports and restored states stay whole without the erased values."""

import base64
import datetime as dt
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile import config
from reconcile.app import Application
from reconcile.audit.proof import prove
from reconcile.cleaning.actions.base import Stale
from reconcile.findings.identity import record_of
from reconcile.findings.states import Event
from reconcile.store import Store, tables
from reconcile.store.findings import find
from reconcile.tracking import progress
from reconcile.upkeep import backup, erasure
from reconcile.upkeep.restore import restore
from tests.support.filled import stored
from tests.support.world import ALONE, DELETE, TWO, World


def erase_one(store: Store) -> None:
    """The second record of the only finding is erased."""
    with store.read() as tx:
        *_, record = tx.connection.execute(sa.select(tables.finding_members.c.record)).scalars()
        [dataset] = tx.connection.execute(sa.select(tables.findings.c.dataset)).scalars()
    erasure.erase(store, erasure.of_record(store, dataset, record, ["email"]))


@pytest.mark.slow
def test_a_finding_with_an_erased_record_is_left_alone_and_keeps_no_other_from_being_planned(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    with world.open() as application:
        erase_one(application.store)

    with world.decisions() as decisions, pytest.raises(Stale, match="1 of its 2 records no longer exists"):
        decisions.approve(world.only())
    world.run()

    assert sorted(world.findings().values()) == ["awaiting_approval", "resolved"]
    assert (world.shop.ids(), world.intact()) == ([1, 2, 3], True)


@pytest.mark.server
def test_no_database_is_asked_for_a_record_that_was_erased(postgres_url: str, tmp_path: Path) -> None:
    """It would not take the mark of an erased record for a uuid."""
    engine = sa.create_engine(postgres_url)
    ids = [f"5b0c7a0e-0c9a-4c27-9f0c-0d9d6f3b1a0{n}" for n in (1, 2)]
    with engine.begin() as connection:
        connection.exec_driver_sql("create table people (id uuid primary key, email varchar(60))")
        connection.execute(
            sa.text("insert into people values (:id, 'a@x')"), [{"id": identifier} for identifier in ids]
        )
    settings = {
        "sources": {"shop": {"type": "sql", "url": postgres_url}},
        "datasets": {"people": {"source": "shop", "table": "people", "id": "id"}},
    }
    world = World.at(tmp_path / "w", config=settings, twins=ALONE | {"dataset": "people"})
    world.run()
    with world.open() as application:
        erase_one(application.store)

    with world.decisions() as decisions, pytest.raises(Stale, match="1 of its 2 records no longer exists"):
        decisions.approve(world.only())


@pytest.mark.slow
def test_a_value_is_erased_from_plans_though_their_rule_never_looks_at_its_column(tmp_path: Path) -> None:
    """The rule compares e-mails; the rows that it deleted had names."""
    world = World.at(tmp_path / "w", *TWO, (4, "b@x", "Bo"), twins=DELETE)
    world.run()
    with world.open() as application:
        wanted = erasure.of_value(application.store, "customers", "name", " ann")
        with pytest.raises(erasure.ErasureWaits):
            erasure.erase(application.store, wanted)
    for name in world.findings():
        world.approve(name)

    with world.open() as application:
        done = erasure.erase(application.store, wanted)

    assert done.reached["plans"] == 1
    held = [plan.sealed_content for plan in world.plans() if plan.sealed_content is not None]
    assert (len(held), "Ann" in held[0], world.intact()) == (1, False, True)


def test_the_row_of_a_record_is_found_in_a_plan_whatever_the_order_of_its_changes(tmp_path: Path) -> None:
    """The last record is kept, so the surplus is in another order than the rows that are deleted."""
    rows = (
        (1, "a@x", "Anna"),
        (2, "a@x", "Berta"),
        (3, "a@x", "Clara"),
        *((number, f"{number // 2}@x", "D") for number in range(4, 8)),
    )
    world = World.at(tmp_path / "w", *rows, twins=DELETE | {"keep": [{"last": "id"}]})
    world.config["datasets"] = {"customers": {"source": "shop", "table": "customers", "id": "id", "pii": ["name"]}}
    world.run()
    with world.open() as application, application.store.read() as tx:
        by_key = {finding.key["email"]: finding.id for finding in find(tx)}
    world.approve(by_key["a@x"])
    world.command("dismiss", by_key["2@x"], "--note", "Anna knows them")
    world.command("dismiss", by_key["3@x"], "--note", "Berta knows them")

    with world.open() as application:
        erasure.erase(application.store, erasure.of_record(application.store, "customers", record_of((2,)), ["name"]))

    shown = "".join(world.command("show", by_key[key], "--show").out for key in ("2@x", "3@x"))
    assert ("Anna" in shown, "Berta" in shown, world.intact()) == (True, False, True)


@pytest.mark.parametrize("by", ["record", "value"])
def test_a_record_that_was_erased_and_is_still_there_is_not_cleaned_without_a_person(by: str, tmp_path: Path) -> None:
    """Its dismissal is erased with it, so the run finds the pair anew, under a rule that needs no approval."""
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    world.command("dismiss", world.only())
    with world.open() as application:
        record = erasure.of_record(application.store, "customers", record_of((1,)), ["email", "name"])
        value = erasure.of_value(application.store, "customers", "email", "a@x")
        erasure.erase(application.store, record if by == "record" else value)

    world.run()

    assert sorted(world.findings().values()) == ["awaiting_approval", "dismissed"]
    assert world.shop.ids() == [1, 2, 3]


@pytest.mark.parametrize("is_approved", [False, True])
@pytest.mark.slow
def test_a_restore_withdraws_plans_of_what_was_erased_and_names_those_in_progress(
    is_approved: bool, tmp_path: Path
) -> None:
    rows = ((1, "a@x", "Anna"), (2000017, "a@x", "Ann"))
    world = World.at(tmp_path / "w", *rows, twins=DELETE)
    world.run()
    [plan] = world.plans()
    if is_approved:
        world.command("approve", world.only(), "--later")
    world.command("backup", "state.backup")
    world.command("reject", world.only())
    world.command("erase", "customers", "--id", "2000017")

    told = world.command("restore", "state.backup", "--yes").out

    held = [name for name, kept in stored("sqlite:///reconcile.db", world.folder).items() if "2000017" in repr(kept)]
    assert (f"{plan.id} still holds erased data" in told) == is_approved
    assert ("plans" in held) == is_approved
    assert list(world.findings().values()) == ["approved" if is_approved else "open"]
    assert world.intact()


YEAR = f"{dt.datetime.now(dt.UTC).year}"


BERLIN = ((1, "a@x", "Berlin"), (2, "a@x", "Bonn"))


def personal(folder: Path, rule: dict[str, Any] | None = None, **more: object) -> World:
    """Two twins; their names, of which one is a part of the time zone's, are personal data."""
    people = {"customers": {"source": "shop", "table": "customers", "id": "id", "pii": ["name"]}}
    settings = {"datasets": people, "timezone": "Europe/Berlin", **more}
    return World.at(folder, *BERLIN, config=settings, twins=rule or {})


def erase(store: Store, value: str) -> None:
    """As `reconcile erase` does it by value."""
    wanted = erasure.of_value(store, "customers", "name", value)
    erasure.erase(store, wanted, texts=(value,))


@pytest.mark.slow
@pytest.mark.parametrize("word", ["Berlin", YEAR, "medium", "customers"])
def test_a_message_that_waits_is_delivered_though_what_is_erased_is_a_part_of_its_facts(
    word: str, tmp_path: Path
) -> None:
    (tmp_path / "w" / "away").mkdir(parents=True)
    world = personal(tmp_path / "w", channels={"team": {"type": "file", "path": "away"}})
    world.run()
    with world.open() as application:
        erase(application.store, word)
    world.config["channels"] = {"team": {"type": "file", "path": "messages.txt"}}

    report = world.run()

    assert ("team" in report.sent, report.undelivered, "twins" in world.messages()) == (True, (), True)


def test_the_report_of_a_run_can_be_read_though_what_is_erased_is_a_part_of_its_time(tmp_path: Path) -> None:
    world = personal(tmp_path / "w")
    run = world.run()
    with world.open() as application:
        erase(application.store, YEAR)

        again = application.run("nightly", slot=run.slot)

    assert (again.repeated, again.slot, again.run) == (True, run.slot, run.run)


def test_the_log_of_a_restored_state_is_whole_though_what_is_erased_is_a_part_of_a_time(tmp_path: Path) -> None:
    world = personal(tmp_path / "w", audit={"anchors": {"log": {"type": "file", "path": "anchors.jsonl"}}})
    world.run()
    with world.open() as application:
        backup.make(application.store, tmp_path / "b.db")
    world.add((3, "c@x", "Cleo"), (4, "c@x", "Clea"))
    world.run()
    with world.open() as application:
        restore(application.store, tmp_path / "b.db", yes=True)

    with world.open() as application:
        erase(application.store, YEAR)
        proof = prove(application.store, application.anchors)

    assert proof.problem is None


@contextmanager
def sealing(world: World) -> Iterator[Application]:
    """The application of a world whose plans are sealed."""
    key = world.folder / "sealing.key"
    key.write_text(base64.b64encode(bytes(32)).decode())
    key.chmod(0o600)
    world.config["encryption_key"] = f"${{file:{key}}}"
    world.write()
    with Application(config.load(world.folder / "reconcile.yaml", {}), sleep=lambda _: None) as application:
        yield application


@pytest.mark.slow
def test_a_state_whose_plans_are_sealed_is_restored_though_something_was_erased_since(tmp_path: Path) -> None:
    world = personal(tmp_path / "w", DELETE)
    with sealing(world) as application:
        application.run("nightly")
        application.decisions("anna").approve(world.only())
        backup.make(application.memory, tmp_path / "b.db")
        erase(application.memory, "Bonn")

    with sealing(world) as application:
        done = restore(application.store, tmp_path / "b.db", yes=True)

    assert done.erased_again == 1
    assert [plan.sealed_content for plan in world.plans()] == [None]


def test_a_value_is_erased_though_a_sealed_plan_was_damaged(tmp_path: Path) -> None:
    world = personal(tmp_path / "w", DELETE)
    world.add((3, "c@x", "Bonn"), (4, "c@x", "Cleo"))
    with sealing(world) as application:
        application.run("nightly")
        for name in sorted(world.findings()):
            application.decisions("anna").approve(name)
    bad, good = sorted(world.findings())
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute("UPDATE plans SET content = substr(content, 1, 60) WHERE finding = ?", (bad,))
        connection.commit()

    with sealing(world) as application:
        erase(application.memory, "Bonn")

    assert world.plans(good)[0].sealed_content is None


@pytest.mark.slow
def test_what_people_wrote_when_they_took_back_or_judged_a_cleaning_is_erased_too(tmp_path: Path) -> None:
    """The rule compares e-mails, so nothing of the finding itself names her."""
    world = personal(tmp_path / "w", DELETE)
    world.run()
    world.approve(world.only())
    world.undo(world.only(), note="Bonn rang up")
    with world.open() as application, application.store.begin() as tx:
        why = progress.Transition(world.only(), Event.DECISION_UNDONE, why="Bonn rang up again")
        progress.move(tx, [why], by="anna")

    with world.open() as application:
        erase(application.store, "Bonn")

    kept = stored("sqlite:///reconcile.db", world.folder)
    assert [name for name, rows in kept.items() if "Bonn" in repr(rows)] == []
    assert world.intact()
