"""The examples find what their comments say, and the cron and systemd files start a job as they promise."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from reconcile.config import load
from tests.product.docs.terminal import Terminal
from tests.support.docs import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
PROJECTS = sorted(file.parent.name for file in EXAMPLES.glob("*/reconcile.yaml"))
NIGHTLY = "\ntimezone: Europe/Berlin\njobs:\n  nightly: {rules: all}\n"


def place(name: str, folder: Path) -> Terminal:
    """A terminal in a copy of the example, built where it has to be."""
    copy = shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("*.db*", "messages.txt"))
    if (copy / "build.py").exists():
        subprocess.run([sys.executable, "build.py"], cwd=copy, check=True, capture_output=True)
    return Terminal(copy)


def run(terminal: Terminal) -> dict[str, Any]:
    terminal.type("reconcile run --json --all")
    report: dict[str, Any] = json.loads(terminal.out)
    return report


def groups(report: dict[str, Any]) -> list[list[list[str]]]:
    return sorted([finding["keeper"], *finding["surplus"]] for finding in report["findings"])


@pytest.mark.parametrize("name", PROJECTS)
def test_an_example_loads_without_a_note_and_fits_its_data(name: str, tmp_path: Path) -> None:
    terminal = place(name, tmp_path)

    terminal.type("reconcile check --json")

    assert load(terminal.folder / "reconcile.yaml").warnings == ()
    assert terminal.code == 0, terminal.out
    assert all(check["ok"] for check in json.loads(terminal.out)["checks"])


@pytest.mark.parametrize("name", PROJECTS)
def test_an_example_tells_its_findings_in_the_first_run_and_none_in_the_second(name: str, tmp_path: Path) -> None:
    terminal = place(name, tmp_path)

    first, second = run(terminal), run(terminal)

    assert first["rules"][0]["findings"]["new"] == first["rules"][0]["groups"] > 0
    assert second["rules"][0]["findings"]["new"] == 0
    assert [f["id"] for f in second["findings"]] == [f["id"] for f in first["findings"]]


def test_the_shop_finds_charges_repeated_within_minutes_and_not_those_an_hour_apart(tmp_path: Path) -> None:
    report = run(place("shop", tmp_path))

    assert groups(report) == [[["ch_1"], ["ch_2"]], [["ch_3"], ["ch_4"]]]
    assert report["rules"][0]["money"] == {"EUR": "49.00", "GBP": "9.90"}


def test_the_reconciliation_explains_the_difference_of_bank_and_ledger(tmp_path: Path) -> None:
    terminal = place("reconciliation", tmp_path)

    terminal.type("reconcile run --slot 2026-03-10T06:00:00Z --json")

    report = json.loads(terminal.out)
    forms = sorted(
        (finding["form"], sorted(item["id"][0] for side in ("left", "right") for item in finding[side]))
        for finding in report["findings"]
    )
    assert forms == [
        ("ambiguous", ["4", "5", "L4"]),
        ("left_only", ["6"]),
        ("near_miss", ["7", "L6"]),
        ("right_only", ["L5"]),
    ]
    assert report["rules"][0]["not_yet_due"] == 2


def test_the_contacts_find_one_person_twice_and_leave_a_family_alone(tmp_path: Path) -> None:
    report = run(place("contacts", tmp_path))

    assert groups(report) == [[["C-1"], ["C-2"]], [["C-6"], ["C-5"]]]
    assert report["rules"][0]["skipped"] == [{"column": "email", "reason": "null", "records": 1}]


def test_the_customers_are_merged_with_all_that_refers_to_them_once_approved_and_come_back(tmp_path: Path) -> None:
    terminal = place("customers", tmp_path)
    file = terminal.folder / "customers.sqlite"
    before = contents(file)
    report = run(terminal)
    [ada] = [finding["id"] for finding in report["findings"] if finding["keeper"] == [2]]

    assert contents(file) == before
    terminal.type(f"reconcile approve {ada}")
    merged = contents(file)
    terminal.type(f"reconcile undo {ada}")

    assert groups(report) == [[[2], [1]], [[3], [4]]]
    people = {row[0]: row for row in merged["customers"]}
    assert people[2][2:7] == ("Ada Lovelace", "+44 20 7946 0001", "12 St James's Square", "London", "press, vip")
    assert people[1][8:10] == ("merged", 2)
    assert {row[1] for table in ("orders", "notes") for row in merged[table]} == {2, 3, 4, 5}
    assert merged["newsletters"] == [(2, "weekly"), (4, "offers")]
    assert contents(file) == before


def test_the_office_moves_twins_with_their_payments_marks_a_payment_and_gets_its_workbook_back(tmp_path: Path) -> None:
    terminal = place("office", tmp_path)
    before = sheets(terminal.folder / "office.xlsx")
    report = run(terminal)
    unchanged = sheets(terminal.folder / "office.xlsx")
    finding_ids = " ".join(finding["id"] for finding in report["findings"])

    terminal.type(f"reconcile approve {finding_ids}")
    cleaned = sheets(terminal.folder / "office.xlsx")
    terminal.type(f"reconcile undo {finding_ids}")

    assert groups(report) == [[[1], [3]], [[2], [5]], [[103], [104]]]
    assert unchanged == before
    assert [row[0] for row in cleaned["Customers"]] == ["Number", 1, 2, 4, 6, 7, 8]
    assert sorted(row[0] for row in cleaned["Removed"][1:]) == [3, 5]
    assert [(row[0], row[1]) for row in cleaned["Payments"] if row[0] in (102, 106)] == [(102, 1), (106, 2)]
    assert [row[0] for row in cleaned["Payments"] if row[5] == "booked twice"] == [104]
    assert cleaned["Summary"] == before["Summary"]
    assert sheets(terminal.folder / "office.xlsx") == before


def sheets(workbook: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The filled rows of each sheet; formulas as they are written."""
    with contextlib.closing(load_workbook(workbook)) as book:
        return {
            sheet.title: [row for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]
            for sheet in book
        }


