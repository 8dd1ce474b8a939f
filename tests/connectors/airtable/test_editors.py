"""People edit the base between any two of our requests: no edit of theirs is lost, and no change is half made.

Airtable compares nothing when it updates a record. So these tests let a person edit right before and after any request
of a transaction, also of the one that takes a change back, and then look at the table itself.
"""

from __future__ import annotations

import random

import pytest

from connectors.airtable.cleaning import changes as list_of_changes
from connectors.airtable.cleaning import confirmation
from tests.support.airtable import Answering, FakeAirtable, Request
from tests.support.airtable_target import Members
from tests.support.chance import SEED, few

PARTS = 4
EDITS = (
    {"Status": None},
    {"Status": "active"},
    {"Note": "called on Monday"},
    {"Fee": 99.5, "Status": None},
    {"Name": "Anna"},
    {"Paid": True},
)


class Person:
    """Edits records between requests by chance."""

    def __init__(self, members: Members, ids: list[str], chance: random.Random, share: float) -> None:
        self.members, self.ids, self.chance, self.share = members, ids, chance, share
        self.left = 6

    def act(self, _: Request) -> None:
        if self.left and self.chance.random() < self.share:
            self.left -= 1
            self.members.fake.edit(self.members.table, self.chance.choice(self.ids), **self.chance.choice(EDITS))


def storm(
    members: Members, seed: int, *, share: float, faults: float = 0.0
) -> tuple[str, Person, dict[str, dict[str, object]]]:
    """One cleaning of a pair while a person edits; returns how it ended, the person, and the former values."""
    chance, fake = random.Random(seed), members.fake
    fake.history.clear()
    pair = [fake.add(members.table, Name="Ann", Email="a@x", Fee=5, Status="active") for _ in range(2)]
    former = {key: members.table.values(key) for key in pair}
    changes = members.changes({pair[0]: {"Status": "duplicate", "Fee": "7"}}, pair[1])
    person = Person(members, pair, chance, share)
    ways = [
        Answering("status", applies=True),
        Answering("reset", applies=True),
        Answering("reset"),
        Answering("cut", applies=True),
    ]

    def fault(_: Request) -> Answering | None:
        return chance.choice(ways) if chance.random() < faults else None

    fake.before = fake.after = person.act
    fake.faults.append(fault)
    way = members.carry_out(changes, f"rk1.s{seed}", attempts=12)
    fake.before = fake.after = lambda _: None
    fake.faults.clear()
    if way in ("given up", "transient", "pause"):
        way = members.carry_out(changes, f"rk1.s{seed}")
    return way, person, former


def confirm(members: Members, way: str, person: Person, former: dict[str, dict[str, object]], seed: int) -> None:
    """Compare the table with what people wrote, in order, and with our change if we say that it was done."""
    marked, guard = person.ids
    table, is_done = members.table, way in ("done", "done before")
    assert is_done or way in ("drifted", "conflict"), (seed, way)
    entries = [(source, key, change) for source, _, changed in members.fake.history for key, change in changed.items()]
    ours = [
        n
        for n, (source, key, change) in enumerate(entries)
        if source == "publicApi" and sets_mark(members, change) and key == marked
    ]
    expected = {key: dict(cells) for key, cells in former.items()}
    for number, (source, key, change) in enumerate(entries):
        if source == "client" and key in expected:
            expected[key] |= named(members, change, "current")
        elif is_done and ours and number == ours[-1]:
            before = named(members, change, "unchanged") | named(members, change, "previous")
            assert filled(before) == former[marked], (seed, "changed on old evidence")
            assert filled(expected[guard]) == former[guard], (seed, "the guard had changed")
            expected[marked] |= {"Status": "duplicate", "Fee": 7}
    for key, cells in expected.items():
        assert filled(table.values(key)) == filled(cells), (seed, way)
    assert members.receipts(marked) == ([f"rk1.s{seed}"] if is_done else []), (seed, way)
    assert not members.receipts(guard), (seed, way)


def named(members: Members, change: dict[str, dict[str, dict[str, object]]], part: str) -> dict[str, object]:
    names = {item["id"]: item["name"] for item in members.table.fields}
    cells = change[part]["cellValuesByFieldId"].items()
    return {names[key]: value["name"] if isinstance(value, dict) else value for key, value in cells}


def filled(cells: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in cells.items() if value not in (None, False, "") and name != "Reconcile"}


def sets_mark(members: Members, change: dict[str, dict[str, dict[str, object]]]) -> bool:
    return named(members, change, "current").get("Status") == "duplicate"


