"""Sheets whose columns hold one kind of cell each are read without looking at single cells: it gives the same."""

import datetime as dt
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xlsxwriter
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.base import UnreadableCells
from connectors.workbook.blocks import NeedsCellReader
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from connectors.workbook.xlsx import read as read_pure
from tests.support.chance import few

ERROR = object()
DAYS = st.dates(dt.date(1900, 3, 1), dt.date(2199, 12, 31))
MOMENTS = st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(2199, 12, 31)).map(  # noqa: DTZ001 - cells have no zone
    lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=8)
NUMBERS = st.one_of(st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False, width=64))
KINDS = (TEXTS, NUMBERS, st.booleans(), DAYS, MOMENTS, st.one_of(DAYS, MOMENTS))


@st.composite
def sheets(draw: st.DrawFn) -> tuple[list[list[Any]], dict[str, str]]:
    """Columns of cells, each of one kind, with gaps and errors; and which of them are declared as text."""
    count = draw(st.integers(1, 8))
    columns = [
        [
            draw(st.one_of(kind, st.none(), st.just(ERROR)) if draw(st.integers(0, 4)) == 0 else kind)
            for _ in range(count)
        ]
        for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    ]
    texts = {f"c{n}": "text" for n in range(len(columns)) if draw(st.integers(0, 3)) == 0}
    return columns, texts


def write(path: Path, columns: Sequence[Sequence[Any]], *, extra: Sequence[Any] = ()) -> None:
    with xlsxwriter.Workbook(path) as book:
        day, moment = (
            book.add_format({"num_format": "yyyy-mm-dd"}),
            book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss.000"}),
        )
        sheet = book.add_worksheet("Sheet")
        named = [*columns, extra] if extra else columns
        for place, cells in enumerate(named):
            sheet.write_string(0, place, "mixed" if cells is extra and extra else f"c{place}")
            for row, cell in enumerate(cells, 1):
                if cell is ERROR:
                    sheet.write_formula(row, place, "=1/0", None, "#DIV/0!")
                elif isinstance(cell, bool):
                    sheet.write_boolean(row, place, cell)
                elif isinstance(cell, dt.datetime):
                    sheet.write_datetime(row, place, cell, moment)
                elif isinstance(cell, dt.date):
                    sheet.write_datetime(row, place, dt.datetime.combine(cell, dt.time()), day)
                elif isinstance(cell, str):
                    sheet.write_string(row, place, cell)
                elif cell is not None:
                    sheet.write_number(row, place, cell)


def table(
    path: Path, declared: Mapping[str, str], wanted: int
) -> tuple[list[dict[str, Any]], pa.Schema, tuple[UnreadableCells, ...]]:
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path=path.name), path.parent)
    try:
        names = [name for name in source.describe(WorkbookDataset()).names if name in {f"c{n}" for n in range(wanted)}]
        dataset = WorkbookDataset(columns={name: word for name, word in declared.items() if name in names})
        scan = source.scan(dataset, ["_row", *names])
        return scan.reader.read_all().to_pylist(), source.describe(dataset), scan.problems()
    finally:
        source.close()


def is_pure(path: Path) -> bool:
    try:
        list(read_pure(path, ["Sheet"], {"header_row": None}))
    except NeedsCellReader:
        return False
    return True


@pytest.mark.slow
@pytest.mark.chaos
@settings(max_examples=few(6, 100))
@given(sheets())
@example(([["", "x"], [ERROR, None]], {}))
@example(([[0.1 + 0.2, 1e-300, 1e300]], {"c0": "text"}))
@example(([[2**53 + 2, 1.0]], {}))
def test_it_is_read_as_cell_by_cell(sheet: tuple[list[list[Any]], dict[str, str]]) -> None:
    columns, declared = sheet
    with tempfile.TemporaryDirectory() as folder:
        pure, mixed = Path(folder, "pure.xlsx"), Path(folder, "mixed.xlsx")
        write(pure, columns)
        beside = [True if row % 2 else "text" for row in range(len(columns[0]))]
        write(mixed, columns, extra=[*beside, 1, "text"])
        assert not is_pure(mixed)

        rows, schema, problems = table(pure, declared, len(columns))
        others, other_schema, other_problems = table(mixed, declared, len(columns))

        kept = {item["_row"] for item in rows}
        assert rows == [row for row in others if row["_row"] in kept]
        assert all(set(item.values()) == {None, item["_row"]} for item in others if item["_row"] not in kept)
        assert [schema.field(f"c{n}").type for n in range(len(columns)) if f"c{n}" in schema.names] == [
            other_schema.field(f"c{n}").type for n in range(len(columns)) if f"c{n}" in schema.names
        ]
        assert {(problem.column, problem.reason, problem.records) for problem in problems} == {
            (problem.column, problem.reason, problem.records) for problem in other_problems
        }


def test_a_plain_sheet_takes_the_short_way(tmp_path: Path) -> None:
    write(tmp_path / "plain.xlsx", [["a", "b"], [1, 2], [dt.date(2026, 1, 1), None]])

    assert is_pure(tmp_path / "plain.xlsx")


@pytest.mark.parametrize(
    "header", [["id", "id"], ["id", ""], ["id", 2024], ["id", True], ["id", "id_1"], ["__UNNAMED__1", "id"]]
)
def test_a_header_whose_names_could_be_another_is_read_cell_by_cell(tmp_path: Path, header: list[Any]) -> None:
    with xlsxwriter.Workbook(tmp_path / "odd.xlsx") as book:
        sheet = book.add_worksheet("Sheet")
        sheet.write_row(0, 0, header)
        sheet.write_row(1, 0, ["a", "b"])

    assert not is_pure(tmp_path / "odd.xlsx")


@pytest.mark.slow
def test_times_of_day_and_durations_are_read_cell_by_cell(tmp_path: Path) -> None:
    for form, value in (("hh:mm", 0.5), ("[h]:mm", 1.5)):
        with xlsxwriter.Workbook(tmp_path / "times.xlsx") as book:
            sheet = book.add_worksheet("Sheet")
            sheet.write_string(0, 0, "at")
            sheet.write_number(1, 0, value, book.add_format({"num_format": form}))
        rows, _, _ = table_of(tmp_path / "times.xlsx")

        assert rows == [{"at": "12:00:00" if form == "hh:mm" else "1 day, 12:00:00"}]


def table_of(path: Path) -> tuple[list[dict[str, Any]], pa.Schema, tuple[UnreadableCells, ...]]:
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path=path.name), path.parent)
    try:
        scan = source.scan(WorkbookDataset(), ["at"])
        return scan.reader.read_all().to_pylist(), source.describe(WorkbookDataset()), scan.problems()
    finally:
        source.close()
