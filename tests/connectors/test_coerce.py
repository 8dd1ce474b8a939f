"""Declared types: what text becomes, exactly, and what is counted as unreadable."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.coerce import Coercion
from connectors.declared import Notation, declared
from connectors.errors import ColumnTypeUnknown
from rules.values.normal_forms import INVISIBLE

NAIVE = dt.datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001 - a naive time is what is tested
EARLY = dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)


def read(word, values, arrow=None, **notation):
    batch = pa.RecordBatch.from_pydict({"x": pa.array(values, arrow or pa.string())})
    coercion = Coercion(batch.schema, {"x": declared("x", word)}, Notation(**notation))
    try:
        answer = coercion.batch(batch)
        assert answer.schema == coercion.schema
        return answer.column(0).to_pylist(), coercion.problems()
    finally:
        coercion.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.50", "1.5"), ("-0.10", "-0.1"), ("+7", "7"), (".5", "0.5"), ("5.", "5"), (" 12.5 ", "12.5"),
        ("1,234.56", "1234.56"), ("1,234.", "1234"), ("1,234,567", "1234567"), ("1'234'567.1", "1234567.1"),
        ("1 234", "1234"), ("1\u202f234.5", "1234.5"),
        ("12.50-", "-12.5"), ("\u221212.50", "-12.5"), ("9007199254740993.01", "9007199254740993.01"),
        ("0.123456789012", "0.123456789012"), ("00012.5", "12.5"),
    ],
)  # fmt: skip
def test_a_decimal_is_read_exactly(text, value):
    assert read("decimal", [text]) == ([Decimal(value)], ())


@pytest.mark.parametrize(
    "text",
    ["1,23", "12,345,6", "1,2345", "1 23", "1,234 567", "1e5", "0x10", "1_000", "NaN", "inf", "--1", "-1-", "abc",
     "1.2.3", "0,125", "-0,125", "0,125.5", "012,345.6", "0 125", "1,234", "-1,234", "1,234-",
     "0.1234567890123", "1" * 27, "€x5", "-", ".", "1234,567.00", "٣"],
)  # fmt: skip
@pytest.mark.slow
def test_what_is_not_a_decimal_is_null_and_counted(text):
    values, problems = read("decimal", ["1", text, "", None])

    assert values == [Decimal(1), None, None, None]
    assert [(p.column, p.records, p.first, p.skipped) for p in problems] == [("x", 1, "record 2", False)]


def test_a_decimal_comma_lets_the_dot_group_in_threes_only():
    values, problems = read("decimal", ["1.234,56", "1.234", "12,5", "1.23", "1,5-", "1.234.567,8"], decimal=",")

    assert values == [Decimal("1234.56"), Decimal(1234), Decimal("12.5"), None, Decimal("-1.5"), Decimal("1234567.8")]
    assert problems[0].records == 1


@pytest.mark.slow
@pytest.mark.parametrize("word", ["integer", "decimal", "decimal(10,2)", "float"])
def test_one_group_behind_a_mark_is_a_thousand_only_where_the_dataset_says_its_decimal_mark(word):
    assert read(word, ["1,234", "-1,234"])[0] == [None, None]
    assert read(word, ["1,234", "-1,234", "0,125"], decimal=".")[0] == [1234, -1234, None]
    assert read(word, ["1.234", "-1.234", "0.125"], decimal=",")[0] == [1234, -1234, None]
    assert read(word, ["1,234,567", "1 234", "1'234"])[0] == [1234567, 1234, 1234]


@pytest.mark.slow
@given(st.decimals(min_value=-(10**25), max_value=10**25, places=12))
def test_every_decimal_comes_back_as_written(number):
    assert read("decimal", [format(number, "f")])[0] == [number]


def test_integers_have_64_bits():
    values, problems = read(
        "integer", ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "007", "1.0"]
    )

    assert values == [2**63 - 1, -(2**63), None, 7, None]
    assert problems[0].records == 2


def test_floats_have_exponents_but_no_infinity():
    assert read("float", ["1.5e3", "-2E-2", "1e999", "nan", "inf"])[0] == [1500.0, -0.02, None, None, None]


def test_booleans_are_words_not_guesses():
    assert read("boolean", ["TRUE", "no", "1", " f ", "ja", "2"])[0] == [True, False, True, False, None, None]


def test_a_date_has_its_format_and_two_digit_years_are_not_years():
    day = dt.date(2026, 3, 1)

    assert read("date", ["2026-03-01", "2026-03-01 00:00:00", "2026-03-01T10:00", "2026-02-29", "0000-01-01"])[0] == [
        day, day, None, None, None,
    ]  # fmt: skip
    assert read("date %d.%m.%Y | %Y%m%d", ["01.03.2026", "20260301", "1.3.2026", "01.03.26", "29.02.2025"])[0] == [
        day, day, day, None, None,
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("formats", ["%d.%m.%Y | %d.%m.%y", "%d.%m.%y | %d.%m.%Y"])
def test_each_of_several_formats_can_match(formats):
    day = dt.date(2026, 9, 26)

    assert read(f"date {formats}", ["26.09.26", "26.09.2026"]) == ([day, day], ())
    times = " | ".join(f"{form} %H:%M" for form in formats.split(" | "))
    assert (
        read(f"instant {times}", ["26.09.26 10:00", "26.09.2026 10:00"])[0]
        == [dt.datetime(2026, 9, 26, 10, tzinfo=dt.UTC)] * 2
    )
    placed = " | ".join(f"{form} %H:%M%z" for form in formats.split(" | "))
    assert (
        read(f"instant {placed}", ["26.09.26 10:00Z", "26.09.2026 10:00Z"])[0]
        == [dt.datetime(2026, 9, 26, 10, tzinfo=dt.UTC)] * 2
    )


def test_an_instant_is_utc_and_an_offset_is_honoured():
    ten = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)
    ways = ["2026-03-01T10:00Z", "2026-03-01 10:00:00", "2026-03-01 12:00:00+02", "2026-03-01T12:00:00.000 +02:00",
            "2026-03-01t11:00:00+0100"]  # fmt: skip

    assert read("instant", ways)[0][:4] == [ten] * 4
    assert read("instant", ["2026-03-01 10:00 Europe/Berlin", "infinity", "2026-03-01T24:00"])[0] == [None] * 3


def test_naive_times_are_in_the_zone_of_the_dataset():
    values, problems = read(
        "instant", ["2026-10-25 02:30", "2026-03-29 02:30", "2026-03-29T02:30+02:00", "x"], timezone="Europe/Berlin"
    )

    assert values == [
        EARLY,
        dt.datetime(2026, 3, 29, 1, 0, tzinfo=dt.UTC),
        dt.datetime(2026, 3, 29, 0, 30, tzinfo=dt.UTC),
        None,
    ]
    assert problems[0].records == 1


def test_an_instant_takes_formats_with_and_without_offset():
    values, _ = read("instant %d.%m.%Y %H:%M | %d.%m.%Y %H:%M%z", ["01.03.2026 11:00", "01.03.2026 11:00Z"],
                     timezone="Europe/Berlin")  # fmt: skip

    assert values == [dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC), dt.datetime(2026, 3, 1, 11, tzinfo=dt.UTC)]


def test_null_values_are_null_without_a_problem():
    assert read("decimal", ["N/A", "-", "1"], null_values=("N/A", "-")) == ([None, None, Decimal(1)], ())
    assert read("text", ["N/A", " N/A"], null_values=("N/A",)) == ([None, " N/A"], ())


@pytest.mark.slow
def test_typed_columns_go_by_their_exact_text():
    assert read("decimal", [0.1, 1e16], pa.float64())[0] == [Decimal("0.1"), Decimal(10**16)]
    assert read("decimal", [5], pa.int64())[0] == [Decimal(5)]
    assert read("integer", [5.0, 5.5], pa.float64())[0] == [5, None]
    assert read("text", [12], pa.int64())[0] == ["12"]
    assert read("date %Y%m%d", [20260301], pa.int64())[0] == [dt.date(2026, 3, 1)]
    assert read("instant", [NAIVE], pa.timestamp("us"), timezone="Europe/Berlin")[0] == [EARLY]
    assert read("instant", [EARLY], pa.timestamp("ns", "Asia/Tokyo"))[0] == [EARLY]
    assert read("date", [EARLY], pa.timestamp("us", "UTC"), timezone="Pacific/Auckland")[0] == [dt.date(2026, 10, 25)]


@pytest.mark.parametrize("word", ["money", "date %Q", "date %Y%z", "text x", "decimal(39,2)", "decimal(5,6)", ""])
def test_a_word_that_is_no_type_is_refused_with_the_column(word):
    with pytest.raises(ColumnTypeUnknown, match="columns: x"):
        declared("x", word)


@pytest.mark.parametrize(
    ("word", "text", "value"),
    [
        ("decimal", "\ufeff1,234.5\u200b0", Decimal("1234.50")),
        ("integer", "1\u20602", 12),
        ("float", "\u202a1.5\u202c", 1.5),
        ("boolean", "y\u200bes", True),
        ("date", "\ufeff2026-03-\u200e01", dt.date(2026, 3, 1)),
        ("date %d.%m.%Y", "01.03.2026\u200b", dt.date(2026, 3, 1)),
        ("instant", "2026-03-01T10:00Z\u2066", dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)),
        ("decimal", "\u200b", None),
        ("text", "\u200bA", "\u200bA"),
    ],
)
def test_typed_values_ignore_characters_that_show_nothing(word, text, value):
    assert read(word, [text]) == ([value], ())


def test_the_invisible_characters_of_files_are_those_of_rules():
    codes = [code for first, last in INVISIBLE for code in (first - 1, first, last, last + 1)]

    values, _ = read("integer", [f"1{chr(code)}2" for code in codes])

    are_invisible = [any(first <= code <= last for first, last in INVISIBLE) for code in codes]
    assert [value == 12 for value in values] == are_invisible