def rounds(part: int, short: int, long: int) -> range:
    """The seeds of one of PARTS parts: they are in the message of a failure."""
    number = few(short, long) // PARTS
    return range(SEED * 10_000 + part * number, SEED * 10_000 + (part + 1) * number)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirmation, "POLLS", (0.01,) * 30)
    assert list_of_changes.POLLS


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.chaos
def test_no_edit_between_two_requests_is_lost(members: Members, part: int) -> None:
    members.ready()
    for seed in rounds(part, 40, 1_000):
        confirm(members, *storm(members, seed, share=0.15), seed)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.chaos
def test_no_edit_is_lost_when_answers_are_lost_too(members: Members, part: int) -> None:
    members.ready()
    for seed in rounds(part, 20, 600):
        confirm(members, *storm(members, seed, share=0.1, faults=0.08), seed)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.chaos
def test_no_edit_is_lost_when_airtable_tells_of_changes_later(members: Members, fake: FakeAirtable, part: int) -> None:
    members.ready()
    fake.lag, fake.splits = 0.04, True
    for seed in rounds(part, 12, 400):
        confirm(members, *storm(members, seed, share=0.15), seed)


@pytest.mark.parametrize("cells", [*EDITS[2:], {"Status": None}], ids="+".join)
@pytest.mark.parametrize("which", ["changed", "guard"])
def test_an_edit_right_before_the_change_stays_and_the_change_goes(
    members: Members, fake: FakeAirtable, which: str, cells: dict[str, object]
) -> None:
    pair = [fake.add(members.table, Name="Ann", Status="active") for _ in range(2)]
    key = pair[0] if which == "changed" else pair[1]
    changes = members.ready().changes({pair[0]: {"Status": "duplicate"}}, pair[1])
    edits = [cells]
    fake.before = lambda request: fake.edit(members.table, key, **edits.pop()) if edits and request.is_change else None

    assert members.carry_out(changes, "rk1.a") == "drifted"

    expected = {"Name": "Ann", "Status": "active", **(cells if which == "changed" else {})}
    now = members.table.values(pair[0])
    assert {name: now.get(name) for name in expected} == expected
    assert not now.get("Reconcile")
    assert members.table.values(key) | cells == members.table.values(key) | {n: v for n, v in cells.items() if v} | {
        n: v for n, v in cells.items() if v is None
    }


def test_an_edit_while_a_change_is_taken_back_stays_too(members: Members, fake: FakeAirtable) -> None:
    """The person edits right before our change, and again right before each of our updates that take it back."""
    pair = [fake.add(members.table, Name="Ann", Note="0", Status="active") for _ in range(2)]
    changes = members.ready().changes({pair[0]: {"Note": "merged"}}, pair[1])
    number = iter(range(1, 5))

    def before(request: Request) -> None:
        if request.is_change and (text := next(number, None)) is not None:
            fake.edit(members.table, pair[0], Note=str(text))

    fake.before = before

    assert members.carry_out(changes, "rk1.a") == "drifted"
    assert members.table.values(pair[0])["Note"] == "4"
    assert not members.receipts(pair[0])


def test_a_record_that_is_deleted_right_before_or_after_its_change_is_left_alone(
    members: Members, fake: FakeAirtable
) -> None:
    for moment in ("before", "after"):
        pair = [fake.add(members.table, Name="Ann", Status="active") for _ in range(2)]
        changes = members.ready().changes({pair[0]: {"Status": "duplicate"}}, pair[1])
        setattr(
            fake, moment, lambda request, key=pair[0]: fake.remove(members.table, key) if request.is_change else None
        )

        way = members.carry_out(changes, f"rk1.{moment}")

        assert way in ("conflict", "drifted")
        assert pair[0] not in members.table.records
        fake.before = fake.after = lambda _: None


def test_a_person_who_never_stops_is_asked_for(members: Members, fake: FakeAirtable) -> None:
    pair = [fake.add(members.table, Name="Ann", Note="0", Status="active") for _ in range(2)]
    changes = members.ready().changes({pair[0]: {"Note": "merged"}}, pair[1])
    count = iter(range(1, 10_000))
    fake.before = lambda request: (
        fake.edit(members.table, pair[0], Note=str(next(count))) if request.is_change else None
    )

    assert members.carry_out(changes, "rk1.a", attempts=3) in ("given up", "drifted")
    last = next(count) - 1
    fake.before = lambda _: None

    assert members.carry_out(changes, "rk1.a") == "drifted"
    assert members.table.values(pair[0])["Note"] == str(last)
    assert not members.receipts(pair[0])
