"""Cleaning of workbooks, from the configuration to the undo; what must not change is compared part by part."""

from __future__ import annotations

import datetime as dt
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from openpyxl import load_workbook

from connectors.disk.cleaning import exchange
from tests.support.world import DELETE, Killed, World

HEADER = ("Number", "Email", "Name", "Status", "Since", "Spent")
CUSTOMERS: tuple[tuple[Any, ...], ...] = (
    (1, "ada@x", "Ada Lovelace", "active", 45000, 10.5),
    (2, "ada@x", "Ada L.", "active", 45100.5, 3),
    (3, "bob@x", "Bob", None, 45200, 7),
)
PAYMENTS = ((100, 1, 5.5), (101, 2, 3), (102, 3, 7))
MARK = {"clean": {"action": "set", "values": {"Status": "twin of {{ keeper.Number }}"}}}
MOVE = {"clean": {"action": "move", "to": "Removed", "references": "repoint"}}
LINK = {"references": [{"table": "Payments", "columns": ["Customer"], "id": ["Payment"]}]}


def write(path: Path, rows: tuple[tuple[Any, ...], ...] = CUSTOMERS, **more: Any) -> None:
    """A workbook with customers, payments, removed customers, and a summary with formulas, a chart and rich text."""
    with xlsxwriter.Workbook(path) as book:
        bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "dd.mm.yyyy hh:mm"})
        sheet = book.add_worksheet("Customers")
        sheet.write_row(0, 0, HEADER, bold)
        for number, row in enumerate(rows, 1):
            sheet.write_row(number, 0, row)
            sheet.write(number, 4, row[4], day)
        sheet.conditional_format("F2:F9", {"type": "data_bar"})
        sheet.autofilter(0, 0, len(rows), len(HEADER) - 1)
        if more.get("rich"):
            sheet.write_rich_string("C3", bold, "Ada", " L.")
        if more.get("formula"):
            sheet.write_formula("D3", '=IF(F3>0,"active","")', None, "active")
        if more.get("protected"):
            sheet.protect()
        if more.get("merged"):
            sheet.merge_range("D3:D4", "active", bold)
        if more.get("choices"):
            sheet.data_validation("D2:D9", {"validate": "list", "source": ["active", "gone"]})
        payments = book.add_worksheet("Payments")
        payments.write_row(0, 0, ("Payment", "Customer", "Amount"))
        for number, row in enumerate(PAYMENTS, 1):
            payments.write_row(number, 0, row)
        book.add_worksheet("Removed").write_row(0, 0, (*HEADER, "reconcile_finding"))
        summary = book.add_worksheet("Summary")
        summary.write_formula("A1", "=SUM(Customers!F2:F4)", None, 20.5)
        summary.write_rich_string("A2", bold, "all", " customers")
        summary.write_comment("A1", "of this year")
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Customers!$F$2:$F$4"})
        summary.insert_chart("C3", chart)


def customers(folder: Path, *, dataset: dict[str, Any] | None = None, rule: dict[str, Any], **more: Any) -> World:
    folder.mkdir(parents=True)
    write(folder / "shop.xlsx", **more)
    common = {"source": "office", "sheet": "Customers", "id": "Number"}
    world = World(folder, {"twins": {"key": ["Email"], "keep": [{"first": "Number"}]} | rule})
    world.config = {
        "sources": {"office": {"type": "workbook", "path": "shop.xlsx"}},
        "datasets": {"customers": common | (dataset or {})},
    }
    return world.write()


def cells(world: World, sheet: str) -> list[tuple[Any, ...]]:
    book = load_workbook(world.folder / "shop.xlsx", data_only=True)
    return [row for row in book[sheet].iter_rows(min_row=2, values_only=True) if any(row)]


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as book:
        return {name: book.read(name) for name in book.namelist()}


