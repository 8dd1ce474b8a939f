"""How exact keys and ids are found in DuckDB: whole numbers in a table of bits, everything else by sorted hashes."""

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engines import embedded, hashed
from rules.engines.base import IdentityProblem, Readable, Relation, Repeats
from rules.groups.detection import Detection
from rules.kinds.duplicates import DuplicatesRule
from rules.values import Column, Schema, Type, Value
from tests.support.chance import examples
from tests.support.rules import Rows, detect

SLOT = dt.datetime(2026, 3, 1, 6, tzinfo=dt.UTC)
LEAST, GREATEST = -(2**63), 2**63 - 1
NUMBERS = st.one_of(
    st.none(),
    st.integers(0, 30),
    st.integers(-5, 5),
    st.sampled_from([LEAST, LEAST + 1, -(2**40), 2**40, GREATEST - 1, GREATEST]),
)
KEYS = st.sampled_from(["a", "b", "c", None])


def rule() -> DuplicatesRule:
    return DuplicatesRule.model_validate({"name": "r", "kind": "duplicates", "dataset": "things", "key": ["code"]})


def ids(detection: Detection) -> list[list[Value]]:
    return [[member.id[0] for member in group.members] for group in detection.groups]


def counted(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> IdentityProblem:
    """Return the empty and the repeated ids, counted in plain Python."""
    all_ids = [tuple(row[name] for name in columns) for row in rows]
    named = [each for each in all_ids if None not in each]
    return IdentityProblem(len(all_ids) - len(named), len(named) - len(set(named)))


def groups(detection: Detection) -> list[list[Any]]:
    return sorted(sorted(map(str, group)) for group in ids(detection))


@settings(max_examples=examples(30, quick=8))
@given(st.lists(st.tuples(NUMBERS, KEYS), max_size=25), st.sampled_from([1, 4, 10**6]), st.sampled_from([3, 10**6]))
@pytest.mark.slow
def test_ids_are_counted_and_keys_found_whatever_the_numbers_are(
    drawn: list[tuple[int | None, str | None]], spread: int, piece: int
) -> None:
    rows = [{"id": number, "code": code} for number, code in drawn]
    data = Rows({"id": Type.INTEGER, "code": Type.TEXT}, rows)
    by_code: dict[str, list[int]] = {}
    for number, code in drawn:
        if number is not None and code is not None:
            by_code.setdefault(code, []).append(number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "SPREAD", spread)
        patch.setattr(embedded, "SLICE", piece)
        detection = detect(rule(), data.relation(), data.streamed(), SLOT)

    assert detection.identity == counted(rows, ("id",))
    expected = (sorted({str(n) for n in numbers}) for numbers in by_code.values() if len(set(numbers)) > 1)
    assert [sorted(set(group)) for group in groups(detection)] == sorted(expected)


@settings(max_examples=examples(10, quick=4))
@given(st.lists(st.tuples(NUMBERS, NUMBERS, KEYS), max_size=20))
@pytest.mark.slow
def test_an_id_of_two_columns_is_counted(drawn: list[tuple[int | None, int | None, str | None]]) -> None:
    rows = [{"id": first, "part": second, "code": code} for first, second, code in drawn]
    data = Rows({"id": Type.INTEGER, "part": Type.INTEGER, "code": Type.TEXT}, rows, ("id", "part"))

    assert detect(rule(), data.relation(), data.streamed(), SLOT).identity == counted(rows, ("id", "part"))


@pytest.mark.parametrize(
    ("of_duckdb", "type_", "offset"),
    [
        ("utinyint", Type.INTEGER, 0),
        ("uinteger", Type.INTEGER, 2**32 - 100),
        ("ubigint", Type.INTEGER, 2**64 - 100),
        ("decimal(38, 0)", Type.DECIMAL, -(10**37)),
        ("varchar", Type.TEXT, 0),
        ("date", Type.DATE, 0),
    ],
)
def test_ids_of_every_width_are_counted_in_a_file(of_duckdb: str, type_: Type, offset: int, tmp_path: Path) -> None:
    """Of 60 records, three have no id and nine repeat another one's; the key of 58 repeats."""
    number = f"{offset}::hugeint + if(i >= 50, i - 9, i)"
    name = f"date '2024-01-01' + (({number})::int)" if of_duckdb == "date" else f"({number})::{of_duckdb}"
    path = tmp_path / "ids.parquet"
    with duckdb.connect() as connection:
        connection.sql(
            f"select if(i in (3, 4, 5), null, {name}) as id, if(i < 58, i // 2, i)::varchar as code from range(60) t(i)"
        ).write_parquet(str(path))

    relation = Relation("things", Schema((Column("id", type_), Column("code", Type.TEXT))), ("id",))
    records = Readable(lambda columns: f"select {', '.join(columns)} from read_parquet('{path}')")
    detection = detect(rule(), relation, records, SLOT)

    assert detection.identity == IdentityProblem(nulls=3, repeated=9)
    assert sum(len(group) for group in ids(detection)) == 58 - 4, "the pairs of 2 and 3, and of 4 and 5, lose their ids"


@pytest.mark.slow
def test_one_record_and_records_that_are_all_equal(tmp_path: Path) -> None:
    for count in (1, 2, 500):
        data = Rows({"id": Type.INTEGER, "code": Type.TEXT}, [{"id": n, "code": "a"} for n in range(count)])
        for records in (data.streamed(), data.readable(tmp_path)):
            detection = detect(rule(), data.relation(), records, SLOT)
            assert [len(group) for group in ids(detection)] == ([count] if count > 1 else [])
            assert not detection.identity


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0xFFFFFFFF00000000, 0x3, 0x0])
def test_halves_of_hashes_that_collide_change_nothing(mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if all upper halves are equal, all lower ones, or all hashes."""
    rows = [{"id": n, "code": f"c{n % 61}"} for n in range(99)]
    data = Rows({"id": Type.INTEGER, "code": Type.TEXT}, rows)
    expected = detect(rule(), data.relation(), data.streamed(), SLOT)
    hashes = hashed.key_hashes

    def masked(question: Repeats) -> dict[str, sa.ColumnElement[Any]]:
        bits: sa.ColumnElement[Any] = sa.literal_column(f"{mask}::ubigint")
        return {name: value.bitwise_and(bits) for name, value in hashes(question).items()}

    monkeypatch.setattr(hashed, "key_hashes", masked)

    detection = detect(rule(), data.relation(), data.streamed(), SLOT)
    assert (detection.groups, detection.identity) == (expected.groups, expected.identity)
    assert len(detection.groups) == 38


@given(
    st.lists(st.integers(0, 5).map(lambda n: n << 32) | st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=60),
    st.integers(2, 4),
    st.sampled_from([1, 7, 1 << 17]),
)
def test_repeating_hashes_are_those_that_a_counter_counts(hashes: list[int], minimum: int, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed, "_PIECE", piece)
        repeats = hashed.repeating_hashes(np.array(hashes, np.uint64), minimum)

    assert repeats.tolist() == sorted(value for value, times in Counter(hashes).items() if times >= minimum)
