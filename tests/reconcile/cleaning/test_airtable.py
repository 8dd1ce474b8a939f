"""An Airtable base is cleaned from a run to an undo, while people work in it and answers are lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors import pace
from tests.support.airtable import BASE, TOKEN, Answering, FakeAirtable, FakeTable, Request, serving
from tests.support.airtable_target import MEMBERS
from tests.support.world import DELETE, World

MARK = {"clean": {"action": "set", "values": {"Status": "duplicate", "Note": "see {{ keeper._record }}"}}}
MERGE = {
    "clean": {
        "action": "merge",
        "fields": {"Name": "longest", "Fee": {"max": "Fee"}},
        "surplus": {"set": {"Status": "duplicate"}},
    }
}
SECRET = {"RECONCILE_SECRET_AIRTABLE": TOKEN}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "SLACK", 0.001)


class Club:
    """A base of members, and a folder with a rule that looks for equal e-mails in it."""

    def __init__(self, folder: Path, fake: FakeAirtable, address: str, **rules: Any) -> None:
        self.fake = fake
        self.table: FakeTable = fake.add_table("Members", MEMBERS)
        source = {"type": "airtable", "token": TOKEN, "base": BASE, "endpoint": address}
        dataset = {"source": "club", "table": "Members", "id": "_record"}
        config = {"sources": {"club": source}, "datasets": {"customers": dataset}}
        folder.mkdir(parents=True, exist_ok=True)
        keyed = {
            name: {"key": [{"Email": ["lower"]}], "keep": [{"first": "_record"}], **rule}
            for name, rule in rules.items()
        }
        self.world = World(folder, keyed, config)

    def add(self, **cells: Any) -> str:
        return self.fake.add(self.table, **{"Status": "active", **cells})

    def pair(self) -> tuple[str, str]:
        return self.add(Name="Ann Smith", Email="a@x.org", Fee=5), self.add(Name="Ann", Email="A@x.org", Fee=7)

    def values(self, key: str) -> dict[str, Any]:
        return {name: value for name, value in self.table.values(key).items() if name != "Reconcile"}


@pytest.fixture
def fake() -> FakeAirtable:
    return FakeAirtable()


@pytest.fixture
def address(fake: FakeAirtable) -> Iterator[str]:
    with serving(fake) as address:
        yield address


def test_from_the_command_line_a_record_is_found_planned_approved_marked_and_set_back(
    tmp_path: Path, fake: FakeAirtable, address: str
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK)
    world = club.world
    first, second = club.pair()
    world.config["sources"]["club"]["token"] = "${secret:AIRTABLE}"
    world.write()
    secrets = tmp_path / "secrets"
    secrets.write_text(TOKEN)
    world.config["sources"]["club"]["token"] = f"${{file:{secrets}}}"
    world.write()
    here, outputs = world.command, []

    checked, run = here("check"), here("run", "nightly")
    finding = world.only()
    plan = here("plan", "--finding", finding, "--show")
    approved = here("approve", finding, "--note", "one person")
    marked = club.values(second)
    doctor = here("doctor")
    undone = here("undo", finding, "--note", "two people")
    verified = here("audit", "verify")
    outputs += [checked, run, plan, approved, doctor, undone, verified, here("show", finding), here("log")]

    assert "it cleans by set" in checked.said, checked.said
    assert "1 proposed" in run.said, run.said
    assert "undo: yes" in plan.said, plan.said
    assert approved.code == 0, approved.said
    assert marked == {"Name": "Ann", "Email": "A@x.org", "Fee": 7, "Status": "duplicate", "Note": f"see {first}"}
    assert "Undone: 1 cleaning" in undone.said, undone.said
    assert club.values(second) == {"Name": "Ann", "Email": "A@x.org", "Fee": 7, "Status": "active"}
    assert club.values(first) == {"Name": "Ann Smith", "Email": "a@x.org", "Fee": 5, "Status": "active"}
    assert verified.code == 0
    assert not any(TOKEN in answer.said for answer in outputs)
    files = [path for path in world.folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path.name for path in files if TOKEN.encode() in path.read_bytes()]


def test_a_merge_of_three_changes_the_keeper_and_marks_the_others_together(
    tmp_path: Path, fake: FakeAirtable, address: str
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MERGE)
    first, second = club.pair()
    third = club.add(Name="A", Email="a@x.org", Fee=2)
    former = [club.values(key) for key in (first, second, third)]
    club.world.run()

    assert club.world.approve(club.world.only()).ok

    assert club.values(first) == former[0] | {"Fee": 7}
    assert [club.values(key)["Status"] for key in (second, third)] == ["duplicate", "duplicate"]
    assert club.world.undo(club.world.only()).undone
    assert [club.values(key) for key in (first, second, third)] == former


def test_options_and_links_of_all_records_are_united(tmp_path: Path, fake: FakeAirtable, address: str) -> None:
    merge = {"action": "merge", "fields": {"Tags": "union", "Orders": "union"}, "surplus": {"set": {"Note": "twin"}}}
    club = Club(tmp_path / "w", fake, address, twins={"clean": merge})
    options = {"choices": [{"id": "sel1", "name": "member"}, {"id": "sel2", "name": "donor, large"}]}
    club.table.fields += [
        {"id": "fldTAGS", "name": "Tags", "type": "multipleSelects", "options": options},
        {"id": "fldORDERS", "name": "Orders", "type": "multipleRecordLinks"},
    ]
    first = club.add(Email="a@x.org", Tags=["member"], Orders=["recA1"])
    club.add(Email="A@x.org", Tags=["donor, large", "member"], Orders=["recB2"])
    club.world.run()

    assert club.world.approve(club.world.only()).ok

    assert club.values(first)["Tags"] == ["member", "donor, large"]
    assert club.values(first)["Orders"] == ["recA1", "recB2"]


def test_a_group_that_is_too_large_for_one_request_is_left_to_people(
    tmp_path: Path, fake: FakeAirtable, address: str
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK)
    ids = [club.add(Name="Ann", Email="a@x.org") for _ in range(12)]

    run = club.world.write().command("run", "nightly")
    shown = club.world.command("show", club.world.only())

    assert "more than 10 rows together" in run.said + shown.said
    assert [club.values(key)["Status"] for key in ids] == ["active"] * 12


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (DELETE, "are not deleted"),
        ({"clean": {"action": "move", "to": "Former"}}, "are not deleted"),
        ({"clean": {"action": "set", "values": {"Status": "gone"}}}, "no such label"),
        ({"clean": {"action": "set", "values": {"Photo": "x"}}}, "type multipleAttachments"),
        ({"clean": {"action": "set", "values": {"Label": "x"}}}, "computes itself"),
        ({"clean": {"action": "set", "values": {"Fee": "many"}}}, "holds numbers"),
    ],
)
def test_what_airtable_would_refuse_is_told_before_anything_is_sent(
    tmp_path: Path, fake: FakeAirtable, address: str, rule: dict[str, Any], words: str
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=rule)
    club.table.fields += [
        {"id": "fldPHOTO", "name": "Photo", "type": "multipleAttachments"},
        {"id": "fldLABEL", "name": "Label", "type": "formula", "options": {"result": {"type": "singleLineText"}}},
    ]
    club.pair()

    checked = club.world.write().command("check")

    assert words in checked.said, checked.said
    assert not [request for request in fake.requests if request.is_change]


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("schema.bases:read", "schema.bases:read"),
        ("data.records:read", "data.records:read"),
        ("schema.bases:write", "long text field 'Reconcile'"),
        ("webhook:manage", "webhook:manage"),
        ("data.records:write", "data.records:write"),
    ],
)
def test_a_token_without_a_scope_is_told_which_one_it_needs(
    tmp_path: Path, fake: FakeAirtable, address: str, scope: str, words: str
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK | {"approval": "none"})
    _, second = club.pair()
    here = club.world.write().command
    first_run = here("run", "nightly")
    fake.scopes.discard(scope)

    run = here("run", "nightly")

    assert first_run.code == 0, first_run.said
    assert words in run.said, run.said
    assert run.code != 0
    assert club.values(second)["Status"] == "active"
    fake.scopes.add(scope)
    assert here("retry", "--all").code in (0, 2, 3)


def test_an_edit_in_the_moment_of_the_change_stays_and_the_plan_is_stale(
    tmp_path: Path, fake: FakeAirtable, address: str
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK)
    _, second = club.pair()
    club.world.run()
    edits = [{"Note": "called on Monday"}]

    def before(request: Request) -> None:
        if request.is_change and edits and _sets(request):
            fake.edit(club.table, second, **edits.pop())

    fake.before = before

    club.world.approve(club.world.only())

    assert not edits
    assert club.values(second)["Status"] == "active"
    assert club.values(second)["Note"] == "called on Monday"
    assert club.world.intact()


@pytest.mark.parametrize("applies", [False, True])
@pytest.mark.parametrize("way", ["reset", "status", "html"])
def test_a_lost_answer_is_asked_for_and_the_change_is_made_once(
    tmp_path: Path, fake: FakeAirtable, address: str, way: str, applies: bool
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK | {"approval": "none"})
    _, second = club.pair()
    club.world.run()
    faults = [Answering(way, applies=applies)]
    fake.faults.append(lambda r: faults.pop() if faults and r.is_change and _sets(r) else None)

    for _ in range(4):
        club.world.run()

    assert not faults
    assert club.values(second)["Status"] == "duplicate"
    marks = [
        1
        for source, _, changed in fake.history
        if source == "publicApi" and second in changed and len(changed[second]["current"]["cellValuesByFieldId"]) > 1
    ]
    assert len(marks) == 1
    assert club.world.intact()


def _sets(request: Request) -> bool:
    return any(len(item["fields"]) > 1 for item in request.body["records"])


@pytest.mark.parametrize(
    "label", ["target.received", "target.before_commit", "target.committed", "store.sent.committed"]
)
def test_after_a_crash_it_is_done_once(tmp_path: Path, fake: FakeAirtable, address: str, label: str) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK | {"approval": "none"})
    _, second = club.pair()
    club.world.run()

    with club.world.killed_at(label):
        club.world.run()
    for _ in range(3):
        club.world.run()

    assert club.values(second)["Status"] == "duplicate"
    assert len([1 for source, _, changed in fake.history if source == "publicApi" and second in changed]) == 1


def test_a_restored_state_does_not_clean_before_a_person_allows_it(
    tmp_path: Path, fake: FakeAirtable, address: str
) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK)
    club.pair()
    club.world.run()
    finding, backup = club.world.only(), tmp_path / "backup"
    shutil.copytree(club.world.folder, backup)
    club.world.approve(finding)
    for file in backup.glob("reconcile.db*"):
        shutil.copy(file, club.world.folder)
    before = len(fake.history)

    answer = club.world.command("approve", finding)

    assert answer.code != 0
    assert "lacks cleanings that source 'club' has recorded" in answer.said
    assert len(fake.history) == before


def test_another_state_meets_the_owner_of_the_base(tmp_path: Path, fake: FakeAirtable, address: str) -> None:
    club = Club(tmp_path / "w", fake, address, twins=MARK | {"approval": "none"})
    club.pair()
    club.world.run()
    club.world.run()
    other = World(tmp_path / "other", club.world.rules, club.world.config)
    other.folder.mkdir()
    club.add(Name="Bo", Email="b@x.org")
    last = club.add(Name="Bob", Email="b@x.org")
    other.write().command("run", "nightly")

    answer = other.command("run", "nightly")

    assert "is cleaned by another state" in answer.said
    assert club.values(last)["Status"] == "active"
