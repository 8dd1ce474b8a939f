"""Numbers of workbooks are those that spreadsheet programs show: 15 digits, in every format and by every reader."""

import datetime as dt
import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
import xlsxwriter
import xlwt
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.base import UnreadableCells
from connectors.files.source import FilesDataset, FilesSettings, FilesSource
from connectors.sql.settings import SqlDataset, SqlSettings
from connectors.sql.source import SqlSource
from connectors.workbook.digits import all_shown, shown
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.connectors.workbook.test_workbook import cell, ods
from tests.support.cli import Project

pytestmark = pytest.mark.slow

RESULTS = [1.1 + 2.2, 7.9999999999999991, 1000.1 - 1000, 0.07 * 100, -0.1 - 0.2, 12.5]
"""Results of formulas as a program stores them."""
SHOWN = [Decimal(text) for text in ("3.3", "8", "0.100000000000023", "7", "-0.3", "12.5")]
FORMATS = ("pure.xlsx", "mixed.xlsx", "a.xls", "a.ods")
"""The last two are read cell by cell, and so is an xlsx file that has a column of several kinds."""


def write(path: Path, numbers: Sequence[Any], form: str = "") -> None:
    """A sheet with the column v; `form` is the format of dates, which are given as numbers of days."""
    beside: Sequence[Any] = ["m", *(True if n % 2 else "text" for n in range(len(numbers)))]
    if path.suffix == ".ods":
        ods(path, [cell("string", inner="<text:p>v</text:p>"), *map(_ods, numbers)])
    elif path.suffix == ".xls":
        book = xlwt.Workbook()
        sheet = book.add_sheet("S")
        for row, number in enumerate(["v", *numbers]):
            sheet.write(row, 0, number, xlwt.easyxf(num_format_str=form or "General"))
        book.save(str(path))
    else:
        with xlsxwriter.Workbook(path) as written:
            page, style = written.add_worksheet(), written.add_format({"num_format": form or "General"})
            for row, number in enumerate(["v", *numbers]):
                _xlsx_cell(page, row, 0, number, style)
                if path.stem == "mixed":
                    page.write(row, 1, beside[row])


def _xlsx_cell(page: Any, row: int, column: int, value: Any, style: Any = None) -> None:
    """Write a float as the result of a formula: for a plain number xlsxwriter writes 16 digits only."""
    if isinstance(value, float):
        page.write_formula(row, column, "=A1", style, value)
    else:
        page.write(row, column, value, style)


def _ods(number: Any) -> str:
    if isinstance(number, str):
        return cell("string", inner=f"<text:p>{number}</text:p>")
    return cell("float", f'office:value="{number!r}"')


def read(path: Path, declared: str | None = None, decimal: str | None = None) -> tuple[list[Any], Any]:
    """The values of the column v and what could not be read."""
    source = WorkbookSource("w", WorkbookSettings(type="workbook", path=path.name), path.parent)
    try:
        scan = source.scan(WorkbookDataset(columns={"v": declared} if declared else {}, decimal=decimal), ["v"])
        return scan.reader.read_all().column("v").to_pylist(), scan.problems()
    finally:
        source.close()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("declared", [None, "decimal"])
def test_results_of_formulas_are_the_numbers_that_people_see(tmp_path: Path, name: str, declared: str | None) -> None:
    write(tmp_path / name, RESULTS)

    values, problems = read(tmp_path / name, declared)

    assert (values, problems) == (SHOWN, ())


@pytest.mark.parametrize("name", FORMATS)
def test_whole_results_are_whole_numbers(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, [7.9999999999999991, 8.000000000000002, 3])

    assert read(tmp_path / name) == ([8, 8, 3], ())
    assert read(tmp_path / name, "integer") == ([8, 8, 3], ())
    assert read(tmp_path / name, "text") == (["8", "8", "3"], ())


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_beside_texts_are_written_as_people_see_them(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, [1.1 + 2.2, "3,3", "n/a"])

    assert read(tmp_path / name) == (["3.3", "3,3", "n/a"], ())
    assert read(tmp_path / name, "decimal", ",")[0] == [Decimal("3.3"), Decimal("3.3"), None]


@pytest.mark.parametrize("name", FORMATS)
def test_a_column_declared_float_keeps_what_is_stored(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, RESULTS)

    assert read(tmp_path / name, "float") == (RESULTS, ())


@pytest.mark.parametrize("name", FORMATS)
def test_a_cell_with_more_places_than_declared_is_unreadable_as_in_text(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, [1.1 + 2.2, 1.005, 5, 12345678901.5])
    (tmp_path / "a.csv").write_text("v\n3.3\n1.005\n5\n12345678901.5\n")

    values, problems = read(tmp_path / name, "decimal(12,2)")

    text_values, text_problems = _read_file(tmp_path / "a.csv", "decimal(12,2)")
    assert values == text_values == [Decimal("3.30"), None, Decimal("5.00"), None]
    reason = "not a decimal with at most 10 digits before the mark and 2 after it"
    assert [(p.reason, p.records) for p in problems] == [(p.reason, p.records) for p in text_problems] == [(reason, 2)]


