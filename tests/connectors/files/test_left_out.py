"""What a reader returns is compared with what stands in the files, and records are left out only where that is said."""

import gzip
import json
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest
import xlsxwriter

from connectors.errors import ConnectorError, FileRefused, FileUnreadable, RecordsLost
from connectors.files.csv import reader
from connectors.files.json.located import Located
from connectors.files.source import FilesDataset
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from reconcile.cleaning.planning.binding import bound
from reconcile.config.settings import DatasetConfig
from tests.support.files import by_duckdb, records, source

GOOD = "".join(f"{n},x\n" for n in range(300))


def warnings(folder, path, **settings):
    opened = source(folder)
    try:
        return [
            (p.reason, p.records, p.first, p.skipped)
            for p in opened.warnings(FilesDataset(path=path, **settings), None)
        ]
    finally:
        opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("path", ["a.csv*", "*"])
def test_a_header_cell_with_another_line_end_loses_no_record(tmp_path, name, path):
    content = b'a,"b\nc",d\r\n1,2,3\r\n4,5,6\r\n'
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    if path == "*":
        (tmp_path / "b.csv").write_bytes(b'a,"b\nc",d\n7,8,9\n')

    expected = [("1", "2", "3"), ("4", "5", "6"), *([("7", "8", "9")] if path == "*" else [])]
    assert records(tmp_path, path)[0] == expected
    assert sorted(by_duckdb(tmp_path, path, ["a", "b\nc", "d"])[1]) == expected


@pytest.mark.parametrize("path", ["a.csv", "*.csv"])
def test_a_file_whose_reader_loses_records_is_refused_with_both_counts(tmp_path, monkeypatch, path):
    """A reader that ends early without an error, as DuckDB's does on some line ends."""
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("a,b\n5,6\n")
    whole = reader.reader
    monkeypatch.setattr(reader, "reader", lambda files, nulls: f"(from {whole(files, nulls)} where c0 <> '3')")

    with pytest.raises(RecordsLost, match=r"^a\.csv holds 2 records, but 1 were read"):
        records(tmp_path, path)
    with pytest.raises(RecordsLost, match=r"^a\.csv holds 2 records, but 1 were read"):
        by_duckdb(tmp_path, path, ["a"])


