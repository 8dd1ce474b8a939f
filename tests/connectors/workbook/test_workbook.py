"""The `workbook` source: cells as they are typed, errors told apart from nothing, and hostile files refused."""

import datetime as dt
import io
import resource
import time
import zipfile
from decimal import Decimal
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
import xlsxwriter
import xlwt

from connectors.base import Source
from connectors.errors import ColumnMissing, DatasetMissing, FileRefused, FileUnreadable, ReadStopped
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource

DAY = dt.datetime(2026, 3, 1)  # noqa: DTZ001 - cells hold naive times
NOON = dt.datetime(2026, 3, 1, 12, 30)  # noqa: DTZ001


@pytest.fixture
def book(tmp_path):
    """Writes crm.xlsx: each row a list; dates and times get their formats."""

    def write(*rows, sheet="Contacts", name="crm.xlsx", more=()):
        with xlsxwriter.Workbook(tmp_path / name) as workbook:
            formats = {
                dt.date: workbook.add_format({"num_format": "yyyy-mm-dd"}),
                dt.datetime: workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
                dt.timedelta: workbook.add_format({"num_format": "[h]:mm:ss"}),
            }
            page = workbook.add_worksheet(sheet)
            for r, row in enumerate(rows):
                for c, cell in enumerate(row):
                    if isinstance(cell, str) and cell.startswith("#"):
                        page.write_formula(r, c, "=1/0", None, cell)
                    elif isinstance(cell, str):
                        page.write_string(r, c, cell)
                    elif type(cell) in formats:
                        page.write_datetime(r, c, cell, formats[type(cell)])
                    elif cell is not None:
                        page.write(r, c, cell)
            for item in more:
                item(workbook)
        return tmp_path

    return write


def source(directory, name="crm.xlsx", **settings):
    return WorkbookSource("crm", WorkbookSettings(type="workbook", path=name, **settings), directory)


def read(directory, columns=None, name="crm.xlsx", **settings):
    opened = source(directory, name)
    try:
        dataset = WorkbookDataset(**settings)
        names = columns or [n for n in opened.describe(dataset).names if n not in ("_file", "_row")]
        scan = opened.scan(dataset, names)
        table = scan.reader.read_all()
        assert table.schema.names == names
        return table, scan.problems()
    finally:
        opened.close()


def test_cells_are_read_as_they_are_typed(book):
    root = book(
        ["id", "n", "amount", "ok", "day", "at", "note"],
        ["000123", 5, 1.5, True, DAY.date(), NOON, " x "],
        ["4", 7, 2, False, DAY.date(), DAY, None],
    )

    table, problems = read(root, timezone="Europe/Berlin")

    assert problems == ()
    assert table.schema.types == [
        pa.string(), pa.int64(), pa.decimal128(38, 12), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC"), pa.string(),
    ]  # fmt: skip
    assert table.to_pylist() == [
        {"id": "000123", "n": 5, "amount": Decimal("1.5"), "ok": True, "day": DAY.date(),
         "at": dt.datetime(2026, 3, 1, 11, 30, tzinfo=dt.UTC), "note": " x "},
        {"id": "4", "n": 7, "amount": Decimal(2), "ok": False, "day": DAY.date(),
         "at": dt.datetime(2026, 2, 28, 23, 0, tzinfo=dt.UTC), "note": None},
    ]  # fmt: skip


@pytest.mark.slow
def test_a_mixture_is_text_and_declared_types_read_it_back(book):
    root = book(["x"], [1234.5], ["1.234,56"], [True], [DAY.date()], [NOON], [dt.timedelta(hours=30)])

    assert read(root)[0].column("x").to_pylist() == [
        "1234.5", "1.234,56", "true", "2026-03-01", "2026-03-01 12:30:00", "1 day, 6:00:00",
    ]  # fmt: skip
    table, problems = _declared(root, {"x": "decimal"}, ",")
    assert table.column("x").to_pylist()[:2] == [Decimal("1234.5"), Decimal("1234.56")]
    assert (problems[0].records, problems[0].first) == (4, "crm.xlsx, row 4")


