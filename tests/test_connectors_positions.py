"""A few records found again by their positions: the ones that reading everything has there, or nothing at all."""

from __future__ import annotations

import datetime as dt
import functools
import gzip
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from duplicates_support import detect
from files_support import source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.files.csv import reader
from connectors.files.csv.facts import BLOCK
from connectors.files.source import FilesDataset
from rules.engines.base import Readable, Relation
from rules.kinds.duplicates import DuplicatesRule
from rules.values import schema_from_arrow

SLOT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def _every_record_is_few(monkeypatch):
    """Small files: as if one record in one were few enough to look for line by line."""
    monkeypatch.setattr(reader, "FEW", 1)


def found(root: Path, path: str, positions, read=("id",), **said):
    """(records at the positions, the same picked from all), the first None where the source does not find a few."""
    opened = source(root)
    try:
        scan = opened.duck_scan(FilesDataset(path=path, **said), list(read))
        with duckdb.connect() as con:
            everything = con.sql(scan.sql).fetchall()
            wanted = np.array(positions, np.int64)
            con.execute("create table wanted as select unnest($1)::bigint as position", [wanted.tolist()])
            few = scan.at(wanted, len(everything), "wanted")
            return few and sorted(con.sql(few).fetchall()), sorted(everything[n] for n in positions)
    finally:
        opened.close()


def write(root: Path, name: str, content: str | bytes) -> Path:
    (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


FIELD = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters='"'), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(FIELD, min_size=1, max_size=30),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    mark=st.booleans(),
    header=st.booleans(),
    skip=st.integers(0, 2),
    data=st.data(),
)
def test_lines_are_found_again_whatever_stands_before_and_between_them(
    tmp_path, rows, end, last, mark, header, skip, data
):
    lines = [f"about {n}" for n in range(skip)] + (["id,text"] if header else [])
    lines += [f'{n},"{field}"' for n, field in enumerate(rows)]
    write(tmp_path, "a.csv", ("\ufeff" if mark else "") + end.join(lines) + (end if last else ""))
    wanted = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1)))
    columns = ("id", "text", "_file") if header else ("column_1", "column_2", "_file")

    few, expected = found(tmp_path, "a.csv", wanted, columns, skip=skip, header=header)

    assert few == expected


@pytest.mark.parametrize("around", range(-3, 4))
def test_lines_at_the_border_of_a_block_are_whole(tmp_path, around):
    long = "x" * (BLOCK - 60 + around)
    lines = [f"{n},{long if n % 3 == 0 else 'short'}" for n in range(12)]
    write(tmp_path, "a.csv", "id,text\n" + "\n".join(lines) + "\n")

    few, expected = found(tmp_path, "a.csv", range(12), ("id", "text"))

    assert few == expected


def test_a_line_longer_than_blocks_is_found(tmp_path):
    write(tmp_path, "a.csv", f"id,text\n1,{'x' * 5 * BLOCK}\n2,b\n3,{'y' * BLOCK * 2}\n")

    few, expected = found(tmp_path, "a.csv", [0, 2], ("id", "text"))

    assert few == expected


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('id,note\n1,"a\nb"\n2,c\n', id="a line end inside a field"),
        pytest.param("id,note\n1,a\n\n2,c\n", id="an empty line"),
        pytest.param("id,note\r1,a\r2,c\r", id="lines that end as on an old Mac"),
        pytest.param("id,note\n1,a\r\n2,c\n", id="line ends of two kinds"),
    ],
)
def test_where_lines_are_not_records_nothing_is_found_by_line(tmp_path, content):
    few, expected = found(write(tmp_path, "a.csv", content), "a.csv", [1])

    assert few is None
    assert expected == [("2",)]


def test_a_compressed_file_has_no_lines_to_jump_to(tmp_path):
    few, _ = found(write(tmp_path, "a.csv.gz", gzip.compress(b"id\n1\n2\n")), "a.csv.gz", [1])

    assert few is None


def test_a_file_in_another_encoding_is_found_in_its_copy(tmp_path):
    few, expected = found(
        write(tmp_path, "a.csv", "id,name\n1,é\n2,ü\n".encode("cp1252")),
        "a.csv",
        [1],
        ("id", "name"),
        encoding="cp1252",
    )

    assert few == expected == [("2", "ü")]


def test_several_files_are_counted_one_after_the_other(tmp_path):
    write(tmp_path, "bank-1.csv", "id,amount\n1,5\n2,6\n")
    write(tmp_path, "bank-2.csv", "id,amount\n3,7\n")
    write(tmp_path, "bank-3.csv", "id;amount\n4;8\n5;9")

    few, expected = found(tmp_path, "bank-*.csv", [1, 2, 4], ("id", "amount", "_file"), columns={"amount": "integer"})

    assert few == expected == [("2", 6, "bank-1.csv"), ("3", 7, "bank-2.csv"), ("5", 9, "bank-3.csv")]


def test_parquet_files_are_counted_one_after_the_other(tmp_path):
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(pa.table({"id": [4, 5]}), tmp_path / "b.parquet")

    few, expected = found(tmp_path, "*.parquet", [0, 2, 4], ("id", "_file"))

    assert few == expected == [(1, "a.parquet"), (3, "a.parquet"), (5, "b.parquet")]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_file_that_changed_is_not_searched_by_what_was_known_of_it(tmp_path, name):
    def put(ids):
        if name == "a.parquet":
            pq.write_table(pa.table({"id": ids}), tmp_path / name)
        else:
            write(tmp_path, name, "id\n" + "".join(f"{one}\n" for one in ids))

    put([1, 2, 3])
    opened = source(tmp_path)
    scan = opened.duck_scan(FilesDataset(path=name), ["id"])

    put([0, 1, 2, 3])

    assert scan.at(np.array([1]), 3, "wanted") is None
    opened.close()


def test_many_records_are_read_and_not_looked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "FEW", 50)
    write(tmp_path, "a.csv", "id\n" + "".join(f"{n}\n" for n in range(100)))

    few, _ = found(tmp_path, "a.csv", [1, 2, 3])

    assert few is None


@pytest.mark.parametrize("shift", [0, 1])
def test_records_that_are_not_those_asked_for_are_read_all_over_again(tmp_path, shift):
    """As when a file is replaced while it is read: what is found has to be what was asked for."""
    rows = "".join(f"{n},{'twin' if n in (20, 40) else n}\n" for n in range(60))
    opened = source(write(tmp_path, "a.csv", "id,code\n" + rows))
    dataset = FilesDataset(path="a.csv")
    asked = []

    def at(columns, positions, of, table):
        asked.append(positions.tolist())
        return scans(columns).at(positions + shift, of, table)

    scans = functools.cache(functools.partial(opened.duck_scan, dataset))
    records = Readable(lambda columns: scans(columns).sql, at)
    rule = DuplicatesRule.model_validate({"name": "twin", "kind": "duplicates", "dataset": "a", "key": "code"})
    relation = Relation("a", schema_from_arrow(opened.describe(dataset)), ("id",))

    answer = detect(rule, relation, records, SLOT, temp=tmp_path)

    assert asked == [[20, 40]]
    assert [[member.id for member in group.members] for group in answer.groups] == [[("20",), ("40",)]]
    opened.close()
