"""`fill`: a value that a table writes once per block, as in merged cells, is that of every record of the block."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
import xlwt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.errors import ColumnMissing, FileRefused
from connectors.files.connector import FilesDataset
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from reconcile.config.settings import DatasetConfig
from reconcile.detection.blocks import written_once
from reconcile.detection.subject import Subject
from tests.connectors.files.test_formats import ods
from tests.support.cli import Project
from tests.support.files import by_duckdb, records, source

pytestmark = pytest.mark.slow

BLOCKS: list[list[Any]] = [["A-1", 10], [None, 20], [None, 5], ["A-2", 7], [None, 3]]
EXPECTED = [("A-1", 10), ("A-1", 20), ("A-1", 5), ("A-2", 7), ("A-2", 3)]


def xlsx(folder: Path, rows: list[list[Any]], *, merged: tuple[tuple[int, int], ...] = ()) -> None:
    with xlsxwriter.Workbook(folder / "a.xlsx") as book:
        page = book.add_worksheet("S")
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
        for first, last in merged:
            page.merge_range(first, 0, last, 0, rows[first][0])


def cells(folder: Path, name: str, *columns: str, **wishes: Any) -> tuple[list[tuple[Any, ...]], list[Any]]:
    opened = WorkbookSource("w", WorkbookSettings(type="workbook", path=name), folder)
    try:
        scan = opened.scan(WorkbookDataset(**wishes), columns)
        table = scan.reader.read_all()
        rows = list(zip(*(table.column(column).to_pylist() for column in columns), strict=True))
        return rows, [(problem.column, problem.records, problem.first, problem.skipped) for problem in scan.problems()]
    finally:
        opened.close()


def test_merged_cells_of_a_sheet_hold_their_value_in_every_row(tmp_path: Path) -> None:
    xlsx(tmp_path, [["order", "amount"], *BLOCKS], merged=((1, 3), (4, 5)))

    assert cells(tmp_path, "a.xlsx", "order", "amount", fill=["order"]) == (EXPECTED, [])
    assert cells(tmp_path, "a.xlsx", "order")[0] == [(row[0],) for row in BLOCKS]


def test_a_sheet_that_is_read_cell_by_cell_is_filled_too(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["order", "amount", "note"], ["A-1", 10, 1], ["  ", 20, "x"], [None, 5, True]]
    xlsx(tmp_path, [*rows, [7, 1, None], [None, 2, "y"], [], [dt.date(2026, 3, 1), 1, 2], [None, 4, 3]])

    filled, _ = cells(tmp_path, "a.xlsx", "order", "_row", fill=["order"])

    assert [row[1] for row in filled] == [2, 3, 4, 5, 6, 8, 9]
    assert [row[0] for row in filled] == ["A-1", "A-1", "A-1", "7", "7", filled[5][0], filled[5][0]]
    assert filled[5][0] is not None


def test_merged_cells_of_an_old_and_of_an_open_workbook_are_filled(tmp_path: Path) -> None:
    book = xlwt.Workbook()
    page = book.add_sheet("S")
    page.write(0, 0, "order")
    page.write(0, 1, "amount")
    page.write_merge(1, 3, 0, 0, "A-1")
    page.write_merge(4, 5, 0, 0, "A-2")
    for number, row in enumerate(BLOCKS, 1):
        page.write(number, 1, row[1])
    book.save(str(tmp_path / "a.xls"))
    text = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'
    number = '<table:table-cell office:value-type="float" office:value="{}"/>'
    covered = "<table:covered-table-cell/>"
    spanned = [text.format(' table:number-rows-spanned="2"', row[0]) if row[0] else covered for row in BLOCKS]
    lines = [text.format("", "order") + text.format("", "amount")]
    lines += [first + number.format(row[1]) for first, row in zip(spanned, BLOCKS, strict=True)]
    ods(tmp_path / "a.ods", "".join(f"<table:table-row>{line}</table:table-row>" for line in lines))

    for name in ("a.xls", "a.ods"):
        assert cells(tmp_path, name, "order", "amount", fill=["order"]) == (EXPECTED, [])


def test_below_an_error_or_a_rounded_number_there_is_no_other_value(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        page = book.add_worksheet("S")
        for number, row in enumerate([["order", "id"], [1, 1], [None, 2], [None, 3], [None, 4], [3, 5], [None, 6]]):
            page.write_row(number, 0, row)
        page.write_formula(3, 0, "=NA()", None, "#N/A")
    (tmp_path / "b").mkdir()
    xlsx(tmp_path / "b", [["o", "n"], [5, 1], [12345678901234567, 2], [None, 3]])

    rows, problems = cells(tmp_path, "a.xlsx", "order", "id", fill=["order"])
    rounded, counted = cells(tmp_path / "b", "a.xlsx", "o", "n", fill=["o"])

    assert rows == [(1, 1), (1, 2), (3, 5), (3, 6)]
    assert problems == [("order", 2, "a.xlsx, row 4", True)]
    assert rounded == [(5, 1), (None, 2), (None, 3)]
    assert counted == [("o", 2, "a.xlsx, row 3", False)]


def test_a_file_is_filled_by_itself_and_only_in_the_named_columns(tmp_path: Path) -> None:
    (tmp_path / "a1.csv").write_text("order,note,amount\nA-1,x,10\n,,20\n  ,,5\n-,,1\nA-2,,7\n")
    (tmp_path / "a2.csv").write_text("order,note,amount\n,,1\nB-1,y,2\n,,3\n")
    wishes: dict[str, Any] = {"fill": ["order"], "null_values": ["-"], "columns": {"amount": "integer"}}

    rows, problems = records(tmp_path, "a*.csv", ["order", "note", "amount", "_row"], **wishes)

    assert problems == ()
    assert rows == [
        *(("A-1", "x", 10, 2), ("A-1", None, 20, 3), ("A-1", None, 5, 4), ("A-1", None, 1, 5), ("A-2", None, 7, 6)),
        *((None, None, 1, 2), ("B-1", "y", 2, 3), ("B-1", None, 3, 4)),
    ]
    assert by_duckdb(tmp_path, "a*.csv", ["order"], **wishes) is None
    assert by_duckdb(tmp_path, "a*.csv", ["amount"], **wishes) is not None


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.sampled_from([None, None, "a", " ", "é"]), min_size=1), batch=st.integers(1, 5))
def test_text_is_filled_like_a_loop_over_the_rows(tmp_path: Path, values: list[str | None], batch: int) -> None:
    lines = ["v,n", *(f"{value or ''},{n}" for n, value in enumerate(values))]
    (tmp_path / "a.csv").write_text("\n".join([*lines, ""]))
    expected: list[tuple[str | None]] = []
    for value in values:
        above = expected[-1][0] if expected else None
        expected.append((value if value and value.strip() else above,))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("connectors.files.source.ROWS", batch)
        assert records(tmp_path, "a.csv", ["v"], fill=["v"])[0] == expected


def test_what_cannot_be_filled_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("order,n\nA-1,1\n")
    (tmp_path / "a.jsonl").write_text('{"order": 1}\n')
    xlsx(tmp_path, [["order", "amount"], *BLOCKS])

    with pytest.raises(ColumnMissing, match=r"a\.csv has no column 'ordr'; did you mean order"):
        records(tmp_path, "a.csv", fill=["ordr"])
    with pytest.raises(ColumnMissing, match=r"a\.xlsx has no column 'ordr'; did you mean order"):
        cells(tmp_path, "a.xlsx", "order", fill=["ordr"])
    with pytest.raises(FileRefused, match="`fill` is for CSV and TSV; leave it out"):
        records(tmp_path, "a.jsonl", fill=["order"])
    with pytest.raises(FileRefused, match="`malformed: skip` may leave out the record with a block's value"):
        records(tmp_path, "a.csv", fill=["order"], malformed="skip")


CONFIGURATION = """
version: 1
sources: {{w: {{type: workbook, path: a.xlsx}}, f: {{type: files}}}}
datasets:
  lines: {{source: w, sheet: S{}}}
  export: {{source: f, path: lines.csv, columns: {{amount: integer}}{}}}
  orders: {{source: f, path: orders.csv, columns: {{total: integer}}}}
