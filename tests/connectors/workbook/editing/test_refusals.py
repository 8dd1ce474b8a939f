"""A workbook that cannot be edited byte for byte is refused in one sentence, before anything is changed."""

import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from connectors.target import TargetRefused
from connectors.workbook.editing.book import Book
from connectors.workbook.editing.edits import SheetEdits
from tests.support.workbook_trial import parts, values
from tests.support.workbooks import everything, of_rows, orders, part, plain, with_parts, xlsx

SHEET = "xl/worksheets/sheet1.xml"
ROW = '<row r="1"><c r="A1"><v>1</v></c></row>'
XML = '<?xml version="1.0" encoding="UTF-8"?>'


def replaced(name: str, old: str, new: str, data: bytes | None = None) -> bytes:
    data = data or plain()
    former = part(data, name)
    assert old.encode() in former
    return with_parts(data, {name: former.replace(old.encode(), new.encode())})


def zipped_twice() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in [*parts(plain()).items(), ("XL/workbook.xml", b"<a/>")]:
            archive.writestr(name, content)
    return target.getvalue()


def relation(kind: str, target: str, content: bytes) -> bytes:
    name = "xl/worksheets/_rels/sheet1.xml.rels"
    schemas = "http://schemas.openxmlformats.org"
    xml = (
        f'<Relationships xmlns="{schemas}/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{schemas}/officeDocument/2006/relationships/{kind}" Target="../{target}"/></Relationships>'
    )
    return with_parts(plain(), {name: xml.encode(), f"xl/{target}": content})


STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PIVOT = f'<pivotTableDefinition xmlns="{MAIN}"><location ref="B2:C4"/></pivotTableDefinition>'.encode()
FINAL = (
    b'<Properties xmlns="urn:x" xmlns:vt="urn:y"><property name="_MarkAsFinal"><vt:bool>true</vt:bool></property>'
    b"</Properties>"
)

WORKBOOKS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "ods": ("a.ods", plain, r"it is an OpenDocument workbook \(.ods\)"),
    "xls": ("a.xls", plain, r"it is an old workbook \(.xls\)"),
    "xlsb": ("a.xlsb", plain, r"it is a binary workbook \(.xlsb\)"),
    "csv": ("a.csv", plain, "its name does not end with"),
    "text": ("a.xlsx", lambda: b"id,name\n", "it is not a workbook"),
    "encrypted": (
        "a.xlsx",
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
        "password",
    ),
    "truncated": ("a.xlsx", lambda: plain()[:-200], "truncated or damaged"),
    "twice": ("a.xlsx", zipped_twice, "two of its parts have the same name"),
    "entities": ("a.xlsx", lambda: replaced(SHEET, "<worksheet", "<!DOCTYPE a><worksheet"), "declares a document type"),
    "signed": ("a.xlsx", lambda: with_parts(plain(), {"_xmlsignatures/sig1.xml": b"<a/>"}), "it is signed"),
    "shared": ("a.xlsx", lambda: with_parts(plain(), {"xl/revisions/userNames.xml": b"<a/>"}), "it is shared"),
    "final": ("a.xlsx", lambda: with_parts(plain(), {"docProps/custom.xml": FINAL}), "it is marked as final"),
    "reserved": (
        "a.xlsx",
        lambda: replaced("xl/workbook.xml", "<workbookPr", '<fileSharing reservationPassword="C1D2"/><workbookPr'),
        "saving it needs a password",
    ),
    "strict": ("a.xlsx", lambda: replaced("xl/workbook.xml", MAIN, STRICT), "it is a strict Open XML workbook"),
    "in front": ("a.xlsx", lambda: b"PK" + plain(), "bytes that belong to no part|offsets|damaged"),
    "behind": ("a.xlsx", lambda: plain() + b"x", "bytes that belong to no part|damaged"),
}


@pytest.mark.parametrize("case", WORKBOOKS)
def test_a_workbook_that_cannot_be_edited_is_refused(case: str) -> None:
    name, data, reason = WORKBOOKS[case]

    with pytest.raises(TargetRefused, match=f"^Records of {re.escape(name)} cannot be cleaned: .*({reason})"):
        Book.open(name, data())


