"""Rules of kind `check`: single records, records in order, and numbers that are left out, against a plain oracle."""

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.document.mistakes import RuleError
from rules.engines.base import MoneyColumns, Records
from rules.expressions import parse
from rules.expressions.previous import parse_ordered
from rules.groups.detection import Detection
from rules.groups.group import Failure
from rules.kinds.base import DatasetFacts, DoesNotFit
from rules.kinds.check import Check, CheckRule
from rules.kinds.check.detection import FittedCheck, TooManyFail
from rules.values import Type, Value, order_key
from tests.support.chance import examples
from tests.support.rules import Rows, databases, pushed

__all__ = ["databases"]  # a fixture

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {"id": Type.INTEGER, "account": Type.TEXT, "amount": Type.INTEGER, "charge": Type.INTEGER, "number": Type.TEXT}
Row = dict[str, Value]


def rule(**changes: Any) -> CheckRule:
    return CheckRule(name="wrong", dataset="things", **changes)


def detect(by_rule: CheckRule, data: Rows, records: Records | None = None) -> Detection:
    relation = data.relation()
    return FittedCheck.of(by_rule, relation).detect({"things": records or data.streamed()}, SLOT)


def found(by_rule: CheckRule, rows: Sequence[Row], **data: Any) -> list[Value]:
    """The ids of the records that fail."""
    return [group.anchor.id[0] for group in detect(by_rule, Rows(TYPES, rows, **data)).groups]


def keys(by_rule: CheckRule, rows: Sequence[Row], **data: Any) -> list[dict[str, Value]]:
    return [dict(group.key) for group in detect(by_rule, Rows(TYPES, rows, **data)).groups]


def row(id_: int | None, **values: Value) -> Row:
    return {"id": id_, "account": "A", "amount": 1, "charge": 10, "number": None} | values


def skipped(detection: Detection) -> dict[tuple[str, str], int]:
    return {(entry.column, entry.reason): entry.records for entry in detection.skipped}


# Conditions


def test_each_record_that_meets_the_condition_is_a_finding_with_the_values_that_fail() -> None:
    rows = [row(1), row(2, amount=0), row(3, amount=11), row(4, amount=None)]

    detection = detect(rule(where="amount <= 0 or amount > charge"), Rows(TYPES, rows))

    assert [dict(group.key) for group in detection.groups] == [
        {"id": 2, "amount": 0, "charge": 10},
        {"id": 3, "amount": 11, "charge": 10},
    ]
    assert [group.roles[0][0] for group in detection.groups] == ["record", "record"]
    assert skipped(detection) == {("where", "the condition is unknown: a value in it is null"): 1}
    assert (detection.read, detection.scanned) == (4, 4)


def test_records_outside_the_dataset_are_not_judged() -> None:
    rows = [row(1, amount=0), row(2, amount=0, account="B"), row(3, amount=0, account=None)]

    detection = detect(rule(where="amount <= 0"), Rows(TYPES, rows, where="account = 'A'"))

    assert [group.anchor.id for group in detection.groups] == [(1,)]
    assert (detection.read, detection.scanned) == (3, 1)
    assert skipped(detection) == {("where", "the dataset's condition is unknown: a value in it is null"): 1}


def test_the_money_of_a_finding_is_that_of_its_record_without_its_sign() -> None:
    data = Rows(TYPES, [row(1, amount=-5)], money=MoneyColumns("amount", currency="EUR"))

    [group] = detect(rule(where="amount < 0"), data).groups

    assert group.at_risk == {"EUR": Decimal(5)}


def test_of_records_that_share_an_id_one_is_a_finding_and_an_empty_id_names_none() -> None:
    detection = detect(rule(where="amount = 0"), Rows(TYPES, [row(1, amount=0), row(1, amount=0), row(None, amount=0)]))

    assert [group.anchor.id for group in detection.groups] == [(1,)]
    assert (detection.identity.nulls, detection.identity.repeated) == (1, 1)


