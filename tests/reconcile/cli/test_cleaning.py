"""The commands about cleanings: one sentence each, exit codes that scripts can trust, JSON where it is asked for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reconcile.cli import exits
from tests.support.cli import Project, invoked
from tests.support.world import DELETE, TWO, World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    item = World.at(tmp_path / "w", *TWO, twins=DELETE)
    item.write()
    monkeypatch.chdir(item.folder)
    monkeypatch.setenv("RECONCILE_ACTOR", "anna")
    return item


@pytest.mark.slow
def test_approve_says_what_was_done_and_undo_takes_it_back(world: World) -> None:
    world.run()
    finding = world.only()

    code, approved = invoked("approve", finding[:6])
    again, _ = invoked("approve", finding)
    back, undone = invoked("undo", finding)

    assert (code, again, back) == (0, exits.REFUSED, 0)
    assert approved.stdout.startswith(f"{finding} is cleaned: ")
    assert f"`reconcile undo {finding}`" in approved.stdout
    assert undone.stdout == f"Undone: 1 cleaning ({finding}).\n"
    assert world.shop.rows() == list(TWO)


def test_a_run_that_leaves_plans_waiting_ends_with_how_to_approve_them(world: World) -> None:
    _, proposed = invoked("run")
    invoked("approve", world.only())
    world.add((4, "d@x", "Di"), (5, "d@x", "Dee"), (6, "e@x", "Eve"), (7, "e@x", "Evi"))
    _, more = invoked("run")
    _, dry = invoked("run", "--dry-run")

    plans = "Next: reconcile plan, reconcile approve ID, reconcile dismiss ID"
    assert proposed.stderr.splitlines()[-1] == f"{plans} (1 plan waits for approval)"
    assert more.stderr.splitlines()[-1] == f"{plans} (2 plans wait for approval)"
    assert "Next:" not in dry.stderr


def test_show_says_that_a_cleaning_was_undone_and_what_to_do_next(world: World) -> None:
    world.run()
    finding = world.only()
    invoked("approve", finding)
    invoked("undo", finding, "--note", "two people")

    _, shown = invoked("show", finding)
    _, document = invoked("show", finding, "--json")
    commands = re.findall(r"reconcile ([^,\n]+)", shown.stderr)
    done = [invoked(*command.split())[0] for command in commands]

    assert re.search(r"The cleaning was undone by anna on [\d: -]+ UTC \(two people\)\.\n", shown.stdout)
    assert "reopen it first." in shown.stdout
    assert shown.stderr == f"Next: reconcile reopen {finding}, then reconcile plan --finding {finding}\n"
    undone = json.loads(document.stdout)["undone"]
    assert (undone["by"], undone["note"]) == ("anna", "two people")
    assert (done, world.findings()) == ([0, 0], {finding: "open"})


@pytest.mark.slow
def test_a_cleaned_finding_keeps_its_executed_plan_and_who_approved_it_also_after_an_undo(world: World) -> None:
    world.run()
    finding = world.only()
    waiting = json.loads(invoked("show", finding, "--json")[1].stdout)
    invoked("approve", finding)

    shown = invoked("show", finding)[1].stdout
    cleaned = json.loads(invoked("show", finding, "--json")[1].stdout)
    invoked("undo", finding)
    undone = json.loads(invoked("show", finding, "--json")[1].stdout)

    assert re.search(r"Executed on [\d: -]+ UTC, approved by anna:\n", shown)
    assert "\ndeleted  customers  id = 2\n" in shown
    assert ("executed" in waiting, "plan" in cleaned) == (False, False)
    assert cleaned["executed"]["approved_by"] == ["anna"]
    assert cleaned["executed"]["plan"]["plan_hash"] == waiting["plan"]["plan_hash"]
    assert undone["executed"]["plan"]["state"] == "compensated"
    assert undone["undone"]["by"] == "anna"


@pytest.mark.slow
def test_why_it_was_approved_and_taken_back_is_in_the_log_and_shown(world: World) -> None:
    world.run()
    finding = world.only()
    invoked("approve", finding, "--note", "one person")
    invoked("undo", finding, "--note", "two people after all")

    _, shown = invoked("show", finding, "--history")
    _, logged = invoked("audit", "--finding", finding, "--json")

    assert "plan." not in shown.stdout
    assert "anna  approved: one person\n" in shown.stdout
    assert "anna  undo requested: two people after all\n" in shown.stdout
    entries = json.loads(logged.stdout)
    written = [(entry["event"], entry["body"]["note"]) for entry in entries if "note" in entry["body"]]
    assert written == [("approval.approved", "one person"), ("plan.proposed", "two people after all")]


@pytest.mark.slow
def test_why_an_undo_was_withdrawn_is_in_the_log(world: World) -> None:
    world.run()
    finding = world.only()
    invoked("approve", finding)
    invoked("pause", "--rule", "twins")
    assert invoked("undo", finding)[0] == exits.REFUSED

    invoked("reject", finding, "--note", "it was right")

    assert "anna  note: it was right\n" in invoked("show", finding)[1].stdout


def test_a_dry_run_says_what_would_be_proposed_and_changes_nothing(world: World) -> None:
    before = sorted(path.name for path in world.folder.iterdir())

    _, ended = invoked("run", "--dry-run", "-q")

    assert "twins: 1 would be proposed" in ended.stdout
    assert sorted(path.name for path in world.folder.iterdir()) == before
    assert world.shop.rows() == list(TWO)


def test_a_dry_run_says_what_would_be_cleaned(world: World) -> None:
    world.rules["twins"] = DELETE | {"approval": "none"}
    world.run()

    _, ended = invoked("run", "--dry-run", "--json")

    assert json.loads(ended.stdout)["rules"][0]["cleaning"] == {"would_clean": 1, "would_propose": 0}
    assert world.shop.rows() == list(TWO)


@pytest.mark.slow
def test_a_run_says_what_it_carried_out_of_the_plans_of_earlier_ones(world: World) -> None:
    world.run()
    invoked("approve", world.only(), "--later")

    _, ended = invoked("run", "-q")
    _, again = invoked("run", "--json")

    assert "twins: 1 cleaned as planned by earlier runs; undo: reconcile undo --run run1_" in ended.stdout
    assert "of_before" not in json.loads(again.stdout)["rules"][0]["cleaning"]
    assert len(world.shop.rows()) == 2


def test_a_preview_shows_what_waits_for_a_decision_and_what_could_not_be_checked(world: World) -> None:
    world.run()
    _, asked = invoked("notify", "preview", "team")
    world.shop.sql("ALTER TABLE customers RENAME TO elsewhere")
    invoked("run", "-q")
    _, failed = invoked("notify", "preview", "team")

    assert "1 cleaning needs your decision" in asked.stdout
    assert f"reconcile approve {world.only()}" in asked.stdout
    assert "⚠️ could not check rule twins" in failed.stdout.splitlines()[0]


def test_a_finding_that_waits_for_a_person_says_how_to_answer(world: World) -> None:
    world.run()
    finding = world.only()

    _, waits = invoked("show", finding)
    invoked("reject", finding)
    _, rejected = invoked("show", finding)

    plan = f"--plan-hash {world.plans()[0].plan_hash[:12]}"
    answers = f"reconcile approve {finding} {plan} or reconcile reject {finding} {plan}"
    assert waits.stderr == f"Next: {answers}\n"
    assert rejected.stderr.startswith(f"Next: reconcile handle {finding} if it was dealt with elsewhere, or reconcile ")


@pytest.mark.slow
def test_show_says_of_an_undo_that_it_waits_and_why_it_was_not_done_in_the_end(world: World) -> None:
    world.run()
    finding = world.only()
    invoked("approve", finding)
    invoked("pause", "--rule", "twins", "--reason", "a look")
    code, refused = invoked("undo", finding)
    _, waits = invoked("show", finding)
    _, waits_json = invoked("show", finding, "--json")
    world.add((2, "z@x", "Zoe"))
    invoked("resume", "--rule", "twins")
    _, ended = invoked("run")
    _, failed = invoked("show", finding)
    _, failed_json = invoked("show", finding, "--json")

    assert code == exits.REFUSED
    assert f"`reconcile reject {finding}` withdraws it" in refused.stdout
    assert "Undo is approved" in waits.stdout
    assert f"reconcile reject {finding} withdraws it" in waits.stderr
    assert json.loads(waits_json.stdout)["undo"]["state"] == "approved"
    assert "Not undone: a row of customers to be inserted already exists" in ended.stdout
    assert "Undo failed: a row of customers to be" in failed.stdout
    assert failed.stderr == f"Next: reconcile undo {finding}\n"
    assert "to be inserted already exists" in json.loads(failed_json.stdout)["not_undone"]


@pytest.mark.slow
def test_a_run_that_could_not_do_an_undo_that_waited_ends_with_4(world: World) -> None:
    world.run()
    invoked("approve", world.only())
    invoked("pause", "--rule", "twins", "--reason", "a look")
    invoked("undo", world.only())
    world.add((2, "z@x", "Zoe"))
    invoked("resume", "--rule", "twins")

    assert [invoked("run", "-q")[0] for _ in range(2)] == [exits.REFUSED, exits.DONE]


def test_reject_leaves_everything_as_it_is(world: World) -> None:
    world.run()

    code, output = invoked("reject", world.only(), "--note", "my mother", "--json")

    assert code == 0
    assert "is rejected" in json.loads(output.stdout)["sentence"]
    assert world.shop.rows() == list(TWO)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("approve", "F-NNNNNN"), exits.WRONG),
        (("undo", "F-NNNNNN"), exits.WRONG),
        (("undo", "--run", "run1_none"), exits.WRONG),
        (("undo", "--plan", "P-NONE"), exits.WRONG),
        (("quarantine", "F-NNNNNN", "--done"), exits.WRONG),
    ],
    ids=lambda value: value if isinstance(value, int) else " ".join(value),
)
def test_what_is_not_there_is_refused_in_one_sentence(world: World, command: tuple[str, ...], code: int) -> None:
    world.run()

    ended, output = invoked(*command)

    assert ended == code
    assert len(str(output.exception)) > 20
    assert "\n" not in str(output.exception)


def test_a_decision_about_a_finding_that_is_not_in_quarantine_is_refused(world: World) -> None:
    world.run()
    finding = world.only()

    for identifier in (finding, world.plans(finding)[0].id):
        code, output = invoked("quarantine", identifier, "--done")

        assert code == exits.REFUSED
        assert str(output.exception).startswith(f"`{identifier}` is not in quarantine")


def test_a_plan_that_is_not_the_one_that_was_seen_is_refused(world: World) -> None:
    world.run()

    code, output = invoked("approve", world.only(), "--plan-hash", "00000000")

    assert code == exits.REFUSED
    assert "reconcile plan" in str(output.exception)
    assert world.shop.rows() == list(TWO)


@pytest.mark.slow
def test_a_command_that_a_refusal_names_can_be_typed_as_it_stands(world: World) -> None:
    world.run()
    finding = world.only()
    _, changed = invoked("approve", finding, "--plan-hash", "00000000")
    invoked("approve", finding)
    _, over = invoked("approve", finding)
    invoked("undo", finding)
    _, settled = invoked("reject", finding)

    for refused, named in ((changed, "plan --finding"), (settled, "reopen"), (over, "undo")):
        command = next(part for part in re.split(r"[`()]", str(refused.exception)) if part.startswith("reconcile "))
        assert command == f"reconcile {named} {finding}"
    assert invoked("reopen", finding)[0] == 0
    assert invoked("plan", "--finding", finding)[0] == 0


def test_a_plan_of_one_row_is_told_of_one_row(world: World) -> None:
    world.run()

    _, planned = invoked("plan")

    assert "\ntwins: 1 plan, 1 surplus record, 1 row changes\n" in planned.stdout


def test_a_run_that_limits_stopped_ends_with_4(world: World) -> None:
    world.rules["twins"] = DELETE | {"approval": "none", "limits": {"records": 1, "share": "100%"}}
    world.add((4, "b@x", "Bo"))
    world.run()

    code, output = invoked("run", "-q")

    assert code == exits.REFUSED
    assert "2 proposed" in output.stdout
    assert len(world.shop.rows()) == 4


def test_allow_says_whether_there_was_anything_to_allow(world: World) -> None:
    world.run()

    code, output = invoked("allow", "twins")

    assert (code, output.stdout) == (0, "Rule 'twins' was not stopped; nothing was changed.\n")


def test_an_empty_quarantine_is_an_empty_list(world: World) -> None:
    world.run()

    code, output = invoked("quarantine", "--json")

    assert (code, json.loads(output.stdout)) == (0, [])


@pytest.mark.slow
def test_what_was_done_at_once_has_one_name_everywhere(world: World) -> None:
    world.run()
    finding = world.only()
    _, planned = invoked("plan", "--json")
    plan_hash = json.loads(planned.stdout)[0]["plan_hash"]

    code, approved = invoked("approve", finding, "--plan-hash", plan_hash, "--json")
    plan = json.loads(approved.stdout)["plan"]
    back, _ = invoked("undo", "--plan", plan)
    again, repeated = invoked("undo", "--plan", plan)
    unknown, named = invoked("undo", "--plan", plan_hash)

    assert (code, back, again, unknown) == (0, 0, 0, exits.WRONG)
    assert plan.startswith("P-")
    assert repeated.stdout == f"The cleaning of {finding} is already undone; nothing was changed.\n"
    assert str(named.exception).startswith(f"There is no plan `{plan_hash}`")
    assert world.shop.rows() == list(TWO)


@pytest.mark.slow
def test_whoever_decides_about_the_plan_of_a_rule_that_only_reports_hears_what_can_be_decided(world: World) -> None:
    world.rules["twins"] = {}
    world.write()
    world.run()
    finding = world.only()

    for words in (
        ("approve",),
        ("reject",),
        ("approve", "--plan-hash", "00000000"),
        ("reject", "--plan-hash", "00000000"),
    ):
        code, refused = invoked(words[0], finding, *words[1:])

        assert code == exits.REFUSED
        assert "Rule 'twins'" in str(refused.exception)
        assert "has no `clean`" in str(refused.exception)
        assert f"`reconcile dismiss {finding}`" in str(refused.exception)
        assert "reconcile plan" not in str(refused.exception)
    assert invoked("dismiss", finding)[0] == 0


def world_at(folder: Path, *rows: tuple[Any, ...], **rules: Any) -> tuple[World, Project]:
    world = World.at(folder / "w", *(rows or TWO), **rules)
    world.write()
    return world, Project(world.folder)


@pytest.mark.slow
def test_undo_accepts_the_run_that_carried_out_what_an_earlier_one_planned(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")
    reconcile("approve", world.only(), "--later")
    carried = reconcile("run")
    run = reconcile("runs", "--json").json[0]["run"]

    undone = reconcile("undo", "--run", run)

    assert f"1 cleaned as planned by earlier runs; undo: reconcile undo --run {run}" in carried.out
    assert (undone.code, undone.out) == (0, f"Undone: 1 cleaning ({world.only()}).\n")
    assert world.shop.rows() == list(TWO)


@pytest.mark.slow
def test_undo_still_accepts_the_run_that_planned(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")
    planned = reconcile("runs", "--json").json[0]["run"]
    reconcile("approve", world.only(), "--later")
    reconcile("run", "-q")

    assert reconcile("undo", "--run", planned).out == f"Undone: 1 cleaning ({world.only()}).\n"


def test_an_undo_that_is_given_twice_says_that_it_is_done_already(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")
    reconcile("approve", world.only())
    [plan] = world.plans()
    reconcile("undo", world.only())

    for scope in ((world.only(),), ("--plan", plan.id), ("--run", reconcile("runs", "--json").json[0]["run"])):
        again = reconcile("undo", *scope)

        sentence = f"The cleaning of {world.only()} is already undone; nothing was changed.\n"
        assert (again.code, again.out) == (0, sentence)
    assert reconcile("undo", world.only(), "--json").json == {
        "undone": [],
        "failed": [],
        "conflicts": [],
        "not_restored": [],
    }
    assert world.shop.rows() == list(TWO)


def test_an_undo_of_what_was_never_cleaned_is_still_refused(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")

    answer = reconcile("undo", world.only())

    assert (answer.code, "No cleaning of" in answer.err) == (4, True)


def test_undo_of_a_run_that_only_planned_says_that_nothing_was_done(tmp_path: Path) -> None:
    _, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")

    answer = reconcile("undo", "--run", reconcile("runs", "--json").json[0]["run"])

    assert answer.code == 4
    assert "No cleaning of run" in answer.err
