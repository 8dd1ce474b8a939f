"""Groups that did not change are recognised by their digests: faster, and with the same findings, log and messages."""

import csv
import json
import secrets
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.decisions import decide
from reconcile.store import key as state_key
from reconcile.store import recognised, tables
from reconcile.tracking import remember
from rules.engines.base import MoneyColumns
from rules.groups import keyed
from rules.groups.digests import digests
from rules.groups.group import DuplicateGroup, Group
from rules.groups.recognised import Digests, PartlyBuilt, Recognition
from rules.kinds.duplicates import DuplicatesRule
from rules.values import Type
from tests.reconcile.tracking.lives import Life, steps, template
from tests.support.cli import Project
from tests.support.findings import FindingsOffice, group
from tests.support.rules import Rows, detect
from tests.support.store import NOON

__all__ = ["template"]
TYPES = {"id": Type.INTEGER, "order": Type.TEXT, "at": Type.INTEGER, "note": Type.INTEGER}


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recognise groups of few records, too."""
    monkeypatch.setattr(keyed, "FEW", 0)


class DetectedLife(Life):
    """A life whose groups are detected; the key of a record is written in several ways."""

    recognises: bool

    def __init__(self, template: Path, folder: Path, *, recognises: bool) -> None:
        super().__init__(template, folder, 1_000_000, by_records=False)
        self.recognises = recognises
        self.recognised = 0

    def groups(self) -> Sequence[Group]:
        rows = [
            {"id": record, "order": key + " " * (at % 2), "at": at, "note": at // 7}
            for record, (key, at) in self.data.items()
        ]
        money = MoneyColumns("note", currency="EUR")
        data = Rows(TYPES, rows, money=money)
        rule = DuplicatesRule.model_validate(
            {"name": "twins", "dataset": "things", "key": [{"order": ["trim"]}], "keep": [{"first": "at"}]}
        )
        if self.recognises:
            with self.store.read() as tx:
                stored = recognised.digests(tx, self.rule.name)
            rule = rule.recognising(Recognition(repr((self.rule.name, self.rule.definition)).encode(), stored))
        groups = detect(rule, data.relation(), data.streamed(), NOON).groups
        self.recognised += len(groups.unbuilt) if isinstance(groups, PartlyBuilt) else 0
        return groups


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(drawn=steps)
def test_a_life_of_findings_is_the_same_with_groups_recognised(drawn: list[tuple[Any, ...]], template: Path) -> None:
    """Records come, change and go; people decide, plans are made and end; rules are edited and renamed."""
    lives = []
    with tempfile.TemporaryDirectory() as name:
        for recognises in (True, False):
            life = DetectedLife(template, Path(name) / str(recognises), recognises=recognises)
            for what, *words in drawn:
                life.step(what, *words)
            lives.append(life.all())
            life.store.close()

    assert lives[0] == lives[1]


@pytest.mark.slow
def test_a_group_that_did_not_change_is_not_even_built(template: Path, tmp_path: Path) -> None:
    life = DetectedLife(template, tmp_path / "life", recognises=True)
    for record, key in enumerate("AABBCC"):
        life.step("put", record, key, 3)
    life.step("run", True, True)
    life.step("put", 0, "A", 8)
    life.step("run", True, True)

    assert life.recognised == 2
    assert [outcome.known for outcome, _ in life.told] == [0, 3]
    assert life.told[0][0].money == {"EUR": 0}


values = st.sampled_from([None, "", "a", "b", "1:a", "-", "é"])


@given(
    first=st.lists(st.tuples(values, values), min_size=1, max_size=3),
    second=st.lists(st.tuples(values, values), min_size=1, max_size=3),
)
def test_digests_are_equal_exactly_for_the_same_records_in_any_order(first: list[Any], second: list[Any]) -> None:
    def digest(rows: list[Any]) -> str:
        table = pa.table([pa.array(column, pa.string()) for column in zip(*rows, strict=True)], ["a", "b"])
        [(_, digest)] = digests(table, np.zeros(len(rows), np.int64), ["key"], b"salt")
        return digest

    assert (digest(first) == digest(second)) == (sorted(map(repr, first)) == sorted(map(repr, second)))


# Findings by hand, on both databases


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FindingsOffice]:
    url = "sqlite:///state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    office = FindingsOffice.new(url, tmp_path)
    yield office
    office.store.close()


class Unbuilt:
    """Groups, one for each key, that a detection takes for known; `built` has the keys of those built."""

    def __init__(self, *keys: str) -> None:
        self.built: list[str] = []
        self.all = [with_digest(key) for key in keys]

    def groups(self) -> PartlyBuilt:
        digests = Digests.read([str(group.digest) for group in self.all])
        return PartlyBuilt((), digests, np.arange(len(self.all)), self.build)

    def build(self, numbers: Iterable[int]) -> list[Group]:
        chosen = [self.all[number] for number in numbers]
        self.built += [str(group.key["order"]) for group in chosen]
        return list(chosen)


def with_digest(key: str) -> DuplicateGroup:
    number = 10 * ord(key[0])
    return replace(group(key, number, number + 1, money="1.50"), digest=sha256(key.encode()).hexdigest()[:32])


def last_runs(office: FindingsOffice) -> dict[Any, str]:
    return {finding.key["order"]: finding.last_run for finding in office.all()}


def test_exactly_the_findings_that_were_found_again_are_seen_again(office: FindingsOffice) -> None:
    office.record_all([with_digest(key) for key in "ABC"])
    detection = Unbuilt("A", "B")

    outcome = office.record_all(detection.groups())

    assert detection.built == []
    assert (outcome.known, outcome.resolved, outcome.money) == (2, 1, {"EUR": Decimal("3.00")})
    assert last_runs(office) == {"A": "run-2", "B": "run-2", "C": "run-1"}


def test_a_finding_whose_state_changed_after_the_detection_is_judged(office: FindingsOffice) -> None:
    office.record_all([with_digest(key) for key in "AB"])
    office.record_all([with_digest("B")])
    detection = Unbuilt("A", "B")

    outcome = office.record_all(detection.groups())

    assert detection.built == ["A"]
    assert (outcome.known, outcome.reopened, outcome.money) == (1, 1, {"EUR": Decimal("3.00")})


def test_findings_with_one_digest_are_judged(office: FindingsOffice) -> None:
    office.record_all([with_digest(key) for key in "ABC"])
    with office.store.begin() as tx:
        digest = tables.findings.c.digest
        of_b = sa.update(tables.findings).where(digest == with_digest("B").digest)
        tx.connection.execute(of_b.values(digest=with_digest("A").digest))
    detection = Unbuilt("A", "B", "C")

    outcome = office.record_all(detection.groups())

    assert detection.built == ["A", "B"]
    assert (outcome.known, outcome.money) == (3, {"EUR": Decimal("4.50")})


def test_a_finding_with_a_record_that_people_judged_is_judged(office: FindingsOffice) -> None:
    office.record_all([with_digest(key) for key in "AB"])
    record_a = 10 * ord("A")
    office.record_all([with_digest("A"), with_digest("B"), group("other", record_a, 7)])
    [other_id] = [finding.id for finding in office.all() if finding.key["order"] == "other"]
    decide.dismiss(office.store, other_id, actor="kim")
    detection = Unbuilt("A", "B")

    office.record_all(detection.groups())

    assert detection.built == ["A"]


def test_digests_with_an_equal_half_are_different() -> None:
    stored = Digests(bytes(16) + bytes(8) + b"1" * 8)

    assert stored.places_of(Digests(bytes(16) + b"1" * 16 + bytes(8) + b"2" * 8)).tolist() == [0, -1, -1]
    assert Digests().places_of(stored).tolist() == [-1, -1]


# Whole runs

PROJECT = """
version: 1
sources: {lists: {type: files, root: .}}
datasets:
  people:
    source: lists
    path: people.csv
    id: id
    columns: {paid: decimal, day: date}
    money: {amount: paid, currency: EUR}