def test_without_an_id_equal_records_are_told_apart_by_their_number() -> None:
    types = {name: kind for name, kind in TYPES.items() if name != "id"}
    rows = [{name: value for name, value in row(1, amount=0).items() if name != "id"}] * 2

    groups = detect(rule(where="amount = 0"), Rows(types, rows, id=())).groups

    assert [group.anchor.id[1] for group in groups] == [0, 1]
    assert dict(groups[0].key) == {"amount": 0}


def test_a_rule_that_most_records_fail_is_stopped() -> None:
    types, rows = {"id": Type.INTEGER}, [{"id": n} for n in range(10_002)]

    with pytest.raises(TooManyFail, match=r"10,001 of 10,002 records fail it, more than `max_share` allows"):
        detect(rule(where="id > 0"), Rows(types, rows))

    assert len(detect(rule(where="id > 0", max_share="100%"), Rows(types, rows)).groups) == 10_001


CONDITIONS: Mapping[str, Callable[[Any, Any], bool | None]] = {
    "amount <= 0": lambda amount, _: None if amount is None else amount <= 0,
    "amount > charge": lambda amount, charge: None if None in (amount, charge) else amount > charge,
    "amount is null": lambda amount, _: amount is None,
    "amount < 0 or charge is null": lambda amount, charge: (
        True if charge is None or (amount is not None and amount < 0) else None if amount is None else False
    ),
}
values = st.sampled_from([None, -1, 0, 1, 2])
drawn_rows = st.lists(st.tuples(st.sampled_from(["A", "B", None, " "]), values, values), max_size=12).map(
    lambda drawn: [row(n, account=account, amount=a, charge=c) for n, (account, a, c) in enumerate(drawn)]
)


@settings(max_examples=examples(15), deadline=None)
@given(rows=drawn_rows, condition=st.sampled_from(sorted(CONDITIONS)))
def test_a_condition_finds_what_python_finds(rows: list[Row], condition: str) -> None:
    results = [CONDITIONS[condition](each["amount"], each["charge"]) for each in rows]

    detection = detect(rule(where=condition), Rows(TYPES, rows))

    assert [group.anchor.id[0] for group in detection.groups] == [n for n, fails in enumerate(results) if fails]
    assert sum(skipped(detection).values()) == results.count(None)


@settings(max_examples=6, deadline=None)
@given(rows=drawn_rows, condition=st.sampled_from(sorted(CONDITIONS)))
@pytest.mark.parametrize("name", ["sqlite", "postgresql", "mariadb"])
def test_a_database_finds_the_same(databases: dict[str, sa.Engine], name: str, rows: list[Row], condition: str) -> None:
    data, by_rule = Rows(TYPES, rows, where="account = 'A'"), rule(where=condition)

    with pushed(databases[name], data) as records:
        inside = detect(by_rule, data, records)

    here = detect(by_rule, data)
    assert inside.groups == here.groups
    assert (inside.engine, here.engine) == ("pushdown", "embedded")
    assert (inside.read, inside.scanned, inside.skipped, inside.identity) == (
        *(here.read, here.scanned, here.skipped),
        here.identity,
    )


# The previous record


def test_a_record_is_compared_with_the_one_before_it_in_its_own_order() -> None:
    rows = [row(3, amount=10), row(1, amount=5), row(2, amount=7, account="B"), row(4, amount=9)]
    by_rule = rule(where="amount < previous(amount)", order="id", by="account")

    assert keys(by_rule, rows) == [
        {"id": 4, "account": "A", "amount": 9, "previous(amount)": 10, "previous(id)": 3},
    ]


def test_records_of_one_place_are_in_the_order_of_their_ids() -> None:
    rows = [row(n, amount=amount, charge=1) for n, amount in ((3, 1), (1, 3), (2, 2))]

    assert found(rule(where="amount > previous(amount)", order="charge"), rows) == []
    assert found(rule(where="amount < previous(amount)", order="charge"), rows) == [2, 3]


