"""Settings beside key and tolerance: all columns are compared, empty values match, partners differ."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from reconciliation_support import MONEY, TYPES, Compared, mistakes, row, rule, shown

from rules.engines.base import Discrepancy
from rules.kinds.base import DoesNotFit
from rules.values import Type, Value

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
        == "ledger has no unmatched record within the tolerance of amount and with a different status."
    )


def test_values_that_must_differ_have_types_that_can_be_equal() -> None:
    compared = replace(Compared([row(1)], [row(2)]), right_types=TYPES | {"status": Type.INTEGER})

    with pytest.raises(DoesNotFit, match="`differ` compares `status`"):
        compared.fitted(TRANSFER)


# several keys in order of preference


def memo(number: int, ref: str | None, text: str | None, **values: Value) -> dict[str, Value]:
    return row(number, ref, status=text, **values)


BY_TEXT = "key: {any: [[{left: ref, right: ref}], [{left: status, right: ref}]]}"


def test_a_record_without_a_partner_is_matched_by_the_next_key() -> None:
    compared = Compared([memo(1, "A1", "thanks"), memo(2, "none", "A2")], [row(n, f"A{n}") for n in (1, 2, 3)])

    detection = compared.detect(BY_TEXT)

    assert shown(detection) == [("right_only", [], [3])]
    assert detection.matched == 2
    assert next(iter(detection.groups)).key == {"ref": "A3"}


def test_the_first_key_has_the_first_choice_and_a_partner_is_never_taken_away() -> None:
    left = [memo(1, "none", "A1"), memo(2, "A1", "B"), memo(3, "none", "A1")]

    assert shown(Compared(left, [row(1, "A1")]).detect(BY_TEXT)) == [("left_only", [1], []), ("left_only", [3], [])]


def test_a_record_without_the_first_key_is_matched_by_another_and_has_no_key_only_without_any() -> None:
    left = [memo(1, None, "A1"), memo(2, None, None), memo(3, None, "X")]

    detection = Compared(left, [row(1, "A1"), row(2, "A2")]).detect(BY_TEXT)

    assert shown(detection) == [("left_only", [2], []), ("left_only", [3], []), ("right_only", [], [2])]
    reasons = {group.left[0].id: group.reason for group in detection.groups if group.form == "left_only"}
    assert reasons == {(2,): "no key", (3,): None}


def test_a_finding_shows_the_key_that_joined_its_records_and_money_is_compared_with_each() -> None:
    by_amount = "key: {any: [[ref, amount], [{left: status, right: ref}]]}"
    compared = Compared([memo(1, "none", "A1", amount=9)], [row(1, "A1")], money=MONEY)

    [group] = compared.detect(by_amount).groups

    assert (group.form, dict(group.key)) == ("mismatch", {"status": "A1"})
    assert [each.column for each in group.differences] == ["amount"]


def test_records_that_repeat_a_key_are_not_matched_by_the_next() -> None:
    left = [memo(1, "A1", "A1"), memo(2, "A1", "A2")]

    assert shown(Compared(left, [row(1, "A1"), row(2, "A2")]).detect(BY_TEXT)) == [
        ("duplicate_left", [1, 2], [1]),
        ("right_only", [], [2]),
    ]


def test_a_tolerance_holds_for_every_key() -> None:
    text = f"{BY_TEXT}\ntolerance: {{date: {{left: day, right: day, days: 1}}}}"
    late = dt.date(2026, 3, 9)

    assert shown(Compared([memo(1, "none", "A1")], [row(1, "A1")]).detect(text)) == []
    assert shown(Compared([memo(1, "none", "A1", day=late)], [row(1, "A1")]).detect(text)) == [("near_miss", [1], [1])]


def test_a_missing_record_names_all_keys() -> None:
    assert rule(BY_TEXT).because("left_only") == "ledger has no unmatched record with the same ref, or status / ref."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("key: {any: [ref]}", "`any`: needs two or more keys, like [[reference], [memo]]; write a single key"),
        ("key: {any: [ref, [ref]]}", "`any`: holds the same key twice; remove one"),
        ("key: {any: [[ref, ref], [status]]}", "`key` names the same columns twice; remove one"),
        ("key: {any: [[], [status]]}", "`any`: a key needs at least one column"),
        ("key: {any: [ref, status]}\nmatch: one_to_many", "only `match: one_to_one` tries in turn; write one key"),
        ("key: {any: [[ref, day], [status]]}\nnulls: {status: match}", "would match any two records with an empty key"),
        ("key: {any: [ref, {left: status}]}", "needs both `left` and `right`"),
    ],
)
def test_several_keys_that_mean_nothing_are_mistakes(text: str, sentence: str) -> None:
    [mistake] = mistakes(text)
    assert sentence in mistake


def test_a_column_of_any_key_must_exist() -> None:
    with pytest.raises(DoesNotFit, match="`key` names `memos`, but dataset `bank` has no such column"):
        Compared([row(1)], [row(2)]).fitted("key: {any: [ref, {left: memos, right: ref}]}")


def test_all_compares_the_columns_of_the_keys_that_did_not_match_a_pair() -> None:
    text = "key: {any: [[ref], [status, amount]]}\ncompare: {all: {except: [day, at, currency]}}"
    by_ref = Compared([row(1, amount=99)], [row(1)])
    by_amount = Compared([row(1, "B")], [row(1)])

    assert differing(by_ref, text) == ["amount"]
    assert differing(by_amount, text) == ["ref"]
    assert shown(Compared([row(1)], [row(1)]).detect(text)) == []


def test_several_keys_are_tried_here_wherever_the_tables_are() -> None:
    obstacle = Compared([row(1)], [row(1)]).fitted(BY_TEXT).obstacle("postgresql")

    assert obstacle == "several keys are tried in turn in DuckDB"
