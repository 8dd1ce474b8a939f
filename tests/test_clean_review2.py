"""What could go wrong between the parts of a cleaning, a second look: erased, elsewhere, in part, too late."""

from __future__ import annotations

import base64
import datetime as dt
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from clean_support import World

from connectors.target import Outcome, TargetError
from reconcile import config, points
from reconcile.app import Application
from reconcile.cleaning.actions.base import NotPlannable, Stale
from reconcile.cleaning.decisions import BeyondLimits
from reconcile.cleaning.undo import AnotherDatabase, Conflicts
from reconcile.coordination import pauses
from reconcile.findings.states import BundleState
from reconcile.journal import breaker
from reconcile.store import Store, tables
from reconcile.tracking.decide import NotYours
from reconcile.upkeep import erasure

DELETE = {"clean": {"action": "delete"}}
ALONE = DELETE | {"approval": "none"}
MARK = {"clean": {"action": "set", "values": {"name": "twin"}}, "approval": "none"}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))


# Records that nobody can be asked for


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

    with world.desk() as desk, pytest.raises(Stale, match="1 of its 2 records no longer exists"):
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

    with world.desk() as desk, pytest.raises(Stale, match="1 of its 2 records no longer exists"):
        desk.approve(world.only())


@pytest.mark.parametrize("ids", [["id", "name"], "name"])
def test_a_finding_from_before_the_id_was_another_one_is_stale(ids: list[str] | str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    world.config["datasets"] = {"customers": {"source": "shop", "table": "customers", "id": ids}}

    with world.desk() as desk, pytest.raises(Stale, match="2 of its 2 records no longer exist"):
        desk.approve(world.only())


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
    held = [one.content for one in world.plans() if one.content is not None]
    assert (len(held), "Ann" in held[0], world.intact()) == (1, False, True)


# Undo beside others


ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id){})"
LINES = "CREATE TABLE lines (id INTEGER PRIMARY KEY, of INTEGER REFERENCES orders (id) ON DELETE CASCADE)"
SOMEBODY = "INSERT INTO customers VALUES (2, 'zoe@x', 'Zoe')"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("references", "links"), [("repoint", ""), ("capture", " ON DELETE CASCADE"), ("capture", " ON DELETE SET NULL")]
)
def test_what_referred_to_a_record_never_goes_to_the_stranger_that_has_its_id_since(
    references: str, links: str, tmp_path: Path
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins={"clean": {"action": "delete", "references": references}})
    world.do(ORDERS.format(links), LINES, "INSERT INTO orders VALUES (10, 2)", "INSERT INTO lines VALUES (100, 10)")
    world.run()
    world.approve(world.only())
    left = world.rows("orders"), world.rows("lines")
    world.do(SOMEBODY)

    with pytest.raises(Conflicts, match="belongs to a row that cannot be restored"):
        world.undo(world.only())
    world.undo(world.only(), partial=True)

    assert (world.rows("orders"), world.rows("lines")) == left
    assert (2, "zoe@x", "Zoe") in world.rows()


MOVE = {"clean": {"action": "move", "to": "kept"}}
KEPT = "CREATE TABLE kept (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))"


def moved(folder: Path) -> World:
    world = World.at(folder, *TWO, twins=MOVE)
    world.do(KEPT)
    world.run()
    world.approve(world.only())
    assert (world.ids(), world.rows("kept")) == ([1, 3], [(2, "a@x", "Ann")])
    return world


def test_a_record_that_cannot_come_back_stays_where_it_was_moved_to(tmp_path: Path) -> None:
    """Else it would be nowhere at all."""
    world = moved(tmp_path / "w")
    world.do(SOMEBODY)

    world.undo(world.only(), partial=True)

    assert world.rows("kept") == [(2, "a@x", "Ann")]


NOTES = "CREATE TABLE notes (id INTEGER PRIMARY KEY, of INTEGER REFERENCES kept (id) ON DELETE CASCADE)"
NOTE = "INSERT INTO notes VALUES (1, 2)"


def test_an_undo_deletes_no_row_that_somebody_refers_to_by_now(tmp_path: Path) -> None:
    """A cascade would take rows that nobody planned."""
    world = moved(tmp_path / "w")
    world.do(NOTES, NOTE)

    with pytest.raises(Conflicts, match=r"rows of `notes` now refer to it"):
        world.undo(world.only())
    world.undo(world.only(), partial=True)

    assert (world.ids(), world.rows("kept"), world.rows("notes")) == ([1, 2, 3], [(2, "a@x", "Ann")], [(1, 2)])


