"""What people see and do with twins at the command line: probabilities, doubts, questions, undos."""

import contextlib
import os
import pty
import sqlite3
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reconcile.cli import exits
from reconcile.cli.commands import program
from reconcile.cli.panels import PANELS
from reconcile.store import pair_judgements, tables
from tests.support.serve import until
from tests.support.world import CUSTOMERS, DELETE, Kept, World

TWINS = {"kind": "similar", "dataset": "customers", "compare": {"name": "name", "email": "email"}}
WIDE = {"limits": {"records": 1000, "share": "100%", "group": 100}}
ROWS = (
    *((1, "ada@example.com", "Ada Lovelace"), (2, "ada@example.com", "Ada Lovlace")),
    *((3, "ada@example.com", "Lovelace, Ada"), (4, "nora@example.com", "Nora Quist")),
    *((5, "n.kvist@example.org", "Nora Kvist"), (6, "peter@example.com", "Peter Klein")),
    *((7, "petra@example.net", "Petra Klein"), (8, "jo@example.com", "Jonas Holm")),
    *((9, "jonas.holm@example.org", "Jonas Holm"), (10, "bela@example.com", "Bela Varga")),
)


def configured(folder: Path, **settings: object) -> World:
    config = {"rules": {"twins": TWINS | settings}, "datasets": {"customers": CUSTOMERS}}
    return World.at(folder, *ROWS, config=config)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = configured(tmp_path_factory.mktemp("prepared") / "w", **DELETE, **WIDE)
    world.run()
    return world.kept()


@pytest.fixture
def world(prepared: Kept) -> Iterator[World]:
    """Findings of three and of two records, whose plans wait for approval, and uncertain pairs."""
    return prepared.restored()


def by_size(world: World) -> dict[int, str]:
    return {finding["records"]: finding["id"] for finding in world.command("findings", "--json").json}


def learnt(world: World) -> dict[tuple[str, str], bool]:
    with world.open() as application, application.store.read() as tx:
        return {pair.records: pair.is_same for pair in pair_judgements.learnt_pairs(tx, "twins", "similar")}


def record(number: int) -> str:
    return f'[["n","{number}"]]'


# Probabilities


def test_findings_show_their_probability_and_are_sorted_and_filtered_by_it(world: World) -> None:
    listed = world.command("findings", "--by-probability", "--json").json
    below = listed[0]["probability"] + 0.0001

    fewer = world.command("findings", "--probable-at-most", f"{100 * below:.2f}%", "--json").json
    more = world.command("findings", "--probable-at-least", str(below), "--json").json
    by_condition = world.command("findings", "--where", f"probability > {below}", "--json").json
    table = world.command("findings").out

    assert [each["probability"] for each in listed] == sorted(each["probability"] for each in listed)
    assert [len(found) for found in (listed, fewer, more, by_condition)] == [2, 1, 1, 1]
    assert fewer[0]["id"] == listed[0]["id"]
    assert more[0]["id"] == by_condition[0]["id"] == listed[1]["id"]
    assert all(0 < link["probability"] < 1 for each in listed for link in each["links"])
    assert "probability" in table.splitlines()[0]
    assert f"{listed[0]['probability']:.0%}" in table


def test_a_probability_is_refused_that_cannot_be_one(world: World) -> None:
    for text in ("120%", "likely", "-1"):
        answer = world.command("findings", f"--probable-at-most={text}")

        assert answer.code == exits.WRONG
        assert "is not a probability; write it like 90%" in answer.err


