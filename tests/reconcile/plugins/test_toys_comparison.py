"""A kind of another package compares two datasets: its discrepancies are found, told, shown and decided."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Answer, Project
from tests.toys import install

pytestmark = pytest.mark.slow

CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources:
  books: {type: sql, url: "sqlite:///books.db"}
  exports: {type: files, root: .}
datasets:
  ledger: {source: books, table: entries, id: id, pii: [%(ledger)s], money: {amount: total, currency: EUR}}
  bank: {source: exports, path: bank.csv, id: line, columns: {amount: decimal}, pii: [%(bank)s]}
rules:
  ledger-vs-bank:
    kind: mirrored
    left: ledger
    right: bank
    reference: {left: doc_no, right: reference}
    amount: {left: total, right: amount}
channels: {team: {type: file, path: told.txt}}
jobs: {nightly: {rules: all, notify: [team], existing: report}}
"""
ENTRIES = [("e1", "A-1", "10.00"), ("e2", "A-2", "20.00"), ("e3", "A-3", "30.00")]
BANK = "line,reference,amount\n1,A-1,10.00\n2,A-2,18.00\n4,A-4,40.00\n"


class Books(Project):
    """A ledger in a database and a bank's export."""

    def configure(self, ledger: str = "", bank: str = "") -> Books:
        self.write(CONFIGURATION % {"ledger": ledger, "bank": bank})
        return self

    def enter(self, *entries: tuple[str, str, str]) -> None:
        with sqlite3.connect(self.folder / "books.db") as books:
            books.execute(
                "create table if not exists entries (id text primary key, doc_no text, total text, state text)"
            )
            books.executemany("insert or replace into entries (id, doc_no, total) values (?, ?, ?)", entries)

    def export(self, text: str) -> None:
        (self.folder / "bank.csv").write_text(text)

    def run(self, day: int = 21) -> Answer:
        answer = self("run", "--slot", f"2026-11-{day}T05:00:00Z")
        assert answer.code == 0, answer.said
        return answer

    def findings(self, *options: str) -> dict[str, dict[str, Any]]:
        """The findings by form."""
        return {finding["form"]: finding for finding in self("findings", "--json", *options).json}

    @property
    def told(self) -> str:
        path = self.folder / "told.txt"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    """An entry that the bank lacks, a payment that the ledger lacks, and one whose amounts differ."""
    install(tmp_path, monkeypatch)
    books = Books(tmp_path).configure()
    books.enter(*ENTRIES)
    books.export(BANK)
    return books


def test_discrepancies_are_found_and_told_by_form_with_both_sides(books: Books) -> None:
    answer = books.run()

    assert "1 missing in bank, 1 mismatch, 1 missing in ledger" in answer.out
    assert "3 new discrepancies" in books.told
    assert "between ledger and bank" in books.told
    assert "1 missing in bank, 1 mismatch, 1 missing in ledger." in books.told
    assert "values differ · ledger e2 · bank 2 · 2.00 EUR" in books.told
    assert "total / amount 20.00 ≠ 18.00" in books.told
    assert "missing in bank · ledger e3 · 30.00 EUR" in books.told
    assert "missing in ledger · bank 4 · 40.00 EUR" in books.told


def test_differences_that_look_alike_are_told_with_their_cause(books: Books) -> None:
    books.enter(*((f"s{n}", f"S-{n}", f"-{n}.{n}5") for n in range(10, 30)))
    books.export(BANK + "".join(f"{n},S-{n},{n}.{n}5\n" for n in range(10, 30)))

    books.run()

    assert (
        "Probable cause: 20 of 21 different amounts in `total / amount` have the opposite sign: "
        "this looks like a sign error in one of the two systems."
    ) in books.told


def test_the_balance_of_each_currency_is_told_and_reported(books: Books) -> None:
    answer, report = books.run(), books("run", "--json", "--slot", "2026-11-22T05:00:00Z").json

    sentence = "EUR: ledger 60.00, bank 68.00, difference -8.00, explained by findings -8.00"
    assert sentence in answer.out
    assert f"Balance in {sentence}" in books.told
    [rule] = report["rules"]
    assert rule["balance"] == [
        {
            "currency": "EUR",
            "left": "60.00",
            "right": "68.00",
            "matched": "0",
            "explained": "-8.00",
            "not_yet_due": "0",
        }
    ]
    assert (rule["forms"], rule["matched"]) == ({"left_only": 1, "mismatch": 1, "right_only": 1}, 1)


def test_findings_as_json_have_both_sides_with_their_datasets(books: Books) -> None:
    books.run()

    findings = books.findings()

    assert (
        findings["mismatch"].items()
        >= {
            "left": [{"dataset": "ledger", "id": ["e2"]}],
            "right": [{"dataset": "bank", "id": ["2"]}],
            "differences": [{"column": "total / amount", "left": "20.00", "right": "18.00"}],
            "money": {"EUR": "2.00"},
            "key": {"doc_no": "A-2"},
        }.items()
    )
    assert "keeper" not in findings["mismatch"]
    assert (findings["left_only"]["left"], findings["left_only"]["right"]) == (
        [{"dataset": "ledger", "id": ["e3"]}],
        [],
    )
    assert (findings["right_only"]["left"], findings["right_only"]["right"]) == ([], [{"dataset": "bank", "id": ["4"]}])


