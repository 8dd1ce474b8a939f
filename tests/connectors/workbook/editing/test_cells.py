"""Cells are read exactly as they are stored, and written as their sheet writes such values."""

import datetime as dt
from typing import Any

import pytest
from fastexcel import read_excel
from openpyxl.cell.rich_text import CellRichText

from connectors.target import Cell, TargetRefused
from connectors.workbook.editing.book import Book
from connectors.workbook.editing.cells import RawCell
from connectors.workbook.editing.edits import SheetEdits
from tests.support.workbook_trial import changed_parts, opened, values
from tests.support.workbooks import by_openpyxl, everything, of_rows, orders, part, plain, protected, with_parts, xlsx

SHEET = "xl/worksheets/sheet1.xml"


def edited(data: bytes, cells: dict[tuple[int, int], Cell], sheet: str = "Orders") -> bytes:
    return Book.open("shop.xlsx", data).edited({sheet: SheetEdits(cells=cells)})


def cell(data: bytes, row: int, column: int, sheet: str = "Orders") -> RawCell | None:
    return Book.open("shop.xlsx", data).sheet(sheet).cell(row, column)


def test_every_kind_of_cell_is_read_as_it_is_stored() -> None:
    strings = (
        "<si><t>Ada</t></si><si><r><t>A</t></r><r><rPr><b/></rPr><t>da</t></r></si>"
        '<si><t xml:space="preserve"> x_x000D_y </t></si>'
    )
    row = (
        '<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c><c r="D1"><v>1E-3</v></c>'
        '<c r="E1" t="b"><v>1</v></c><c r="F1" t="e"><v>#N/A</v></c><c r="G1" t="d"><v>2026-03-01</v></c>'
        '<c r="H1" t="inlineStr"><is><t>in &amp; line</t></is></c><c r="I1" t="str"><v>text</v></c><c r="J1"/>'
        '<c r="K1"><f>1+1</f><v>2</v></c><c r="L1" t="s"><v>0</v></c>'
    )
    grid = Book.open("shop.xlsx", of_rows(f'<row r="1">{row}</row>', strings=strings)).sheet("Orders")

    cells = {column: raw.cell for column, raw in grid.cells(1).items()}

    rich = "r<r><t>A</t></r><r><rPr><b/></rPr><t>da</t></r>"
    assert cells == {
        1: ("s", "Ada"),
        2: (rich, "Ada"),
        3: ("s", " x\ry "),
        4: ("n", "1E-3"),
        5: ("b", "1"),
        6: ("e", "#N/A"),
        7: ("d", "2026-03-01"),
        8: ("s", "in & line"),
        9: ("s", "text"),
        10: ("z", ""),
        11: ("f", "2"),
        12: ("s", "Ada"),
    }
    assert grid.cell(1, 13) is None
    assert grid.cell(1, 1) == grid.cell(1, 12)


