"""Decisions about many findings at once: how they are chosen, that each is checked, and that nothing is an accident."""

import contextlib
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from reconcile.cli import exits
from reconcile.decisions import decide
from reconcile.decisions.conditions import ConditionRefused
from reconcile.decisions.many import decide_each
from reconcile.decisions.selection import Selection, selected
from reconcile.people.roles import Person, Role
from reconcile.store.findings import find
from tests.support.cli import invoked
from tests.support.world import DELETE, Kept, World

GROUPS = 22


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    rows = [(2 * n + half, f"{n:02}@x", f"Name {half}") for n in range(GROUPS) for half in (0, 1)]
    folder = tmp_path_factory.mktemp("prepared") / "w"
    world = World.at(folder, *rows, (99, f"{GROUPS - 1:02}@x", "Name"), twins=DELETE)
    world.run()
    return world.kept()


@pytest.fixture
def world(prepared: Kept, monkeypatch: pytest.MonkeyPatch) -> World:
    """Groups of two customers with an e-mail of their own, the last one of three; their plans wait for approval."""
    world = prepared.restored()
    monkeypatch.chdir(world.folder)
    monkeypatch.setenv("RECONCILE_ACTOR", "anna")
    return world


def states(world: World) -> dict[str, int]:
    counted: dict[str, int] = {}
    for state in world.findings().values():
        counted[state] = counted.get(state, 0) + 1
    return counted


def by_key(world: World) -> dict[str, str]:
    """The ids of findings by their e-mail."""
    with world.open() as application, application.store.read() as tx:
        return {str(finding.key["email"]): finding.id for finding in find(tx)}


def test_several_ids_are_decided_in_their_order_with_a_summary(world: World) -> None:
    names = by_key(world)
    first, second = names["00@x"], names["01@x"]

    code, answer = invoked("dismiss", second, first, first, "--note", "two people")

    lines = answer.stdout.splitlines()
    assert (code, [line[:8] for line in lines[:2]]) == (0, [second[:8], first[:8]])
    assert lines[2] == "2 findings: 2 decided."
    assert states(world) == {"dismissed": 2, "awaiting_approval": GROUPS - 2}


@pytest.mark.slow
def test_many_are_handled_with_their_number_and_the_second_time_nothing_changes(world: World) -> None:
    refused, _ = invoked("handle", "--rule", "twins")
    code, answer = invoked("handle", "--rule", "twins", "--confirm", str(GROUPS), "--note", "merged in the shop")
    again, unchanged = invoked("handle", *by_key(world).values(), "--confirm", str(GROUPS))

    assert (refused, code, answer.stdout.splitlines()[-1]) == (
        exits.REFUSED,
        0,
        f"{GROUPS} findings: {GROUPS} decided.",
    )
    assert (again, unchanged.stdout.splitlines()[-1]) == (0, f"{GROUPS} findings: {GROUPS} unchanged.")
    assert states(world) == {"handled": GROUPS}
    assert invoked("handle", "--rule", "twins")[1].stdout == "0 findings: nothing to decide.\n"


def test_a_wrong_id_among_several_stops_everything_before_anything_is_decided(world: World) -> None:
    code, answer = invoked("dismiss", by_key(world)["00@x"], "F-NOBODY1")

    assert (code, states(world)) == (exits.WRONG, {"awaiting_approval": GROUPS})
    assert "There is no finding `F-NOBODY1`" in str(answer.exception)


def test_more_than_twenty_need_their_number(world: World) -> None:
    refused, why = invoked("dismiss", "--rule", "twins")
    wrong, why_wrong = invoked("dismiss", "--rule", "twins", "--confirm", "21")
    before = states(world)
    code, answer = invoked("dismiss", "--rule", "twins", "--confirm", str(GROUPS))

    assert (refused, wrong, before) == (exits.REFUSED, exits.REFUSED, {"awaiting_approval": GROUPS})
    assert str(why.exception) == f"{GROUPS} findings match. Nothing changed; repeat with --confirm {GROUPS}"
    assert f"{GROUPS} findings match, not 21." in str(why_wrong.exception)
    assert (code, answer.stdout.splitlines()[-1]) == (0, f"{GROUPS} findings: {GROUPS} decided.")
    assert states(world) == {"dismissed": GROUPS}
    late, why_late = invoked("dismiss", "--rule", "twins", "--confirm", str(GROUPS))
    assert (late, str(why_late.exception)) == (
        exits.REFUSED,
        f"No finding matches, not {GROUPS}. Nothing changed; `reconcile status` lists what waits",
    )


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("records > 2", [f"{GROUPS - 1:02}@x"]),
        ("email in ('03@x', '04@x') and state = 'awaiting_approval'", ["03@x", "04@x"]),
        ("email = '05@x' and rule = 'twins'", ["05@x"]),
        ("email = '05@x' and first_seen > slot() - 1d", ["05@x"]),
        ("email = '05@x' and money > 3", []),
        ("money is null and email = '06@x'", ["06@x"]),
        ("email = '05@x' and assigned_to = 'anna'", []),
    ],
)
def test_a_condition_chooses_by_what_is_known_of_a_finding(world: World, condition: str, keys: list[str]) -> None:
    code, answer = invoked("assign", "--where", condition, "maria", "--json")

    decided = sorted(finding["finding"] for finding in json.loads(answer.stdout)["findings"])
    assert (code, decided) == (0, sorted(by_key(world)[key] for key in keys))


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("rule = twins", "`twins` is not known here at column 8 of `rule = twins`; for a text write 'twins'; use rule"),
        (
            "email = DHL",
            "None of these findings has money in `DHL` at column 9 of `email = DHL`; for a text write 'DHL'",
        ),
        ("nmae = 'x'", "`nmae` is not known here at column 1 of `nmae = 'x'`; use rule, state, form"),
        ("email > 3", "email"),
        ("EUX < 3", "None of these findings has money in `EUX` at column 1"),
        ("records >", "at column"),
        ("records", "condition"),
    ],
)
def test_a_condition_that_makes_no_sense_is_told_and_nothing_is_decided(world: World, condition: str, why: str) -> None:
    code, answer = invoked("dismiss", "--where", condition)

    assert code == exits.WRONG
    assert why in str(answer.exception)
    assert states(world) == {"awaiting_approval": GROUPS}


