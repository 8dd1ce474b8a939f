"""People judge pairs of a rule that gives each record one partner, in another dataset."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.cli import Project
from tests.support.similar import ADA, STRANGERS, TWIN, Row

CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources: {files: {type: files, root: .}}
datasets:
  ours: {source: files, path: ours.csv, id: id}
  theirs: {source: files, path: theirs.csv, id: id}
rules:
  partners:
    kind: similar
    datasets: [ours, theirs]
    compare: {name: name, email: email, phone: phone, born: date}
    one_to_one: true
    max_share: 100%
"""


def write(folder: Path, name: str, rows: Sequence[Row]) -> None:
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Ada and the first two strangers in both datasets."""
    write(tmp_path, "ours", [ADA, *STRANGERS])
    write(tmp_path, "theirs", [TWIN, *({**row, "id": f"t{number}"} for number, row in enumerate(STRANGERS[:2]))])
    project = Project(tmp_path).write(CONFIGURATION)
    project("run")
    return project


def partners(project: Project) -> list[list[str]]:
    project("run")
    listed = project("findings", "--json").json
    return sorted(sorted(record["id"][0] for record in finding["members"]) for finding in listed)


def test_two_records_of_one_dataset_are_never_judged_the_same(project: Project) -> None:
    before = partners(project)

    answer = project("judge", "partners", "ours a1", "ours s0", "--same")

    assert answer.code == 4
    assert "gives a record one partner, of another dataset, but ours a1 and ours s0 are both of `ours`" in answer.said
    assert partners(project) == before == [["a1", "a2"], ["s0", "t0"], ["s1", "t1"]]


def test_a_record_gets_another_partner_only_when_the_first_answer_is_taken_back(project: Project) -> None:
    project("judge", "partners", "ours a1", "theirs t0", "--same")

    refused = project("judge", "partners", "ours s0", "theirs t0", "--same")
    kept = partners(project)
    project("judge", "partners", "ours a1", "theirs t0", "--forget")
    project("run")
    given = project("judge", "partners", "ours s0", "theirs t0", "--same")

    assert (refused.code, given.code) == (4, 0)
    assert "one of ours s0 and theirs t0 was already judged the same as another record" in refused.said
    assert ["a1", "t0"] in kept
    assert partners(project) == [["a1", "a2"], ["s0", "t0"], ["s1", "t1"]]


def test_answers_from_before_a_rule_gave_one_partner_make_no_larger_findings(project: Project) -> None:
    project.write(CONFIGURATION.replace("one_to_one: true", "one_to_one: false"))
    project("run")
    for first, second in (("ours a1", "ours s0"), ("ours a1", "theirs t1"), ("ours a1", "theirs a2")):
        assert project("judge", "partners", first, second, "--same").code == 0
    before = partners(project)
    project.write(CONFIGURATION)

    after = partners(project)

    assert any(len(group) > 2 for group in before)
    assert after == [["a1", "a2"], ["s0", "t0"], ["s1", "t1"]]
