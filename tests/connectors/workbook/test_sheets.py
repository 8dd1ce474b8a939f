"""Several sheets of a workbook as one dataset: which sheets, in which order, with which types, names and errors."""

import zipfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
import xlsxwriter
import xlwt

from connectors.base import UnreadableCells
from connectors.errors import ConnectorError, DatasetMissing, FileUnreadable, HeadersDiffer, SheetsMissing
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.support.cli import Project

Rows = Sequence[Sequence[Any]]
NAMES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
}
FORMATS = ("a.xlsx", "a.xls", "a.ods")
YEAR: Mapping[str, Rows] = {
    "Notes": [["what", "who"], ["booked by hand", "Ann"]],
    "2026-02": [["id", "amount"], [3, 4.5], [4, "open"]],
    "2026-01": [["amount", "id"], [1.25, 1], [], [2.5, 2]],
    "2026-03": [],
}


def write(path: Path, sheets: Mapping[str, Rows], hidden: Collection[str] = ()) -> WorkbookSource:
    {".xlsx": write_xlsx, ".xls": write_xls, ".ods": write_ods}[path.suffix](path, sheets, hidden)
    return WorkbookSource("crm", WorkbookSettings(type="workbook", path=path.name), path.parent)


def write_xlsx(path: Path, sheets: Mapping[str, Rows], hidden: Collection[str]) -> None:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
            if name in hidden:
                sheet.hide()
        book.add_chartsheet("2026-chart")


def write_xls(path: Path, sheets: Mapping[str, Rows], hidden: Collection[str]) -> None:
    book = xlwt.Workbook()
    for name, rows in sheets.items():
        sheet = book.add_sheet(name)
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                sheet.write(number, column, cell)
        sheet.visibility = int(name in hidden)
    book.save(path)


def write_ods(path: Path, sheets: Mapping[str, Rows], hidden: Collection[str]) -> None:
    tables = "".join(
        f'<table:table table:name={quoteattr(name)} table:style-name="{"off" if name in hidden else "on"}">'
        + "".join(f"<table:table-row>{''.join(map(ods_cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    styles = "".join(
        f'<style:style style:name="{name}" style:family="table"><style:table-properties table:display="{display}"/>'
        "</style:style>"
        for name, display in (("on", "true"), ("off", "false"))
    )
    spaces = " ".join(f'xmlns:{name}="{uri}"' for name, uri in NAMES.items())
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)


def ods_cell(cell: Any) -> str:
    if isinstance(cell, str):
        return f'<table:table-cell office:value-type="string"><text:p>{escape(cell)}</text:p></table:table-cell>'
    return f'<table:table-cell office:value-type="float" office:value="{cell}"/>'


def read(
    source: WorkbookSource, *columns: str, **settings: Any
) -> tuple[list[tuple[Any, ...]], Sequence[UnreadableCells]]:
    """The records of a dataset and the problems with its cells."""
    with closing(source):
        scan = source.scan(WorkbookDataset(**settings), columns)
        rows = scan.reader.read_all().to_pylist()
        return [tuple(row.values()) for row in rows], scan.problems()


def mistake(source: WorkbookSource, **settings: Any) -> ConnectorError:
    with closing(source), pytest.raises(ConnectorError) as caught:
        source.describe(WorkbookDataset(**settings))
    return caught.value


# Which sheets


@pytest.mark.parametrize("name", FORMATS)
def test_sheets_that_match_are_one_dataset_in_the_order_of_the_workbook(tmp_path: Path, name: str) -> None:
    """Columns may be in another order. An empty sheet and a chart are skipped, and a column with a text is text."""
    source = write(tmp_path / name, YEAR)

    rows, problems = read(source, "id", "amount", "_file", "_sheet", "_row", sheet="2026-*")

    assert rows == [
        (3, "4.5", name, "2026-02", 2),
        (4, "open", name, "2026-02", 3),
        (1, "1.25", name, "2026-01", 2),
        (2, "2.5", name, "2026-01", 4),
    ]
    assert problems == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_hidden_sheet_is_read_only_by_its_name(tmp_path: Path, name: str) -> None:
    sheets = {sheet: [["id"], [sheet]] for sheet in ("b", "old", "a")}
    source = write(tmp_path / name, sheets, hidden=["old"])

    assert list(source.datasets()) == ["b", "a"]
    assert read(source, "id", "_sheet", sheet="all")[0] == [("b", "b"), ("a", "a")]
    assert read(source, "id", sheet=("?", "old"))[0] == [("b",), ("old",), ("a",)]


