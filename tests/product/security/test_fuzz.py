"""Random damage to files and their names: each is read or refused in one sentence, and nothing outside is opened.

A short form runs in CI; `make chaos` goes on for minutes.
"""

import ctypes
import faulthandler
import gzip
import io
import os
import random
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from connectors.disk.opened_file import open_beneath
from connectors.errors import ConnectorError
from connectors.files.source import FilesDataset, FilesSettings, FilesSource
from connectors.workbook.guard import WorkbookLimits, kind_of
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.support.chance import SEED, lasting

SHORT = 5
"""Seconds, for each of the two."""
HANGS = 120
CANARY = "canary-of-the-outside"
IN_ACCESS, IN_OPEN, IN_NONBLOCK = 0x1, 0x20, 0o4000
NAMES = (
    "a",
    "pay-s[e]cret",
    "pay-secre?",
    "*",
    "**",
    "p*",
    "[!x]*",
    "a'b",
    'a"b',
    "a\nb",
    "{a,b}",
    "~",
    "$HOME",
    "é",
    "%s",
)
TOKENS = (
    *(
        b"\x00",
        b"\r",
        b"\n",
        b"\r\n",
        b'"',
        b'""',
        b",",
        b";",
        b"\t",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x80",
        b"\xed\xa0\x80",
    ),
    *(
        b"sep=;\n",
        b"=1+1",
        b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>",
        b"&a;",
        b"]]>",
        b"<!--",
        b"PK\x03\x04",
    ),
    *(b"1e999999999", b"-1", b"99999999999999999999", b'table:number-rows-repeated="-7"', b"NaN", b"{", b"[" * 2000),
    *(b'table:number-columns-repeated="999999999"', b'r="XFD1048576"', b'r="ZZZZ9999999999"', b't="e"', b"\x1f\x8b"),
)
ROWS = (
    '<table:table-row><table:table-cell office:value-type="{}"><text:p>id</text:p></table:table-cell></table:table-row>'
)
CONTENT = (
    '<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
    f'<table:table table:name="S">{ROWS.format("string")}{ROWS.format("float")}</table:table>'
    "</office:spreadsheet></office:body></office:document-content>"
)


@contextmanager
def watched(canary: Path) -> Iterator[None]:
    """Fail when anybody opened or read the canary meanwhile."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.inotify_init1(IN_NONBLOCK)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    assert library.inotify_add_watch(descriptor, os.fsencode(canary), IN_ACCESS | IN_OPEN) >= 0
    try:
        yield
        with pytest.raises(BlockingIOError):
            os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A root with links out of it under every name that a pattern could mean."""
    (tmp_path / "root").mkdir()
    canary = tmp_path / "canary.csv"
    canary.write_text(f"id\n{CANARY}\n")
    for name in ("pay-secret", "b", "x"):
        for form in ("csv", "csv.gz", "json", "jsonl", "parquet", "xlsx", "ods", "tsv", "jsonl.gz"):
            (tmp_path / "root" / f"{name}.{form}").symlink_to(canary)
    with watched(canary):
        yield tmp_path / "root"


def test_the_watch_sees_a_canary_that_is_read(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("x")

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"), watched(canary):
        canary.read_text()


def damaged(chance: random.Random, data: bytes) -> bytes:
    """The same with a few changes."""
    content = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 5, 20))):
        at = chance.randrange(len(content) + 1)
        to = min(len(content), at + chance.choice((0, 1, 2, 8, 100)))
        kind = chance.randrange(5)
        if kind == 0:
            content[at:at] = chance.choice(TOKENS)
        elif kind == 1:
            content[at:to] = b""
        elif kind == 2:
            content[at:to] = chance.randbytes(to - at)
        elif kind == 3:
            content[at:at] = content[at:to] * chance.choice((1, 3, 300))
        else:
            del content[at:]
    return bytes(content)


def for_a_while(chance: random.Random, case: Callable[[], str]) -> int:
    """Case after case; a hang ends the process with a traceback, and a message with the seed."""
    cases, end = 0, time.monotonic() + SHORT
    is_over = lasting(0.05, lambda: time.monotonic() > end)
    while not is_over() or cases < 50:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        told = case()
        faulthandler.cancel_dump_traceback_later()
        assert CANARY not in told, f"seed {SEED}, case {cases}: {told}"
        cases += 1
    return cases


# Text


def texts(chance: random.Random) -> tuple[str, bytes]:
    """A format and an honest content in it."""
    mark, end = chance.choice(",;\t|"), chance.choice(("\n", "\r\n", "\r"))
    rows = [["id", "name", "note"], *([str(n), f"név {n}", f'"x{mark}{end}{n}"'] for n in range(chance.randrange(60)))]
    text = "".join(mark.join(row) + end for row in rows)
    data = text.encode(chance.choice(("utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-32")))
    form = chance.choice(("csv", "csv", "csv.gz", "tsv", "jsonl", "jsonl.gz", "json", "json.gz", "parquet"))
    if form.startswith("json"):
        data = b"".join(b'{"id": %d, "n": [1, {"a": "\\u00e9"}], "t": null}\n' % n for n in range(chance.randrange(60)))
    if form.startswith("json") and "l" not in form:
        data = b"[" + b",".join(data.splitlines()) + b"]"
    if form == "parquet":
        file = io.BytesIO()
        pq.write_table(
            pa.table({"id": range(50), "name": ["é"] * 50}), file, compression=chance.choice(("none", "zstd"))
        )
        data = file.getvalue()
    return form, damaged(chance, data) if form.endswith("gz") else data


