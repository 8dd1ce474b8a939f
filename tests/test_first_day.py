"""Dead ends of a first day: ids that are not near, long lists, limits that are counted twice, undo by the wrong run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from clean_support import World
from cli_support import FILES, ORDERS, Answer, Project

DELETE = {"clean": {"action": "delete"}}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))


def world_at(folder: Path, *rows: tuple[Any, ...], **rules: Any) -> tuple[World, Project]:
    world = World.at(folder / "w", *(rows or TWO), **rules)
    world.write()
    return world, Project(world.folder)


# Undo by run


def test_undo_accepts_the_run_that_carried_out_what_an_earlier_one_planned(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")
    reconcile("approve", world.only(), "--later")
    carried = reconcile("run")
    run = reconcile("runs", "--json").json[0]["run"]

    undone = reconcile("undo", "--run", run)

    assert f"1 cleaned as planned by earlier runs; undo: reconcile undo --run {run}" in carried.out
    assert (undone.code, undone.out) == (0, f"Undone: 1 cleaning ({world.only()}).\n")
    assert world.rows() == list(TWO)


def test_undo_still_accepts_the_run_that_planned(tmp_path: Path) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")
    planned = reconcile("runs", "--json").json[0]["run"]
    reconcile("approve", world.only(), "--later")
    reconcile("run", "-q")

    assert reconcile("undo", "--run", planned).out == f"Undone: 1 cleaning ({world.only()}).\n"


def test_undo_of_a_run_that_only_planned_says_that_nothing_was_done(tmp_path: Path) -> None:
    _, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")

    answer = reconcile("undo", "--run", reconcile("runs", "--json").json[0]["run"])

    assert answer.code == 4
    assert "No cleaning of run" in answer.err


# Limits


def test_a_plan_counts_rows_once_and_says_which_the_limits_count(tmp_path: Path) -> None:
    """The keeper takes a value in: its row changes, and limits leave it out."""
    merge = {"clean": {"action": "merge", "fields": {"name": "longest"}, "surplus": "delete"}}
    _, reconcile = world_at(tmp_path, (1, "a@x", "An"), (2, "a@x", "Anna"), twins=merge)
    reconcile("run", "-q")

    shown = reconcile("plan").out

    assert "twins: 1 plan, 1 surplus, 1 row changes, and 1 keeper takes in values\n" in shown
    assert "limits (the keeper's own row is not counted): 1 of 1,000 rows" in shown


def test_a_plan_without_changes_of_a_keeper_counts_rows_alone(tmp_path: Path) -> None:
    _, reconcile = world_at(tmp_path, twins=DELETE)
    reconcile("run", "-q")

    assert "twins: 1 plan, 1 surplus, 1 row changes\n" in reconcile("plan").out


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_a_first_run_that_asks_nobody_says_how_many_the_next_cleans_at_most(tmp_path: Path, how: tuple[str]) -> None:
    world, reconcile = world_at(tmp_path, twins=DELETE | {"approval": "none"})

    answer = reconcile("run", "-q", *how)

    assert "twins: The next run cleans at most 1 finding by itself; this one" in answer.out
    assert len(world.rows()) == 3


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_a_first_run_beyond_its_limits_says_that_the_next_asks_people(tmp_path: Path, how: tuple[str]) -> None:
    rows = [(n, f"{n // 2}@x", "A") for n in range(10)]
    tight = {"limits": {"records": 3, "share": "100%", "group": 100}}
    _, reconcile = world_at(tmp_path, *rows, twins=DELETE | tight | {"approval": "none"})

    answer = reconcile("run", "-q", *how)

    assert (
        "twins: The next run asks people about 5 findings, because they exceed the limit in rows; this one"
        in answer.out
    )


def test_the_run_after_a_first_one_beyond_its_limits_asks_people_about_all(tmp_path: Path) -> None:
    rows = [(n, f"{n // 2}@x", "A") for n in range(10)]
    tight = {"limits": {"records": 3, "share": "100%", "group": 100}}
    world, reconcile = world_at(tmp_path, *rows, twins=DELETE | tight | {"approval": "none"})
    reconcile("run", "-q")

    answer = reconcile("run", "-q")

    assert answer.code == 4
    assert "twins: 5 proposed" in answer.out
    assert len(world.rows()) == 10


# What comes next


def shop(folder: Path, twins: int = 1) -> Project:
    head, *rows = ORDERS.splitlines()
    many = [row.replace("P-", f"P{n}-").replace("A-1", f"A-{n}") for n in range(1, twins + 1) for row in rows]
    (folder / "orders.csv").write_text("\n".join([head, *many]) + "\n")
    return Project(folder).write(FILES)


def test_a_dry_run_names_no_command_for_findings_it_did_not_remember(tmp_path: Path) -> None:
    """Also where another rule could not be checked."""
    missing = "  gone: {source: shop, path: gone.csv, id: id}\n"
    text = FILES.replace("datasets: {orders:", "datasets:\n  orders:").replace("instant}}}", "instant}}\n" + missing)
    text = text.replace(
        "rules: {twice:", "rules:\n  lost: {kind: duplicates, dataset: gone, key: [order_id]}\n  twice:"
    )
    reconcile = shop(tmp_path).write(text.replace("severity: high}}", "severity: high}"))

    answer = reconcile("run", "--dry-run")

    assert answer.code == 3, answer.said
    assert "twice" in answer.out
    assert "Next:" not in answer.err


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["A-17", "P-1", "order", "1" * 12])
def test_an_id_that_is_near_none_gets_no_suggestion(tmp_path: Path, asked: str) -> None:
    reconcile = shop(tmp_path, twins=40)
    reconcile("run", "-q")

    answer = reconcile("show", asked)

    assert answer.code == 2
    assert answer.err == f"No finding is called `{asked}`; `reconcile findings` lists them.\n"


def test_a_mistyped_id_suggests_the_one_that_is_meant(tmp_path: Path) -> None:
    reconcile = shop(tmp_path, twins=40)
    reconcile("run", "-q")
    finding = reconcile("findings", "--json").json[7]["id"]
    wrong = finding[:-1] + ("0" if finding[-1] != "0" else "1")

    assert f"did you mean `{finding}`" in reconcile("show", wrong).err
    assert f"did you mean `{finding}`" in reconcile("show", finding[:3] + finding[4:]).err


def test_where_there_is_no_finding_yet_an_id_points_to_a_run(tmp_path: Path) -> None:
    reconcile = shop(tmp_path, twins=0)
    reconcile("run", "-q")

    assert reconcile("show", "F-AAAAAA").err.endswith("there are none yet: `reconcile run` looks for some.\n")


# A long list


def listed(answer: Answer) -> int:
    return sum(line.startswith("F-") for line in answer.out.splitlines())


def test_fifty_findings_are_listed_unless_more_are_asked_for(tmp_path: Path) -> None:
    reconcile = shop(tmp_path, twins=60)
    reconcile("run", "-q")

    usual, every, some = (reconcile("findings", *more) for more in ((), ("--all",), ("--limit", "55")))

    assert [listed(usual), listed(every), listed(some)] == [50, 60, 55]
    assert "50 of 60 findings; use --all to list all, or --limit N" in usual.err
    assert "55 of 60 findings" in some.err
    assert "60 findings" not in every.err
    assert len(reconcile("findings", "--json").json) == 50
    assert len(reconcile("findings", "--json", "--all").json) == 60


def test_fewer_findings_than_fifty_are_listed_without_a_remark(tmp_path: Path) -> None:
    reconcile = shop(tmp_path, twins=3)
    reconcile("run", "-q")

    assert reconcile("findings").err == ""


def test_all_and_a_limit_exclude_each_other(tmp_path: Path) -> None:
    assert shop(tmp_path)("findings", "--all", "--limit", "3").code == 2


@pytest.mark.slow
def test_twenty_thousand_findings_are_listed_in_seconds(tmp_path: Path) -> None:
    """100,000 take 1.4 s of processor time."""
    reconcile = shop(tmp_path, twins=20_000)
    reconcile("run", "-q")

    begin = time.monotonic()
    answer = reconcile("findings")

    assert time.monotonic() - begin < 20
    assert "50 of 20,000 findings" in answer.err