def test_json_lines_are_counted_again_too(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text('{"a":1}\n\n  \n{"a":2}')
    assert records(tmp_path, "a.jsonl")[0] == [("1",), ("2",)]

    monkeypatch.setattr("connectors.files.json.reader.JsonFile._records", lambda _: iter([Located(1, 1, {"a": "1"})]))
    with pytest.raises(RecordsLost, match=r"^a\.jsonl holds 2 records, but 1 were read"):
        records(tmp_path, "a.jsonl", ["a"])


def test_malformed_records_are_refused_unless_the_dataset_skips_them(tmp_path):
    (tmp_path / "a.csv").write_text(f'id,b\n{GOOD}1,2,3\n8,"x"y\n9,z\n')

    with pytest.raises(FileUnreadable, match=r"a\.csv:302: this record has 3 fields"):
        records(tmp_path, "a.csv")
    rows, _ = records(tmp_path, "a.csv", ["id", "_row"], malformed="skip")

    assert len(rows) == 301
    assert rows[-1] == ("9", 304)
    assert len(by_duckdb(tmp_path, "a.csv", ["id"], malformed="skip")[1]) == 301
    [(reason, left_out, first, skipped)] = warnings(tmp_path, "a.csv", malformed="skip")
    assert reason.startswith(
        "2 of 303 records are malformed and left out by `malformed: skip`; the first: this record has 3"
    )
    assert (left_out, first, skipped) == (2, "a.csv:302", True)


def test_a_quote_that_is_never_closed_takes_only_its_line_with_it(tmp_path):
    (tmp_path / "a.csv").write_text(f'id,b\n{GOOD}7,"never closed\n8,y\n9,"z\nz"\n')

    rows, _ = records(tmp_path, "a.csv", malformed="skip")

    assert rows[-2:] == [("8", "y"), ("9", "z\nz")]
    assert warnings(tmp_path, "a.csv", malformed="skip")[0][1:3] == (1, "a.csv:302")


def test_more_than_one_percent_of_malformed_records_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,b\n" + "1,2\n" * 99 + "1\n")
    assert warnings(tmp_path, "a.csv", malformed="skip")[0][1] == 1

    (tmp_path / "a.csv").write_text("id,b\n" + "1,2\n" * 98 + "1\n")
    for read in (records, lambda *a, **s: by_duckdb(*a, ["id"], **s), warnings):
        with pytest.raises(FileRefused, match=r"a\.csv:100.*1 of 99 records is malformed.*at most 1 %.*skip_footer"):
            read(tmp_path, "a.csv", malformed="skip")


def test_malformed_lines_of_json_are_skipped_with_their_place(tmp_path):
    lines = [json.dumps({"a": n}) for n in range(250)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, '{"a": 1', "", '{"a": "last"}']))

    with pytest.raises(FileUnreadable, match=r"a\.jsonl:251"):
        records(tmp_path, "a.jsonl", ["a"])
    rows, _ = records(tmp_path, "a.jsonl", ["a", "_row"], malformed="skip")

    assert len(rows) == 251
    assert rows[-1] == ("last", 252)
    assert warnings(tmp_path, "a.jsonl", malformed="skip")[0][1] == 1


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.slow
def test_a_footer_is_left_out_whatever_stands_in_it(tmp_path, ends, encoding, packed):
    text = ends.join(["id,ort", "1,Köln", "2,Ulm", "", 'Total "2', "", "end of file, 2 records, checked", "", ""])
    content, name = text.encode(encoding), "a.csv.gz" if packed else "a.csv"
    (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)

    with pytest.raises(ConnectorError):
        records(tmp_path, name)
    assert records(tmp_path, name, skip_footer=2)[0] == [("1", "Köln"), ("2", "Ulm")]
    assert sorted(by_duckdb(tmp_path, name, ["id"], skip_footer=2)[1]) == [("1",), ("2",)]


def test_a_footer_is_found_behind_much_of_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("id,b\n1,x\nTotal,1" + "\n \n" * 100_000)

    assert records(tmp_path, "a.csv", skip_footer=1)[0] == [("1", "x")]


def test_a_footer_that_is_longer_than_the_file_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,b\n1,x\n")

    with pytest.raises(FileUnreadable, match="fewer than the 3 lines"):
        records(tmp_path, "a.csv", skip_footer=3)
    with pytest.raises(FileUnreadable, match="has no header"):
        records(tmp_path, "a.csv", skip_footer=2)
    (tmp_path / "a.jsonl").write_text('{"a":1}\n# 1 record\n')
    assert records(tmp_path, "a.jsonl", skip_footer=1)[0] == [("1",)]


def test_parquet_has_neither(tmp_path):
    duckdb.sql("select 1 as a").write_parquet(str(tmp_path / "a.parquet"))

    for output in ({"malformed": "skip"}, {"skip_footer": 1}):
        with pytest.raises(FileRefused, match="leave them out"):
            records(tmp_path, "a.parquet", **output)


def test_a_value_that_cannot_be_read_is_named_by_its_line_behind_line_ends_and_skipped_records(tmp_path):
    (tmp_path / "a.csv").write_bytes(f'id,"b\r\nb"\n"x\ny",1\n\n{GOOD.replace("x", "1")}bad\n7,wrong\n'.encode())

    for answer in (records(tmp_path, "a.csv", columns={"b\r\nb": "integer"}, malformed="skip")[1],):
        assert [(problem.records, problem.first) for problem in answer] == [(1, "a.csv:307")]
    problems = by_duckdb(tmp_path, "a.csv", ["b\r\nb"], columns={"b\r\nb": "integer"}, malformed="skip")[2]
    assert [problem[2:] for problem in problems] == [(1, "a.csv:307")]


