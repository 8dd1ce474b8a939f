"""The expression language: its errors, its meaning, and that its SQL says the same wherever it claims to."""

import datetime as dt
import functools
import itertools
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rules.document.mistakes import RuleError
from rules.expressions import BoundExpression, ExpressionError, parse, parse_group
from rules.expressions.falling import falls
from rules.functions import DIALECTS, render
from rules.functions import dialect as to_dialect
from rules.values import Column, Schema, Type, Value, canonical
from tests.rules.expressions.engines import ENGINES, SQL, DuckRun, Run, opened
from tests.support.chance import examples

KINDS = {
    "name": Type.TEXT, "other": Type.TEXT, "count": Type.INTEGER, "big": Type.INTEGER, "amount": Type.DECIMAL,
    "fee": Type.DECIMAL, "ratio": Type.FLOAT, "paid": Type.BOOLEAN, "booked": Type.DATE, "charged_at": Type.INSTANT,
}  # fmt: skip
SCHEMA = Schema(tuple(Column(name, kind, pushable=True) for name, kind in KINDS.items()))
SLOT = dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC)


def row(**values: Value) -> dict[str, Value]:
    return dict.fromkeys(KINDS) | values


def value_of(text: str, **values: Value) -> Value:
    return parse(text).bind(SCHEMA, "Europe/Berlin").evaluate(row(**values), SLOT)