@pytest.mark.slow
def test_a_single_sheet_by_name_has_no_column_for_it(tmp_path: Path) -> None:
    source = write(tmp_path / "a.xlsx", YEAR)

    with closing(source):
        assert source.describe(WorkbookDataset(sheet="2026-02")).names == ["id", "amount", "_file", "_row"]
        several = source.describe(WorkbookDataset(sheet=("2026-02",)))

    assert several.names == ["id", "amount", "_file", "_sheet", "_row"]


def test_a_name_with_signs_of_a_pattern_is_that_sheet(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ods", {"a[1]": [["id"], [1]], "a1": [["id"], [2]]})

    assert read(source, "id", sheet="a[1]")[0] == [(1,)]


def test_a_pattern_without_a_sheet_names_the_file_and_its_sheets(tmp_path: Path) -> None:
    source = write(tmp_path / "a.xlsx", YEAR)

    error = mistake(source, sheet=("2026-*", "2025-*"))

    assert isinstance(error, SheetsMissing)
    assert str(error) == (
        "a.xlsx has no sheet that matches '2025-*': its visible sheets are Notes, 2026-02, 2026-01, 2026-03; "
        "correct `sheet`"
    )


def test_a_name_in_a_list_must_exist(tmp_path: Path) -> None:
    error = mistake(write(tmp_path / "a.xlsx", YEAR), sheet=("2026-02", "2026-3"))

    assert isinstance(error, DatasetMissing)
    assert "no sheet 2026-3; did you mean 2026-0" in str(error)


@pytest.mark.slow
def test_all_is_ambiguous_if_a_sheet_has_that_name(tmp_path: Path) -> None:
    source = write(tmp_path / "a.xlsx", {"all": [["id"], [1]], "b": [["id"], [2]]})

    assert 'write `sheet: [all]` for that sheet, or `sheet: "*"` for all' in str(mistake(source, sheet="all"))
    assert read(source, "id", sheet=("all",))[0] == [(1,)]
    assert read(source, "id", sheet="*")[0] == [(1,), (2,)]


def test_a_list_without_a_name_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="name a sheet, or write `all`"):
        WorkbookDataset(sheet=())


# Mistakes and warnings name the sheet


def test_sheets_with_other_columns_are_refused_like_files_with_other_columns(tmp_path: Path) -> None:
    error = mistake(write(tmp_path / "a.xlsx", YEAR), sheet="all")

    assert isinstance(error, HeadersDiffer)
    assert str(error) == (
        "a.xlsx, sheet 2026-02 has a column 'id' that a.xlsx, sheet Notes does not have; sheets of one dataset must "
        "have the same columns and types: narrow `sheet`, or declare two datasets"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_an_unreadable_or_rounded_cell_is_named_by_file_sheet_row_and_column(tmp_path: Path, name: str) -> None:
    sheets = {"a": [["id", "day"], [1, "2026-03-01"]], "b": [["id", "day"], [2**60, "soon"]]}
    source = write(tmp_path / name, sheets)

    rows, problems = read(source, "id", "day", sheet="all", columns={"day": "date"})

    assert [row[0] for row in rows] == [1, None if name != "a.ods" else 2**60]
    places = [(problem.column, problem.records, problem.first) for problem in problems]
    rounded = [("id", 1, f"{name}, sheet b, row 2")] if name != "a.ods" else []
    assert places == [*rounded, ("day", 1, f"{name}, sheet b, row 2")]


def test_a_record_with_an_error_cell_is_named_by_its_sheet(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        for name in "ab":
            sheet = book.add_worksheet(name)
            sheet.write_row(0, 0, ["id", "n"])
            sheet.write_row(1, 0, [name, 1])
        sheet.write_formula(2, 1, "=1/0", None, "#DIV/0!")
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path="a.xlsx"), tmp_path)

    rows, problems = read(source, "id", "n", "_sheet", sheet="all")

    assert rows == [("a", 1, "a"), ("b", 1, "b")]
    assert [(problem.column, problem.first, problem.skipped) for problem in problems] == [
        ("n", "a.xlsx, sheet b, row 3", True)
    ]


