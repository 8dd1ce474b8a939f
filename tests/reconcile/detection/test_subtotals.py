"""`check` and `suggest` notice totals among the records of a sheet or a CSV file, and propose a `where` for them."""

import csv
import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from connectors.files.connector import FilesDataset
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from reconcile.config.settings import DatasetConfig
from reconcile.detection.subject import Subject
from reconcile.detection.subtotals import Subtotals, noticed
from tests.support.cli import Project
from tests.support.files import source

pytestmark = pytest.mark.slow

Rows = Sequence[Sequence[Any]]
NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
HEADER = ["ref", "customer", "amount"]
COLUMNS = {"amount": "decimal"}


def in_text(folder: Path, rows: Rows, where: str | None = None, **settings: Any) -> Subtotals | None:
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    dataset = FilesDataset(**{"path": "a.csv", "columns": COLUMNS, **settings})
    return noticed(Subject(DatasetConfig("d", "bank", dataset, where=where), source(folder)), NOW)


def in_sheet(folder: Path, rows: Rows, where: str | None = None) -> Subtotals | None:
    with xlsxwriter.Workbook(folder / "a.xlsx") as book:
        page = book.add_worksheet("S")
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
    opened = WorkbookSource("w", WorkbookSettings(type="workbook", path="a.xlsx"), folder)
    try:
        return noticed(Subject(DatasetConfig("d", "w", WorkbookDataset(columns=COLUMNS), where=where), opened), NOW)
    finally:
        opened.close()


def blocks(label: str, *, ref: str | None = None) -> Rows:
    return [
        HEADER,
        ["R-1", "Ann", 100],
        ["R-2", "Ann", "50.25"],
        [ref, label.format("Ann"), "150.25"],
        ["R-3", "Bob", 20],
        ["R-4", None, 1],
        [ref, label.format("Bob"), 21],
    ]


@pytest.mark.parametrize(
    ("label", "pattern"),
    [
        ("Total {}", "Total%"),
        ("Subtotal", "Subtotal%"),
        ("Sub-total: {}", "Sub-total%"),
        ("Summe {}", "Summe%"),
        ("Zwischensumme", "Zwischensumme%"),
        ("Gesamt", "Gesamt%"),
        ("GESAMTSUMME", "GESAMTSUMME%"),
        ("Total général", "Total%"),
        ("Sous-total {}", "Sous-total%"),
        ("Totale", "Totale%"),
        ("小計", "小計%"),
        ("合計（{}）", "合計%"),
        ("{} Total", "% Total"),
        ("{} Ergebnis", "% Ergebnis"),
    ],
)
def test_a_total_is_left_out_by_its_word_unless_a_record_column_is_filled(
    tmp_path: Path, label: str, pattern: str
) -> None:
    totals = in_text(tmp_path, blocks(label))

    assert totals is not None
    assert totals.where == f"ref is not null or customer not like '{pattern}'"
    assert (totals.rows, totals.of, totals.first) == (2, 6, "a.csv, row 4")


def test_a_sheet_and_a_text_file_of_the_same_rows_get_the_same_proposal(tmp_path: Path) -> None:
    tables: list[Rows] = [blocks("Total {}"), blocks("Summe"), blocks("{} Total", ref="x"), [HEADER, ["R-1", "A", 1]]]
    for rows in tables:
        of_text, of_sheet = in_text(tmp_path, rows), in_sheet(tmp_path, rows)

        assert (of_text is None) == (of_sheet is None) == (len(rows) < 3)
        if of_text and of_sheet:
            assert (of_text.where, of_text.rows) == (of_sheet.where, of_sheet.rows)
            assert of_sheet.first.removeprefix("a.xlsx") == of_text.first.removeprefix("a.csv")


def test_a_total_that_fills_every_column_is_known_by_its_word_and_its_sum(tmp_path: Path) -> None:
    rows = blocks("Total {}", ref="-")

    totals = in_text(tmp_path, rows)

    assert totals is not None
    assert totals.where == "customer is null or customer not like 'Total%'"


def test_a_total_without_a_word_is_known_by_its_sum_and_its_empty_cells(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        HEADER,
        ["1", "Ann", 3],
        ["2", "Ann", 4],
        [None, None, 7],
        ["3", "B", 5],
        ["4", "B", 6],
        [None, None, 11],
    ]

    totals = in_text(tmp_path, rows)

    assert totals is not None
    assert (totals.rows, totals.where) == (2, "ref is not null")
    assert in_text(tmp_path, rows[:5]) is None, "one may be chance"
    assert in_text(tmp_path, [*rows[:6], [None, None, 12]]) is None, "that is no sum"


