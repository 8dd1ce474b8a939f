"""Small files that mean much: refused with the limit and the setting that raises it, in little memory and room."""

import gzip
import multiprocessing
import os
import resource
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from connectors.disk.opened_file import unpacked_limit
from connectors.errors import ConnectorError, FileRefused, FileUnreadable
from connectors.files.source import FilesDataset, FilesSettings, FilesSource
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource

CONTENT = """<?xml version="1.0"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
 <office:body><office:spreadsheet><table:table table:name="S">{}</table:table></office:spreadsheet></office:body>
</office:document-content>"""


def packed(path: Path, line: bytes, size: int) -> Path:
    with gzip.open(path, "wb", 6) as file:
        file.write(b'{"a": 1}\n' if path.name.endswith("jsonl.gz") else b"a,b\n")
        for _ in range(size // (len(line) * 1000)):
            file.write(line * 1000)
    return path


def files(folder: Path, name: str, **settings: int) -> FilesSource:
    return FilesSource("bank", FilesSettings(type="files", **settings), folder)


def read(source: FilesSource, path: str, **settings: str) -> int:
    dataset = FilesDataset(path=path, **settings)
    try:
        names = source.describe(dataset).names
        return source.scan(dataset, names).reader.read_all().num_rows
    finally:
        source.close()


def ods(path: Path, rows: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", CONTENT.format(rows))
    return path


def workbook(folder: Path, name: str, **settings: int) -> list[str]:
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path=name, **settings), folder)
    try:
        return source.describe(WorkbookDataset()).names
    finally:
        source.close()


def refused(read: Callable[[], object], *words: str, kind: type[ConnectorError] = FileRefused) -> None:
    """One sentence with these words, in a few seconds."""
    begin = time.monotonic()
    with pytest.raises(kind) as refusal:
        read()
    sentence = str(refusal.value)
    assert all(word in sentence for word in words), sentence
    assert "\n" not in sentence
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    ("name", "line", "settings"),
    [
        ("a.csv.gz", "1,caf\xe9\n".encode("cp1252"), {}),
        ("a.csv.gz", b"1,2\n", {}),
        ("a.csv.gz", b"1,2\r\n3,4\n", {}),
        ("a.csv.gz", b"1,\x80\n", {"encoding": "cp1252"}),
        ("a.jsonl.gz", b'{"a": 1}\n', {}),
    ],
)
@pytest.mark.slow
def test_a_compressed_file_unpacks_to_no_more_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: bytes, settings: dict[str, str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    packed(tmp_path / name, line, 4_000_000)
    free = os.statvfs(tmp_path)

    refused(
        lambda: read(files(tmp_path, name, max_unpacked=2_000_000), name, **settings),
        *(name, "unpack to more than 2,000,000", "`max_unpacked`"),
    )

    assert (free.f_bfree - os.statvfs(tmp_path).f_bfree) * free.f_bsize < 500_000_000  # others write there, too
    assert read(files(tmp_path, name, max_unpacked=16_000_000), name, **settings) > 100_000


@pytest.mark.slow
def test_a_copy_counts_as_the_file_it_is_a_copy_of(tmp_path: Path) -> None:
    """A character of one byte becomes three, and a field is quoted."""
    packed(tmp_path / "a.csv.gz", b"1," + b"\x80" * 100 + b"\n", 8_000_000)
    packed(tmp_path / "b.csv.gz", b"\n".join([b"1,2\r"] * 9 + [b'3,"x\r']) + b'"\n', 8_000_000)

    refused(
        lambda: read(files(tmp_path, "a", max_unpacked=10_000_000), "a.csv.gz", encoding="cp1252"),
        "unpack to more than 10,000,000",
    )
    refused(lambda: read(files(tmp_path, "b", max_unpacked=10_000_000), "b.csv.gz"), "unpack to more than 10,000,000")


@pytest.mark.slow
def test_six_hundred_kilobytes_may_not_become_gigabytes_when_nobody_said_a_limit(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.csv.gz", b"1,caf\xe9                             \n", 510_000_000)
    assert path.stat().st_size < 5_000_000
    assert unpacked_limit(path.stat().st_size) == 500_000_000

    refused(lambda: read(files(tmp_path, "a.csv.gz"), "a.csv.gz"), "unpack to more than 500,000,000")


def test_an_honest_compressed_file_needs_no_word() -> None:
    assert unpacked_limit(200_000_000) == 20_000_000_000
    assert unpacked_limit(20_000_000) == 2_000_000_000


@pytest.mark.slow
def test_parquet_pages_that_say_they_unpack_to_more_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([0] * 5_000_000, pa.int8())}), tmp_path / "rows.parquet")
    pq.write_table(
        pa.table({"a": ["x" * 2_000_000 + str(n) for n in range(10)]}), tmp_path / "text.parquet", compression="zstd"
    )
    assert (tmp_path / "rows.parquet").stat().st_size < 20_000

    for name in ("rows.parquet", "text.parquet"):
        refused(
            lambda name=name: read(files(tmp_path, name, max_unpacked=1_000_000), name),
            *(name, "unpack to more than 1,000,000", "`max_unpacked`"),
        )
        assert read(files(tmp_path, name), name) > 0


