"""Plans that wait: for a pause, a person, a database or a time; they hold up nothing and are not forgotten."""

import datetime as dt
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from connectors.target import TargetError, TransactionOutcome
from reconcile import points
from reconcile.audit.proof import prove
from reconcile.cleaning.execution import executor
from reconcile.coordination import pauses
from reconcile.coordination.clock import HostTime
from reconcile.decisions import approving
from reconcile.decisions.refusals import BeyondLimits
from reconcile.findings.states import Event, PlanState, State
from reconcile.journal import breaker, effects, limits
from reconcile.journal.approvals import PlanChanged
from reconcile.schedule.retry import QUICK
from reconcile.service.scheduler import Scheduler
from reconcile.store import Store, Transaction
from reconcile.store import plans as stored
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition
from reconcile.upkeep import backup
from reconcile.upkeep.restore import restore
from tests.reconcile.journal.journal import TARGET, Journal, plan
from tests.support.findings import KEY, RULE, FindingsOffice, group
from tests.support.world import DELETE, TWO, Killed, World, asking

__all__ = ["asking"]


@pytest.mark.slow
def test_a_table_that_became_a_view_keeps_no_other_plan_of_its_source_waiting(tmp_path: Path) -> None:
    datasets = {name: {"source": "shop", "table": name, "id": "id"} for name in ("customers", "leads")}
    world = World.at(
        tmp_path / "w", *TWO, config={"datasets": datasets}, twins=DELETE, leads=DELETE | {"dataset": "leads"}
    )
    world.shop.sql("CREATE TABLE leads (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
    world.shop.sql("INSERT INTO leads VALUES (1, 'l@x', 'Lea'), (2, 'l@x', 'Lee')")
    world.run()
    for name in world.findings():
        world.approve(name, later=True)
    world.shop.sql("ALTER TABLE leads RENAME TO old_leads", "CREATE VIEW leads AS SELECT * FROM old_leads")

    with world.open() as application:
        application.clean_due()

    assert world.shop.ids() == [1, 3]
    assert sorted(world.findings().values()) == ["cleaned", "open"]


def test_what_a_jobs_run_proposed_waits_while_the_job_is_paused(asking: World) -> None:
    with asking.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_job("nightly"), reason="month end", by="anna")

    answer = asking.approve(asking.only())

    assert (answer.state, asking.shop.ids()) == (PlanState.APPROVED, [1, 2, 3])
    assert "Job 'nightly' is paused by anna" in answer.sentence


def test_a_rule_that_does_not_clean_any_more_leaves_no_plan_waiting(asking: World) -> None:
    asking.rules["twins"] = {}

    asking.run()

    assert [item.state for item in asking.plans()] == [PlanState.SKIPPED]
    assert asking.findings() == {asking.only(): "open"}
    assert asking.intact()