def test_grand_totals_and_several_words_are_left_out_together(tmp_path: Path) -> None:
    rows: list[Any] = [*blocks("Subtotal"), [None, "Grand total", "171.25"]]

    totals = in_text(tmp_path, rows)

    assert totals is not None
    assert totals.rows == 3
    assert totals.where == "ref is not null or (customer not like 'Grand total%' and customer not like 'Subtotal%')"


def test_words_in_several_columns_are_left_out_too(tmp_path: Path) -> None:
    rows = [*blocks("Subtotal"), ["Total", None, "171.25"]]

    totals = in_text(tmp_path, rows)

    assert totals is not None
    assert totals.rows == 3
    assert totals.where is not None
    assert in_text(tmp_path, rows, where=totals.where) is None


def test_a_record_that_is_named_like_a_total_is_none(tmp_path: Path) -> None:
    """Neither is one of a company called Total, nor a sheet in which most rows are totals."""
    records: list[list[Any]] = [HEADER, *([f"R-{n}", "Total Energies", n] for n in range(1, 9))]

    assert in_text(tmp_path, records) is None
    assert in_text(tmp_path, [HEADER, ["", "Total A", 1], ["", "Total B", 2], ["x", "C", 3]]) is None


def test_a_dataset_whose_where_excludes_them_gets_no_remark(tmp_path: Path) -> None:
    rows = blocks("Total {}")

    assert in_text(tmp_path, rows, where="ref is not null") is None
    kept = in_text(tmp_path, rows, where="amount > 1")
    assert kept is not None
    assert kept.where == "(amount > 1) and (ref is not null or customer not like 'Total%')"


def test_sums_begin_anew_in_each_file(tmp_path: Path) -> None:
    rows: list[list[Any]] = [HEADER, ["1", "Ann", 3], ["2", "Ann", 4], [None, None, 7]]
    for name in "bc":
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)

    totals = in_text(tmp_path, [HEADER, ["9", "x", 1]], path="*.csv")

    assert totals is not None
    assert (totals.rows, totals.first) == (2, "b.csv, row 4")


def test_names_with_signs_and_texts_with_blanks_are_written_as_expressions_need_them(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["Order No", "Who's", "amount"],
        *([f"{row[0] or ''}", f" {row[1]} ", row[2]] for row in blocks("Sum")[1:]),
    ]

    totals = in_text(tmp_path, rows)

    assert totals is not None
    assert totals.where == '"Order No" is not null or trim("Who\'s") not like \'Sum%\''
    assert '`where: "\\"Order No\\" is not null or trim' in totals.sentence


@given(
    st.lists(st.lists(st.decimals(1, 999, places=2), min_size=2, max_size=4), min_size=2, max_size=5),
    st.sampled_from(["Total {}", "{} Total", ""]),
    st.booleans(),
)
def test_what_is_proposed_leaves_out_the_totals_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Decimal]], label: str, is_filled: bool
) -> None:
    rows: list[list[Any]] = [HEADER]
    for number, group in enumerate(groups):
        rows += [[f"R-{number}-{n}", f"C{number}", amount] for n, amount in enumerate(group)]
        rows.append(["all" if is_filled and label else None, label.format(f"C{number}") or None, sum(group)])

    totals = in_text(folder := tmp_path_factory.mktemp("t"), rows)

    assert totals is not None
    assert totals.rows == len(groups)
    assert totals.where is not None
    assert in_text(folder, rows, where=totals.where) is None


# The whole way

CONFIGURATION = """
version: 1
sources: {{f: {{type: files}}}}
datasets:
  d: {{source: f, path: a.csv, columns: {{amount: decimal}}{}}}
rules:
  r: {{kind: duplicates, dataset: d, key: [amount]}}
"""


def test_check_warns_suggest_proposes_and_the_proposal_ends_the_warning(tmp_path: Path) -> None:
    in_text(tmp_path, blocks("Total {}"))
    project = Project(tmp_path)
    project.write(CONFIGURATION.format(""))

    checked = project("check")
    suggested = project("suggest", "./a.csv").out

    reason = "2 rows look like totals, the first is a.csv, row 4"
    where = "where: ref is not null or customer not like 'Total%'"
    assert f"dataset d: {reason}; `{where}` leaves them out" in checked.said
    assert "fill" not in checked.said
    assert checked.code == 0
    assert f"    {where}  # 1 row looks like a total, the first is a.csv, row 4" in suggested, "the last is a footer"
    assert "    skip_footer: 1" in suggested
    assert "fill" not in suggested
    project.write(CONFIGURATION.format(", where: \"ref is not null or customer not like 'Total%'\""))
    assert "look like totals" not in project("check").said