def _declared(root, columns, decimal=".", name="crm.xlsx"):
    opened = source(root, name)
    scan = opened.scan(WorkbookDataset(columns=columns, decimal=decimal), list(columns))
    table = scan.reader.read_all()
    opened.close()
    return table, scan.problems()


@pytest.mark.slow
def test_declared_text_is_the_shortest_form_of_a_number(book):
    root = book(["x", "d"], [5, DAY.date()], [1.5, "02.03.2026"], [0.1 + 0.2, None])

    table, problems = _declared(root, {"x": "text", "d": "date %d.%m.%Y"})

    assert table.column("x").to_pylist() == ["5", "1.5", "0.3"]
    assert table.column("d").to_pylist() == [DAY.date(), dt.date(2026, 3, 2), None]
    assert problems == ()


def test_a_record_with_an_error_in_an_asked_column_is_skipped_and_counted(book):
    root = book(["id", "a", "b"], [1, "#DIV/0!", "x"], [2, None, "#N/A"], [3, "y", "z"], ["#REF!", None, None])

    table, problems = read(root, ["id", "a", "_row", "_file"])

    assert table.to_pylist() == [
        {"id": 2, "a": None, "_row": 3, "_file": "crm.xlsx"},
        {"id": 3, "a": "y", "_row": 4, "_file": "crm.xlsx"},
    ]
    assert [(p.column, p.records, p.first, p.skipped) for p in problems] == [
        ("id", 1, "crm.xlsx, row 5", True),
        ("a", 1, "crm.xlsx, row 2", True),
    ]


IDS = [123456789012345671, 123456789012345672, -1234567890123450, 999999999999999, 5]
"""Numbers of more than 15 digits, of which a workbook keeps fewer, and two that it keeps."""


@pytest.mark.parametrize("other", [None, "a text"])
@pytest.mark.parametrize("kind", [None, "integer", "text", "decimal"])
@pytest.mark.slow
def test_numbers_that_a_workbook_rounds_are_empty_as_the_warning_says(tmp_path, kind, other):
    for name in ("a.xlsx", "a.xls", "a.ods"):
        _write_numbers(tmp_path / name, [*IDS, other])

        table, problems = _declared(tmp_path, {"id": kind}, name=name) if kind else read(tmp_path, ["id"], name)

        texts = [None if number is None else f"{number:f}".rstrip("0").rstrip(".") if kind == "decimal" else str(number)
                 for number in table.column("id").to_pylist()]  # fmt: skip
        readable = [] if other is None else [None if kind in ("integer", "decimal") else other]
        assert texts == [None, None, None, "999999999999999", "5", *readable], name
        assert "more than 15 digits" in problems[0].reason
        assert (problems[0].records, problems[0].first, problems[0].skipped) == (3, f"{name}, row 2", False)


def _write_numbers(path, numbers):
    filled = [number for number in numbers if number is not None]
    if path.suffix == ".ods":
        cells = [
            cell("float", f'office:value="{float(number)!r}"') if number != "a text"
            else cell("string", inner="<text:p>a text</text:p>") for number in filled
        ]  # fmt: skip
        ods(path, [cell("string", inner="<text:p>id</text:p>"), *cells])
        return
    book = openpyxl.Workbook() if path.suffix == ".xlsx" else xlwt.Workbook()
    if path.suffix == ".xlsx":
        for number in ["id", *filled]:
            book.active.append([number])
    else:
        sheet = book.add_sheet("S")
        for row, number in enumerate(["id", *filled]):
            sheet.write(row, 0, number)
    book.save(path)


@pytest.mark.slow
def test_a_column_declared_float_keeps_numbers_that_a_workbook_rounds(book):
    table, problems = _declared(book(["n"], [6.02214076e23], [12345678901234567], [5]), {"n": "float"})

    assert table.column("n").to_pylist() == [6.02214076e23, 1.234567890123457e16, 5.0]
    assert problems == ()


