"""Settings beside key and tolerance: all columns are compared, empty values match, partners differ."""

import datetime as dt
from dataclasses import replace

import pytest

from rules.groups.group import Discrepancy
from rules.kinds.base import DoesNotFit
from rules.values import Type, Value
from tests.rules.kinds.reconciliation.compared import MONEY, TYPES, Compared, mistakes, row, rule, shown

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

    [group, other_group] = Compared([row(1, None)], [row(1, None)]).detect(text).groups

    assert {each.reason for each in (group, other_group) if isinstance(each, Discrepancy)} == {"no key"}


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


# prefer

NEAR = "key: ref\ntolerance: {date: {left: day, right: day, days: 5}}"


def on(day: int, number: int, status: str | None, **values: Value) -> dict[str, Value]:
    return row(number, day=dt.date(2026, 3, day), status=status, **values)


def partners(left: list[dict[str, Value]], right: list[dict[str, Value]], text: str) -> list[tuple[Value, Value]]:
    """Every pair, by ids: each is a mismatch, because ids are compared and never agree."""
    detection = Compared(left, right).detect(f"{text}\ncompare: {{left: id, right: id}}")
    return [(ours, theirs) for form, [*ours], [*theirs] in shown(detection) if form == "mismatch"]


def test_a_preferred_column_decides_before_days_and_money() -> None:
    left, right = [on(1, 1, "Ann"), on(2, 2, "Bob")], [on(1, 11, "Bob"), on(2, 12, "Ann")]
    far = [on(2, 11, "Bob"), on(3, 12, "Ann", amount=12)]
    by_money = f"{NEAR[:-1]}, amount: {{left: amount, right: amount, by: 5}}}}\nprefer: status"

    assert partners(left, right, NEAR) == [([1], [11]), ([2], [12])]
    assert partners(left, right, f"{NEAR}\nprefer: status") == [([1], [12]), ([2], [11])]
    assert partners(left, far, by_money) == [([1], [12]), ([2], [11])]


def test_no_pair_is_given_up_for_a_preferred_one() -> None:
    left, right = [on(1, 1, "Ann"), on(8, 2, "Bob")], [on(4, 11, "Ann"), on(2, 12, "Cid")]

    assert partners(left, right, f"{NEAR}\nprefer: status") == [([1], [12]), ([2], [11])]


def test_the_first_preferred_column_decides_before_the_second() -> None:
    left = [on(1, 1, "Ann", currency="EUR")]
    right = [on(1, 11, "Bob", currency="EUR"), on(3, 12, "Ann", currency="USD"), on(4, 13, "Ann", currency="EUR")]
    paired = {
        text: [theirs for _, theirs in partners(left, right[:2], f"{NEAR}\nprefer: {text}")]
        for text in ("[status, currency]", "[currency, status]")
    }

    assert paired == {"[status, currency]": [[12]], "[currency, status]": [[11]]}
    assert partners(left, right, f"{NEAR}\nprefer: [status, currency]") == [([1], [13])]


def test_an_empty_value_agrees_with_nothing_so_days_decide() -> None:
    right = [on(2, 11, "Ann"), on(3, 12, None)]

    assert partners([on(1, 1, None)], right, f"{NEAR}\nprefer: status") == [([1], [11])]


def test_equal_records_pair_by_the_preferred_column_and_leave_nothing_undecided() -> None:
    left = [row(1, status="Ann"), row(2, status="Bob")]
    right = [row(11, status="Cid"), row(12, status="Bob"), row(13, status="Ann")]

    plain, preferred = (Compared(left, right).detect(text) for text in (NEAR, f"{NEAR}\nprefer: status"))

    assert [form for form, *_ in shown(plain)] == ["ambiguous"]
    assert shown(preferred) == [("right_only", [], [11])]
    assert (preferred.matched, preferred.interchangeable) == (2, 0)


def test_equal_records_without_a_preferred_value_still_pair_off() -> None:
    left = [row(n, status=None) for n in range(2_000)]
    right = [row(n, status=None) for n in range(5_000, 7_000)]

    detection = Compared(left, right).detect(f"{NEAR}\nprefer: status")

    assert (shown(detection), detection.matched) == ([], 2_000)