def test_the_first_record_has_no_previous_one_and_is_no_record_that_cannot_be_judged() -> None:
    by_rule = rule(where="amount <> previous(amount) + 1", order="id")

    detection = detect(by_rule, Rows(TYPES, [row(1, amount=1), row(2, amount=2), row(3, amount=None)]))

    assert detection.groups == ()
    assert sum(skipped(detection).values()) == 1
    assert found(rule(where="previous(amount) is null", order="id"), [row(1), row(2)]) == [1]


def test_a_record_without_a_place_in_the_order_is_counted_and_is_nobodys_previous_record() -> None:
    rows = [row(1, amount=5), row(2, amount=9, charge=None), row(3, amount=4), row(4, amount=1, account=None)]
    by_rule = rule(where="amount < previous(amount)", order="charge", by="account")

    detection = detect(by_rule, Rows(TYPES, rows))

    assert [dict(group.key)["previous(id)"] for group in detection.groups] == [1]
    assert skipped(detection) == {
        ("charge", "null, or has no place in an order"): 1,
        ("account", "null or empty after normalising"): 1,
    }


def test_previous_takes_whole_expressions_and_derived_columns() -> None:
    rows = [row(1, amount=1), row(2, amount=3), row(3, amount=9)]
    data: dict[str, Any] = {"derived": {"double": "amount * 2"}}

    [key] = keys(rule(where="double - previous(double + 1) > 6", order="id"), rows, **data)

    assert key == {"id": 3, "double": 18, "previous(double + 1)": 7, "previous(id)": 2}


@settings(max_examples=examples(15), deadline=None)
@given(rows=drawn_rows, data=st.data())
def test_previous_finds_what_sorting_finds(rows: list[Row], data: st.DataObject) -> None:
    runs: dict[Value, list[Row]] = defaultdict(list)
    placed = [each for each in rows if each["charge"] is not None and str(each["account"] or "").strip()]
    for each in sorted(placed, key=lambda each: (each["charge"], each["id"])):
        runs[each["account"]].append(each)
    expected = [
        each["id"]
        for run in runs.values()
        for before, each in pairwise(run)
        if None not in (each["amount"], before["amount"]) and each["amount"] != before["amount"] + 1  # type: ignore[operator]
    ]
    shuffled = data.draw(st.permutations(rows))

    by_rule = rule(where="amount <> previous(amount) + 1", order="charge", by="account")

    assert found(by_rule, shuffled) == sorted(expected, key=order_key)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Type.TEXT, ["a", "b", "c"]),
        (Type.DATE, [dt.date(2026, 1, day) for day in (1, 2, 3)]),
        (Type.INSTANT, [dt.datetime(2026, 1, 1, hour, tzinfo=dt.UTC) for hour in (1, 2, 3)]),
        (Type.DECIMAL, [Decimal("0.1"), Decimal("9.25"), Decimal("10")]),
        (Type.FLOAT, [-1.5, 2.0, 10.0]),
    ],
)
def test_every_type_with_an_order_orders_and_has_a_previous_value(kind: Type, values: list[Value]) -> None:
    rows = [row(n) | {"at": at} for n, at in ((1, values[2]), (2, values[0]), (3, values[1]))]
    data = Rows(TYPES | {"at": kind}, rows)

    groups = detect(rule(where="id < previous(id) and at > previous(at)", order="at"), data).groups

    assert [(group.anchor.id, group.key["previous(at)"]) for group in groups] == [((1,), values[1])]


# Numbers that are left out


def gaps(*numbers: str | None, **changes: Any) -> list[str]:
    """The gaps in these numbers, in words."""
    rows = [row(n, number=number) for n, number in enumerate(numbers)]
    return [str(key["gap in number"]) for key in keys(rule(gaps="number", **changes), rows)]


