"""A Google Sheet is cleaned from a run to an undo, by people and by processes; no secret of it is written anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.cleaning.undo import Conflicts
from tests.support.google_sheets import (
    ACCOUNT,
    CLIENT_SECRET,
    REFRESH_TOKEN,
    TOKEN,
    Fault,
    Formula,
    GoogleSheets,
    error,
    google_sheets,
    private_key,
)
from tests.support.world import World

ROWS: list[list[Any]] = [
    ["id", "email", "name", "status", "phone"],
    [1.0, "a@x", "Anna", None, None],
    [2.0, "a@x", "Ann", "active", "phone 5"],
    [3.0, "b@x", "Bob", None, None],
]
MARK: dict[str, Any] = {"clean": {"action": "set", "values": {"status": "merged into {{ keeper.id }}"}}}
MERGE: dict[str, Any] = {
    "clean": {"action": "merge", "fields": {"phone": "longest"}, "surplus": {"set": {"status": "merged"}}}
}


@pytest.fixture
def fake() -> Iterator[GoogleSheets]:
    with google_sheets() as services:
        services.add("People", ROWS)
        yield services


def world(folder: Path, fake: GoogleSheets, settings: dict[str, Any] | None = None, **rules: Any) -> World:
    folder.mkdir(parents=True, exist_ok=True)
    source = settings or fake.settings()
    for name in ("service_account", "client_secret", "refresh_token"):
        if name in source:
            (folder / name).write_text(source[name])
            source[name] = f"${{file:{name}}}"
    config = {"sources": {"office": source}, "datasets": {"customers": {"source": "office", "id": "id"}}}
    return World(folder, rules, config)


def rows(fake: GoogleSheets) -> list[list[Any]]:
    return [row[:5] for row in fake.sheet("People").rows]


def test_from_the_command_line_a_record_is_found_planned_approved_marked_and_unmarked(
    tmp_path: Path, fake: GoogleSheets
) -> None:
    office = world(tmp_path / "w", fake, twins=MARK).write()
    here = office.command

    checked, run = here("check"), here("run", "nightly")
    finding = office.only()
    plan = here("plan", "--finding", finding, "--show")
    approved = here("approve", finding, "--note", "one person")

    assert checked.code == 0, checked.said
    assert "1 proposed" in run.said
    assert "People  id = 2" in plan.said
    assert "undo: yes" in plan.said
    assert approved.code == 0, approved.said
    assert rows(fake)[2] == [2.0, "a@x", "Ann", "merged into 1", "phone 5"]

    undone = here("undo", finding, "--note", "two people")

    assert "Undone: 1 cleaning" in undone.said
    assert rows(fake) == ROWS
    assert office.intact()
    assert here("audit", "verify").code == 0
    assert "error" not in here("doctor", "--all").said


def test_a_merge_takes_values_to_the_keeper_and_back(tmp_path: Path, fake: GoogleSheets) -> None:
    office = world(tmp_path / "w", fake, twins=MERGE)
    office.run()

    assert office.approve(office.only()).ok

    assert rows(fake)[1] == [1.0, "a@x", "Anna", None, "phone 5"]
    assert rows(fake)[2] == [2.0, "a@x", "Ann", "merged", "phone 5"]
    assert office.undo(office.only()).undone
    assert rows(fake) == ROWS


@pytest.mark.parametrize("clean", [{"action": "delete"}, {"action": "merge", "surplus": "delete"}])
def test_rows_are_not_deleted_and_the_reason_is_told(tmp_path: Path, fake: GoogleSheets, clean: dict[str, Any]) -> None:
    office = world(tmp_path / "w", fake, twins={"clean": clean}).write()

    told = office.command("check")

    assert "cannot delete or add a row on a condition" in told.said
    assert "Use `action: set`" in told.said
    office.command("run", "nightly")
    assert rows(fake) == ROWS


def test_nobody_is_asked_about_a_cell_that_cannot_be_replaced(tmp_path: Path, fake: GoogleSheets) -> None:
    fake.edit("People", 2, 3, Formula("=1+1", 2.0))
    office = world(tmp_path / "w", fake, twins=MARK).write()

    told = office.command("run", "nightly").said

    assert "1 not planned: A cell of column 'status' in sheet 'People' cannot be replaced: it holds a formula." in told
    assert office.plans() == []


def test_a_plan_says_in_its_own_words_what_cannot_be_put_back(tmp_path: Path, fake: GoogleSheets) -> None:
    fake.edit("People", 2, 3, "007")
    office = world(tmp_path / "w", fake, twins=MARK)
    office.run()

    [plan] = office.plans()

    assert plan.content.reversible == "no"
    assert plan.content.why[0].startswith("Column `status` of `People` holds what could not be written back: ")


def test_an_edit_after_the_approval_is_kept(tmp_path: Path, fake: GoogleSheets) -> None:
    """The row is edited right before the write: the plan is not carried out, and the next run plans it again."""
    office = world(tmp_path / "w", fake, twins=MARK)
    office.run()
    edited: list[str] = []

    def edit(_number: int, method: str) -> None:
        if method == "POST" and not edited and fake.metadata and "receipts" not in edited:
            edited.append("once")
            fake.edit("People", 2, 3, "ask Ann")

    fake.before = edit
    office.approve(office.only())
    fake.before = lambda _number, _method: None

    assert rows(fake)[2][3] == "ask Ann"


def test_an_undo_of_a_renamed_sheet_says_what_to_do(tmp_path: Path, fake: GoogleSheets) -> None:
    office = world(tmp_path / "w", fake, twins=MARK).write()
    office.run()
    assert office.approve(office.only()).ok
    fake.sheet("People").title = "Persons"

    told = office.command("undo", office.only())

    assert told.code == 3
    assert "there is Persons. If it was renamed, give it its former name again" in told.said
    fake.sheet("Persons").title = "People"
    assert office.undo(office.only()).undone
    assert rows(fake) == ROWS


def test_an_undo_leaves_what_somebody_changed_since(tmp_path: Path, fake: GoogleSheets) -> None:
    office = world(tmp_path / "w", fake, twins=MARK)
    office.run()
    assert office.approve(office.only()).ok
    fake.edit("People", 2, 3, "no, another person")

    with pytest.raises(Conflicts):
        office.undo(office.only())

    assert rows(fake)[2][3] == "no, another person"


def test_a_run_cleans_by_itself_and_a_lost_answer_is_asked_about(tmp_path: Path, fake: GoogleSheets) -> None:
    office = world(tmp_path / "w", fake, twins=MARK | {"approval": "none"})
    office.run()
    fake.faults = [Fault("lost", 503, error(503, "UNAVAILABLE"), applies=True, only="POST", skip=2)]

    office.run()
    fake.faults = []
    office.run()

    assert rows(fake)[2][3] == "merged into 1"
    assert len([title for title, *_ in fake.replacements if title == "People"]) == 1
    assert office.intact()


def test_another_state_does_not_clean_the_same_spreadsheet(tmp_path: Path, fake: GoogleSheets) -> None:
    first = world(tmp_path / "a", fake, twins=MARK | {"approval": "none"})
    first.run()
    first.run()
    fake.edit("People", 4, 0, 4.0)
    fake.edit("People", 4, 1, "b@x")

    second = world(tmp_path / "b", fake, twins=MARK | {"approval": "none"})
    second.run()
    report = second.run()

    assert rows(fake)[4][3:] == []
    assert second.cleaning(report).get("cleaned") is None


def test_access_that_is_missing_is_told_with_what_to_do(tmp_path: Path, fake: GoogleSheets) -> None:
    office = world(tmp_path / "w", fake, twins=MARK).write()
    fake.faults = [Fault("", 403, error(403, "PERMISSION_DENIED"), times=1_000)]

    told = office.command("check")

    assert told.code == 3
    assert f"Share it with {ACCOUNT}" in told.said


@pytest.mark.parametrize("way", ["service account", "oauth"])
def test_no_secret_is_in_any_output_or_file(tmp_path: Path, fake: GoogleSheets, way: str) -> None:
    settings = fake.settings() if way == "service account" else fake.oauth()
    office = world(tmp_path / "w", fake, settings, twins=MARK).write()
    here = office.command
    said = [here(*words).said for words in (("check",), ("run", "nightly"), ("rules",), ("doctor",))]
    finding = office.only()
    said += [here("approve", finding).said, here("undo", finding).said, here("audit", "export").said]
    fake.faults = [Fault("", 401, error(401, "UNAUTHENTICATED"), times=1_000)]
    said.append(here("run", "nightly").said)

    written = [path for path in office.folder.rglob("*") if path.is_file()]
    keys = {office.folder / name for name in ("service_account", "client_secret", "refresh_token")}
    content = [path.read_bytes() for path in written if path not in keys]
    for secret in (private_key().splitlines()[1], TOKEN, CLIENT_SECRET, REFRESH_TOKEN):
        assert not [text for text in said if secret in text]
        assert not [data for data in content if secret.encode() in data]


def test_a_changed_spreadsheet_starts_a_watching_job(tmp_path: Path, fake: GoogleSheets) -> None:
    office = world(tmp_path / "w", fake, twins=MARK)
    office.config["jobs"] = {"nightly": {"rules": "all", "watch": ["customers"]}}

    assert office.write().command("check").code == 0


def test_init_of_settings_that_are_wrong_names_the_setting(tmp_path: Path, fake: GoogleSheets) -> None:
    office = world(tmp_path / "w", fake, {**fake.settings(), "spreadsheet": "x"}, twins=MARK).write()

    told = office.command("check")

    assert told.code == 2
    assert "docs.google.com/spreadsheets" in told.said
