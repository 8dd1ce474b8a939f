"""The commands around the log, as people type them: verify, export, key, erase."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reconcile.audit import proof
from reconcile.service.serve import ServeProcess
from tests.support.cli import Project

CONFIGURATION = """\
version: 1
sources: {shop: {type: files, root: .}}
datasets: {orders: {source: shop, path: orders.csv, id: id, pii: [email]}}
rules: {twice: {kind: duplicates, dataset: orders, key: [order_id]}}
channels: {team: {type: file, path: messages.jsonl}}
jobs: {nightly: {rules: [twice], notify: [team]}}
audit: {anchors: {log: {type: file, path: anchor.jsonl}}}
"""
ORDERS = "id,order_id,email\nP-1,A-1,ann@example.org\nP-2,A-1,ann@example.org\nP-3,A-2,bob@example.org\n"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("ran")).write(CONFIGURATION).write(ORDERS, "orders.csv")
    assert project("run", "nightly").code == 0
    return project.folder


@pytest.fixture
def project(ran: Path, tmp_path: Path) -> Project:
    """A folder in which the job ran once."""
    return Project(shutil.copytree(ran, tmp_path, dirs_exist_ok=True))


def state(project: Project, statement: str) -> None:
    with closing(sqlite3.connect(project.folder / "reconcile.db")) as database, database:
        database.execute(statement)


def test_a_run_ends_with_its_log_signed_and_anchored(project: Project) -> None:
    verified = project("audit", "verify", "--json").json

    assert (verified["intact"], verified["signed"], verified["anchored"]) == (True, *[verified["entries"]] * 2)
    assert verified["anchors"] == [{"anchor": "log", "heads": 1, "until": verified["entries"], "problem": None}]


def test_verify_says_how_far_the_anchors_reach(project: Project) -> None:
    project("dismiss", project("findings", "--json").json[0]["id"])

    answer = project("audit", "verify")

    assert (answer.code, "the state matches the log" in answer.out) == (0, True)
    assert "they could be removed unnoticed" in answer.err


def test_verify_without_an_anchor_says_what_that_means(project: Project) -> None:
    project.write(CONFIGURATION.replace("audit:", "#"))

    assert "No anchor is configured" in project("audit", "verify").err


def test_verify_ends_with_1_and_names_what_is_wrong(project: Project) -> None:
    state(project, "UPDATE findings SET state = 'resolved'")

    answer = project("audit", "verify")

    assert answer.code == 1
    assert "is resolved, but the last entry about it says open" in answer.out


def test_a_log_rolled_back_with_its_file_is_seen_by_the_anchor(project: Project) -> None:
    copy = (project.folder / "reconcile.db").read_bytes()
    entries = project("audit", "verify", "--json").json["entries"]
    project("run", "nightly")
    for beside in project.folder.glob("reconcile.db-*"):
        beside.unlink()
    (project.folder / "reconcile.db").write_bytes(copy)

    verified = project("audit", "verify", "--json").json

    assert (verified["intact"], verified["seq"]) == (False, entries + 1)


def test_serve_signs_and_anchors_what_is_new_once(project: Project) -> None:
    project("dismiss", project("findings", "--json").json[0]["id"])
    server = ServeProcess(project.folder / "reconcile.yaml", {}, str, listen="none")

    server.anchor()
    server.anchor()

    verified = proof.prove(server.store, server.application.anchors)
    server._close()
    assert (verified.anchored, verified.anchors[0].heads) == (verified.entries, 2)


def test_an_export_is_verified_with_the_key_that_was_written_down(project: Project) -> None:
    key = project("audit", "key").out.split()[0]

    exported = project("audit", "export", "out")
    answer = project("audit", "export", "out")
    words = [sys.executable, "-I", "out/verify.py", "--public-key", key, "--anchor", "anchor.jsonl"]
    verified = subprocess.run(words, cwd=project.folder, capture_output=True, text=True, check=False)

    assert (exported.code, answer.code) == (0, 2)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert json.loads((project.folder / "out" / "export.json").read_text())["public_key"] == key


def test_an_export_after_a_restore_is_covered_to_its_end_and_names_the_restore(project: Project) -> None:
    """The anchor holds heads of what the restore ended, and they are not taken for tampering."""
    key = project("audit", "key").out.split()[0]
    project("backup", "backup.db")
    project("dismiss", project("findings", "--json").json[0]["id"])
    project("restore", "backup.db", "--yes")

    project("audit", "export", "out")
    words = [sys.executable, "-I", "out/verify.py", "--public-key", key, "--anchor", "anchor.jsonl"]
    verified = subprocess.run(words, cwd=project.folder, capture_output=True, text=True, check=False)

    assert (verified.returncode, verified.stderr) == (0, "")
    assert "says that a backup was restored" in verified.stdout


def test_erasing_a_record_takes_its_data_out_of_the_state_and_the_log_stays_proven(project: Project) -> None:
    finding = project("findings", "--json").json[0]["id"]
    project("dismiss", finding, "--note", "ann@example.org told me so")

    planned = project("erase", "orders", "--id", "P-2", "--dry-run", "--json").json
    done = project("erase", "orders", "--id", "P-2")

    held = b"".join(file.read_bytes() for file in project.folder.glob("reconcile.db"))
    assert planned["reached"]["records"] == 1
    assert (done.code, "Not reached: messages already sent" in done.err) == (0, True)
    assert "what another program saved beside a cleaned file" in done.err
    assert b"ann@example.org" not in held
    assert b"bob@example.org" not in held, "it is in no finding"
    assert project("audit", "verify").code == 0
    assert project("show", finding).code == 0
    assert "erased=yes" in project("audit").out


def test_what_was_erased_is_not_in_the_pages_that_were_freed(project: Project) -> None:
    project("erase", "orders", "--column", "email", "--value", "ANN@example.org ")

    held = b"".join(file.read_bytes() for file in project.folder.glob("reconcile.db*"))

    assert b"ann@example.org" not in held


@pytest.mark.parametrize(
    "words",
    [
        ("orders",),
        ("orders", "--id", "P-1", "--column", "email", "--value", "x"),
        ("orders", "--column", "email"),
        ("orders", "--id", "P-1", "--id", "P-2"),
        ("nowhere", "--id", "P-1"),
    ],
)
def test_erasing_asks_for_one_record_or_one_value_of_a_known_dataset(words: tuple[str, ...], project: Project) -> None:
    assert project("erase", *words).code == 2


def test_a_column_that_is_misspelt_is_not_taken_for_nothing_to_erase(project: Project) -> None:
    before = project("audit", "--json").out

    wrong = project("erase", "orders", "--column", "emial", "--value", "ann@example.org")
    right = project("erase", "orders", "--column", "email", "--value", "nobody@example.org", "--dry-run")

    assert wrong.code == 2
    assert "dataset orders has no column `emial`, and the state keeps none of it; did you mean `email`?" in wrong.err
    assert (right.code, right.out) == (0, "the state has no data about it\n")
    assert project("audit", "--json").out == before


def test_a_filter_that_no_entry_passes_is_said(project: Project) -> None:
    answer = project("audit", "--event", "nope")

    assert (answer.code, answer.out, answer.err) == (0, "", "No matching log entries.\n")


def test_nothing_to_erase_is_said(project: Project) -> None:
    answer = project("erase", "orders", "--id", "P-9")

    assert (answer.code, answer.out) == (0, "the state has no data about it\n")


PUSHED = (
    CONFIGURATION.split("channels:", maxsplit=1)[0]
    + """\