TEXTS = ["plain", " both ends ", "two\nlines", "<&>\"'", "=1+1", "Grüße ☃ 𝄞", "tab\tand\rreturn", "_x000D_", "ends\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_read_by_every_program_and_its_style_stays(text: str) -> None:
    after = edited(plain(), {(2, 2): ("s", text)})

    assert cell(after, 2, 2) == RawCell("s", text)
    assert changed_parts(plain(), after) == {SHEET}
    by_openpyxl_read = opened(after)["Orders"]["B2"].value
    frame = read_excel(after).load_sheet("Orders").to_polars()
    escapes = {"tab\tand\rreturn": "tab\tand_x000D_return", "_x000D_": "_x005F_x000D_"}  # openpyxl shows escapes
    assert by_openpyxl_read in (text, escapes.get(text))
    assert values(after)["Orders", 2, 2] == text
    assert frame["name"][0] == text


@pytest.mark.parametrize(
    ("place", "new", "read"),
    [
        ((2, 3), ("t", "7.250"), 7.25),
        ((2, 3), ("n", "100"), 100),
        ((2, 4), ("t", "2026-12-24"), dt.date(2026, 12, 24)),
        ((2, 4), ("d", "2026-12-24T06:00:00"), dt.datetime(2026, 12, 24, 6)),  # noqa: DTZ001
        ((2, 5), ("t", "007"), "007"),
        ((2, 5), ("b", "true"), True),
        ((2, 6), ("t", "12"), "12"),
    ],
)
def test_a_planned_value_becomes_the_kind_of_its_column(place: tuple[int, int], new: Cell, read: Any) -> None:
    grid = Book.open("shop.xlsx", plain()).sheet("Orders")

    after = edited(plain(), {place: grid.fitted(*place, new)})

    assert values(after)["Orders", *place] == read
    former = grid.cell(*place)
    now = cell(after, *place)
    assert now is not None
    assert now.style == (former.style if former else 0)


def test_a_new_cell_gets_the_style_of_its_column() -> None:
    data = edited(plain(), {(3, 4): None})
    grid = Book.open("shop.xlsx", data).sheet("Orders")
    assert grid.cell(3, 4) is None

    after = edited(data, {(3, 4): grid.fitted(3, 4, ("t", "2026-05-05"))})

    assert values(after)["Orders", 3, 4] == dt.date(2026, 5, 5)


def test_dates_of_a_workbook_from_1904_are_counted_from_1904() -> None:
    data = xlsx(orders, date_1904=True)
    grid = Book.open("shop.xlsx", data).sheet("Orders")

    assert grid.fitted(2, 4, ("t", "1904-01-02")) == ("n", "1")
    assert values(edited(data, {(2, 4): grid.fitted(2, 4, ("t", "2026-12-24"))}))["Orders", 2, 4] == dt.date(
        2026, 12, 24
    )


def test_days_before_the_leap_day_that_1900_never_had_are_counted_as_excel_does() -> None:
    grid = Book.open("shop.xlsx", plain()).sheet("Orders")

    assert [grid.fitted(2, 4, ("t", day)) for day in ("1900-01-01", "1900-02-28", "1900-03-01")] == [
        ("n", "1"), ("n", "59"), ("n", "61"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "new", "reason"),
    [
        ((2, 3), ("t", "many"), "is in a column of numbers, and the value is none"),
        ((2, 3), ("t", "12345678901234567"), "would lose digits"),
        ((2, 4), ("t", "soon"), "shows a date, and the value is none"),
        ((2, 4), ("t", "1899-12-31"), "would hold a date before 1900"),
        ((2, 3), ("d", "2026-01-01"), "does not show dates"),
        ((2, 5), ("t", ""), "would be read as empty"),
    ],
)
def test_a_value_that_its_cell_cannot_hold_is_refused(place: tuple[int, int], new: Cell, reason: str) -> None:
    grid = Book.open("shop.xlsx", plain()).sheet("Orders")

    with pytest.raises(TargetRefused, match=reason):
        grid.fitted(*place, new)


def test_a_text_that_is_too_long_for_a_cell_is_refused() -> None:
    with pytest.raises(TargetRefused, match="longer than the 32,767 characters"):
        edited(plain(), {(2, 2): ("s", "x" * 32_768)})


def test_an_emptied_cell_keeps_its_style_and_the_inverse_gives_the_former_bytes() -> None:
    grid = Book.open("shop.xlsx", plain()).sheet("Orders")

    after = edited(plain(), {(2, 4): grid.fitted(2, 4, None)})

    empty, former = cell(after, 2, 4), grid.cell(2, 4)
    assert empty is not None
    assert former is not None
    assert (empty.cell, empty.style) == (("z", ""), former.style)
    assert part(edited(after, {(2, 4): former.cell}), SHEET) == part(plain(), SHEET)


def test_formatted_text_comes_back_with_its_formats() -> None:
    data = xlsx(everything)
    former = cell(data, 1, 6)
    assert former is not None
    assert former.text == "plain bold red & <odd>"

    after = edited(data, {(1, 6): ("s", "overwritten")})
    restored = edited(after, {(1, 6): former.cell})

    assert part(restored, SHEET) == part(data, SHEET)
    rich = opened(restored, rich_text=True)["Orders"]["F1"].value
    assert isinstance(rich, CellRichText)


def test_formatted_text_comes_back_even_if_a_program_dropped_it_from_the_shared_strings() -> None:
    former = cell(xlsx(everything), 1, 6)
    assert former is not None

    after = edited(plain(), {(1, 6): former.cell})

    assert cell(after, 1, 6) == former
    assert values(after)["Orders", 1, 6] == former.text


def test_a_workbook_that_names_the_type_of_numbers_gets_it_again() -> None:
    data = by_openpyxl()
    after = edited(data, {(2, 3): ("s", "void")})

    assert part(edited(after, {(2, 3): ("n", "12.5")}), SHEET) == part(data, SHEET)


@pytest.mark.parametrize(
    ("name", "row", "column", "reason"),
    [
        ("Orders", 2, 7, "G2 of the sheet Orders computes its value"),
        ("Orders", 4, 7, "G4 of the sheet Orders is filled by a formula of another cell"),
        ("Orders", 3, 9, "I3 of the sheet Orders is hidden behind the first cell of a merge"),
        ("Table", 1, 1, "A1 of the sheet Table is a header of the table Stock"),
        ("Table", 5, 1, "A5 of the sheet Table is a total of the table Stock"),
        ("Orders", 0, 1, "is outside of the sheet"),
    ],
)
def test_a_cell_that_cannot_be_changed_is_named_before_and_refused(
    name: str, row: int, column: int, reason: str
) -> None:
    data = xlsx(everything)
    obstacle = Book.open("shop.xlsx", data).sheet(name).obstacle(row, column) if row else f"{reason}"

    assert obstacle is not None
    assert reason in obstacle
    with pytest.raises(TargetRefused, match=r"^Records of shop.xlsx cannot be cleaned: the cell \S+ of the sheet"):
        edited(data, {(row, column): ("s", "x")}, name) if row else edited(data, {(1, 16_385): ("s", "x")})


def test_only_unlocked_cells_of_a_protected_sheet_are_changed() -> None:
    data = xlsx(protected)
    grid = Book.open("shop.xlsx", data).sheet("Orders")

    assert grid.obstacle(2, 5) is None
    assert grid.obstacle(2, 2) == "the cell B2 of the sheet Orders is locked, and its sheet is protected"
    assert grid.obstacle(2, 9) == "the cell I2 of the sheet Orders is locked, and its sheet is protected"
    assert grid.obstacle_of_rows() == "the sheet Orders is protected, so no row can be added"
    assert values(edited(data, {(2, 5): ("s", "duplicate")}))["Orders", 2, 5] == "duplicate"


VALIDATIONS = {
    "list": ({"validate": "list", "source": ["open", "duplicate"]}, ("s", "duplicate"), ("s", "Duplicate")),
    "range": ({"validate": "list", "source": "=$E$2:$E$4"}, ("s", "PAID"), ("s", "duplicate")),
    "whole": ({"validate": "integer", "criteria": "between", "minimum": 1, "maximum": 9}, ("n", "9"), ("n", "9.5")),
    "decimal": ({"validate": "decimal", "criteria": "<", "value": 9}, ("n", "8.9"), ("n", "9")),
    "length": ({"validate": "length", "criteria": "<=", "value": 3}, ("s", "abc"), ("s", "abcd")),
    "date": ({"validate": "date", "criteria": ">=", "value": dt.date(2026, 1, 1)}, ("n", "46023"), ("n", "46022")),
    "custom": ({"validate": "custom", "value": "=LEN(A1)>1"}, None, ("s", "abc")),
    "by name": ({"validate": "list", "source": "=States"}, ("s", "paid"), ("s", "duplicate")),
    "other sheet": ({"validate": "list", "source": "='It''s'!$B$1:$B$2"}, ("s", "void"), ("s", "paid")),
    "computed": ({"validate": "list", "source": '=INDIRECT("E2:E4")'}, None, ("s", "paid")),
    "warning": ({"validate": "list", "source": ["a"], "error_type": "warning"}, ("s", "b"), None),
    "no error": ({"validate": "list", "source": ["a"], "show_error": False}, ("s", "b"), None),
}


@pytest.mark.parametrize("name", VALIDATIONS)
def test_a_data_validation_that_stops_people_stops_a_cleaning(name: str) -> None:
    rule, allowed, refused = VALIDATIONS[name]

    def write(book: Any) -> None:
        orders(book).data_validation("F2:F6", rule)
        book.define_name("States", "=Orders!$E$2:$E$4")
        book.add_worksheet("It's").write_column("B1", ["open", "void"])

    grid = Book.open("shop.xlsx", xlsx(write)).sheet("Orders")

    assert grid.fitted(2, 6, None) is None
    if allowed:
        assert grid.fitted(2, 6, allowed) == allowed
    if refused:
        with pytest.raises(TargetRefused, match=r"has a data validation that (forbids the value|can be checked only)"):
            grid.fitted(2, 6, refused)


def test_formulas_are_computed_again_as_excel_opens_the_workbook() -> None:
    data = with_parts(
        xlsx(everything),
        {"xl/workbook.xml": part(xlsx(everything), "xl/workbook.xml").replace(b' fullCalcOnLoad="1"', b"")},
    )

    after = edited(data, {(2, 3): ("n", "100")})

    assert changed_parts(data, after) == {SHEET, "xl/workbook.xml"}
    assert part(after, "xl/workbook.xml") == part(xlsx(everything), "xl/workbook.xml")


def test_a_workbook_without_settings_of_calculation_gets_them_in_their_place() -> None:
    names = '<definedNames><definedName name="A">Orders!$A$1</definedName></definedNames><oleSize ref="A1"/>'
    data = of_rows('<row r="1"><c r="A1"><f>B1</f><v>1</v></c><c r="B1"><v>1</v></c></row>', names=names)

    after = edited(data, {(1, 2): ("n", "2")})

    assert b'</definedNames><calcPr fullCalcOnLoad="1"/><oleSize' in part(after, "xl/workbook.xml")


def test_no_change_changes_nothing() -> None:
    assert edited(plain(), {}) == plain()
    assert edited(plain(), {(2, 5): ("s", "open")}) == plain()