def test_a_column_of_the_key_with_the_name_of_something_else_is_refused(tmp_path: Path) -> None:
    """`state = 'open'` could mean either, and the wrong one would be decided."""
    world = World.at(tmp_path / "w", (1, "a@x", "open"), (2, "a@x", "open"), twins={"key": ["state"]})
    dataset = {"source": "shop", "table": "customers", "id": "id", "columns": {"state": {"is": "name"}}}
    world.config["datasets"] = {"customers": dataset}
    with world.open() as application:
        application.run("nightly")
        with pytest.raises(ConditionRefused, match="could mean the finding's or a column of its key"):
            selected(application.decisions("bob"), "dismiss", Selection(where="state = 'open'"))


@pytest.mark.parametrize(
    ("condition", "rules"),
    [
        ("SKU = 'X1'", ["goods"]),
        ("SKU is null", []),
        ("EUR < 10", ["goods", "twins"]),
        ("EUR > 10", []),
        ("key_state = 'X1'", ["states"]),
        ("USD < 3", ["dollars"]),
    ],
)
def test_a_name_selects_only_findings_that_have_it(tmp_path: Path, condition: str, rules: list[str]) -> None:
    """A column of another rule's key, and money in another currency, are not read as empty or as zero."""
    columns = {"SKU": {"is": "name"}, "state": {"is": "name"}}
    dataset: dict[str, Any] = {"source": "shop", "table": "customers", "id": "id"}
    world = World.at(tmp_path / "w", (1, "a@x", "X1"), (2, "a@x", "X1"), twins={}, goods={"key": ["SKU"]})
    world.rules |= {"states": {"key": ["state"], "dataset": "plain"}, "dollars": {"dataset": "foreign"}}
    world.config["datasets"] = {
        "customers": dataset | {"columns": columns, "money": {"amount": "id", "currency": "EUR"}},
        "foreign": dataset | {"money": {"amount": "id", "currency": "USD"}},
        "plain": dataset | {"columns": columns},
    }
    with world.open() as application:
        application.run("nightly")
        requests = selected(application.decisions("bob"), "dismiss", Selection(where=condition))
        with application.store.read() as tx:
            of = {finding.id: finding.rule for finding in find(tx)}

    assert sorted(of[request.finding] for request in requests) == rules


def test_a_severity_chooses_that_and_worse(world: World) -> None:
    none, answer = invoked("dismiss", "--severity", "critical")
    unknown, why = invoked("dismiss", "--severity", "grave")

    assert (none, answer.stdout) == (0, "0 findings: nothing to decide.\n")
    assert (unknown, "grave" in str(why.exception)) == (exits.WRONG, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["dismiss"],
        ["dismiss", "F-1", "--rule", "twins"],
        ["approve", "F-1", "--plan-file", "plans.json"],
        ["approve", "F-1", "F-2", "--plan-hash", "abcdefgh"],
        ["undo", "F-1", "--run", "run1_x"],
    ],
)
def test_findings_are_chosen_in_exactly_one_way(world: World, arguments: list[str]) -> None:
    code, answer = invoked(*arguments)

    assert (code, "give" in str(answer.exception) or "needs" in str(answer.exception)) == (exits.WRONG, True)


