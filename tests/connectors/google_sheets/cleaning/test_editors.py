"""Somebody edits, sorts, inserts and deletes between all requests of a cleaning: no edit is lost, no effect doubled."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from connectors.google_sheets.cleaning.ledger import LEDGER
from connectors.target import TargetError, TransactionOutcome, Undecided
from tests.support.chance import SEED, few
from tests.support.google_sheets import FakeSheet, Fault, GoogleSheets, error, google_sheets
from tests.support.sheets_target import TITLE, Drifted, SheetTarget

NAMES = ("id", "name", "status", "score")
FAULTS = (
    Fault("before", 503, error(503, "UNAVAILABLE")),
    Fault("after", 503, error(503, "UNAVAILABLE"), applies=True),
    Fault("reset before", cut=True),
    Fault("reset after", cut=True, applies=True),
    Fault("quota", 429, error(429, "RESOURCE_EXHAUSTED"), {"Retry-After": "0"}),
    Fault("no json", 200, b"<html>", {"Content-Type": "text/html"}, applies=True),
)


@dataclass
class Editor:
    """A person at the spreadsheet, who remembers what is in each record after the last edit of it by anyone but us."""

    fake: GoogleSheets
    chance: random.Random
    edits: int
    edited: dict[tuple[str, str], Any] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    number: int = 0
    waits_for_write: bool = False
    """Begin right before the first write: what was read for it is old by then."""

    def __call__(self, _number: int, method: str) -> None:
        self.waits_for_write = self.waits_for_write and method != "POST"
        if self.edits and not self.waits_for_write and len(self.sheet.rows) > 1 and self.chance.random() < 0.5:
            self.edits -= 1
            with self.fake.lock:
                self.chance.choice((self.edit, self.edit, self.edit, self.sort, self.insert, self.delete))()
                self.fake.version += 1

    @property
    def sheet(self) -> FakeSheet:
        return self.fake.sheet(TITLE)

    def edit(self) -> None:
        row = self.chance.randrange(1, len(self.sheet.rows))
        column = self.chance.choice((1, 2, 2, 2, 3))
        identifier = self.sheet.get(row, 0)
        if isinstance(identifier, str):
            self.number += 1
            value = f"edit {self.number}"
            self.sheet.put(row, column, value)
            self.edited[identifier, NAMES[column]] = value

    def sort(self) -> None:
        rows = self.sheet.rows[1:]
        self.chance.shuffle(rows)
        self.sheet.rows[1:] = rows

    def insert(self) -> None:
        self.number += 1
        row = [f"H-{self.number}", "human", self.chance.choice((None, "new")), 5.0]
        self.sheet.rows.insert(self.chance.randrange(1, len(self.sheet.rows) + 1), row)
        for name, value in zip(NAMES, row, strict=True):
            self.edited[str(row[0]), name] = value

    def delete(self) -> None:
        row = self.chance.randrange(1, len(self.sheet.rows))
        self.gone.add(str(self.sheet.get(row, 0)))
        del self.sheet.rows[row]


@pytest.fixture
def fake() -> Iterator[GoogleSheets]:
    with google_sheets() as services:
        yield services


def storm(fake: GoogleSheets, seed: int) -> str:
    """One cleaning among edits and faults; returns how it ended."""
    chance = random.Random(seed)
    fake.sheets.clear()
    fake.metadata.clear()
    fake.faults = []
    ids = [f"A-{n}" for n in range(1, chance.randint(4, 9))]
    rows = [
        [name, f"name {name[-1]}", chance.choice((None, "new", "old")), float(chance.randint(1, 3))] for name in ids
    ]
    fake.add(TITLE, [list(NAMES), *rows])
    before = {str(row[0]): dict(zip(NAMES, row, strict=True)) for row in rows}
    sheet = SheetTarget(fake)
    sheet.target.remembers()
    changed = chance.sample(ids, chance.randint(1, 2))
    after = {name: {"status": f"dup {seed}", **({"score": "9"} if chance.random() < 0.3 else {})} for name in changed}
    guards = sheet.guards(*chance.sample([name for name in ids if name not in changed], 1))
    changes = [*sheet.changes(after), *guards]

    editor = Editor(fake, chance, edits=chance.randint(1, 4), waits_for_write=chance.random() < 0.8)
    fake.before = fake.after = editor
    if chance.random() < 0.4:
        fault = chance.choice(FAULTS)
        fake.faults = [Fault(**{**fault.__dict__, "skip": chance.randrange(4), "only": chance.choice(("GET", "POST"))})]
    ended = attempt(sheet, changes)
    editor.edits = 0
    fake.faults = []
    try:
        has_happened: bool | None = ended == "done" or sheet.has_happened("k1")
    except Undecided:
        has_happened = None

    assert ended not in (TransactionOutcome.TERMINAL.value, TransactionOutcome.PAUSE.value), f"seed {seed}"
    compare(editor, sheet, before, after, has_happened=has_happened, seed=seed)
    return {True: "done", False: ended, None: "undecided"}[has_happened]


def attempt(sheet: SheetTarget, changes: list[Any]) -> str:
    try:
        sheet.make(changes, "k1")
    except TargetError as error:
        return error.outcome.value
    except (Drifted, KeyError):
        return "drifted"
    return "done"


def compare(
    editor: Editor,
    sheet: SheetTarget,
    before: dict[str, dict[str, Any]],
    after: dict[str, dict[str, str]],
    *,
    has_happened: bool | None,
    seed: int,
) -> None:
    """Compare the tables of the fake with what the person and the plan wrote.

    If nobody can tell if the plan was made, its cells may hold what they held, or what it wrote, but all or none.
    """
    expected = {name: dict(record) for name, record in before.items()}
    records = {record["id"]: record for record in sheet.sheet.records()}
    if has_happened is None:
        unedited = [(name, column) for name, values in after.items() for column in values if name in records]
        marks = {
            str(records[name][column]).removesuffix(".0") == after[name][column]
            for name, column in unedited
            if (name, column) not in editor.edited
        }
        assert len(marks) <= 1, f"seed {seed}"
        has_happened = marks == {True}
        rows = [row[0] for row in sheet.fake.sheet(LEDGER).rows[1:] if row[:1] not in ([], [None])]
        assert rows == ["a"], f"seed {seed}"
        is_known = False
    else:
        is_known = has_happened
    if has_happened:
        for name, values in after.items():
            expected[name] |= {column: 9.0 if value == "9" else value for column, value in values.items()}
    for (name, column), value in editor.edited.items():
        expected.setdefault(name, {})[column] = value
    for name in editor.gone:
        expected.pop(name, None)
    assert {name: records.get(name) for name in expected} == expected, f"seed {seed}"
    ledger = sheet.fake.sheet(LEDGER)
    assert len([row for row in ledger.rows[1:] if row[:1] == ["r"]]) == int(is_known), f"seed {seed}"
    assert not [row for row in ledger.rows[1:] if row[:1] == ["w"]], f"seed {seed}"


@pytest.mark.chaos
@pytest.mark.timeout(3_600)
def test_no_edit_is_overwritten_and_no_effect_is_lost_or_doubled(fake: GoogleSheets) -> None:
    ends = {storm(fake, SEED + number) for number in range(few(12, 1_000))}

    assert {"done", "drifted"} <= ends
