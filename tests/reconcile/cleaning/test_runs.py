"""Cleaning as people meet it: what a run does by itself, what it asks, what stops it, and what survives a kill."""

import datetime as dt
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.sql.source import SqlSource
from connectors.target import TargetError, TransactionOutcome
from reconcile import points
from reconcile.cleaning import cleaning
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.execution import executor
from reconcile.cli import exits
from reconcile.coordination import lease, pauses
from reconcile.decisions import decide
from reconcile.decisions.refusals import BeyondLimits, NothingProposed, NotYours
from reconcile.decisions.request import DecisionResult
from reconcile.findings.results import CleaningResult
from reconcile.findings.states import PlanState
from reconcile.journal.approvals import PlanChanged
from reconcile.service.serve import ServeProcess
from reconcile.store import troubles as stored_troubles
from rules.kinds.base import Rule
from tests.support.world import ALONE, DELETE, MARK, TWO, World, asking

__all__ = ["asking"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World.at(tmp_path_factory.mktemp("ran") / "w", *TWO, twins=ALONE)
    world.run()
    return world


@pytest.fixture
def alone(ran: World, tmp_path: Path) -> World:
    """One group of twins, of a rule that asks nobody and has run once. A copy is another database, so it runs there."""
    world = World(shutil.copytree(ran.folder, tmp_path / "w"), dict(ran.rules))
    world.run()
    return world


# By itself


@pytest.mark.slow
def test_the_first_run_only_tells_and_the_second_cleans(alone: World) -> None:
    assert alone.shop.ids() == [1, 2, 3]
    assert alone.plans() == []

    report = alone.run()

    assert alone.cleaning(report) == {"cleaned": 1}
    assert alone.shop.ids() == [1, 3]
    assert alone.findings() == {alone.only(): "cleaned"}
    assert f"reconcile undo --run {report.run}" in alone.messages()
    assert alone.intact()


@pytest.mark.slow
def test_what_was_cleaned_stays_settled_and_is_not_told_again(alone: World) -> None:
    alone.run()
    told = alone.messages()

    again = alone.run()

    assert (alone.cleaning(again), alone.messages()) == ({}, told)
    assert alone.findings() == {alone.only(): "cleaned"}


@pytest.mark.slow
def test_the_first_run_after_an_edit_of_what_is_done_asks_nobody_and_does_nothing(alone: World) -> None:
    alone.rules["twins"] = ALONE | {"keep": [{"last": "id"}]}

    report = alone.run()

    assert (alone.cleaning(report), alone.shop.ids()) == ({}, [1, 2, 3])
    assert alone.cleaning(alone.run()) == {"cleaned": 1}
    assert alone.shop.ids() == [2, 3]


@pytest.mark.slow
def test_editing_a_comment_repeats_no_effect(alone: World) -> None:
    alone.run()
    alone.rules["twins"] = ALONE | {"runbook": "https://example.com/twins", "severity": "high"}

    alone.run()

    assert alone.events("operation.sent") == ["operation.sent"]


@pytest.mark.slow
def test_a_group_that_grows_never_repeats_the_effects_already_made(alone: World) -> None:
    alone.run()
    alone.add((9, "a@x", "Annie"))

    report = alone.run()

    assert alone.cleaning(report) == {"cleaned": 1}
    assert alone.shop.ids() == [1, 3]
    assert [plan.content.surplus for plan in alone.plans()] == [('[["n","2"]]',), ('[["n","9"]]',)]


@pytest.mark.slow
def test_what_a_killed_run_removed_is_no_unexpected_change_of_the_dataset(tmp_path: Path) -> None:
    rows = [(number, f"{number // 2}@x", "Ann") for number in range(240)]
    world = World.at(tmp_path / "w", *rows, twins=ALONE)
    world.run()

    with world.killed_at("target.committed"):
        world.run()
    assert len(world.shop.ids()) < 240

    report = world.run()

    assert report.rules[0].cleaning.stopped is None
    assert "cleaned" in set(world.findings().values())


@pytest.mark.slow
def test_all_plans_of_a_batch_that_was_killed_are_executed_by_the_next_run(tmp_path: Path) -> None:
    rows = [
        (number, f"{number // 2}@x", "Ann") for number in range(6)
    ]  # more could need more retries than a minute allows
    world = World.at(tmp_path / "w", *rows, twins=ALONE | {"limits": {"share": "100%"}})
    world.run()
    with world.killed_at("target.before_commit"):
        world.run()
    assert len(world.shop.ids()) == 6

    report = world.run()

    assert report.status == "succeeded"
    assert len(world.shop.ids()) == 3
    assert set(world.findings().values()) == {"cleaned"}


@pytest.mark.slow
def test_records_whose_key_the_rule_itself_emptied_are_no_reason_to_stop(tmp_path: Path) -> None:
    emptying = ALONE | {"clean": {"action": "set", "values": {"email": None}}}
    rows = [(number, f"{number // 2}@x", "Ann") for number in range(20)]
    world = World.at(tmp_path / "w", *rows, twins=emptying)
    world.run()
    assert world.cleaning(world.run()) == {"cleaned": 10}

    report = world.run()

    assert report.status == "succeeded"
    assert set(world.findings().values()) == {"cleaned"}


@pytest.mark.slow
def test_a_finding_that_a_person_decided_about_is_not_cleaned_without_that_person(tmp_path: Path) -> None:
    """Its plan was beyond a limit; when approved, its row had changed, so nothing was done."""
    rule = ALONE | {"limits": {"records": 1, "share": "100%", "group": 100}}
    rows = ((1, "a@x", "Ann"), (2, "a@x", "Ann"), (3, "b@x", "Bo"), (4, "b@x", "Bo"))
    world = World.at(tmp_path / "w", *rows, twins=rule)
    world.run()
    assert world.cleaning(world.run()) == {"proposed": 2}
    [first] = [plan.finding for plan in world.plans() if plan.content.surplus == ('[["n","2"]]',)]
    world.shop.sql("UPDATE customers SET name = 'Anna' WHERE id = 2")
    assert not world.approve(first).ok
    shown = {plan["finding"]: plan["approval"] for plan in world.command("plan", "--json").json}

    report = world.run()

    assert shown[first] == "required"
    assert world.cleaning(report)["proposed"] == 1
    assert world.findings()[first] == "awaiting_approval"
    assert world.shop.ids() == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_record_that_somebody_restored_is_a_persons_decision(alone: World) -> None:
    alone.run()
    alone.add((2, "a@x", "Ann"))

    report = alone.run()

    assert alone.cleaning(report) == {"proposed": 1}
    assert alone.findings() == {alone.only(): "awaiting_approval"}
    assert alone.shop.ids() == [1, 2, 3]


@pytest.mark.slow
def test_another_record_under_an_old_id_is_cleaned_as_a_new_one(alone: World) -> None:
    alone.run()
    alone.add((2, "a@x", "somebody else"))

    report = alone.run()

    assert alone.cleaning(report) == {"cleaned": 1}
    assert "operation.id_reused" in alone.events()


@pytest.mark.slow
def test_rules_clean_the_worst_first_and_the_second_sees_what_the_first_did(tmp_path: Path) -> None:
    later = ALONE | {"keep": [{"last": "id"}], "severity": "low"}
    world = World.at(tmp_path / "w", *TWO, gentle=later, harsh=ALONE | {"severity": "critical"})
    world.run()

    report = world.run()

    assert world.shop.ids() == [1, 3]
    assert world.cleaning(report, "harsh") == {"cleaned": 1}
    assert world.cleaning(report, "gentle") == {}


# Limits


def test_over_a_limit_everything_goes_to_people_and_nothing_is_truncated(tmp_path: Path) -> None:
    rows = [(number, f"{number // 2}@x", "A") for number in range(2, 12)]
    world = World.at(tmp_path / "w", *rows, twins=ALONE | {"limits": {"records": 3, "share": "100%"}})
    world.run()

    report = world.run()

    assert report.refused
    assert world.cleaning(report) == {"proposed": 5}
    assert len(world.shop.rows()) == 10
    assert set(world.findings().values()) == {"awaiting_approval"}
    assert "5 cleanings need your decision" in world.messages()


@pytest.mark.slow
def test_what_went_to_people_stays_with_them_when_the_limits_would_allow_it_again(tmp_path: Path) -> None:
    rows = [(number, f"{number // 2}@x", "A") for number in range(2, 12)]
    world = World.at(tmp_path / "w", *rows, twins=ALONE | {"limits": {"records": 3, "share": "100%"}})
    world.run()
    world.run()
    plans = {plan.id for plan in world.plans()}
    world.rules["twins"] = ALONE

    report = world.run()

    assert world.cleaning(report) == {}
    assert {plan.id for plan in world.plans()} == plans
    assert len(world.shop.rows()) == 10


def test_a_person_can_go_beyond_a_limit_and_that_is_written_down(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"limits": {"records": 100, "share": "1%"}})
    world.add((4, "b@x", "Bo"))
    world.run()
    first, second = world.findings()
    world.approve(first)

    with pytest.raises(BeyondLimits, match=f"reconcile approve {second} --over-limit"):
        world.approve(second)
    assert world.approve(second, over_limit=True).state is PlanState.SUCCEEDED
    assert "limits.exceeded" in world.events()


