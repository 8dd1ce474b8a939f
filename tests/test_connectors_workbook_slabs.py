"""Large xlsx sheets are read in slabs, two at a time: the answer is that of reading them in one piece."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
import xlsxwriter

from connectors.base import Problem
from connectors.errors import FileUnreadable
from connectors.workbook import xlsx
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource

PADDING = "x" * 2_000
HEAD = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
)
COMMENT = "<!-- this text could look like a row -->"


def row(number: int, *cells: str, first: int = 1) -> str:
    """A row of the sheet's XML; a cell is text, or what stands in a cell of a number."""
    inside = "".join(_cell(f"{chr(64 + place)}{number}", value) for place, value in enumerate(cells, first))
    return f'<row r="{number}" spans="1:4">{inside}</row>'


def _cell(place: str, value: str) -> str:
    if value.startswith("#"):
        return f'<c r="{place}" t="e"><v>{value}</v></c>'
    if value.replace(".", "").isdigit() and not value.startswith("0"):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>' if value else ""


def rows(count: int = 6_000) -> list[str]:
    """Rows with every kind of thing that a slab could lose: gaps, blanks, errors, numbers that become decimals late."""
    found = [row(2, "id", "amount", "note", PADDING)]
    for n in range(3, count):
        if n % 1_000 == 0:
            continue
        amount = "1.5" if n == count - 2 else "#DIV/0!" if n % 1_777 == 0 else "" if n % 31 == 0 else str(n)
        found.append(row(n, f"00{n}", amount, "" if n % 3 else f"Köln {n}", PADDING))
    return found


def write(folder: Path, sheet: str, *, name: str = "crm.xlsx", encoding: str = "utf-8") -> Path:
    """A workbook whose only sheet is that XML."""
    with xlsxwriter.Workbook(folder / "frame.xlsx") as frame:
        frame.add_worksheet("Contacts")
    with zipfile.ZipFile(folder / "frame.xlsx") as frame, zipfile.ZipFile(folder / name, "w", 8) as book:
        for part in frame.namelist():
            content = sheet.encode(encoding) if part == "xl/worksheets/sheet1.xml" else frame.read(part)
            book.writestr(part, content)
    return folder / name


def sheet_of(inside: list[str], head: str = HEAD) -> str:
    return f"{head}<sheetData>{''.join(inside)}</sheetData></worksheet>"


def read(path: Path, header_row: int | None = None) -> tuple[pa.Table, tuple[Problem, ...]]:
    opened = WorkbookSource("crm", WorkbookSettings(type="workbook", path=path.name), path.parent)
    try:
        dataset = WorkbookDataset(header_row=header_row)
        scan = opened.scan(dataset, [name for name in opened.describe(dataset).names if name != "_file"])
        return scan.reader.read_all(), scan.problems()
    finally:
        opened.close()


def slabs(path: Path) -> int:
    return sum(1 for _ in xlsx.in_slabs(path, "Contacts"))


def agree(folder: Path, inside: list[str], header_row: int | None = None) -> pa.Table:
    """The table of a sheet that is cut, once reading it in one piece gave the same."""
    cut = write(folder, sheet_of(inside))
    piece = write(folder, sheet_of([*inside, COMMENT]), name="piece.xlsx")
    table, problems = read(cut, header_row)
    by_piece, also = read(piece, header_row)

    assert slabs(cut) > 2
    with pytest.raises(xlsx.Indivisible):
        slabs(piece)
    assert table.schema == by_piece.schema
    assert table.equals(by_piece)
    assert [str(problem).replace("piece.xlsx", "crm.xlsx") for problem in also] == [
        str(problem) for problem in problems
    ]
    return table


