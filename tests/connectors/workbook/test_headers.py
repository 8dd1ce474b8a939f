"""The names of columns in workbooks: what people read in the header, and places that do not depend on other cells."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
import xlwt

from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.connectors.workbook.test_workbook import cell, ods

NAMES = ["a.xlsx", "a.xls", "a.ods"]
DAY = dt.date(2026, 3, 1)


def write(path: Path, rows: list[list[Any]]) -> None:
    """Write a sheet; None is no cell."""
    {".xlsx": _write_xlsx, ".xls": _write_xls, ".ods": _write_ods}[path.suffix](path, rows)


def _write_xlsx(path: Path, rows: list[list[Any]]) -> None:
    with xlsxwriter.Workbook(path) as book:
        day, page = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_worksheet()
        for r, row in enumerate(rows):
            for c, value in enumerate(row):
                if value is not None:
                    page.write(r, c, value, day if isinstance(value, dt.date) else None)


def _write_xls(path: Path, rows: list[list[Any]]) -> None:
    book = xlwt.Workbook()
    day, page = xlwt.easyxf(num_format_str="yyyy-mm-dd"), book.add_sheet("S")
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            if value is not None:
                page.write(r, c, value, day if isinstance(value, dt.date) else xlwt.Style.default_style)
    book.save(path)


def _write_ods(path: Path, rows: list[list[Any]]) -> None:
    ods(path, ["".join(map(_open_cell, row)) for row in rows])


def _open_cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, bool):
        return cell("boolean", f'office:boolean-value="{str(value).lower()}"')
    if isinstance(value, dt.date):  # a program that writes the time of every day
        return cell("date", f'office:date-value="{value.isoformat()}T00:00:00"')
    if isinstance(value, str):
        return cell("string", inner=f"<text:p>{value}</text:p>")
    return cell("float", f'office:value="{value}"')


def read(path: Path, **settings: Any) -> list[dict[str, Any]]:
    source = WorkbookSource("w", WorkbookSettings(type="workbook", path=path.name), path.parent)
    try:
        dataset = WorkbookDataset(**settings)
        names = [name for name in source.describe(dataset).names if name not in ("_file", "_row")]
        rows: list[dict[str, Any]] = source.scan(dataset, names).reader.read_all().to_pylist()
        return rows
    finally:
        source.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_header_of_numbers_and_days_reads_as_people_see_it(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, [["sku", 2025, 2026.0, 0.1 + 0.2, DAY, True], ["A", 1, 2, 3, 4, 5]])

    assert read(tmp_path / name) == [{"sku": "A", "2025": 1, "2026": 2, "0.3": 3, "2026-03-01": 4, "true": 5}]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_column_without_a_name_is_named_after_its_place_in_the_sheet(tmp_path: Path, name: str) -> None:
    rows = [[None, "sku", None, "price"], [None, "A", 7, 1.5]]
    write(tmp_path / name, rows)
    moved = tmp_path / f"moved-{name}"
    write(moved, [["Prices of March"], *rows])

    assert read(tmp_path / name) == [{"sku": "A", "column_3": 7, "price": Decimal("1.5")}]
    assert read(moved, header_row=2) == read(tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_a_day_is_a_date_even_if_its_midnight_is_written(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, [["id", "day"], ["A", DAY], ["B", dt.date(2026, 3, 2)]])

    assert [row["day"] for row in read(tmp_path / name)] == [DAY, dt.date(2026, 3, 2)]


@pytest.mark.slow
def test_a_sheet_as_wide_as_a_sheet_can_be_is_read(tmp_path: Path) -> None:
    columns = 16_384
    write(tmp_path / "a.xlsx", [["n"] * columns, list(range(columns))])

    [row] = read(tmp_path / "a.xlsx")

    assert list(row) == ["n", *(f"n_{number}" for number in range(2, columns + 1))]
    assert list(row.values()) == list(range(columns))