def test_a_gap_says_which_numbers_are_missing() -> None:
    assert gaps("4715", "4711", "4711", "4716", "4718") == [
        "4712 to 4714 are missing between 4711 and 4715",
        "4717 is missing between 4716 and 4718",
    ]


def test_the_finding_of_a_gap_is_about_the_record_before_it() -> None:
    rows = [row(8, number="INV-9"), row(2, number="INV-9"), row(5, number="INV-12")]

    [group] = detect(rule(gaps="number"), Rows(TYPES, rows)).groups

    assert (group.form, group.anchor.id, group.anchor.values["number"]) == ("gap", (8,), "INV-9")


def test_a_text_is_its_last_number_in_a_series_of_the_text_around_it() -> None:
    assert gaps("INV-0099", "INV-0101", "2026-1", "2026-2", "2027-9", "CN-7/a", "CN-9/a", "CN-12/b") == [
        "CN-8/a is missing between CN-7/a and CN-9/a",
        "INV-0100 is missing between INV-0099 and INV-0101",
    ]


def test_what_has_no_number_is_counted() -> None:
    detection = detect(
        rule(gaps="number"), Rows(TYPES, [row(n, number=text) for n, text in enumerate(["x", None, "9" * 39, "1"])])
    )

    assert detection.groups == ()
    assert skipped(detection) == {("number", "null or without a whole number"): 3}


def test_by_and_normalisers_make_series() -> None:
    rows = [
        row(n, account=account, number=number)
        for n, (account, number) in enumerate([("a", "1 "), ("A", "3"), ("b", "2"), ("b", "3")])
    ]

    found_keys = keys(rule(gaps={"number": ["trim"]}, by={"account": ["lower"]}), rows)

    assert found_keys == [{"account (lower)": "a", "gap in number": "2 is missing between 1 and 3"}]


@pytest.mark.parametrize(("kind", "of"), [(Type.INTEGER, int), (Type.DECIMAL, Decimal)])
def test_numbers_of_columns_are_numbers(kind: Type, of: Callable[[int], Value]) -> None:
    large = 2**62
    data = Rows(
        TYPES | {"number": kind}, [row(n, number=of(number)) for n, number in enumerate([-2, 0, large, large + 2])]
    )

    groups = detect(rule(gaps="number"), data).groups

    assert [group.key["gap in number"] for group in groups] == [
        "-1 is missing between -2 and 0",
        f"1 to {large - 1} are missing between 0 and {large}",
        f"{large + 1} is missing between {large} and {large + 2}",
    ]


def test_without_an_id_gaps_are_found_too() -> None:
    types = {"number": Type.TEXT}

    groups = detect(rule(gaps="number"), Rows(types, [{"number": "3"}, {"number": "1"}], id=())).groups

    assert [group.key["gap in number"] for group in groups] == ["2 is missing between 1 and 3"]


texts = st.from_regex(re.compile(r"(A-|B|é9x|)[0-9]{1,2}(/x|)"), fullmatch=True) | st.sampled_from([None, "", "none"])


@settings(max_examples=examples(15), deadline=None)
@given(numbers=st.lists(texts, max_size=12))
def test_gaps_are_what_counting_finds(numbers: list[str | None]) -> None:
    series: dict[tuple[str, str], set[int]] = defaultdict(set)
    for text in numbers:
        match = re.fullmatch(r"(.*?)([0-9]+)([^0-9]*)", text or "")
        if match:
            series[match[1], match[3]].add(int(match[2]))
    expected = Counter(
        following - number - 1
        for used in series.values()
        for number, following in pairwise(sorted(used))
        if following - number > 1
    )

    groups = detect(rule(gaps="number"), Rows(TYPES, [row(n, number=text) for n, text in enumerate(numbers)])).groups

    assert Counter(group.missing for group in groups if isinstance(group, Failure)) == expected


