"""What became of every cleaning is told: once while it waits, and once at its end, wherever it was executed."""

import datetime as dt
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from connectors.sql.source import SqlSource
from connectors.target import TargetError, TransactionOutcome
from reconcile.coordination import pauses
from reconcile.messages import between
from reconcile.people import tokens
from reconcile.views import plans
from tests.support.cli import Project
from tests.support.web import Browser, cheap_hashes, site_of
from tests.support.world import ALONE, TWO, World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]

NOON = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
_TOLD = ("cleaned", "undone", "waiting", "undos_waiting", "stale", "expired", "void", "withdrawn")


def told(world: World) -> Counter[str]:
    """What the messages received so far say became of cleanings, in sum."""
    path = world.folder / "messages.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    counts: Counter[str] = Counter()
    for line in lines:
        for cleaning in json.loads(line).get("cleaning", ()):
            counts.update({name: cleaning.get(name, 0) for name in (*_TOLD, "awaiting", "failed", "not_undone")})
    return +counts


def logged(world: World) -> Counter[str]:
    """The entries of the log that end a plan, read from the tables alone."""
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        events = connection.execute("SELECT event FROM audit").fetchall()
    return Counter(
        event for (event,) in events if event in ("operation.succeeded", "operation.skipped", "plan.skipped")
    )


def world_at(folder: Path, **rule: object) -> World:
    """Customers of whom two are one, after a first run, which only reports; under a clock that stands still."""
    world = World.at(folder, *TWO, twins=ALONE | rule)
    world.clock = NOON
    world.config["channels"] = {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}}
    world.run()  # a first run only reports
    return world


def pause(world: World, subject: str) -> None:
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, subject, reason="month end", by="anna")


def resume(world: World, subject: str) -> None:
    with world.open() as application, application.store.begin() as tx:
        pauses.resume(tx, subject, by="anna")


def test_automatic_cleaning_that_waits_for_a_pause_is_told_when_it_waits_and_when_it_is_done(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w")
    pause(world, pauses.of_source("shop"))
    world.run()
    world.run()
    waiting = told(world)
    resume(world, pauses.of_source("shop"))

    world.run()
    world.run()

    assert waiting == {"waiting": 1}
    assert told(world) == {"waiting": 1, "cleaned": 1}
    assert world.shop.ids() == [1, 3]


def test_plans_that_people_were_asked_about_say_that_they_wait_though_no_approval_is_needed_now(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="required")
    world.run()
    world.rules["twins"] = ALONE
    world.run()  # the rule was edited, so this run only reports

    world.run()

    [rule] = world.run().rules
    assert world.shop.ids() == [1, 2, 3]
    assert rule.cleaning.asked_before is not None
    assert rule.cleaning.asked_before.startswith("1 plan still waits for a decision: rule 'twins' needs no approval")
    assert rule.cleaning.asked_before in " ".join(
        fact["sentence"] for fact in world.command("status", "--json").json["facts"]
    )
    name, sentence = world.only(), "rule 'twins' needs no approval now, but people were asked about it before."
    [plan] = world.command("plan", "--json").json
    assert plan["asked_before"].endswith(sentence)
    assert world.command("show", name, "--json").json["plan"]["asked_before"] == plan["asked_before"]
    for command in (["plan"], ["show", name]):
        assert sentence in " ".join(world.command(*command).out.split())
    with site_of(world) as site:
        with site.store.begin() as tx:
            token = tokens.add(tx, "of-bob", "bob", by="ada")
        program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})
        assert program.get(f"/api/v1/findings/{name}").json["plan"]["asked_before"] == plan["asked_before"]
        assert sentence in site.browser("bob").get(f"/findings/{name}").text


def test_an_undo_and_an_expired_approval_are_told_once(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="required", approval_expires="1d")
    world.run()
    world.approve(world.only())
    world.run()
    world.undo(world.only())
    world.run()
    world.run()
    undone = told(world)
    world.add((4, "b@x", "Rob"))
    world.run()

    world.clock = NOON + dt.timedelta(days=2)
    world.run()
    world.run()

    assert (undone["cleaned"], undone["undone"]) == (1, 1)
    assert told(world)["expired"] == 1
    assert told(world)["cleaned"] == 1