@pytest.mark.slow
@pytest.mark.parametrize("state", ["approved", "retry_wait"])
def test_a_source_that_was_renamed_leaves_no_plan_and_no_finding_behind(
    asking: World, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It was not done", TransactionOutcome.NOT_DONE)

    monkeypatch.setattr(points, "armed", fail)
    asking.approve(asking.only(), later=state == "approved")
    monkeypatch.setattr(points, "armed", None)
    assert [item.state.value for item in asking.plans()] == [state]
    asking.config = {
        "sources": {"store": {"type": "sql", "url": "sqlite:///shop.db"}},
        "datasets": {"customers": {"source": "store", "table": "customers", "id": "id"}},
    }

    asking.run()
    asking.run()

    assert [item.state for item in asking.plans()] == [PlanState.SKIPPED, PlanState.AWAITING]
    assert asking.findings() == {asking.only(): "awaiting_approval"}
    assert asking.approve(asking.only()).ok


@pytest.mark.slow
def test_what_is_due_and_held_up_is_not_looked_at_again_and_again(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It was not done", TransactionOutcome.NOT_DONE)

    monkeypatch.setattr(points, "armed", fail)
    asking.rules["twins"] = DELETE | {"retry": "patient"}
    asking.approve(asking.only())
    monkeypatch.setattr(points, "armed", None)
    [item] = asking.plans()
    assert item.state is PlanState.RETRY_WAIT
    slept: list[float] = []
    with asking.decisions() as decisions:
        with decisions.store.begin() as tx:
            pauses.pause(tx, pauses.of_rule("twins"), reason="month end", by="anna")
        answer = replace(decisions, sleep=slept.append).retry(asking.only())

    assert (answer.state, slept) == (PlanState.RETRY_WAIT, [])


@pytest.mark.slow
def test_a_finding_does_not_wait_for_approval_while_an_undo_is_in_the_way_of_its_plan(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It was not done", TransactionOutcome.NOT_DONE)

    asking.approve(asking.only())
    monkeypatch.setattr(points, "armed", fail)
    with asking.decisions() as decisions:
        replace(decisions, patience=dt.timedelta(0)).undo(asking.only())
    monkeypatch.setattr(points, "armed", None)
    asking.add((4, "a@x", "Anne"))
    with asking.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="month end", by="anna")

    asking.run()
    assert [item.state for item in asking.plans()] == [PlanState.COMPENSATING, PlanState.RETRY_WAIT]
    assert asking.findings() == {asking.only(): "open"}

    with asking.open() as application, application.store.begin() as tx:
        pauses.resume(tx, pauses.of_rule("twins"), "anna")
    with asking.decisions() as decisions:
        assert decisions.retry(asking.only()).ok
    asking.run()
    assert asking.shop.ids() == [1, 2, 3, 4]
    assert asking.findings() == {asking.only(): "open"}  # it has records whose cleaning was taken back
    assert [plan.state for plan in asking.plans() if plan.undoes is None] == [PlanState.COMPENSATED]


@pytest.mark.server
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_decision_about_a_plan_that_is_just_being_replaced_is_about_neither(
    decision: str, postgres_url: str, tmp_path: Path
) -> None:
    decide: Mapping[str, Callable[..., Any]] = {
        "approve": partial(approving.approve, void=lambda _plan, _policy: None, reserve=lambda _tx, _plan: None),
        "reject": approving.reject,
    }
    office = FindingsOffice.new(postgres_url, tmp_path)
    office.record(group("A", 1, 2))
    finding = office.only().id
    with office.store.begin() as tx:
        [old] = effects.propose(tx, [plan(finding, "a", rule=RULE.name)], run=None, release="r1", policy="required")
        progress.move(tx, [Transition(finding, Event.PROPOSED, old)], by="reconcile")
        shown = stored.get(tx, old).plan_hash
    values: list[Any] = []

    def decides() -> None:
        try:
            person: Mapping[str, Any] = {"actor": "anna", "system": None, "note": None}
            values.append(decide[decision](store, finding, **person, plan_hash=shown))
        except Exception as error:  # noqa: BLE001 - looked at below
            values.append(error)

    store = Store.open(postgres_url, tmp_path, key=KEY, clock=lambda: office.clock.now)
    deciding = threading.Thread(target=decides)
    with office.store.begin() as tx:
        effects.lock_standing(tx, RULE.name)
        deciding.start()
        deciding.join(0.5)
        newer = plan(finding, "a", rule=RULE.name, note="newer")
        [new] = effects.propose(tx, [newer], run=None, release="r1", policy="required")
    deciding.join(20)

    with office.store.read() as tx:
        states = [stored.get(tx, name).state for name in (old, new)]
    assert [type(item) for item in values] == [PlanChanged]
    assert states == [PlanState.SKIPPED, PlanState.AWAITING]
    assert office.only().state is State.AWAITING
    store.close()
    office.store.close()


@pytest.mark.server
def test_a_worker_that_counts_for_several_rules_meets_a_run_of_one_of_them(postgres_url: str, tmp_path: Path) -> None:
    journal = Journal.at(postgres_url, tmp_path)
    first, second, item, two, three = journal.propose(*(plan(f"F-{n}", f"r{n}") for n in range(5)))
    for name, rule in ((first, "a"), (second, "b")):
        with journal.begin() as tx:
            count(tx, name, rule)
    store = Store.open(postgres_url, tmp_path, key=journal.store.key)
    failed: list[Exception] = []

    def counts() -> None:
        try:
            with store.begin() as tx:
                count(tx, three, "b")
        except Exception as error:  # noqa: BLE001 - looked at below
            failed.append(error)

    counting = threading.Thread(target=counts)
    with journal.begin() as tx:
        count(tx, item, "a")
        counting.start()
        counting.join(0.3)
        count(tx, two, "b")
    counting.join(20)

    assert failed == []
    store.close()
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
    store = Store.open(postgres_url, tmp_path, key=journal.store.key)
    passed = threading.Event()

    def runs() -> None:
        with store.begin() as tx:
            effects.lock_standing(tx, "twins")
            passed.set()

    running = threading.Thread(target=runs)
    with journal.begin() as tx:
        assert [item.id for item in effects.claim(tx, [name], ttl=dt.timedelta(minutes=1))] == [name]
        running.start()
        assert not passed.wait(0.5)
    assert passed.wait(20)
    running.join(20)
    store.close()
    journal.store.close()


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
    [item] = asking.plans()
    assert (item.state, item.owner) == (PlanState.UNKNOWN, None)

    asking.run()

    assert (asking.findings(), asking.shop.ids()) == ({asking.only(): "cleaned"}, [1, 3])
    with asking.open() as application:
        assert prove(application.store, {}).intact


@pytest.mark.slow
def test_a_plan_that_waited_for_more_than_a_day_is_counted_once_in_its_run(tmp_path: Path) -> None:
    rows = [(n, f"{n // 2}@x", "Anna") for n in range(2, 14)]
    rule = DELETE | {"limits": {"records": 6, "share": "100%", "group": 5}, "approval_expires": "30d"}
    world = World.at(tmp_path / "w", *rows, twins=rule)
    world.clock = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    world.run()
    world.clock += dt.timedelta(hours=30)

    decisions = [world.approve(name) for name in world.findings()]

    assert [item.ok for item in decisions] == [True] * 6
    world.add((20, "new@x", "Anna"), (21, "new@x", "Ann"))
    world.run()
    [last] = [name for name, state in world.findings().items() if state == "awaiting_approval"]
    with pytest.raises(BeyondLimits, match="7 rows would be changed by rule `twins` in 24 hours"):
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

    assert (world.shop.ids(), world.findings(), world.intact()) == ([1, 3], {world.only(): "cleaned"}, True)


ONE_SHARE = {"records": 100, "share": "100%", "group": 5}
TRIPLE = ((1, "a@x", "Ann"), (2, "a@x", "Anna"), (4, "a@x", "Anne"), (3, "b@x", "Bob"))


@pytest.mark.parametrize("limit", [{"records": 1}, {"group": 2}, {"share": "1%"}])
@pytest.mark.parametrize("over_limit", [False, True])
@pytest.mark.slow
def test_a_limit_that_is_tightened_after_an_approval_holds_at_the_act(
    limit: dict[str, Any], over_limit: bool, tmp_path: Path
) -> None:
    world = World.at(tmp_path / "w", *TRIPLE, twins=DELETE | {"limits": ONE_SHARE})
    world.run()
    world.approve(world.only(), over_limit=over_limit, later=True)
    world.rules = {"twins": DELETE | {"limits": ONE_SHARE | limit}}

    with world.open() as application:
        done = application.clean_due()

    assert (world.shop.ids(), world.intact()) == ([1, 2, 3, 4], True)
    assert "limit" in str(done)


@pytest.mark.slow
def test_a_limit_that_is_loosened_after_an_approval_stops_nothing(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TRIPLE, twins=DELETE | {"limits": ONE_SHARE})
    world.run()
    world.approve(world.only(), later=True)
    world.rules = {"twins": DELETE | {"limits": ONE_SHARE | {"records": 1_000, "group": 50}}}

    with world.open() as application:
        application.clean_due()

    assert world.shop.ids() == [1, 3]


@pytest.mark.parametrize("then", ["renamed", "removed"])
@pytest.mark.slow
def test_a_plan_that_waits_for_its_next_attempt_survives_a_new_name_and_ends_with_its_rule(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run is of a removed rule any more, and while its plan holds the records no other plan may touch them."""
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.clock = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    world.run()
    world.approve(world.only(), later=True)

    def fail(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("It is away", TransactionOutcome.NOT_DONE)

    monkeypatch.setattr(points, "armed", fail)
    with world.open() as application:
        application.clean_due()
    monkeypatch.setattr(points, "armed", None)
    [plan] = world.plans()
    assert plan.state is PlanState.RETRY_WAIT

    world.rules = {"pairs": DELETE | ({"was": "twins"} if then == "renamed" else {})}
    for _ in range(3):
        world.clock += dt.timedelta(hours=1)
        world.run()
    if then == "removed":
        assert [plan.state for plan in world.plans()] == [PlanState.SKIPPED, PlanState.AWAITING]
        [finding] = [name for name, state in world.findings().items() if state == "awaiting_approval"]
        assert world.approve(finding).ok
    assert (world.shop.ids(), world.intact()) == ([1, 3], True)


@pytest.mark.slow
def test_a_person_lets_go_on_what_was_approved_while_its_database_took_nothing(tmp_path: Path) -> None:
    """Also where nothing was tried yet: else no command would ever let anything be sent there again."""
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    [plan] = world.plans()
    with world.open() as application, application.store.begin() as tx:
        breaker.opened_for_person(tx, plan.target, "The user may not write")
    waits = world.approve(world.only())
    assert (waits.ok, waits.state) == (False, PlanState.APPROVED)
    assert "`reconcile retry`" in waits.sentence

    with world.decisions() as decisions:
        answer = decisions.retry(world.only())

    assert (answer.ok, world.shop.ids(), world.intact()) == (True, [1, 3], True)


NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


@pytest.mark.slow
def test_what_waits_for_a_time_that_a_clock_set_back_moved_away_is_not_waited_for_as_long(tmp_path: Path) -> None:
    """A message and a plan from a year that never was."""
    (tmp_path / "w" / "away").mkdir(parents=True)
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.config["channels"] = {"team": {"type": "file", "path": "away"}}
    world.clock = NOON + dt.timedelta(days=400)
    world.run()
    world.approve(world.only(), later=True)

    world.clock = NOON
    world.config["channels"] = {"team": {"type": "file", "path": "messages.txt"}}
    report = world.run()

    assert (report.sent, world.findings(), world.shop.ids()) == (("team", "team"), {world.only(): "cleaned"}, [1, 3])


@pytest.mark.slow
def test_serve_waits_no_longer_either_once_it_saw_the_clock_set_back(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.clock = NOON + dt.timedelta(days=400)
    world.run()
    world.approve(world.only(), later=True)
    with world.open() as application:
        host = HostTime("boot-1", 0)
        serving = Scheduler(application.store, host=lambda: host)
        serving.tick(application.project)
        world.clock = NOON

        serving.tick(application.project)

        assert executor.anything_due(application.store)