@pytest.mark.slow
def test_a_large_sheet_has_the_same_rows_types_and_errors_in_slabs_as_in_one_piece(tmp_path: Path) -> None:
    table = agree(tmp_path, rows())

    assert table.schema.field("amount").type == pa.decimal128(38, 12)
    assert table.column("id")[0].as_py() == "003"
    assert table.column("_row")[-1].as_py() == 5_999
    assert table.num_rows == 5_997 - 5 - 3  # rows that are not there, and rows with an error


@pytest.mark.parametrize("header_row", [1, 3_000, 5_999])
def test_the_header_may_stand_in_any_slab_or_be_a_row_that_is_not_there(tmp_path: Path, header_row: int) -> None:
    agree(tmp_path, rows(), header_row)


def test_a_slab_may_be_narrower_begin_further_right_or_be_empty(tmp_path: Path) -> None:
    inside = [row(1, "id", "note", PADDING, "last")]
    inside += [row(n, f"{n}", "a", PADDING, "z") for n in range(2, 2_500)]
    inside += [row(n, "b", PADDING, first=2) for n in range(2_500, 5_000)]
    inside += [f'<row r="{n}" ht="{"1" * 200}"/>' for n in range(5_000, 60_000)]
    inside += [row(n, f"{n}", PADDING) for n in range(60_000, 64_500)]

    table = agree(tmp_path, inside)

    assert table.column_names == ["id", "note", PADDING, "last", "_row"]


@pytest.mark.slow
def test_rows_and_cells_after_the_first_of_a_slab_need_not_say_their_place(tmp_path: Path) -> None:
    bare = [text.replace(' r="', ' was="') if n % 5 else text for n, text in enumerate(rows(1_000))]

    agree(tmp_path, [row(1, "id", "amount", "note", PADDING), *bare, *rows(12_000)[1_000:]])


@pytest.mark.parametrize(
    ("inside", "head"),
    [
        ([*rows(), COMMENT], HEAD),
        ([*rows(), "<?print now?>"], HEAD),
        ([*rows(), "<row><c t='str'><v><![CDATA[<row r=\"1\">]]></v></c></row>"], HEAD),
        ([text.replace(' r="', ' was="') for text in rows()], HEAD),
        ([text.replace('"', "'") for text in rows()], HEAD),
        (rows(), HEAD.replace("?>", "?><!-- <sheetData> -->", 1)),
        (rows(), HEAD.replace("?>", "?><?print <sheetData>?>", 1)),
        ([row(n, "b", PADDING, first=2) for n in range(1, 5_000)] + [row(5_000, "a")], HEAD),
        (rows(600), HEAD),
    ],
    ids=["comment", "instruction", "cdata", "unnumbered", "quotes", "head", "print", "left", "small"],
)
def test_a_sheet_that_is_written_otherwise_is_read_in_one_piece(tmp_path: Path, inside: list[str], head: str) -> None:
    path = write(tmp_path, sheet_of(inside, head))

    with pytest.raises(xlsx.Indivisible):
        slabs(path)
    assert read(path)[0].num_rows > 500


@pytest.mark.slow
def test_many_texts_that_all_sheets_share_make_slabs_larger_or_none(tmp_path: Path) -> None:
    def shared(size: int) -> Path:
        path = write(tmp_path, sheet_of(rows(20_000)))
        with zipfile.ZipFile(path, "a", 8) as book:
            book.writestr("xl/sharedStrings.xml", f'<sst xmlns="">{"<si><t>x</t></si>" * (size // 17)}</sst>')
        return path

    few, some = slabs(shared(1_000)), slabs(shared(2_000_000))

    assert 2 <= some < few
    with pytest.raises(xlsx.Indivisible):
        slabs(shared(10_000_000))


def test_a_large_sheet_that_ends_in_the_middle_is_refused(tmp_path: Path) -> None:
    xml = sheet_of(rows())

    for name, sheet in (("early.xlsx", xml[: len(xml) // 2]), ("late.xlsx", xml[:-30])):
        with pytest.raises(FileUnreadable, match="cut or damaged"):
            read(write(tmp_path, sheet, name=name))
