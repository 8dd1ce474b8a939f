"""What workbooks and Parquet files hold beside plain cells: old text, folders, locks, macros, and much in little."""

import base64
import datetime as dt
import itertools
import json
import struct
import time
import zipfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
import xlsxwriter
import xlwt
from xlwt.CompoundDoc import XlsDoc

from connectors.errors import ConnectorError, FileRefused, FileUnreadable, HeadersDiffer, TypesDiffer
from connectors.files.source import FilesDataset
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.support.files import by_duckdb, records, source

CONTENT = """<?xml version="1.0"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
 <office:body><office:spreadsheet><table:table table:name="S">{}</table:table></office:spreadsheet></office:body>
</office:document-content>"""


def book(folder: Path, name: str, **settings: Any) -> WorkbookSource:
    return WorkbookSource("crm", WorkbookSettings(type="workbook", path=name, **settings), folder)


def cells(folder: Path, name: str, *columns: str, **settings: Any) -> list[tuple[Any, ...]]:
    opened = book(folder, name)
    try:
        table = opened.scan(WorkbookDataset(**settings), columns).reader.read_all()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    finally:
        opened.close()


def refusal(folder: Path, name: str, **settings: Any) -> str:
    opened = book(folder, name, **settings)
    try:
        with pytest.raises(ConnectorError) as caught:
            opened.describe(WorkbookDataset())
        return str(caught.value)
    finally:
        opened.close()