def test_who_comes_to_refer_while_an_undo_waits_stops_it(tmp_path: Path) -> None:
    world = moved(tmp_path / "w")
    world.do(NOTES)
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="a look", by="anna")
    [(_, why)] = world.undo(world.only()).failed
    assert "is paused" in why
    world.do(NOTE)

    with world.open() as application:
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_rule("twins"), by="anna")
        application.clean_due()

    assert (world.rows("kept"), world.rows("notes")) == ([(2, "a@x", "Ann")], [(1, 2)])
    assert world.findings() == {world.only(): "cleaned"}


@pytest.mark.slow
def test_what_is_to_be_taken_back_is_not_forgotten_because_another_plan_is_turned_down(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins={"clean": {"action": "set", "values": {"name": "twin"}}})
    world.run()
    world.approve(world.only())
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="a look", by="anna")
    world.undo(world.only())
    world.add((9, "a@x", "Anne"))
    world.run()

    with world.desk() as desk:
        desk.reject(world.only())
    with world.open() as application:
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_rule("twins"), by="anna")
        application.clean_due()

    assert world.rows() == [*TWO, (9, "a@x", "Anne")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a", "c", "f", "g"])
def test_undos_that_had_to_wait_are_carried_out_in_the_order_they_were_planned_in(name: str, tmp_path: Path) -> None:
    """The second one begins with what the first one leaves; the other way round it would be stale, and forgotten."""
    world = World.at(tmp_path / "w", *TWO, **{f"{name}-marks": MARK, f"{name}-deletes": ALONE})
    world.run()
    world.run()
    [marked] = [one.finding for one in world.plans() if one.action == "set"]
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_source("shop"), reason="a look", by="anna")
    assert len(world.undo(marked, with_later=True).failed) == 2

    with world.open() as application:
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_source("shop"), by="anna")
        application.clean_due()

    assert (world.rows(), world.intact()) == (list(TWO), True)


# Another database under the same name


def in_doubt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A plan was done, and whoever did it died before anybody knew."""
    world = World.at(folder, *TWO, twins=DELETE)
    world.run()
    world.approve(world.only(), later=True)

    def lose(reached: str) -> None:
        if reached == "target.committed":
            raise TargetError("The connection broke in COMMIT", Outcome.AMBIGUOUS)
        if reached == "resolve.begun":
            raise KeyboardInterrupt

    monkeypatch.setattr(points, "armed", lose)
    with pytest.raises(KeyboardInterrupt):
        world.run()
    monkeypatch.setattr(points, "armed", None)
    world.bury()
    assert world.ids() == [1, 3]
    return world


@pytest.mark.slow
def test_no_other_database_is_asked_whether_it_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would say that it has no receipt, and what was done elsewhere would count as not done."""
    world = in_doubt(tmp_path / "w", monkeypatch)
    staging = World.at(tmp_path / "staging", *TWO)
    world.config["sources"] = {"shop": {"type": "sql", "url": f"sqlite:///{staging.folder}/shop.db"}}

    with world.open() as application:
        application.clean_due()

    [plan] = world.plans()
    assert (plan.state, staging.ids()) == (BundleState.QUARANTINED, [1, 2, 3])
    assert "is now a different database" in str(plan.reason)
    assert world.findings() == {world.only(): "quarantined"}
    with world.desk() as desk:
        assert desk.judge(world.only(), "done").ok
    assert (world.findings(), world.intact()) == ({world.only(): "cleaned"}, True)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["run", "serve"])
