"""`check` notices a title above the header of a sheet or a text file, and proposes where the header is."""

from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from connectors.files.connector import FilesDataset
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from reconcile.detection.titles import remark
from tests.support.cli import Project
from tests.support.files import source

ROWS: list[list[Any]] = [["ref", "amount", "day"], *([f"R-{n}", n, "x"] for n in range(9))]
TITLE: list[list[Any]] = [["Report of March"], []]


def sheet(folder: Path, rows: list[list[Any]]) -> WorkbookSource:
    with xlsxwriter.Workbook(folder / "a.xlsx") as book:
        page = book.add_worksheet("S")
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
    return WorkbookSource("w", WorkbookSettings(type="workbook", path="a.xlsx"), folder)


def text(folder: Path, rows: list[list[Any]], mark: str = ",") -> None:
    (folder / "a.csv").write_text("".join(f"{mark.join(map(str, row))}\n" for row in rows))


@pytest.mark.parametrize("named", ["S", None])
def test_a_title_above_the_header_of_a_sheet_is_noticed(tmp_path: Path, named: str | None) -> None:
    opened = sheet(tmp_path, [*TITLE, *ROWS])

    sentence = remark(opened, WorkbookDataset(sheet=named, columns={"amount": "decimal"}))
    opened.close()

    assert sentence == "the header seems to be in row 3, below a title; set `header_row: 3`"


def test_a_sheet_without_a_title_or_with_a_row_for_its_header_gets_no_remark(tmp_path: Path) -> None:
    opened = sheet(tmp_path, ROWS)
    assert remark(opened, WorkbookDataset(sheet="S")) is None
    opened.close()
    opened = sheet(tmp_path, [*TITLE, *ROWS])
    assert remark(opened, WorkbookDataset(sheet="S", header_row=3)) is None
    assert remark(opened, WorkbookDataset(sheet="no such")) is None
    opened.close()


@pytest.mark.parametrize("mark", [",", ";"])
def test_lines_above_the_header_of_a_text_file_are_noticed(tmp_path: Path, mark: str) -> None:
    text(tmp_path, [*TITLE, *ROWS], mark)

    sentence = remark(source(tmp_path), FilesDataset(path="*.csv"))

    assert sentence == "the header seems to be on line 3, below a title; set `skip: 2`"


def test_a_text_file_without_a_title_or_with_a_setting_for_it_gets_no_remark(tmp_path: Path) -> None:
    text(tmp_path, ROWS)
    assert remark(source(tmp_path), FilesDataset(path="a.csv")) is None
    text(tmp_path, [*TITLE, *ROWS])
    assert remark(source(tmp_path), FilesDataset(path="a.csv", skip=2)) is None
    assert remark(source(tmp_path), FilesDataset(path="a.csv", header=False)) is None
    assert remark(source(tmp_path), FilesDataset(path="b.csv")) is None


@pytest.mark.slow
def test_check_says_it_beside_what_it_cannot_read(tmp_path: Path) -> None:
    project = Project(tmp_path)
    text(tmp_path, [*TITLE, *ROWS])
    sheet(tmp_path, [*TITLE, *ROWS]).close()
    project.write(
        "version: 1\nsources: {f: {type: files}, w: {type: workbook, path: a.xlsx}}\n"
        "datasets:\n  d: {source: f, path: a.csv, columns: {amount: integer}}\n"
        "  e: {source: w, sheet: S, columns: {amount: integer}}\n"
        "rules:\n  r: {kind: duplicates, dataset: d, key: [ref]}\n  s: {kind: duplicates, dataset: e, key: [ref]}\n"
    )

    told = project("check").said

    assert "dataset d: the header seems to be on line 3, below a title; set `skip: 2`" in told
    assert "dataset e: the header seems to be in row 3, below a title; set `header_row: 3`" in told
