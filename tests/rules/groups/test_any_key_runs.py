"""Rules with any of several keys from end to end: findings that go on, decisions that hold, plans, what is shown."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Answer, Project

CONFIGURATION = """\
version: 1
sources:
  crm: {type: sql, url: "sqlite:///crm.db"}
  told: {type: files, root: .}
datasets:
  people: {source: crm, table: people, id: id, pii: [phone]}
rules:
  person:
    kind: duplicates
    dataset: people
    key: {any: [[email], [phone], [name, born]]}
    limits: {share: 100%}
    max_shared: 3
    clean: {action: set, values: {status: merged}}
jobs: {nightly: {rules: all, notify: [log]}}
channels: {log: {type: file, path: told.md}}
"""
CLEAN = "    clean: {action: set, values: {status: merged}}\n"
COLUMNS = ("email", "phone", "name", "born")


class Crm(Project):
    """A project over one table in SQLite."""

    def add(self, record: int, **values: str) -> Crm:
        row = (record, *(values.get(name) for name in COLUMNS), "active")
        self.execute("insert into people values (?, ?, ?, ?, ?, ?)", *row)
        return self

    def execute(self, statement: str, *parameters: Any) -> None:
        with sqlite3.connect(self.folder / "crm.db") as db:
            db.execute(statement, parameters)
        db.close()

    def reports_only(self) -> Crm:
        self.write(CONFIGURATION.replace(CLEAN, ""))
        return self

    def run(self) -> dict[str, int]:
        """The counts of a run's findings that are not zero."""
        answer = self("run", "--json")
        assert answer.code in (0, 4), answer.said  # 4: only a person can decide
        counts: dict[str, int] = answer.json["rules"][0]["findings"]
        return {name: number for name, number in counts.items() if number}

    def findings(self, *words: str) -> list[dict[str, Any]]:
        values: list[dict[str, Any]] = self.done("findings", *words, "--json").json
        return values

    def done(self, *words: str) -> Answer:
        answer = self(*words)
        assert answer.code == 0, answer.said
        return answer


@pytest.fixture
def crm(tmp_path: Path) -> Crm:
    crm = Crm(tmp_path)
    crm.write(CONFIGURATION)
    crm.execute("create table people (id integer primary key, email text, phone text, name text, born text, status)")
    return crm.add(1, email="a@x", phone="1").add(2, email="a@x", phone="2").add(3, email="c@x")


def records(finding: dict[str, Any]) -> list[int]:
    return [int(record[0]) for record in (finding["keeper"], *finding["surplus"])]


@pytest.mark.slow
def test_a_finding_that_grows_through_another_key_goes_on(crm: Crm) -> None:
    assert crm.run() == {"new": 1}
    [before] = crm.findings()

    crm.add(4, phone="2", name="Ann", born="1990").add(5, name="Ann", born="1990")

    assert crm.run() == {"grown": 1}
    [after] = crm.findings()
    assert (after["id"], records(before), records(after)) == (before["id"], [1, 2], [1, 2, 4, 5])
    assert after["key"] == {"email": "a@x", "phone": "•••", "name": "Ann", "born": "1990"}
    assert crm.run() == {"known": 1}


@pytest.mark.slow
def test_two_findings_become_one_when_a_record_connects_them(crm: Crm) -> None:
    crm.add(4, phone="9").add(5, phone="9").run()

    crm.add(6, email="a@x", phone="9")

    assert crm.run() == {"grown": 1, "merged": 1}


@pytest.mark.slow
def test_what_was_dismissed_stays_so_when_the_group_shrinks_and_returns_for_a_new_value(crm: Crm) -> None:
    crm.add(4, phone="2").run()
    [finding] = crm.findings()
    crm.done("dismiss", finding["id"])

    assert crm.run() == {}
    crm.execute("delete from people where id = 4")
    assert crm.run() == {}
    crm.execute("update people set phone = '1' where id = 2")
    assert crm.run() == {"reopened": 1}


@pytest.mark.slow
def test_a_record_that_joins_one_of_a_dismissed_pair_does_not_bring_the_other_back(crm: Crm) -> None:
    crm.run()
    [finding] = crm.findings()
    crm.done("dismiss", finding["id"])

    crm.add(4, phone="2")

    assert crm.run() == {"reopened": 1}
    assert [records(finding) for finding in crm.findings()] == [[2, 4]]
    dry = crm.done("run", "--dry-run", "--json", "--all").json
    assert [records(finding) for finding in dry["findings"]] == [[2, 4]]