SHEETS: dict[str, tuple[Callable[[], bytes], str]] = {
    "damaged": (lambda: replaced(SHEET, "</row>", ""), "its part xl/worksheets/sheet1.xml is damaged"),
    "rows out of order": (lambda: of_rows('<row r="2"/><row r="1"/>'), "rows out of order"),
    "the same row twice": (lambda: of_rows('<row r="2"/><row r="2"/>'), "rows out of order"),
    "cells out of order": (
        lambda: of_rows('<row r="1"><c r="B1"/><c r="A1"/></row>'),
        "cells of row 1 are out of order",
    ),
    "a cell of another row": (lambda: of_rows('<row r="1"><c r="A2"/></row>'), "cells of row 1 are out of order"),
    "comments": (lambda: of_rows(f"<!-- <row r='9'/> -->{ROW}"), "comments or sections of character data"),
    "character data": (
        lambda: of_rows('<row r="1"><c r="A1" t="inlineStr"><is><t><![CDATA[<row>]]></t></is></c></row>'),
        "comments or sections of character data",
    ),
    "namespaces": (lambda: of_rows('<row r="1"><c r="A1" xmlns:a="urn:a"><v>1</v></c></row>'), "declares namespaces"),
    "a missing string": (
        lambda: of_rows('<row r="1"><c r="A1" t="s"><v>7</v></c></row>'),
        "shared string that does not exist",
    ),
    "latin": (
        lambda: of_rows(
            f'<?xml version="1.0" encoding="ISO-8859-1"?><worksheet xmlns="{MAIN}"><sheetData/></worksheet>'.encode()
        ),
        "is not written in UTF-8 or UTF-16",
    ),
}


@pytest.mark.parametrize("case", SHEETS)
def test_a_sheet_that_cannot_be_edited_is_refused(case: str) -> None:
    data, reason = SHEETS[case]

    with pytest.raises(TargetRefused, match=f"^Records of a.xlsx cannot be cleaned: .*{reason}"):
        Book.open("a.xlsx", data()).edited({"Orders": SheetEdits(cells={(1, 1): ("n", "2")})})


def test_sheets_of_charts_hold_no_cells() -> None:
    book = Book.open("a.xlsx", xlsx(everything))

    assert book.sheets == ("Orders", "Summary", "Table")
    with pytest.raises(TargetRefused, match="it has a chartsheet, which holds no cells, of that name"):
        book.sheet("Picture")
    with pytest.raises(TargetRefused, match="it has no sheet of that name"):
        book.sheet("Nothing")


CELLS: dict[str, tuple[Callable[[], bytes], str]] = {
    "pivot table": (lambda: relation("pivotTable", "pivotTables/pivotTable1.xml", PIVOT), "is in a pivot table"),
    "query": (lambda: relation("queryTable", "queryTables/queryTable1.xml", b"<a/>"), "come from a query"),
    "metadata": (
        lambda: of_rows('<row r="2"><c r="B2" vm="1"><v>1</v></c></row>'),
        "holds a picture, a linked data type",
    ),
    "unknown": (lambda: of_rows('<row r="2"><c r="B2"><v>1</v><extLst/></c></row>'), "does not know"),
    "data table": (
        lambda: of_rows(
            '<row r="1"><c r="A1"><f t="dataTable" ref="A1:C3" dt2D="1"/><v>1</v></c></row>'
            '<row r="2"><c r="B2"><v>1</v></c></row>'
        ),
        "is filled by a formula of another cell",
    ),
}


