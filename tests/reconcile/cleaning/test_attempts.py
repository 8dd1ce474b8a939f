"""Attempts of a cleaning that end before anything is sent: each is counted, written down and shown, as any other."""

import datetime as dt
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import structlog

from connectors.errors import AccessDenied
from connectors.sql.source import SqlSource
from connectors.target import TargetError, TargetRefused, TransactionOutcome
from reconcile.audit import log
from reconcile.cleaning.execution import executor
from reconcile.coordination import pauses
from reconcile.coordination.lease import Owner
from reconcile.decisions.request import DecisionRequest
from reconcile.findings.states import PlanState
from reconcile.journal import breaker
from reconcile.people.roles import Person, Role
from reconcile.service.children import RunProcess
from reconcile.service.serve import ServeProcess
from reconcile.service.workers import CLAIM
from reconcile.store import plans as stored
from reconcile.store import runs as stored_runs
from reconcile.store import slots
from reconcile.store.errors import StoreFull
from reconcile.upkeep import compaction
from reconcile.views.effects import effects
from rules.values import canonical_instant
from tests.support.serve import request, until
from tests.support.world import ALONE, DELETE, TWO, World, asking

pytestmark = pytest.mark.slow

__all__ = ["asking"]
SHORT = {"retry": {"short": {"base": "1s", "cap": "1s", "attempts": 3, "budget": "1m"}}}


CALM = {"retry": {"calm": {"base": "10m", "cap": "10m", "attempts": 5, "budget": "10h"}}}
"""Nothing waits for the next attempt."""


@contextmanager
def locked(world: World, how: str = "IMMEDIATE") -> Iterator[None]:
    """Another program writes to the shop; IMMEDIATE leaves it readable, EXCLUSIVE does not."""
    with closing(sqlite3.connect(world.folder / "shop.db", isolation_level=None)) as connection:
        connection.execute(f"BEGIN {how}")
        yield
        connection.execute("ROLLBACK")


def attempts(world: World) -> list[dict[str, Any]]:
    """The entries of the log about attempts that sent nothing."""
    with world.open() as application, application.store.read() as tx:
        return [dict(entry.body or {}) for entry in log.entries(tx, event="operation.attempted")]


def statuses(world: World) -> list[str]:
    """The status of each run as the state has it, the newest first."""
    with world.open() as application, application.store.read() as tx:
        return [row.status for row in stored_runs.listed(tx, "nightly", 20)]


@pytest.fixture
def alone(tmp_path: Path) -> World:
    """One group of twins, of a rule that asks nobody and has run once."""
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    return world