# Approval


def test_an_approved_plan_is_carried_out_and_says_how_to_take_it_back(asking: World) -> None:
    answer = asking.approve(asking.only())

    assert answer.ok
    assert f"reconcile undo {asking.only()}" in answer.sentence
    assert asking.shop.ids() == [1, 3]


def test_approving_twice_is_approving_once(asking: World) -> None:
    asking.approve(asking.only())

    with pytest.raises(NothingProposed):
        asking.approve(asking.only())
    assert asking.events("operation.sent") == ["operation.sent"]


def test_an_approval_that_another_process_takes_up_first_says_that_it_is_cleaned_now(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_sent, is_answered = threading.Event(), threading.Event()

    def execute_elsewhere() -> None:
        with asking.open() as another:
            another.clean_due()

    worker = threading.Thread(target=execute_elsewhere)

    def wait_for_the_other(label: str) -> None:
        if label == "approve.committed":
            worker.start()
            assert is_sent.wait(60)
        elif label == "store.sent.committed":
            is_sent.set()
            is_answered.wait(60)

    monkeypatch.setattr(points, "armed", wait_for_the_other)
    answer = asking.approve(asking.only())
    is_answered.set()
    worker.join()

    sentence = f"{asking.only()} is approved, and another process is cleaning it"
    assert (answer.sentence, answer.ok, answer.state) == (sentence, True, PlanState.SENT)
    assert asking.findings() == {asking.only(): "cleaned"}
    assert asking.events("operation.sent") == ["operation.sent"]


def test_an_approval_left_for_later_is_carried_out_by_the_next_run(asking: World) -> None:
    answer = asking.approve(asking.only(), later=True)
    assert (answer.state, asking.shop.ids()) == (PlanState.APPROVED, [1, 2, 3])

    asking.run()

    assert asking.shop.ids() == [1, 3]


def test_an_approval_holds_for_the_plan_that_was_shown_and_no_other(asking: World) -> None:
    with pytest.raises(PlanChanged, match="not `0123456789abcdef`"):
        asking.approve(asking.only(), plan_hash="0123456789abcdef")
    [plan] = asking.plans()

    assert asking.approve(asking.only(), plan_hash=plan.plan_hash[:12]).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        {"clean": {"action": "set", "values": {"name": "gone"}}},
        {"keep": [{"last": "id"}]},
        {"key": ["email", "name"]},
        {"where": "id < 3"},
    ],
    ids=["clean", "keep", "key", "where"],
)
def test_an_approval_is_void_when_the_rule_was_edited_after_it(asking: World, edit: dict[str, Any]) -> None:
    asking.approve(asking.only(), later=True)
    asking.rules["twins"] = DELETE | edit

    with asking.open() as application:
        application.clean_due()

    assert asking.shop.ids() == [1, 2, 3]
    assert asking.findings() == {asking.only(): "open"}
    assert [plan.state for plan in asking.plans()] == [PlanState.SKIPPED]