rules: {twins: {kind: duplicates, dataset: people, key: [{name: [trim]}], keep: [{last: day}], severity: high}}
channels: {ops: {type: file, path: told.jsonl, format: jsonl}}
jobs: {nightly: {rules: all, existing: report, notify: [ops]}}
"""
ROWS = [
    {"id": f"{n}", "name": f"Person {n // 2}", "paid": f"{n}.50", "day": f"2026-03-0{1 + n % 7}", "town": "Bonn"}
    for n in range(12)
]
Row = Mapping[str, str]


OTHER = "{source: lists, path: other.csv, id: id, columns: {paid: decimal, day: date}}"


def write(folder: Path, rows: Sequence[Row]) -> None:
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def changed(number: int, **values: str) -> list[Row]:
    return [row | values if n == number else row for n, row in enumerate(ROWS)]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of groups judged by each call of `judge`."""
    numbers: list[int] = []
    judge = remember.judge

    def counting(rule: Any, groups: Sequence[Group], *rest: Any, **more: Any) -> Any:
        numbers.append(len(groups))
        return judge(rule, groups, *rest, **more)

    monkeypatch.setattr(remember, "judge", counting)
    return numbers


EDITS: dict[str, tuple[str, str]] = {
    "severity": ("severity: high", "severity: low"),
    "keep": ("last: day", "first: day"),
    "money": ("currency: EUR", "currency: USD"),
    "normaliser": ("[trim]", "[trim, lower]"),
    "derived": ("columns: {", "columns: {extra: {is: paid + 1}, "),
    "where": ("severity: low", "severity: low, where: paid >= 0"),
    "type": (
        "id: id\n    columns: {extra: {is: paid + 1}, paid: decimal, day: date}",
        "id: id\n    columns: {extra: {is: paid + 1}, paid: decimal, day: instant}",
    ),
    "pii": ("id: id\n", "id: id\n    pii: [name]\n"),
}
HISTORY: Sequence[tuple[Sequence[Row], int | None]] = (
    (ROWS, 0),
    (ROWS[::-1], 0),
    (changed(3, town="Ulm"), 0),
    (changed(3, paid="3.5"), 0),
    (changed(3, name="Person 1 "), 1),
    (changed(3, name="Person 2"), None),
    (changed(3, day="2026-04-01"), None),
    (changed(3, paid="3.51"), 1),
    (changed(3, id="300"), 1),
    ([*ROWS, ROWS[3] | {"id": "30"}], 1),
    ([*ROWS, *(ROWS[3] | {"id": f"3{n}", "name": "Eve"} for n in (1, 2))], None),
    ([*ROWS[1:], ROWS[3]], None),
    (ROWS, None),
)
"""Records, and how many groups a run builds that knows those before them."""