def contents(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    tables = ("customers", "orders", "newsletters", "notes")
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return {name: sorted(connection.execute(f"select * from {name}")) for name in tables}


def test_the_twins_are_contacts_of_the_crm_and_customers_of_the_shop(tmp_path: Path) -> None:
    report = run(place("twins", tmp_path))

    assert groups(report) == [[["C-1"], [1]], [["C-2"], [2]]]
    assert report["rules"][0]["read_of"] == {"crm": 5, "shop": 6}
    assert report["rules"][0]["skipped"] == [{"column": "email", "reason": "null", "records": 1, "dataset": "crm"}]


def test_the_bank_finds_one_invoice_paid_twice_over_two_files(tmp_path: Path) -> None:
    terminal = place("bank", tmp_path)

    report = run(terminal)

    [finding] = report["findings"]
    assert finding["key"]["reference"] == "INV42"
    assert report["rules"][0]["money"] == {"EUR": "1190.00"}
    terminal.type(f"reconcile show {finding['id']}")
    assert "2026-03-02.csv" in terminal.out
    assert "2026-03-03.csv" in terminal.out


def lines_that_start_the_job() -> dict[str, str]:
    """The command of each file, as the shell gets it; the crontab has it twice, for a second start after a failure."""
    cron = (EXAMPLES / "cron" / "reconcile.cron").read_text(encoding="utf-8")
    unit = (EXAMPLES / "systemd" / "reconcile.service").read_text(encoding="utf-8")
    matches = re.findall(r"^\d+ \d+ \* \* \*  (.*)$", cron, re.MULTILINE)
    [started] = re.findall(r"^ExecStart=/bin/sh -c '(.*)'$", unit, re.MULTILINE)
    [scheduled] = set(matches)
    return {"cron": scheduled.replace("\\%", "%"), "systemd": started.replace("%%", "%")}


@pytest.mark.parametrize("name", lines_that_start_the_job())
def test_a_scheduled_line_runs_its_slot_once_however_often_it_is_started(name: str, tmp_path: Path) -> None:
    folder = place("contacts", tmp_path).folder
    with (folder / "reconcile.yaml").open("a", encoding="utf-8") as file:
        file.write(NIGHTLY)
    program = Path(sys.executable).with_name("reconcile")
    line = lines_that_start_the_job()[name].replace("/srv/reconcile", str(folder))
    line = re.sub(r"/(home/ops|opt)/reconcile/bin/reconcile", str(program), line)

    told = [_shell(line, folder) for _ in range(2)]

    assert re.search(r" 06:00:00 CES?T ", told[0])
    assert "succeeded  run1_" in told[0]
    assert "succeeded, by an earlier run of this slot" in told[1]


def _shell(line: str, folder: Path) -> str:
    environ = {**os.environ, "TZ": "Europe/Berlin"}
    ended = subprocess.run(["/bin/sh", "-c", line], cwd=folder, env=environ, capture_output=True, text=True, check=True)
    return ended.stdout


def test_the_systemd_unit_is_started_by_its_timer_and_not_restarted_for_what_a_repeat_cannot_help() -> None:
    unit = (EXAMPLES / "systemd" / "reconcile.service").read_text(encoding="utf-8")
    timer = (EXAMPLES / "systemd" / "reconcile.timer").read_text(encoding="utf-8")

    assert "OnCalendar=*-*-* 06:00:00" in timer
    assert "RestartPreventExitStatus=1 2 4 70" in unit  # 3, a source or channel that failed, is worth a repeat


def test_every_example_is_described() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert [path.name for path in EXAMPLES.iterdir() if path.is_dir() and f"[{path.name}]" not in text] == []