@pytest.fixture(params=ENGINES)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    with opened(request) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("1 + 2 * 3 - 4", {}, 3),
        ("(1 + 2) * -3", {}, -9),
        ("7 / 2", {}, Decimal("3.5")),
        ("1 / 3", {}, Decimal("0." + "3" * 38)),
        ("2 / 0", {}, None),
        ("0.1 + 0.2 = 0.3", {}, True),
        ("ratio = 0.1", {"ratio": 0.1}, True),
        ("ratio + 0.2", {"ratio": 0.1}, Decimal("0.3")),
        ("ratio > 5", {"ratio": float("nan")}, True),
        ("amount = 1", {"amount": Decimal("1.00")}, True),
        ("big + 1", {"big": 2**63 - 1}, 2**63),
        ("- amount", {"amount": Decimal("1.50")}, Decimal("-1.50")),
        ("abs(amount)", {"amount": Decimal("-1.5")}, Decimal("1.5")),
        ("round(amount)", {"amount": Decimal("-2.5")}, Decimal(-3)),
        ("round(amount, 2)", {"amount": Decimal("1.005")}, Decimal("1.01")),
        ("coalesce(amount, fee, 0)", {"fee": Decimal(3)}, Decimal(3)),
        ("coalesce(name, 'x')", {}, "x"),
        ("lower(trim(name)) = 'it''s'", {"name": "\u3000IT'S "}, True),
        ("name < other", {"name": "Z", "other": "a"}, True),
        ("name = other", {"name": "A1", "other": "A1 "}, False),
        ("name in ('a', 'b')", {"name": "b"}, True),
        ("name in ('a', other)", {"name": "b"}, None),
        ("name not in ('a', 'b')", {"name": "c"}, True),
        ("amount between 1 and 2.5", {"amount": Decimal("2.5")}, True),
        ("not amount between 1 and 2.5", {"amount": Decimal("2.6")}, True),
        ("name like 'INV-%'", {"name": "INV-1\n2"}, True),
        ("name like 'inv-%'", {"name": "INV-1"}, False),
        ("name like '%a_c%'", {"name": "xxabcabc"}, True),
        ("name like '%a%a'", {"name": "a"}, False),
        ("name like 'a\\%'", {"name": "a\\b"}, True),
        ("name is null and other is not null", {"other": ""}, True),
        ("paid", {"paid": True}, True),
        ("not paid", {}, None),
        ("paid = false", {"paid": False}, True),
        ("paid or 1 = 1", {}, True),
        ("paid and 1 = 2", {}, False),
        ("paid and 1 = 1", {}, None),
        ("amount <> null_free", None, None),
        ("booked >= '2026-03-29'", {"booked": dt.date(2026, 3, 29)}, True),
        ("booked = slot()", {"booked": dt.date(2026, 3, 29)}, True),
        ("booked - 2w", {"booked": dt.date(2026, 3, 29)}, dt.date(2026, 3, 15)),
        ("charged_at = slot() - 90d", {"charged_at": SLOT - dt.timedelta(days=90)}, True),
        ("charged_at < '2026-03-29'", {"charged_at": dt.datetime(2026, 3, 28, 22, 59, tzinfo=dt.UTC)}, True),
        ("charged_at < '2026-03-29'", {"charged_at": dt.datetime(2026, 3, 28, 23, 0, tzinfo=dt.UTC)}, False),
        ("charged_at = '2026-03-29T03:30:00+02:00'", {"charged_at": SLOT}, True),
        ("charged_at + 1.5h < slot()", {"charged_at": SLOT - dt.timedelta(hours=2)}, True),
        ("'2026-01-01' < booked", {"booked": dt.date(2026, 3, 29)}, True),
        ("AMOUNT", None, None),
        ("year(booked)", {"booked": dt.date(1, 1, 1)}, 1),
        ("year(booked)", {"booked": dt.date(9999, 12, 31)}, 9999),
        ("quarter(booked)", {"booked": dt.date(2026, 3, 31)}, 1),
        ("quarter(booked)", {"booked": dt.date(2026, 10, 1)}, 4),
        ("month(booked)", {"booked": dt.date(2026, 10, 1)}, 10),
        ("weekday(booked)", {"booked": dt.date(2026, 3, 29)}, 7),
        ("day(charged_at)", {"charged_at": dt.datetime(2026, 3, 28, 23, tzinfo=dt.UTC)}, 29),
        ("hour(charged_at)", {"charged_at": dt.datetime(2026, 3, 29, 1, tzinfo=dt.UTC)}, 3),
        ("weekday(booked) in (6, 7)", {"booked": dt.date(2026, 3, 30)}, False),
        ("year(booked)", {}, None),
        ("year(charged_at)", {"charged_at": dt.datetime(2025, 12, 31, 23, tzinfo=dt.UTC)}, 2026),
        ("weekday(charged_at)", {"charged_at": dt.datetime(2026, 3, 28, 22, 59, tzinfo=dt.UTC)}, 6),
        ("month(charged_at)", {"charged_at": dt.datetime(9999, 12, 31, 23, tzinfo=dt.UTC)}, None),
        ("month(slot())", {}, 3),
        ("upper(name)", {"name": "aéßﬁ\U00010428"}, "AÉßﬁ\U00010400"),
        ("length(name)", {"name": "e\u0301\U0001f600"}, 3),
        ("length(name)", {}, None),
        ("concat(name, ' ', other)", {"name": "Ann", "other": "Lee"}, "Ann Lee"),
        ("concat(name, ' ', other)", {"name": "Ann"}, None),
        ("concat('a', 'b')", {}, "ab"),
        ("prefix(name, 2)", {"name": "a\U00010400x"}, "a\U00010400"),
        ("suffix(name, 4)", {"name": "DE02 1203"}, "1203"),
        ("suffix(name, 4)", {"name": "12"}, "12"),
        ("suffix(name, 2)", {"name": "a\U00010400\u0301"}, "\U00010400\u0301"),
        ("suffix(name, 1) is null", {"name": "a "}, True),
        ("replace(name, ' ', '')", {"name": "DE02 1203 "}, "DE021203"),
        ("replace(name, 'aa', 'b')", {"name": "aaaA"}, "baA"),
        ("replace(name, 'a', '') is null", {"name": "aaa"}, True),
        ("replace(name, 'a', ' ') is null", {"name": "aaa"}, True),
        ("split_part(name, '/', 2)", {"name": "2026/017/b"}, "017"),
        ("split_part(name, '/', 3)", {"name": "2026/017"}, None),
        ("split_part(name, '/', 1)", {"name": "2026"}, "2026"),
        ("split_part(name, '/', 2)", {"name": "a//b"}, None),
        ("split_part(name, '//', 2)", {"name": "a///b"}, "/b"),
        ("split_part(name, ' ', 2)", {"name": "Ann Lee"}, "Lee"),
        ("json(name, 'customer.id')", {"name": '{"customer": {"id": 1.50}}'}, "1.50"),
        ("json(name, 'items.1.sku')", {"name": '{"items": [{}, {"sku": "A-1"}]}'}, "A-1"),
        ("json(name, 'items.-1')", {"name": '{"items": ["a"]}'}, None),
        ("json(name, '1')", {"name": '{"1": true}'}, "true"),
        ("json(name, 'a')", {"name": '{"a": 1, "a": 2}'}, "2"),
        ("json(name, 'a')", {"name": '{"a": {"b": 1}}'}, None),
        ("json(name, 'a.b')", {"name": '{"a": null}'}, None),
        ("json(name, 'a')", {"name": '{"a": " "}'}, None),
        ("json(name, 'a')", {"name": '{"a": "\\ud800"}'}, None),
        ("json(name, 'a')", {"name": '{"a": NaN}'}, None),
        ("json(name, 'a')", {"name": "{'a': 1}"}, None),
        ("json(name, 'a')", {"name": "[" * 100_000}, None),
        ("number(name)", {"name": " -12.50 "}, Decimal("-12.5")),
        ("number(name)", {"name": "1e3"}, Decimal(1000)),
        ("number(name) is null", {"name": "1,250.00"}, True),
        ("number(name) is null", {"name": "1e27"}, True),
        ("number(name) is null", {"name": "0.0000000000001"}, True),
        ("date(name)", {"name": "2026-02-28"}, dt.date(2026, 2, 28)),
        ("date(name)", {"name": "2026-02-29"}, None),
        ("date(charged_at)", {"charged_at": dt.datetime(2026, 2, 28, 23, tzinfo=dt.UTC)}, dt.date(2026, 3, 1)),
        ("date(booked)", {"booked": dt.date(2026, 3, 1)}, dt.date(2026, 3, 1)),
        ("instant(name)", {"name": "2026-03-01T10:00:00Z"}, dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)),
        ("instant(name)", {"name": "2026-03-01 10:00"}, dt.datetime(2026, 3, 1, 9, tzinfo=dt.UTC)),
        ("instant(name)", {"name": "2026-03-29T02:30"}, None),
        ("instant(name)", {"name": "soon"}, None),
        ("if(paid, -amount, amount)", {"paid": True, "amount": Decimal(3)}, Decimal(-3)),
        ("if(paid, -amount, amount)", {"amount": Decimal(3)}, Decimal(3)),
        ("if(paid, name)", {"paid": False, "name": "a"}, None),
        ("if(name < other, name, other)", {"name": "b", "other": "a"}, "a"),
        ("if(paid, booked, '2026-01-31')", {}, dt.date(2026, 1, 31)),
        ("if(paid, count, 0.5)", {"paid": True, "count": 2}, 2),
        ("business_days(booked, '2026-03-30')", {"booked": dt.date(2026, 3, 27)}, 1),
        ("business_days(booked, '2026-03-29')", {"booked": dt.date(2026, 3, 27)}, 0),
        ("business_days('2026-03-30', booked)", {"booked": dt.date(2026, 3, 27)}, -1),
        ("business_days(charged_at, '2026-03-30')", {"charged_at": dt.datetime(2026, 3, 29, 22, tzinfo=dt.UTC)}, 0),
        ("business_days(booked, '2026-03-30')", {}, None),
        ("add_business_days(booked, 1)", {"booked": dt.date(2026, 3, 27)}, dt.date(2026, 3, 30)),
        ("add_business_days(booked, count)", {"booked": dt.date(2026, 3, 28), "count": 0}, dt.date(2026, 3, 28)),
        ("add_business_days(booked, -1)", {"booked": dt.date(2026, 3, 29)}, dt.date(2026, 3, 27)),
        ("add_business_days(booked, 10)", {"booked": dt.date(9999, 12, 31)}, None),
        ("add_business_days(booked, count)", {"booked": dt.date(2026, 3, 27)}, None),
    ],
)
def test_an_expression_means_what_it_says(text: str, values: dict[str, Value] | None, expected: Value) -> None:
    if values is None:
        with pytest.raises(ExpressionError, match="There is no column"):
            value_of(text)
        return

    value = value_of(text, **values)

    assert canonical(value) == canonical(expected)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("amount >", "Expected a value but found the end at column 9 of `amount >`."),
        ("", "Expected a value but found the end at column 1 of ``."),
        ("amuont > 3", "There is no column `amuont` at column 1 of `amuont > 3`; did you mean `amount`?"),
        ("name = Ann", "There is no column `Ann` at column 8 of `name = Ann`; for a text write 'Ann'; known names: "),
        (
            "name in ('Bob', Ann)",
            "There is no column `Ann` at column 17 of `name in ('Bob', Ann)`; for a text write 'Ann'",
        ),
        ('name = "Ann"', 'There is no column `Ann` at column 8 of `name = "Ann"`; write texts in single quotes'),
        ("name = ‘Ann’", "Cannot read `‘` at column 8 of `name = ‘Ann’`; write texts in straight single quotes."),
        (
            "amount == 3",
            "Expected a value but found `=` at column 9 of `amount == 3`; use = for equal and <> for not equal.",
        ),
        ("amount != 3", "Cannot read `!` at column 8 of `amount != 3`; write <> for not equal."),
        ("amount = null", "Expected a value but found `null` at column 10 of `amount = null`; write x is null"),
        ("amount is 3", "Expected `null` but found `3` at column 11"),
        ("1 < 2 < 3", "Unexpected `<` at column 7 of `1 < 2 < 3`; to compare twice"),
        ("name = 'abc", "Cannot read `'` at column 8 of `name = 'abc`; close the text with a quote"),
        ("amount > '3'", "Cannot compare decimal with text at column 8 of `amount > '3'`; a number is written without"),
        ("name = 3", "Cannot compare text with integer at column 6"),
        ("name + 1", "`+` takes numbers but this is of type text at column 1 of `name + 1`; declare the column's type"),
        ("booked = charged_at", "Cannot compare date with instant at column 8"),
        (
            "booked = '29.03.2026'",
            "This text is not of type date at column 8 of `booked = '29.03.2026'`; write '2026-01-31'.",
        ),
        ("booked - 1h > slot()", "A date moves by whole days at column 10"),
        ("charged_at > 90d", "A duration needs a time at column 14"),
        ("amount - 90d", "A duration cannot be used with decimal at column 8"),
        ("exp(name)", "There is no function `exp` at column 1 of `exp(name)`; known names: `abs`"),
        (
            "now() > charged_at",
            "There is no function `now` at column 1 of `now() > charged_at`; use slot(), the run's due",
        ),
        (
            "today() > booked",
            "There is no function `today` at column 1 of `today() > booked`; use slot(), the run's due time.",
        ),
        (
            "count(*) > 1",
            "Cannot read `count(*)` at column 1 of `count(*) > 1`; `having` counts the records of a group",
        ),
        (
            "count(name) > 1",
            "There is no function `count` at column 1 of `count(name) > 1`; `having` counts records with",
        ),
        (
            "soundex(name) = 'A'",
            "There is no function `soundex` at column 1 of `soundex(name) = 'A'`; texts that sound",
        ),
        ("substr(name, 1, 2)", "There is no function `substr` at column 1 of `substr(name, 1, 2)`; use prefix(x, n),"),
        (
            "SUBSTRING(name, 1)",
            "There is no function `substring` at column 1 of `SUBSTRING(name, 1)`; use prefix(x, n),",
        ),
        ("lcase(name) = 'a'", "There is no function `lcase` at column 1 of `lcase(name) = 'a'`; use lower(x)."),
        ("len(name) > 3", "There is no function `len` at column 1 of `len(name) > 3`; use length(x)."),
        (
            "ifnull(name, 'a')",
            "There is no function `ifnull` at column 1 of `ifnull(name, 'a')`; use coalesce(x, 'none').",
        ),
        ("nvl(name, 'a')", "There is no function `nvl` at column 1 of `nvl(name, 'a')`; use coalesce(x, 'none')."),
        ("isnull(name)", "There is no function `isnull` at column 1 of `isnull(name)`; write x is null, or coalesce"),
        ("docno(name)", "There is no function `docno` at column 1 of `docno(name)`; `docno` is a normaliser, which"),
        ("upper()", "`upper` takes one value, not 0 at column 1"),
        ("upper(count)", "`upper` takes text but this is of type integer at column 7"),
        (
            "year(name)",
            "`year` takes a date or an instant but this is of type text at column 6 of `year(name)`; declare",
        ),
        ("weekday('soon')", "This text is not of type date at column 9 of `weekday('soon')`; write '2026-01-31'"),
        ("business_days(booked)", "`business_days` takes two dates, like business_days(booked, paid) at column 1"),
        ("business_days(booked, name)", "`business_days` takes a date or an instant but this is of type text at"),
        ("add_business_days(booked, 0.5)", "`add_business_days` takes a whole number of days but this is of type deci"),
        ("if(paid)", "`if` takes a condition and two values, not 1 parts at column 1 of `if(paid)`; write if("),
        ("if(amount, 1, 2)", "Expected a condition but this is of type decimal at column 4"),
        ("if(paid, 1, name)", "Cannot compare integer with text at column 1"),
        (
            "current_date > booked",
            "There is no column `current_date` at column 1 of `current_date > booked`; use slot()",
        ),
        ("name ilike 'a%'", "Unexpected `ilike` at column 6 of `name ilike 'a%'`; write lower(x) like 'inv-%'."),
        (
            "name regexp 'a'",
            "Unexpected `regexp` at column 6 of `name regexp 'a'`; use x like 'INV-%', or the normalis",
        ),
        ("name ~ 'a'", "Cannot read `~` at column 6 of `name ~ 'a'`; use x like 'INV-%', or the normaliser `regex`"),
        ("name || other = 'a'", "Cannot read `|` at column 6 of `name || other = 'a'`; write concat(a, b)."),
        (
            "name::date",
            "Cannot read `:` at column 5 of `name::date`; declare the column's type under columns:, or use n",
        ),
        ("json(name)", "`json` takes a text and a path, like json(payload, 'customer.id') at column 1 of `json(name)`"),
        ("json(name, other)", "`json` takes a text in single quotes here at column 12"),
        (
            "json(name, 'a..b')",
            "`json` takes names joined by single points at column 12 of `json(name, 'a..b')`; write",
        ),
        ("json(count, 'a')", "`json` takes text but this is of type integer at column 6"),
        ("hour(booked)", "`hour` takes an instant but this is of type date at column 6"),
        ("number(count)", "`number` takes text but this is of type integer at column 8"),
        ("date(amount)", "`date` takes a text, a date or an instant but this is of type decimal at column 6"),
        (
            "to_date(name, 'DD')",
            "There is no function `to_date` at column 1 of `to_date(name, 'DD')`; declare the column",
        ),
        ("name->>'a' = 'b'", "Expected a value but found `>` at column 6 of `name->>'a' = 'b'`; write json(payload,"),
        (
            "case when paid then 1 end",
            "Unexpected `when` at column 6 of `case when paid then 1 end`; write if(condition",
        ),
        ("slot() - interval '1 day'", "Unexpected a text at column 19 of `slot() - interval '1 day'`; add a duration"),
        ("date '2026-01-01' = booked", "Unexpected a text at column 6 of `date '2026-01-01' = booked`; write '2026-"),
        (
            "extract(year from booked)",
            "Expected `)` but found `from` at column 14 of `extract(year from booked)`; use year",
        ),
        (
            "cast(name as date)",
            "Expected `)` but found `as` at column 11 of `cast(name as date)`; declare the column's",
        ),
        (
            "select 1",
            "Unexpected `1` at column 8 of `select 1`; an expression is not a query; write SQL in the dataset's",
        ),
        (
            "to_char(booked, 'YYYY')",
            "There is no function `to_char` at column 1 of `to_char(booked, 'YYYY')`; use year",
        ),
        (
            "date_trunc('day', booked)",
            "There is no function `date_trunc` at column 1 of `date_trunc('day', booked)`; use",
        ),
        (
            "levenshtein(name, other)",
            "There is no function `levenshtein` at column 1 of `levenshtein(name, other)`; texts",
        ),
        ("suffix(name)", "`suffix` takes a text and a number of characters, like suffix(iban, 4) at column 1"),
        ("suffix(name, -1)", "`suffix` takes the number of characters as a whole number from 1 to 10000 at column 14"),
        ("prefix(name, 0)", "`prefix` takes the number of characters as a whole number from 1 to 10000 at column 14"),
        (
            "prefix(name, count)",
            "`prefix` takes the number of characters as a whole number from 1 to 10000 at column 14",
        ),
        ("replace(name, '')", "`replace` takes a text, the part to replace and its replacement, like replace("),
        ("replace(name, '', 'a')", "`replace` takes a text of at least one character here at column 15"),
        ("replace(name, 'a', other)", "`replace` takes a text in single quotes here at column 20"),
        ("split_part(name, '', 1)", "`split_part` takes a text of at least one character here at column 18"),
        ("split_part(name, '/', 0)", "`split_part` takes the number of the part as a whole number from 1 to 10000"),
        (
            "split_part(name, '/')",
            "`split_part` takes a text, a separator and the number of the part, like split_part(",
        ),
        (
            "concat(name)",
            "`concat` takes two or more texts at column 1 of `concat(name)`; write concat(first, ' ', last).",
        ),
        ("concat(' ', '')", "`concat` takes at least one text that is not empty at column 1"),
        ("concat(name, count)", "`concat` takes text but this is of type integer at column 14"),
        ("round(amount, fee)", "`round` takes a whole number of decimals from -18 to 18 at column 15"),
        ("paid < true", "Values of type boolean have no order at column 6"),
        ("not amount", "Expected a condition but this is of type decimal at column 5"),
        ("name like other", "Expected a pattern but found `other` at column 11"),
        ("name not 3", "Expected `in`, `between` or `like` but found `3` at column 10"),
        ("amount > 1e5", "Cannot read the number at column 10"),
        ("1" * 39, "A number with more than 38 digits at column 1"),
        ("name = 'a\x00'", "Cannot read"),
        ("amount; drop table x", "Cannot read `;` at column 7"),
        ("abs(amount, 2)", "`abs` takes one value, not 2 at column 1"),
        ("coalesce()", "`coalesce` takes at least one value at column 1"),
        ("coalesce(amount, 'x')", "Cannot compare decimal with text at column 1"),
    ],
)
def test_a_mistake_is_told_with_its_column(text: str, sentence: str) -> None:
    with pytest.raises(ExpressionError) as told:
        parse(text).bind(SCHEMA)

    assert str(told.value).startswith(sentence)