@pytest.mark.slow
def test_the_header_is_the_first_filled_row_or_the_one_named(book):
    root = book(
        [None], ["Contacts of 2026"], [None, "id", "name", None, "name"], [None, 1, "x", "y", "z"], [], [None, 2]
    )

    table, _ = read(root, header_row=3)

    assert table.schema.names == ["id", "name", "column_4", "name_2"]
    assert read(root, ["id", "_row"], header_row=3)[0].to_pylist() == [{"id": 1, "_row": 4}, {"id": 2, "_row": 6}]
    with pytest.raises(FileUnreadable, match="row 99 is below the last filled row"):
        read(root, header_row=99)


def test_a_name_that_stands_twice_in_a_header_is_told_with_its_row(book):
    root = book([], ["id", "amount", "amount"], [1, 2, 3])
    opened = source(root)

    warnings = opened.warnings(WorkbookDataset(), ["id", "amount"])
    quiet = opened.warnings(WorkbookDataset(), ["id", "amount_2"])
    opened.close()

    reason = (
        "`amount` appears more than once in the header and is read as `amount`, `amount_2`; rename them in the sheet"
    )
    assert [(problem.column, problem.first, problem.reason) for problem in warnings] == [
        ("*", "crm.xlsx, row 2", reason)
    ]
    assert quiet == ()


def test_an_empty_sheet_has_no_header(book):
    with pytest.raises(FileUnreadable, match="the sheet is empty"):
        read(book())


@pytest.mark.slow
def test_hidden_sheets_are_read_only_by_name(book):
    def hidden(workbook):
        page = workbook.add_worksheet("Old")
        page.write(0, 0, "id")
        page.write(1, 0, 9)
        page.hide()

    root = book(["id"], [1], more=[hidden])

    assert source(root).datasets() == ["Contacts"]
    assert read(root)[0].column("id").to_pylist() == [1]
    assert read(root, sheet="Old")[0].column("id").to_pylist() == [9]
    with pytest.raises(DatasetMissing, match="no sheet Contcts; did you mean"):
        read(root, sheet="Contcts")


def test_two_visible_sheets_need_a_name(book):
    root = book(["id"], [1], more=[lambda workbook: workbook.add_worksheet("Other")])

    with pytest.raises(DatasetMissing, match="`sheet` must say which"):
        read(root)


def test_merged_headers_and_formatted_columns_do_not_shift_anything(book):
    def merged(workbook):
        page = workbook.get_worksheet_by_name("Contacts")
        page.merge_range(0, 0, 0, 1, "who")
        page.write_blank(5, 7, None, workbook.add_format({"bold": True}))

    root = book([None, None, "n"], ["a", "b", 1], more=[merged])

    assert read(root)[0].to_pylist() == [{"who": "a", "column_2": "b", "n": 1}]


def test_a_column_that_is_not_there_names_the_nearest(book):
    with pytest.raises(ColumnMissing, match="did you mean email"):
        read(book(["email"], ["x"]), ["e-mail"])


def test_it_is_a_source_and_an_owner_file_is_no_hindrance(book):
    root = book(["id"], [1])
    (root / "~$crm.xlsx").write_bytes(b"\x05owner")

    assert isinstance(source(root), Source)
    assert read(root)[0].num_rows == 1
    with pytest.raises(DatasetMissing, match=r"did you mean crm\.xlsx\?"):
        read(root, name="crmm.xlsx")


CONTENT = """<?xml version="1.0"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">
 <office:body><office:spreadsheet><table:table table:name="S">{}</table:table></office:spreadsheet></office:body>
</office:document-content>"""


def ods(path, rows, content=CONTENT):
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content.format(body))


def cell(kind, value="", inner=""):
    return f'<table:table-cell office:value-type="{kind}" {value}>{inner}</table:table-cell>'