@pytest.mark.slow
def test_a_title_and_a_footer_are_those_of_each_sheet(tmp_path: Path) -> None:
    sheets = {name: [["Title"], ["id"], [name], ["sum"]] for name in "ab"}
    source = write(tmp_path / "a.xlsx", sheets | {"c": [["only a title"]]})

    rows, _ = read(source, "id", "_row", sheet="[ab]", header_row=2, skip_footer=1)

    assert rows == [("a", 3), ("b", 3)]
    for settings, sentence in (({"header_row": 2}, "row 2 is below"), ({"skip_footer": 1}, "it has fewer than the 1")):
        error = mistake(source, sheet="all", **settings)
        assert isinstance(error, FileUnreadable)
        assert f"a.xlsx, sheet c: {sentence}" in str(error)


@pytest.mark.slow
def test_values_are_filled_within_each_sheet(tmp_path: Path) -> None:
    source = write(
        tmp_path / "a.xlsx", {"a": [["o", "n"], ["x", 1]], "b": [["o", "n"], [None, 2], ["y", 3], [None, 4]]}
    )

    assert read(source, "o", "n", sheet="all", fill=("o",))[0] == [("x", 1), (None, 2), ("y", 3), ("y", 4)]


@pytest.mark.slow
def test_empty_sheets_alone_are_no_dataset(tmp_path: Path) -> None:
    error = mistake(write(tmp_path / "a.xlsx", {"a": [], "b": []}), sheet="all")

    assert "a.xlsx: its sheets are empty and have no header" in str(error)


@pytest.mark.slow
def test_a_column_with_the_reserved_name_is_renamed(tmp_path: Path) -> None:
    source = write(tmp_path / "a.xlsx", {"a": [["_sheet"], ["x"]]})

    assert read(source, "_sheet_2", "_sheet", sheet="all")[0] == [("x", "a")]


# Changes of the workbook


@pytest.mark.slow
def test_a_new_sheet_is_new_content_and_read_at_once(tmp_path: Path) -> None:
    source = write(tmp_path / "a.xlsx", {"a": [["id"], [1]]})
    dataset = WorkbookDataset(sheet="all")

    def facts() -> tuple[Any, ...]:
        records = source.scan(dataset, ["id"]).reader.read_all().num_rows
        return records, source.content(dataset, lambda _: None), source.state(dataset)

    with closing(source):
        before = facts()
        write(tmp_path / "a.xlsx", {"a": [["id"], [1]], "b": [["id"], [2]]})
        after = facts()

    assert (before[0], after[0]) == (1, 2)
    assert before[1] != after[1]
    assert before[2] != after[2]


# The whole way


@pytest.mark.slow
def test_suggest_proposes_sheets_of_the_same_columns_as_one_dataset(tmp_path: Path) -> None:
    source = write(tmp_path / "a.xlsx", {"Q1 25": [["id"], [1]], "Q2 25": [["id"], [2]], "Q3 25": [["name"], ["x"]]})
    alike = write(tmp_path / "b.xlsx", {"Q1 25": [["id"], [1]], "Q2 25": [["id"], [2]], "Rates": [["name"], ["x"]]})

    with closing(source), closing(alike):
        assert source.candidates() == ["Q1 25", "Q2 25", "Q3 25"]
        assert alike.candidates() == ["Q* *", "Rates"]
        assert alike.declaration("Q* *").settings == {"sheet": "Q* *"}


@pytest.mark.slow
def test_a_finding_names_the_sheet_of_a_record_without_id(tmp_path: Path) -> None:
    """The names of the sheets are no dates to declare, and equal records of two sheets are told apart."""
    write(tmp_path / "a.xlsx", {"2026-03-01": [["ref"], ["x"]], "2026-03-02": [["ref"], ["y"], ["x"]]})
    project = Project(tmp_path)
    project.write(
        "version: 1\nsources: {crm: {type: workbook, path: a.xlsx}}\ndatasets:\n  d: {source: crm, sheet: all}\n"
        "rules:\n  r: {kind: duplicates, dataset: d, key: all}\n"
    )

    checked, ran = project("check"), project("run", "--json")

    assert "_sheet text, _row integer; it has no `id`" in checked.said
    assert "_sheet: " not in checked.said
    assert [finding["places"] for finding in ran.json["findings"]] == [
        [["a.xlsx", "2026-03-01", 2], ["a.xlsx", "2026-03-02", 3]]
    ]