def test_a_filter_must_be_a_condition() -> None:
    with pytest.raises(ExpressionError, match="Expected a condition but this is of type decimal"):
        parse("amount + 1").condition(SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000, "not " * 2_500 + "paid", "-" * 9_000 + "1", "1" + " - 1" * 2_000, "abs(" * 2_000,
        "paid" + " and paid" * 1_000, "amount in (" + "1," * 4_000 + "1)", "x" * 10_001,
    ],
)  # fmt: skip
def test_hostile_expressions_are_refused_before_they_exhaust_anything(text: str) -> None:
    with pytest.raises(RuleError):
        parse(text)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "(" * 39 + "paid" + ")" * 39,
        "not " * 38 + "paid",
        "name in (" + "'a'," * 499 + "'b')",
        "paid" + " or paid" * 499,
        "1" + " + count" * 38 + " > 1",
        "coalesce(" * 38 + "name" + ")" * 38 + " = 'a'",
        "trim(" * 38 + "name" + ")" * 38 + " = 'a'",
        "trim(suffix(" * 18 + "name" + ", 3))" * 18 + " = 'b'",
        "replace(" * 37 + "name" + ", 'a', 'b')" * 37 + " = 'b'",
        "if(paid, name, " * 37 + "name" + ")" * 37 + " = 'b'",
    ],
)
def test_the_largest_expression_allowed_still_compiles(text: str, dialect: str) -> None:
    bound = parse(text).condition(SCHEMA)
    columns = {name: sa.column(name, SQL[kind]) for name, kind in KINDS.items()}

    if bound.exactness(dialect) == "never":
        with pytest.raises(RuleError, match="has no exact form in the SQL"):
            bound.sql(columns, SLOT, dialect)
    else:
        assert render(bound.sql(columns, SLOT, dialect), dialect)
    assert bound.evaluate(row(count=0, name="b", paid=True), SLOT) in (True, False)


