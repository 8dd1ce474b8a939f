"""A CSV file is cleaned from a run to an undo, by people in any door, and by processes that die."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from connectors.disk.cleaning import exchange
from reconcile.decisions.refusals import BeyondLimits
from tests.support.cli import Project
from tests.support.crash_points import Fault
from tests.support.fork_server import Warm
from tests.support.world import DELETE, Killed, World

CUSTOMERS = (
    "\ufeffExported 2026-03-01\r\n"
    "id;email;name;status;paid\r\n"
    '1;a@x;"Anna; B.";active;1,50\r\n'
    '2;a@x;Ann;"active";2,00\n'
    "\r\n"
    "3;b@x;Bob;active;\r\n"
    "Total;;;;3,50"
)
WITHOUT_ANN = CUSTOMERS.replace('2;a@x;Ann;"active";2,00\n', "")
DATASET: dict[str, Any] = {
    "source": "files",
    "path": "customers.csv",
    "id": "id",
    "skip": 1,
    "skip_footer": 1,
    "decimal": ",",
    "columns": {"paid": "decimal"},
}
MARK = {"clean": {"action": "set", "values": {"status": "merged into {{ keeper.id }}"}}}
MERGE = {
    "clean": {
        "action": "merge",
        "fields": {"name": "longest", "paid": {"max": "paid"}},
        "surplus": {"set": {"status": "merged"}},
    }
}


def customers(folder: Path, text: str = CUSTOMERS, dataset: dict[str, Any] | None = None, **rules: Any) -> World:
    """A folder with a CSV file of customers, and rules that look for equal e-mails."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "customers.csv").write_bytes(text.encode())
    config = {"sources": {"files": {"type": "files"}}, "datasets": {"customers": DATASET | (dataset or {})}}
    return World(folder, rules, config)


def alone(folder: Path, text: str = CUSTOMERS) -> World:
    """Customers whose rule asks nobody and has run once, so that the next run cleans."""
    world = customers(folder, text, twins=DELETE | {"approval": "none"})
    world.run()
    assert content(world) == text
    return world


def content(world: World) -> str:
    return (world.folder / "customers.csv").read_bytes().decode()


@pytest.mark.parametrize(
    ("text", "dataset"),
    [
        ("1,a@x,Anna\n2,a@x,Ann\n", {"header": ["id", "email", "name"]}),
        ("id|email|name\n1|a@x|'Anna | B.'\n2|a@x|'Ann | C.'\n", {"delimiter": "|", "quote": "'"}),
        ("id,email,name\n1,a@x,Anna\n2,a@x,Ann\n\nprinted,by,me,today\n", {"skip_footer": 1}),
    ],
)
def test_a_later_process_cleans_a_file_as_its_dataset_says_it_is_read(
    tmp_path: Path, text: str, dataset: dict[str, Any]
) -> None:
    world = customers(tmp_path / "w", text, twins=DELETE)
    world.config["datasets"] = {"customers": {"source": "files", "path": "customers.csv", "id": "id", **dataset}}
    here = world.write().command

    here("run", "nightly")
    approved = here("approve", world.only())

    assert approved.code == 0, approved.said
    assert content(world) == "".join(line for line in text.splitlines(keepends=True) if not line.startswith("2"))


def test_from_the_command_line_a_record_is_found_planned_approved_deleted_and_put_back(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE).write()
    here = world.command

    checked, run = here("check"), here("run", "nightly")
    finding = world.only()
    plan = here("plan", "--finding", finding, "--show")
    approved = here("approve", finding, "--note", "one person")

    assert "it cleans by delete" in checked.said
    assert "1 proposed" in run.said
    assert "deleted  customers.csv  id = 2" in plan.said
    assert "undo: yes" in plan.said
    assert "1 record deleted" in approved.said
    assert content(world) == WITHOUT_ANN

    undone = here("undo", finding, "--note", "two people")

    assert "Undone: 1 cleaning" in undone.said
    assert content(world) == CUSTOMERS
    assert world.intact()
    assert here("check").code == 0


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        (MARK, ('1;a@x;"Anna; B.";active;1,50\r\n', '2;a@x;Ann;"merged into 1";2,00\n')),
        (MERGE, ('1;a@x;"Anna; B.";active;2,00\r\n', '2;a@x;Ann;"merged";2,00\n')),
    ],
    ids=["set", "merge"],
)
def test_fields_are_set_and_set_back(tmp_path: Path, rule: dict[str, Any], lines: tuple[str, str]) -> None:
    world = customers(tmp_path / "w", twins=rule)
    world.run()
    first, second = CUSTOMERS.splitlines(keepends=True)[2:4]

    assert world.approve(world.only()).ok

    assert content(world) == CUSTOMERS.replace(first + second, "".join(lines))
    assert world.undo(world.only()).undone
    assert content(world) == CUSTOMERS