def test_what_serve_executes_between_runs_is_told_once_it_is_settled(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w")
    pause(world, pauses.of_source("shop"))
    world.run()
    resume(world, pauses.of_source("shop"))
    with world.open() as application:
        application.clean_due()
    before = told(world)

    world.clock = NOON + dt.timedelta(minutes=2)
    for _ in range(2):
        with world.open() as application:
            with application.store.begin() as tx:
                if between.is_due(tx):
                    between.tell(tx, application.project)
            application.deliver()
    world.run()

    assert before == {"waiting": 1}
    assert told(world) == {"waiting": 1, "cleaned": 1}


@pytest.mark.parametrize(
    ("point", "waited"),
    [("store.done.committed", {}), ("store.sent.committed", {"waiting": 1}), ("target.committed", {})],
)
def test_cleaning_of_a_run_that_was_killed_is_told_once(point: str, waited: dict[str, int], tmp_path: Path) -> None:
    world = world_at(tmp_path / "w")
    with world.killed_at(point):
        world.run()

    for minutes in (5, 60, 120):
        world.clock = NOON + dt.timedelta(minutes=minutes)
        world.run()

    assert told(world) == {"cleaned": 1, **waited}
    assert (world.shop.ids(), logged(world)["operation.succeeded"]) == ([1, 3], 1)


_DEFERRED = {"rule": pauses.of_rule("twins"), "source": pauses.of_source("shop")}
"""What defers an automatic plan here; `test_deferral_matrix.py` has the other causes and doors."""


def _in_run(world: World) -> None:
    world.run()


def _in_serve(world: World) -> None:
    with world.open() as application:
        application.clean_due()
    world.clock = NOON + dt.timedelta(minutes=2)
    with world.open() as application:
        with application.store.begin() as tx:
            if between.is_due(tx):
                between.tell(tx, application.project)
        application.deliver()


@pytest.mark.parametrize("outcome", ["cleaned", "stale", "withdrawn"])
@pytest.mark.parametrize("door", [_in_run, _in_serve])
@pytest.mark.parametrize("deferred", list(_DEFERRED))
def test_each_outcome_of_a_deferred_plan_has_one_message_and_one_entry(
    deferred: str, door: Callable[[World], None], outcome: str, tmp_path: Path
) -> None:
    world = world_at(tmp_path / "w")
    pause(world, _DEFERRED[deferred])
    world.run()
    if outcome == "stale":
        world.shop.sql("UPDATE customers SET name = 'Anke' WHERE id = 2")
    if outcome == "withdrawn":
        with world.decisions() as decisions:
            decisions.reject(world.only())
    resume(world, _DEFERRED[deferred])

    door(world)
    last = told(world)
    world.run()

    assert {name: last[name] for name in ("waiting", outcome)} == {"waiting": 1, outcome: 1}
    assert (told(world)["waiting"], told(world)[outcome]) == (1, 1)
    assert logged(world).total() == (2 if outcome == "stale" and told(world)["cleaned"] else 1)


@pytest.mark.parametrize("door", [_in_run, _in_serve])
@pytest.mark.parametrize("is_undo", [False, True], ids=["cleaning", "undo"])
def test_a_cleaning_or_an_undo_that_fails_is_told_once_by_whoever_executes_it(
    is_undo: bool, door: Callable[[World], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_at(tmp_path / "w", approval="required")
    world.run()
    if is_undo:
        world.approve(world.only())
        world.run()
    pause(world, pauses.of_source("shop"))
    with world.decisions() as decisions:
        if is_undo:
            decisions.undo(world.only())
        else:
            decisions.approve(world.only())
    world.run()
    resume(world, pauses.of_source("shop"))

    def refuse(_self: SqlSource, _seconds: float) -> object:
        raise TargetError("it will never work", TransactionOutcome.TERMINAL)

    with monkeypatch.context() as patch:
        patch.setattr(SqlSource, "work", refuse)
        door(world)
    first = told(world)
    world.run()
    door(world)

    what = "not_undone" if is_undo else "failed"
    assert first[what] == 1
    assert told(world)[what] == 1
    assert "it will never work" in (world.folder / "messages.jsonl").read_text()
    assert world.shop.ids() == ([1, 3] if is_undo else [1, 2, 3])


def test_a_message_about_cleanings_says_of_which_findings_and_what_they_do(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w")

    world.run()

    lines = (world.folder / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    plans = [plan for line in lines for cleaning in json.loads(line)["cleaning"] for plan in cleaning["plans"]]
    assert plans == [{"finding": world.only(), "what": "cleaned", "does": "delete 1 record", "why": None}]


def test_a_plan_that_the_database_refuses_is_told_with_the_reason(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.config["channels"] = {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}}
    world.shop.sql(
        "CREATE TRIGGER kept BEFORE DELETE ON customers BEGIN SELECT raise(ABORT, 'customers are kept'); END"
    )
    for _ in range(2):
        world.run()  # the first one only reports, and a trigger needs approval

    with world.decisions() as decisions:
        decisions.approve(world.only())
    world.run()

    lines = (world.folder / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    [plan] = [plan for line in lines for cleaning in json.loads(line)["cleaning"] for plan in cleaning["plans"]]
    assert (plan["finding"], plan["what"]) == (world.only(), "skipped")
    assert plan["why"].startswith("A constraint of the target forbids it: ")


def test_a_plan_that_expired_is_shown_as_expired_wherever_it_is_shown(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="required", approval_expires="1d")
    world.run()
    name = world.only()
    with world.open() as application:
        [before] = [view for rule in plans.chosen(application, [], [], show=False, limit=None) for view in rule]

    shown = {words: world.command(*words.split()) for words in (f"plan --finding {name}", f"show {name}", "status")}

    assert isinstance(before, plans.PlanView)
    assert (before.is_expired, before.next_step[:20]) == (False, "waiting for approval")
    assert any(remark.startswith("it can be approved until ") for remark in before.remarks)
    texts = {words: " ".join(answer.said.split()) for words, answer in shown.items()}
    assert all("reconcile approve" not in text for text in texts.values())
    assert "its plan expired, and the next run plans it again: reconcile run" in texts[f"plan --finding {name}"]
    assert "reconcile run, which plans it again: its plan expired" in texts[f"show {name}"]
    assert "1 plan expired before approval and execution" in texts["status"]


def test_a_cleaning_that_waited_while_its_rule_was_renamed_is_told_under_the_new_name(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="required")
    world.run()
    pause(world, pauses.of_source("shop"))
    with world.decisions() as decisions:
        decisions.approve(world.only())
    resume(world, pauses.of_source("shop"))
    with world.open() as application:
        application.clean_due()
    world.rules["same"] = world.rules.pop("twins") | {"was": "twins"}

    world.run()

    lines = (world.folder / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    cleanings = [cleaning for line in lines for cleaning in json.loads(line)["cleaning"] if cleaning["cleaned"]]
    assert [(cleaning["rule"], cleaning["cleaned"]) for cleaning in cleanings] == [("same", 1)]


def test_each_channel_of_a_rule_hears_what_its_cleanings_came_to_whichever_job_made_them(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w")
    world.config["channels"] |= {"desk": {"type": "file", "path": "desk.jsonl", "format": "jsonl"}}
    world.config["jobs"] = {
        "nightly": {"rules": "all", "notify": ["team"]},
        "weekly": {"rules": "all", "notify": ["desk", "team"]},
    }
    world.run()
    world.run()

    lines = {name: (world.folder / f"{name}.jsonl").read_text().splitlines() for name in ("messages", "desk")}
    cleaned = {
        name: sum(cleaning["cleaned"] for line in written for cleaning in json.loads(line)["cleaning"])
        for name, written in lines.items()
    }
    assert cleaned == {"messages": 1, "desk": 1}


def test_a_new_plan_is_announced_when_the_one_that_one_of_two_people_approved_is_void(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="two_person")
    world.run()
    with world.decisions() as decisions:
        decisions.approve(world.only())
    world.shop.sql("UPDATE customers SET name = 'Anke' WHERE id = 2")

    world.run()
    counts = told(world)
    world.run()

    assert (counts["awaiting"], counts["stale"]) == (2, 1)
    assert told(world) == counts
    assert world.findings() == {world.only(): "awaiting_approval"}


def test_a_plan_that_is_void_since_its_table_changed_does_not_blame_the_configuration(tmp_path: Path) -> None:
    table = "create table customers (id integer primary key, email text)"
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.executescript(f"{table}; insert into customers values (1, 'a@x'), (2, 'a@x');")
        here = Project(tmp_path).write(
            """
            sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
            datasets: {customers: {source: shop, table: customers, id: id}}
            rules: {twins: {kind: duplicates, dataset: customers, key: [email], clean: {action: delete}}}
            channels: {people: {type: file, path: messages.txt}}
            """
        )
        here("run")
        here("approve", here("findings", "--json").json[0]["id"], "--later", "--over-limit")
        shop.executescript("alter table customers add column phone text;")
        here("run")

    message = (tmp_path / "messages.txt").read_text(encoding="utf-8")
    assert "1 void because the configuration or a table changed" in message
    assert "The plan is void: its table, or a reference to it, changed since it was planned" in message