def test_open_document_cells_keep_their_types(tmp_path):
    header = "".join(cell("string", inner=f"<text:p>{text}</text:p>") for text in ("id", "n", "ok", "took", "at", "e"))
    wrong = cell("string", 'calcext:value-type="error"', "<text:p>#N/A</text:p>")
    row = (
        cell("string", inner='<text:p>0<text:s text:c="2"/>1</text:p><text:p>two</text:p>')
        + cell("float", 'office:value="9007199254740993.5"')
        + cell("boolean", 'office:boolean-value="true"')
        + cell("time", 'office:time-value="PT30H00M00S"')
        + cell("date", 'office:date-value="2026-03-01T12:30:00"')
    )
    ods(tmp_path / "a.ods", [header, row, row + wrong, '<table:table-cell table:number-columns-repeated="16384"/>'])

    table, problems = read(tmp_path, name="a.ods")

    assert table.to_pylist() == [
        {"id": "0  1\ntwo", "n": Decimal("9007199254740993.5"), "ok": True, "took": "PT30H00M00S",
         "at": NOON.replace(tzinfo=dt.UTC), "e": None}
    ]  # fmt: skip
    assert [(p.column, p.first, p.skipped) for p in problems] == [("e", "a.ods, row 3", True)]


def refused(root, name, error, sentence, **settings):
    start = time.monotonic()
    with pytest.raises(error, match=sentence):
        source(root, name, **settings).describe(WorkbookDataset())
    assert time.monotonic() - start < 5


