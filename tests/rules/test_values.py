"""Canonical values: equal exactly for equal values, and one total order over all of them."""

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.values import (
    Column,
    Schema,
    Type,
    Value,
    canonical,
    canonical_json,
    order_key,
    sameness,
    schema_from_arrow,
    type_of,
)

BERLIN = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2026, 3, 29, 12, tzinfo=dt.UTC)
NUMBERS = (
    st.integers(-(10**20), 10**20) | st.decimals(-(10**20), 10**20, allow_nan=False) | st.integers(-2, 2).map(float)
)
VALUES: st.SearchStrategy[Any] = (
    st.none()
    | st.text(max_size=4)
    | NUMBERS
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.binary(max_size=3)
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, ["b", "true"]),
        (1, ["n", "1"]),
        (1.0, ["n", "1"]),
        (Decimal("1.00"), ["n", "1"]),
        (Decimal("-0.00"), ["n", "0"]),
        (-0.0, ["n", "0"]),
        (Decimal("1E+3"), ["n", "1000"]),
        (0.1, ["n", "0.1"]),
        (1e300, ["n", "1" + "0" * 300]),
        (Decimal("9007199254740993.01"), ["n", "9007199254740993.01"]),
        (Decimal("NaN"), ["n", "nan"]),
        (Decimal("-Infinity"), ["n", "-inf"]),
        ("1", ["t", "1"]),
        (dt.date(2026, 3, 29), ["d", "2026-03-29"]),
        (NOON.astimezone(BERLIN), ["i", "2026-03-29T12:00:00.000000Z"]),
        (dt.datetime(1, 1, 1, tzinfo=dt.UTC), ["i", "0001-01-01T00:00:00.000000Z"]),
        (b"\x00\xff", ["y", "00ff"]),
    ],
)
def test_a_value_has_one_canonical_form(value: Value, expected: list[str] | None) -> None:
    assert canonical(value) == expected


@given(NUMBERS, NUMBERS)
def test_numbers_share_a_form_exactly_when_they_are_equal(a: Any, b: Any) -> None:
    assert (canonical(a) == canonical(b)) == (Fraction(a) == Fraction(b))


@given(VALUES, VALUES, VALUES)
def test_the_order_is_total_and_agrees_with_equality(a: Value, b: Value, c: Value) -> None:
    assert (order_key(a) == order_key(b)) == (canonical(a) == canonical(b))
    assert [order_key(a) < order_key(b), order_key(a) == order_key(b), order_key(a) > order_key(b)].count(True) == 1
    assert not (order_key(a) < order_key(b) < order_key(c)) or order_key(a) < order_key(c)


def test_the_order_is_by_value_inside_a_type() -> None:
    values = [None, "b", "a", "Ä", 10, Decimal("9.5"), float("-inf"), float("nan"), dt.date(2026, 1, 2)]

    assert [str(v) for v in sorted(values, key=order_key)] == [
        "-inf", "9.5", "10", "nan", "a", "b", "Ä", "2026-01-02", "None",
    ]  # fmt: skip


@given(st.lists(VALUES, max_size=4))
def test_a_list_of_values_is_one_line_of_ascii_json(values: list[Value]) -> None:
    line = canonical_json(values)

    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == [canonical(v) for v in values]


def test_a_naive_time_has_no_place_in_a_key() -> None:
    with pytest.raises(ValueError, match="naive time"):
        canonical(NOON.replace(tzinfo=None))


def test_what_is_no_value_cannot_be_part_of_a_key() -> None:
    with pytest.raises(TypeError, match="a list cannot be part of a key"):
        canonical([1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.string(), Type.TEXT),
        (pa.large_string(), Type.TEXT),
        (pa.string_view(), Type.TEXT),
        (pa.uint64(), Type.INTEGER),
        (pa.decimal128(38, 10), Type.DECIMAL),
        (pa.float32(), Type.FLOAT),
        (pa.bool_(), Type.BOOLEAN),
        (pa.date32(), Type.DATE),
        (pa.timestamp("us", tz="UTC"), Type.INSTANT),
        (pa.binary(), Type.BYTES),
        (pa.list_(pa.int64()), None),
    ],
)
def test_an_arrow_type_has_a_rule_type_or_none(arrow: pa.DataType, expected: Type | None) -> None:
    assert type_of(arrow) is expected


def test_a_schema_keeps_the_order_and_the_connectors_word() -> None:
    exact = pa.field("id", pa.int64(), nullable=False, metadata={"pushdown": "exact"})
    schema = schema_from_arrow(
        pa.schema([exact, pa.field("tags", pa.list_(pa.string())), pa.field("name", pa.string())])
    )

    assert schema == Schema((Column("id", Type.INTEGER, False, True), Column("name", Type.TEXT)))
    assert schema.names == ("id", "name")
    assert "tags" not in schema


FEW_VALUES = st.sampled_from([None, True, 1, 1.0, Decimal("1.00"), -0.0, 0, "1", "true", "n", b"1", float("nan"), ""])


@given(st.lists(FEW_VALUES, max_size=3), st.lists(FEW_VALUES, max_size=3))
def test_lists_of_values_are_the_same_exactly_where_their_canonical_forms_are(one, other):
    assert (sameness(one) == sameness(other)) == (canonical_json(one) == canonical_json(other))


@given(st.lists(FEW_VALUES, max_size=3))
def test_what_is_the_same_has_one_hash(values):
    assert hash(sameness(values)) == hash(sameness(list(values)))