def test_a_discrepancy_is_shown_side_by_side(books: Books) -> None:
    books.run()
    name = books.findings()["mismatch"]["id"]

    shown, listed = books("show", name).out, books("findings").out

    lines = [line.split() for line in shown.splitlines()[4:]]
    assert lines[:2] == [["differs", "ledger", "bank"], ["total", "/", "amount", "20.00", "18.00"]]
    assert ["record", "ledger", "e2", "bank", "2"] in lines
    assert [line for line in lines if line[0] in ("total", "amount")][1:] == [["total", "20.00"], ["amount", "18.00"]]
    assert "missing in bank" in listed


def test_a_dry_run_tells_discrepancies_without_storing_them(books: Books) -> None:
    text, report = books("run", "--dry-run").out, books("run", "--dry-run", "--json").json

    assert "new  A-2: values differ, ledger e2; bank 2, 2.00 EUR at risk" in text
    assert {finding["form"] for finding in report["findings"]} == {"mismatch", "left_only", "right_only"}
    assert not (books.folder / "state.db").exists()


def test_a_discrepancy_is_resolved_when_its_partner_arrives(books: Books) -> None:
    books.run()
    books.export(f"{BANK}3,A-3,30.00\n")

    books.run(22)

    assert set(books.findings()) == {"mismatch", "right_only"}
    assert books.findings("--state", "resolved")["left_only"]["key"] == {"doc_no": "A-3"}


def test_a_partner_with_another_amount_continues_the_finding_and_is_told(books: Books) -> None:
    books.run()
    name = books.findings()["left_only"]["id"]
    books.export(f"{BANK}3,A-3,29.00\n")

    books.run(22)

    [grown] = [finding for finding in books("findings", "--json").json if finding["id"] == name]
    assert (grown["form"], grown["last_change"]) == ("mismatch", "grown")


def test_a_dismissed_or_snoozed_discrepancy_is_not_told_again_until_it_changes(books: Books) -> None:
    books.run()
    findings = books.findings()
    dismissed = books("dismiss", findings["mismatch"]["id"], "--note", "fees")
    books("snooze", findings["left_only"]["id"])
    told = books.told
    books.run(22)
    silent = books.told == told

    books.export(BANK.replace("18.00", "8.00"))
    books.run(23)

    assert silent
    assert "its records are accepted as they are" in dismissed.said
    assert books.findings()["mismatch"]["reason"] == "values changed since it was decided"
    assert "A-2" in books.told[len(told) :]
    assert "A-3" not in books.told[len(told) :]


# Personal data


def told(books: Books) -> str:
    """Everything that commands and messages say about the findings."""
    answers = [books("run", "--dry-run"), books("run", "--dry-run", "--json"), books.run()]
    answers += [
        books("run", "--json", "--slot", "2026-11-22T05:00:00Z"),
        books("findings"),
        books("findings", "--json"),
    ]
    for finding in json.loads(answers[-1].out):
        answers += [books("show", finding["id"]), books("show", finding["id"], "--json")]
        answers += [books("assign", finding["id"], "ada", "--json"), books("snooze", finding["id"], "--json")]
    assert {answer.code for answer in answers} == {0}
    return "".join(answer.said for answer in answers) + books.told


@pytest.mark.parametrize(
    ("ledger", "bank", "canaries", "shown"),
    [
        ("doc_no", "", ["LEDGER-CANARY"], ["BANK-CANARY", "987.65"]),
        ("", "reference", ["BANK-CANARY"], ["LEDGER-CANARY", "987.65"]),
        ("id", "", ["entry-canary"], ["line-canary"]),
        ("", "line", ["line-canary"], ["entry-canary"]),
        ("total", "", ["123.45", "864.20"], ["987.65"]),
        ("", "amount", ["987.65", "864.20"], ["123.45"]),
    ],
)
def test_personal_data_of_either_side_is_masked_wherever_it_is_told(
    ledger: str, bank: str, canaries: list[str], shown: list[str], books: Books
) -> None:
    """The money at risk is the difference of both amounts, and its own finding is the only one here."""
    books.configure(ledger, bank)
    books.enter(("e1", "LEDGER-CANARY", "1.00"), ("e2", "A-2", "20.00"), ("entry-canary", "A-3", "123.45"))
    books.export("line,reference,amount\n1,BANK-CANARY,1.00\n2,A-2,20.00\nline-canary,A-3,987.65\n")

    text = told(books)

    assert [canary for canary in canaries if canary in text] == []
    assert [value for value in shown if value not in text] == []


def test_findings_of_a_second_dataset_that_is_gone_are_hidden_whole(books: Books) -> None:
    """Nothing says any more which of its columns are personal."""
    books.run()
    name = books.findings()["right_only"]["id"]
    text = CONFIGURATION % {"ledger": "", "bank": ""}
    books.write(text.replace("  bank:", "  payments:").replace("right: bank", "right: payments"))

    shown = books("show", name, "--json").json

    assert shown["right"] == [{"dataset": "bank", "id": ["•••"]}]
    assert shown["key"] == {"doc_no": "•••"}
    assert "A-4" not in books("show", name).said