rules:
  sheet: {{kind: reconciliation, left: orders, right: lines, key: order, match: one_to_many,
           sum: {{left: total, right: amount}}}}
  export: {{kind: reconciliation, left: orders, right: export, key: order, match: one_to_many,
            sum: {{left: total, right: amount}}}}
"""


def test_check_proposes_to_fill_and_the_lines_then_agree_with_the_orders(tmp_path: Path) -> None:
    project = Project(tmp_path)
    xlsx(tmp_path, [["order", "amount"], *BLOCKS], merged=((1, 3), (4, 5)))
    (tmp_path / "lines.csv").write_text("".join(f"{row[0] or ''},{row[1]}\n" for row in [["order", "amount"], *BLOCKS]))
    (tmp_path / "orders.csv").write_text("order,total\nA-1,35\nA-2,10\n")
    project.write(CONFIGURATION.format("", ""))

    proposed = project("check").said

    for name in ("lines", "export"):
        sentence = "`order` may be written only once per block, as in merged cells: `fill: [order]` repeats"
        assert f"dataset {name}: {sentence}" in proposed
    assert "dataset orders: `" not in proposed
    project.write(CONFIGURATION.format(", fill: [order]", ", fill: [order]"))
    ran = project("run", "--json", "--dry-run").json
    assert [(rule["groups"], rule["matched"]) for rule in ran["rules"]] == [(0, 2), (0, 2)]


def test_nothing_is_proposed_for_gaps_or_for_a_format_without_the_setting(tmp_path: Path) -> None:
    blocks = [f"{'A-' + str(n) if n % 3 == 0 else ''},{n}" for n in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["order,n", *blocks, ""]))
    (tmp_path / "b.csv").write_text("\n".join(["order,n", *(line.replace("A-9", "A-3") for line in blocks), ""]))
    (tmp_path / "c.csv").write_text("\n".join(["order,n", *reversed(blocks), ""]))
    lines = [json.dumps({"order": line.split(",")[0] or None, "n": line.split(",")[1]}) for line in blocks]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))

    columns = {
        path: written_once(Subject(DatasetConfig("d", "bank", FilesDataset(path=path)), source(tmp_path)))
        for path in ("a.csv", "b.csv", "c.csv", "d.jsonl")
    }

    assert columns == {"a.csv": ("order",), "b.csv": (), "c.csv": (), "d.jsonl": ()}


def test_suggest_fills_the_columns_of_a_block(tmp_path: Path) -> None:
    rows = [[f"A-{n}" if n % 2 == 0 else None, "x" if n % 2 == 0 else None, n] for n in range(20)]
    xlsx(tmp_path, [["order", "customer", "line"], *rows])

    suggested = Project(tmp_path)("suggest", "./a.xlsx")

    assert "    fill: [order, customer]  # written once per block, as in merged cells" in suggested.out
