"""The `files` source: what is read, how it is decided, and that DuckDB and `scan` give the same."""

import csv
import datetime as dt
import gzip
import io
import json
import os
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from connectors.base import DuckReadable, Source
from connectors.errors import (
    ColumnMissing,
    ConnectorError,
    DatasetMissing,
    FileRefused,
    FileUnreadable,
    HeadersDiffer,
)
from connectors.files.source import FilesDataset, FilesSettings
from tests.support.files import by_duckdb, records, source


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
        return tmp_path

    return write


def test_the_source_is_a_source_that_duckdb_can_read(tmp_path):
    assert isinstance(source(tmp_path), Source)
    assert isinstance(source(tmp_path), DuckReadable)


def test_undeclared_columns_are_text_and_an_empty_field_is_null(put):
    root = put("a.csv", 'id,amount,note\n007,1.50,""\n8,,N/A\n')

    rows, problems = records(root, "a.csv", null_values=("N/A",))

    assert rows == [("007", "1.50", None), ("8", None, None)]
    assert problems == ()


def test_declared_columns_have_their_type_and_the_first_unreadable_cell_its_line(put):
    root = put("bank-03.csv", 'booked;note;amount\n01.03.2026;"two\nlines";1.234,56\n\n31.02.2026;x;12,5\n;y;1,2,3\n')
    declared = {"booked": "date %d.%m.%Y", "amount": "decimal"}

    rows, problems = records(root, "bank-*.csv", ["booked", "amount"], columns=declared, decimal=",")

    assert rows == [(dt.date(2026, 3, 1), Decimal("1234.56")), (None, Decimal("12.5")), (None, None)]
    assert [(p.column, p.reason, p.records, p.first) for p in problems] == [
        ("booked", "not a date as %d.%m.%Y", 1, "bank-03.csv:5"),
        ("amount", "not a decimal with at most 26 digits before the mark and 12 after it", 1, "bank-03.csv:6"),
    ]


def test_several_files_are_one_dataset_with_their_places(put):
    put("in/bank-02.csv", "id,line\n3,x\n")
    root = put("in/bank-01.csv", "line,id\ny,1\nz,2\n")

    rows, _ = records(root, "in/bank-*.csv", ["_file", "_row", "id", "line"])

    assert rows == [("in/bank-01.csv", 2, "1", "y"), ("in/bank-01.csv", 3, "2", "z"), ("in/bank-02.csv", 2, "3", "x")]
    schema, same, _ = by_duckdb(root, "in/bank-*.csv", ["_file", "id"])
    assert sorted(same) == [(row[0], row[2]) for row in rows]
    assert schema.names == ["_file", "id"]


def test_a_row_has_the_number_that_a_spreadsheet_shows_beside_it(put):
    root = put("bank.csv", "Kontoauszug Müller;\nBetrag;Zweck\n1;a\n2;b\n".encode("cp1252"))

    rows, _ = records(root, "bank.csv", ["_row", "Zweck"], skip=1)

    assert rows == [(3, "a"), (4, "b")]


def test_a_header_alone_tells_its_delimiter_by_its_quotes(put):
    root = put("a.csv", 'reference;"paid, net"\n')

    assert records(root, "a.csv", ["reference", "paid, net"])[0] == []


def test_files_with_other_columns_are_not_one_dataset(put):
    put("a.csv", "id,x\n1,2\n")
    root = put("b.csv", "id,y\n1,2\n")

    with pytest.raises(HeadersDiffer, match=r"b\.csv has a column 'y' that a\.csv does not have"):
        records(root, "*.csv")


def test_a_path_that_matches_nothing_names_what_is_there(put):
    root = put("bank-2026.csv", "id\n1\n")

    with pytest.raises(DatasetMissing, match=r"did you mean bank-2026\.csv"):
        records(root, "bank-2025.csv")