def test_a_preference_that_decides_nothing_leaves_records_undecided_and_says_so() -> None:
    text = f"{NEAR}\nprefer: status"
    right = [row(11, status="Ann"), row(12, status="Ann"), row(13, status="Bob")]

    assert shown(Compared([on(2, 1, "Ann")], right).detect(text)) == [
        ("ambiguous", [1], [11, 12]),
        ("right_only", [], [13]),
    ]
    assert rule(text).because("ambiguous") == "More than one pairing by ref is possible, and status does not decide."


def test_preferred_columns_have_normalisers_and_sides_of_their_own() -> None:
    left, right = [on(1, 1, " ANN ", currency="EUR")], [on(1, 11, "x", currency="y"), on(3, 12, "z", currency="ann")]

    assert partners(left, right, f"{NEAR}\nprefer: {{left: [status, trim, lower], right: currency}}") == [([1], [12])]


def test_every_key_has_the_preference() -> None:
    text = f"{BY_TEXT}\ntolerance: {{date: {{left: day, right: day, days: 5}}}}\nprefer: currency"
    left = [memo(1, "none", "A1", currency="CHF")]
    right = [row(11, "A1", currency="EUR"), row(12, "A1", currency="CHF", day=dt.date(2026, 3, 3))]

    assert partners(left, right, text) == [([1], [12])]


def test_partners_that_must_differ_are_still_preferred() -> None:
    text = f"{NEAR}\ndiffer: status\nprefer: currency"
    right = [on(1, 11, "A", currency="CHF"), on(1, 12, "B"), on(4, 13, "B", currency="CHF")]

    assert partners([on(1, 1, "A", currency="CHF")], right, text) == [([1], [13])]


def test_a_finding_shows_the_preferred_columns_and_the_rule_says_that_it_prefers_them() -> None:
    text = f"key: ref\n{AMOUNTS}\nprefer: status"
    [group] = Compared([row(1)], [row(2, amount=99)]).detect(text).groups

    assert isinstance(group, Discrepancy)
    assert [list(member.values) for member in (*group.left, *group.right)] == [["ref", "status", "amount"]] * 2
    assert Compared([], []).fitted(text).describe()["prefers"] == ["status: as it is, equal"]


def test_a_database_settles_keys_of_a_rule_that_prefers() -> None:
    floats = replace(Compared([], []), types=TYPES | {"status": Type.FLOAT})

    assert floats.fitted(f"{NEAR}\nprefer: status").obstacle("postgresql") is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("key: ref\nprefer: status", "`prefer` chooses between possible partners; add a `tolerance` to a one_to_one"),
        (f"{NEAR}\nmatch: one_to_many\nprefer: status", "`prefer` chooses between possible partners"),
        ("totals: {by: ref, sum: {left: amount, right: amount}}\nprefer: status", "cannot be combined with `totals`"),
        (f"{NEAR}\nprefer: ref", "names `ref`, which is equal in every pair, because it is in the key; remove it"),
        (f"{NEAR}\ndiffer: status\nprefer: status", "names `status`, which must `differ` in every pair; remove one"),
        (f"{NEAR}\nprefer: [status, at, status]", "names `status` twice; remove one"),
        (f"{NEAR}\nprefer: {{left: status}}", "needs both `left` and `right`"),
    ],
)
def test_a_preference_that_means_nothing_is_a_mistake(text: str, sentence: str) -> None:
    [mistake] = mistakes(text)
    assert sentence in mistake


def test_a_preferred_column_may_be_in_one_of_several_keys() -> None:
    assert mistakes(f"{BY_TEXT}\ntolerance: {{date: {{left: day, right: day, days: 5}}}}\nprefer: status") == []


def test_preferred_columns_exist_and_have_types_that_can_be_equal() -> None:
    others = replace(Compared([row(1)], [row(2)]), right_types=TYPES | {"status": Type.INTEGER})

    with pytest.raises(DoesNotFit, match="`prefer` compares `status` of `bank`"):
        others.fitted(f"{NEAR}\nprefer: status")
    with pytest.raises(DoesNotFit, match="`prefer` names `payer`, but dataset `bank` has no such column"):
        Compared([row(1)], [row(2)]).fitted(f"{NEAR}\nprefer: payer")


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
