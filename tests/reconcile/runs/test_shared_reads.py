"""Several rules over one dataset read it once, and each finds what it finds alone."""

import datetime as dt
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from reconcile.app import load
from tests.support.chance import examples
from tests.support.cli import Project

pytestmark = pytest.mark.slow

SLOT = dt.datetime(2026, 11, 2, 6, tzinfo=dt.UTC)
RULES: dict[str, dict[str, Any]] = {
    "by-email": {"key": [{"email": ["trim", "lower"]}], "keep": [{"first": "id"}]},
    "by-amount": {"key": ["amount", "name"], "where": "amount > 1"},
    "by-name": {"key": ["name"], "keep": [{"max": "amount"}], "max_share": "100%"},
}
Row = tuple[int, str | None, str | None, Any]


def project(folder: Path, url: str, rules: dict[str, dict[str, Any]] = RULES, **dataset: Any) -> Path:
    """A configuration with these rules over one table."""
    fixed = {"kind": "duplicates", "dataset": "people"}
    written = {
        "version": 1,
        "state": "sqlite:///state.db",
        "sources": {"shop": {"type": "sql", "url": url}},
        "datasets": {"people": {"source": "shop", "table": "people", "id": "id", **dataset}},
        "rules": {name: fixed | rule | {"engine": "embedded"} for name, rule in rules.items()},
        "jobs": {"nightly": {"rules": "all"}},
    }
    path = folder / "reconcile.yaml"
    path.write_text(json.dumps(written), encoding="utf-8")
    return path


def shop(folder: Path, *rows: Row) -> str:
    """A database of SQLite with these people; return its URL."""
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("create table people (id integer primary key, email text, name text, amount numeric)")
        connection.executemany("insert into people values (?, ?, ?, ?)", rows)
    connection.close()
    return "sqlite:///shop.db"