def test_a_run_cleans_by_itself_what_needs_no_approval(tmp_path: Path) -> None:
    world = alone(tmp_path / "w")

    report = world.run()

    assert world.cleaning(report) == {"cleaned": 1}
    assert content(world) == WITHOUT_ANN


def test_nothing_is_cleaned_beyond_a_limit(tmp_path: Path) -> None:
    more = CUSTOMERS.replace("Total", "4;b@x;Bo;active;\r\nTotal")
    world = customers(tmp_path / "w", more, twins=DELETE | {"limits": {"records": 1, "share": "100%", "group": 100}})
    world.run()
    first, second = world.findings()

    assert world.approve(first).ok
    after_first = content(world)
    with pytest.raises(BeyondLimits):
        world.approve(second)

    assert content(world) == after_first != more


def test_a_line_that_changed_since_the_plan_stays(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE)
    world.run()
    finding = world.only()
    changed = CUSTOMERS.replace('"active";2,00', '"active";9,00')
    (world.folder / "customers.csv").write_bytes(changed.encode())

    assert not world.approve(finding).ok

    assert content(world) == changed


def test_other_lines_may_change_between_plan_and_approval(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE)
    world.run()
    finding = world.only()
    grown = CUSTOMERS.replace("id;email", "id;email").replace('1;a@x;"', '9;z@x;Zoe;new;7,00\n1;a@x;"')
    (world.folder / "customers.csv").write_bytes(grown.encode())

    assert world.approve(finding).ok

    assert content(world) == grown.replace('2;a@x;Ann;"active";2,00\n', "")
    world.undo(finding)
    assert content(world) == grown


def test_a_file_that_is_open_in_an_office_program_is_cleaned_once_it_is_closed(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE | {"retry": "patient"})
    world.run()
    finding = world.only()
    marker = world.folder / ".~lock.customers.csv#"
    marker.write_text(",erika,desk,01.03.2026 10:00,file:///home/erika;")

    answer = world.approve(finding)

    assert "it is open in LibreOffice" in answer.sentence
    assert "erika" not in answer.sentence
    assert content(world) == CUSTOMERS
    marker.unlink()
    world.command("retry", finding)
    assert content(world) == WITHOUT_ANN


def test_a_file_with_records_of_equal_ids_is_not_cleaned(tmp_path: Path) -> None:
    twice = CUSTOMERS.replace("3;b@x", "2;b@x")
    world = customers(tmp_path / "w", twice, twins=DELETE).write()

    world.command("run", "nightly")

    assert content(world) == twice


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        ({"path": "customers*.csv"}, "its `path` is a pattern, and only one file with a fixed name can be changed"),
        ({"path": "customers.jsonl", "skip": 0, "skip_footer": 0}, "of files, only CSV and TSV can be changed"),
    ],
)
def test_what_cannot_be_cleaned_is_refused_with_the_configuration(
    tmp_path: Path, dataset: dict[str, Any], reason: str
) -> None:
    world = customers(tmp_path / "w", dataset=dataset, twins=DELETE).write()

    answer = world.command("check")

    assert answer.code == 2
    assert f"dataset `customers` cannot be cleaned: {reason}" in answer.said


def test_a_restored_file_is_not_cleaned_again_before_a_person_allows_it(tmp_path: Path) -> None:
    world = alone(tmp_path / "w")
    world.run()
    assert content(world) == WITHOUT_ANN

    (world.folder / "customers.csv").write_bytes(CUSTOMERS.encode())
    world.run()

    assert content(world) == CUSTOMERS
    checked = world.command("check")
    assert "lacks cleanings that the state database has recorded" in checked.said
    assert world.command("target", "adopt", "files").code == 0
    assert world.command("check").code == 0


def test_a_restored_state_does_not_clean_before_a_person_allows_it(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE)
    world.run()
    finding = world.only()
    backup = tmp_path / "backup"
    shutil.copytree(world.folder, backup)
    world.approve(finding)
    for file in backup.glob("reconcile.db*"):
        shutil.copy(file, world.folder)

    answer = world.command("approve", finding)

    assert answer.code != 0
    assert "lacks cleanings that source 'files' has recorded" in answer.said
    assert content(world) == WITHOUT_ANN


def test_another_state_meets_the_owner_of_the_file(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE)
    world.run()
    world.approve(world.only())
    (world.folder / "customers.csv").write_bytes(WITHOUT_ANN.replace("3;b@x", "3;a@x").encode())
    for file in world.folder.glob("reconcile.db*"):
        file.unlink()

    checked = world.command("check")

    assert "is cleaned by another state" in checked.said


