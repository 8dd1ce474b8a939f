"""What could go wrong between the parts of a cleaning: states that nobody leaves, decisions that meet a run, poison."""

from __future__ import annotations

import datetime as dt
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from clean_support import Customers, Killed, World, job
from effects_support import SQLITE, TARGET, TTL, Journal, plan
from findings_support import KEY, RULE, group
from findings_support import World as Memory

from connectors.errors import SourceUnreachable
from connectors.sql.source import SqlSource
from connectors.target import Outcome, TargetError
from reconcile import points
from reconcile.audit.proof import prove
from reconcile.cleaning.execution.execute import How, Limits, perform
from reconcile.cleaning.execution.resolve import ask
from reconcile.coordination import pauses
from reconcile.findings.states import BundleState, Event, State
from reconcile.journal import effects, limits
from reconcile.schedule.retry import QUICK
from reconcile.store import Store, Transaction, tables
from reconcile.store import bundles as stored
from reconcile.tracking import decide, progress
from reconcile.tracking.progress import Move
from reconcile.upkeep import backup
from reconcile.upkeep.restore import restore

DELETE = {"clean": {"action": "delete"}}
ALONE = DELETE | {"approval": "none"}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))


@pytest.fixture
def asking(tmp_path: Path) -> World:
    """One group of twins, whose plan waits for approval."""
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    return world


def tamper(world: World, finding: str | None = None) -> None:
    """Somebody edits plans in the state database."""
    where = "" if finding is None else f" WHERE finding = '{finding}'"
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute(f"UPDATE bundles SET content = replace(content, 'Ann', 'Eve'){where}")
        connection.commit()


# Plans that cannot be read