def test_findings_of_rules_that_estimate_nothing_have_no_probability(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    world.run()

    answer = world.command("findings")
    world.command("export", "all.csv")

    assert "probability" not in answer.out
    assert "probability" not in (world.folder / "all.csv").read_text()
    assert world.command("findings", "--by-probability").out == ""


def test_an_export_has_the_probability(world: World) -> None:
    answers = [world.command("export", f"all.{suffix}") for suffix in ("csv", "xlsx", "parquet")]
    heading, *rows = (world.folder / "all.csv").read_text(encoding="utf-8-sig").splitlines()

    assert [answer.code for answer in answers] == [0, 0, 0]
    place = heading.split(",").index("probability")
    assert all(0 < float(row.split(",")[place]) < 1 for row in rows)


def test_a_masked_key_is_shown_without_its_masked_values_but_with_the_records(tmp_path: Path) -> None:
    datasets = {"customers": CUSTOMERS | {"pii": ["email"]}}
    rows = (*ROWS, (11, "eva@example.com", "Eva Roth"), (12, "eva@example.com", "Eva Roth"))
    world = World.at(tmp_path / "w", *rows, config={"rules": {"twins": TWINS}, "datasets": datasets})
    world.run()

    listed = world.command("findings").out

    assert "11 and 12 · Eva Roth" in listed
    assert "1, 2 and 1 more  " in listed
    assert "•••" not in listed


# Doubts


def test_the_least_certain_record_of_a_finding_is_named_with_the_command_that_splits_it_off(world: World) -> None:
    finding = by_size(world)[3]

    shown = world.command("show", finding)
    [advice] = [line for line in shown.err.splitlines() if line.startswith("Least certain: ")]
    command = advice.partition("if not the same: reconcile ")[2].split()
    split = world.command(*command)

    assert "probable" in shown.out.splitlines()[0]
    assert command[:2] == ["split", finding]
    assert split.code == 0, split.err
    assert "Least certain" not in world.command("show", by_size(world)[2]).err


# Undo


def test_an_undone_cleaning_teaches_nothing_until_a_person_says_what_is_right(world: World) -> None:
    finding = by_size(world)[2]
    assert world.command("approve", finding).code == 0
    cleaned = learnt(world)
    assert world.command("undo", finding, "--note", "a trial").code == 0
    undone = learnt(world)

    judged = world.command("judge", "twins", "8", "9", "--not-the-same")
    again = world.command("judge", "twins", "8", "9", "--not-the-same")
    world.run()

    assert cleaned == {(record(8), record(9)): True}
    assert undone == {}
    assert (judged.code, again.code) == (0, 0)
    assert "already judged" in again.out
    assert learnt(world) == {(record(8), record(9)): False}
    assert world.findings()[finding] == "undone"
    assert "undo requested: a trial" in world.command("show", finding, "--history").out
    assert world.intact()


# Rules that are gone


@pytest.mark.parametrize("change", ["removed", "another kind"])
def test_the_pairs_of_a_rule_that_is_gone_are_deleted_by_the_next_run(world: World, change: str) -> None:
    kept = {"mail": {"kind": "duplicates", "dataset": "customers", "key": ["email"]}}
    another = {"twins": {"kind": "duplicates", "dataset": "customers", "key": ["email"]}}
    before = world.command("findings", "--uncertain", "--json").json

    world.config["rules"] = kept if change == "removed" else another
    world.write()
    listed = world.command("findings", "--uncertain", "--json").json
    world.run()

    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        [(stored,)] = connection.execute(f"SELECT count(*) FROM {tables.uncertain_pairs.name}")
    assert (len(before) > 0, listed, stored) == (True, [], 0)


# What changed


def test_findings_that_join_and_part_are_told_once_with_what_changed(tmp_path: Path) -> None:
    pairs = [(1, "a@x", "Ann"), (2, "a@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Bob")]
    world = World.at(tmp_path / "w", *pairs, twins={"key": {"any": [["email"], ["name"]]}, "max_share": "100%"})
    world.run()
    before = set(world.findings())

    world.shop.sql("UPDATE customers SET name = 'Ann' WHERE id = 3")
    joined = told_by_a_run(world)
    nothing = told_by_a_run(world)
    world.shop.sql("UPDATE customers SET name = 'Bob' WHERE id = 3")
    parted = told_by_a_run(world)

    states = world.findings()
    [into] = [name for name in before if states[name] == "open"]
    [gone] = before - {into}
    assert f"took in {gone}" in joined
    assert "Joined since the last message: " in joined
    assert nothing == ""
    assert f"its records were part of {into}" in parted


def told_by_a_run(world: World) -> str:
    """The message of a run; empty without one."""
    before = world.messages()
    world.run()
    return world.messages().removeprefix(before)


def test_many_refusals_for_one_reason_are_one_sentence(tmp_path: Path) -> None:
    rows = [(2 * n + half, f"{n:02}@x", "Name") for n in range(12) for half in (0, 1)]
    world = World.at(tmp_path / "w", *rows, twins=DELETE | {"limits": {"records": 3, "share": "100%"}})
    world.run()

    answer = world.command("approve", "--rule", "twins", "--confirm", "12")

    assert answer.code == exits.REFUSED
    assert answer.out.count("--over-limit") == 1
    assert "8 more findings not done for the same reason as F-" in answer.out
    assert answer.out.splitlines()[-1] == "12 findings: 3 decided, 9 not done."


# Questions at a terminal


def test_only_a_person_at_a_terminal_is_asked(world: World) -> None:
    answer = world.command("judge", "twins")

    assert answer.code == exits.WRONG
    assert "give the ids of two records" in answer.err


@pytest.mark.slow
def test_pairs_are_asked_about_one_after_another_then_those_that_join_findings(world: World) -> None:
    uncertain = len(world.command("findings", "--uncertain", "--json").json)

    screen = at_terminal(world, ["judge", "twins"], "k" * (uncertain - 2) + "dus" + "k" + "sssq")
    judged = learnt(world)

    assert f"1 of {uncertain}" in screen
    assert "No pair is uncertain any more" in screen
    assert "reconcile learn twins" in screen
    assert list(judged.values()) == [True] * 4
    assert (record(8), record(9)) in judged


def at_terminal(world: World, words: list[str], keys: str) -> str:
    """What a person sees who presses these keys, one at each question."""
    command = [str(Path(sys.executable).with_name("reconcile")), *words]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(world.folder)
        os.execv(command[0], command)  # noqa: S606 - the command itself, at a terminal
    waiting, shown, seen = list(keys), b"", 0
    with contextlib.suppress(OSError):  # the terminal is gone with the command
        while piece := os.read(terminal, 1000):
            shown += piece
            if b"q quit: " in shown[seen:] and waiting:
                seen = len(shown)
                until(lambda: not termios.tcgetattr(terminal)[3] & termios.ICANON)  # else the key is dropped
                os.write(terminal, waiting.pop(0).encode())
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, shown.decode()
    return shown.decode()


# Help


def test_the_help_lists_every_command_once_with_the_ten_for_a_newcomer_first() -> None:
    listed = [name for names in PANELS.values() for name in names]

    assert sorted(listed) == sorted(program.commands)
    assert len(PANELS["Start here"]) == 10
    assert next(iter(PANELS)) == "Start here"