@pytest.mark.slow
@pytest.mark.parametrize("label", ["target.received", "target.before_commit", "target.committed"])
def test_after_a_crash_it_is_done_once(tmp_path: Path, label: str) -> None:
    world = alone(tmp_path / "w")
    with world.killed_at(label):
        world.run()

    world.run()

    assert content(world) == WITHOUT_ANN
    assert list(world.findings().values()) == ["cleaned"]
    assert world.undo(world.only()).undone
    assert content(world) == CUSTOMERS


@pytest.mark.slow
@pytest.mark.parametrize("step", exchange.STEPS)
def test_after_a_crash_in_the_exchange_it_is_done_once(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = alone(tmp_path / "w")

    def die(reached: str) -> None:
        if reached == step:
            raise Killed

    monkeypatch.setattr(exchange, "armed", die)
    with pytest.raises(Killed):
        world.run()
    monkeypatch.setattr(exchange, "armed", None)
    world.bury()

    world.run()

    assert content(world) == WITHOUT_ANN
    assert list(world.findings().values()) == ["cleaned"]
    world.undo(world.only())
    assert content(world) == CUSTOMERS


@pytest.mark.chaos
@pytest.mark.parametrize("label", ["store.sent.committed", "target.sealed", "target.committed"])
def test_after_a_kill_a_new_process_does_it_once(tmp_path: Path, label: str) -> None:
    world = alone(tmp_path / "w")
    with Warm() as warm:
        assert warm.cli("run", "nightly", cwd=world.folder, faults=[Fault(label)]).wait().killed

    world.command("run", "nightly")

    assert content(world) == WITHOUT_ANN
    assert list(world.findings().values()) == ["cleaned"]


def test_rows_that_fit_neither_state_after_a_crash_are_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = alone(tmp_path / "w")

    def die(reached: str) -> None:
        if reached == "kept":
            raise Killed

    monkeypatch.setattr(exchange, "armed", die)
    with pytest.raises(Killed):
        world.run()
    monkeypatch.setattr(exchange, "armed", None)
    world.bury()
    theirs = CUSTOMERS.replace("Ann;", "Annie;")
    (world.folder / "customers.csv").write_bytes(theirs.encode())

    world.run()

    assert list(world.findings().values()) == ["quarantined"]
    assert content(world) == theirs


def test_two_files_of_one_source_are_each_cleaned(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE | {"approval": "none"}, others=DELETE | {"approval": "none"})
    world.config["datasets"] = {**world.config["datasets"], "people": DATASET | {"path": "people.csv"}}
    world.rules["others"]["dataset"] = "people"
    (world.folder / "people.csv").write_bytes(CUSTOMERS.encode())

    world.run()
    world.run()

    assert content(world) == WITHOUT_ANN
    assert (world.folder / "people.csv").read_bytes().decode() == WITHOUT_ANN


def test_many_groups_are_one_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"{2 * n};{n}@x;A;active;1,00\n{2 * n + 1};{n}@x;B;active;1,00\n" for n in range(1, 40))
    text = f"x\nid;email;name;status;paid\n{lines}Total;;;;0"
    world = alone(tmp_path / "w", text)
    steps: list[str] = []
    monkeypatch.setattr(exchange, "armed", steps.append)

    world.run()

    assert steps == list(exchange.STEPS)
    assert content(world).count("\n") == 2 + 39


def test_a_file_that_can_no_longer_be_read_stays_as_it_is(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE)
    world.run()
    broken = CUSTOMERS.replace("3;b@x;Bob;active;", '3;b@x;"Bob;active;')
    (world.folder / "customers.csv").write_bytes(broken.encode())

    answer = world.command("approve", world.only())

    assert (answer.code, "is approved and waits" in answer.said) == (3, True)
    assert content(world) == broken


def test_explain_says_that_files_of_a_pattern_can_only_be_read(tmp_path: Path) -> None:
    world = customers(tmp_path / "w")
    world.config["datasets"]["others"] = DATASET | {"path": "cust*.csv"}
    rule = {"kind": "reconciliation", "left": "customers", "right": "others", "key": "id"}
    world.config["rules"] = {"lost": rule}

    explained = " ".join(world.write().command("explain", "lost").said.split())

    assert "with `clean`, records of customers: left_only" in explained
    assert "records of others cannot be cleaned: its source can only be read" in explained