@pytest.mark.slow
def test_the_plans_of_a_file_are_approved_as_they_were_written_and_undone_together(world: World) -> None:
    """A plan that changed since the file was written is refused; the others are carried out."""
    _, written = invoked("plan", "--json")
    (world.folder / "plans.json").write_text(written.stdout)
    world.shop.sql("INSERT INTO customers VALUES (200, '00@x', 'Name 3')")
    world.run()

    refused, _ = invoked("approve", "--plan-file", "plans.json")
    code, approved = invoked("approve", "--plan-file", "plans.json", "--confirm", str(GROUPS), "--json")
    after = states(world)
    back, undone = invoked("undo", "--rule", "twins", "--confirm", str(GROUPS - 1))

    answer: dict[str, Any] = json.loads(approved.stdout)
    [not_done] = [finding for finding in answer["findings"] if finding["status"] == "not_done"]
    assert (refused, code) == (exits.REFUSED, exits.REFUSED)
    assert (answer["decided"], answer["unchanged"], answer["not_done"]) == (GROUPS - 1, 0, 1)
    assert (not_done["finding"], "Look at the current plan" in not_done["sentence"]) == (by_key(world)["00@x"], True)
    assert after == {"cleaned": GROUPS - 1, "awaiting_approval": 1}
    assert (back, undone.stdout.splitlines()[-1]) == (0, f"{GROUPS - 1} findings: {GROUPS - 1} decided.")
    assert len(world.shop.rows()) == 2 * GROUPS + 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is not JSON"),
        ("{}", "it is not a list of plans"),
        ("[3]", "entry 1 is not a plan"),
        ('[{"finding": "F-1", "plan_hash": ""}]', "entry 1 has no `plan_hash`"),
        (None, "it cannot be read"),
    ],
)
def test_a_file_that_holds_no_plans_is_told(world: World, text: str | None, why: str) -> None:
    if text is not None:
        (world.folder / "plans.json").write_text(text)

    code, answer = invoked("approve", "--plan-file", "plans.json")

    assert (code, why in str(answer.exception)) == (exits.WRONG, True)


def test_a_finding_that_changes_before_its_turn_is_not_decided(world: World) -> None:
    """What was selected is what is decided, and no newer version of it."""
    names = [by_key(world)[key] for key in ("00@x", "01@x")]
    bob = Person("bob", Role.REVIEWER, sees_personal=False, origin="bob@console")
    with world.open() as application:
        decisions = application.decisions_of(bob)
        requests = selected(decisions, "dismiss", Selection(ids=names))
        world.shop.sql("INSERT INTO customers VALUES (200, '00@x', 'Name 3')")
        application.run("nightly")
        outcomes = list(decide_each(requests, decisions.decide))

    assert [outcome.status for outcome in outcomes] == ["not_done", "decided"]
    assert "changed since it was shown" in outcomes[0].sentence


def test_a_decision_that_changes_nothing_is_counted_by_itself(world: World) -> None:
    names = by_key(world)
    with world.open() as application:
        decide.dismiss(application.memory, names["00@x"], actor="bob")

    code, answer = invoked("dismiss", names["00@x"], names["01@x"])

    assert (code, answer.stdout.splitlines()[-1]) == (0, "2 findings: 1 decided, 1 unchanged.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "code", "dismissed"), [("22\n", 0, GROUPS), ("y\n", exits.REFUSED, 0), ("\x04", exits.REFUSED, 0)]
)
def test_at_a_terminal_the_number_is_typed(world: World, typed: str, code: int, dismissed: int) -> None:
    """Anything else, and Ctrl-D, changes nothing."""
    command = [str(Path(sys.executable).with_name("reconcile")), "dismiss", "--rule", "twins"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)  # noqa: S606 - the command itself, at a terminal
    shown = b""
    while b"to continue" not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, typed.encode())
    with contextlib.suppress(OSError):  # the terminal is gone with the command
        while piece := os.read(terminal, 1000):
            shown += piece
    _, status = os.waitpid(pid, 0)
    os.close(terminal)

    assert (os.waitstatus_to_exitcode(status), states(world).get("dismissed", 0)) == (code, dismissed)
    assert (f"--confirm {GROUPS}" in shown.decode()) == (code != 0)
    assert "defect" not in shown.decode()


@pytest.mark.slow
def test_an_approval_that_is_sent_again_after_the_cleaning_changes_nothing(world: World) -> None:
    name = by_key(world)["00@x"]
    [plan] = world.plans(name)
    first, _ = invoked("approve", name, "--plan-hash", plan.plan_hash)
    again, answer = invoked("approve", name, "--plan-hash", plan.plan_hash[:12])
    another, why = invoked("approve", name, "--plan-hash", "0" * 12)
    without, _ = invoked("approve", name)
    assert world.undo(name).undone
    undone, _ = invoked("approve", name, "--plan-hash", plan.plan_hash)

    assert (first, again, another, without, undone) == (0, 0, exits.REFUSED, exits.REFUSED, exits.REFUSED)
    assert answer.stdout == f"The plan for {name} was approved and executed before; nothing was changed.\n"
    assert "executed before" not in str(why.exception)


def test_a_condition_lists_what_a_decision_with_it_would_be_about(world: World) -> None:
    listed, answer = invoked(
        "findings", "--where", "email in ('03@x', '04@x')", "--state", "awaiting approval", "--json"
    )
    both, why = invoked("findings", "--where", "records > 2", "--search", "x")

    assert (listed, sorted(finding["key"]["email"] for finding in json.loads(answer.stdout))) == (0, ["03@x", "04@x"])
    assert both != 0
    assert "cannot be combined with --search" in str(why.exception) + why.output