alerts: [alarm]
channels: {alarm: {type: file, path: alarm.jsonl}, team: {type: file, path: messages.jsonl}}
jobs: {nightly: {rules: [twice], notify: [team]}}
audit: {anchors: {repo: {type: git, path: anchors, push: origin, every: 0s}}}
"""
)


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def _alarms(project: Project) -> list[bool]:
    """For each message about a trouble, True if it tells the end."""
    notices = (project.folder / "alarm.jsonl").read_text().split("── notice ")[1:]
    return ["The audit log is anchored again" in notice for notice in notices]


@pytest.mark.slow
def test_an_anchor_that_reaches_no_remote_is_told_once_named_by_doctor_and_ended_once(project: Project) -> None:
    (project.folder / "anchors").mkdir()
    _git(project.folder / "anchors", "init", "-q")
    _git(project.folder / "anchors", "remote", "add", "origin", str(project.folder / "remote.git"))
    project.write(PUSHED)

    runs = [project("run", "nightly") for _ in range(2)]
    examined = project("doctor", "--all").out
    status = project("status").said
    _git(project.folder, "init", "-q", "--bare", "remote.git")
    state(project, "UPDATE anchors SET next_at = '2026-01-01T00:00:00.000000Z'")
    ended = [project("run", "nightly") for _ in range(2)]

    assert "git push ended with 128" in runs[0].err
    assert [run.code for run in (*runs, *ended)] == [runs[0].code] * 4
    assert "The audit log is not anchored" in status
    [line] = [line for line in examined.splitlines() if "anchor repo" in line]
    assert "(since " in line
    assert "not anchored" in line
    assert "not anchored" not in ended[-1].err
    assert _alarms(project) == [False, True]
    assert "it holds the audit log up to entry" in project("doctor", "--all").out