def test_a_long_pattern_takes_no_long_time() -> None:
    assert value_of("name like '" + "%a" * 2_000 + "b'", name="a" * 20_000) is False


def test_an_expression_knows_its_columns() -> None:
    document = parse('amount > fee and "amount" < coalesce(count, records) - slot()')

    assert document.columns == ("amount", "fee", "count", "records")


TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=6) | st.text(
    st.sampled_from("aAbB%_*?[]|\\' \n\u0301\u3000\U0001f600"), max_size=5
)
ROWS = {
    Type.TEXT: TEXTS,
    Type.INTEGER: st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    Type.DECIMAL: st.decimals(-(10**15), 10**15, places=4) | st.sampled_from([Decimal("0.5"), Decimal("-2.5")]),
    Type.FLOAT: st.floats(allow_subnormal=False, width=64, min_value=-1e300, max_value=1e300) | st.just(0.1),
    Type.BOOLEAN: st.booleans(),
    Type.DATE: st.dates() | st.sampled_from([dt.date(2026, 3, 29), dt.date.min, dt.date.max]),
    Type.INSTANT: st.integers(-(10**9), 10**9).map(lambda n: SLOT + dt.timedelta(microseconds=n))
    | st.sampled_from([SLOT, *(dt.datetime(n, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC) for n in (1, 1582, 9999))]),
}
RECORDS = st.tuples(*(st.none() | ROWS[kind] for kind in KINDS.values()))
EXPRESSIONS = [
    "name = other", "name <> other", "name < other", "name >= other", "name in ('a', 'A ', other)",
    "name not in ('a', other)", "trim(name) = trim(other)", "coalesce(name, other) = 'a'", "trim(coalesce(name, 'ß'))",
    "name like 'a%'", "name like '%A_'", "name like '%[%'", "name like '%|%' or name like '%\\%'", "name like '_'",
    "name like '%*%' or other not like '%?'", "lower(name) = lower(other)", "lower(name) like '%b%'",
    "lower(name) = lower('É')", "name is null or other is not null", "count = 1", "count < 2.5", "count > big",
    "count between -1 and 1", "amount = 0.5", "amount <> fee", "amount > count", "amount < -2.5 or fee >= amount",
    "amount + fee > 0", "amount - fee + count", "count + big", "count * big", "amount * 2 - 0.5", "amount * fee",
    "-amount", "-big", "abs(amount)", "abs(big)", "round(amount) = -3", "round(amount, 2)", "round(amount, -1)",
    "coalesce(amount, fee)", "coalesce(count, 0) = 0", "coalesce(amount, count, 1.25)", "ratio = 0.1", "ratio < 3",
    "ratio >= 0.25", "paid", "not paid", "paid = false", "paid and count > 0", "paid or count > 0",
    "not (paid or count > 0)", "not (name = 'a' and count < 1)", "(count > 0) = paid", "booked = '2026-03-29'",
    "booked < slot()", "booked is null", "charged_at = slot()", "charged_at >= slot() - 1s",
    "charged_at < '2026-03-29'",
    "charged_at between slot() - 100s and slot() + 0.0005s", "coalesce(booked, '2026-01-01') > '2026-02-01'",
    "year(booked) = 2026", "year(booked)", "quarter(booked)", "month(booked)", "weekday(booked)", "year(charged_at)",
    "quarter(charged_at)", "month(charged_at) = 3", "weekday(charged_at)", "month(coalesce(booked, '2026-01-01'))",
    "month(slot())", "upper(name) = upper(other)", "upper(coalesce(name, 'É'))", "lower(concat(name, 'É'))",
    "upper(replace(name, 'a', 'é'))", "lower(concat(name, 'A')) = 'aa'", "length(name)", "length(name) > 2",
    "length(trim(name))", "concat(name, other)", "concat(name, ' ', 'ß', other) > name", "concat('a', ' ') = name",
    "prefix(name, 2)", "suffix(name, 1)", "suffix(name, 2) = prefix(name, 2)", "suffix(name, 10000)",
    "replace(name, 'a', '')", "replace(name, 'a', ' ')", "replace(name, '\\', '|')",
    "replace(name, 'aa', 'é\U0001f600')",
    "replace(replace(name, 'a', 'b'), 'bb', '%')", "split_part(name, 'a', 1)", "split_part(name, 'a', 2)",
    "split_part(name, 'aa', 2)", "split_part(name, ' ', 3)", "split_part(name, '\U0001f600', 2)",
    "suffix(split_part(replace(name, '_', 'a'), 'a', 2), 1) is null",
    "if(paid, name, other)", "if(name < other, name, 'É')", "if(count > 0, count)", "if(paid, big, 0) > 1",
    "if(count > big, booked, '2026-01-31')", "if(paid and count > 0, charged_at, slot())", "if(paid, amount, fee)",
    "if(paid, paid, count > 0)", "if(paid, ratio)", "if(lower(name) = 'a', 1, 2)",
    "day(booked)", "day(charged_at)", "hour(charged_at) > 12", "date(charged_at)",
    "date(charged_at) = booked", "date(coalesce(booked, '2026-01-01'))", "number(name) > 1",
    "business_days(booked, charged_at)", "add_business_days(charged_at, -3)",
    "1 = 1", "'a' = 'b' or paid", "count in (1, 2, 3)", "amount / 3", "1 / 0 > 1 or paid", "slot()", "name",
]  # fmt: skip