def test_a_person_is_asked_about_what_is_in_doubt_in_a_source_that_was_renamed(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = in_doubt(tmp_path / "w", monkeypatch)
    world.config["sources"] = {"store": {"type": "sql", "url": "sqlite:///shop.db"}}
    world.config["datasets"] = {"customers": {"source": "store", "table": "customers", "id": "id"}}

    with world.open() as application:
        if how == "run":
            application.run("nightly")
        else:
            application.clean_due()

    with world.desk() as desk:
        [one] = desk.quarantined()
        assert "is not in the configuration any more" in str(one.reason)
        assert desk.judge(one.id, "done").ok
    assert (world.findings(), world.intact()) == ({world.only(): "cleaned"}, True)


def test_nothing_is_said_to_be_taken_back_because_another_database_never_lost_it(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    world.approve(world.only())
    staging = World.at(tmp_path / "staging", *TWO)
    world.config["sources"] = {"shop": {"type": "sql", "url": f"sqlite:///{staging.folder}/shop.db"}}

    with pytest.raises(AnotherDatabase, match="Nothing was changed"):
        world.undo(world.only())
    world.config.clear()
    world.undo(world.only())

    assert world.rows() == list(TWO)


# Limits after a day


@pytest.mark.slow
def test_a_plan_that_waited_for_more_than_a_day_is_counted_once_in_its_run(tmp_path: Path) -> None:
    rows = [(n, f"{n // 2}@x", "Anna") for n in range(2, 14)]
    rule = DELETE | {"limits": {"records": 6, "share": "100%", "group": 5}, "approval_expires": "30d"}
    world = World.at(tmp_path / "w", *rows, twins=rule)
    world.clock = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    world.run()
    world.clock += dt.timedelta(hours=30)

    said = [world.approve(name) for name in world.findings()]

    assert [one.ok for one in said] == [True] * 6
    world.add((20, "new@x", "Anna"), (21, "new@x", "Ann"))
    world.run()
    [last] = [name for name, state in world.findings().items() if state == "awaiting_approval"]
    with pytest.raises(BeyondLimits, match="7 rows of rule `twins` would be changed in 24 hours"):
        world.approve(last)


def test_what_a_person_let_go_beyond_limits_goes_though_it_is_carried_out_a_day_later(tmp_path: Path) -> None:
    rule = DELETE | {"limits": {"records": 1, "share": "100%", "group": 5}, "approval_expires": "30d"}
    world = World.at(tmp_path / "w", *TWO, (4, "a@x", "Anne"), twins=rule)
    world.clock = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    world.run()
    world.approve(world.only(), over_limit=True, later=True)
    world.clock += dt.timedelta(hours=30)

    with world.open() as application:
        application.clean_due()

    assert (world.ids(), world.findings(), world.intact()) == ([1, 3], {world.only(): "cleaned"}, True)


# Rules that are gone


@pytest.mark.parametrize("then", ["renamed", "removed"])
@pytest.mark.slow
def test_what_a_rule_that_is_gone_left_to_be_tried_again_stands_in_nobodys_way(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run is of that rule any more, and while its plan holds the records nobody else's may touch them."""
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.clock = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    world.run()
    world.approve(world.only(), later=True)

    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It is away", Outcome.NOT_DONE)

    monkeypatch.setattr(points, "armed", fail)
    with world.open() as application:
        application.clean_due()
    monkeypatch.setattr(points, "armed", None)
    [plan] = world.plans()
    assert plan.state is BundleState.RETRY_WAIT

    world.rules = {"pairs": DELETE | ({"was": "twins"} if then == "renamed" else {})}
    for _ in range(3):
        world.clock += dt.timedelta(hours=1)
        world.run()
    assert [one.state for one in world.plans()] == [BundleState.SKIPPED, BundleState.AWAITING]
    [finding] = [name for name, state in world.findings().items() if state == "awaiting_approval"]
    assert world.approve(finding).ok
    assert (world.ids(), world.intact()) == ([1, 3], True)


# What waits for a person


def test_a_person_lets_go_on_what_was_approved_while_its_database_took_nothing(tmp_path: Path) -> None:
    """Also where nothing was tried yet: else no command would ever let anything be sent there again."""
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    [plan] = world.plans()
    with world.open() as application, application.store.begin() as tx:
        breaker.opened_for_person(tx, plan.target, "The user may not write")
    waits = world.approve(world.only())
    assert (waits.ok, waits.state) == (False, BundleState.APPROVED)
    assert "`reconcile retry`" in waits.sentence

    with world.desk() as desk:
        answer = desk.retry(world.only())

    assert (answer.ok, world.ids(), world.intact()) == (True, [1, 3], True)


# What a database would do by itself


@pytest.mark.server
def test_only_the_columns_that_a_foreign_key_would_empty_are_ever_emptied(postgres_url: str, tmp_path: Path) -> None:
    """`ON DELETE SET NULL (person)` leaves the row its tenant; all columns of the key emptied, it would be nobody's."""
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        link = "foreign key (tenant, person) references people on delete set null (person)"
        for one in (
            "create table people (tenant int, id int, email varchar(60), primary key (tenant, id))",
            f"create table orders (id int primary key, tenant int, person int, {link})",
            "insert into people values (1, 1, 'a@x'), (1, 2, 'a@x')",
            "insert into orders values (10, 1, 2)",
        ):
            connection.exec_driver_sql(one)
    said = {
        "sources": {"shop": {"type": "sql", "url": postgres_url}},
        "datasets": {"people": {"source": "shop", "table": "people", "id": ["tenant", "id"]}},
    }
    rule = {"clean": {"action": "delete", "references": "capture"}, "dataset": "people"}
    world = World.at(tmp_path / "w", config=said, twins=rule)
    world.run()

    with world.desk() as desk, pytest.raises(NotPlannable, match=r"ON DELETE SET NULL \(person\)"):
        desk.approve(world.only())

    with engine.connect() as connection:
        assert connection.exec_driver_sql("select * from orders").all() == [(10, 1, 2)]


# What may change unseen


@pytest.mark.parametrize(("column", "where"), [("email", None), ("name", "name <> 'gone'")])
def test_what_makes_records_twins_may_not_drift(column: str, where: str | None, tmp_path: Path) -> None:
    """Else the surplus goes though the keeper is somebody else's by now, and nobody is left of them."""
    dataset = {"source": "shop", "table": "customers", "id": "id"} | ({"where": where} if where else {})
    rule = {"clean": {"action": "delete", "ignore_drift": [column]}}
    world = World.at(tmp_path / "w", *TWO, config={"datasets": {"customers": dataset}}, twins=rule)
    world.run()
    world.do(f"UPDATE customers SET {column} = 'gone' WHERE id = 1")

    with world.desk() as desk, pytest.raises(NotPlannable, match="matches records; remove it"):
        desk.approve(world.only())

    assert world.ids() == [1, 2, 3]


# Who decides


@pytest.mark.parametrize("again", ["Anna", "ANNA", " anna ", "\uff21nna"])
@pytest.mark.slow
def test_a_name_that_is_written_otherwise_is_no_second_person(again: str, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"approval": "two_person"})
    world.run()
    world.approve(world.only(), actor="anna")

    with pytest.raises(NotYours):
        world.approve(world.only(), actor=again)

    assert world.ids() == [1, 2, 3]
    assert world.approve(world.only(), actor="bob").ok


# Plans whose seal has no key here


@dataclass
class Sealed:
    """A world whose plans are sealed, with one of two keys."""

    world: World

    @contextmanager
    def open(self, key: str) -> Iterator[Application]:
        path = self.world.folder / key
        path.write_text(base64.b64encode(key.encode() * 32).decode())
        path.chmod(0o600)
        self.world.config["encryption_key"] = f"${{file:{path}}}"
        self.world.write()
        with Application(config.load(self.world.folder / "reconcile.yaml", {}), sleep=lambda _: None) as application:
            yield application

    def approve_all(self) -> None:
        with self.open("a") as application:
            application.run("nightly")
            for name in sorted(self.world.findings()):
                application.desk("anna").approve(name, later=True)


@pytest.fixture
def sealed(tmp_path: Path) -> Sealed:
    return Sealed(World.at(tmp_path / "w", *TWO, twins=DELETE))


def test_a_plan_whose_key_is_gone_waits_for_it_and_keeps_nothing_else_from_running(sealed: Sealed) -> None:
    sealed.approve_all()
    sealed.world.add((8, "c@x", "Cleo"), (9, "c@x", "Clio"))

    with sealed.open("b") as application:
        [said] = application.run("nightly").rules
        assert (said.cleaning.proposed, said.cleaning.held_up) == (1, True)
        assert "add that key" in said.cleaning.reasons[0]
        for name in sealed.world.findings():
            application.desk("anna").approve(name)
    assert sealed.world.ids() == [1, 2, 3, 8]

    with sealed.open("a") as application:
        application.desk("anna").retry(min(sealed.world.plans(), key=lambda one: one.created_at).finding)
    assert (sealed.world.ids(), sealed.world.intact()) == ([1, 3, 8], True)


def test_a_plan_in_doubt_whose_key_is_gone_waits_for_it(sealed: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed.approve_all()

    def lose(reached: str) -> None:
        if reached == "target.committed":
            raise TargetError("The connection broke in COMMIT", Outcome.AMBIGUOUS)
        if reached == "resolve.begun":
            raise KeyboardInterrupt

    monkeypatch.setattr(points, "armed", lose)
    with sealed.open("a") as application, pytest.raises(KeyboardInterrupt):
        application.clean_due()
    monkeypatch.setattr(points, "armed", None)
    sealed.world.bury()

    with sealed.open("b") as application:
        application.clean_due()
        assert application.run("nightly").status == "succeeded"

    [plan] = sealed.world.plans()
    assert (plan.state, plan.owner) == (BundleState.AMBIGUOUS, None)


def test_a_sealed_plan_that_was_damaged_goes_into_quarantine(sealed: Sealed) -> None:
    sealed.approve_all()
    with closing(sqlite3.connect(sealed.world.folder / "reconcile.db")) as connection:
        connection.execute("UPDATE bundles SET content = substr(content, 1, 60) || 'AAAA' || substr(content, 65)")
        connection.commit()

    with sealed.open("a") as application:
        application.clean_due()

    assert sealed.world.findings() == {sealed.world.only(): "quarantined"}


DRIFTING = {"clean": {"action": "delete", "ignore_drift": ["name"]}}


def test_an_approval_stands_though_a_column_that_may_drift_changed_meanwhile(tmp_path: Path) -> None:
    """Else two people would never approve what changes more often than they look."""
    world = World.at(tmp_path / "w", *TWO, twins=DRIFTING | {"approval": "two_person"})
    world.run()
    world.approve(world.only(), actor="anna")
    world.do("UPDATE customers SET name = 'seen' WHERE id < 3")
    world.run()

    assert world.approve(world.only(), actor="bob").ok
    assert world.rows() == [(1, "a@x", "seen"), (3, "b@x", "Bob")]
    world.undo(world.only())
    assert world.rows()[1] == (2, "a@x", "seen")


def test_a_plan_that_was_turned_down_does_not_come_back_when_a_column_changes_that_may_drift(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DRIFTING)
    world.run()
    with world.desk() as desk:
        desk.reject(world.only())
    world.do("UPDATE customers SET name = 'seen' WHERE id = 1")

    world.run()

    assert world.findings() == {world.only(): "open"}


# Effects that are there already


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
@pytest.mark.parametrize("said", ["2026-01-01", "2026-01-01T12:30"])
def test_a_time_that_a_record_has_already_is_not_set_again(
    said: str, server: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The database writes it otherwise than the configuration does."""
    url = request.getfixturevalue(server)
    engine = sa.create_engine(url)
    kind = "timestamptz" if server == "postgres_url" else "datetime"
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"create table people (id int primary key, email varchar(9), at {kind}, since timestamp null)"
        )
        connection.exec_driver_sql("insert into people values (1, 'a@x', null, null), (2, 'a@x', null, null)")
    sources = {
        "sources": {"shop": {"type": "sql", "url": url}},
        "datasets": {"people": {"source": "shop", "table": "people", "id": "id", "timezone": "Europe/Berlin"}},
    }
    values = {"at": said, "since": said}
    rule = {"clean": {"action": "set", "values": values}, "approval": "none", "dataset": "people"}
    world = World.at(tmp_path / "w", config=sources, twins=rule)

    for _ in range(4):
        world.run()

    assert [one.state for one in world.plans()] == [BundleState.SUCCEEDED]


# Somebody is left


@pytest.mark.slow
def test_nothing_goes_by_itself_in_favour_of_a_record_that_another_rule_set_aside(tmp_path: Path) -> None:
    """One rule marked the first of two, in favour of the second; the other one would delete that second one."""
    last = MARK | {"keep": [{"last": "id"}], "where": "name <> 'twin'"}
    world = World.at(tmp_path / "w", *TWO, first=last, second=ALONE)
    world.run()
    world.run()

    assert world.rows() == [(1, "a@x", "twin"), (2, "a@x", "Ann"), (3, "b@x", "Bob")]
    assert sorted(world.findings().values()) == ["awaiting_approval", "cleaned"]


def test_nothing_goes_by_itself_in_favour_of_a_record_that_was_set_aside_unless_that_was_taken_back(
    tmp_path: Path,
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=MARK)
    world.run()
    world.run()
    cleaned = world.only()
    world.do("DELETE FROM customers WHERE id = 1")
    world.add((9, "a@x", "Anne"))
    world.run()
    assert world.rows() == [(2, "a@x", "twin"), (3, "b@x", "Bob"), (9, "a@x", "Anne")]

    world.undo(cleaned)
    world.add((8, "a@x", "Anni"))
    world.run()

    assert [row[2] for row in world.rows()].count("twin") == 2