def _locked(*_: Any) -> Any:
    raise TargetError("Source 'shop' is locked", TransactionOutcome.NOT_DONE)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A database that says at once that it is locked, so that no test waits for its time limit."""

    with monkeypatch.context() as patch:
        patch.setattr(SqlSource, "adopt", _locked)
        yield patch


def test_each_attempt_on_a_locked_database_is_an_entry_and_the_rules_template_ends_them(
    tmp_path: Path, refused: pytest.MonkeyPatch
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"retry": "short"}, config=SHORT)
    world.run()
    world.clock = dt.datetime.now(dt.UTC)
    world.approve(world.only(), later=True)
    for _ in range(5):
        world.clock += dt.timedelta(seconds=10)
        with world.open() as application:
            application.clean_due()

    entries = attempts(world)
    assert [(entry["attempt"], entry["attempts_left"], entry["class"]) for entry in entries] == [
        (1, 2, "not_done"),
        (2, 1, "not_done"),
    ]
    assert all(entry["delay"] > 0 and entry["give_up_at"] and "locked" in entry["reason"] for entry in entries)
    assert world.events("operation.failed") == ["operation.failed"]
    assert [(plan.state, plan.attempts) for plan in world.plans()] == [(PlanState.FAILED, 3)]
    assert world.findings() == {world.only(): "failed"}
    assert (world.shop.ids(), world.intact()) == ([1, 2, 3], True)


def test_a_run_whose_cleaning_waits_for_its_database_failed_and_its_next_attempt_cleans_and_tells_once(
    alone: World, refused: pytest.MonkeyPatch
) -> None:
    alone.config, alone.rules["twins"] = CALM, ALONE | {"retry": "calm"}
    slot = dt.datetime.now(dt.UTC)
    answers = []
    for minutes in (0, 11):
        alone.clock = slot + dt.timedelta(minutes=minutes)
        with alone.open() as application:
            answers.append(application.run("nightly", slot=slot))
    waiting = alone.messages()
    refused.undo()
    alone.clock = slot + dt.timedelta(minutes=22)
    with alone.open() as application:
        report = application.run("nightly", slot=slot)

    assert [(answer.status, answer.failed, answer.repeated) for answer in answers] == [("failed", True, False)] * 2
    assert list(answers[0].problems) == ["Source 'shop' is locked"]
    assert (report.status, report.failed, alone.shop.ids()) == ("succeeded", False, [1, 3])
    assert statuses(alone)[0] == "succeeded"
    assert [entry["attempt"] for entry in attempts(alone)] == [1, 2]
    assert (waiting.count("cleaned\n"), alone.messages().count("✅ 1 finding cleaned\n")) == (0, 1)
    assert alone.intact()


def test_the_command_and_the_record_of_a_run_that_waits_agree(alone: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "DEADLINE", 1.0)  # the locked database says so soon
    alone.config |= CALM
    alone.rules["twins"] = alone.rules["twins"] | {"retry": "calm"}
    alone.write()
    with locked(alone):
        answer = alone.command("run")

    assert (answer.code, statuses(alone)[0]) == (3, "failed")
    assert "another program has locked it" in answer.out


def test_denied_rights_cost_no_attempt_and_are_an_entry_as_well(asking: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: Any) -> Any:
        raise AccessDenied("shop", "shop.db", "it may not write")

    asking.approve(asking.only(), later=True)
    with monkeypatch.context() as patch, asking.open() as application:
        patch.setattr(SqlSource, "adopt", deny)
        application.clean_due()
    [entry] = attempts(asking)
    [plan] = asking.plans()

    assert (entry["class"], entry["attempt"], entry["attempts_left"]) == ("paused", 1, 8)
    assert (plan.state, plan.attempts) == (PlanState.APPROVED, 0)
    with asking.decisions() as decisions:
        assert decisions.retry(asking.only()).ok
    assert (asking.shop.ids(), asking.intact()) == ([1, 3], True)


def test_a_plan_that_is_tried_again_says_so_wherever_it_is_shown(asking: World, refused: pytest.MonkeyPatch) -> None:
    asking.approve(asking.only(), later=True)
    server = ServeProcess(asking.folder / "reconcile.yaml", {}, str, listen="none")
    try:
        server.clean()
        page = server.metrics.page()[0].decode()
        with server.store.read() as tx:
            [tried] = [plan for plan in stored.find(tx) if plan.attempts]
        under_way = effects(server.application).to_json()["in_flight"]
    finally:
        server.application.close()
        server.store.close()
    shown = asking.command("show", asking.only()).out

    assert "1 attempt failed: Source 'shop' is locked. Next attempt: " in " ".join(shown.split())
    assert "reconcile  tried, nothing was sent" in shown
    assert [(view["state"], view["attempts"], view["reason"]) for view in under_way] == [
        ("approved", 1, "Source 'shop' is locked")
    ]
    assert under_way[0]["next_at"] == canonical_instant(tried.next_at)
    assert "reconcile_plans_to_retry 1.0" in page
    assert 'reconcile_operations_total{outcome="not_done"} 1.0' in page
    assert 'reconcile_retries_total{class="cleaning_not_done"} 1.0' in page


def test_a_batch_is_one_attempt_and_a_plan_that_was_not_due_has_none(
    tmp_path: Path, refused: pytest.MonkeyPatch
) -> None:
    twins = [(number, f"{number // 2}@x", "Anna") for number in range(2, 12)]
    world = World.at(tmp_path / "w", *twins, twins=DELETE)
    world.run()
    for name in list(world.findings())[:3]:
        world.approve(name, later=True)
    with world.open() as application:
        application.clean_due()

    assert len(attempts(world)) == 3
    assert sorted(plan.attempts for plan in world.plans()) == [0, 0, 1, 1, 1]


def test_an_approval_that_waits_for_its_next_attempt_can_be_withdrawn_and_expires(
    asking: World, refused: pytest.MonkeyPatch
) -> None:
    finding = asking.only()
    asking.approve(finding, later=True)
    with asking.open() as application:
        application.clean_due()
    with asking.decisions() as decisions:
        decisions.reject(finding)
    refused.undo()
    asking.run()

    assert asking.shop.ids() == [1, 2, 3]
    assert [plan.state for plan in asking.plans()] == [PlanState.SKIPPED]
    assert asking.intact()


@contextmanager
def away(world: World) -> Iterator[None]:
    """The database is not where it was."""
    (world.folder / "shop.db").rename(world.folder / "away.db")
    yield
    (world.folder / "away.db").rename(world.folder / "shop.db")


def in_the_terminal(world: World, finding: str) -> bool:
    answer = world.command("approve", finding)
    assert (answer.code, "is approved and waits: " in answer.said) == (3, True)
    return True


def among_many(world: World, finding: str) -> bool:
    return "1 decided" in world.command("approve", "--rule", "twins").out


def left_for_later(world: World, finding: str) -> bool:
    return world.command("approve", finding, "--later").code == 0


def in_the_console(world: World, finding: str) -> bool:
    [plan] = world.plans()
    with world.open() as application:
        person = Person("anna", Role.REVIEWER, sees_personal=False, origin="anna@console")
        return application.decisions_of(person).decide(DecisionRequest("approve", finding, plan=plan.plan_hash)).changed


@pytest.mark.parametrize("door", [in_the_terminal, among_many, left_for_later, in_the_console])
def test_an_approval_while_the_database_is_away_is_recorded_in_every_door_and_executed_later(
    asking: World, door: Callable[[World, str], bool]
) -> None:
    finding = asking.only()
    with away(asking):
        assert door(asking, finding)
        assert asking.findings() == {finding: "approved"}
    asking.clock = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)
    with asking.open() as application:
        application.clean_due()

    assert asking.findings() == {finding: "cleaned"}
    assert asking.events("approval.") == ["approval.approved"]
    assert asking.events("decision.") == []
    assert (asking.shop.ids(), asking.intact()) == ([1, 3], True)


def test_an_approval_given_while_the_database_was_away_is_void_if_another_state_cleans_there_now(
    asking: World, tmp_path: Path
) -> None:
    with away(asking):
        asking.approve(asking.only(), later=True)
    another = World.at(tmp_path / "another", twins=ALONE)
    another.config = {"sources": {"shop": {"type": "sql", "url": f"sqlite:///{asking.folder / 'shop.db'}"}}}
    another.run()
    another.run()
    with asking.open() as application:
        application.clean_due()

    assert another.findings() == {another.only(): "cleaned"}
    assert asking.findings() == {asking.only(): "approved"}
    assert asking.events("operation.succeeded") == []


@pytest.mark.parametrize("decision", ["approve", "keep", "undo"])
def test_what_cannot_be_decided_without_the_database_is_refused_and_logged_with_the_reason(
    asking: World, decision: str
) -> None:
    finding = asking.only()
    if decision == "undo":
        assert asking.approve(finding).ok
    if decision == "approve":  # without a plan that waits, one is made
        with asking.decisions() as decisions:
            decisions.reject(finding)
    with away(asking):
        answer = asking.command(decision, finding, *(["2"] if decision == "keep" else []))

    assert answer.code == 3
    with asking.open() as application, application.store.read() as tx:
        [entry] = log.entries(tx, event="decision.refused")
    assert (entry.body or {}).items() >= {"decision": decision, "finding": finding}.items()
    assert "shop" in (entry.body or {})["why"]
    assert "could not decide" in asking.command("show", finding, "--history").out
    assert asking.intact()


# Waiting


@contextmanager
def served(world: World) -> Iterator[ServeProcess]:
    """A server whose duties the test calls."""
    world.write()
    server = ServeProcess(world.folder / "reconcile.yaml", {}, str, listen="none")
    try:
        yield server
    finally:
        server.application.close()
        server.store.close()


@dataclass
class Minute:
    """A minute of a server that waits: its log lines, its queries, and what the state says."""

    lines: list[str]
    queries: int
    entries: list[str]


def wait_a_minute(server: ServeProcess, seconds: int = 60) -> Minute:
    """Let the duties of a server look at plans, messages and the schedule once a second, for a minute of its clock."""
    now = time.monotonic()
    queries: list[str] = []

    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        queries.append(statement)

    with server.store.read() as tx:
        before = len(list(log.entries(tx)))
        engine = tx.connection.engine
    sa.event.listen(engine, "before_cursor_execute", count)
    try:
        with structlog.testing.capture_logs() as lines:
            for second in range(seconds):
                server._waits.clock = lambda second=second: now + second  # type: ignore[misc]
                server.clean()
    finally:
        sa.event.remove(engine, "before_cursor_execute", count)
    with server.store.read() as tx:
        entries = [entry.event for entry in log.entries(tx)][before:]
    return Minute([line["event"] for line in lines], len(queries), entries)


def paused(world: World) -> None:
    assert world.command("pause", "--rule", "twins", "--reason", "month end").code == 0


def in_maintenance(world: World) -> None:
    window = {
        "source": "shop",
        "from": "00:00",
        "to": "24:00",
        "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
    }
    world.config = {"maintenance": [window]}


def broken(world: World) -> None:
    [plan] = world.plans()
    with world.open() as application, application.store.begin() as tx:
        breaker.opened_for_person(tx, plan.target, "The disk is full")


def another_owner(world: World) -> None:
    another = World.at(world.folder / "another", twins=DELETE)
    another.config = {"sources": {"shop": {"type": "sql", "url": f"sqlite:///{world.folder / 'shop.db'}"}}}
    another.run()
    assert another.command("target", "adopt", "shop").code == 0


@pytest.mark.parametrize("reason", [paused, in_maintenance, broken, another_owner])
def test_waiting_is_one_line_and_costs_as_little_as_having_nothing_to_do(
    tmp_path: Path, reason: Callable[[World], None]
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    with served(world) as server:
        idle = wait_a_minute(server)
    world.approve(world.only(), later=True)
    reason(world)
    with served(world) as server:
        minute = wait_a_minute(server)

    assert minute.lines == ["cleaning.waits"]
    begun = ["message.queued", "trouble.begun"]
    told = {"broken": begun, "another_owner": ["target.opened", *begun]}
    assert minute.entries == told.get(reason.__name__, [])
    assert minute.queries <= 2 * idle.queries
    assert world.intact()


def test_people_are_told_once_that_another_state_cleans_there_and_once_that_it_is_over(asking: World) -> None:
    finding = asking.only()
    asking.approve(finding, later=True)
    another_owner(asking)
    with served(asking) as server:
        wait_a_minute(server)
        wait_a_minute(server)
        server.deliver()
        [shown] = effects(server.application).not_closed
        page = server.metrics.page()[0].decode()
    assert (shown.source, shown.probe_at is not None) == ("shop", True)
    assert 'reconcile_breaker_open{source="shop"} 1.0' in page
    status = asking.command("status").out
    headline = "Reconcile: Cleaning in source 'shop' is stopped for now"
    assert asking.messages().count(headline) == 1
    assert "is cleaned by another state" in asking.messages()
    assert "reconcile target adopt shop" in status
    assert "reconcile run" not in status
    assert (asking.command("run").code, asking.events("target.")) == (4, ["target.opened"])

    assert asking.command("target", "adopt", "shop").code == 0
    with served(asking) as server:
        server.clean()
        server.deliver()
    assert asking.messages().count("✅ The target accepts changes again, and cleaning continues") == 1
    assert (asking.findings(), asking.shop.ids(), asking.intact()) == ({finding: "cleaned"}, [1, 3], True)


def test_a_refusing_source_is_asked_again_after_longer_and_longer_waits_and_goes_on_by_itself(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    asking.clock = dt.datetime.now(dt.UTC)
    asked: list[str] = []

    def refuse(target: SqlSource, *_: Any) -> Any:
        asked.append(target.name)
        raise TargetRefused("Table `customers` has an engine without transactions; nothing is cleaned there")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlSource, "remembers", refuse)
        for _ in range(120):
            asking.clock += dt.timedelta(seconds=30)
            with asking.open() as application:
                application.clean_due()
    asking.clock += dt.timedelta(minutes=15)
    with asking.open() as application:
        application.clean_due()

    assert len(asked) == 8  # 0, 30 s, 90 s, 3.5, 7.5, 15.5, 30.5 and 45.5 minutes
    assert [event for event in asking.events("target.") if event != "target.first_seen"] == [
        "target.opened",
        "target.closed",
    ]
    assert (asking.shop.ids(), asking.intact()) == ([1, 3], True)


def test_a_plan_that_waits_on_for_the_same_reason_has_one_entry(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    asking.clock = dt.datetime.now(dt.UTC)
    with asking.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_job("nightly"), reason="month end", by="anna")
    for _ in range(4):
        asking.clock += dt.timedelta(minutes=6)
        with asking.open() as application:
            application.clean_due()
    with asking.open() as application, application.store.begin() as tx:
        pauses.resume(tx, pauses.of_job("nightly"), "anna")
    asking.clock += dt.timedelta(minutes=6)
    with asking.open() as application:
        application.clean_due()

    assert asking.events("operation.released") == ["operation.released"]
    assert (asking.shop.ids(), asking.intact()) == ([1, 3], True)


def test_serve_counts_a_run_that_waits_for_its_database_as_failed_and_says_why(alone: World) -> None:
    alone.write()
    with alone.open() as application:
        identity = application.target("shop").identity()
        with application.store.begin() as tx:
            breaker.opened_for_person(tx, identity, "The disk is full")
        request(application.store, "nightly")
        with application.store.begin() as tx:
            row = slots.take(tx, slots.ready(tx)[0], Owner.this_process(CLAIM).to_json(), tx.now + CLAIM)
        assert row is not None
        child = RunProcess(application.project, row, str)
        until(lambda: child.ended() is not None)
    outcome = child.ended()

    assert outcome is not None
    assert (outcome.how, statuses(alone)[0], alone.shop.ids()) == ("failed", "failed", [1, 2, 3])
    assert "The disk is full" in (outcome.sentence or "")


def test_a_cleaning_that_cannot_be_planned_for_its_database_is_an_entry_and_the_run_failed(
    alone: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(SqlSource, "rows", _locked)
        report = alone.run()
    with alone.open() as application, application.store.read() as tx:
        [entry] = log.entries(tx, event="cleaning.not_planned")

    assert (report.status, report.failed, statuses(alone)[0]) == ("failed", True, "failed")
    assert (entry.body or {})["why"] == "Source 'shop' is locked"
    assert alone.run().status == "succeeded"
    assert (alone.shop.ids(), alone.intact()) == ([1, 3], True)


def test_an_undo_whose_database_refuses_it_is_recorded_and_done_later(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = asking.only()
    assert asking.approve(finding).ok
    asking.rules["twins"] = DELETE | {"retry": "calm"}
    asking.config = CALM
    with monkeypatch.context() as patch, asking.open() as application:
        patch.setattr(SqlSource, "adopt", _locked)
        person = Person("anna", Role.OPERATOR, sees_personal=False, origin="anna@console")
        answer = application.decisions_of(person).decide(DecisionRequest("undo", finding))
    assert (answer.changed, answer.became) == (True, "to be undone, and waiting")
    assert f"not undone: {finding}: waiting: Source 'shop' is locked" in answer.sentence
    asking.clock = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=15)
    with asking.open() as application:
        application.clean_due()

    assert [entry["attempt"] for entry in attempts(asking)] == [1]
    assert (asking.findings(), asking.shop.ids(), asking.intact()) == ({finding: "undone"}, [1, 2, 3], True)


def test_an_undo_of_a_table_that_is_a_view_now_says_so(asking: World, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = asking.only()
    assert asking.approve(finding).ok
    with monkeypatch.context() as patch, asking.open() as application:
        patch.setattr(SqlSource, "adopt", _locked)
        person = Person("anna", Role.OPERATOR, sees_personal=False, origin="anna@console")
        assert application.decisions_of(person).decide(DecisionRequest("undo", finding)).changed
    with closing(sqlite3.connect(asking.folder / "shop.db")) as connection:
        connection.executescript(
            "alter table customers rename to people; create view customers as select * from people"
        )
    asking.clock = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)
    with asking.open() as application:
        application.clean_due()

    [undo] = [plan for plan in asking.plans() if plan.undoes]
    assert "view" in (undo.reason or "")


def test_a_run_that_cannot_delete_old_data_says_so(alone: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise StoreFull("state.db", "database or disk is full")

    monkeypatch.setattr(compaction, "daily", refuse)
    alone.write()
    report = alone.run()

    assert report.status == "succeeded"
    assert "has no space left" in (report.uncompacted or "")


def test_a_full_disk_is_told_once_and_cleaning_goes_on_by_itself_when_there_is_room(
    alone: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_: Any) -> Any:
        raise TargetError("Source 'shop' has no room left", TransactionOutcome.PAUSE)

    alone.clock = dt.datetime.now(dt.UTC)
    reports = []
    with monkeypatch.context() as patch:
        patch.setattr(SqlSource, "work", deny)
        for minutes in (0, 5, 20, 20):
            alone.clock += dt.timedelta(minutes=minutes)
            reports.append(alone.run())
        during = alone.messages()
    alone.clock += dt.timedelta(minutes=20)
    reports.append(alone.run())

    assert [report.status for report in reports] == [*["failed"] * 4, "succeeded"]
    assert during.count("Reconcile: Cleaning in source 'shop' is stopped for now") == 1
    assert alone.messages().count("✅ The target accepts changes again, and cleaning continues") == 1
    assert [event for event in alone.events("target.") if event != "target.first_seen"] == [
        "target.opened_for_person",
        *["target.probed"] * 3,
        "target.closed",
    ]
    assert [plan.attempts for plan in alone.plans()] == [1]
    assert (alone.shop.ids(), alone.intact()) == ([1, 3], True)