# Mistakes


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "a check needs `where`, the condition that no record may meet, or `gaps`, a column of numbers"),
        ({"where": "amount < 0", "gaps": "number"}, "write `where` or `gaps`, not both"),
        ({"where": "amount < previous(amount)"}, "`previous` needs `order`, the columns that order the records"),
        ({"where": "amount < 0", "order": "id"}, r"order has an effect only with previous\(…\) in where, or gaps"),
        ({"where": "amount < 0", "by": "id"}, r"by has an effect only with previous\(…\) in where, or gaps"),
        ({"gaps": "number", "order": "id"}, "gaps orders the records by their numbers; remove order"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        rule(**settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"where": "amonut < 0"}, "There is no column `amonut`"),
        ({"where": "amount"}, "Expected a condition but this is of type integer"),
        ({"where": "amount < previous(amonut)", "order": "id"}, "There is no column `amonut`"),
        ({"where": "amount < previous(account)", "order": "id"}, "Cannot compare integer with text"),
        ({"where": "amount < previous(amount)", "order": "at"}, "`order` names `at`, but dataset `things` has no such"),
        ({"where": "amount < 0 and amount > 1"}, "no record can meet this condition"),
        ({"gaps": "nummer"}, "`gaps` names `nummer`, but dataset `things` has no such column"),
        ({"gaps": {"rate": {"round": "0"}}}, "but `rate` is of type float; declare `rate` as text or integer"),
        ({"gaps": "booked"}, "`gaps` needs whole numbers, or texts with a number, but `booked` is of type date"),
        (
            {"where": "id < previous(id)", "order": "flag"},
            "`order` orders by times, numbers or texts, but `flag` is of",
        ),
    ],
)
def test_a_rule_that_does_not_fit_its_dataset_is_refused(settings: dict[str, Any], sentence: str) -> None:
    relation = Rows(TYPES | {"booked": Type.DATE, "flag": Type.BOOLEAN, "rate": Type.FLOAT}, []).relation()

    with pytest.raises(DoesNotFit, match=re.escape(sentence)):
        Check().fit(rule(**settings), {"things": relation})


def test_an_order_needs_an_id() -> None:
    with pytest.raises(DoesNotFit, match="`order` needs an `id` to order equal values, but dataset `things` has none"):
        FittedCheck.of(rule(where="id < previous(id)", order="amount"), Rows(TYPES, [], id=()).relation())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("previous(previous(amount)) > 1", "`previous` cannot be inside `previous` at column 10"),
        ("previous(1) > 1", "`previous` takes a value of the record at column 1"),
        ("previous(a, b) > 1", "`previous` takes one value, not 2"),
    ],
)
def test_previous_takes_one_value_of_the_record(text: str, sentence: str) -> None:
    with pytest.raises(RuleError, match=re.escape(sentence)):
        parse_ordered(text)


def test_previous_elsewhere_is_refused_with_where_it_can_be_used() -> None:
    with pytest.raises(RuleError, match="the `where` of a rule of kind check can use previous"):
        parse("amount < previous(amount)")


def test_a_condition_that_no_record_can_meet_is_told_where_it_is_written() -> None:
    reasons = list(Check().barren(rule(where="amount > 1 and amount < 0"), {"things": DatasetFacts()}))

    assert reasons == [(("where",), "no record can meet this condition; correct it")]


def test_records_in_an_order_are_compared_in_duckdb() -> None:
    relation = Rows(TYPES, []).relation()
    ordered = FittedCheck.of(rule(where="id < previous(id)", order="amount"), relation)
    plain = FittedCheck.of(rule(where="amount < 0"), relation)
    folded = FittedCheck.of(rule(where="lower(account) = 'a'"), relation)

    assert ordered.obstacle("postgresql") == "records in an order are compared in DuckDB"
    assert plain.obstacle("postgresql") is None
    assert folded.obstacle("postgresql") == "the texts of `account` compare exactly there only if all are ASCII"