def test_an_approval_is_void_when_its_rule_asks_more_people_now(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    asking.rules["twins"] = DELETE | {"approval": "two_person"}

    with asking.open() as application:
        application.clean_due()

    assert asking.shop.ids() == [1, 2, 3]


def test_an_approval_is_void_when_the_table_changed(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    asking.shop.sql(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, c INTEGER REFERENCES customers (id) ON DELETE CASCADE)"
    )
    asking.shop.sql("INSERT INTO notes VALUES (1, 2)")

    with asking.open() as application:
        application.clean_due()

    assert (asking.shop.ids(), asking.shop.rows("notes")) == ([1, 2, 3], [(1, 2)])


def test_an_approval_that_came_to_its_date_is_void(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"approval_expires": "1d"})
    world.run()
    world.approve(world.only(), later=True)
    world.clock = dt.datetime.now(dt.UTC) + dt.timedelta(days=2)

    with world.open() as application:
        application.clean_due()

    assert world.shop.ids() == [1, 2, 3]


def test_two_persons_are_two_persons(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"approval": "two_person"})
    world.run()

    first = world.approve(world.only(), "anna")
    with pytest.raises(NotYours):
        world.approve(world.only(), "anna")
    second = world.approve(world.only(), "ben")

    assert "one more person" in first.sentence
    assert (second.state, world.shop.ids()) == (PlanState.SUCCEEDED, [1, 3])