def test_a_column_that_is_not_there_names_the_nearest(put):
    root = put("a.csv", "amount,id\n1,2\n")

    with pytest.raises(ColumnMissing, match="did you mean amount"):
        records(root, "a.csv", ["amuont"])
    with pytest.raises(ColumnMissing, match="did you mean amount"):
        records(root, "a.csv", columns={"amout": "decimal"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("sep=;\na;b\n1,5;2\n", [("1,5", "2")]),
        ("a\tb\n1,5\t2;3\n", [("1,5", "2;3")]),
        ("a|b\n1|2\n", [("1", "2")]),
        ("name\nSmith, John\nDoe; Jane\n", [("Smith, John",), ("Doe; Jane",)]),
        ('a;b\n"x;y";"1,2"\n"p,q";"3,4"\n', [("x;y", "1,2"), ("p,q", "3,4")]),
        ("a,b\r1,2\r3,4\r", [("1", "2"), ("3", "4")]),
        ('a,b\r\n1,"x\ny"\r\n', [("1", "x\ny")]),
        ("a,b\r\n1,2\n3,4\r\n", [("1", "2"), ("3", "4")]),
        ("a,b\n1,x\r\n\r\n3,4\r", [("1", "x"), ("3", "4")]),
        ('a,b\n1,"say ""hi"""\n2,5" pipe\n', [("1", 'say "hi"'), ("2", '5" pipe')]),
        ("\n\na,b\n1,2\n", [("1", "2")]),
        ("a,b,\n1,2,\n", [("1", "2", None)]),
        ("a,b\n", []),
        ("a,b", []),
        ('"a\nx",b\n1,2\n', [("1", "2")]),
        ("a,b\n1\0,2\n", [("1\0", "2")]),
    ],
)  # fmt: skip
def test_a_file_of_real_life_is_read(put, content, rows):
    assert records(put("a.csv", content), "a.csv")[0] == rows


@pytest.mark.parametrize(
    ("content", "encoding", "settings_"),
    [
        (b"\xef\xbb\xbf", "utf-8", {}),
        (b"", "utf-16", {}),
        (b"", "utf-8", {}),
        (b"", "utf-16-le", {"encoding": "utf-16-le"}),
        (b"", "shift_jis", {"encoding": "shift_jis"}),
        (b"", "cp1251", {"encoding": "cp1251"}),
    ],
)
def test_encodings_are_decided_by_mark_then_by_configuration(put, content, encoding, settings_):
    word = {"shift_jis": "日本", "cp1251": "Привет"}.get(encoding, "José€")
    root = put("a.csv", content + f"név,b\n{word},2\n".replace("név", "nev").encode(encoding))

    rows, problems = records(root, "a.csv", ["nev", "b"], **settings_)

    assert rows == [(word, "2")]
    assert problems == ()


@pytest.mark.slow
def test_bytes_that_are_not_utf_8_are_windows_1252_with_a_warning(put):
    root = put("a.csv", b"a,b\n" + b"x,1\n" * 400_000 + b"Jos\xe9,\x80\n")

    warned = source(root).warnings(FilesDataset(path="a.csv"), ["a"])
    rows, problems = records(root, "a.csv")

    assert rows[-1] == ("José", "€")
    assert [(problem.column, problem.first, problem.records) for problem in warned] == [("*", "a.csv:400002", 0)]
    assert problems == ()
    assert by_duckdb(root, "a.csv", ["a", "b"])[1:] == (rows, [])


def test_headers_get_stable_names(put):
    root = put("a.csv", "id,,amount,amount,amount_2,_row\n1,2,3,4,5,6\n")

    assert source(root).describe(FilesDataset(path="a.csv")).names == [
        "id", "column_2", "amount", "amount_3", "amount_2", "_row_2", "_file", "_row",
    ]  # fmt: skip


def test_a_name_that_stands_twice_in_a_header_is_told_to_whoever_names_it_and_not_the_other(put):
    root = put("a.csv", "Statement\nid, amount,amount,_row\n1,2,3,4\n")
    put("b.csv", "Statement\nid, amount,amount,_row\n1,2,3,4\n")
    dataset = FilesDataset(path="?.csv", skip=1)

    def said(*columns: str) -> list[str]:
        return [f"{problem.first}: {problem.reason}" for problem in source(root).warnings(dataset, columns)]

    [item] = said("id", "amount")
    assert item == (
        "a.csv:2: `amount` appears more than once in the header and is read as `amount`, `amount_2`; "
        "rename them in the file, or leave its header out with `skip` and name all in `header`"
    )
    assert said("_row")[0].startswith("a.csv:2: `_row` is a reserved name and is read as `_row_2`; rename them")
    assert said("id") == said("amount_2") == said("amount", "amount_2") == []
    assert len(source(root).warnings(dataset, None)) == 1