@pytest.mark.parametrize("rows", [3, 25_000])
@pytest.mark.parametrize("footer", [1, 2, 3])
@pytest.mark.slow
def test_the_last_filled_rows_of_a_sheet_are_left_out_before_columns_are_typed(tmp_path, rows, footer):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        sheet = workbook.add_worksheet("A")
        sheet.write_row(0, 0, ["id", "amount"])
        for row in range(1, rows + 1):
            sheet.write_row(row, 0, [row, row / 4])
        for n in range(footer):
            sheet.write_row(rows + 2 + 2 * n, 0, ["Total", "of all"])
    opened = WorkbookSource("crm", WorkbookSettings(type="workbook", path="a.xlsx"), tmp_path)
    try:
        table = opened.scan(WorkbookDataset(skip_footer=footer), ["id", "amount", "_row"]).reader.read_all()
        assert table.num_rows == rows
        assert not pa.types.is_string(table.schema.field("amount").type)
        assert table.column("_row")[-1].as_py() == rows + 1
        with pytest.raises(FileUnreadable, match="skip_footer"):
            opened.describe(WorkbookDataset(skip_footer=999 if rows < 999 else 1_000, header_row=rows))
    finally:
        opened.close()


@pytest.mark.slow
def test_a_file_of_thousands_of_columns_is_read_by_its_id_or_refused(tmp_path):
    """Without an id a record is named by all columns, which took a minute."""
    names = [f"c{n}" for n in range(9_000)]
    (tmp_path / "a.csv").write_text(
        "\n".join([",".join(names), *[",".join(str(n % m) for n in range(9_000)) for m in (3, 5)]])
    )
    text = """
sources: {f: {type: files}}
datasets: {d: {source: f, path: a.csv, columns: {c1: integer, c2: integer, c3: integer}ID}}
rules: {r: {kind: duplicates, dataset: d, key: [c1]}}
"""

    def run():
        return subprocess.run(
            [sys.executable, "-m", "reconcile", "run"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    (tmp_path / "reconcile.yaml").write_text(text.replace("ID", ""))
    assert "has 9,002 columns; with more than 2,000 it needs an `id`" in run().stdout
    (tmp_path / "reconcile.yaml").write_text(text.replace("ID", ", id: c4"))
    assert run().returncode == 0


@pytest.mark.slow
def test_a_run_tells_what_it_skipped_and_finds_the_rest(tmp_path):
    (tmp_path / "a.csv").write_bytes(
        b'id,"b\nc"\r\n' + b"".join(b"%d,x%d\r\n" % (n, n // 2) for n in range(200)) + b"1,2,3\r\nTotal\r\n"
    )
    (tmp_path / "reconcile.yaml").write_text(
        """
sources: {f: {type: files}}
datasets: {d: {source: f, path: "*.csv", id: id, malformed: skip, skip_footer: 1}}
rules: {r: {kind: duplicates, dataset: d, key: ["b\\nc"]}}
channels: {log: {type: file, path: messages.txt}}
jobs: {j: {rules: all, notify: [log], existing: report}}
"""
    )

    done = subprocess.run(
        [sys.executable, "-m", "reconcile", "run", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    [rule] = json.loads(done.stdout)["rules"]
    assert (rule["read"], rule["groups"]) == (200, 100)
    [left_out] = rule["skipped"]
    assert (left_out["records"], left_out["first"]) == (1, "a.csv:203")
    assert "1 of 201 records is malformed and left out" in (tmp_path / "messages.txt").read_text()


@pytest.mark.parametrize("said", [{"malformed": "skip"}, {"skip_footer": 1}, {"decimal": "."}])
def test_what_is_left_out_of_a_dataset_is_bound_into_what_approves_a_rule(said):
    def digest(**settings):
        return bound(DatasetConfig("d", "f", FilesDataset(path="a.csv", **settings)), ())

    assert digest(**said) != digest()