@pytest.mark.slow
def test_a_record_that_changed_between_the_message_and_the_click_is_left_alone_and_planned_anew(asking: World) -> None:
    asking.shop.sql("UPDATE customers SET name = 'Anne' WHERE id = 2")

    answer = asking.approve(asking.only())

    assert not answer.ok
    assert "changed since it was planned (name). The next run plans it again" in answer.sentence
    assert (asking.shop.ids(), asking.findings()) == ([1, 2, 3], {asking.only(): "stale"})
    assert asking.cleaning(asking.run()) == {"proposed": 1}
    assert asking.approve(asking.only()).ok


@pytest.mark.slow
def test_a_rejected_plan_comes_back_only_when_it_is_another_one(asking: World) -> None:
    with asking.decisions() as decisions:
        decisions.reject(asking.only(), note="that is my mother")

    assert asking.cleaning(asking.run()) == {}
    assert asking.findings() == {asking.only(): "open"}

    asking.shop.sql("UPDATE customers SET name = 'Anne' WHERE id = 2")
    assert asking.cleaning(asking.run()) == {"proposed": 1}


@pytest.mark.parametrize("settle", [decide.dismiss, decide.handle])
def test_a_decision_that_settles_takes_the_plan_with_it(asking: World, settle: Callable[..., DecisionResult]) -> None:
    asking.approve(asking.only(), later=True)
    with asking.open() as application:
        settle(application.store, asking.only(), actor="anna")
        application.clean_due()

    assert asking.shop.ids() == [1, 2, 3]
    assert [plan.state for plan in asking.plans()] == [PlanState.SKIPPED]


@pytest.mark.slow
def test_a_defect_in_the_cleaning_of_one_rule_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    rows = (*TWO, (8, "c@x", "Same"), (9, "d@x", "Same"))
    world = World.at(tmp_path / "w", *rows, broken=ALONE | {"key": ["name"], "severity": "high"}, twins=ALONE)
    world.run()
    clean = cleaning.clean

    def falls_over(rule: Rule, *given: Any) -> CleaningResult:
        if rule.name == "broken":
            raise ZeroDivisionError
        return clean(rule, *given)

    monkeypatch.setattr(cleaning, "clean", falls_over)

    answer = world.command("run", "--json")

    broken, twins = (outcome["cleaning"] for outcome in answer.json["rules"])
    assert (answer.code, answer.json["status"]) == (exits.DEFECT, "failed")
    assert (broken["defect"], broken["cleaned"], twins["cleaned"]) == (True, 0, 1)
    assert "Reconcile itself failed (ZeroDivisionError)" in world.messages()
    assert world.shop.ids() == [1, 3, 8, 9]
    monkeypatch.undo()
    assert world.command("run").code == exits.DONE
    assert world.shop.ids() == [1, 3, 8]
    assert world.intact()


@pytest.mark.slow
def test_of_a_handled_finding_only_what_joins_is_cleaned_and_only_with_an_approval(tmp_path: Path) -> None:
    """The rule asks nobody, but a person has already acted on these records."""
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()  # the first run only reports
    name = world.only()
    assert world.command("handle", name, "--note", "merged in the shop").code == 0

    silent = [world.cleaning(world.run()) for _ in range(2)]
    world.add((9, "a@x", "Annie"))
    proposed = world.cleaning(world.run())
    answer = world.approve(name)

    assert (silent, proposed, answer.ok) == ([{}, {}], {"proposed": 1}, True)
    assert world.shop.ids() == [1, 2, 3]
    assert [plan.content.surplus for plan in world.plans()] == [('[["n","9"]]',)]
    assert world.intact()


