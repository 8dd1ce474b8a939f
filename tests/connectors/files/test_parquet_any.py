"""Any Parquet file is read as pyarrow reads it, or refused: types, nulls, nested columns, names, folders, row groups.

Pyarrow writes and reads the files; it shares nothing with the reader under test. A short form runs in CI; `make chaos`
goes on for minutes (RECONCILE_CHAOS_SECONDS).
"""

import datetime as dt
import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from connectors.files.source import FilesDataset
from tests.support.chance import SEED
from tests.support.files import by_duckdb, records, source

SECONDS = int(os.environ.get("RECONCILE_CHAOS_SECONDS") or 0)
EXAMPLES = max(7, SECONDS // 12)
pytestmark = pytest.mark.chaos
TEXTS = st.one_of(
    st.sampled_from(["", " ", "N/A", "#N/A", "NULL", "null", "a=5", "é", "\u0000", "0"]),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
)
MICROSECONDS = st.integers(-(2**55), 2**55)
NANOSECONDS = st.integers(-(2**62), 2**62)
KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.dictionary(pa.int32(), pa.string()): TEXTS,
    pa.binary(): st.binary(max_size=8),
    pa.decimal128(38, 10): st.decimals(-(10**27), 10**27, places=10),
    pa.decimal128(5, 2): st.decimals(-999, 999, places=2),
    pa.date32(): st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    pa.timestamp("s"): st.integers(-(2**35), 2**35),
    pa.timestamp("ms"): st.integers(-(2**45), 2**45),
    pa.timestamp("us"): MICROSECONDS,
    pa.timestamp("us", "Europe/Berlin"): MICROSECONDS,
    pa.timestamp("ns"): NANOSECONDS,
    pa.timestamp("ns", "UTC"): NANOSECONDS,
    pa.null(): st.none(),
    pa.list_(pa.int64()): st.lists(st.integers(0, 5), max_size=2),
    pa.struct([("x", pa.int64())]): st.fixed_dictionaries({"x": st.integers(0, 5)}),
    pa.map_(pa.string(), pa.int64()): st.lists(st.tuples(st.sampled_from(["k", "l"]), st.integers(0, 5)), max_size=1),
}
NAMES = st.one_of(
    st.sampled_from(
        [
            "a",
            "A",
            "b",
            "id",
            "Id",
            "ID",
            "a_1",
            "A_2",
            "_file",
            "_row",
            "filename",
            "file_row_number",
            "column_1",
            "x y",
        ]
    ),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=4),
)
FOLDERS = st.sampled_from(["", "a=5/", "id=x/b=7/", "filename=1/", "_row=3/", "plain/"])


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Columns of every type with nulls, under names that repeat each other in other cases."""
    names = draw(st.lists(NAMES, min_size=1, max_size=6))
    count = draw(st.integers(0, 12))
    columns = []
    for _ in names:
        kind = draw(st.sampled_from(list(KINDS)))
        cells = draw(st.lists(st.one_of(st.none(), KINDS[kind]), min_size=count, max_size=count))
        columns.append(pa.array(cells, kind))
    return pa.Table.from_arrays(columns, names=names)


def expected_names(header: list[str]) -> list[str]:
    """From docs/configuration.md: trimmed; empty ones are numbered by place, repeated ones counted, in any case."""
    wanted = [name.strip() or f"column_{place}" for place, name in enumerate(header, 1)]
    names: list[str] = []
    for name in wanted:
        unique, count = name, 1
        while unique.lower() in {"_file", "_row", *(other_name.lower() for other_name in names)} or (
            count > 1 and unique.lower() in {second.lower() for second in wanted}
        ):
            count += 1
            unique = f"{name}_{count}"
        names.append(unique)
    return names


def expected(column: pa.ChunkedArray) -> list[Any]:
    """What a column holds, by pyarrow alone; times are in UTC and their nanoseconds cut."""
    if pa.types.is_timestamp(column.type):
        units = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 0}[column.type.unit]
        numbers = [None if not cell.is_valid else cell.value for cell in column]
        return [None if n is None else n * units if units else n // 1000 for n in numbers]
    if pa.types.is_floating(column.type):
        return [None if cell is None else float(cell) for cell in column.to_pylist()]
    return column.to_pylist()


def comparable(cell: Any) -> Any:
    """A cell of ours as `expected` gives it."""
    if isinstance(cell, dt.datetime):
        return (cell - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    return float(cell) if isinstance(cell, float) else cell


def alike(cells: list[Any]) -> list[int | None]:
    """For each cell the place of the first one that equals it: nested ones are text here, which tells them apart."""
    first: dict[str, int] = {}
    return [None if cell is None else first.setdefault(repr(cell), place) for place, cell in enumerate(cells)]


@seed(SEED)
@settings(
    max_examples=EXAMPLES, database=None, phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck)
)
@given(tables(), FOLDERS, st.sampled_from([1, 5, 1000]), st.booleans())
def test_a_parquet_file_is_read_as_pyarrow_reads_it(table: pa.Table, folder: str, group: int, dictionary: bool) -> None:
    with tempfile.TemporaryDirectory() as created:
        root = Path(created)
        file = root / folder / "f.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, file, row_group_size=group, use_dictionary=dictionary)
        with pq.ParquetFile(file) as independent:
            back, count = independent.read(), independent.metadata.num_rows
        rows, problems = records(root, f"{folder}f.parquet")

        names = expected_names(table.column_names)
        described = source(root).describe(FilesDataset(path=f"{folder}f.parquet"))
        assert described.names == [*names, "_file", "_row"]
        assert len(rows) == count
        for place, field in enumerate(back.schema):
            ours, theirs = [comparable(row[place]) for row in rows], expected(back.column(place))
            assert ours == theirs if not pa.types.is_nested(field.type) else alike(ours) == alike(theirs)
        assert problems == ()
        alone = by_duckdb(root, f"{folder}f.parquet", names)
        if alone is not None:
            assert alone[0].types == described.types[: len(names)]
            assert sorted(map(repr, alone[1])) == sorted(map(repr, rows))


def test_a_folder_named_like_a_column_changes_no_value(tmp_path: Path) -> None:
    """DuckDB left to itself takes the folder's name for the column."""
    (tmp_path / "a=5").mkdir()
    pq.write_table(pa.table({"a": [1, 2], "v": ["p", "q"]}), tmp_path / "a=5" / "f.parquet")

    with duckdb.connect() as con:
        assert con.sql(f"select a from read_parquet('{tmp_path}/a=5/f.parquet')").fetchall() == [(5,), (5,)]
    assert records(tmp_path, "a=5/f.parquet")[0] == [(1, "p"), (2, "q")]
    assert by_duckdb(tmp_path, "*/f.parquet", ["a"])[1] == [(1,), (2,)]