def differing(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    assert list(before) == list(after)
    return {name for name in before if before[name] != after[name]}


def sheets(*numbers: int) -> set[str]:
    return {f"xl/worksheets/sheet{number}.xml" for number in numbers}


def test_from_the_command_line_a_twin_is_moved_with_its_payment_and_put_back(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", dataset=LINK, rule=MOVE, rich=True)
    before, here = parts(world.folder / "shop.xlsx"), world.command

    checked, run = here("check"), here("run", "nightly")
    finding = world.only()
    plan = here("plan", "--finding", finding, "--show")
    approved = here("approve", finding, "--note", "one person")

    assert "it cleans by move; rows of `Payments` can refer to its records" in checked.said
    assert "1 proposed" in run.said
    assert "deleted  Customers  Number = 2" in plan.said
    assert "Since = 2023-06-23T12:00:00" in " ".join(plan.said.split())
    assert "re-pointed  Payments  Payment = 101" in plan.said
    assert "undo: yes" in plan.said
    assert approved.code == 0, approved.said
    assert [row[0] for row in cells(world, "Customers")] == [1, 3]
    [removed] = cells(world, "Removed")
    assert removed[:3] == (2, "ada@x", "Ada L.")
    assert removed[-1] == finding
    assert removed[4] == dt.datetime(2023, 6, 23, 12)  # noqa: DTZ001 - cells have no zone
    assert [row[1] for row in cells(world, "Payments")] == [1, 1, 3]
    assert differing(before, parts(world.folder / "shop.xlsx")) == sheets(1, 2, 3)

    undone = here("undo", finding, "--note", "two people")

    assert undone.code == 0, undone.said
    assert differing(before, parts(world.folder / "shop.xlsx")) == sheets(3)  # an empty row stays there
    assert cells(world, "Removed") == []
    assert world.intact()


@pytest.mark.parametrize(
    "clean",
    [
        MARK["clean"],
        {
            "action": "merge",
            "fields": {"Name": "longest", "Spent": {"max": "Spent"}},
            "surplus": {"set": {"Status": "merged"}},
        },
        {"action": "set", "values": {"Status": "gone", "Since": "2026-03-01", "Spent": "12.25"}},
    ],
    ids=["mark", "merge", "every-kind"],
)
def test_cells_are_set_and_set_back_to_the_byte(tmp_path: Path, clean: dict[str, Any]) -> None:
    world = customers(tmp_path / "w", rule={"clean": clean}, rich=True)
    before = parts(world.folder / "shop.xlsx")
    world.run()

    answer = world.approve(world.only())

    assert answer.ok, answer.sentence
    assert differing(before, parts(world.folder / "shop.xlsx")) == sheets(1)
    assert cells(world, "Customers")[2] == (*CUSTOMERS[2][:4], dt.datetime(2023, 10, 1), 7)  # noqa: DTZ001
    assert world.undo(world.only()).undone
    assert differing(before, parts(world.folder / "shop.xlsx")) == set()


def test_rows_that_are_named_by_what_they_refer_to_follow_the_keeper_and_return(tmp_path: Path) -> None:
    link = {"table": "Payments", "columns": ["Customer"], "id": ["Customer", "Payment"]}
    world = customers(tmp_path / "w", dataset={"references": [link]}, rule=MOVE)
    before = cells(world, "Payments")

    world.run()
    approved = world.command("approve", world.only())
    payments = cells(world, "Payments")
    undone = world.command("undo", world.only())

    assert approved.code == 0, approved.said
    assert payments == [(100, 1, 5.5), (101, 1, 3), (102, 3, 7)]
    assert undone.code == 0, undone.said
    assert cells(world, "Payments") == before


def test_an_approval_waits_while_another_program_writes_the_workbook(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule=MARK)
    path = world.folder / "shop.xlsx"
    world.run()
    whole = path.read_bytes()
    path.write_bytes(whole[:2000])

    approved = world.command("approve", world.only())

    assert approved.code == 3, approved.said
    assert "is approved and waits" in approved.said
    assert path.read_bytes() == whole[:2000]


def test_a_row_that_moved_since_the_plan_is_found_by_its_id(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule=MARK)
    world.run()
    write(world.folder / "shop.xlsx", (CUSTOMERS[2], CUSTOMERS[1], (4, "dan@x", "Dan", "new", 45300, 1), CUSTOMERS[0]))

    assert world.approve(world.only()).ok

    assert [(row[0], row[3]) for row in cells(world, "Customers")] == [
        (3, None),
        (2, "twin of 1"),
        (4, "new"),
        (1, "active"),
    ]


def test_a_cell_that_somebody_edited_since_the_plan_is_not_overwritten(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule=MARK)
    world.run()
    write(world.folder / "shop.xlsx", (CUSTOMERS[0], (*CUSTOMERS[1][:3], "VIP", *CUSTOMERS[1][4:]), CUSTOMERS[2]))

    answer = world.approve(world.only())

    assert not answer.ok
    assert [row[3] for row in cells(world, "Customers")] == ["active", "VIP", None]


def test_a_cleaning_is_undone_after_another_program_saved_the_workbook(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", dataset=LINK, rule=MOVE)
    world.run()
    assert world.approve(world.only()).ok
    book = load_workbook(world.folder / "shop.xlsx")
    book["Customers"]["C2"] = "Ada King"
    book.save(world.folder / "shop.xlsx")

    undone = world.undo(world.only())

    assert undone.undone, undone
    assert [row[:3] for row in cells(world, "Customers")] == [
        (1, "ada@x", "Ada King"),
        CUSTOMERS[1][:3],
        CUSTOMERS[2][:3],
    ]
    assert [row[1] for row in cells(world, "Payments")] == [1, 2, 3]


def test_a_deleted_record_leaves_an_empty_row_and_returns_below_if_that_row_is_used(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule=DELETE)
    world.run()
    assert world.approve(world.only()).ok
    assert [row[0] for row in cells(world, "Customers")] == [1, 3]
    write(world.folder / "shop.xlsx", (CUSTOMERS[0], (4, "dan@x", "Dan", "new", 45300, 1), CUSTOMERS[2]))

    assert world.undo(world.only()).undone

    assert [row[0] for row in cells(world, "Customers")] == [1, 4, 3, 2]


@pytest.mark.parametrize(
    ("more", "rule", "reason"),
    [
        ({"protected": True}, MARK, "protected"),
        ({"formula": True}, MARK, "the cell D3 of the sheet Customers computes its value"),
        ({"formula": True}, DELETE, "the cell D3 of the sheet Customers computes its value"),
        ({"choices": True}, MARK, "the cell D3 of the sheet Customers"),
        ({"merged": True}, MARK, "free the cell in the workbook, or write to another column"),
        ({}, {"clean": {"action": "set", "values": {"Spent": "much"}}}, "is in a column of numbers"),
        ({}, {"clean": {"action": "set", "values": {"Since": "soon"}}}, "shows a date, and the value is none"),
    ],
    ids=["protected", "formula", "delete-formula", "choices", "merged", "number", "date"],
)
def test_a_cell_that_cannot_be_written_is_refused_in_the_plan(
    tmp_path: Path, more: dict[str, Any], rule: dict[str, Any], reason: str
) -> None:
    world = customers(tmp_path / "w", rule=rule, **more)
    before = (world.folder / "shop.xlsx").read_bytes()

    run = world.command("run", "nightly")

    assert run.code == 4, run.said
    assert reason in run.said
    assert (world.folder / "shop.xlsx").read_bytes() == before


@pytest.mark.parametrize(
    ("source", "dataset", "reason"),
    [
        ({"path": "shop.ods"}, {}, "of workbooks, only .xlsx and .xlsm can be changed"),
        ({"path": ["shop.xlsx", "more.xlsx"]}, {}, "its source may have several workbooks"),
        ({"path": "*.xlsx"}, {}, "its source may have several workbooks"),
        ({}, {"sheet": "all"}, "its `sheet` may name several sheets"),
        ({}, {"fill": ["Status"]}, "`fill` gives its records values that are not in their cells"),
        ({}, {"references": [{"table": "Payments", "columns": ["Customer"]}]}, "needs `id`"),
    ],
    ids=["ods", "list", "pattern", "all-sheets", "fill", "link-without-id"],
)
def test_what_can_never_be_cleaned_is_refused_by_check(
    tmp_path: Path, source: dict[str, Any], dataset: dict[str, Any], reason: str
) -> None:
    world = customers(tmp_path / "w", rule=DELETE, dataset=dataset)
    world.config["sources"]["office"] |= source
    world.write()

    checked = world.command("check")

    assert checked.code == 2, checked.said
    assert reason in checked.said


def test_a_workbook_that_is_open_in_excel_is_cleaned_once_it_is_closed(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule=MARK | {"retry": "patient"})
    world.run()
    finding = world.only()
    marker = world.folder / "~$shop.xlsx"
    marker.write_bytes(b"\x05Erika")

    answer = world.approve(finding)

    assert "it is open in Excel" in answer.sentence
    assert answer.sentence.endswith(f"Then run `reconcile retry {world.only()}`")
    assert [row[3] for row in cells(world, "Customers")] == ["active", "active", None]
    marker.unlink()
    world.command("retry", finding)
    assert [row[3] for row in cells(world, "Customers")] == ["active", "twin of 1", None]


def test_a_save_at_the_moment_of_the_exchange_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = customers(tmp_path / "w", rule=MARK)
    world.run()
    saved = (*CUSTOMERS, (4, "dan@x", "Dan", "new", 45300, 1))

    def save(step: str) -> None:
        if step == "compared":
            monkeypatch.setattr(exchange, "armed", None)
            write(tmp_path / "theirs.xlsx", saved)
            (tmp_path / "theirs.xlsx").replace(world.folder / "shop.xlsx")

    monkeypatch.setattr(exchange, "armed", save)
    world.approve(world.only())
    world.run()

    assert [(row[0], row[3]) for row in cells(world, "Customers")] == [
        (1, "active"),
        (2, "twin of 1"),
        (3, None),
        (4, "new"),
    ]


@pytest.mark.parametrize("step", ["noted", "exchanged", "kept"])
def test_a_process_that_dies_while_it_exchanges_the_workbook_cleans_it_once(tmp_path: Path, step: str) -> None:
    world = customers(tmp_path / "w", dataset=LINK, rule=MOVE)
    world.run()

    def die(reached: str) -> None:
        if reached == step:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "armed", die)
        with pytest.raises(Killed):
            world.approve(world.only())
    world.bury()
    world.run()

    assert [row[0] for row in cells(world, "Customers")] == [1, 3]
    assert [row[0] for row in cells(world, "Removed")] == [2]
    assert [row[1] for row in cells(world, "Payments")] == [1, 1, 3]
    assert set(world.findings().values()) == {"cleaned"}


def test_a_restored_workbook_is_not_cleaned_again_before_a_person_allows_it(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule=MARK | {"approval": "none"})
    shutil.copy(world.folder / "shop.xlsx", tmp_path / "backup.xlsx")
    world.run()
    world.run()
    assert cells(world, "Customers")[1][3] == "twin of 1"

    shutil.copy(tmp_path / "backup.xlsx", world.folder / "shop.xlsx")
    world.run()

    assert cells(world, "Customers")[1][3] == "active"
    assert "lacks cleanings that the state database has recorded" in world.command("check").said


def test_check_says_how_to_make_a_sheet_for_moved_records(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule={"clean": {"action": "move", "to": "Gone"}})

    checked = world.command("check")

    assert checked.code == 2, checked.said
    assert "sheet `Gone` (`to`) does not exist; create it: add a sheet with that name" in checked.said
    assert "`Spent` and `reconcile_finding`" in checked.said


def test_a_sheet_for_moved_records_needs_their_columns(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", rule={"clean": {"action": "move", "to": "Payments"}})

    checked = world.command("check")

    assert checked.code == 2, checked.said
    assert "`Payments` has no `Number`, `Email`, `Name`, `Status`, `Since` and `Spent`" in checked.said