def check_expressions(run: Run, claim: str, rows: list[tuple[Any, ...]], texts: Sequence[str] = EXPRESSIONS) -> None:
    bound = [parse(text).bind(SCHEMA) for text in texts]
    claimed = [b for b in bound if b.exactness(run.dialect) == claim]
    assert claimed or texts is not EXPRESSIONS
    if not claimed:
        return

    def compiled(*columns: Any, bound_expression: BoundExpression) -> Any:
        return bound_expression.sql(dict(zip(KINDS, columns, strict=True)), SLOT, run.dialect)

    answers = run.many(list(KINDS.values()), rows, [functools.partial(compiled, bound_expression=b) for b in claimed])

    for item, answer in zip(claimed, answers, strict=True):
        expected = [item.evaluate(dict(zip(KINDS, r, strict=True)), SLOT) for r in rows]
        assert [canonical(_as(item.type, a)) for a in answer] == [canonical(e) for e in expected], item.expression.text


def _as(kind: Type, answer: Any) -> Value:
    """What a driver gives for a value of that type: MariaDB and SQLite have no booleans, MariaDB no zones."""
    if answer is not None and kind is Type.BOOLEAN:
        return bool(answer)
    if isinstance(answer, dt.datetime):
        return answer.astimezone(dt.UTC) if answer.tzinfo else answer.replace(tzinfo=dt.UTC)
    value: Value = answer
    return value