@pytest.mark.slow
def test_a_dismissed_pair_that_a_third_record_connects_comes_back_and_is_never_cleaned(crm: Crm) -> None:
    crm.run()
    [finding] = crm.findings()
    crm.done("dismiss", finding["id"])

    crm.add(4, email="a@x")

    assert crm.run() == {"reopened": 1}
    [finding] = crm.findings()
    assert finding["settled_pairs"] == [[[1], [2]]]
    [plan] = crm.done("plan", "--json").json
    assert (plan["plan_hash"], "A person decided" in plan["reason"]) == (None, True)


@pytest.mark.slow
def test_a_record_that_joins_one_of_a_handled_pair_brings_the_other_back_with_it(crm: Crm) -> None:
    """They are the same: only what joined is cleaned, and only with an approval, though the rule asks for none."""
    crm.run()
    [finding] = crm.findings()
    crm.done("handle", finding["id"], "--note", "merged by hand in the shop")
    assert crm.run() == {"settled": 1}

    crm.add(4, phone="2")

    assert crm.run() == {"reopened": 1}
    [finding] = crm.findings()
    assert (records(finding), finding["handled_pairs"]) == ([1, 2, 4], [[[1], [2]]])
    [plan] = crm.done("plan", "--json").json
    assert (plan["surplus"], plan["approval"]) == ([[4]], "required")


@pytest.mark.slow
def test_reopening_a_finding_joins_its_records_again(crm: Crm) -> None:
    crm.run()
    [finding] = crm.findings()
    crm.done("dismiss", finding["id"])
    crm.run()

    crm.done("reopen", finding["id"])

    assert crm.run() == {"known": 1}


@pytest.mark.slow
def test_a_plan_is_made_and_carried_out_and_undone(crm: Crm) -> None:
    crm.add(4, phone="2").run()
    [plan] = crm.done("plan", "--json").json

    crm.done("approve", plan["finding"], "--plan-hash", plan["plan_hash"])
    crm.run()

    def status() -> dict[int, str]:
        with sqlite3.connect(crm.folder / "crm.db") as db:
            result = dict(db.execute("select id, status from people"))
        db.close()
        return result

    assert status() == {1: "active", 2: "merged", 3: "active", 4: "merged"}
    crm.done("undo", plan["finding"])
    crm.run()
    assert status() == dict.fromkeys((1, 2, 3, 4), "active")


def test_a_record_that_agrees_only_by_a_value_on_too_many_records_is_not_cleaned(crm: Crm) -> None:
    for record in (4, 5, 6, 7):
        crm.add(record, phone="0", name=f"N{record}")
    crm.execute("update people set phone = '0' where id in (1, 2)")
    crm.run()

    crm.execute("update people set email = 'b@x' where id = 2")

    [plan] = crm.done("plan", "--json").json
    assert plan["plan_hash"] is None
    assert plan["reason"].startswith("Its records changed since it was found")


def test_the_values_left_out_are_told_and_do_not_count_as_skipped_records(crm: Crm) -> None:
    crm.reports_only().execute("update people set phone = '0'")
    crm.add(4, phone="0")

    answer = crm.done("run", "--json").json

    [rule] = answer["rules"]
    assert (rule["groups"], rule["skipped"]) == (
        1,
        [{"column": "phone", "reason": "shared by more than 3 records", "records": 4, "read_as": None}],
    )
    assert "phone of 4 records treated as empty: shared by more than 3 records" in (crm.folder / "told.md").read_text()


def test_a_message_shows_the_values_that_link_the_records_not_those_of_the_keeper(crm: Crm) -> None:
    crm.reports_only().add(4, phone="2", name="Ann", born="1990").add(5, name="Ann", born="1990")

    crm.run()

    told = (crm.folder / "told.md").read_text()
    assert "email a@x · phone ••• · name Ann · born 1990" in told


def test_a_finding_says_who_agrees_by_which_key_and_what_it_hangs_on(crm: Crm) -> None:
    crm.add(4, phone="2", name="Ann", born="1990").add(5, name="Ann", born="1990").run()
    [finding] = crm.findings()

    shown = crm.done("show", finding["id"]).out

    assert "only email links 1 and 2" in shown
    assert "only phone links 2 and 4" in shown
    assert "only name and born links 4 and 5" in shown


def test_explain_says_in_words_what_several_keys_mean(crm: Crm) -> None:
    text = crm.done("explain", "person").out

    for sentence in (
        "or phone: as it is",
        "or name: as it is, and born: as it is",
        "except records in which every key has an empty column",
        "two or more records that equal keys connect, directly or through other records",
        "a value that more than 3 records share connects no records",
    ):
        assert sentence in text