def read_text(chance: random.Random, root: Path, path: str) -> str:
    """Everything that both ways of reading say, values and sentences."""
    source = FilesSource("bank", FilesSettings(type="files", max_unpacked=50_000_000), root)
    values: list[str] = []
    try:
        dataset = FilesDataset(
            path=path,
            encoding=chance.choice((None, None, None, "cp1252", "utf-16", "utf-7", "rot13", "no-such")),
            header=chance.choice((True, True, False)),
            skip=chance.choice((0, 0, 1, 1000)),
            columns=chance.choice(({}, {}, {"id": "integer"}, {"id": "decimal", "name": "instant"})),
        )
        names = source.describe(dataset).names
        values.append(str(names))
        scan = source.scan(dataset, names)
        values.append(str(scan.reader.read_all().slice(0, 100).to_pydict()) + str(scan.problems()))
        values.append(str(source.warnings(dataset, names)))
        duck = source.duck_scan(dataset, [name for name in names if name != "_row"])
        if duck is not None:
            with duckdb.connect(config={"threads": "1"}) as con:
                try:
                    values.append(str(con.execute(duck.sql).fetchmany(100)))
                except duckdb.Error as error:
                    raise source.failure(dataset, error) from error
    except ConnectorError as error:
        sentence = str(error)
        assert "Traceback" not in sentence, sentence
        values.append(sentence)
    finally:
        source.close()
    return "\n".join(values)


@pytest.mark.chaos
def test_damaged_text_under_any_name_is_read_or_refused_and_the_canary_stays_unread(root: Path) -> None:
    chance = random.Random(SEED)

    def case() -> str:
        form, data = texts(chance)
        data = damaged(chance, data)
        file = root / f"{chance.choice(NAMES)}.{form}"
        file.write_bytes(gzip.compress(data, 1) if form.endswith("gz") and chance.random() < 0.8 else data)
        try:
            return read_text(chance, root, file.name)
        finally:
            file.unlink()

    assert for_a_while(chance, case) >= 50


# Workbooks


def books(chance: random.Random, folder: Path) -> dict[str, bytes]:
    """The parts of an honest workbook."""
    if chance.random() < 0.5:
        return {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": CONTENT.encode()}
    with xlsxwriter.Workbook(folder / "honest.book") as book:
        sheet = book.add_worksheet("S")
        for row in range(chance.randrange(1, 20)):
            sheet.write_row(row, 0, [f"id {row}", row, row / 3])
    with zipfile.ZipFile(folder / "honest.book") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(chance: random.Random, parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in parts.items():
            broken = damaged(chance, content) if chance.random() < 0.3 else content
            if chance.random() < 0.05:
                broken = broken.decode("utf-8", "replace").encode(
                    chance.choice(("utf-16", "utf-32", "utf-7", "cp037")), "replace"
                )
            archive.writestr(name if chance.random() < 0.97 else f"../{name}", broken)
    data = bytearray(file.getvalue())
    if chance.random() < 0.3:  # the sizes that the directory tells
        at = data.rfind(b"PK\x01\x02")
        struct.pack_into("<I", data, at + chance.choice((20, 24)), chance.choice((0, 1, 2**31, 2**32 - 1)))
    return damaged(chance, bytes(data)) if chance.random() < 0.5 else bytes(data)


@pytest.mark.chaos
def test_damaged_workbooks_are_passed_or_refused_by_the_guard_and_its_reader(root: Path, tmp_path: Path) -> None:
    chance, limits = random.Random(SEED), WorkbookLimits(50_000_000, 1_000_000_000, 20)
    passed = 0

    def case() -> str:
        nonlocal passed
        data = packed(chance, books(chance, tmp_path))
        if chance.random() < 0.05:
            data = damaged(chance, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + chance.randbytes(2000))
        file = root / f"{chance.choice(NAMES)}.{chance.choice(('xlsx', 'ods', 'xls'))}"
        file.write_bytes(data)
        try:
            kind = kind_of(open_beneath(root, file.name), limits)
            passed += 1
            return kind if passed % 10 else read_workbook(root, file.name)
        except ConnectorError as error:
            return str(error)
        finally:
            file.unlink()

    assert for_a_while(chance, case) >= 50
    assert passed


def read_workbook(root: Path, name: str) -> str:
    settings = WorkbookSettings(
        type="workbook", path=name, max_unpacked=50_000_000, max_memory=1_000_000_000, max_seconds=20
    )
    source = WorkbookSource("crm", settings, root)
    try:
        table = source.scan(WorkbookDataset(), source.describe(WorkbookDataset()).names).reader.read_all()
        return str(table.slice(0, 100).to_pydict())
    finally:
        source.close()