def test_the_finding_of_a_damaged_plan_goes_into_quarantine_with_it_and_has_a_way_out(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    tamper(asking)

    asking.run()
    assert ([one.state for one in asking.plans()], asking.ids()) == ([BundleState.QUARANTINED], [1, 2, 3])
    assert asking.findings() == {asking.only(): "quarantined"}

    with asking.desk() as desk:
        desk.judge(asking.only(), "abandon")
        assert desk.retry(asking.only()).ok
    assert (asking.findings(), asking.ids()) == ({asking.only(): "cleaned"}, [1, 3])


def test_a_damaged_plan_in_doubt_keeps_no_other_from_being_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.at(tmp_path / "w", *TWO, (4, "b@x", "Bo"), twins=DELETE)
    world.run()
    for name in world.findings():
        world.approve(name, later=True)

    def lose(reached: str) -> None:
        if reached == "target.committed":
            raise TargetError("The connection broke in COMMIT", Outcome.AMBIGUOUS)
        if reached == "resolve.begun":
            raise KeyboardInterrupt

    monkeypatch.setattr(points, "armed", lose)
    with pytest.raises(KeyboardInterrupt):
        world.run()
    monkeypatch.setattr(points, "armed", None)
    assert {one.state for one in world.plans()} == {BundleState.AMBIGUOUS}
    bad, good = sorted(world.findings())
    tamper_all = "UPDATE bundles SET content = content || ' ' WHERE finding = ?"
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute(tamper_all, (bad,))
        connection.commit()
    world.bury()

    world.run()

    assert world.findings() == {bad: "quarantined", good: "cleaned"}


# A table that is gone, a target that cannot be asked


@pytest.mark.slow
def test_a_table_that_became_a_view_keeps_no_other_plan_of_its_source_waiting(tmp_path: Path) -> None:
    datasets = {name: {"source": "shop", "table": name, "id": "id"} for name in ("customers", "leads")}
    world = World.at(
        tmp_path / "w", *TWO, config={"datasets": datasets}, twins=DELETE, leads=DELETE | {"dataset": "leads"}
    )
    world.do("CREATE TABLE leads (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
    world.do("INSERT INTO leads VALUES (1, 'l@x', 'Lea'), (2, 'l@x', 'Lee')")
    world.run()
    for name in world.findings():
        world.approve(name, later=True)
    world.do("ALTER TABLE leads RENAME TO old_leads", "CREATE VIEW leads AS SELECT * FROM old_leads")

    with world.open() as application:
        application.clean_due()

    assert world.ids() == [1, 3]
    assert sorted(world.findings().values()) == ["cleaned", "open"]


def test_a_plan_in_doubt_that_cannot_be_asked_about_is_in_nobodys_hand(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had it in hand would be ended as a zombie once its claim is over, though it lives and works."""
    monkeypatch.setattr(SqlSource, "remembers", lambda *_: False)
    work = SqlSource.work
    lost: list[str] = []

    def lose(reached: str) -> None:
        if reached == "target.before_commit":
            lost.append(reached)
            raise TargetError("The connection broke in COMMIT", Outcome.AMBIGUOUS)

    def away(self: Any, seconds: float) -> Any:
        if lost:
            raise SourceUnreachable("shop", "here", "it is away")
        return work(self, seconds)

    monkeypatch.setattr(points, "armed", lose)
    monkeypatch.setattr(SqlSource, "work", away)
    with asking.desk() as desk:
        answer = desk.approve(asking.only())

    [one] = asking.plans()
    assert (answer.state, one.state, one.owner) == (BundleState.AMBIGUOUS, BundleState.AMBIGUOUS, None)


def test_what_is_in_doubt_in_a_source_that_is_away_is_not_asked_about_all_the_time(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(reached: str) -> None:
        if reached == "target.committed":
            raise Killed

    monkeypatch.setattr(points, "armed", die)
    with pytest.raises(Killed):
        asking.approve(asking.only())
    monkeypatch.setattr(points, "armed", None)
    asking.bury()
    (asking.folder / "shop.db").rename(asking.folder / "away.db")
    with asking.open() as application:
        assert application.clean_due() is not None
        assert application.clean_due() is None
    [one] = asking.plans()
    assert (one.state, one.owner) == (BundleState.AMBIGUOUS, None)
    (asking.folder / "away.db").rename(asking.folder / "shop.db")
    with asking.desk() as desk, desk.store.begin() as tx:
        tx.connection.execute(sa.update(tables.bundles).values(next_at=tx.now))

    with asking.open() as application:
        application.clean_due()
    assert asking.findings() == {asking.only(): "cleaned"}


@pytest.mark.parametrize("receipts", [True, False])
@pytest.mark.parametrize("drifted", [True, False])
def test_what_a_column_that_may_drift_held_before_is_never_made_up(
    receipts: bool, drifted: bool, tmp_path: Path
) -> None:
    """It would be written back by an undo: of a plan whose answer was lost, only a receipt says what it was."""
    shop = Customers.at("sqlite:///shop.db", tmp_path)
    shop.add(1, 2)
    assert shop.target.remembers()
    one = job(replace(shop.deletion(1, 2), ignore_drift=("touched",)), "a", receipts=receipts)
    if drifted:
        shop.do("UPDATE customers SET touched = 'today' WHERE id = 2")
    [done] = perform(shop.target, [one], Limits(lambda: 20.0))

    answer = ask(shop.target, one, 20.0, None)

    assert answer.how is How.DONE_BEFORE
    assert answer.images == (done.images if receipts and not drifted else None)
    shop.engine.dispose()
    shop.source.close()


def test_an_undo_that_a_person_says_was_done_is_done_though_it_was_never_sent(tmp_path: Path) -> None:
    """Its key was given up in doubt before, so it is not sent, but asked about."""
    journal = Journal.at(SQLITE, tmp_path)
    [name] = journal.propose(plan("F-1", "a"))
    journal.do(name)
    back = plan("F-1", "a", effect="delete.undo", undoes=name)
    [given_up] = journal.propose(back)
    with journal.begin() as tx:
        doubtful = effects.ambiguous(tx, effects.send(tx, effects.claim(tx, [given_up], ttl=TTL)).sent, "broke")
        effects.quarantined(tx, [(one, "unknown outcome") for one in doubtful])
        effects.judged(tx, given_up, "abandon", by="anna", reason="too late")
    [again] = journal.propose(replace(back, why=("again",)))
    assert [one.id for one, _ in journal.send(again).conflicts] == [again]

    with journal.begin() as tx:
        effects.judged(tx, again, "done", by="anna", reason="I looked")

    assert [journal.state(one) for one in (name, given_up, again)] == [
        BundleState.COMPENSATED,
        BundleState.FAILED,
        BundleState.SUCCEEDED,
    ]
    journal.store.close()


# Pauses


def test_what_a_jobs_run_proposed_waits_while_the_job_is_paused(asking: World) -> None:
    with asking.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_job("nightly"), reason="month end", by="anna")

    answer = asking.approve(asking.only())

    assert (answer.state, asking.ids()) == (BundleState.APPROVED, [1, 2, 3])
    assert "Job 'nightly' is paused by anna" in answer.sentence


# A restored state


@pytest.mark.slow
@pytest.mark.parametrize("label", ["store.sent.committed", "target.committed"])
def test_what_was_in_hand_in_a_backup_is_in_nobodys_after_it_is_restored(
    asking: World, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had it may live still, and have been given another state under it: it is asked about at once."""

    def die(reached: str) -> None:
        if reached == label:
            raise Killed

    monkeypatch.setattr(points, "armed", die)
    with pytest.raises(Killed):
        asking.approve(asking.only())
    monkeypatch.setattr(points, "armed", None)
    with asking.open() as application:
        backup.make(application.store, asking.folder / "backup.db")
        restore(application.store, asking.folder / "backup.db", yes=True)
    [one] = asking.plans()
    assert (one.state, one.owner) == (BundleState.AMBIGUOUS, None)

    asking.run()

    assert (asking.findings(), asking.ids()) == ({asking.only(): "cleaned"}, [1, 3])
    with asking.open() as application:
        assert prove(application.store, {}).intact


# Edits of the configuration


@pytest.mark.slow
def test_a_limit_for_groups_that_was_lowered_holds_for_what_was_let_go_before(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, (4, "a@x", "Anne"), twins=ALONE)
    world.run()
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="month end", by="anna")
    world.run()
    assert [one.state for one in world.plans()] == [BundleState.APPROVED]
    world.rules["twins"] = ALONE | {"limits": {"records": 1000, "share": "100%", "group": 2}}
    with world.open() as application, application.store.begin() as tx:
        pauses.resume(tx, pauses.of_rule("twins"), "anna")

    world.run()
    world.run()

    assert world.ids() == [1, 2, 3, 4]
    assert [one.state for one in world.plans()] == [BundleState.SKIPPED, BundleState.AWAITING]
    assert world.approve(world.only()).ok


def test_a_rule_that_does_not_clean_any_more_leaves_no_plan_waiting(asking: World) -> None:
    asking.rules["twins"] = {}

    asking.run()

    assert [one.state for one in asking.plans()] == [BundleState.SKIPPED]
    assert asking.findings() == {asking.only(): "open"}
    assert asking.intact()


@pytest.mark.slow
@pytest.mark.parametrize("state", ["approved", "retry_wait"])
def test_a_source_that_was_renamed_leaves_no_plan_and_no_finding_behind(
    asking: World, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It was not done", Outcome.NOT_DONE)

    monkeypatch.setattr(points, "armed", fail)
    asking.approve(asking.only(), later=state == "approved")
    monkeypatch.setattr(points, "armed", None)
    assert [one.state.value for one in asking.plans()] == [state]
    asking.config = {
        "sources": {"store": {"type": "sql", "url": "sqlite:///shop.db"}},
        "datasets": {"customers": {"source": "store", "table": "customers", "id": "id"}},
    }

    asking.run()
    asking.run()

    assert [one.state for one in asking.plans()] == [BundleState.SKIPPED, BundleState.AWAITING]
    assert asking.findings() == {asking.only(): "awaiting_approval"}
    assert asking.approve(asking.only()).ok


@pytest.mark.slow
def test_what_is_due_and_held_up_is_not_looked_at_again_and_again(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It was not done", Outcome.NOT_DONE)

    monkeypatch.setattr(points, "armed", fail)
    asking.rules["twins"] = DELETE | {"retry": "patient"}
    asking.approve(asking.only())
    monkeypatch.setattr(points, "armed", None)
    [one] = asking.plans()
    assert one.state is BundleState.RETRY_WAIT
    slept: list[float] = []
    with asking.desk() as desk:
        with desk.store.begin() as tx:
            pauses.pause(tx, pauses.of_rule("twins"), reason="month end", by="anna")
        answer = replace(desk, sleep=slept.append).retry(asking.only())

    assert (answer.state, slept) == (BundleState.RETRY_WAIT, [])


@pytest.mark.slow
def test_a_finding_does_not_wait_for_approval_while_an_undo_is_in_the_way_of_its_plan(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It was not done", Outcome.NOT_DONE)

    asking.approve(asking.only())
    monkeypatch.setattr(points, "armed", fail)
    with asking.desk() as desk:
        replace(desk, patience=dt.timedelta(0)).undo(asking.only())
    monkeypatch.setattr(points, "armed", None)
    asking.add((4, "a@x", "Anne"))
    with asking.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="month end", by="anna")

    asking.run()
    assert [one.state for one in asking.plans()] == [BundleState.COMPENSATING, BundleState.RETRY_WAIT]
    assert asking.findings() == {asking.only(): "open"}

    with asking.open() as application, application.store.begin() as tx:
        pauses.resume(tx, pauses.of_rule("twins"), "anna")
    with asking.desk() as desk:
        assert desk.retry(asking.only()).ok
    asking.run()
    assert asking.ids() == [1, 2, 3, 4]
    assert asking.findings() == {asking.only(): "awaiting_approval"}
    assert asking.approve(asking.only()).ok
    assert asking.ids() == [1, 2, 3]


# Decisions that meet a run


@pytest.mark.server
@pytest.mark.parametrize("wish", ["approve", "reject"])
def test_a_decision_about_a_plan_that_is_just_being_replaced_is_about_neither(
    wish: str, postgres_url: str, tmp_path: Path
) -> None:
    memory = Memory.at(postgres_url, tmp_path)
    memory.run(group("A", 1, 2))
    finding = memory.only().id
    with memory.store.begin() as tx:
        [old] = effects.propose(tx, [plan(finding, "a", rule=RULE.name)], run=None, release="r1", policy="required")
        progress.move(tx, [Move(finding, Event.PROPOSED, old)], by="reconcile")
        shown = stored.get(tx, old).plan_hash
    said: list[Any] = []

    def decides() -> None:
        try:
            said.append(getattr(decide, wish)(other, finding, actor="anna", plan=shown))
        except Exception as error:  # noqa: BLE001 - looked at below
            said.append(error)

    other = Store.open(postgres_url, tmp_path, key=KEY, clock=lambda: memory.now)
    deciding = threading.Thread(target=decides)
    with memory.store.begin() as tx:
        effects.lock_standing(tx, RULE.name)
        deciding.start()
        deciding.join(0.5)
        newer = plan(finding, "a", rule=RULE.name, note="newer")
        [new] = effects.propose(tx, [newer], run=None, release="r1", policy="required")
    deciding.join(20)

    with memory.store.read() as tx:
        states = [stored.get(tx, name).state for name in (old, new)]
    assert [type(one) for one in said] == [decide.PlanChanged]
    assert states == [BundleState.SKIPPED, BundleState.AWAITING]
    assert memory.only().state is State.AWAITING
    other.close()
    memory.store.close()


# Transactions that meet, on PostgreSQL


@pytest.mark.server
def test_a_worker_that_counts_for_several_rules_meets_a_run_of_one_of_them(postgres_url: str, tmp_path: Path) -> None:
    journal = Journal.at(postgres_url, tmp_path)
    first, second, one, two, three = journal.propose(*(plan(f"F-{n}", f"r{n}") for n in range(5)))
    for name, rule in ((first, "a"), (second, "b")):
        with journal.begin() as tx:
            count(tx, name, rule)
    other = Store.open(postgres_url, tmp_path, key=journal.store.key)
    failed: list[Exception] = []

    def counts() -> None:
        try:
            with other.begin() as tx:
                count(tx, three, "b")
        except Exception as error:  # noqa: BLE001 - looked at below
            failed.append(error)

    counting = threading.Thread(target=counts)
    with journal.begin() as tx:
        count(tx, one, "a")
        counting.start()
        counting.join(0.3)
        count(tx, two, "b")
    counting.join(20)

    assert failed == []
    other.close()
    journal.store.close()


def count(tx: Transaction, name: str, rule: str) -> None:
    limits.reserve(tx, [limits.Use(name, 1)], rule=rule, target=TARGET, run=None, caps=None)


@pytest.mark.server
def test_a_run_waits_for_a_worker_that_tries_a_plan_of_its_rule_again(postgres_url: str, tmp_path: Path) -> None:
    """Else it would have the finding that the worker needs, and need the limits that the worker has."""
    journal = Journal.at(postgres_url, tmp_path)
    [name] = journal.propose(plan("F-1", "a"))
    sent = journal.send(name).sent
    with journal.begin() as tx:
        effects.retry(tx, sent, QUICK, kind="not_done", reason="It was not done.")
    journal.tick(minutes=1)
    other = Store.open(postgres_url, tmp_path, key=journal.store.key)
    passed = threading.Event()

    def runs() -> None:
        with other.begin() as tx:
            effects.lock_standing(tx, "twins")
            passed.set()

    running = threading.Thread(target=runs)
    with journal.begin() as tx:
        assert [one.id for one in effects.claim(tx, [name], ttl=dt.timedelta(minutes=1))] == [name]
        running.start()
        assert not passed.wait(0.5)
    assert passed.wait(20)
    running.join(20)
    other.close()
    journal.store.close()
