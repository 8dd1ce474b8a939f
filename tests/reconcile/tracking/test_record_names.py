"""What people decided about records stays when the ids of these are read with other types, or are another column."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.audit.proof import prove
from reconcile.decisions import decide
from reconcile.decisions.refusals import PlanRejected
from reconcile.findings.identity import record_of
from reconcile.findings.record_names import RecordIds, untyped
from reconcile.findings.shown import Finding
from reconcile.store import Store
from reconcile.store import findings as stored_findings
from reconcile.tracking.remember import RuleOutcome
from reconcile.tracking.renaming import Renaming, rename
from rules.values import Type, Value
from tests.support import chance
from tests.support.chance import examples
from tests.support.cli import Project
from tests.support.findings import FindingsOffice, group
from tests.support.runs import Command
from tests.support.shop import Shop
from tests.support.world import ALONE, DELETE, TWO, World

pytestmark = pytest.mark.slow

Json = dict[str, Any]
TWINS = {"kind": "duplicates", "dataset": "people", "key": ["email"], "keep": [{"first": "name"}]}
ROWS = tuple((str(number), f"{chr(97 + (number - 1) // 2)}@x", f"p{number}") for number in range(1, 13))
"""Six pairs of people: id, e-mail, name."""


@dataclass
class Office:
    """People in a file, a rule that finds the same e-mail twice, and what people decide."""

    folder: Path
    columns: Sequence[str] = ("id", "email", "name")
    dataset: Json = field(default_factory=lambda: {"source": "files", "path": "people.csv", "id": "id"})
    rule: Json = field(default_factory=lambda: dict(TWINS))
    more: Json = field(default_factory=dict)

    def put(self, rows: Sequence[Sequence[object]]) -> Office:
        lines = [",".join(self.columns), *(",".join(map(str, row)) for row in rows)]
        (self.folder / "people.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
        return self

    def __call__(self, *words: str, code: int = 0) -> str:
        self.write()
        answer = self.command(*words)
        assert answer.code == code, (answer.code, answer.said)
        return answer.said

    @property
    def command(self) -> Project:
        return Project(self.folder)

    def write(self) -> None:
        config = {
            "version": 1,
            "sources": {"files": {"type": "files", "root": "."}},
            "datasets": {"people": self.dataset},
            "rules": {"twins": self.rule},
            "jobs": {"nightly": {"rules": "all"}},
        }
        (self.folder / "reconcile.yaml").write_text(json.dumps(config | self.more), encoding="utf-8")

    def run(self, *words: str, code: int = 0) -> Mapping[str, int]:
        """The counts of the rule's findings that are not zero."""
        self.write()
        answer = self.command("run", "--json", "--all", *words)
        assert answer.code == code, (answer.code, answer.said)
        [rule] = json.loads(answer.out)["rules"]
        return {name: number for name, number in rule["findings"].items() if number}

    def known(self) -> dict[str, Finding]:
        """Each finding by its key."""
        with Store.open(self.more.get("state", "sqlite:///reconcile.db"), self.folder) as store, store.read() as tx:
            return {str(next(iter(finding.key.values()))): finding for finding in stored_findings.find(tx)}

    def findings(self) -> dict[str, str]:
        return {key: finding.state.value for key, finding in self.known().items()}

    def ids(self) -> dict[str, str]:
        return {key: finding.id for key, finding in self.known().items()}

    def decide(self) -> dict[str, str]:
        """Decide in every way about the findings; return their states afterwards."""
        ids = self.ids()
        self("dismiss", ids["a@x"], "--note", "two people")
        self("handle", ids["b@x"])
        self("snooze", ids["c@x"])
        self("assign", ids["d@x"], "ann")
        return self.findings()

    def records(self) -> list[str]:
        with closing(sqlite3.connect(self.folder / "reconcile.db")) as state:
            names = state.execute("SELECT record FROM finding_members UNION SELECT record_a FROM not_same")
            return sorted(name for (name,) in names)

    def events(self, event: str) -> list[Json]:
        with closing(sqlite3.connect(self.folder / "reconcile.db")) as state:
            query = "SELECT body FROM audit JOIN audit_bodies USING (seq) WHERE event = ? ORDER BY seq"
            return [json.loads(body) for (body,) in state.execute(query, (event,))]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path).put(ROWS)


KNOWN = {"known": 4, "settled": 2}
"""Two of six findings are decided, nothing is new."""