TIMES = ("first_run", "last_run", "first_seen", "last_seen", "state_since")


def timeless(shown: Any) -> Any:
    """The same JSON without times and runs."""
    if isinstance(shown, list):
        return [timeless(item) for item in shown]
    if isinstance(shown, dict):
        return {name: timeless(value) for name, value in shown.items() if name not in TIMES}
    return shown


def outcome(project: Project) -> Any:
    """All that is stored and sent about findings, without times and digests."""
    heard = (project.folder / "told.jsonl").read_text().splitlines()
    told = [sorted(finding["id"] for finding in json.loads(line).get("findings", [])) for line in heard]
    return timeless(project("findings", "--json", "--show", "--all").json), told


def run(project: Project) -> Any:
    [rule] = project("run", "--json").json["rules"]
    return {name: value for name, value in rule.items() if name != "seconds"}


def begun(folder: Path, few: int, monkeypatch: pytest.MonkeyPatch, base: str = PROJECT) -> Project:
    """A project after a first run, with groups recognised from so many records on.

    All have one key, so that their findings have the same ids.
    """
    folder.mkdir()
    same = SimpleNamespace(token_bytes=bytes, token_hex=secrets.token_hex)
    monkeypatch.setattr(state_key, "secrets", same)
    monkeypatch.setattr(keyed, "FEW", few)
    write(folder, ROWS)
    project = Project(folder).write(base)
    run(project)
    return project


