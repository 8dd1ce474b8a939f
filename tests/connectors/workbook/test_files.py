"""Several workbooks as one dataset: which files, in which order, with which types, names and errors."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import ConnectorError, DatasetMissing, FileRefused, FileUnreadable, HeadersDiffer
from connectors.files.connector import FilesDataset
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.connectors.workbook.test_sheets import Rows, ods_cell, read, write
from tests.support.cli import Project
from tests.support.files import source

pytestmark = pytest.mark.slow

MAY: Rows = [["id", "amount"], [1, 1.25], [], [2, 2.5]]
JUNE: Rows = [["amount", "id"], [3.5, 3], ["open", 4]]


def folder(root: Path, books: Mapping[str, Mapping[str, Rows] | Rows]) -> Path:
    """Write workbooks by their path; rows alone are those of the sheet S."""
    for name, sheets in books.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        write(root / name, sheets if isinstance(sheets, Mapping) else {"S": sheets})
    return root


def opened(root: Path, path: str | Sequence[str], **settings: Any) -> WorkbookSource:
    return WorkbookSource("bank", WorkbookSettings.model_validate({"type": "workbook", "path": path, **settings}), root)


def mistake(source: WorkbookSource, **settings: Any) -> ConnectorError:
    with closing(source), pytest.raises(ConnectorError) as caught:
        source.describe(WorkbookDataset(**settings))
    return caught.value


# Which workbooks


@pytest.mark.parametrize("suffix", ["xlsx", "xls", "ods"])
def test_workbooks_that_match_are_one_dataset_in_the_order_of_their_names(tmp_path: Path, suffix: str) -> None:
    """Columns may be in another order, sheets have other names, and a column with a text in one file is text."""
    folder(tmp_path, {f"2/{name}.{suffix}": rows for name, rows in (("june", {"6": JUNE}), ("may", {"5": MAY}))})

    rows, problems = read(opened(tmp_path, f"2/*.{suffix}"), "id", "amount", "_file", "_row")

    assert rows == [
        (3, "3.5", f"june.{suffix}", 2),
        (4, "open", f"june.{suffix}", 3),
        (1, "1.25", f"may.{suffix}", 2),
        (2, "2.5", f"may.{suffix}", 4),
    ]
    assert problems == ()


def test_workbooks_of_all_formats_in_a_list_have_the_types_of_all_cells(tmp_path: Path) -> None:
    folder(tmp_path, {f"in/{name}": MAY for name in ("a.xlsx", "b.xls", "c.ods")})
    source = opened(tmp_path, ["in/*.ods", "in/*.xls*", "in/a.xlsx"])

    with closing(source):
        schema = source.describe(WorkbookDataset())
    rows, _ = read(source, "id", "_file")

    assert [str(schema.field(name).type) for name in ("id", "amount")] == ["int64", "decimal128(38, 12)"]
    assert rows == [(n, name) for name in ("a.xlsx", "b.xls", "c.ods") for n in (1, 2)]


def test_files_of_several_folders_are_named_from_the_folder_that_holds_all(tmp_path: Path) -> None:
    folder(tmp_path, {"x/now/a.xlsx": MAY, "x/old/a.xlsx": JUNE, "y/a.xlsx": [["other"]]})

    for path in ("x/*/a.xlsx", ["x/now/a.xlsx", "x/old/*.xlsx"], ["x/now/../old/a.xlsx", "x/now/*"], "x/**/*.xlsx"):
        rows, _ = read(opened(tmp_path, path), "id", "_file")
        assert rows == [(1, "now/a.xlsx"), (2, "now/a.xlsx"), (3, "old/a.xlsx"), (4, "old/a.xlsx")]


def test_an_existing_name_with_signs_of_a_pattern_is_that_workbook(tmp_path: Path) -> None:
    folder(tmp_path, {"report[1].xlsx": MAY, "report1.xlsx": JUNE})

    assert {row[0] for row in read(opened(tmp_path, "report[1].xlsx"), "_file")[0]} == {"report[1].xlsx"}
    assert {row[0] for row in read(opened(tmp_path, "report?.xlsx"), "_file")[0]} == {"report1.xlsx"}


def test_files_that_mark_an_open_workbook_are_left_out(tmp_path: Path) -> None:
    folder(tmp_path, {"a.xlsx": MAY})
    (tmp_path / "~$a.xlsx").write_bytes(b"\x03Ann")
    source = opened(tmp_path, "*")
    before = source.state(WorkbookDataset())

    (tmp_path / ".~lock.a.xlsx#").write_text(",Ann,pc,01.06.2026;")

    assert len(read(source, "id")[0]) == 2
    assert source.state(WorkbookDataset()) == before
    assert "no file b*.xlsx; did you mean a.xlsx?" in str(mistake(opened(tmp_path, "b*.xlsx")))


def test_text_files_leave_them_out_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    texts = source(tmp_path)
    before = texts.state(FilesDataset(path="*", format="csv"))

    (tmp_path / ".~lock.a.csv#").write_text(",Ann,pc,01.06.2026;")

    assert texts.describe(FilesDataset(path="*", format="csv")).names == ["id", "_file", "_row"]
    assert texts.state(FilesDataset(path="*", format="csv")) == before


def test_sheets_and_workbooks_together_are_told_apart(tmp_path: Path) -> None:
    sheets: Mapping[str, Rows] = {"EU": MAY, "US": [["id", "amount"], [7, 7]], "Empty": []}
    folder(tmp_path, {"2025.xlsx": sheets, "2026.ods": {"US": JUNE, "EU": [["id", "amount"]]}})

    rows, _ = read(opened(tmp_path, ["2025.xlsx", "2026.ods"]), "id", "_file", "_sheet", "_row", sheet="all")

    assert rows == [
        (1, "2025.xlsx", "EU", 2),
        (2, "2025.xlsx", "EU", 4),
        (7, "2025.xlsx", "US", 2),
        (3, "2026.ods", "US", 2),
        (4, "2026.ods", "US", 3),
    ]
    assert [row[0] for row in read(opened(tmp_path, "202?.*"), "id", sheet="EU")[0]] == [1, 2]


# Mistakes name the workbook


def test_each_mistake_names_its_workbook(tmp_path: Path) -> None:
    folder(tmp_path, {"a.xlsx": MAY, "b.xlsx": MAY})
    cases: dict[str, tuple[Mapping[str, Rows] | Rows, dict[str, Any], type[ConnectorError], str]] = {
        "empty": ([], {}, FileUnreadable, "b.xlsx: the sheet is empty and has no header"),
        "all empty": ({"x": [], "y": []}, {"sheet": "all"}, FileUnreadable, "b.xlsx: its sheets are empty"),
        "two sheets": ({"x": MAY, "y": MAY}, {}, DatasetMissing, "no single visible sheet in b.xlsx, so `sheet` must"),
        "no such sheet": ({"x": MAY}, {"sheet": "S"}, DatasetMissing, "no sheet S in b.xlsx"),
        "no match": ({"x": MAY}, {"sheet": "S*"}, ConnectorError, "b.xlsx has no sheet that matches 'S*'"),
        "footer": ([["id", "amount"]], {"skip_footer": 1}, FileUnreadable, "b.xlsx: it has fewer than the 1"),
        "header": ([["id"]], {"header_row": 2}, FileUnreadable, "b.xlsx: row 2 is below the last filled row"),
    }
    for sheets, settings, kind, sentence in cases.values():
        folder(tmp_path, {"b.xlsx": sheets})
        error = mistake(opened(tmp_path, "*.xlsx"), **settings)
        assert isinstance(error, kind)
        assert sentence in str(error)


@pytest.mark.parametrize("suffix", ["xlsx", "ods"])
def test_a_missing_column_is_refused_with_both_files(tmp_path: Path, suffix: str) -> None:
    folder(tmp_path, {f"a.{suffix}": MAY, f"b.{suffix}": [["id"], [1]]})

    error = mistake(opened(tmp_path, f"*.{suffix}"))

    assert isinstance(error, HeadersDiffer)
    assert str(error) == (
        f"a.{suffix} has a column 'amount' that b.{suffix} does not have; workbooks of one dataset must have the same "
        "columns and types: narrow `path` of its source, or declare two sources"
    )
    assert f"a.{suffix}, sheet S has a column 'amount' that b.{suffix}, sheet S" in str(
        mistake(opened(tmp_path, f"*.{suffix}"), sheet="all")
    )


def test_a_damaged_a_locked_and_a_foreign_file_are_named(tmp_path: Path) -> None:
    folder(tmp_path, {"a.xlsx": MAY, "c.xlsx": MAY})
    whole = (tmp_path / "c.xlsx").read_bytes()
    locked = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    for content, sentence in (
        (whole[: len(whole) // 2], "b.xlsx: the workbook is truncated or damaged"),
        (locked, "b.xlsx: the workbook is locked with a password"),
        (b"id,amount\n1,2\n", "b.xlsx: it is not a workbook"),
        (b"", "b.xlsx: it is empty"),
        (whole.replace(b"sheet1.xml", b"sheetX.xml"), "b.xlsx"),
    ):
        (tmp_path / "b.xlsx").write_bytes(content)
        assert sentence in str(mistake(opened(tmp_path, "*.xlsx")))


def test_a_workbook_whose_reader_dies_is_named(tmp_path: Path) -> None:
    folder(tmp_path, {"a.ods": MAY, "c.ods": MAY})
    write(tmp_path / "b.ods", {"S": MAY})
    with zipfile.ZipFile(tmp_path / "b.ods", "w") as archive:
        archive.writestr("content.xml", "<office:document-content xmlns:office='urn:x'><broken")

    assert str(mistake(opened(tmp_path, "*.ods"))).startswith("b.ods: the workbook is truncated or damaged")


def test_a_limit_is_for_all_workbooks(tmp_path: Path) -> None:
    row = ods_cell("x" * 200).replace("<table:table-cell", '<table:table-cell table:number-columns-repeated="16000"', 1)
    bomb = f'<table:table-row table:number-rows-repeated="1000000">{row}</table:table-row>'
    folder(tmp_path, {"a.ods": MAY, "b.ods": MAY})
    with zipfile.ZipFile(tmp_path / "b.ods") as archive:
        content = archive.read("content.xml").decode()
    with zipfile.ZipFile(tmp_path / "b.ods", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", content.replace("</table:table>", f"{bomb}</table:table>"))
    allowed = {"max_repeated": 10**12, "max_unpacked": 10**13, "max_memory": 700_000_000, "max_seconds": 2}

    error = mistake(opened(tmp_path, "*.ods", **allowed))
    repeated = mistake(opened(tmp_path, "*.ods"))

    assert str(error) == (
        "*.ods is not read: reading 2 workbooks takes more than 700,000,000 bytes of memory or 2 seconds for each; "
        "narrow `path`, or raise `max_memory` or `max_seconds`"
    )
    assert str(repeated).startswith("b.ods is not read: its repeated cells are more than 2,000,000")


def test_a_file_that_vanishes_between_listing_and_reading_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path, {"a.xlsx": MAY, "b.xlsx": MAY})
    monkeypatch.setattr("connectors.workbook.source.make_room", lambda _: (tmp_path / "b.xlsx").unlink())

    error = mistake(opened(tmp_path, "*.xlsx"))

    assert isinstance(error, FileRefused)
    assert "b.xlsx is not read: it cannot be opened (No such file or directory)" in str(error)


def test_a_path_that_names_nothing_is_refused(tmp_path: Path) -> None:
    folder(tmp_path, {"in/a.xlsx": MAY})

    assert "cannot be opened at" in str(mistake(opened(tmp_path, "out/*.xlsx")))
    assert "Source 'bank' has no file *.ods; there is a.xlsx" in str(mistake(opened(tmp_path, "in/*.ods")))
    assert "Source 'bank' has no file b.xlsx" in str(mistake(opened(tmp_path, ["in/a.xlsx", "in/b.xlsx"])))
    for path in ("", [], [""]):
        with pytest.raises(ValueError, match="name a workbook"):
            WorkbookSettings.model_validate({"type": "workbook", "path": path})


def test_an_unreadable_a_rounded_and_an_error_cell_are_named_by_file_and_row(tmp_path: Path) -> None:
    rows: Rows = [["id", "day"], [2**60, "soon"], [1, "2026-03-01"]]
    folder(tmp_path, {"a.xlsx": [["id", "day"], [1, "2026-03-01"]], "b.xlsx": rows})

    read_rows, problems = read(opened(tmp_path, "*.xlsx"), "id", "day", columns={"day": "date"})

    assert len(read_rows) == 3
    assert {problem.first for problem in problems} == {"b.xlsx, row 2"}


# Changes of the workbooks


def test_a_new_or_changed_workbook_is_new_content_and_read_at_once(tmp_path: Path) -> None:
    folder(tmp_path, {"a.xlsx": MAY})
    source = opened(tmp_path, "*.xlsx")
    facts = []

    with closing(source):
        changes: list[dict[str, Rows]] = [{}, {}, {"b.xlsx": MAY}, {"b.xlsx": [["id", "amount"], [9, 9]]}]
        for books in changes:
            folder(tmp_path, books)
            records = source.scan(WorkbookDataset(), ["id"]).reader.read_all().num_rows
            content = source.content(WorkbookDataset(), lambda _: None)
            facts.append((records, content, source.state(WorkbookDataset())))

    assert [records for records, _, _ in facts] == [2, 2, 4, 3]
    assert facts[0] == facts[1]
    assert len({content for _, content, _ in facts}) == len({state for _, _, state in facts}) == 3


# The whole way

CONFIGURATION = """
version: 1
sources:
  books: {type: workbook, path: "in/*.xlsx"}
  texts: {type: files, root: in}
