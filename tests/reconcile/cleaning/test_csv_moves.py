"""A record moves from one CSV file to another, from a run to an undo, with what refers to it in a third file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from connectors.disk.cleaning import exchange
from reconcile.cleaning.actions.base import ActionTable, NotPlannable
from reconcile.cleaning.actions.move import Move, MoveSettings
from tests.reconcile.cleaning.test_csv_files import CUSTOMERS, DATASET, WITHOUT_ANN, content
from tests.support.world import Killed, World

HEADER = "id;email;name;status;paid;reconcile_finding\r\n"
PAYMENTS = 'payment,"customer",amount\n1,"1",5\n2,"2",6\n3,"3",7\n'
MOVE = {"clean": {"action": "move", "to": "gone.csv"}}
REPOINT = {"clean": {**MOVE["clean"], "references": "repoint"}}
LINKED = {"references": [{"table": "payments.csv", "columns": ["customer"], "id": ["payment"]}]}


def customers(folder: Path, gone: str | None = HEADER, rule: Any = None, dataset: Any = None) -> World:
    """A folder with customers and payments, and with a file for moved customers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "customers.csv").write_bytes(CUSTOMERS.encode())
    (folder / "payments.csv").write_text(PAYMENTS)
    if gone is not None:
        (folder / "gone.csv").write_bytes(gone.encode())
    config = {"sources": {"files": {"type": "files"}}, "datasets": {"customers": DATASET | (dataset or {})}}
    return World(folder, {"twins": rule or MOVE}, config)


def gone(world: World) -> str:
    return (world.folder / "gone.csv").read_bytes().decode()


def payments(world: World) -> str:
    return (world.folder / "payments.csv").read_text()


def test_from_the_command_line_a_twin_is_moved_with_its_payment_and_put_back(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule=REPOINT, dataset=LINKED).write()
    here = world.command

    checked, run = here("check"), here("run", "nightly")
    finding = world.only()
    plan = here("plan", "--finding", finding, "--show")
    approved = here("approve", finding, "--note", "one person")

    assert "it cleans by move; rows of `payments.csv` can refer to its records" in checked.said
    assert "1 proposed" in run.said
    assert "undo: yes" in plan.said
    assert "1 record moved" in approved.said, approved.said
    assert content(world) == WITHOUT_ANN
    assert gone(world) == f'{HEADER}2;a@x;Ann;"active";2,00;{finding}\r\n'
    assert payments(world) == PAYMENTS.replace('2,"2"', "2,1")

    undone = here("undo", finding, "--note", "two people")

    assert "Undone: 1 cleaning" in undone.said, undone.said
    assert (content(world), gone(world), payments(world)) == (CUSTOMERS, HEADER, PAYMENTS)
    assert world.intact()
    assert here("check").code == 0


def test_a_moved_record_is_written_as_the_other_file_needs_it(tmp_path: Path) -> None:
    """The other file is separated by commas, and has its columns in another order."""
    world = customers(tmp_path / "w", "paid,name,id,note,status,email\n9,Zoe,9,kept,x,z@x\n")
    world.run()

    assert world.approve(world.only()).ok

    assert gone(world) == 'paid,name,id,note,status,email\n9,Zoe,9,kept,x,z@x\n"2,00",Ann,2,,"active",a@x\n'
    assert world.undo(world.only()).undone
    assert content(world) == CUSTOMERS
    assert gone(world) == "paid,name,id,note,status,email\n9,Zoe,9,kept,x,z@x\n"