@pytest.mark.slow
def test_changes_are_found_as_without_digests(
    tmp_path: Path, judged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[list[Any]] = [[], []]
    for few, report in zip((0, 1_000_000), reports, strict=True):
        project = begun(tmp_path / str(few), few, monkeypatch)
        for rows, built in HISTORY:
            judged.clear()
            write(project.folder, rows)
            report += [run(project), outcome(project)]
            assert few or built is None or sum(judged) == built
        assert project.audit_is_intact()

    assert reports[0] == reports[1]


@pytest.mark.slow
def test_an_edit_of_the_rule_or_its_dataset_builds_every_group_anew(
    tmp_path: Path, judged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[list[Any]] = [[], []]
    for few, report in zip((0, 1_000_000), reports, strict=True):
        text = PROJECT.replace("rules: {twins", f"  people2: {OTHER}\nrules: {{twins")
        project = begun(tmp_path / str(few), few, monkeypatch, text)
        (project.folder / "other.csv").write_text("id,name,paid,day,town\n")
        for name, (before, after) in EDITS.items():
            assert before in text, name
            project.write(text := text.replace(before, after))
            judged.clear()
            report += [run(project), outcome(project)]
            assert few or sum(judged) == 6, name
        judged.clear()
        report += [run(project), outcome(project)]
        assert few or sum(judged) == 0

    assert reports[0] == reports[1]


@pytest.mark.slow
def test_groups_of_several_datasets_are_recognised(tmp_path: Path, judged: list[int]) -> None:
    text = PROJECT.replace("rules: {twins", f"  people2: {OTHER}\nrules: {{twins")
    project = Project(tmp_path).write(text.replace("dataset: people, key", "datasets: [people, people2], key"))
    write(tmp_path, ROWS)
    (tmp_path / "other.csv").write_text("id,name,paid,day,town\n1,Person 1,2.50,2026-03-01,Ulm\n")
    run(project)
    judged.clear()
    run(project)
    assert sum(judged) == 0

    (tmp_path / "other.csv").write_text("id,name,paid,day,town\n1,Person 2,2.50,2026-03-01,Ulm\n")
    assert run(project)["findings"]["grown"] == 1
    assert sum(judged) == 2


@pytest.mark.slow
def test_erasing_a_record_deletes_the_digest_of_its_finding(tmp_path: Path, judged: list[int]) -> None:
    project = Project(tmp_path).write(PROJECT.replace("id: id\n", "id: id\n    pii: [name]\n"))
    write(tmp_path, ROWS)
    run(project)

    assert project("erase", "people", "--id", "3").code == 0

    with closing(sqlite3.connect(next(tmp_path.glob("**/*.db")))) as db:
        assert db.execute("SELECT count(*) FROM findings WHERE digest IS NULL").fetchone() == (1,)
    judged.clear()
    run(project)
    assert sum(judged) == 1
    assert project.audit_is_intact()


@pytest.mark.slow
def test_a_dry_run_that_recognises_groups_reports_what_a_run_does(tmp_path: Path, judged: list[int]) -> None:
    """A report that lists all findings builds every group; one that lists changes leaves the known ones unbuilt."""
    shop = Project(tmp_path).write(PROJECT)
    write(tmp_path, ROWS)
    shop("run", "--quiet")
    ids = {finding["key"]["name"]: finding["id"] for finding in shop("findings", "--json").json}
    shop("dismiss", ids["Person 0"])
    shop("snooze", ids["Person 2"])
    write(tmp_path, [*changed(3, paid="7.5"), ROWS[11] | {"id": "99"}])

    del judged[:]
    every = shop("run", "--dry-run", "--json", "--all").json
    numbers = [sum(judged)]
    del judged[:]
    changes = shop("run", "--dry-run", "--json").json
    numbers.append(sum(judged))
    quiet = shop("run", "--dry-run", "--quiet")
    ran = shop("run", "--json").json

    timeless = [
        [{name: value for name, value in rule.items() if name != "seconds"} for rule in report["rules"]]
        for report in (every, changes)
    ]
    assert timeless[0] == timeless[1]
    assert changes["rules"][0]["findings"] == ran["rules"][0]["findings"]
    assert {finding["change"] for finding in changes["findings"]} == {"grown"}
    assert numbers[1] < numbers[0] == len(ids)
    assert quiet.code == 0