@pytest.mark.slow
def test_sql_says_the_same_for_every_record_where_it_claims_so(run: Run) -> None:
    @settings(max_examples=examples(40))
    @given(st.lists(RECORDS, min_size=1, max_size=40))
    @example([("A ", "A", 1, 2**63 - 1, Decimal("0.5"), Decimal("-2.5"), 0.1, True, dt.date(2026, 3, 29), SLOT)])
    @example([(None, None, 0, 0, None, None, None, False, None, None)])
    @example([("É", "é", -1, -(2**63), Decimal("-2.5"), None, 0.25, None, None, None)])
    def check(rows: list[tuple[Any, ...]]) -> None:
        check_expressions(run, "always", rows)

    check()


def test_floats_that_are_no_numbers_compare_the_same_in_duckdb() -> None:
    ratios = [float("nan"), float("inf"), float("-inf"), -0.0, 0.1, 5e-324, None]
    rows = [tuple(row(ratio=ratio).values()) for ratio in ratios]

    check_expressions(
        DuckRun(), "always", rows, ["ratio > 3", "ratio = 0", "ratio <= 0.1", "ratio = ratio", "ratio < 0"]
    )


NUMBERS = st.sampled_from(["count", "big", "amount", "fee", "0", "1", "-2.5", "0.25", "100"])
TEXTS_SAID = st.sampled_from(["name", "other", "'a'", "'A '", "'ß'", "trim(name)"])
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(p) if isinstance(p, str) else p for p in parts)).map(" ".join)


def larger_numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        joined("(", inner, st.sampled_from("+-"), inner, ")")
        | joined("(", inner, "*", st.sampled_from(["2", "0.5", "-1"]), ")")
        | joined("abs(", inner, ")")
        | joined("- (", inner, ")")
        | joined("round(", inner, st.sampled_from([")", ", 1 )", ", -1 )"]))
        | joined("coalesce(", inner, ",", inner, ")")
    )