def outcomes(reports: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What each rule reports, but for the time it took, and its findings by their records."""
    rules = {rule["rule"]: {**rule, "seconds": 0} for report in reports for rule in report["rules"]}
    for rule in rules.values():
        rule["members"] = sorted(
            (
                [finding["keeper"], *finding["surplus"]]
                for report in reports
                for finding in report["findings"]
                if finding["rule"] == rule["rule"]
            ),
            key=str,
        )
    return rules


emails = st.sampled_from(["a@x", " A@x", "b@x", "B@X ", "", None])
names = st.sampled_from(["Ann", "Ann ", "Bob", None])
amounts = st.sampled_from([1, 2, 2.5, "2.50", "much", None])


@settings(max_examples=examples(10, quick=3))
@given(st.lists(st.tuples(emails, names, amounts), min_size=1, max_size=12))
def test_each_rule_finds_what_it_finds_alone(
    tmp_path_factory: pytest.TempPathFactory, people: list[tuple[str | None, str | None, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("shared")
    url = shop(folder, *((number, *person) for number, person in enumerate(people)))
    project(folder, url, columns={"amount": "decimal"})
    command = Project(folder)

    together = command("run", "nightly", "--dry-run", "--json").json
    alone = [command("run", "--rule", name, "--dry-run", "--json").json for name in RULES]

    assert outcomes([together]) == outcomes(alone)


def test_a_rule_has_the_records_that_another_leaves_out(tmp_path: Path) -> None:
    book = Workbook()
    for row in (
        ["id", "email", "name", "amount"],
        [1, "a@x", "Ann", 5],
        [2, "A@x", "Ann", "#N/A"],
        [3, "b@x", "Ann", 5],
    ):
        book.active.append(row)
    book.active["D3"].data_type = "e"
    book.save(tmp_path / "people.xlsx")
    path = project(tmp_path, "", {name: RULES[name] for name in ("by-email", "by-amount")})
    written = json.loads(path.read_text(encoding="utf-8"))
    written["sources"]["shop"] = {"type": "workbook", "path": "people.xlsx"}
    written["datasets"]["people"] = {"source": "shop", "sheet": "Sheet", "id": "id"}
    path.write_text(json.dumps(written), encoding="utf-8")

    by_email, by_amount = Project(tmp_path)("run", "--dry-run", "--json").json["rules"]

    assert (by_email["read"], by_email["groups"], by_email["skipped"]) == (3, 1, [])
    assert (by_amount["read"], by_amount["groups"], by_amount["skipped"][0]["records"]) == (2, 1, 1)


@pytest.mark.server
def test_a_table_is_read_once_for_all_rules(postgres_server: str, tmp_path: Path) -> None:
    engine = sa.create_engine(postgres_server, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("drop table if exists people")
        connection.exec_driver_sql(
            "create table people (id int primary key, email text, name text, amount numeric(9, 2))"
        )
        connection.exec_driver_sql("insert into people select i, 'a' || i / 2, 'Ann', i from generate_series(1, 100) i")
    project(tmp_path, postgres_server.replace("+psycopg", ""))

    def scans(*words: str) -> int:
        """How often the server read the whole table for the command."""
        before = read_by_the_server()
        assert Project(tmp_path).start("run", *words, "--dry-run", "--json").end().code == 0
        return read_by_the_server() - before

    def read_by_the_server() -> int:
        with engine.connect() as connection:
            text = "select pg_stat_force_next_flush(), seq_scan from pg_stat_user_tables where relname = 'people'"
            return int(connection.exec_driver_sql(text).one()[1])

    assert scans("--rule", "by-email") == scans("nightly") > 0


def test_all_rules_see_the_records_of_one_moment(tmp_path: Path) -> None:
    path = project(tmp_path, shop(tmp_path, (1, "a@x", "Ann", 5), (2, "A@x", "Bob", 6)))

    def insert_before_the_second_rule(rule: str, _read: int) -> None:
        if rule == "by-name":
            execute(tmp_path, "insert or ignore into people values (3, 'c@x', 'Ann', 7)")

    with load(path, {}) as application:
        report = application.run("nightly", slot=SLOT, watch=insert_before_the_second_rule)
        later = application.run("nightly", slot=SLOT + dt.timedelta(days=1))

    assert [(rule.rule, rule.read, rule.findings.new) for rule in report.rules] == [
        ("by-email", 2, 1),
        ("by-amount", 2, 0),
        ("by-name", 2, 0),
    ]
    assert [rule.findings.new for rule in later.rules] == [0, 0, 1]


def test_a_finding_that_is_cleaned_after_the_copy_was_read_is_not_opened_again(tmp_path: Path) -> None:
    cleaning = {"clean": {"action": "delete"}, "approval": "required"}
    rules = {**RULES, "by-email": RULES["by-email"] | cleaning}
    rules = {name: rules[name] for name in ("by-name", "by-amount", "by-email")}
    path = project(tmp_path, shop(tmp_path, (1, "a@x", "Ann", 5), (2, "A@x", "Bob", 6)), rules)
    command, answers = Project(tmp_path), []

    def clean_after_the_first_rule(rule: str, _read: int) -> None:
        if rule == "by-amount" and not answers:
            [finding] = command("findings", "--rule", "by-email", "--json").json
            answers.append(command("approve", finding["id"]))

    with load(path, {}) as application:
        application.run("nightly", slot=SLOT)
        application.run("nightly", slot=SLOT + dt.timedelta(days=1), watch=clean_after_the_first_rule)

    assert [answer.code for answer in answers] == [0], answers
    [finding] = command("findings", "--rule", "by-email", "--state", "all", "--json").json
    assert finding["state"] == "cleaned"


@pytest.mark.parametrize("megabytes", [1, 100])
def test_a_full_disk_only_costs_the_sharing(tmp_path: Path, megabytes: int) -> None:
    people = [(n, f"{n * 7919 % 100_003}@example.com", f"N{n // 2 if n < 200 else n}", 5) for n in range(40_000)]
    project(
        tmp_path,
        shop(tmp_path, *people),
        {name: RULES[name] for name in ("by-email", "by-name")},
    )

    answer = Project(tmp_path).start("run", "--dry-run", "--json", file_size=megabytes * 1_000_000).end()

    assert [(rule["read"], rule["groups"]) for rule in answer.json["rules"]] == [(40_000, 0), (40_000, 100)]


def execute(folder: Path, text: str) -> None:
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute(text)
    connection.close()