def test_a_time_in_a_zone_that_only_the_cleaning_reads_chooses_the_value(tmp_path: Path) -> None:
    """DuckDB reads such a file by itself, but not that column."""
    text = "id,email,name,at\n1,a@x,Ann,2026-01-02 10:00:00\n2,a@x,Anna,2026-01-02 11:00:00\n"
    dataset = {"timezone": "Europe/Berlin", "columns": {"at": "instant"}, "decimal": ".", "skip": 0, "skip_footer": 0}
    rule = {"clean": {"action": "merge", "fields": {"name": {"last": "at"}}, "surplus": "delete"}}
    world = customers(tmp_path, text, dataset, twins=rule)

    world.run()
    world.approve(world.only())

    assert content(world) == "id,email,name,at\n1,a@x,Anna,2026-01-02 10:00:00\n"


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le", "utf-7"])
def test_an_encoding_whose_bytes_are_all_below_128_is_cleaned(encoding: str, tmp_path: Path) -> None:
    text = "id\temail\tname\r\n1\ta@x\tAnn+\r\n2\ta@x\tAnn+\r\n3\tb@x\tBob\r\n"
    dataset = {"encoding": encoding, "delimiter": "\t", "columns": {}, "skip": 0, "skip_footer": 0}
    world = customers(tmp_path, text, dataset, twins=DELETE)
    (tmp_path / "customers.csv").write_bytes(text.encode(encoding))

    world.run()
    world.approve(world.only())

    expected = text.replace("2\ta@x\tAnn+\r\n", "").encode(encoding)
    assert (tmp_path / "customers.csv").read_bytes() == expected


def test_approvals_of_several_findings_that_wait_for_their_file_exit_with_3(tmp_path: Path) -> None:
    text = "id,email\n1,a@x\n2,a@x\n3,b@x\n4,b@x\n"
    dataset = {"columns": {}, "decimal": ".", "skip": 0, "skip_footer": 0}
    world = customers(tmp_path, text, dataset, twins=DELETE)
    world.run()
    (tmp_path / "~$customers.csv").touch()
    project = Project(tmp_path)
    findings = [row["id"] for row in project("findings", "--json").json]

    answer = project("approve", *findings)

    assert answer.code == 3, answer.said
    assert content(world) == text


@pytest.mark.parametrize(
    ("values", "dataset", "reason"),
    [
        ({"status": "größer"}, {"encoding": "ascii"}, "ascii has no character for it"),
        ({"status": "-"}, {"null_values": ["-"]}, "it would be read as null"),
        ({"paid": "much"}, {}, "it would not be read as this decimal"),
    ],
)
def test_a_value_that_the_file_cannot_hold_is_refused_in_the_plan(
    tmp_path: Path, values: dict[str, str], dataset: dict[str, Any], reason: str
) -> None:
    rule = {"clean": {"action": "set", "values": values}}
    world = customers(tmp_path / "w", CUSTOMERS.removeprefix("\ufeff"), dataset=dataset, twins=rule).write()

    run = world.command("run", "nightly")

    assert run.code == 4, run.said
    assert reason in run.said
    assert world.only() is not None
    assert content(world) == CUSTOMERS.removeprefix("\ufeff")


def test_a_run_whose_file_cannot_be_cleaned_says_so_with_its_exit_code(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE).write()
    (tmp_path / "w" / "again.csv").hardlink_to(tmp_path / "w" / "customers.csv")

    run = world.command("run", "nightly")

    assert run.code == 4, run.said
    assert "it has several names (hard links)" in run.said


def test_each_rule_writes_as_its_own_dataset_says_even_in_one_approval(tmp_path: Path) -> None:
    text = "id;email;code;day;paid\n1;a@x;x;01.02.2026;1,5\n2;a@x;y;02.02.2026;2,5\n3;b@x;x;03.02.2026;3,5\n"
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "customers.csv").write_text(text)
    common = {"source": "files", "path": "customers.csv", "id": "id"}
    german = {"decimal": ",", "columns": {"paid": "decimal", "day": "date %d.%m.%Y"}}
    world = World(folder, {}, {})
    world.config = {
        "sources": {"files": {"type": "files"}},
        "datasets": {"german": common | german, "plain": common},
    }
    world.rules = {
        "emails": {
            "dataset": "german",
            "clean": {"action": "set", "values": {"day": "2026-12-31", "paid": "12.5"}},
        },
        "codes": {"dataset": "plain", "key": ["code"], "clean": {"action": "set", "values": {"paid": "none"}}},
    }
    world.write()
    world.command("run", "nightly")

    approved = world.command("approve", *world.findings())

    assert approved.code == 0, approved.said
    assert "2;a@x;y;31.12.2026;12,5" in content(world)
    assert "3;b@x;x;03.02.2026;none" in content(world)


def test_plans_that_are_approved_together_write_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = customers(tmp_path / "w", CUSTOMERS.replace("3;b@x", "4;b@x;Rob;active;\r\n3;b@x"), twins=DELETE).write()
    world.command("run", "nightly")
    steps: list[str] = []
    monkeypatch.setattr(exchange, "armed", steps.append)

    approved = world.command("approve", *world.findings())

    assert approved.code == 0, approved.said
    assert list(world.findings().values()) == ["cleaned", "cleaned"]
    assert steps == list(exchange.STEPS)