def ods(path: Path, body: str, **more: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        for name, content in {"content.xml": CONTENT.format(body), **more}.items():
            archive.writestr(name, content)


# Old workbooks


def record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def excel_5(path: Path, code_page: int | None, texts: Sequence[bytes]) -> None:
    """A workbook of Excel 5 with one column of these texts."""
    labels = (record(0x204, struct.pack("<HHHH", row, 0, 0, len(text)) + text) for row, text in enumerate(texts))
    extent = record(0x200, struct.pack("<HHHHH", 0, len(texts), 0, 1, 0))
    sheet = record(0x809, struct.pack("<HHHH", 0x500, 0x10, 0, 0)) + extent + b"".join(labels) + record(0x0A)
    head = record(0x809, struct.pack("<HHHH", 0x500, 0x05, 0, 0))
    if code_page is not None:
        head += record(0x42, struct.pack("<H", code_page))
    head += record(0x31, struct.pack("<HHHHHBBBB", 200, 0, 0x7FFF, 400, 0, 0, 0, 0, 0) + b"\x05Arial")
    head += record(0xE0, struct.pack("<HHHHHHHH", 0, 0, 1, 0x20, 0, 0, 0, 0))
    where = len(head) + 4 + 8 + 4
    stream = head + record(0x85, struct.pack("<IBBB", where, 0, 0, 1) + b"S") + record(0x0A) + sheet
    XlsDoc().save(str(path), stream)


@pytest.mark.parametrize(
    ("code_page", "encoding", "text"),
    [
        *((1251, "cp1251", "Москва"), (932, "cp932", "東京"), (437, "cp437", "Köln"), (10000, "mac_roman", "Köln")),
        *((32768, "mac_roman", "Köln"), (32769, "cp1252", "12 €"), (None, "cp1252", "12 €")),
    ],
)
@pytest.mark.slow
def test_text_of_an_old_workbook_is_read_by_its_code_page(
    tmp_path: Path, code_page: int | None, encoding: str, text: str
) -> None:
    excel_5(tmp_path / "a.xls", code_page, [b"id", text.encode(encoding)])

    assert cells(tmp_path, "a.xls", "id") == [(text,)]


def test_an_unknown_code_page_is_refused_by_its_reason(tmp_path: Path) -> None:
    excel_5(tmp_path / "a.xls", 299, [b"id", b"x"])

    assert "code page" in refusal(tmp_path, "a.xls")


def test_durations_and_the_calendar_of_1904_are_read_from_old_workbooks(tmp_path: Path) -> None:
    old = xlwt.Workbook()
    old.dates_1904 = True
    sheet = old.add_sheet("S")
    for place, (name, form, number) in enumerate(
        (("took", "[h]:mm:ss", 1.25), ("day", "yyyy-mm-dd", 60), ("none", "yyyy-mm-dd", -1), ("at", "hh:mm", 0.5))
    ):
        sheet.write(0, place, name)
        sheet.write(1, place, number, xlwt.easyxf(num_format_str=form))
    old.save(str(tmp_path / "a.xls"))

    assert cells(tmp_path, "a.xls", "took", "day", "none", "at") == [
        ("1 day, 6:00:00", dt.date(1904, 3, 1), -1, "12:00:00")
    ]


# What is no day, and texts beside errors


def test_a_date_outside_the_calendar_of_an_ods_is_text(tmp_path: Path) -> None:
    rows = "".join(
        f'<table:table-row><table:table-cell office:value-type="date" office:date-value="{day}"/></table:table-row>'
        for day in ("1899-12-29", "-0044-03-15", "12026-01-01")
    )
    header = '<table:table-cell office:value-type="string"><text:p>d</text:p></table:table-cell>'
    ods(tmp_path / "a.ods", f"<table:table-row>{header}</table:table-row>{rows}")

    assert cells(tmp_path, "a.ods", "d") == [("1899-12-29",), ("-0044-03-15",), ("12026-01-01",)]


@pytest.mark.slow
def test_a_text_like_an_error_is_unreadable_where_a_number_is_declared_and_empty_by_null_values(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as new:
        sheet = new.add_worksheet("S")
        for row, (key, cell) in enumerate((("id", "n"), ("a", 1), ("b", "N/A"), ("c", 3))):
            sheet.write_row(row, 0, [key, cell])
    opened = book(tmp_path, "a.xlsx")
    scan = opened.scan(WorkbookDataset(columns={"n": "integer"}), ["id", "n"])

    assert scan.reader.read_all().column("n").to_pylist() == [1, None, 3]
    assert [(p.column, p.reason, p.first, p.skipped) for p in scan.problems()] == [
        ("n", "not an integer", "a.xlsx, row 3", False)
    ]
    assert cells(tmp_path, "a.xlsx", "id", "n", null_values=("N/A",)) == [("a", 1), ("b", None), ("c", 3)]
    opened.close()


# Locks and macros


def test_workbooks_with_a_password_are_called_locked(tmp_path: Path) -> None:
    old = xlwt.Workbook()
    old.add_sheet("S").write(0, 0, "id")
    stream = old.get_biff_data()
    end = 4 + struct.unpack("<H", stream[2:4])[0]
    XlsDoc().save(str(tmp_path / "a.xls"), stream[:end] + record(0x2F, struct.pack("<HHH48x", 1, 1, 1)) + stream[end:])
    entry = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
    manifest = f'<manifest:manifest xmlns:manifest="urn:m">{entry}</manifest:manifest>'
    ods(tmp_path / "a.ods", "", **{"content.xml": "\x8f\x03 not XML", "META-INF/manifest.xml": manifest})

    assert "locked with a password" in refusal(tmp_path, "a.xls")
    assert "locked with a password" in refusal(tmp_path, "a.ods")


def test_macro_sheets_and_binary_workbooks_are_called_what_they_are(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as new:
        new.add_worksheet("S").write(0, 0, "id")
    for name, part in (("macro.xlsx", "xl/macrosheets/sheet1.xml"), ("binary.xlsb", "xl/workbook.bin")):
        with zipfile.ZipFile(tmp_path / "a.xlsx") as honest, zipfile.ZipFile(tmp_path / name, "w") as second:
            for info in honest.infolist():
                if part.endswith(".xml") or info.filename != "xl/workbook.xml":
                    second.writestr(info, honest.read(info))
            second.writestr(part, "<macrosheet/>")
    old = xlwt.Workbook()
    old.add_sheet("Macro1")
    data = bytearray(old.get_biff_data())
    data[data.find(b"Macro1") - 3] = 1
    XlsDoc().save(str(tmp_path / "macro.xls"), bytes(data))

    assert "macro sheets of Excel 4.0" in refusal(tmp_path, "macro.xlsx")
    assert "a binary workbook (.xlsb)" in refusal(tmp_path, "binary.xlsb")
    assert "no sheet with cells" in refusal(tmp_path, "macro.xls")


# Much in little


@pytest.mark.slow
def test_an_ods_of_a_kilobyte_is_refused_before_it_is_large(tmp_path: Path) -> None:
    number = '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16384"/>'
    row = f"<table:table-row>{number}</table:table-row>"
    repeated = f'<table:table-row table:number-rows-repeated="61">{number}</table:table-row>'
    blanks = '<text:s text:c="1000000"/>' * 3_000
    text = f'<table:table-cell office:value-type="string"><text:p>{blanks}</text:p></table:table-cell>'
    empty = '<table:table-row table:number-rows-repeated="1048576"><table:table-cell/></table:table-row>' * 1_000
    for body in (row * 1_200, repeated * 20, f"<table:table-row>{text}</table:table-row>", empty + row):
        ods(tmp_path / "a.ods", body)
        begun = time.process_time()

        assert (tmp_path / "a.ods").stat().st_size < 1_300
        assert "`max_repeated`" in refusal(tmp_path, "a.ods", max_seconds=10)
        assert time.process_time() - begun < 5


@pytest.mark.slow
def test_a_wide_parquet_file_arrives_in_batches_of_bounded_size(tmp_path: Path) -> None:
    pq.write_table(pa.table({f"c{n}": pa.repeat(n, 65_536) for n in range(500)}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1_000_000
    opened = source(tmp_path)
    scan = opened.scan(FilesDataset(path="a.parquet"), [f"c{n}" for n in range(500)])

    sizes = [(batch.num_rows, batch.nbytes) for batch in scan.reader]

    assert sum(rows for rows, _ in sizes) == 65_536
    assert max(size for _, size in sizes) < 20_000_000
    opened.close()


# Parquet


@pytest.mark.slow
def test_instants_of_nanoseconds_are_instants_and_their_nanoseconds_are_cut(tmp_path: Path) -> None:
    moments = [1_700_000_000_999_999_999, -1, None]
    columns = {"placed": pa.array(moments, pa.timestamp("ns", "UTC")), "naive": pa.array(moments, pa.timestamp("ns"))}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    first = dt.datetime(2023, 11, 14, 22, 13, 20, 999_999, tzinfo=dt.UTC)
    before = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)

    rows, problems = records(tmp_path, "a.parquet")

    assert (rows, problems) == ([(first, first), (before, before), (None, None)], ())
    schema, alone, _ = by_duckdb(tmp_path, "a.parquet", ["placed", "naive"])
    assert alone == rows
    assert schema.types == [pa.timestamp("us", "UTC")] * 2


@pytest.mark.slow
def test_columns_that_differ_only_in_case_are_told_apart_and_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"Id": [1], "ID": [2], "id": [3], "ID_1": [4]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("Id,ID,id,ID_1\n1,2,3,4\n")
    (tmp_path / "a.jsonl").write_text('{"Id": 1, "ID": 2, "id": 3, "ID_1": 4}\n')
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as new:
        sheet = new.add_worksheet("S")
        sheet.write_row(0, 0, ["Id", "ID", "id", "ID_1"])
        sheet.write_row(1, 0, [1, 2, 3, 4])

    for name in ("a.parquet", "a.csv", "a.jsonl"):
        names = source(tmp_path).describe(FilesDataset(path=name)).names
        assert names == ["Id", "ID_2", "id_3", "ID_1", "_file", "_row"]
        assert [str(cell) for cell in records(tmp_path, name)[0][0]] == ["1", "2", "3", "4"]
    assert cells(tmp_path, "a.xlsx", "Id", "ID_2", "id_3", "ID_1") == [(1, 2, 3, 4)]
    [problem] = source(tmp_path).warnings(FilesDataset(path="a.parquet"), None)
    assert "`Id` appears more than once in the header and is read as `Id`, `ID_2`, `id_3`" in problem.reason


@pytest.mark.slow
def test_names_of_ours_in_a_file_do_not_take_the_place_of_ours(tmp_path: Path) -> None:
    pq.write_table(pa.table({"_file": ["x"], "_Row": [5], "filename": ["y"]}), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text('{"_file": "x", "_Row": "5", "filename": "y"}\n')

    for name in ("a.parquet", "a.jsonl"):
        wanted = ["_file_2", "_Row_2", "filename", "_file"]
        [row] = records(tmp_path, name, wanted)[0]
        assert [str(cell) for cell in row] == ["x", "5", "y", name]


class Keys(pe.KmsClient):  # type: ignore[misc]
    """Wraps keys by writing them down."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(master_key_identifier.encode() + key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)[len(master_key_identifier) :]


@pytest.mark.parametrize("plain_footer", [False, True])
def test_an_encrypted_parquet_file_is_called_so(tmp_path: Path, plain_footer: bool) -> None:
    settings = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["id"]}, plaintext_footer=plain_footer)
    factory = pe.CryptoFactory(lambda _: Keys())
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
    table = pa.table({"id": [1], "v": [2]})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)

    with pytest.raises(FileUnreadable, match="it is encrypted; write it without encryption"):
        records(tmp_path, "a.parquet")


@pytest.mark.slow
def test_a_parquet_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    wrong = pa.array([b"ok", b"\xff\xfe"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": [1, 2], "note": wrong}), tmp_path / "text.parquet")
    pq.write_table(pa.table({"id": range(1_000)}), tmp_path / "whole.parquet")
    long = pa.array([Decimal("12345678901234567.01")], pa.decimal256(39, 2))
    pq.write_table(pa.table({"id": [1], "v": long}), tmp_path / "long.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "csv.parquet").write_bytes(b"id,name\n1,2\n")
    (tmp_path / "empty.parquet").write_bytes(b"")

    for name, sentence in (
        ("long", "column 'v' has decimals of 39 digits, which cannot be compared exactly"),
        ("text", "column 'note' holds text that is not UTF-8"),
        ("cut", "the Parquet file is truncated or damaged"),
        ("csv", "it is not a Parquet file"),
        ("empty", "it is empty"),
    ):
        with pytest.raises(FileUnreadable, match=f"{name}.parquet: .*{sentence}"):
            records(tmp_path, f"{name}.parquet")


@pytest.mark.slow
def test_nested_columns_of_parquet_tell_records_apart(tmp_path: Path) -> None:
    """They were left out without a word, so that `key: all` took two records for one."""
    nested = {
        "id": [1, 2, 3, 4],
        "tags": [["a, b"], ["a", "b"], ["NULL"], [None]],
        "point": [{"x": Decimal("1.20")}, {"x": Decimal("1.30")}, {"x": None}, None],
    }
    pq.write_table(pa.table(nested), tmp_path / "nested.parquet")

    rows, _ = records(tmp_path, "nested.parquet")

    assert [row[0] for row in rows] == [1, 2, 3, 4]
    assert len({row[1] for row in rows}) == 4
    assert [row[2] for row in rows] == ["{'x': 1.20}", "{'x': 1.30}", "{'x': NULL}", None]


def test_a_key_that_only_the_last_json_line_has_is_a_column(tmp_path: Path) -> None:
    lines = [json.dumps({"id": n}) for n in range(1_500)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, '{"id": 1500, "Id": 7, "late": "x"}', ""]))

    opened = source(tmp_path)
    described = opened.describe(FilesDataset(path="a.jsonl"))

    assert described.names[:3] == ["id", "Id_2", "late"]
    assert records(tmp_path, "a.jsonl")[0][-1][2] == "x"
    assert "`id` appears more than once" in opened.warnings(FilesDataset(path="a.jsonl"), None)[0].reason
    opened.close()


@pytest.mark.slow
def test_the_file_of_several_that_cannot_be_read_is_the_one_that_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "note": ["a", "b"]}), tmp_path / "a.parquet")
    wrong = pa.array([b"ok", b"\xff\xfe"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": [1, 2], "note": wrong}), tmp_path / "b.parquet")
    opened = source(tmp_path)

    told = opened.failure(FilesDataset(path="*.parquet"), RuntimeError("utf8"))

    assert "b.parquet: column 'note' holds text that is not UTF-8" in str(told)
    opened.close()


# Folders


def put(root: Path, folder: str) -> None:
    """A file of each format below that folder."""
    (root / folder).mkdir(parents=True)
    pq.write_table(pa.table({"id": ["1"]}), root / folder / "f.parquet")
    (root / folder / "f.csv").write_text("id\n1\n")
    (root / folder / "f.jsonl").write_text('{"id": "1"}\n')


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.slow
def test_folders_are_columns_only_where_the_dataset_says_so(tmp_path: Path, form: str) -> None:
    for year, month in itertools.product(("2025", "2026"), ("01", "a%2Fb", "__HIVE_DEFAULT_PARTITION__")):
        put(tmp_path, f"year={year}/month={month}")

    rows, _ = records(tmp_path, f"**/f.{form}", ["id", "month", "year"], partitions=True, columns={"year": "integer"})

    assert sorted(rows, key=str) == [
        ("1", month, year) for month, year in itertools.product(("01", "a/b", None), (2025, 2026))
    ]
    assert source(tmp_path).describe(FilesDataset(path=f"**/f.{form}")).names == ["id", "_file", "_row"]
    assert by_duckdb(tmp_path, f"**/f.{form}", ["year"], partitions=True) is None


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_folders_that_differ_or_are_named_like_a_column_are_refused(tmp_path: Path, form: str) -> None:
    put(tmp_path, "a/year=2025")
    put(tmp_path, "a/month=1")
    put(tmp_path, "id=1")

    with pytest.raises(HeadersDiffer):
        records(tmp_path, f"a/*/f.{form}", partitions=True)
    with pytest.raises(FileRefused, match="its folder and the file both have a column 'id'"):
        records(tmp_path, f"id=1/f.{form}", partitions=True)
    assert records(tmp_path, f"id=1/f.{form}")[0] == [("1",)]


@pytest.mark.slow
def test_a_column_with_another_type_in_another_parquet_file_is_refused_with_both(tmp_path: Path) -> None:
    for name, kind in (("a", pa.int64()), ("b", pa.int32())):
        pq.write_table(pa.table({"id": pa.array([1], kind)}), tmp_path / f"{name}.parquet")

    with pytest.raises(TypesDiffer, match=r"Column 'id' is int32 in b\.parquet and int64 in a\.parquet; files of one"):
        records(tmp_path, "*.parquet")