NUMERIC = st.recursive(NUMBERS, larger_numbers, max_leaves=4)
TEXTUAL = st.recursive(TEXTS_SAID, lambda inner: joined("coalesce(", inner, ",", inner, ")"), max_leaves=3)
SIMPLE = (
    joined(NUMERIC, SIGNS, NUMERIC)
    | joined(TEXTUAL, SIGNS, TEXTUAL)
    | joined(NUMERIC, "between", NUMERIC, "and", NUMERIC)
    | joined(NUMERIC, st.sampled_from(["in", "not in"]), "(", NUMERIC, ",", NUMERIC, ")")
    | joined(TEXTUAL, st.sampled_from(["like", "not like"]), st.sampled_from(["'%a%'", "'_'", "'A%'", "'%|%'", "'['"]))
    | joined(NUMERIC | TEXTUAL, st.sampled_from(["is null", "is not null"]))
    | st.sampled_from(["paid", "true", "booked < slot()", "charged_at >= slot()"])
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: (
        joined("(", inner, st.sampled_from(["and", "or"]), inner, ")") | joined("( not (", inner, "))")
        | joined("((", inner, st.sampled_from([") is null )", ") is not null )", ") in (true, paid))"]))
        | st.sampled_from(["( not paid )", "( not paid is null )", "not paid", "not not paid", "not true"])
        | joined("((", inner, st.sampled_from([") = (", ") <> ("]), inner, "))")
    ),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.slow
def test_sql_of_any_condition_says_the_same_where_it_claims_so(run: Run) -> None:
    @settings(max_examples=examples(60))
    @given(st.lists(CONDITIONS, min_size=1, max_size=12), st.lists(RECORDS, min_size=1, max_size=12))
    def check(texts: list[str], rows: list[tuple[Any, ...]]) -> None:
        check_expressions(run, "always", rows, texts)

    check()


SAID = """and or not in between like is null true 'a' '' 1 2.5 90d slot() round( coalesce( lower( abs( records sum(
max( "name" '2026-01-31' <> >= = < > + - * / ( ) ,"""
WORDS = st.sampled_from([*KINDS, *SAID.split()])


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=20))
def test_any_text_is_an_expression_or_one_sentence(text: str) -> None:
    for read in (parse, parse_group):
        try:
            bound = read(text).bind(SCHEMA)
        except RuleError:
            continue
        bound.evaluate(GROUP if read is parse_group else GROUP[0], SLOT)  # type: ignore[arg-type]


@pytest.mark.slow
def test_sql_says_the_same_for_ascii_text_where_it_claims_so(run: Run) -> None:
    ascii_text = st.none() | st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=5)
    records = st.tuples(ascii_text, ascii_text, *(st.none() for _ in list(KINDS)[2:]))

    @settings(max_examples=examples(40))
    @given(st.lists(records, min_size=1, max_size=40))
    def check(rows: list[tuple[Any, ...]]) -> None:
        check_expressions(run, "ascii", rows)

    check()


@pytest.mark.parametrize(
    ("text", "dialect", "claim"),
    [
        ("lower(name) = 'a'", "duckdb", "ascii"),
        ("name = 'a'", "mysql", "always"),
        ("name = 'a'", "mariadb", "always"),
        ("name like 'a%'", "sqlite", "always"),
        ("amount = 1", "sqlite", "never"),
        ("amount / 2 > 1", "postgresql", "never"),
        ("amount + fee > 1", "mysql", "never"),
        ("amount * fee > 1", "duckdb", "never"),
        ("amount * fee > 1", "postgresql", "always"),
        ("ratio = 0.1", "duckdb", "always"),
        ("ratio = 0.10000000000000000001", "duckdb", "never"),
        ("ratio = amount", "duckdb", "never"),
        ("amount = 0.12345678901", "duckdb", "never"),
        ("coalesce(amount, 0) = 0", "duckdb", "never"),
        ("coalesce(count, 0) = 0", "duckdb", "always"),
        ("charged_at + 1h > slot()", "duckdb", "never"),
        ("charged_at > slot() - 1h", "postgresql", "always"),
        ("count > 1 or lower(name) = 'a'", "duckdb", "ascii"),
        ("upper(name)", "mysql", "ascii"),
        ("lower(name) = lower('É')", "postgresql", "ascii"),
        ("lower(coalesce(name, 'É'))", "duckdb", "never"),
        ("upper(concat(name, 'é'))", "postgresql", "never"),
        ("concat(name, other)", "mysql", "never"),
        ("concat(name, other)", "sqlite", "always"),
        ("replace(name, 'ab', 'é')", "mysql", "always"),
        ("replace(name, 'a', 'é')", "mysql", "never"),
        ("replace(name, 'a', 'b')", "sqlite", "never"),
        ("split_part(name, '/', 1)", "postgresql", "always"),
        ("split_part(name, '/', 1)", "mysql", "never"),
        ("year(booked)", "postgresql", "always"),
        ("year(booked)", "mysql", "never"),
        ("length(name)", "sqlite", "never"),
    ],
)
def test_an_expression_claims_no_more_than_its_weakest_part(text: str, dialect: str, claim: str) -> None:
    assert parse(text).bind(SCHEMA).exactness(dialect) == claim


def test_a_column_that_is_not_pushable_is_compared_only_here() -> None:
    bound = parse("name = 'a'").bind(Schema((Column("name", Type.TEXT),)))

    assert bound.exactness("duckdb") == "always"
    assert bound.exactness("postgresql") == "never"


