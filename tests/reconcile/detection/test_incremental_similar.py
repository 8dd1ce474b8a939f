"""Runs of kind `similar` that compare only what changed have the findings of runs that compare all of it anew.

The judge is a second state, which ran in full at the same time, and for which every record counts as changed in each
run: it has the same statistics, and compares all records.
"""

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reconcile.decisions import decide
from reconcile.findings.states import State
from reconcile.store import tables
from rules.kinds.similar.candidates import choice
from tests.reconcile.detection.changing_people import RULE, People, mutated, person
from tests.support import chance

EXAMPLES = int(os.environ.get("RECONCILE_EXAMPLES") or chance.few(1, 20))
CHANGED, EVERYTHING = "5s", "3650d"
"""What overlaps with the last run: only what changed since then, or all records."""
SEVERAL_EMAILS = "ann@mail.example; bea@mail.example"
Change = Callable[[People, random.Random], None]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let blocks be made of few records, as otherwise of many."""
    monkeypatch.setattr(choice, "EVERY_PAIR", 0)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> People:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_server")
    return People(url, tmp_path / "states").create()


@pytest.fixture
def shop(tmp_path: Path) -> People:
    """120 people in SQLite, some of them twice, of which both states know."""
    shop = People(f"sqlite:///{tmp_path / 'shop.db'}", tmp_path / "states").create()
    filled(shop, 100, 20)
    both_run(shop, "full")
    return shop


def filled(people: People, persons: int, twins: int, seed: int = 1) -> None:
    generator = random.Random(seed)
    rows = {number: person(generator) for number in range(1, persons + 1)}
    rows[1]["email"] = SEVERAL_EMAILS
    for number in range(persons + 1, persons + twins + 1):
        rows[number] = mutated(generator, rows[generator.randint(1, persons)])
    people.add(rows, old=True)


def both_run(people: People, mode: str) -> None:
    outcome = people.run("changed", CHANGED)
    judge = people.run("everything", EVERYTHING)

    assert (outcome.mode, judge.mode) == (mode, mode), (outcome.mode_reason, judge.mode_reason)
    assert people.findings("changed") == people.findings("everything")
    assert (outcome.groups, outcome.findings) == (judge.groups, judge.findings)


def insert_twin(people: People, generator: random.Random) -> None:
    everybody = people.people()
    people.add({max(everybody, default=0) + 1: mutated(generator, generator.choice([*everybody.values()]))})


def insert_stranger(people: People, generator: random.Random) -> None:
    people.add({max(people.people(), default=0) + 1: person(generator)})


def insert_copies(people: People, generator: random.Random) -> None:
    """Insert several equal records: a block of new ones alone."""
    everybody, values = people.people(), person(generator)
    people.add({max(everybody, default=0) + number: dict(values) for number in (1, 2, 3, 4, 5)})


def update(people: People, generator: random.Random) -> None:
    number, values = generator.choice([*people.people().items()])
    people.change(number, mutated(generator, values))


def become_another(people: People, generator: random.Random) -> None:
    """Let a record leave its group for another."""
    (number, _), (_, values) = generator.sample([*people.people().items()], 2)
    people.change(number, mutated(generator, values))


def take_out(people: People, generator: random.Random) -> None:
    number = generator.choice([*people.people()])
    people.change(number, {"status": generator.choice(["ok", "void"])})


def delete(people: People, generator: random.Random) -> None:
    people.delete(*generator.sample([*people.people()], 3))


def dismiss(people: People, generator: random.Random) -> None:
    """Let a person say, in both states, that the records of a finding are different."""
    findings = [finding for finding in people.findings("changed") if finding[0] == "open"]
    members = generator.choice(findings)[2] if findings else ()
    for state in ("changed", "everything"):
        for finding in people.every(state):
            if (
                finding.state is State.OPEN
                and tuple((member.role, *member.id) for member in finding.members) == members
            ):
                people.decide(state, partial(decide.dismiss, finding_id=finding.id, actor="ann"))


CHANGES: tuple[Change, ...] = (
    insert_twin,
    insert_stranger,
    insert_copies,
    update,
    become_another,
    take_out,
    delete,
    dismiss,
)


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.usefixtures("few")
def test_findings_are_those_of_comparing_all_records_whatever_changes(people: People) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(
        seed=st.integers(0, 10**6),
        steps=st.lists(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=6), min_size=3, max_size=6),
        where=st.sampled_from([None, "status = 'ok'"]),
        block=st.sampled_from([(), (("surname", "born"), ("email",))]),
    )
    def compare(seed: int, steps: list[list[Change]], where: str | None, block: tuple[tuple[str, ...], ...]) -> None:
        people.begin(RULE | ({"where": where} if where else {}) | ({"block": block} if block else {}))
        generator = random.Random(seed)
        filled(people, 80, 30, seed)
        both_run(people, "full")
        both_run(people, "incremental")
        for changes in steps:
            for change in changes:
                change(people, generator)
            both_run(people, "incremental")

    compare()


@pytest.mark.slow
@pytest.mark.parametrize("people", ["sqlite"], indirect=True)
def test_of_many_records_only_changed_ones_are_compared_with_all(people: People) -> None:
    """900 records have more pairs than are all compared."""
    generator = random.Random(5)
    filled(people, 700, 200)
    both_run(people, "full")

    for _ in range(2):
        for change in (insert_twin, update, update, become_another, delete):
            change(people, generator)
        both_run(people, "incremental")


def why(shop: People, state: str = "changed") -> tuple[str, str]:
    outcome = shop.run(state, CHANGED)
    return outcome.mode, outcome.mode_reason


def remembered(shop: People, state: str = "changed") -> list[str]:
    """What the state remembers of the records: the names of the parts."""
    with sa.create_engine(f"sqlite:///{shop.folder / state / 'state.db'}").connect() as connection:
        return list(connection.execute(sa.select(tables.remembered.c.name).distinct()).scalars())


@pytest.mark.usefixtures("few")
def test_a_run_says_how_many_records_it_compared(shop: People) -> None:
    shop.add({500: mutated(random.Random(3), shop.people()[7])})

    assert why(shop) == ("incremental", "1 record touched since the last run")
    assert any({member.id for member in finding.members} >= {(7,), (500,)} for finding in shop.every("changed"))


@pytest.mark.usefixtures("few")
def test_a_deleted_record_ends_its_finding(shop: People) -> None:
    finding = shop.every("changed")[0]
    shop.delete(*(int(str(member.id[0])) for member in finding.members[1:]))

    both_run(shop, "incremental")

    assert next(each for each in shop.every("changed") if each.id == finding.id).state.value == "resolved"


@pytest.mark.usefixtures("few")
def test_a_full_run_counts_what_a_change_without_a_time_hid(shop: People) -> None:
    twin = shop.people()[9]
    shop.sql(
        "insert into people (id, given, surname, email, phone, born, city, updated_at) values "
        "(600, :given, :surname, :email, :phone, :born, :city, '2026-01-01 00:00:00')",
        twin,
    )

    assert why(shop)[0] == "incremental"
    hidden = {finding.id for finding in shop.every("changed")}
    outcome = shop.run("changed", CHANGED, full=True)

    assert (outcome.mode, outcome.mode_reason, outcome.missed) == ("full", "it was asked for", 1)
    [new] = [finding for finding in shop.every("changed") if finding.id not in hidden]
    assert {member.id for member in new.members} >= {(9,), (600,)}
    advice = "a few are usual for kind `similar`, because only full runs count all values anew"
    assert advice in shop.command("changed", CHANGED, "doctor").out.replace("\n", " ")


@pytest.mark.usefixtures("few")
def test_a_change_that_only_a_look_at_the_record_shows_is_taken_into_account(shop: People) -> None:
    """A record changed without a new time; then its twin changes, and both are read."""
    first, second = (int(str(member.id[0])) for member in shop.every("changed")[0].members[:2])
    stranger = person(random.Random(77))
    shop.sql(
        "update people set given = :given, surname = :surname, email = :email, phone = :phone, born = :born, "
        "city = :city where id = :id",
        {"id": first, **stranger},
    )
    shop.change(second, {"status": "ok"})

    both_run(shop, "incremental")


@pytest.mark.usefixtures("few")
def test_an_edited_rule_compares_all_records(shop: People) -> None:
    shop.rule = shop.rule | {"threshold": "50%"}

    assert why(shop) == ("full", "the rule or its dataset changed")
    assert why(shop)[0] == "incremental"


@pytest.mark.usefixtures("few")
def test_after_an_erasure_nothing_is_remembered_and_all_records_are_compared(shop: People) -> None:
    assert remembered(shop)
    assert shop.command("changed", CHANGED, "erase", "people", "--id", "99").code == 0

    assert not remembered(shop)
    assert why(shop)[0] == "full"
    assert remembered(shop)


@pytest.mark.usefixtures("few")
def test_what_is_remembered_holds_no_value_and_no_id_in_plain(shop: People) -> None:
    with sa.create_engine(f"sqlite:///{shop.folder / 'changed' / 'state.db'}").connect() as connection:
        contents = b"".join(connection.execute(sa.select(tables.remembered.c.content)).scalars())

    assert len(contents) > 1_000
    assert not any(name in contents for name in (b"mail.example", b"berlin", b"statistics", b"surname"))


@pytest.mark.usefixtures("few")
def test_damaged_memory_is_not_used(shop: People) -> None:
    with sa.create_engine(f"sqlite:///{shop.folder / 'changed' / 'state.db'}").begin() as connection:
        [content] = connection.execute(
            sa.select(tables.remembered.c.content).where(tables.remembered.c.name.like("%later%"))
        ).scalars()
        damaged = content[:-1] + bytes([content[-1] ^ 1])
        is_later = tables.remembered.c.name.like("%later%")
        connection.execute(sa.update(tables.remembered).where(is_later).values(content=damaged))

    assert why(shop) == ("full", "the index of the last full run is damaged, or another release wrote it")
    assert why(shop)[0] == "incremental"


def test_with_few_records_all_are_compared(tmp_path: Path) -> None:
    shop = People(f"sqlite:///{tmp_path / 'shop.db'}", tmp_path / "states").create()
    filled(shop, 30, 5)
    shop.run("changed", CHANGED)

    assert why(shop) == ("full", "it has so few records that all pairs are compared")


@pytest.mark.usefixtures("few")
def test_a_value_that_too_many_new_records_share_makes_a_run_full(shop: People) -> None:
    shop.rule = shop.rule | {"max_block": 4}
    shop.run("changed", CHANGED)
    values = person(random.Random(8))
    shop.add({700 + number: dict(values) for number in range(6)})

    assert why(shop) == ("full", "changed records share values that 6 records have by now")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"compare": {"given": "name", "email": "email"}}, "`given` is compared by words"),
        ({"compare": {"given": "given_name", "phone": "amount"}}, "`phone` is compared as an amount"),
        ({"where": "updated_at < slot()"}, "`slot()` in a condition"),
    ],
)
def test_rules_whose_findings_depend_on_all_records_compare_all(
    tmp_path: Path, rule: dict[str, object], reason: str
) -> None:
    shop = People(f"sqlite:///{tmp_path / 'shop.db'}", tmp_path / "states", RULE | rule).create()
    filled(shop, 20, 5)
    shop.run("changed", CHANGED)

    mode, in_words = why(shop)

    assert (mode, in_words[: len(reason)]) == ("full", reason)
    assert reason in shop.command("changed", CHANGED, "explain", "twin").said
    assert reason in shop.command("changed", CHANGED, "doctor").said


@pytest.mark.slow
@pytest.mark.chaos
def test_a_run_killed_anywhere_leaves_a_state_whose_next_run_finds_the_same(tmp_path: Path) -> None:
    shop = People(f"sqlite:///{tmp_path / 'shop.db'}", tmp_path / "states").create()
    filled(shop, 700, 200)
    both_run(shop, "full")
    generator = random.Random(6)
    for change in (insert_twin, update, become_another, delete):
        change(shop, generator)
    shop.copy("changed", "whole")
    command = shop.held_run("whole", CHANGED)
    command.end()

    for number in range(3, 8, chance.few(2, 1)):
        shop.copy("changed", f"killed-{number}")
        shop.held_run(f"killed-{number}", CHANGED, dies_at=command.statements * number // 8).process.join(60)
        outcome = shop.run(f"killed-{number}", CHANGED)

        assert outcome.mode == "incremental"
        assert [finding[:4] for finding in shop.findings(f"killed-{number}")] == [
            finding[:4] for finding in shop.findings("whole")
        ]
