"""Ugly input: read exactly, or refused in one clear sentence, in bounded time and memory."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from connectors.errors import FileRefused, FileUnreadable, SourceMissing
from connectors.files.source import FilesDataset
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.support.files import by_duckdb, records, source
from tests.support.folders import ROOT, SHARED

UGLY = SHARED / "ugly"
SPECTRUM = sorted((UGLY / "csv-spectrum").glob("*.csv"))
there = pytest.mark.skipif(not UGLY.is_dir(), reason="the shared data is not here")


def quickly(action, error, sentence, seconds=5.0):
    start = time.monotonic()
    with pytest.raises(error, match=sentence):
        action()
    assert time.monotonic() - start < seconds


def spectrum(path):
    """What the JSON beside a file says, less where the two disagree about what the file's bytes are."""
    document = json.loads(path.with_suffix(".json").read_text())
    rows = [document] if isinstance(document, dict) else document
    if path.stem == "location_coordinates":
        rows[0]["Contact Phone Number"] = "2095257564"  # another number in the CSV
    if b"\r" not in path.read_bytes():  # a checkout took the carriage returns away
        rows = [{name: value.replace("\r\n", "\n") for name, value in row.items()} for row in rows]
    return rows


@there
@pytest.mark.parametrize("path", SPECTRUM, ids=lambda path: path.stem)
@pytest.mark.slow
def test_each_file_of_the_csv_spectrum_is_read_as_its_json_says(path):
    expected = spectrum(path)
    columns = list(expected[0])

    rows, problems = records(path.parent, path.name, columns)

    assert rows == [tuple(row[column] or None for column in columns) for row in expected]
    assert problems == ()
    assert sorted(by_duckdb(path.parent, path.name, columns)[1], key=repr) == sorted(rows, key=repr)
    described = source(path.parent).describe(FilesDataset(path=path.name)).names
    assert described == [*columns, "_file", "_row"]


@pytest.fixture(scope="module")
def naughty():
    if not UGLY.is_dir():
        pytest.skip("the shared data is not here")
    return json.loads((UGLY / "naughty-strings.json").read_text())


@pytest.mark.slow
@there
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "parquet"])
def test_naughty_strings_come_back_byte_for_byte(tmp_path, naughty, suffix):
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"n": [str(i) for i in range(len(naughty))], "s": naughty}), path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps({"n": str(i), "s": s}) + "\n" for i, s in enumerate(naughty)))
    else:
        text = io.StringIO(newline="")
        csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("n", "s"), *enumerate(naughty)])
        data = text.getvalue().encode()
        path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)

    rows, problems = records(tmp_path, path.name, ["n", "s"])

    assert rows == [(str(i), (s if suffix == "parquet" else s or None)) for i, s in enumerate(naughty)]
    assert problems == ()
    if suffix != "jsonl":
        assert sorted(by_duckdb(tmp_path, path.name, ["n", "s"])[1], key=repr) == sorted(rows, key=repr)


def survives_xml(text: str) -> bool:
    """Characters XML 1.0 cannot hold are not in a workbook in the first place."""
    return all(c in "\t\n" or 0x20 <= ord(c) <= 0xD7FF or 0xE000 <= ord(c) <= 0xFFFD or ord(c) > 0xFFFF for c in text)


@pytest.mark.slow
@there
def test_naughty_strings_come_back_from_a_workbook(tmp_path, naughty):
    kept = [s for s in naughty if s and survives_xml(s)]
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        page = workbook.add_worksheet()
        page.write_string(0, 0, "s")
        for i, s in enumerate(kept, 1):
            page.write_string(i, 0, s)

    opened = WorkbookSource("x", WorkbookSettings(type="workbook", path="a.xlsx"), tmp_path)
    values = opened.scan(WorkbookDataset(), ["s"]).reader.read_all().column("s").to_pylist()
    opened.close()

    assert len(kept) > len(naughty) - 10
    assert values == kept


