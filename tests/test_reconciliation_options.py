"""Settings beside key and tolerance: all columns are compared, empty values match, partners differ."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from reconciliation_support import MONEY, TYPES, Compared, mistakes, row, rule, shown

from rules.engines.base import Discrepancy
from rules.kinds.base import DoesNotFit
from rules.values import Type

AMOUNTS = "tolerance: {amount: {left: amount, right: amount, by: 0}}"
TRANSFER = f"{AMOUNTS}\ndiffer: [status]"


def differing(compared: Compared, text: str) -> list[str]:
    """The columns that differ in the only finding."""
    [group] = compared.detect(text).groups
    assert isinstance(group, Discrepancy)
    return [each.column for each in group.differences]


# compare: all


def test_all_compares_every_column_that_both_datasets_have_but_key_and_id() -> None:
    compared = Compared([row(1)], [row(2, day=dt.date(2026, 3, 2), amount=11, status="no")])

    assert differing(compared, "key: ref\ncompare: all") == ["day", "amount", "status"]
    assert differing(compared, "key: ref\ncompare: {all: {except: [day, status]}}") == ["amount"]
    assert differing(compared, "key: ref\ncompare: {all: {except: day}}") == ["amount", "status"]
    assert shown(Compared([row(1)], [row(2)]).detect("key: ref\ncompare: all")) == []


def test_a_column_that_has_a_tolerance_or_a_pair_of_its_own_is_not_compared_again() -> None:
    compared = Compared([row(1)], [row(2, amount=11, status="OK")])

    near = "key: ref\ncompare: [all, {left: amount, right: amount, by: 2}, {status: [lower]}]"
    tolerated = "key: ref\ntolerance: {amount: {left: amount, right: amount, by: 1}}\ncompare: all"

    assert shown(compared.detect(near)) == []
    assert differing(compared, tolerated) == ["status"]


def test_columns_that_only_one_dataset_has_are_not_compared() -> None:
    fewer = {name: kind for name, kind in TYPES.items() if name != "status"}
    right = {name: value for name, value in row(2, day=dt.date(2026, 3, 2)).items() if name in fewer}

    assert differing(Compared([row(1)], [right], right_types=fewer), "key: ref\ncompare: all") == ["day"]


def test_money_is_compared_once() -> None:
    compared = Compared([row(1)], [row(2, amount=11)], money=MONEY)

    assert differing(compared, "key: ref\ncompare: all") == ["amount"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "compare: {all: {except: [statsu]}}",
            "`compare` leaves out `statsu`, but neither dataset has such a column; did",
        ),
        (
            "compare: {all: {except: [day, at, amount, currency, status]}}",
            "`compare: all` finds no column of the same name",
        ),
    ],
)
def test_a_column_that_is_left_out_must_exist_and_some_must_be_left(text: str, sentence: str) -> None:
    with pytest.raises(DoesNotFit, match=sentence):
        Compared([row(1)], [row(2)]).fitted(f"key: ref\n{text}")


def test_columns_of_one_name_must_have_types_that_can_be_equal() -> None:
    others = TYPES | {"status": Type.INTEGER}

    with pytest.raises(DoesNotFit, match="`compare` compares `status` of `bank`"):
        Compared([row(1)], [row(2, status=1)], right_types=others).fitted("key: ref\ncompare: all")


def test_the_columns_of_except_are_checked_where_they_are_written() -> None:
    [mistake] = mistakes("key: ref\ncompare: {all: {but: [day]}}")

    assert "write columns to leave out as {all: {except: [column, …]}}" in mistake


# nulls


def test_empty_values_of_a_part_of_the_key_match_each_other() -> None:
    left = [row(1, status=None), row(2, "B", status=None), row(3, "C")]
    right = [row(1, status=None), row(3, "C", status=None)]
    text = "key: [ref, status]\nnulls: {status: match}"

    detection = Compared(left, right).detect(text)

    assert shown(detection) == [("left_only", [2], []), ("left_only", [3], []), ("right_only", [], [3])]
    assert detection.matched == 1
    [alone, *_] = detection.groups
    assert alone.key == {"ref": "B", "status": None}


def test_an_empty_value_of_another_part_still_matches_nothing() -> None:
    text = "key: [ref, status]\nnulls: {status: match}"

    [group, other] = Compared([row(1, None)], [row(1, None)]).detect(text).groups

    assert {each.reason for each in (group, other) if isinstance(each, Discrepancy)} == {"no key"}


def test_records_without_one_value_repeat_a_key() -> None:
    text = "key: [ref, status]\nnulls: {status: match}"
    left = [row(1, status=None), row(2, status=None)]

    assert shown(Compared(left, [row(9, status=None)]).detect(text)) == [("duplicate_left", [1, 2], [9])]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("key: ref\nnulls: {stat: match}", "names `stat`, which is not in the key"),
        ("key: ref\nnulls: {ref: match}", "would match any two records with an empty key; leave one out"),
        ("key: [ref, status]\nnulls: {status: any}", "is not allowed here"),
        (
            "totals: {by: ref, sum: {left: amount, right: amount}}\nnulls: {ref: match}",
            "cannot be combined with `totals`",
        ),
    ],
)
def test_nulls_that_mean_nothing_are_mistakes(text: str, sentence: str) -> None:
    assert any(sentence in mistake for mistake in mistakes(text)), mistakes(text)


# differ


def test_partners_must_differ_where_the_rule_says() -> None:
    left, right = [row(1, status="checking")], [row(2, status="checking"), row(3, status="savings")]
    detection = Compared(left, right).detect(TRANSFER)

    assert (shown(detection), detection.matched) == ([("right_only", [], [2])], 1)
    assert shown(Compared(left, right[:1]).detect(TRANSFER)) == [("left_only", [1], []), ("right_only", [], [2])]


def test_an_empty_value_does_not_differ() -> None:
    for ours, theirs in (("A", None), (None, "A"), (None, None)):
        assert len(shown(Compared([row(1, status=ours)], [row(2, status=theirs)]).detect(TRANSFER))) == 2


def test_equal_records_pair_off_only_with_those_that_differ() -> None:
    left = [row(n, status="A") for n in (1, 2)]
    right = [row(3, status="A"), row(4, status="B"), row(5, status="B")]
    detection = Compared(left, right).detect(TRANSFER)

    assert (shown(detection), detection.matched) == ([("right_only", [], [3])], 2)


def test_a_near_miss_differs_there_too() -> None:
    left, right = row(1, "A", status="x"), row(2, "B", status="x")
    text = "key: ref\ntolerance: {date: {left: day, right: day, days: 1}, amount: {left: amount, right: amount, by: 0}}"

    assert [form for form, *_ in shown(Compared([left], [right]).detect(text))] == ["near_miss"]
    assert len(shown(Compared([left], [right]).detect(f"{text}\ndiffer: status"))) == 2


def test_differ_needs_a_tolerance_and_its_reason_names_it() -> None:
    assert any("`differ` chooses between possible partners" in each for each in mistakes("key: ref\ndiffer: status"))
    assert (
        rule(TRANSFER).because("left_only")
        == "ledger has no free record whose amount is close enough, with a different status."
    )


def test_values_that_must_differ_have_types_that_can_be_equal() -> None:
    compared = replace(Compared([row(1)], [row(2)]), right_types=TYPES | {"status": Type.INTEGER})

    with pytest.raises(DoesNotFit, match="`differ` compares `status`"):
        compared.fitted(TRANSFER)