def test_a_value_is_bound_and_never_pasted() -> None:
    bound = parse("name = 'x''; drop table t --'").condition(SCHEMA)

    compiled = bound.sql({"name": sa.column("name")}, SLOT, "postgresql").compile(dialect=to_dialect("postgresql"))

    assert "drop" not in str(compiled)
    assert "x'; drop table t --" in compiled.params.values()


GROUP = [
    row(name="a", amount=Decimal("1.10"), count=1),
    row(name="A", amount=Decimal("2.20"), count=None),
    row(name=None, amount=None, count=3),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("records = 3", True),
        ("records > 2 and sum(amount) = 3.3", True),
        ("count_distinct(name) = 2", True),
        ("max(name) = 'a' and min(name) = 'A'", True),
        ("max(amount) - min(amount) between 1 and 1.1", True),
        ("sum(count) = 4", True),
        ("sum(fee) > 0", None),
        ("min(booked) is null", True),
        ("max(charged_at) < slot() - 1d", None),
        ("lower(max(name)) = 'a'", True),
    ],
)
def test_a_group_expression_looks_at_all_members(text: str, expected: Value) -> None:
    assert parse_group(text).bind(SCHEMA).evaluate(GROUP, SLOT) is expected
    assert parse_group(text).bind(SCHEMA).evaluate(GROUP[::-1], SLOT) is expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("amount > 1", "A group has many values of `amount` at column 1 of `amount > 1`; write max(amount)"),
        ("record > 1", "A group has no `record` at column 1"),
        ("sum(name) > 1", "`sum` takes numbers but `name` is of type text at column 5"),
        ("sum(amonut) > 1", "There is no column `amonut` at column 5 of `sum(amonut) > 1`; did you mean `amount`?"),
        ("sum(amount + fee) > 1", "`sum` takes a column at column 12"),
        ("count(name) > 1", "There is no function `count`"),
        ("records", "Expected a condition but this is of type integer at column 1"),
    ],
)
def test_a_mistake_in_a_group_expression_is_told_with_its_column(text: str, sentence: str) -> None:
    with pytest.raises(ExpressionError) as told:
        parse_group(text).bind(SCHEMA)

    assert str(told.value).startswith(sentence)


def test_a_group_expression_knows_its_columns() -> None:
    assert parse_group("records > 1 and sum(amount) > max(fee)").columns == ("amount", "fee")


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.sampled_from(["", " ", "a", 'é"\\', "[1]", "1.50"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0", "01", "é"]), inner),
    max_leaves=8,
)
PATHS = ("a", "a.b", "a.0", "a.0.b", "0", "b.01", "é.a", "a.a.a", "b.-1", "a.1", 'a".b', "a\\.b", "x,y")


@pytest.mark.server
def test_what_is_inside_jsonb_is_the_same_in_postgresql(postgres_url: str) -> None:
    schema = Schema((Column("p", Type.TEXT, pushable=True, is_jsonb=True),))
    bound = [parse(f"json(p, '{path}')").bind(schema) for path in PATHS]
    exact = [each for each in bound if each.exactness("postgresql") == "always"]
    column = sa.cast(sa.column("p"), sa.Text())
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(sa.text("create temporary table t (n int, p jsonb)"))

        @settings(max_examples=examples(40))
        @given(st.lists(NESTED, min_size=1, max_size=8))
        @example([{"a": 1.50, "b": 1e300}, {"a": [{"b": True}]}, {"a": {"b": 12345678901234567890.12}}])
        def check(documents: list[Any]) -> None:
            connection.execute(sa.text("truncate t"))
            rows = [{"n": n, "p": json.dumps(document)} for n, document in enumerate(documents)]
            connection.execute(sa.text("insert into t values (:n, cast(:p as jsonb))"), rows)
            compiled = [each.sql({"p": column}, SLOT, "postgresql").label(f"x{n}") for n, each in enumerate(exact)]
            query = sa.select(column.label("p"), *compiled).select_from(sa.table("t")).order_by(sa.column("n"))

            for written, *answers in connection.execute(query):
                assert answers == [each.evaluate({"p": written}, SLOT) for each in exact]

        check()
    engine.dispose()
    assert {each.expression.text for each in bound} - {each.expression.text for each in exact} == {
        "json(p, 'b.01')",
        "json(p, 'b.-1')",
    }


FALLING = (
    *("records >= 3", "2 < records", "count_distinct(n) > 1 and max(n) >= 2", "max(n) - min(n) > 1", "min(n) < 2"),
    *("records > 2 or min(n) <= 0", "max(n) > min(n)"),
)
RISING = (
    "sum(n) > 1",
    "records = 2",
    "not (records > 2)",
    "max(n) < 2",
    "min(n) > 0",
    "max(n) - records > 0",
    "records <> 3",
)


@pytest.mark.parametrize("condition", [*FALLING, *RISING])
def test_a_condition_that_falls_is_never_met_because_a_record_leaves_the_group(condition: str) -> None:
    schema = Schema((Column("n", Type.INTEGER),))
    bound = parse_group(condition).bind(schema)
    is_falling = falls(parse_group(condition).root)

    def is_met(numbers: tuple[int | None, ...]) -> bool:
        return bound.evaluate([{"n": number} for number in numbers], SLOT) is True

    groups = [group for size in (2, 3, 4) for group in itertools.product((None, -1, 0, 1, 3), repeat=size)]
    met_by_loss = [group for group in groups if is_met(group[1:]) and not is_met(group)]

    assert is_falling is (condition in FALLING)
    assert bool(met_by_loss) is not is_falling