@pytest.mark.slow
@there
def test_naughty_names_of_columns_and_files_are_only_names(tmp_path, naughty):
    names = [s for s in naughty if s.strip() and "\0" not in s and "\ufeff" not in s[:1]]
    with (tmp_path / "a'; drop table x; --.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, [str(i) for i in range(len(names))]])

    opened = source(tmp_path)
    dataset = FilesDataset(path="a'; drop table x; --.csv", delimiter=",")
    described = [n for n in opened.describe(dataset).names if n not in ("_file", "_row")]
    row = opened.scan(dataset, described).reader.read_all().to_pylist()
    scan = opened.duck_scan(dataset, ["_file", *described])
    opened.close()

    assert list(row[0].values()) == [str(i) for i in range(len(names))]
    assert scan is not None


def test_a_file_cut_inside_a_quote_is_never_read(tmp_path):
    text = "id,note\n" + "".join(f'{i},"some, ""text"" {i}"\n' for i in range(20_000))
    cut = text[: text.rindex('"')]
    (tmp_path / "a.csv").write_text(cut)

    quickly(lambda: records(tmp_path, "a.csv"), FileUnreadable, r"a\.csv:20001: a quote opened on this line")


@pytest.mark.slow
def test_a_quote_that_is_never_closed_in_a_large_file_is_told_at_its_line(tmp_path):
    (tmp_path / "a.csv").write_text('id,note\n1,"x\n' + "2,abcdefghij\n" * 2_000_000)

    quickly(lambda: records(tmp_path, "a.csv"), FileUnreadable, r"a\.csv:2: a quote opened on this line")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_line_of_two_gigabytes_is_refused_in_little_memory(tmp_path, name):
    with (tmp_path / name).open("wb") as file:
        file.write(b"a,b\n1,2\n" if name == "a.csv" else b'{"a": 1}\n')
        file.truncate(2 << 30)
    script = (
        "import re, sys; from pathlib import Path; from tests.support.files import records\n"
        "try: records(Path(sys.argv[1]), sys.argv[2])\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    start = time.monotonic()

    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), name],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    ).stdout.splitlines()  # fmt: skip

    assert time.monotonic() - start < 5
    assert "longer than 2,000,000 bytes" in done[0]
    assert int(done[-1]) < 512 * 1024


@pytest.mark.slow
def test_a_gzip_bomb_is_refused_in_little_time(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(b"a,b\n")
        for _ in range(100):
            file.write(bytes(1 << 20))

    quickly(lambda: records(tmp_path, "a.csv.gz"), FileRefused, "longer than 2,000,000 bytes")


def test_a_directory_a_fifo_and_a_link_out_of_the_root_are_refused(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (root / "dir.csv").mkdir()
    os.mkfifo(root / "pipe.csv")
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    (root / "gone.csv").symlink_to(tmp_path / "nothing.csv")
    (root / "up").symlink_to(tmp_path)

    quickly(lambda: records(root, "dir.csv"), FileRefused, r"dir\.csv is not read: it is a directory")
    quickly(lambda: records(root, "pipe.csv"), FileRefused, r"pipe\.csv is not read: it is not a regular file")
    quickly(lambda: records(root, "p*.csv"), FileRefused, "not a regular file")
    quickly(lambda: records(root, "link.csv"), FileRefused, "links to a place outside")
    quickly(lambda: records(root, "up/secret.csv"), FileRefused, "links to a place outside")
    quickly(lambda: records(root, "gone.csv"), FileRefused, "cannot be opened")
    quickly(lambda: records(root, "../secret.csv"), FileRefused, "not below the root")
    quickly(lambda: records(root, str(tmp_path / "secret.csv")), FileRefused, "not below the root")
    quickly(lambda: records(root, "a\0.csv"), FileRefused, "NUL")
    quickly(lambda: records(root, "/dev/zero"), FileRefused, "not below the root")
    quickly(lambda: records(root / "none", "a.csv"), SourceMissing, "folder not found")


def test_a_link_inside_the_root_is_followed(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "latest.csv").symlink_to("a.csv")

    assert records(tmp_path, "latest.csv", ["a", "_file"])[0] == [("1", "latest.csv")]


def test_a_file_nobody_may_read_is_told(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "a.csv").chmod(0)

    quickly(lambda: records(tmp_path, "a.csv"), FileUnreadable, "a.csv")
