"""A run that goes on after an edit of the configuration trusts nothing it checked before the edit."""

from pathlib import Path

import pytest

import reconcile
from reconcile.store import runs as stored

CONFIGURATION = """
version: 1
sources: {{lists: {{type: files, root: .}}}}
datasets: {{people: {{source: lists, path: people.csv, id: id}}, gone: {{source: lists, path: gone.csv, id: id}}}}
rules:
  twin: {{kind: duplicates, dataset: people, key: {key}}}
  lost: {{kind: duplicates, dataset: gone, key: name}}
"""
SLOT = "2026-11-21T05:15Z"


@pytest.mark.slow
def test_an_edit_between_two_attempts_of_a_slot_checks_every_rule_again(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,name,town\n1,Ann,Bonn\n2,Ann,Köln\n3,Ben,Bonn\n")
    configuration = tmp_path / "reconcile.yaml"
    configuration.write_text(CONFIGURATION.format(key="name"))
    with reconcile.load(configuration) as before:
        first = before.run(slot=SLOT)
    (tmp_path / "gone.csv").write_text("id,name\n1,Ann\n2,Ann\n")
    configuration.write_text(CONFIGURATION.format(key="town"))

    with reconcile.load(configuration) as after:
        second = after.run(slot=SLOT)
        with after.store.read() as tx:
            row = stored.get(tx, second.run or "")

    assert [rule.get("groups") for rule in first.to_json()["rules"]] == [1, None]
    assert first.status == "failed"
    assert second.status == "succeeded"
    assert {(f["rule"], f["keeper"][0], f["surplus"][0][0]) for f in second.to_json()["findings"]} == {
        ("twin", "1", "3"),
        ("lost", "1", "2"),
    }
    assert row is not None
    assert (row.attempt, row.release) == (2, after.project.release)
