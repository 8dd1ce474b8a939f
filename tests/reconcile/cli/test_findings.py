"""Findings at the command line: ids that are near none, long lists, first days."""

import time
from pathlib import Path

import pytest

from tests.support.cli import FILES, ORDERS, Answer, Project


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
    assert answer.err == f"There is no finding `{asked}`; `reconcile findings` lists them.\n"


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
    reconcile = shop(tmp_path, twins=20_000).write(FILES.replace("severity: high", 'max_share: "100%"'))
    reconcile("run", "-q")

    begin = time.monotonic()
    answer = reconcile("findings")

    assert time.monotonic() - begin < 20
    assert "50 of 20,000 findings" in answer.err


def test_a_run_says_in_which_columns_records_differ(tmp_path: Path) -> None:
    rows = "id,name,status,note\n"
    left = "".join(f"{n},a,ok,x\n" for n in range(1, 7))
    right = "1,a,ok,x\n2,b,ok,x\n3,b,no,x\n4,b,no,y\n5,a,ok,y\n7,z,z,z\n"
    project = Project(tmp_path).write(rows + left, "left.csv").write(rows + right, "right.csv")
    project.write(
        "version: 1\nsources: {f: {type: files}}\n"
        "datasets:\n  left: {source: f, path: left.csv, id: id}\n  right: {source: f, path: right.csv, id: id}\n"
        "rules: {same: {kind: reconciliation, left: left, right: right, key: [id], compare: all}}\n"
    )

    planned, ended = project("run", "--dry-run"), project("run", "--json")
    again = project("run")

    line = "same: values differ: name in 3, note in 2, status in 2\n"
    assert line in planned.out
    assert line in again.out
    assert ended.json["rules"][0]["differing"] == {"name": 3, "note": 2, "status": 2}


def test_a_finding_with_a_masked_key_is_listed_by_its_records(tmp_path: Path) -> None:
    rows = "id,email,amount\n1,a@x.org,1\n2,a@x.org,1\n3,b@x.org,1\n4,b@x.org,1\n5,b@x.org,1\n"
    project = Project(tmp_path).write(rows, "people.csv")
    config = (
        "version: 1\nsources: {f: {type: files}}\n"
        "datasets: {people: {source: f, path: people.csv, id: id, pii: [email]}}\n"
        "rules: {twin: {kind: duplicates, dataset: people, key: [email]}}\n"
    )
    project.write(config)

    project("run")

    listed = project("findings").out
    assert "  1 and 2  " in listed
    assert "  3, 4 and 1 more  " in listed
    assert {tuple(finding["key"].values()) for finding in project("findings", "--json").json} == {("•••",)}
    assert "  a@x.org  " in project("findings", "--show").out
    project.write(config.replace("pii: [email]", "pii: [email, id]"))
    assert "•••" in project("findings").out