@pytest.mark.parametrize("to", ["integer", "decimal", "float"])
def test_decisions_survive_a_declared_type_and_its_removal(office: Office, to: str) -> None:
    office.run()
    states = office.decide()

    office.dataset["columns"] = {"id": to}
    foreseen, declared, again = office.run("--dry-run"), office.run(), office.run()
    retyped = (office.findings(), office.records())
    del office.dataset["columns"]
    removed = office.run()

    assert foreseen == declared == again == removed == KNOWN
    assert retyped[0] == office.findings() == states
    assert all(name.startswith('[["n",') for name in retyped[1])
    assert all(name.startswith('[["t",') for name in office.records())
    assert [(body["records"], body["findings"], body["left"]) for body in office.events("records.renamed")] == [
        (12, 6, 0),
        (12, 6, 0),
    ]
    assert office.command.audit_is_intact()


def test_leading_zeros_are_another_id_and_one_sentence_counts_them(office: Office) -> None:
    office.put([(f"{int(number):03}" if int(number) < 3 else number, *rest) for number, *rest in ROWS]).run()
    office.decide()

    office.dataset["columns"] = {"id": "integer"}
    answer = office("run")

    assert "10 records of people in 5 findings have other ids now (`id`); decisions about them are kept" in answer
    assert "2 records of people in findings keep their former ids, because it was written differently" in answer
    assert office.findings()["a@x"] == "open"
    assert office.findings()["b@x"] == "handled"
    assert office.run() == {"known": 5, "settled": 1}


def test_ids_that_become_one_are_repeated_ids_and_join_nothing(office: Office) -> None:
    """'7' and '007' are two records of one finding, then one id of two."""
    office.put([("7", "a@x", "p"), ("007", "a@x", "q"), ("8", "b@x", "r"), ("9", "b@x", "s")]).run()
    office("dismiss", office.ids()["b@x"])

    office.dataset["columns"] = {"id": "integer"}
    answer = office("run")

    assert "1 record shares its id with another" in answer
    assert office.findings() == {"a@x": "resolved", "b@x": "dismissed"}


def test_text_and_number_in_one_column_of_a_workbook_are_a_repeated_id(office: Office) -> None:
    rows = [[17, "a@x", "p"], ["17", "a@x", "q"], [18, "b@x", "r"], ["19", "b@x", "s"]]
    office.more["sources"] = {"files": {"type": "workbook", "path": "people.xlsx"}}
    office.dataset = {"source": "files", "id": "id"}
    _workbook(office.folder, rows)

    answer = office("run")

    assert "1 record shares its id with another" in answer


def _workbook(folder: Path, rows: Sequence[Sequence[object]]) -> None:
    with xlsxwriter.Workbook(folder / "people.xlsx") as workbook:
        sheet = workbook.add_worksheet("people")
        for place, row in enumerate([["id", "email", "name"], *rows]):
            sheet.write_row(place, 0, row)


def test_decisions_survive_numbers_that_become_texts_in_a_workbook(office: Office) -> None:
    office.more["sources"] = {"files": {"type": "workbook", "path": "people.xlsx"}}
    office.dataset = {"source": "files", "id": "id"}
    _workbook(office.folder, [[int(number), *rest] for number, *rest in ROWS])
    office.run()
    states = office.decide()

    workbook = [[number, *rest] for number, *rest in ROWS]
    _workbook(office.folder, workbook)
    texts = office.run()
    _workbook(office.folder, [[int(number), *rest] for number, *rest in ROWS])

    assert texts == office.run() == KNOWN
    assert office.findings() == states


@pytest.mark.parametrize(
    ("values", "to"),
    [
        ([f"2026-01-{number:02}" for number in range(1, 13)], "date"),
        ([f"2026-01-{number:02}T08:00:00.000000Z" for number in range(1, 13)], "instant"),
        ([f"{number}.5" for number in range(1, 13)], "decimal"),
    ],
)
def test_decisions_survive_dates_and_other_types(office: Office, values: Sequence[str], to: str) -> None:
    office.put([(value, *rest) for value, (_, *rest) in zip(values, ROWS, strict=True)]).run()
    states = office.decide()

    office.dataset["columns"] = {"id": to}
    declared = office.run()
    del office.dataset["columns"]

    assert declared == office.run() == KNOWN
    assert office.findings() == states


def test_each_part_of_an_id_may_have_another_type(office: Office) -> None:
    office.columns = ("shop", "id", "email", "name")
    office.dataset["id"] = ["shop", "id"]
    office.put([(str(int(row[0]) % 3), *row) for row in ROWS]).run()
    states = office.decide()

    office.dataset["columns"] = {"id": "integer"}
    report = office.run()
    office.dataset["columns"] = {"shop": "decimal"}

    assert report == office.run() == KNOWN
    assert office.findings() == states