@pytest.mark.parametrize("case", CELLS)
def test_a_cell_that_a_program_would_overwrite_is_refused(case: str) -> None:
    data, reason = CELLS[case]
    obstacle = Book.open("a.xlsx", data()).sheet("Orders").obstacle(2, 2)

    assert obstacle is not None
    assert reason in obstacle


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_sheet_in_another_encoding_keeps_it(codec: str) -> None:
    mark = "" if codec == "utf-8-sig" else "\ufeff"
    encoding = "UTF-8" if codec == "utf-8-sig" else "UTF-16"
    sheet = (
        f'{mark}<?xml version="1.0" encoding="{encoding}"?><x:worksheet xmlns:x="{MAIN}"><x:sheetData><x:row r="1">'
        '<x:c r="A1" t="str"><x:v>Größe</x:v></x:c></x:row></x:sheetData></x:worksheet>'
    )
    data = of_rows(sheet.encode(codec))
    edits = SheetEdits(cells={(1, 2): ("s", "ﬀ 𝄞"), (2, 1): ("b", "0")})

    after = Book.open("a.xlsx", data).edited({"Orders": edits})

    assert part(after, SHEET).decode(codec).endswith("</x:sheetData></x:worksheet>")
    grid = Book.open("a.xlsx", after).sheet("Orders")
    assert [raw.text for raw in grid.cells(1).values()] == ["Größe", "ﬀ 𝄞"]
    back = Book.open("a.xlsx", after).edited({"Orders": SheetEdits(cells={(1, 2): None, (2, 1): None})})
    assert part(back, SHEET) == part(data, SHEET)


ODD = """<worksheet xmlns='{main}' ><sheetData
 ><row  ht='20' r = '1'
 ><c s='0' r='A1' ><v >1</v></c >
 <c r="C1"/></row
 ></sheetData ></worksheet>"""


def test_odd_but_right_xml_keeps_its_form() -> None:
    data = of_rows(ODD.format(main=MAIN).encode())
    book = Book.open("a.xlsx", data)

    after = book.edited({"Orders": SheetEdits(cells={(1, 1): ("n", "2"), (1, 2): ("s", "x"), (1, 3): ("b", "1")})})

    assert values(after)["Orders", 1, 2] == "x"
    former = book.sheet("Orders")
    cells = {(1, column): former.cell(1, column) for column in (1, 2, 3)}
    back = Book.open("a.xlsx", after).edited({"Orders": SheetEdits(cells=cells)})
    assert part(back, SHEET) == part(data, SHEET)


def streamed(data: bytes) -> bytes:
    """The workbook as a program writes it that does not know the sizes before: with data descriptors, one stored."""

    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: Any) -> int:
            raise io.UnsupportedOperation

        def tell(self) -> int:
            raise io.UnsupportedOperation

    target = Unseekable()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts(data).items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name.endswith(".rels") else zipfile.ZIP_DEFLATED)
        archive.comment = b"made by a stream"
    return target.getvalue()


def test_other_parts_keep_their_packed_bytes_flags_and_times() -> None:
    data = streamed(xlsx(everything))

    after = Book.open("a.xlsx", data).edited({"Summary": SheetEdits(cells={(5, 1): ("s", "x")})})

    with zipfile.ZipFile(io.BytesIO(data)) as first, zipfile.ZipFile(io.BytesIO(after)) as second:
        assert second.testzip() is None
        assert first.comment == second.comment
        for before, now in zip(first.infolist(), second.infolist(), strict=True):
            assert (before.filename, before.date_time, before.external_attr) == (
                now.filename,
                now.date_time,
                now.external_attr,
            )
            if before.filename not in ("xl/worksheets/sheet2.xml", "xl/workbook.xml"):
                assert before.flag_bits == now.flag_bits == 8
                packed = [
                    book[i.header_offset : i.header_offset + 30 + len(i.filename) + i.compress_size + 16]
                    for book, i in ((data, before), (after, now))
                ]
                assert packed[0] == packed[1]
            else:
                assert now.flag_bits == 0


def test_no_sentence_holds_a_value_of_a_cell() -> None:
    data = xlsx(lambda book: orders(book).data_validation("B2:B6", {"validate": "list", "source": ["secret of Ada"]}))

    with pytest.raises(TargetRefused) as refusal:
        Book.open("a.xlsx", data).sheet("Orders").fitted(2, 2, ("t", "my secret"))

    assert "secret" not in str(refusal.value)
    assert "Ada" not in repr(Book.open("a.xlsx", data))
