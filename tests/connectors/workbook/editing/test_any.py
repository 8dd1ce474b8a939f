"""Any edit of any sheet changes the cells it names and no others, and its inverse gives the former bytes."""

import io
from typing import Any

import pytest
import xlsxwriter
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

from connectors.target import Cell
from connectors.workbook.editing.book import Book
from connectors.workbook.editing.edits import SheetEdits
from tests.support.chance import SEED, few
from tests.support.workbook_trial import changed_parts, opened, values
from tests.support.workbooks import part

ROWS, COLUMNS = 9, 30
SHEET = "xl/worksheets/sheet1.xml"
CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\ufffe\uffff\x00")
TEXTS = st.one_of(
    st.sampled_from(["Ada", " Ada", "_x0041_", "a\nb", "1", "=A1"]), st.text(CHARACTERS, min_size=1, max_size=8)
)
PLACES = st.tuples(st.integers(1, ROWS), st.one_of(st.integers(1, 4), st.integers(25, COLUMNS)))
VALUES = st.one_of(TEXTS, st.integers(-(10**9), 10**9), st.booleans(), st.none())
GRIDS = st.dictionaries(PLACES, VALUES, max_size=20)
CELLS = st.one_of(
    TEXTS.map(lambda text: ("s", text)),
    st.integers(-999, 999).map(lambda number: ("n", str(number))),
    st.floats(-1e9, 1e9, allow_nan=False).map(lambda number: ("n", repr(number))),
    st.sampled_from([("b", "1"), ("b", "0"), ("z", ""), ("e", "#N/A"), None]),
)
EDITS = st.dictionaries(PLACES, CELLS, min_size=1, max_size=12)
NEW_ROWS = st.dictionaries(st.integers(1, 5), CELLS).filter(lambda row: any(row.values()))


def written(grid: dict[tuple[int, int], Any], *, inline: bool) -> bytes:
    target = io.BytesIO()
    book = xlsxwriter.Workbook(target, {"in_memory": True, "constant_memory": inline, "strings_to_formulas": False})
    sheet, bold = book.add_worksheet("Grid"), book.add_format({"bold": True})
    for (row, column), value in sorted({(1, 1): "id", (ROWS, COLUMNS): "end", **grid}.items()):
        chosen = bold if (row + column) % 3 == 0 else None
        if value is None:
            sheet.write_blank(row - 1, column - 1, None, bold)
        elif isinstance(value, str):
            sheet.write_string(row - 1, column - 1, value, chosen)
        else:
            sheet.write(row - 1, column - 1, value, chosen)
    book.close()
    return target.getvalue()


@seed(SEED)
@settings(max_examples=few(30, 3000), deadline=None, suppress_health_check=list(HealthCheck))
@given(grid=GRIDS, cells=EDITS, inline=st.booleans())
@example(grid={}, cells={(3, 3): ("s", "x"), (3, 4): None}, inline=False)
def test_an_edit_changes_its_cells_alone_and_its_inverse_gives_the_former_bytes(
    grid: dict[tuple[int, int], Any], cells: dict[tuple[int, int], Cell], inline: bool
) -> None:
    data = written(grid, inline=inline)
    book = Book.open("any.xlsx", data)
    sheet = book.sheet("Grid")
    before = {place: sheet.cell(*place) for place in cells}

    after = book.edited({"Grid": SheetEdits(cells=cells)})
    again = Book.open("any.xlsx", after)

    now = {place: again.sheet("Grid").cell(*place) for place in cells}
    assert {place: raw.cell if raw else None for place, raw in now.items()} == cells
    assert changed_parts(data, after) <= {SHEET}
    edited = {("Grid", *place) for place in cells}
    former, new = values(data), values(after)
    assert {p: v for p, v in former.items() if p not in edited} == {p: v for p, v in new.items() if p not in edited}
    opened(after)
    restored = again.edited({"Grid": SheetEdits(cells=before)})
    assert part(restored, SHEET) == part(data, SHEET)
    if not inline:  # a journal holds no XML; without shared strings a text may have been written in several forms
        from_journal = {place: raw.cell if raw else None for place, raw in before.items()}
        assert part(again.edited({"Grid": SheetEdits(cells=from_journal)}), SHEET) == part(data, SHEET)


@seed(SEED)
@settings(max_examples=few(15, 1500), deadline=None, suppress_health_check=list(HealthCheck))
@given(grid=GRIDS, appended=st.lists(NEW_ROWS, min_size=1, max_size=3))
def test_rows_are_appended_and_emptied_again_and_every_other_cell_stays(
    grid: dict[tuple[int, int], Any], appended: list[dict[int, Cell]]
) -> None:
    data = written(grid, inline=False)
    book = Book.open("any.xlsx", data)
    new = {
        (ROWS + position, column): cell
        for position, row in enumerate(appended, 1)
        for column, cell in row.items()
        if cell is not None
    }

    after = book.edited({"Grid": SheetEdits(appended=appended)})
    again = Book.open("any.xlsx", after)
    now = again.sheet("Grid")
    emptied = again.edited({"Grid": SheetEdits(cells={place: now.written(*place, None) for place in new})})

    assert raw_cells(after) == raw_cells(data) | new
    assert raw_cells(emptied) == raw_cells(data) | dict.fromkeys(new, ("z", ""))
    assert changed_parts(data, after) == changed_parts(data, emptied) == {SHEET}
    assert values(emptied) == values(data)
    opened(emptied)
    assert part(again.edited({"Grid": SheetEdits(cells=dict.fromkeys(new))}), SHEET) == part(data, SHEET)


def raw_cells(data: bytes) -> dict[tuple[int, int], Cell]:
    sheet = Book.open("any.xlsx", data).sheet("Grid")
    return {(row, column): raw.cell for row in sheet.text.numbers for column, raw in sheet.cells(row).items()}


@pytest.mark.parametrize("column", range(1, 60))
def test_a_cell_goes_between_its_neighbours(column: int) -> None:
    data = written({(2, 5): "e", (2, 28): "ab"}, inline=False)

    after = Book.open("any.xlsx", data).edited({"Grid": SheetEdits(cells={(2, column): ("n", "7")})})

    columns = list(Book.open("any.xlsx", after).sheet("Grid").cells(2))
    assert columns == sorted({5, 28, column})