@pytest.mark.server
@pytest.mark.parametrize("server", ["sqlite", "postgresql", "mariadb"])
@pytest.mark.parametrize("state", ["sqlite", "postgresql"])
def test_decisions_survive_an_altered_column(
    office: Office, server: str, state: str, request: pytest.FixtureRequest
) -> None:
    shop = Shop("sqlite:///shop.sqlite", office.folder)
    if server != "sqlite":
        shop = Shop(request.getfixturevalue("postgres_url" if server == "postgresql" else "mariadb_url"), office.folder)
    if state == "postgresql":
        office.more["state"] = request.getfixturevalue("postgres_server" if server == "postgresql" else "postgres_url")
    office.more["sources"] = {"files": {"type": "sql", "url": shop.url}}
    office.dataset = {"source": "files", "table": "people", "id": "id"}

    def create(type_: str) -> None:
        values = ", ".join(f"('{number}', '{email}', '{name}')" for number, email, name in ROWS)
        shop.sql(
            "drop table if exists people",
            f"create table people (id {type_} primary key, email varchar(20), name varchar(20))",
            f"insert into people values {values}",
        )

    create("integer")
    office.run()
    states = office.decide()
    create("varchar(40)")
    texts = office.run()
    create("decimal(12, 0)")
    decimals = office.run()

    assert texts == decimals == KNOWN
    assert office.findings() == states
    assert office.command.audit_is_intact()


@pytest.mark.server
def test_decisions_survive_texts_that_become_uuids(office: Office, postgres_url: str) -> None:
    shop = Shop(postgres_url, office.folder)
    office.more["sources"] = {"files": {"type": "sql", "url": postgres_url}}
    office.dataset = {"source": "files", "table": "people", "id": "id"}
    values = ", ".join(f"('{uuid.UUID(int=int(number))}', '{email}', '{name}')" for number, email, name in ROWS)
    shop.sql("create table people (id text primary key, email text, name text)", f"insert into people values {values}")
    office.run()
    states = office.decide()

    shop.sql("alter table people alter column id type uuid using id::uuid")

    assert office.run() == KNOWN
    assert office.findings() == states


def test_the_key_of_a_comparison_may_be_the_id_itself(office: Office) -> None:
    (office.folder / "ledger.csv").write_text("id,amount\n99,1\n", encoding="utf-8")
    office.columns = ("id", "amount")
    office.put([(str(number), "5") for number in range(1, 4)])
    office.more["datasets"] = {
        "people": office.dataset,
        "ledger": {"source": "files", "path": "ledger.csv", "id": "id"},
    }
    office.rule = {"kind": "reconciliation", "left": "people", "right": "ledger", "key": ["id"]}
    office.run()
    office("dismiss", office.ids()["1"])

    for dataset in office.more["datasets"].values():
        dataset["columns"] = {"id": "integer"}
    report = office.run()

    assert report == {"known": 3, "settled": 1}
    assert office.findings() == {"1": "dismissed", "2": "open", "3": "open", "99": "open"}


def test_records_of_several_datasets_keep_their_decisions(office: Office) -> None:
    (office.folder / "crm.csv").write_text("id,email,name\n1,a@x,z\n2,b@x,y\n", encoding="utf-8")
    crm = {"source": "files", "path": "crm.csv", "id": "id"}
    office.more["datasets"] = {"people": office.dataset, "crm": crm}
    office.rule = {name: value for name, value in TWINS.items() if name != "dataset"} | {"datasets": ["people", "crm"]}
    office.run()
    states = office.decide()

    crm["columns"] = {"id": "integer"}
    first = office.run()
    office.dataset["columns"] = {"id": "decimal"}

    assert first == office.run() == KNOWN
    assert office.findings() == states


def test_a_judged_pair_stays_apart_under_several_keys(office: Office) -> None:
    """What people judged is asked for while the records are read, so they are renamed before that."""
    office.rule["key"] = {"any": [["email"], ["name"]]}
    office.put([("1", "a@x", "p"), ("2", "a@x", "q")]).run()
    [finding] = office.known().values()
    office("dismiss", finding.id)
    office.put([("1", "a@x", "p"), ("2", "a@x", "q"), ("3", "c@x", "q")]).run()
    joined = office.run("--dry-run")

    office.dataset["columns"] = {"id": "integer"}
    report = office.run("--dry-run")

    assert joined == report == office.run()


# Plans