@pytest.mark.parametrize("undone", [False, True])
@pytest.mark.slow
def test_a_handled_finding_stays_silent_after_what_joined_was_cleaned_or_its_cleaning_undone(
    tmp_path: Path, *, undone: bool
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    name = world.only()
    assert world.command("handle", name, "--note", "merged in the shop").code == 0
    world.add((9, "a@x", "Annie"))
    world.run()
    assert world.approve(name).ok

    runs = [world.run()]
    if undone:
        assert world.command("undo", name).code == 0
    runs += [world.run(), world.run()]

    told = [(of.new, of.grown, of.reopened, of.resolved) for report in runs for of in [report.rules[0].findings]]
    assert told == [(0, 0, 0, 0)] * 3
    assert [world.cleaning(report) for report in runs] == [{}] * 3
    assert world.findings() == {name: "undone" if undone else "cleaned"}
    assert world.shop.ids() == ([1, 2, 3, 9] if undone else [1, 2, 3])
    assert world.intact()


@pytest.mark.slow
def test_an_undo_leaves_what_was_handled_before_as_it_was(tmp_path: Path) -> None:
    """It says that the record which was cleaned is another one, and nothing about the others."""
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    name = world.only()
    assert world.command("handle", name, "--note", "merged in the shop").code == 0
    world.add((9, "a@x", "Annie"))
    world.run()
    assert world.approve(name).ok

    assert world.command("undo", name).code == 0

    shown = world.command("show", name, "--json").json
    assert (shown["handled_pairs"], shown["settled_pairs"]) == ([[[1], [2]]], [[[1], [9]], [[2], [9]]])
    assert world.intact()


@pytest.mark.slow
def test_what_was_cleaned_before_without_a_decision_is_cleaned_again_without_asking(tmp_path: Path) -> None:
    """A cleaning covers its records too; nobody decided about them."""
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    assert world.cleaning(world.run()) == {"cleaned": 1}
    world.add((9, "a@x", "Annie"))

    assert world.cleaning(world.run()) == {"cleaned": 1}
    assert world.intact()


@pytest.mark.slow
def test_of_two_who_must_approve_one_may_have_handled_it_elsewhere(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"approval": "two_person"})
    world.run()
    world.run()
    name = world.only()
    assert world.approve(name, actor="anna").sentence.endswith("one more person must approve it.")

    assert world.command("handle", name, "--note", "merged in the shop").code == 0
    with pytest.raises(NothingProposed, match=r"`reconcile reopen F-.+` opens it again"):
        world.approve(name, actor="ben")

    assert (world.findings(), world.shop.ids()) == ({name: "handled"}, [1, 2, 3])
    assert world.command("reopen", name).code == 0
    assert world.cleaning(world.run()) == {"proposed": 1}
    assert world.approve(name, actor="ben").sentence.endswith("one more person must approve it.")  # anna's is over


def test_a_finding_that_vanished_takes_its_plan_with_it(asking: World) -> None:
    asking.shop.sql("UPDATE customers SET email = 'other@x' WHERE id = 2")

    asking.run()

    assert [plan.state for plan in asking.plans()] == [PlanState.SKIPPED]
    assert asking.findings() == {asking.only(): "resolved"}


