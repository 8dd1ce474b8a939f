"""A month in a finding's key is shown as a month everywhere; the JSON keeps its first day."""

from pathlib import Path

import pytest

from tests.support.cli import Project

pytestmark = pytest.mark.slow

CONFIG = """\
version: 1
timezone: Europe/Berlin
sources: {files: {type: files}}
datasets:
  bank: {source: files, path: bank.csv, id: id, columns: {booked: date, at: instant, amount: decimal}}
  ledger: {source: files, path: ledger.csv, id: id, columns: {booked: date, at: instant, amount: decimal}}
rules:
  monthly:
    kind: reconciliation
    left: bank
    right: ledger
    totals: {by: [{KEY}], sum: {left: amount, right: amount}}
channels: {team: {type: file, path: told.txt}}
jobs: {nightly: {rules: all, notify: [team]}}
"""
ROWS = "id,booked,at,amount\n"


@pytest.mark.parametrize(
    ("key", "shown", "exact"),
    [
        ("booked: [month]", "2026-03", "2026-03-01"),
        ("booked: [quarter]", "2026-Q1", "2026-01-01"),
        ("at: [month]", "2026-03", "2026-02-28T23:00:00Z"),
        ("booked: [year]", "2026", 2026),
        ("booked: []", "2026-03-17", "2026-03-17"),
    ],
)
def test_a_month_is_shown_as_a_month(tmp_path: Path, key: str, shown: str, exact: str | int) -> None:
    project = Project(tmp_path).write(CONFIG.replace("KEY", key))
    project.write(f"{ROWS}B-1,2026-03-17,2026-02-28T23:30:00Z,10.00\n", "bank.csv")
    project.write(f"{ROWS}L-1,2026-03-17,2026-02-28T23:30:00Z,9.00\n", "ledger.csv")
    column = key.partition(":")[0]

    planned, ended = project("run", "--dry-run"), project("run")
    [finding] = project("findings", "--json").json
    listed, detail = project("findings"), project("show", finding["id"])
    told = (project.folder / "told.txt").read_text()

    assert ended.code == 0, ended.said
    assert f"monthly: new  {shown}: " in planned.out
    assert f"  {shown}  " in listed.out
    assert f"key  {column} = {shown}\n" in detail.out
    assert f"{column} {shown}\n" in told
    assert finding["key"] == {column: exact}


def test_a_column_that_a_key_names_twice_is_a_month_only_where_it_is_one(tmp_path: Path) -> None:
    project = Project(tmp_path).write(CONFIG.replace("[{KEY}]", "[booked, {booked: [month]}]"))
    project.write(f"{ROWS}B-1,2026-03-17,2026-03-01T00:00:00Z,10.00\n", "bank.csv")
    project.write(f"{ROWS}L-1,2026-03-17,2026-03-01T00:00:00Z,9.00\n", "ledger.csv")

    project("run")
    [finding] = project("findings", "--json").json

    assert "key  booked = 2026-03-17, booked (month) = 2026-03\n" in project("show", finding["id"]).out