def retype(world: World, type_: str) -> None:
    """Alter the column; the next run stops cleaning for it until somebody allows it."""
    rows = world.shop.rows()
    world.shop.sql("drop table customers", f"create table customers (id {type_} primary key, email text, name text)")
    world.add(*rows)
    world.run()
    assert world.command("allow", "twins").code == 0


def test_a_waiting_plan_is_void_and_proposed_anew(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    world.approve(world.only(), later=True)

    retype(world, "varchar(40)")

    assert [plan.reason for plan in world.plans()] == ["The ids of its records changed."]
    world.run()
    world.run()
    assert world.findings() == {world.only(): "awaiting_approval"}
    assert world.approve(world.only()).ok
    assert world.shop.ids() == ["1", "3"]
    assert world.intact()


def test_a_rejected_plan_stays_rejected(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    with world.decisions() as decisions:
        decisions.reject(world.only())

    retype(world, "varchar(40)")
    world.run()
    world.run()

    assert world.findings() == {world.only(): "open"}
    with pytest.raises(PlanRejected):
        world.approve(world.only())


def test_a_chosen_keeper_stays_chosen(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    assert world.command("keep", world.only(), "2").code == 0

    retype(world, "varchar(40)")
    world.run()
    world.run()

    assert world.approve(world.only(), plan_hash=world.plans()[-1].plan_hash).ok
    assert world.shop.ids() == ["2", "3"]


@pytest.mark.parametrize("is_undone_first", [True, False])
def test_what_was_undone_is_not_cleaned_unasked(is_undone_first: bool, tmp_path: Path) -> None:
    """An undo after the ids changed judges the records by their present names."""
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    world.run()
    assert world.shop.ids() == [1, 3]
    if is_undone_first:
        world.undo(world.only())
    with world.open() as application, application.store.begin() as tx:
        ids = RecordIds(("id",), (Type.TEXT,))
        rename(tx, Renaming("customers", ids, ids.retyped), "")
    if not is_undone_first:
        world.undo(world.only())

    with closing(sqlite3.connect(world.folder / "reconcile.db")) as state:
        pairs = state.execute("SELECT record_a, record_b FROM not_same").fetchall()
    retype(world, "varchar(40)")
    for _ in range(3):
        world.run()

    assert pairs == [('[["t","1"]]', '[["t","2"]]')]
    assert world.shop.ids() == ["1", "2", "3"]


# Any ids

READINGS: Mapping[Type, Callable[[int], Value]] = {
    Type.TEXT: str,
    Type.INTEGER: int,
    Type.DECIMAL: Decimal,
    Type.FLOAT: float,
}


@settings(max_examples=examples(25), deadline=None)
@given(
    numbers=st.lists(st.integers(-(10**6), 10**6), unique=True, min_size=4, max_size=16),
    types=st.lists(st.sampled_from(sorted(READINGS, key=lambda kind: kind.value)), min_size=2, max_size=4),
    choice=st.randoms(use_true_random=False),
)
def test_any_retyped_records_have_the_same_findings_and_decisions(
    numbers: list[int], types: list[Type], choice: random.Random
) -> None:
    pairs = [numbers[at : at + 2] for at in range(0, len(numbers) - 1, 2)]
    with tempfile.TemporaryDirectory() as folder:
        office = FindingsOffice.new("sqlite:///state.db", Path(folder))

        def record(kind: Type) -> RuleOutcome:
            read = READINGS[kind]
            return office.record(*(group(str(place), *map(read, pair)) for place, pair in enumerate(pairs)))

        record(types[0])
        for finding in office.all():
            decision = choice.choice([decide.dismiss, decide.handle, decide.snooze, None])
            if decision is not None:
                decision(office.store, finding.id, actor="ada")
        states = {finding.id: finding.state for finding in office.all()}
        for kind in types[1:]:
            with office.store.begin() as tx:
                ids = RecordIds(("id",), (kind,))
                rename(tx, Renaming(office.all()[0].dataset, ids, ids.retyped), "")
            outcome = record(kind)
            assert (outcome.new, outcome.grown, outcome.reopened, outcome.resolved) == (0, 0, 0, 0)
            assert {finding.id: finding.state for finding in office.all()} == states
        assert prove(office.store, {}).intact
        office.store.close()


@given(st.text(max_size=12), st.sampled_from(Type))
def test_only_a_canonical_text_is_the_same_id_in_another_type(text: str, kind: Type) -> None:
    name = record_of((text,))

    retyped = RecordIds(("id",), (kind,)).retyped(name)

    if retyped is not None:
        assert untyped(retyped) == untyped(name)
        assert RecordIds(("id",), (Type.TEXT,)).retyped(retyped) == name


# Another id column

BY_UUID = tuple((number, f"u{number}", email, name) for number, email, name in ROWS)


def by_other_column(office: Office, rows: Sequence[Sequence[object]]) -> dict[str, str]:
    """Records with the columns ref and other, decided about by ref, whose id is `other` from now on."""
    office.columns = ("ref", "other", "email", "name")
    office.dataset["id"] = "ref"
    office.put(rows).run()
    states = office.decide()
    office.dataset |= {"id": "other", "was": {"id": "ref"}}
    return states


def test_was_takes_decisions_to_another_id(office: Office) -> None:
    states = by_other_column(office, BY_UUID)

    foreseen, answer, again = office.run("--dry-run"), office("run"), office.run()
    names = office.records()
    del office.dataset["was"]

    assert foreseen == again == office.run() == KNOWN
    assert "12 records of people in 6 findings have other ids now (`other`); decisions about them are kept" in answer
    assert office.findings() == states
    assert names == sorted(f'[["t","u{number}"]]' for number in range(1, 13))
    assert len(office.events("records.renamed")) == 1
    assert office.command.audit_is_intact()


@pytest.mark.parametrize("is_declared", [True, False])
def test_records_may_exchange_their_ids(office: Office, is_declared: bool) -> None:
    """The other id of each record is the former id of another one."""
    if is_declared:
        office.dataset["columns"] = {"ref": "integer", "other": "integer"}
    states = by_other_column(office, [(row[0], int(row[0]) % 12 + 1, *row[1:]) for row in ROWS])

    report, names = office.run(), office.records()

    assert report == office.run() == KNOWN
    assert office.findings() == states
    assert len(names) == 12
    assert office.command.audit_is_intact()


def test_a_record_with_an_empty_or_repeated_id_keeps_its_own(office: Office) -> None:
    rows = [list(row) for row in BY_UUID]
    rows[0][1], rows[2][1], rows[4][1] = "", "u7", "u5"
    rows[5][1] = "1"  # the former id of a record that is not renamed
    states = by_other_column(office, rows)

    answer = office("run", code=0)

    assert "3 records of people in findings keep their former ids, because an id is empty or repeated" in answer
    assert {key: office.findings()[key] for key in ("e@x", "f@x")} == {key: states[key] for key in ("e@x", "f@x")}
    assert '[["t","ref 1"]]' in office.records()


def test_another_id_without_the_former_one_is_refused_until_somebody_decides(office: Office) -> None:
    by_other_column(office, BY_UUID)
    was = office.dataset.pop("was")
    before, decided = office.records(), office.findings()

    refused = [office(*words, code=3) for words in (["run"], ["run", "--dry-run"])]

    for answer in refused:
        text = " ".join(answer.split())
        assert "The id of dataset 'people' was `ref` and is `other` now" in text
        assert "add `was: {id: ref}` to the dataset" in text
    assert (office.records(), office.findings()) == (before, decided)
    office.dataset["was"] = {"id": "other"}
    assert office.run() != KNOWN
    assert was == {"id": "ref"}


def test_a_former_id_that_is_gone_is_told_and_changes_nothing(office: Office) -> None:
    by_other_column(office, BY_UUID)
    office.columns = ("other", "email", "name")
    office.put([row[1:] for row in BY_UUID])
    before = office.records()

    answer = office("run", code=3)

    assert "has no column `ref`" in answer
    assert office.records() == before


@pytest.mark.chaos
def test_a_run_that_is_killed_leaves_all_names_or_none(office: Office, tmp_path: Path) -> None:
    states = by_other_column(office, BY_UUID)
    office.write()
    before, seen = office.records(), set[bool]()
    for dies_at in range(1, 200, chance.few(15, 3)):
        folder = tmp_path / f"killed-{dies_at}"
        shutil.copytree(office.folder, folder, ignore=shutil.ignore_patterns("killed-*"))
        killed = Office(folder, office.columns, office.dataset, office.rule)
        ended = Command(folder, "run", dies_at=dies_at).end()

        is_renamed = killed.records() != before
        assert not is_renamed or killed.records() == sorted(f'[["t","u{number}"]]' for number in range(1, 13))
        seen.add(is_renamed)
        if ended.code >= 0:
            break
        assert killed.run() == KNOWN
        assert killed.findings() == states
        assert len(killed.events("records.renamed")) == 1

    assert seen == {True, False}