datasets:
  book: {source: books, columns: {amount: decimal}}
  text: {source: texts, path: "*.csv", columns: {id: integer, amount: decimal}}
rules:
  in-books: {kind: duplicates, dataset: book, key: [amount]}
  in-texts: {kind: duplicates, dataset: text, key: [amount]}
"""


def test_findings_are_those_of_the_same_rows_in_text_files(tmp_path: Path) -> None:
    tables: dict[str, Rows] = {"a": [["id", "amount"], [1, 5], [2, 7]], "b": [["amount", "id"], [5, 1], [9, 4], [7, 8]]}
    folder(tmp_path, {f"in/{name}.xlsx": rows for name, rows in tables.items()})
    for name, rows in tables.items():
        lines = "".join(f"{','.join(map(str, row))}\n" for row in rows)
        (tmp_path / f"in/{name}.csv").write_text(lines)
    project = Project(tmp_path)
    project.write(CONFIGURATION)

    findings = project("run", "--json").json["findings"]

    of_rule = {
        rule: [
            [(file.partition(".")[0], *at) for file, *at in each["places"]] for each in findings if each["rule"] == rule
        ]
        for rule in ("in-books", "in-texts")
    }
    assert of_rule["in-books"] == of_rule["in-texts"]
    assert len(of_rule["in-books"]) == 2


def test_check_says_which_sheets_all_workbooks_have_and_suggest_takes_a_pattern(tmp_path: Path) -> None:
    sheet: list[list[Any]] = [["id", "name"], *([n, f"n{n}"] for n in range(9))]
    folder(tmp_path, {"in/a.xlsx": {"S": sheet, "T": sheet}, "in/b.xlsx": {"U": sheet, "S": sheet}})
    project = Project(tmp_path)
    project.write(CONFIGURATION.replace("source: books", "source: books, sheet: S"))

    checked = project("check", "--source", "books").said
    suggested = project("suggest", str(tmp_path / "in/*.xlsx"), "--json").json["yaml"]

    assert "reachable; it contains S" in checked
    assert 'in/*.xlsx"}' in suggested or "in/*.xlsx}" in suggested
    assert "sheet: S" in suggested
    assert "in 18 records" in json.dumps(suggested)


def test_suggest_takes_all_sheets_where_the_workbooks_share_none(tmp_path: Path) -> None:
    folder(tmp_path, {"a.xlsx": {"5": MAY}, "b.xlsx": {"6": MAY}})
    source = opened(tmp_path, "*.xlsx")

    with closing(source):
        assert (source.datasets(), source.candidates()) == ([], ["all"])
        assert source.declaration("all").settings == {"sheet": "all"}


def test_a_footer_is_proposed_only_if_every_workbook_has_it(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["id", "amount", "day"], *([n, n, "x"] for n in range(9))]
    total: list[list[Any]] = [*rows, ["Total", 36]]
    folder(tmp_path, {"a.xlsx": total, "b.xlsx": total, "c.xlsx": rows})

    for path, footer in (("[ab].xlsx", 1), ("*.xlsx", None)):
        with closing(opened(tmp_path, path)) as source:
            assert source.declaration("S").settings.get("skip_footer") == footer