@pytest.mark.parametrize("name", ["pure.xlsx", "mixed.xlsx", "a.xls"])
def test_a_computed_time_is_the_one_that_people_see(tmp_path: Path, name: str) -> None:
    ten_steps = sum([0.1] * 10)  # 0.9999999999999999 of a day
    write(tmp_path / name, [46_082 + 10 / 24 - 4e-12, 46_081 + ten_steps], "yyyy-mm-dd hh:mm:ss")

    values, _ = read(tmp_path / name)

    assert values == [dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC), dt.datetime(2026, 3, 1, tzinfo=dt.UTC)]


def test_a_computed_time_of_an_open_document_is_the_one_that_people_see(tmp_path: Path) -> None:
    times = ("2026-03-01T09:59:59.999999997", "2026-03-01T23:59:59.999800", "9999-12-31T23:59:59.999999")
    written = [cell("date", f'office:date-value="{time}"') for time in times]
    ods(tmp_path / "a.ods", [cell("string", inner="<text:p>v</text:p>"), *written])

    values, _ = read(tmp_path / "a.ods")

    assert values == ["2026-03-01 10:00:00", "2026-03-02", times[2]]


@given(st.lists(st.none() | st.floats(-1e15, 1e15, exclude_min=True, exclude_max=True), min_size=1, max_size=8))
@example([math.nextafter(10.0**power, 0) for power in range(-24, 15)])
@example([math.nextafter(10.0**power, math.inf) for power in range(-24, 15)])
@example([99_999_999.9999999, 1.1 + 2.2])
@example([0.12345678901234549, 0.1234567890123455, 512.5, None])
def test_a_column_is_rounded_as_each_of_its_numbers(numbers: list[float | None]) -> None:
    column = pa.array(numbers, pa.float64())

    rounded = all_shown(column, column.cast(pa.string())).to_pylist()

    assert rounded == [None if number is None else float(shown(number)) for number in numbers]


@given(st.floats(-1e14, 1e14))
@example(1.1 + 2.2)
def test_a_number_is_shown_with_15_digits(number: float) -> None:
    exact = Decimal(repr(number))
    place = Decimal(1).scaleb(exact.adjusted() - 14) if exact else Decimal(1)

    assert shown(number) == exact.quantize(place, ROUND_HALF_UP)


def _read_file(path: Path, declared: str) -> tuple[list[Any], tuple[UnreadableCells, ...]]:
    source = FilesSource("f", FilesSettings(type="files"), path.parent)
    scan = source.scan(FilesDataset(path=path.name, columns={"v": declared}), ["v"])
    return scan.reader.read_all().column("v").to_pylist(), scan.problems()


def test_floats_of_files_and_databases_are_rounded_to_the_declared_places(tmp_path: Path) -> None:
    floats = [1.1 + 2.2, 1.005, -2.675, 5.0]
    pq.write_table(pa.table({"v": pa.array(floats, pa.float64())}), tmp_path / "a.parquet")
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql("create table t (v real)")
        connection.exec_driver_sql("insert into t values (?)", [(number,) for number in floats])
    database = SqlSource("s", SqlSettings(type="sql", url=url), tmp_path)
    scan = database.scan(SqlDataset(table="t", columns={"v": "decimal(12,2)"}), ["v"])
    rounded = [Decimal("3.30"), Decimal("1.01"), Decimal("-2.68"), Decimal("5.00")]

    values = scan.reader.read_all().column("v").to_pylist()

    database.close()
    assert values == _read_file(tmp_path / "a.parquet", "decimal(12,2)")[0] == rounded


def test_decimals_of_a_file_keep_the_declared_size(tmp_path: Path) -> None:
    stored = pa.array([Decimal("3.300"), Decimal("1.005"), None], pa.decimal128(20, 3))
    pq.write_table(pa.table({"v": stored}), tmp_path / "a.parquet")

    values, problems = _read_file(tmp_path / "a.parquet", "decimal(12,2)")

    assert values == [Decimal("3.30"), None, None]
    assert [problem.records for problem in problems] == [1]
    assert _read_file(tmp_path / "a.parquet", "decimal")[0] == stored.to_pylist()


def test_an_amount_typed_and_an_amount_computed_are_the_same(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "w.xlsx") as book:
        page = book.add_worksheet()
        for row, cells in enumerate((["id", "inv", "amount"], [1, "A", 3.3], [2, "A", 1.1 + 2.2], [3, "A", 3.31])):
            for column, value in enumerate(cells):
                _xlsx_cell(page, row, column, value)
    (tmp_path / "reconcile.yaml").write_text(
        "version: 1\nsources: {w: {type: workbook, path: w.xlsx}}\n"
        "datasets: {x: {source: w, id: id, columns: {amount: 'decimal(12,2)'}}}\n"
        "rules: {r: {kind: duplicates, dataset: x, key: [inv, amount]}}\n"
    )

    answer = Project(tmp_path)("run", "--dry-run", "--json")

    assert [finding["surplus"] for finding in answer.json["findings"]] == [[[2]]], answer.said