def test_check_says_how_to_make_a_file_for_moved_records(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", None).write()

    checked = world.command("check")

    assert checked.code == 2, checked.said
    assert "file `gone.csv` (`to`) does not exist; create it: add a file with that name to the same" in checked.said
    assert "`paid` and `reconcile_finding`" in checked.said


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("short.csv", "`short.csv` has no `status` and `paid`; it needs every column of"),
        ("./customers.csv", "it is the file customers.csv itself"),
        ("gone*.csv", "its `path` is a pattern, and only one file with a fixed name can be changed"),
        ("gone.json", "of files, only CSV and TSV can be changed"),
        ("../gone.csv", "it is not below the root of its source"),
        ("linked.csv", "it is a symbolic link"),
    ],
)
def test_a_file_that_cannot_take_records_is_refused(tmp_path: Path, to: str, reason: str) -> None:
    world = customers(tmp_path / "w")
    (world.folder / "short.csv").write_text("id;email;name\n")
    (world.folder / "linked.csv").symlink_to("short.csv")
    settings = MoveSettings(action="move", to=to)

    with world.open() as application:
        target, dataset = application.target("files"), application.project.datasets["customers"]
        facts = target.catalogue(dataset.settings, table=to, key=dataset.id).tables[to]
        own = target.catalogue(dataset.settings).tables["customers.csv"]
        schema = application.subject("customers").relation.schema

    [sentence] = Move().check(settings, ActionTable(own, schema, dataset.id, {to: facts}.get))
    assert reason in sentence


def test_a_record_that_is_there_already_is_not_moved(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", HEADER + "2;a@x;Ann;x;1,00;F-OTHER\r\n")
    world.run()

    with pytest.raises(NotPlannable, match=r"gone\.csv was not changed: it already has a record with the id of one"):
        world.approve(world.only())

    assert content(world) == CUSTOMERS


def test_a_file_that_another_state_cleans_takes_no_record(tmp_path: Path) -> None:
    world = customers(tmp_path / "w")
    world.run()
    with world.open() as application:
        application.target("files").adopt("st_another", 1, 1, None, "gone.csv")

    answer = world.approve(world.only())

    assert "gone.csv was not changed: another state cleans it now" in answer.sentence
    assert (content(world), gone(world)) == (CUSTOMERS, HEADER)


def test_a_link_from_a_file_needs_the_columns_that_identify_a_row(tmp_path: Path) -> None:
    links = {"references": [{"table": "payments.csv", "columns": ["customer"]}]}
    world = customers(tmp_path / "w", dataset=links).write()

    checked = world.command("check")

    assert "needs `id`, the columns there that identify a row: a file has no primary key" in checked.said


@pytest.mark.slow
@pytest.mark.parametrize("number", [5, 9, 13])
def test_after_a_crash_at_any_step_a_record_and_its_payment_move_once(tmp_path: Path, number: int) -> None:
    """Before the first of three exchanges, after it, and after the last one; the target's own tests try all steps."""
    world = customers(tmp_path / "w", rule=REPOINT, dataset=LINKED)
    world.run()
    finding = world.only()
    steps = iter(range(100))

    def die(_step: str) -> None:
        if next(steps) == number:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "armed", die)
        with pytest.raises(Killed):
            world.approve(finding)
    world.bury()
    world.run()

    assert content(world) == WITHOUT_ANN
    assert gone(world) == f'{HEADER}2;a@x;Ann;"active";2,00;{finding}\r\n'
    assert payments(world) == PAYMENTS.replace('2,"2"', "2,1")
    assert set(world.findings().values()) == {"cleaned"}
    assert world.undo(finding).undone
    assert (content(world), gone(world), payments(world)) == (CUSTOMERS, HEADER, PAYMENTS)


def test_a_record_whose_place_nobody_can_tell_is_for_a_person(tmp_path: Path) -> None:
    """The file it came from was not exchanged, and both were edited since: the record is in both."""
    world = customers(tmp_path / "w")
    world.run()
    reached = []

    def die(step: str) -> None:
        reached.append(step)
        if reached.count("verified") == 1:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "armed", die)
        with pytest.raises(Killed):
            world.approve(world.only())
    world.bury()
    for name in ("customers.csv", "gone.csv"):
        path = world.folder / name
        path.write_bytes(path.read_bytes().replace(b";Ann;", b";Annie;"))

    report = world.run()

    assert list(world.findings().values()) == ["quarantined"]
    assert ";Annie;" in content(world)
    assert ";Annie;" in gone(world)
    assert "gone.csv and customers.csv are changed together" in str(report)