def test_a_file_without_header_and_one_with_a_preamble(put):
    root = put("a.csv", 'Report of "March\nmade by X\nid,b\n1,2\n')
    put("b.csv", "1,2\n3,4\n")

    assert records(root, "a.csv", ["id", "b"], skip=2)[0] == [("1", "2")]
    assert records(root, "b.csv", ["column_1", "column_2"], header=False)[0] == [("1", "2"), ("3", "4")]
    assert records(root, "b.csv", ["x"], header=["x", "y"])[0] == [("1",), ("3",)]


def test_the_dialect_can_be_told(put):
    root = put("a.csv", "a;b\n1;2\n")

    dialects = source(root).dialect(FilesDataset(path="a.csv"))

    assert str(dialects["a.csv"]) == "utf-8, fields separated by ';', quoted by \", a header after 0 lines, 2 columns"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('a,b\n1,2\n3,"cut\nhere', r"a\.csv:3: a quote opened on this line is never closed"),
        ('a,b\n1,"x\ny",\n3,"', r"a\.csv:4: a quote opened"),
        ('a,b\n1,"x"y\n', r"a\.csv:2: text follows a closing quote"),
        ("a,b\n1,2\n1,2,3\n", r"a\.csv:3: this record has 3 fields, the header has 2"),
        ('a,b\n"1\n2",2\n1\n', r"a\.csv:4: this record has 1 fields, the header has 2"),
        ("", r"a\.csv: the file is empty"),
        ('a,"b\n1,2\n', r"a\.csv:1: a quote opened in the header is not closed"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(put, content, sentence):
    root = put("a.csv", content)

    with pytest.raises(FileUnreadable, match=sentence):
        records(root, "a.csv")


def test_the_failure_of_a_select_is_told_in_our_words(put):
    opened, dataset = source(put("a.csv", "a,b\nsecret,2\n1,secret,3\n")), FilesDataset(path="a.csv")

    with pytest.raises(Exception, match="Number of Columns") as raw:
        by_duckdb(opened.root, "a.csv", ["a"])
    sentence = opened.failure(dataset, raw.value)

    assert str(sentence).startswith("a.csv:3: this record has 3 fields")
    assert "secret" not in str(sentence)


def test_compressed_files_are_read_and_a_cut_one_is_refused(put):
    data = gzip.compress(b"a,b\n" + b"1,2\n" * 50_000)
    root = put("a.csv.gz", data)
    put("b.csv.gz", data[: len(data) // 2])
    put("c.jsonl.gz", gzip.compress(b'{"a": 1}\n'))

    assert len(records(root, "a.csv.gz")[0]) == 50_000
    assert records(root, "c.jsonl.gz")[0] == [("1",)]
    with pytest.raises(FileUnreadable, match="truncated or damaged"):
        records(root, "b.csv.gz")


def test_a_field_beyond_two_megabytes_needs_a_word(put):
    root = put("a.csv", "a,b\n1," + "x" * 3_000_000 + "\n")

    with pytest.raises(FileRefused, match="longer than 2,000,000 bytes; if this is really data, raise `max_line`"):
        records(root, "a.csv")
    assert len(records(root, "a.csv", ["b"], max_line=4_000_000)[0][0][0]) == 3_000_000


def test_json_lines_keep_digits_and_nested_values(put):
    root = put("a.jsonl", '{"a": 1.50, "b": 12345678901234567890.10, "c": {"x": [1.0, "é"]}}\n\n{"a": "", "d": true}\n')

    rows, problems = records(root, "a.jsonl", ["a", "b", "c", "d", "_row"])

    assert rows == [("1.50", "12345678901234567890.10", '{"x":[1.0,"é"]}', None, 1), (None, None, None, "true", 2)]
    assert problems == ()
    assert by_duckdb(root, "a.jsonl", ["a"]) is None


def test_a_declared_path_leads_into_nested_json(put):
    lines = (
        '{"id": 1, "payload": {"customer": {"id": "c-1"}, "total": 19.90, "items": [{"sku": "A"}, {"sku": 7}]}}',
        '{"id": 2, "payload": {"customer": null, "items": []}, "payload.total": 5}',
        '{"id": 3}',
    )
    root = put("a.jsonl", "\n".join(lines))
    columns = {"payload.customer.id": "text", "payload.items.1.sku": "integer", "payload.customer": "text"}

    rows, problems = records(root, "a.jsonl", ["id", *columns, "payload.total"], columns=columns)

    assert rows == [
        ("1", "c-1", 7, '{"id":"c-1"}', None),
        ("2", None, None, None, "5"),
        ("3", None, None, None, None),
    ]
    assert problems == ()


def test_a_key_with_dots_takes_the_place_of_a_path_only_in_its_own_line(put):
    lines = ('{"p": {"id": 1}}', '{"p": {"id": 2}, "p.id": 20}', '{"p": {"id": 3}, "p.id": null}', '{"p": {"id": 4}}')
    root = put("a.jsonl", "\n".join(lines))

    assert records(root, "a.jsonl", ["p.id"], columns={"p.id": "integer"}) == ([(1,), (20,), (None,), (4,)], ())
    assert records(root, "a.jsonl", ["p.id"]) == ([(None,), ("20",), (None,), (None,)], ())


def test_a_nested_decimal_keeps_its_digits(put):
    root = put("a.jsonl", '{"money": {"amount": 9007199254740993.01}}')

    rows, _ = records(root, "a.jsonl", ["money.amount"], columns={"money.amount": "decimal"})

    assert rows == [(Decimal("9007199254740993.01"),)]


def test_json_lines_are_typed_by_declaration(put):
    root = put("a.jsonl", '{"a": 1}\n\n{"a": "x"}\n')

    rows, problems = records(root, "a.jsonl", ["a", "late"], columns={"a": "integer", "late": "text"})

    assert rows == [(1, None), (None, None)]
    assert problems[0].first == "a.jsonl:3"


@pytest.mark.parametrize(
    "line", ["{", "[1]", '{"a": NaN}', '{"a": "\\ud800"}', '{"a": 1}{"a": 2}', "[" * 100_000, "\xff"]
)
def test_a_bad_json_line_is_named(put, line):
    root = put("a.jsonl", b'{"a": 1}\n' + (b"\xff" if line == "\xff" else line.encode()) + b"\n")

    with pytest.raises(FileUnreadable, match=r"a\.jsonl:2"):
        records(root, "a.jsonl")


@pytest.mark.slow
def test_parquet_types_are_kept_and_naive_times_are_placed(put, tmp_path):
    naive = dt.datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001 - what a file holds
    table = pa.table(
        {
            "n": pa.array([1], pa.int32()),
            "d": pa.array([Decimal("9007199254740993.01")], pa.decimal128(20, 2)),
            "at": pa.array([naive], pa.timestamp("ns")),
            "utc": pa.array([naive], pa.timestamp("ms", "Asia/Tokyo")),
            "kind": pa.array(["x"]).dictionary_encode(),
            "list": pa.array([[1]]),
            "day": pa.array([dt.date(2026, 1, 1)]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")

    names = ["n", "d", "at", "utc", "kind", "list", "day", "_row"]
    rows, problems = records(tmp_path, "a.parquet", names, timezone="Europe/Berlin")

    utc = dt.datetime(2026, 10, 25, 2, 30, tzinfo=dt.UTC)
    assert rows == [
        (1, Decimal("9007199254740993.01"), utc - dt.timedelta(hours=2), utc, "x", "[1]", dt.date(2026, 1, 1), 1)
    ]
    assert problems == ()
    assert by_duckdb(tmp_path, "a.parquet", ["at"], timezone="Europe/Berlin") is None
    schema, same, _ = by_duckdb(tmp_path, "a.parquet", ["at", "d", "_file"])
    assert same == [(utc, Decimal("9007199254740993.01"), "a.parquet")]
    assert schema.field("at").type == pa.timestamp("us", "UTC")


def test_a_parquet_file_that_is_none_is_refused(put):
    root = put("a.parquet", b"id,amount\n1,2\n")

    with pytest.raises(FileUnreadable, match=r"a\.parquet: .*Parquet"):
        records(root, "a.parquet")


CELL = st.text(alphabet=st.sampled_from("ab1,;\"\n\r\t 'é€.-\\"), max_size=6)


@pytest.mark.slow
@pytest.mark.chaos
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(CELL, CELL, CELL), max_size=8),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_a_csv_writer_wrote_comes_back_both_ways(tmp_path, rows, delimiter, end, quoting):
    if quoting == csv.QUOTE_MINIMAL:  # which leaves a bare carriage return bare: another line end, not a field
        rows = [tuple(cell.replace("\r", "") for cell in row) for row in rows]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([("x", "y", "z"), *rows])
    (tmp_path / "a.csv").write_bytes(text.getvalue().encode())
    declared = {"y": "decimal"}

    plain, _ = records(tmp_path, "a.csv", ["x", "y", "z"])
    typed, problems = records(tmp_path, "a.csv", ["z", "y"], columns=declared)
    schema, same, told = by_duckdb(tmp_path, "a.csv", ["z", "y"], columns=declared)

    assert plain == [tuple(cell or None for cell in row) for row in rows]
    assert Counter(same) == Counter(typed)
    assert schema.types == [pa.string(), pa.decimal128(38, 12)]
    assert [(p.column, p.reason, p.records) for p in problems] == [(c, r, n) for c, r, n, _ in told]


@pytest.mark.slow
def test_both_ways_name_the_same_line_of_the_first_problem(put):
    lines = "".join(f'{i},"a\nb"\n' for i in range(200_000))
    root = put("a.csv", "id,note\n" + lines + 'x,"c\nd"\n' + lines + "y,z\n")

    _, problems = records(root, "a.csv", ["id"], columns={"id": "integer"})
    _, rows, told = by_duckdb(root, "a.csv", ["id"], columns={"id": "integer"})

    assert [(p.records, p.first) for p in problems] == [(2, "a.csv:400002")]
    assert told == [("id", "not an integer", 2, "a.csv:400002")]
    assert len(rows) == 400_002


def test_copies_have_no_name_and_closing_twice_gives_their_room_back(put, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "copies"))
    (tmp_path / "copies").mkdir()

    def copies():
        links = (Path("/proc/self/fd") / link for link in os.listdir("/proc/self/fd"))  # noqa: PTH208 - they come and go
        return [
            link for link in links if link.is_symlink() and str(link.readlink()).startswith(str(tmp_path / "copies"))
        ]

    opened = source(put("a.csv", "a,b\n1,é\n".encode("utf-16")))
    opened.describe(FilesDataset(path="a.csv"))
    assert len(copies()) == 1
    assert not any((tmp_path / "copies").iterdir())

    opened.close()
    opened.close()

    assert copies() == []


def test_a_changed_file_is_looked_at_again(put):
    root = put("a.csv", "a,b\n1,2\n")
    opened = source(root)
    assert opened.describe(FilesDataset(path="a.csv")).names[:2] == ["a", "b"]

    put("a.csv", "c;d;e\n1;2;3\n")

    assert opened.describe(FilesDataset(path="a.csv")).names[:3] == ["c", "d", "e"]
    opened.close()


@pytest.mark.slow
def test_an_error_while_streaming_is_a_sentence(put):
    root = put("a.csv", "a,b\n" + "1,2\n" * 300_000 + "1\n")
    scan = source(root).scan(FilesDataset(path="a.csv"), ["a"])

    with pytest.raises(ConnectorError, match=r"a\.csv:300002"):
        scan.reader.read_all()


def test_files_of_an_object_store_are_refused():
    with pytest.raises(ValidationError, match="files are read from folders, not from 's3:'"):
        FilesSettings.model_validate({"type": "files", "root": "s3://bucket/folder"})


def test_near_names_are_the_files_of_the_root(put):
    put("b.parquet", b"")
    put("notes.md", "x")
    root = put("a.csv", "a\n1\n")

    assert source(root).datasets() == ["a.csv", "b.parquet"]
    assert json.dumps(source(root).datasets())