@pytest.mark.parametrize("cell", ['office:value-type="float" office:value="1"', 'office:value-type="string"'])
def test_an_ods_of_half_a_kilobyte_may_not_repeat_its_cells_a_hundred_million_times(tmp_path: Path, cell: str) -> None:
    text = "<text:p>x</text:p>" if "string" in cell else ""
    row = f'<table:table-cell {cell} table:number-columns-repeated="90">{text}</table:table-cell>'
    ods(tmp_path / "a.ods", f'<table:table-row table:number-rows-repeated="1000000">{row}</table:table-row>')
    assert (tmp_path / "a.ods").stat().st_size < 700
    multiprocessing.active_children()  # counts the children of earlier tests now, and not among ours
    subprocess.run(["true"], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss

    refused(lambda: workbook(tmp_path, "a.ods"), "a.ods", "more than 2,000,000", "`max_repeated`")

    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 1_500_000)


def test_repeated_text_counts_by_its_length(tmp_path: Path) -> None:
    cell = f'<table:table-cell office:value-type="string" {{}}><text:p>{"x" * 30_000}</text:p></table:table-cell>'
    row = cell.format('table:number-columns-repeated="1000"')
    ods(tmp_path / "a.ods", f'<table:table-row table:number-rows-repeated="100">{row}</table:table-row>')
    blanks = '<text:p>x<text:s text:c="2000000000"/></text:p>'
    ods(
        tmp_path / "b.ods",
        f'<table:table-row><table:table-cell office:value-type="string">{blanks}</table:table-cell></table:table-row>',
    )

    refused(lambda: workbook(tmp_path, "a.ods"), "100,000,000 bytes", "`max_unpacked`")
    refused(lambda: workbook(tmp_path, "b.ods"), "damaged", kind=FileUnreadable)


@pytest.mark.slow
def test_repeats_in_honest_workbooks_need_no_word(tmp_path: Path) -> None:
    cell = '<table:table-cell office:value-type="string" {}><text:p>{}</text:p></table:table-cell>'
    header = "".join(cell.format("", name) for name in ("id", "ok", "note"))
    same = cell.format('table:number-columns-repeated="3"', "yes")
    ods(
        tmp_path / "a.ods",
        f"<table:table-row>{header}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="1000">{same}</table:table-row>'
        '<table:table-row table:number-rows-repeated="1000000"><table:table-cell '
        'table:number-columns-repeated="16384"/></table:table-row>',
    )

    assert workbook(tmp_path, "a.ods")[:3] == ["id", "ok", "note"]


@pytest.mark.slow
def test_the_reader_of_workbooks_writes_no_more_than_its_limit(tmp_path: Path) -> None:
    """A text that is shared by many cells stands in the file once."""
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet("S")
        sheet.write(0, 0, "note")
        for row in range(1, 3_000):
            sheet.write(row, 0, "x" * 10_000)

    refused(lambda: workbook(tmp_path, "a.xlsx", max_unpacked=1_000_000), "1,000,000 bytes", "`max_unpacked`")
    assert workbook(tmp_path, "a.xlsx")[0] == "note"


PADDING = 3_000_000
"""Bytes before a declaration: more than the first piece of a part."""


@pytest.mark.parametrize(
    ("part", "encoding", "padding"),
    [
        *(
            ("content.xml", encoding, padding)
            for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig")
            for padding in (0, PADDING)
        ),
        *(
            (part, *form)  # every part is searched by the same function
            for part in ("xl/workbook.xml", "xl/worksheets/SHEET1.XML", "xl/sheet1.bin")
            for form in (("utf-8", PADDING), ("utf-16-le", 0))
        ),
    ],
)
@pytest.mark.slow
def test_a_document_type_is_found_in_every_encoding_and_behind_padding(
    tmp_path: Path, part: str, encoding: str, padding: int
) -> None:
    filler = f"<!--{'x' * padding}-->" if padding else ""
    declared = "utf-16" if encoding.startswith("utf-16") else "utf-8"
    text = f'<?xml version="1.0" encoding="{declared}"?>{filler}<!DOCTYPE x [<!ENTITY a "aaa">]><x>&a;</x>'
    with zipfile.ZipFile(tmp_path / "a.ods", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part, text.encode(encoding))
        if part != "content.xml":
            archive.writestr("content.xml", CONTENT.format(""))

    refused(lambda: workbook(tmp_path, "a.ods"), "declares a document type")


def test_a_workbook_with_two_parts_of_one_name_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
        archive.writestr("content.xml", CONTENT.format(""))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("content.xml", CONTENT.format(""))

    refused(lambda: workbook(tmp_path, "a.ods"), "two of its parts have the same name")