def test_what_is_no_workbook_is_refused_with_the_reason(book):
    root = book(["id"], *([i] for i in range(2_000)))
    content = (root / "crm.xlsx").read_bytes()
    (root / "cut.xlsx").write_bytes(content[: len(content) // 2])
    (root / "text.xlsx").write_bytes(b"id,name\n1,2\n")
    (root / "empty.xlsx").write_bytes(b"")
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    (root / "locked.xlsx").write_bytes(ole + "EncryptedPackage".encode("utf-16-le") + bytes(600))
    (root / "old.xlsx").write_bytes(ole)
    (root / "bad.xls").write_bytes(ole)
    with zipfile.ZipFile(root / "zip.xlsx", "w") as archive:
        archive.writestr("a.txt", "x")
    for word in (b"\x09\x00\x04\x00", b"\x09\x04\x06\x00"):  # the first records of Excel 2 and 4
        (root / f"excel{word[1]}.xls").write_bytes(word + bytes(20))
    (root / "dir.xlsx").mkdir()

    refused(root, "cut.xlsx", FileUnreadable, "truncated or damaged")
    refused(root, "text.xlsx", FileUnreadable, "it is not a workbook")
    refused(root, "empty.xlsx", FileUnreadable, "it is empty")
    refused(root, "locked.xlsx", FileUnreadable, "locked with a password")
    refused(root, "old.xlsx", FileUnreadable, "under another name")
    refused(root, "bad.xls", FileUnreadable, "truncated or damaged")
    refused(root, "zip.xlsx", FileUnreadable, "a zip file without the part `xl/workbook.xml`")
    refused(root, "excel0.xls", FileUnreadable, "it is a worksheet of Excel 5 or older")
    refused(root, "excel4.xls", FileUnreadable, "it is a worksheet of Excel 5 or older")
    refused(root, "dir.xlsx", FileRefused, "it is a directory")


def test_a_part_whose_content_is_damaged_is_refused(book):
    root = book(["id"], *([f"text {i}"] for i in range(2_000)))
    data = bytearray((root / "crm.xlsx").read_bytes())
    with zipfile.ZipFile(root / "crm.xlsx") as archive:
        at = archive.getinfo("xl/worksheets/sheet1.xml").header_offset + 200
    data[at : at + 50] = bytes(50)
    (root / "crm.xlsx").write_bytes(data)

    refused(root, "crm.xlsx", FileUnreadable, "truncated or damaged")


@pytest.mark.slow
def test_a_zip_bomb_is_refused_before_it_unpacks(book):
    root = book(["id"], [1])
    bomb = io.BytesIO()
    with zipfile.ZipFile(root / "crm.xlsx") as honest, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for item in honest.infolist():
            if item.filename != "xl/worksheets/sheet1.xml":
                archive.writestr(item, honest.read(item))
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            for _ in range(200):
                part.write(b" " * 1_000_000)
    (root / "bomb.xlsx").write_bytes(bomb.getvalue())

    refused(root, "bomb.xlsx", FileRefused, "unpacks to 200,")
    refused(root, "crm.xlsx", FileRefused, "unpacks to", max_unpacked=100)


def test_entities_are_refused_and_never_expanded(tmp_path):
    lol = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    ods(tmp_path / "lol.ods", [cell("string", inner="<text:p>&b;</text:p>")], CONTENT.replace("?>", "?>" + lol, 1))

    refused(tmp_path, "lol.ods", FileRefused, "declares a document type")


@pytest.mark.slow
def test_a_workbook_that_needs_too_much_memory_ends_only_its_reader(tmp_path):
    """A small file whose repeated rows are honest XML, but cost gigabytes of cells."""
    row = cell("string", inner=f"<text:p>{'x' * 200}</text:p>").replace(
        "<table:table-cell", '<table:table-cell table:number-columns-repeated="16000"', 1
    )
    ods(tmp_path / "wide.ods", [row] * 3)
    many = CONTENT.format('<table:table-row table:number-rows-repeated="1000000">' + row + "</table:table-row>")
    with zipfile.ZipFile(tmp_path / "bomb.ods", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", many)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    allowed = {"max_repeated": 10**12, "max_unpacked": 10**13}
    refused(tmp_path, "bomb.ods", FileRefused, "takes more than", max_memory=700_000_000, max_seconds=1, **allowed)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


@pytest.mark.slow
def test_the_sheet_is_read_once_until_the_file_changes(book):
    root = book(["id"], [1])
    opened = source(root)
    opened.describe(WorkbookDataset())
    start = time.monotonic()
    assert opened.scan(WorkbookDataset(), ["id"]).reader.read_all().num_rows == 1
    assert time.monotonic() - start < 0.2

    book(["id"], [1], [2])

    assert opened.scan(WorkbookDataset(), ["id"]).reader.read_all().num_rows == 2
    opened.close()
    opened.close()


def children():
    """The processes we have started that still run."""
    return {word for task in Path("/proc/self/task").iterdir() for word in (task / "children").read_text().split()}


@pytest.mark.slow
def test_a_sheet_that_was_begun_is_read_once_and_gives_the_same_answer(book):
    root = book(["id", "name"], [1, "Ada"])
    plain, _ = read(root)
    opened, before = source(root), children()

    opened.begin(WorkbookDataset())
    begun = children() - before
    table = opened.scan(WorkbookDataset(), ["id", "name"]).reader.read_all()

    assert table.equals(plain)
    assert len(begun) == 1
    assert not children() & begun
    opened.begin(WorkbookDataset())
    assert children() <= before
    opened.close()


def test_what_goes_wrong_with_a_sheet_that_was_begun_is_told_when_it_is_asked_for(book):
    opened = source(book(["id"], [1]))

    opened.begin(WorkbookDataset(sheet="Contcts"))

    for _ in range(2):
        with pytest.raises(DatasetMissing, match="Contacts"):
            opened.describe(WorkbookDataset(sheet="Contcts"))
    opened.close()


def test_a_sheet_that_was_begun_and_is_not_asked_for_leaves_no_process(book):
    opened = source(book(["id"], [1], more=[lambda workbook: workbook.add_worksheet("Other").write(0, 0, "x")]))
    before = children()

    opened.begin(WorkbookDataset(sheet="Contacts"))
    assert opened.describe(WorkbookDataset(sheet="Other")).names[0] == "x"
    opened.begin(WorkbookDataset(sheet="Contacts"))
    assert children() - before
    opened.close()

    assert not children() - before


@pytest.mark.slow
def test_a_stop_from_another_thread_ends_the_reader(book):
    opened = source(book(["id"], *([f"text {n}"] for n in range(30_000))))
    opened.begin(WorkbookDataset())

    opened.stop()

    with pytest.raises(ReadStopped, match="stopped half-way"):
        opened.describe(WorkbookDataset())
    assert opened.describe(WorkbookDataset()).names[0] == "id"
    opened.close()