def test_nothing_is_sent_while_a_rule_is_paused(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    with asking.open() as application:
        with application.store.begin() as tx:
            pauses.pause(tx, "rule:twins", reason="audit", by="anna")
        tally = application.clean_due()

    assert tally is not None
    assert "audit" in tally.reasons[0]
    assert asking.shop.ids() == [1, 2, 3]


# Kills


@pytest.mark.slow
@pytest.mark.parametrize(
    "label",
    [
        *("plan.proposed", "store.claimed", "store.sent.before_commit", "store.sent.committed", "target.received"),
        *("target.changed", "target.before_commit", "target.committed", "store.done.before_commit"),
        *("store.done.committed",),
    ],
)
def test_a_worker_that_dies_anywhere_leaves_a_run_that_ends_the_same_once(alone: World, label: str) -> None:
    with alone.killed_at(label):
        alone.run()

    alone.run()
    alone.run()

    assert alone.shop.ids() == [1, 3]
    assert alone.findings() == {alone.only(): "cleaned"}
    assert alone.events("operation.succeeded") == ["operation.succeeded"]
    assert alone.intact()


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.slow
def test_a_lost_answer_to_commit_is_asked_about_and_never_guessed(
    alone: World, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = []

    def lose(reached: str) -> None:
        if reached == ("target.committed" if committed else "target.before_commit") and not broken:
            broken.append(reached)
            raise TargetError("The connection broke in COMMIT", TransactionOutcome.UNKNOWN)

    monkeypatch.setattr(points, "armed", lose)

    report = alone.run()

    assert alone.cleaning(report) == {"cleaned": 1}
    assert alone.shop.ids() == [1, 3]
    assert alone.events("operation.unknown") == ["operation.unknown"]


@pytest.mark.parametrize(("then", "ends"), [("as it was", [1, 2, 3]), ("done", [1, 3]), ("something else", [1, 2, 3])])
@pytest.mark.slow
def test_without_receipts_the_rows_say_whether_it_happened_and_else_a_person(
    alone: World, then: str, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqlSource, "remembers", lambda *_: False)
    label = "target.committed" if then == "done" else "target.before_commit"
    lost: list[str] = []

    def lose(reached: str) -> None:
        if reached == label and not lost:
            lost.append(reached)
            raise TargetError("The connection broke in COMMIT", TransactionOutcome.UNKNOWN)
        if reached == "resolve.begun" and then == "something else":
            alone.shop.sql("UPDATE customers SET name = 'Anne' WHERE id = 2")

    monkeypatch.setattr(points, "armed", lose)

    alone.run()

    states = {plan.state for plan in alone.plans()}
    if then == "something else":
        assert (states, alone.shop.ids()) == ({PlanState.QUARANTINED}, ends)
        assert "1 cleaning has an unknown outcome" in alone.messages()
    else:
        assert (states, alone.shop.ids()) == ({PlanState.SUCCEEDED}, [1, 3])


@pytest.mark.parametrize(
    ("said", "state", "finding"),
    [
        ("done", PlanState.SUCCEEDED, "cleaned"),
        ("not_done", PlanState.SUCCEEDED, "cleaned"),
        ("abandon", PlanState.FAILED, "failed"),
    ],
)
@pytest.mark.slow
def test_quarantine_ends_by_a_persons_word_and_by_nothing_else(
    alone: World, said: Any, state: PlanState, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqlSource, "remembers", lambda *_: False)

    def lose(reached: str) -> None:
        if reached == "target.before_commit":
            raise TargetError("The connection broke in COMMIT", TransactionOutcome.UNKNOWN)
        if reached == "resolve.begun":
            alone.shop.sql("UPDATE customers SET name = 'Anne' WHERE id = 2")

    monkeypatch.setattr(points, "armed", lose)
    alone.run()
    monkeypatch.setattr(points, "armed", None)
    alone.shop.sql("UPDATE customers SET name = 'Ann' WHERE id = 2")
    alone.run()
    assert alone.findings() == {alone.only(): "quarantined"}

    with alone.decisions() as decisions:
        [item] = decisions.quarantined()
        decisions.judge(item.finding, said, note="I looked")

    assert [plan.state for plan in alone.plans()] == [state]
    assert alone.findings() == {alone.only(): finding}


def test_a_process_that_outlived_its_claim_is_ended_before_its_work_is_taken_over() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        mine = lease.Owner.this_process(dt.timedelta(seconds=1))
        theirs = replace(mine, pid=process.pid, started=lease._process_started(process.pid) or 0)

        assert not lease.end(replace(theirs, started=theirs.started + 1))
        assert not lease.end(mine)
        assert lease.end(theirs)
        assert process.wait(5) == -9
    finally:
        process.kill()
        process.wait()


# Failures of the target


@pytest.mark.slow
def test_what_failed_is_tried_again_by_its_template_and_then_given_up_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {"retry": {"short": {"base": "1s", "cap": "1s", "attempts": 2, "budget": "1h"}}}
    world = World.at(tmp_path / "w", *TWO, twins=ALONE | {"retry": "short"}, config=quick)
    world.run()

    def refuse(_self: SqlSource, _seconds: float) -> Any:
        raise TargetError("Source 'shop' is locked", TransactionOutcome.NOT_DONE)

    monkeypatch.setattr(executor, "BATCH", 1)
    monkeypatch.setattr(SqlSource, "work", refuse)
    world.run()
    waiting = world.plans()[0]
    world.clock = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)
    world.run()

    assert (waiting.state, waiting.attempts) in ((PlanState.RETRY_WAIT, 1), (PlanState.FAILED, 2))
    assert world.findings() == {world.only(): "failed"}
    assert "failed and will not be retried" in world.messages()
    monkeypatch.undo()
    with world.decisions() as decisions:
        assert decisions.retry(world.only()).ok
    assert world.shop.ids() == [1, 3]


@pytest.mark.slow
def test_a_constraint_is_planned_anew_once_and_then_a_person_is_asked(
    alone: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(reached: str) -> None:
        if reached == "target.locked":
            raise TargetError("a foreign key forbids it", TransactionOutcome.CONFLICT)

    monkeypatch.setattr(points, "armed", forbid)

    states = []
    for _ in range(2):
        alone.run()
        states += alone.findings().values()

    assert states == ["stale", "failed"]
    assert alone.shop.ids() == [1, 2, 3]


@pytest.mark.slow
def test_what_only_a_person_can_mend_pauses_the_target_and_costs_no_attempt(
    alone: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(_self: SqlSource, _seconds: float) -> Any:
        raise TargetError("the user may not write", TransactionOutcome.PAUSE)

    monkeypatch.setattr(SqlSource, "work", deny)
    denied = alone.run()
    monkeypatch.undo()
    waits = alone.run()
    assert (denied.failed, waits.failed) == (True, True)
    [plan] = alone.plans()
    assert (plan.state, plan.attempts, alone.shop.ids()) == (PlanState.RETRY_WAIT, 0, [1, 2, 3])
    headline = "Reconcile: Cleaning in source 'shop' is stopped for now"
    messages, waiting = alone.messages(), "1 cleaning waits and will be done later (the user may not write; fix"
    assert (messages.count(headline), messages.count(waiting)) == (1, 1)
    assert messages.count("the user may not write") == 2
    status = alone.command("status").out
    assert "Cleaning in source 'shop' is stopped for now. the user may not write" in " ".join(status.split())

    with alone.decisions() as decisions:
        monkeypatch.setattr(SqlSource, "work", deny)
        answer = decisions.retry(alone.only())
        monkeypatch.undo()
        assert answer.sentence.endswith(f"the user may not write. Then run `reconcile retry {alone.only()}`")
        assert decisions.retry(alone.only()).ok
    assert alone.shop.ids() == [1, 3]
    assert not alone.run().failed
    assert alone.messages().count("✅ The target accepts changes again, and cleaning continues") == 1


@pytest.mark.slow
def test_a_stop_of_cleaning_is_over_when_its_last_plan_is(alone: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(_self: SqlSource, _seconds: float) -> Any:
        raise TargetError("the user may not write", TransactionOutcome.PAUSE)

    monkeypatch.setattr(SqlSource, "work", deny)
    alone.run()
    alone.rules["twins"] = {}  # it only reports
    alone.run()
    alone.run()

    assert alone.findings() == {alone.only(): "open"}
    assert alone.messages().count("Reconcile: Cleaning in source 'shop' is stopped for now") == 1
    assert alone.messages().count("✅ No cleaning is waiting for the target") == 1
    with alone.open() as application, application.memory.read() as tx:
        assert stored_troubles.ongoing(tx) == []


@pytest.mark.slow
def test_a_database_that_stays_away_is_told_once_when_only_a_plan_in_doubt_waits_for_it(alone: World) -> None:
    with alone.killed_at("target.committed"):
        alone.run()
    (alone.folder / "shop.db").rename(alone.folder / "away.db")

    def told(minutes: int) -> list[str]:
        alone.clock = (alone.clock or dt.datetime.now(dt.UTC)) + dt.timedelta(minutes=minutes)
        with alone.open() as application:
            application.clean_due()
            with application.memory.read() as tx:
                return [item.sentence.partition("\n")[0] for item in stored_troubles.ongoing(tx)]

    first = told(1)
    later = [told(20) for _ in range(9)]
    (alone.folder / "away.db").rename(alone.folder / "shop.db")
    after = told(20)
    alone.run()

    assert (first, after) == ([], [])
    assert later[-2:] == [["Cleaning in source 'shop' is stopped for now"]] * 2
    assert alone.findings() == {alone.only(): "cleaned"}
    assert alone.messages().count("Reconcile: Cleaning in source 'shop' is stopped for now") == 1
    assert alone.messages().count("✅ The target accepts changes again, and cleaning continues") == 1
    assert alone.shop.ids() == [1, 3]
    assert alone.events("operation.succeeded") == ["operation.succeeded"]


@pytest.mark.slow
def test_a_plan_that_waited_too_long_is_planned_anew_by_the_next_run(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"approval_expires": "1d"})
    world.run()
    world.clock = dt.datetime.now(dt.UTC) + dt.timedelta(days=2)

    report = world.run()

    assert world.cleaning(report) == {"proposed": 1}
    assert [plan.state for plan in world.plans()] == [PlanState.SKIPPED, PlanState.AWAITING]
    assert world.approve(world.only()).ok


@pytest.mark.slow
@pytest.mark.parametrize("label", ["store.sent.committed", "target.committed"])
def test_a_worker_that_slept_past_its_claim_finds_another_fence_and_writes_nothing(
    alone: World, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep: list[str] = []
    clock = executor._boot_seconds
    monkeypatch.setattr(executor, "_boot_seconds", lambda: clock() + 100 * len(asleep))

    def sleep(reached: str) -> None:
        if reached != label or asleep:
            return
        asleep.append(reached)
        with alone.open() as another:
            alone.bury()
            for _ in range(2):  # what it finds not done it tries again after a moment
                another.clean_due()
                time.sleep(1.1)

    monkeypatch.setattr(points, "armed", sleep)
    alone.run()

    assert asleep == [label]
    assert alone.shop.ids() == [1, 3]
    assert alone.findings() == {alone.only(): "cleaned"}
    assert alone.events("operation.succeeded") == ["operation.succeeded"]
    assert alone.intact()


def test_serve_carries_out_between_runs_what_was_approved_and_counts_it(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    server = ServeProcess(asking.folder / "reconcile.yaml", {}, str, listen="none")
    try:
        server.clean()
        server.clean()
        page = server.metrics.page()[0].decode()
    finally:
        server.application.close()
        server.store.close()

    assert asking.shop.ids() == [1, 3]
    assert 'reconcile_operations_total{outcome="done"} 1.0' in page
    assert 'reconcile_plans{state="approved"} 0.0' in page
    assert 'reconcile_breaker_open{source="shop"} 0.0' in page


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

    assert [plan.state for plan in world.plans()] == [PlanState.SUCCEEDED]


@pytest.mark.slow
def test_nothing_goes_by_itself_in_favour_of_a_record_that_another_rule_set_aside(tmp_path: Path) -> None:
    """One rule marked the first of two, in favour of the second; the other one would delete that second one."""
    last = MARK | {"keep": [{"last": "id"}], "where": "name <> 'twin'"}
    world = World.at(tmp_path / "w", *TWO, first=last, second=ALONE)
    world.run()
    world.run()

    assert world.shop.rows() == [(1, "a@x", "twin"), (2, "a@x", "Ann"), (3, "b@x", "Bob")]
    assert sorted(world.findings().values()) == ["awaiting_approval", "cleaned"]


@pytest.mark.slow
def test_nothing_goes_in_favour_of_a_record_that_was_set_aside_unless_that_was_taken_back(
    tmp_path: Path,
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=MARK)
    world.run()
    world.run()
    cleaned = world.only()
    world.shop.sql("DELETE FROM customers WHERE id = 1")
    world.add((9, "a@x", "Anne"))
    world.run()
    assert world.shop.rows() == [(2, "a@x", "twin"), (3, "b@x", "Bob"), (9, "a@x", "Anne")]

    world.undo(cleaned)
    world.add((8, "a@x", "Anni"))
    assert world.cleaning(world.run()) == {"proposed": 1}  # a person took back the cleaning of a record of the group
    [waiting] = [name for name, state in world.findings().items() if state == "awaiting_approval"]
    assert world.approve(waiting).ok

    assert [row[2] for row in world.shop.rows()].count("twin") == 2


@pytest.mark.server
def test_only_the_columns_that_a_foreign_key_would_empty_are_ever_emptied(postgres_url: str, tmp_path: Path) -> None:
    """`ON DELETE SET NULL (person)` leaves the row its tenant; all columns of the key emptied, it would be nobody's."""
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        link = "foreign key (tenant, person) references people on delete set null (person)"
        for item in (
            "create table people (tenant int, id int, email varchar(60), primary key (tenant, id))",
            f"create table orders (id int primary key, tenant int, person int, {link})",
            "insert into people values (1, 1, 'a@x'), (1, 2, 'a@x')",
            "insert into orders values (10, 1, 2)",
        ):
            connection.exec_driver_sql(item)
    settings = {
        "sources": {"shop": {"type": "sql", "url": postgres_url}},
        "datasets": {"people": {"source": "shop", "table": "people", "id": ["tenant", "id"]}},
    }
    rule = {"clean": {"action": "delete", "references": "capture"}, "dataset": "people"}
    world = World.at(tmp_path / "w", config=settings, twins=rule)
    world.run()

    with world.decisions() as decisions, pytest.raises(NotPlannable, match=r"ON DELETE SET NULL \(person\)"):
        decisions.approve(world.only())

    with engine.connect() as connection:
        assert connection.exec_driver_sql("select * from orders").all() == [(10, 1, 2)]
