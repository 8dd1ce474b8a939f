"""Rows are appended below the last one, and emptied again; rows that name no place keep theirs."""

from typing import Any

import pytest

from connectors.target import Cell, TargetRefused
from connectors.workbook.editing.book import Book
from connectors.workbook.editing.edits import SheetEdits
from tests.support.workbook_trial import changed_parts, values
from tests.support.workbooks import of_rows, orders, part, plain, xlsx

SHEET = "xl/worksheets/sheet1.xml"


def edited(data: bytes, **edits: Any) -> bytes:
    return Book.open("shop.xlsx", data).edited({"Orders": SheetEdits(**edits)})


def test_a_row_below_a_table_cannot_be_appended_into_it() -> None:
    data = xlsx(lambda book: orders(book).add_table("J1:K20"))

    assert "a table, a pivot table or a merge lies below" in str(
        Book.open("a.xlsx", data).sheet("Orders").obstacle_of_rows()
    )


def test_appended_rows_get_the_styles_of_their_columns_and_are_emptied_again() -> None:
    after = edited(
        plain(), appended=[{1: ("n", "6"), 2: ("s", "Barbara Liskov"), 4: ("n", "46100")}, {2: ("s", "Ada Lovelace")}]
    )

    read = values(after)
    assert (read["Orders", 7, 2], read["Orders", 7, 4].year, read["Orders", 8, 2]) == (
        "Barbara Liskov",
        2026,
        "Ada Lovelace",
    )
    new = [(7, 1), (7, 2), (7, 4), (8, 2)]
    emptied = edited(after, cells=dict.fromkeys(new, ("z", "")))
    assert values(emptied) == values(plain())
    assert changed_parts(plain(), emptied) == {SHEET}
    grid = Book.open("shop.xlsx", emptied).sheet("Orders")
    former = Book.open("shop.xlsx", after).sheet("Orders")
    assert [grid.style(*place) for place in new] == [former.style(*place) for place in new]
    assert part(edited(after, cells=dict.fromkeys(new)), SHEET) == part(plain(), SHEET)


@pytest.mark.parametrize("rows", ["<sheetData/>", "<sheetData></sheetData>"])
def test_the_first_cells_of_an_empty_sheet_go_into_its_rows(rows: str) -> None:
    sheet = f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{rows}</worksheet>'
    new: dict[tuple[int, int], Cell] = {(2, 1): ("n", "7"), (4, 3): ("s", "Ada")}

    after = edited(of_rows(sheet.encode()), cells=new)

    assert values(after) == {("Orders", 2, 1): 7, ("Orders", 4, 3): "Ada"}
    assert part(after, SHEET).endswith(b"</row></sheetData></worksheet>")
    assert (
        part(edited(after, cells=dict.fromkeys(new)), SHEET)
        == sheet.replace("<sheetData/>", "<sheetData></sheetData>").encode()
    )


def test_rows_and_cells_without_numbers_keep_their_places() -> None:
    rows = (
        "<row><c><v>1</v></c><c><v>2</v></c></row>"
        "<row r='4'><c r='B4'><v>3</v></c><c><v>4</v></c></row>"
        "<row><c><v>5</v></c></row>"
    )
    grid = Book.open("shop.xlsx", of_rows(rows)).sheet("Orders")

    assert list(grid.text.numbers) == [1, 4, 5]
    assert {column: raw.text for column, raw in grid.cells(4).items()} == {2: "3", 3: "4"}

    after = edited(of_rows(rows), cells={(1, 2): ("n", "20"), (5, 2): ("s", "x")})
    assert values(after)["Orders", 1, 2] == 20
    back = edited(after, cells={(1, 2): ("n", "2"), (5, 2): None})
    assert part(back, SHEET) == part(of_rows(rows), SHEET)
    with pytest.raises(TargetRefused, match="cells without names"):
        edited(of_rows(rows), cells={(1, 1): None})
