"""Files whose content is the same are not read again, where nothing but their content decides what a rule finds."""

import datetime as dt
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconcile.app import load
from reconcile.decisions import decide
from reconcile.findings.results import RuleFailure, RuleResult
from reconcile.findings.shown import Finding
from reconcile.store import findings as stored
from tests.support import cli
from tests.support.cli import Project

pytestmark = pytest.mark.slow

FIRST = dt.datetime(2026, 11, 2, 6, tzinfo=dt.UTC)
TWICE = "id,email,name\n1,a@x,\n2,a@x,\n3,b@x,\n"
RULE: dict[str, Any] = {"kind": "duplicates", "dataset": "people", "key": ["email"]}


@dataclass
class Files:
    """A folder of files with a rule over them."""

    folder: Path
    rule: dict[str, Any] = field(default_factory=lambda: dict(RULE))
    incremental: dict[str, Any] = field(default_factory=lambda: {"by": "content"})
    slot: dt.datetime = FIRST

    def put(self, text: str, name: str = "people-1.csv") -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def write(self) -> Path:
        dataset = {"source": "files", "path": "people-*.csv", "id": "id", "incremental": self.incremental}
        more = {"source": "files", "path": "more.csv", "id": "id", "incremental": self.incremental}
        written = {
            "sources": {"files": {"type": "files"}},
            "datasets": {"people": dataset, "more": more},
            "rules": {"twice": self.rule},
        }
        path = self.folder / "reconcile.yaml"
        path.write_text(json.dumps(written), encoding="utf-8")
        return path

    def run(self, slot: dt.datetime | None = None) -> RuleResult:
        self.slot = slot or self.slot + dt.timedelta(minutes=1)
        with load(self.write(), {}) as application:
            [report] = application.run_all((), (), slot=self.slot.isoformat())
        [outcome] = report.rules
        assert not isinstance(outcome, RuleFailure), outcome.failed
        return outcome

    def findings(self) -> list[Finding]:
        with load(self.write(), {}) as application, application.store.read() as tx:
            return list(stored.find(tx, stored.FindingFilter()))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A file with two people who are one, and a run that has read it."""
    files = Files(tmp_path)
    files.put(TWICE)
    files.put("id,email\n7,z@x\n", "more.csv")
    assert files.run().mode == "full"
    return files


def test_a_file_with_the_same_content_is_not_read_again(files: Files) -> None:
    os.utime(files.folder / "people-1.csv")

    outcome = files.run()

    assert (outcome.mode, outcome.mode_reason, outcome.engine) == ("unchanged", "its files are the same", "none")
    assert (outcome.read, outcome.groups, outcome.findings.known) == (0, 1, 1)
    [finding] = files.findings()
    assert (finding.state.value, finding.records) == ("open", 2)


def test_a_run_that_read_nothing_reports_its_open_findings(files: Files) -> None:
    command = cli.Project(files.folder)
    answer = command("run", "--json", "--all", "--quiet", "--fail-on", "low", "--slot", "2026-11-03T06:00:00Z")

    assert answer.code == 1
    assert [finding["state"] for finding in answer.json["findings"]] == ["open"]
    assert answer.json["rules"][0]["mode"] == "unchanged"
    assert "twice: unchanged run: its files are the same" in command("run", "--slot", "2026-11-03T07:00:00Z").out


@pytest.mark.parametrize(
    ("name", "text"), [("people-1.csv", TWICE.replace("b@x", "a@x")), ("people-2.csv", "id,email,name\n4,b@x,\n")]
)
def test_another_content_or_another_file_is_read(files: Files, name: str, text: str) -> None:
    files.put(text, name)

    outcome = files.run()

    assert (outcome.mode, outcome.mode_reason) == ("full", "its files changed")
    assert outcome.findings.new + outcome.findings.grown == 1
    assert files.run().mode == "unchanged"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"severity": "high"}, "the rule or its dataset changed"),
        ({"where": "id <> '9'"}, "the rule or its dataset changed"),
    ],
)
def test_an_edit_reads_the_files_once(files: Files, rule: dict[str, Any], reason: str) -> None:
    files.rule |= rule

    assert files.run().mode_reason == reason
    assert files.run().mode == "unchanged"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"where": "slot() > '2026-01-01'"}, "`slot()` in an expression changes what it finds"),
        ({"key": {"any": [["email"], ["name"]]}}, "findings of kind `duplicates`, or with several keys, can"),
    ],
)
def test_files_are_read_where_something_else_decides_too(files: Files, rule: dict[str, Any], reason: str) -> None:
    files.rule |= rule
    files.run()

    outcome = files.run()

    assert (outcome.mode, outcome.mode_reason[: len(reason)]) == ("full", reason)
    assert f"every run is full, because {reason}" in cli.Project(files.folder)("check").out


def test_a_snooze_that_ends_reads_the_files(files: Files) -> None:
    [finding] = files.findings()
    with load(files.write(), {}) as application:
        until = dt.datetime.now(dt.UTC) + dt.timedelta(milliseconds=100)
        decide.snooze(application.store, finding.id, actor="ann", until=until)
    while dt.datetime.now(dt.UTC) <= until:
        pass

    outcome = files.run()

    assert (outcome.mode, outcome.mode_reason, outcome.findings.reopened) == ("full", "a snooze ended", 1)


def test_the_files_are_read_for_a_full_run_that_somebody_asks_for(files: Files) -> None:
    slot = (files.slot + dt.timedelta(minutes=1)).isoformat()

    [rule] = Project(files.folder)("run", "--full", "--slot", slot, "--json").json["rules"]

    assert (rule["mode"], rule["mode_reason"], rule["read"]) == ("full", "it was asked for", 3)


@pytest.mark.parametrize("decision", [decide.dismiss, decide.handle])
def test_after_a_decision_a_run_reads_the_files_once_and_says_why(
    files: Files, decision: Callable[..., decide.DecisionResult]
) -> None:
    [finding] = files.findings()
    for decide_now in (decision, decide.reopen):
        with load(files.write(), {}) as application:
            decide_now(application.store, finding.id, actor="ann")

        outcome = files.run()

        assert (outcome.mode, outcome.mode_reason) == ("full", "a person decided about a finding")
        assert files.run().mode == "unchanged"


def test_a_full_run_is_due_for_unchanged_files_too(files: Files) -> None:
    outcome = files.run(FIRST + dt.timedelta(days=7))

    assert (outcome.mode, outcome.mode_reason, outcome.missed) == ("full", "a full run is due (weekly)", 0)


def test_all_files_of_a_rule_over_several_datasets_count(files: Files) -> None:
    files.rule = {"kind": "duplicates", "datasets": ["people", "more"], "key": ["email"]}
    files.run()
    assert files.run().mode == "unchanged"
    files.put("id,email\n7,b@x\n", "more.csv")

    outcome = files.run()

    assert (outcome.mode, outcome.findings.new) == ("full", 1)


def test_a_column_of_files_does_not_say_what_changed(files: Files) -> None:
    files.incremental = {"by": "email"}

    assert "`incremental.by` names `email`, which holds no times" in cli.Project(files.write().parent)("check").out
