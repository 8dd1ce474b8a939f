"""Times that are numbers since 1970: the same instants from every source, proposed only where a name speaks for it."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from connectors.coerce import Coercion
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnTypeUnknown
from reconcile.detection import epochs
from tests.support.cli import Project

UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000}
START = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MORNING = 1_772_359_200
"""2026-03-01T10:00Z."""
SOURCES = ("a.csv", "a.jsonl", "a.xlsx", "a.parquet", "a.db")


def coerced(values: pa.Array[Any], word: str, **notation: Any) -> tuple[list[Any], list[Any]]:
    """The instants, and the reason and the count of each problem."""
    batch = pa.RecordBatch.from_arrays([values], names=["at"])
    coercion = Coercion(batch.schema, {"at": declared("at", word)}, Notation(**notation))
    try:
        column = coercion.batch(batch).column(0)
        return column.to_pylist(), [(problem.reason, problem.records) for problem in coercion.problems()]
    finally:
        coercion.close()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64(), pa.decimal128(30, 6)])
def test_numbers_of_every_type_are_the_same_instant(unit: str, kind: pa.DataType) -> None:
    number = MORNING * UNITS[unit]
    cells = [str(number), None] if kind == pa.string() else [number, None]
    if pa.types.is_decimal(kind):
        cells = [Decimal(number), None]

    values, problems = coerced(pa.array(cells, kind), f"instant epoch {unit}", timezone="Europe/Berlin")

    assert (values, problems) == ([dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC), None], [])


@pytest.mark.slow
def test_decimals_are_parts_of_the_unit() -> None:
    later = dt.datetime(2026, 3, 1, 10, 0, 0, 123_456, tzinfo=dt.UTC)

    assert coerced(pa.array(["1772359200.1234569"]), "instant epoch s")[0] == [later]
    assert coerced(pa.array(["1.772.359.200.123,456"]), "instant epoch ms", decimal=",")[0] == [later]
    assert coerced(pa.array([1772359200.123456]), "instant epoch s")[0] == [later]
    assert coerced(pa.array(["-0.0000005"]), "instant epoch s")[0] == [START - dt.timedelta(microseconds=1)]


@pytest.mark.slow
@given(st.integers(-30_610_224_000_000_000, 253_402_300_799_999_999), st.sampled_from(list(UNITS)))
def test_any_microsecond_from_the_year_1000_to_9999_is_read_exactly(micros: int, unit: str) -> None:
    text = format(Decimal(micros) / (1_000_000 // UNITS[unit]), "f")

    values, problems = coerced(pa.array([text]), f"instant epoch {unit}")

    assert (values, problems) == ([START + dt.timedelta(microseconds=micros)], [])


@pytest.mark.parametrize("text", ["soon", "2026-03-01", "1772359200000000", "-99999999999", "1e9", "NaN"])
def test_what_is_no_such_number_is_counted(text: str) -> None:
    assert coerced(pa.array([text, "0"]), "instant epoch s") == (
        [None, START],
        [("not an instant as seconds since 1970", 1)],
    )


def test_extreme_numbers_are_counted() -> None:
    largest = pa.array([2**63 - 1, -(2**63)], pa.int64())
    floats = pa.array([float("nan"), float("inf"), 1e300])

    assert coerced(largest, "instant epoch us")[1] == [("not an instant as microseconds since 1970", 2)]
    assert coerced(floats, "instant epoch ms") == ([None] * 3, [("not an instant as milliseconds since 1970", 3)])


@pytest.mark.parametrize("word", ["instant epoch", "instant epoch h", "date epoch s", "integer epoch s"])
def test_another_unit_is_no_type(tmp_path: Path, word: str) -> None:
    project = Project(tmp_path).write(
        f"""\
        version: 1
        sources: {{f: {{type: files}}}}
        datasets: {{d: {{source: f, path: a.csv, columns: {{at: {word}}}}}}}
        rules: {{r: {{kind: duplicates, dataset: d, key: [at]}}}}
        """
    )

    answer = project("check")

    assert answer.code == 2
    assert "reconcile.yaml:3" in answer.said
    if word == "instant epoch h":
        assert "write one of `instant epoch s`, `instant epoch ms`, `instant epoch us`" in answer.said


def test_a_form_without_a_unit_is_refused_as_a_type() -> None:
    assert declared("at", "instant  epoch  ms") == Declared("instant", epoch="ms")
    with pytest.raises(ColumnTypeUnknown, match="instant epoch s"):
        declared("at", "date epoch s %z")


def _source(folder: Path, name: str, numbers: list[int]) -> str:
    """Write numbers of milliseconds; return the source and the dataset's place in it."""
    if name == "a.csv":
        (folder / name).write_text("created\n" + "\n".join(map(str, numbers)) + "\n")
    elif name == "a.jsonl":
        (folder / name).write_text("".join(json.dumps({"created": number}) + "\n" for number in numbers))
    elif name == "a.parquet":
        pq.write_table(pa.table({"created": numbers}), folder / name)
    elif name == "a.xlsx":
        with xlsxwriter.Workbook(folder / name) as book:
            book.add_worksheet("S").write_column(0, 0, ["created", *numbers])
    else:
        with sa.create_engine(f"sqlite:///{folder / name}").begin() as connection:
            connection.exec_driver_sql("create table t (created integer)")
            connection.exec_driver_sql("insert into t values (?)", [(number,) for number in numbers])
    return {
        "a.db": "{type: sql, url: 'sqlite:///a.db'} table: t",
        "a.xlsx": "{type: workbook, path: a.xlsx} sheet: S",
    }.get(name, f"{{type: files}} path: {name}")


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_a_reconciliation_compares_them_with_days(tmp_path: Path, name: str) -> None:
    source, _, place = _source(tmp_path, name, [MORNING * 1000, (MORNING + 31 * 86_400) * 1000]).partition("} ")
    (tmp_path / "bank.csv").write_text("day\n2026-03-01\n2026-04-03\n")
    project = Project(tmp_path).write(
        f"""\
        version: 1
        sources: {{f: {{type: files}}, s: {source}}}}}
        datasets:
          s: {{source: s, {place}, columns: {{created: instant epoch ms}}}}
          b: {{source: f, path: bank.csv, columns: {{day: date}}}}
        rules:
          r: {{kind: reconciliation, left: s, right: b, key: [{{left: [created, day], right: day}}]}}
        """
    )

    answer = project("run", "--dry-run", "--json")

    assert answer.code == 0, answer.said
    assert sorted(finding["form"] for finding in answer.json["findings"]) == ["left_only", "right_only"]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.slow
def test_they_are_proposed_by_name_and_values(tmp_path: Path, name: str) -> None:
    _source(tmp_path, name, [MORNING * 1000, MORNING * 1000 + 1])

    answer = Project(tmp_path)("suggest", name)

    assert "created: instant epoch ms" in answer.out, answer.said


@pytest.mark.parametrize(
    ("column", "values", "word"),
    [
        ("created", ["1772359200", "1772359201"], "instant epoch s"),
        ("updatedAt", ["1772359200000"], "instant epoch ms"),
        ("ts_us", ["1772359200000000"], "instant epoch us"),
        ("epoch", ["1772359200"], "instant epoch s"),
        ("order_id", ["1772359200"], None),
        ("phone", ["1772359200"], None),
        ("created_by", ["1772359200"], None),
        ("created", ["1772359200", "7"], None),
        ("created", ["1772359200", "1772359200000"], None),
        ("created", ["20260301", "20260302"], None),
        ("created_at", ["20260301100000"], None),
        ("created", [], None),
    ],
)
def test_the_name_and_all_values_must_speak_for_it(column: str, values: list[str], word: str | None) -> None:
    assert epochs.declaration(column, values) == word
