"""Rules of kind reconciliation, from YAML to what they find."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from rules.groups.group import Difference, Discrepancy
from rules.kinds.base import DatasetFacts, DoesNotFit
from rules.kinds.reconciliation import Reconciliation, assigning
from rules.kinds.reconciliation.accounts import RecordsUnaccounted
from rules.kinds.reconciliation.assigning import TooManyPairs
from rules.kinds.reconciliation.balance import BalanceBroken
from rules.kinds.reconciliation.workspace import Workspace
from rules.pairs.assignment import optimum
from rules.values import Type
from tests.rules.kinds.reconciliation.compared import MONEY, SLOT, TYPES, Compared, mistakes, row, rule, shown
from tests.support.rules import Rows

D = dt.date
MARCH = D(2026, 3, 1)
KEY = "key: ref"
CLOSE = """\
key: ref
tolerance: {date: {left: day, right: day, days: 3}, amount: {left: amount, right: amount, by: 0.01}}
"""


def only(compared: Compared, text: str) -> Discrepancy:
    [group] = compared.detect(text).groups
    assert isinstance(group, Discrepancy)
    return group


# One record for one record, by key


@pytest.mark.slow
def test_records_without_a_partner_and_pairs_that_differ_are_findings() -> None:
    left = [row(1), row(2, "B"), row(3, "C")]
    right = [row(1), row(2, "B", status="paid"), row(9, "D")]

    detection = Compared(left, right).detect(f"{KEY}\ncompare: status")

    assert shown(detection) == [("left_only", [3], []), ("mismatch", [2], [2]), ("right_only", [], [9])]
    assert (detection.matched, detection.scanned, detection.read_of) == (2, 6, {"bank": 3, "ledger": 3})


def test_a_mismatch_shows_its_key_and_both_values() -> None:
    names = {"left": [row(1, " A-1 ", status="OK")], "right": [row(7, "a1", status="no")]}

    finding = only(Compared(**names), "key: {ref: [alnum, lower]}\ncompare: {left: [status, lower], right: status}")

    assert finding.key == {"ref": "a1"}
    assert finding.differences == (Difference("status", "OK", "no", "status", "status"),)
    assert [(member.id, member.dataset) for member in finding.members] == [((1,), None), ((7,), "ledger")]


def test_a_record_without_key_matches_nothing_and_is_named_by_its_id() -> None:
    finding = only(Compared([row(1, None), row(2)], [row(2)]), KEY)

    assert (finding.form, finding.reason) == ("left_only", "no key")
    assert finding.key == {"side": "left", "id": 1}


def test_a_columns_personal_values_are_masked_under_the_name_that_the_key_gives_it() -> None:
    both = rule("key: [currency, {left: [ref, trim], right: [doc_no, trim]}]")

    assert list(both.shown_as("ledger", ["doc_no", "name"])) == ["doc_no", "ref", "name"]
    assert list(both.shown_as("bank", ["doc_no"])) == ["doc_no"]


@pytest.mark.parametrize(
    ("compare", "phrase"), [("", "amounts differ"), ("compare: [status]", "values differ")], ids=["money", "fields"]
)
def test_a_mismatch_is_about_amounts_unless_fields_are_compared(compare: str, phrase: str) -> None:
    assert rule(f"key: [ref]\n{compare}").form_words("mismatch").phrase == phrase


def test_a_mismatch_of_nothing_but_the_currency_says_so() -> None:
    keyed = rule("key: [ref]")
    currency = Difference("cur", "EUR", "USD", "cur", "cur")
    no_currency = Difference("cur", None, "USD", "cur", "cur")
    amount = Difference("amount", Decimal(20), Decimal(19), "amount", "amount")

    assert keyed.phrase("mismatch", [currency]) == "currencies differ"
    assert keyed.phrase("mismatch", [no_currency]) == "currencies differ"
    assert keyed.phrase("mismatch", [amount, currency]) == "amounts differ"
    assert rule("key: [ref]\ncompare: [status]").phrase("mismatch", [currency]) == "values differ"
    assert keyed.phrase("left_only", []) == "missing in ledger"


def test_a_mismatch_of_bundles_can_also_be_one_of_dates() -> None:
    dated = "key: [ref]\ntolerance: {date: {left: day, right: at, days: 3}}"

    assert rule(f"{dated}\nmatch: one_to_many").form_words("mismatch").phrase == "values differ"
    assert rule(dated).form_words("mismatch").phrase == "amounts differ"


@pytest.mark.parametrize(
    ("left", "right", "form", "reason"),
    [
        (2, 1, "duplicate_left", None),
        (1, 2, "duplicate_right", None),
        (2, 2, "duplicate_left", "the key repeats on both sides"),
        (2, 3, "duplicate_right", "the key repeats on both sides"),
    ],
)
def test_a_key_that_repeats_where_one_record_is_allowed_is_a_duplicate(
    left: int, right: int, form: str, reason: str | None
) -> None:
    compared = Compared([row(n) for n in range(left)], [row(n) for n in range(right)])

    finding = only(compared, KEY)

    assert (finding.form, finding.reason, len(finding.left), len(finding.right)) == (form, reason, left, right)


def test_a_key_that_only_one_side_has_is_missing_there_however_often_it_repeats() -> None:
    assert shown(Compared([row(1), row(2)], []).detect(KEY)) == [("left_only", [1], []), ("left_only", [2], [])]


# Money


@pytest.mark.slow
def test_matched_records_must_have_the_same_money_unless_a_tolerance_says_otherwise() -> None:
    compared = Compared([row(1, amount=10)], [row(1, amount=Decimal("10.01"))], money=MONEY)

    assert only(compared, KEY).money == {"EUR": Decimal("-0.01")}
    assert shown(compared.detect(CLOSE)) == []
    assert shown(replace(compared, money=None).detect(KEY)) == []


def test_different_currencies_never_agree() -> None:
    finding = only(Compared([row(1)], [row(1, currency="USD")], money=MONEY), CLOSE)

    assert finding.form == "mismatch"
    assert finding.money == {"EUR": 10, "USD": -10}


@pytest.mark.slow
def test_the_balance_explains_each_currency_exactly() -> None:
    left = [row(1), row(2, "B", amount=Decimal("5.01")), row(3, None, currency="USD")]
    right = [row(1), row(2, "B", amount=Decimal("5.00")), row(3, "C", amount=7)]

    detection = Compared(left, right, money=MONEY).detect(CLOSE)

    euro, dollar = detection.balance
    assert (euro.left, euro.right) == (Decimal("15.01"), 22)
    assert (euro.matched, euro.explained, euro.not_yet_due) == (Decimal("0.01"), -7, 0)
    assert (dollar.left, dollar.right, dollar.explained) == (10, 0, 10)
    assert (euro.by_form, dollar.by_form) == ({"right_only": -7}, {"left_only": 10})


class Losing(Workspace):
    """An engine that loses a record of the answer, as a defect in ours or in DuckDB's might."""

    def query(self, statement: Any) -> Any:
        table = super().query(statement)
        return table.slice(1) if "row" in table.column_names and "key_0" in table.column_names else table


@pytest.mark.parametrize(("money", "error"), [(MONEY, BalanceBroken), (None, RecordsUnaccounted)])
def test_a_lost_record_breaks_the_proof(monkeypatch: pytest.MonkeyPatch, money: Any, error: type[Exception]) -> None:
    monkeypatch.setattr("rules.kinds.reconciliation.detection.Workspace", Losing)

    with pytest.raises((BalanceBroken, RecordsUnaccounted), match="does not balance: ") as broken:
        Compared([row(1), row(2, "B")], [row(3, "C")], money=money).detect(KEY)

    assert isinstance(broken.value, (error, RecordsUnaccounted))


# Tolerances


@pytest.mark.slow
def test_days_and_amounts_inside_the_tolerance_match_and_outside_they_do_not() -> None:
    near = [row(1, day=D(2026, 3, 4), amount=Decimal("10.01"))]

    assert shown(Compared([row(1)], near).detect(CLOSE)) == []
    for far in ({"day": D(2026, 3, 5)}, {"amount": Decimal("10.02")}, {"day": D(2026, 2, 25)}):
        assert shown(Compared([row(1)], [row(1, **far)]).detect(CLOSE)) == [("near_miss", [1], [1])]


@pytest.mark.slow
def test_before_and_after_limit_one_direction() -> None:
    text = "key: ref\ntolerance: {date: {left: day, right: day, days: 3, before: 0}}"
    later, earlier = row(1, day=D(2026, 3, 4)), row(1, day=D(2026, 2, 28))

    assert shown(Compared([row(1)], [later]).detect(text)) == []
    assert shown(Compared([row(1)], [earlier]).detect(text)) == [("near_miss", [1], [1])]


@pytest.mark.parametrize(
    ("first", "last", "days"),
    [(D(2026, 2, 27), D(2026, 3, 2), 1), (D(2026, 2, 28), D(2026, 3, 2), 0), (D(2026, 4, 2), D(2026, 4, 7), 1)],
)
@pytest.mark.slow
def test_business_days_leave_out_weekends_and_holidays(first: dt.date, last: dt.date, days: int) -> None:
    """A weekend from its Friday and from its Saturday, and Easter."""
    compared = Compared([row(1, day=first)], [row(1, day=last)])
    text = "key: ref\ntolerance: {date: {left: day, right: day, business_days: %d, holidays: DE}}"

    assert shown(compared.detect(text % days)) == []
    if days:
        assert shown(compared.detect(text % (days - 1))) == [("near_miss", [1], [1])]


@pytest.mark.slow
def test_days_are_those_of_each_datasets_time_zone() -> None:
    night = dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.UTC)
    text = "key: ref\ntolerance: {date: {left: at, right: day, days: 0}}"
    compared = Compared([row(1, at=night)], [row(1, day=D(2026, 3, 2))], timezones=("Europe/Berlin", "UTC"))

    assert shown(compared.detect(text)) == []
    assert shown(replace(compared, timezones=("UTC", "UTC")).detect(text)) == [("near_miss", [1], [1])]


def test_the_day_on_which_clocks_change_has_both_offsets() -> None:
    before, after = (dt.datetime(2026, 3, 29, hour, 30, tzinfo=dt.UTC) for hour in (0, 21))
    nights = [dt.datetime(2026, 3, 28, 22, 30, tzinfo=dt.UTC), dt.datetime(2026, 3, 29, 22, 30, tzinfo=dt.UTC)]
    text = "key: ref\ntolerance: {date: {left: at, right: day, days: 0}}"
    left = [row(n, f"R{n}", at=at) for n, at in enumerate([before, after, *nights])]
    days = [D(2026, 3, 29), D(2026, 3, 29), D(2026, 3, 28), D(2026, 3, 30)]
    right = [row(n, f"R{n}", day=day) for n, day in enumerate(days)]

    assert shown(Compared(left, right, timezones=("Europe/Berlin", "UTC")).detect(text)) == []


@pytest.mark.slow
def test_per_cent_are_of_the_larger_amount() -> None:
    text = "key: ref\ntolerance: {amount: {left: amount, right: amount, percent: 10}}"

    assert shown(Compared([row(1, amount=90)], [row(1, amount=100)]).detect(text)) == []
    assert shown(Compared([row(1, amount=-100)], [row(1, amount=-90)]).detect(text)) == []
    assert shown(Compared([row(1, amount=89)], [row(1, amount=100)]).detect(text)) == [("near_miss", [1], [1])]


@pytest.mark.slow
def test_both_limits_of_an_amount_hold() -> None:
    text = "key: ref\ntolerance: {amount: {left: amount, right: amount, by: 5, percent: 1}}"

    assert shown(Compared([row(1, amount=500)], [row(1, amount=505)]).detect(text)) == []
    assert shown(Compared([row(1, amount=5)], [row(1, amount=6)]).detect(text)) == [("near_miss", [1], [1])]
    assert shown(Compared([row(1, amount=5000)], [row(1, amount=5006)]).detect(text)) == [("near_miss", [1], [1])]


def test_money_of_a_bundle_is_the_difference_of_the_sums_that_are_compared() -> None:
    """48.00 was paid of 50.00 less 1.25."""
    left, right = [row(1, amount=48)], [row(1, amount=30), row(2, amount=20), row(3, "B", amount=5)]
    less = "sum: {left: amount, right: amount - 0.625}"
    compared = Compared(left, right, money=MONEY)
    bundles = compared.detect(f"key: ref\nmatch: one_to_many\n{less}")
    totals = compared.detect(f"totals: {{by: ref, {less}}}")

    assert [(group.key["ref"], group.money) for group in bundles.groups] == [
        ("A", {"EUR": Decimal("-0.75")}),
        ("B", {"EUR": Decimal(-5)}),
    ]
    assert [(group.key["ref"], group.money) for group in totals.groups] == [
        ("A", {"EUR": Decimal("-0.75")}),
        ("B", {"EUR": Decimal("-4.375")}),
    ]


@pytest.mark.parametrize(("theirs", "findings"), [("BA", 0), ("AB", 0), ("ABB", 1), ("AC", 1), ("AA", 1)])
def test_bundles_agree_if_their_values_can_be_paired_off(theirs: str, findings: int) -> None:
    left = [row(n, status=status) for n, status in enumerate("AB")]
    right = [row(n, status=status) for n, status in enumerate(theirs)]
    text = "key: ref\nmatch: many_to_many\ncompare: status"

    assert len(shown(Compared(left, right).detect(text))) == findings


def test_of_bundles_that_differ_the_values_that_only_one_side_has_are_told() -> None:
    left = [row(n, status=status) for n, status in enumerate("AB")]
    right = [row(n, status=status) for n, status in enumerate("AC")]

    finding = only(Compared(left, right), "key: ref\nmatch: many_to_many\ncompare: status")
    assert [(difference.left, difference.right) for difference in finding.differences] == [("B", "C")]


@pytest.mark.parametrize(
    ("ours", "theirs", "agree"),
    [
        ((1, 5), (6, 2), True),  # sorted, each is 1 apart
        ((1, 5), (2, 7), False),
        ((1, None), (None, 2), True),
        ((1, None), (1, 2), False),
        ((3, 3), (2, 4), True),
    ],
)
def test_values_with_a_tolerance_are_paired_off_in_order(
    ours: Sequence[Any], theirs: Sequence[Any], *, agree: bool
) -> None:
    text = "key: ref\nmatch: many_to_many\ncompare: {left: amount, right: amount, by: 1}"
    left, right = ([row(n, amount=amount) for n, amount in enumerate(side)] for side in (ours, theirs))
    days = [[dt.date(2026, 3, amount) if amount else None for amount in side] for side in (ours, theirs)]
    dated = ([row(n, day=day) for n, day in enumerate(side)] for side in days)

    assert (shown(Compared(left, right).detect(text)) == []) is agree
    assert (shown(Compared(*dated).detect(text.replace("amount", "day").replace("by", "days"))) == []) is agree


@pytest.mark.parametrize("limit", ["by: 10%", "by: 10 %", "percent: 10%", "percent: 10"])
@pytest.mark.parametrize(("far", "findings"), [(90, 0), (89, 1)])
def test_a_percentage_means_the_same_wherever_a_difference_is_allowed(limit: str, far: int, findings: int) -> None:
    compared = Compared([row(1, amount=far)], [row(1, amount=100)])
    paired = f"key: ref\ntolerance: {{amount: {{left: amount, right: amount, {limit}}}}}"
    agreeing = f"key: ref\ncompare: {{left: amount, right: amount, {limit}}}"
    bundles = f"key: ref\nmatch: one_to_many\nsum: {{left: amount, right: amount}}\ntolerance: {{amount: {{{limit}}}}}"
    totals = f"totals: {{by: ref, sum: {{left: amount, right: amount}}}}\ntolerance: {{amount: {{{limit}}}}}"

    counts = [len(shown(compared.detect(text))) for text in (paired, agreeing, bundles, totals)]
    assert counts == [findings] * 4


@pytest.mark.parametrize("place", ["tolerance: {amount: {left: amount, right: amount, LIMITS}}", "compare: {FIELD}"])
def test_of_two_limits_either_may_hold(place: str) -> None:
    limits = "by: 5, percent: 1%, hold: either"
    text = "key: ref\n" + place.replace("LIMITS", limits).replace("FIELD", f"left: amount, right: amount, {limits}")
    agree = [(500, 505), (5, 6), (5000, 5006), (-5, 0)]

    for ours, theirs in agree:
        assert shown(Compared([row(1, amount=ours)], [row(1, amount=theirs)]).detect(text)) == []
    assert shown(Compared([row(1, amount=500)], [row(1, amount=506)]).detect(text)) != []
    assert shown(Compared([row(1, amount=5000)], [row(1, amount=5051)]).detect(text)) != []


def test_most_pairs_count_before_fewest_days() -> None:
    """The near pair would leave two records without a partner."""
    left = [row(1, day=D(2026, 3, 4)), row(2, day=D(2026, 3, 6))]
    right = [row(1, day=D(2026, 3, 1)), row(2, day=D(2026, 3, 5))]

    assert shown(Compared(left, right).detect(CLOSE)) == []


@pytest.mark.slow
def test_who_stays_open_is_ambiguous_only_if_another_could_as_well() -> None:
    twins = [row(1, day=D(2026, 2, 28)), row(2, day=D(2026, 3, 2))]
    nearer = [row(1, day=D(2026, 2, 28)), row(2, day=D(2026, 3, 3))]

    assert shown(Compared([row(1)], twins).detect(CLOSE)) == [("ambiguous", [1], [1, 2])]
    assert shown(Compared([row(1)], nearer).detect(CLOSE)) == [("right_only", [], [2])]


@pytest.mark.slow
def test_equal_records_in_unequal_numbers_are_one_question() -> None:
    finding = only(Compared([row(1)], [row(1), row(2), row(3)], money=MONEY), CLOSE)

    assert (finding.form, len(finding.left), len(finding.right)) == ("ambiguous", 1, 3)
    assert finding.money == {"EUR": -20}


def test_between_equally_near_records_those_that_agree_match() -> None:
    left = [row(1, status="a"), row(2, status="b")]
    right = [row(1, status="b", day=D(2026, 3, 2)), row(2, status="a", day=D(2026, 3, 2))]

    detection = Compared(left, right).detect(f"{CLOSE}compare: status")

    assert (shown(detection), detection.matched) == ([], 2)


def test_pairs_that_could_be_swapped_are_counted_and_nobody_is_asked() -> None:
    left = [row(1), row(2)]
    right = [row(1, day=D(2026, 3, 2)), row(2, day=D(2026, 3, 2))]

    detection = Compared(left, right).detect(CLOSE)

    assert (shown(detection), detection.matched, detection.interchangeable) == ([], 2, 2)


def test_a_tolerance_of_amounts_is_enough_without_a_key() -> None:
    text = "tolerance: {amount: {left: amount, right: amount, by: 1}}"

    detection = Compared([row(1), row(2, amount=50)], [row(1, "Z", amount=11), row(2, amount=20)]).detect(text)

    assert shown(detection) == [("left_only", [2], []), ("right_only", [], [2])]
    assert [group.key for group in detection.groups] == [{"side": "left", "id": 2}, {"side": "right", "id": 2}]


@pytest.mark.parametrize("column", ["day", "amount"])
def test_a_record_without_a_value_of_the_tolerance_matches_nothing(column: str) -> None:
    finding = only(Compared([row(1, **{column: None}), row(2)], [row(2)]), CLOSE)

    reason = {"day": "no date", "amount": "no amount"}[column]
    assert (finding.form, finding.reason, finding.key) == ("left_only", reason, {"ref": "A"})


def test_a_key_with_too_many_possible_pairs_fails_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assigning, "MOST", 5)
    left = [row(n, day=D(2026, 3, 1)) for n in range(3)]
    right = [row(n, day=D(2026, 3, 2)) for n in range(2)]

    with pytest.raises(TooManyPairs, match="3 left and 2 right records share one key") as error:
        Compared([*left, row(9, "B")], [*right, row(9, "B")]).detect(CLOSE)

    assert "Add a column to `key`, or narrow `tolerance`." in str(error.value)


def test_pairs_that_overlap_too_much_fail_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimum, "MOST_STEPS", 10)
    left = [row(n, day=D(2026, 3, n)) for n in range(1, 6)]
    right = [row(n, day=D(2026, 3, n + 1), amount=Decimal("10.01")) for n in range(1, 6)]

    with pytest.raises(TooManyPairs, match="5 left and 5 right records share one key, and their 22 pairs") as error:
        Compared(left, right).detect(CLOSE)

    assert "Add a column to `key`, or narrow `tolerance`." in str(error.value)


# Bundles


@pytest.mark.slow
def test_a_bundle_is_all_records_of_a_key_and_its_sum_must_agree() -> None:
    left = [row(1, amount=10), row(2, "B", amount=10), row(3, "C")]
    right = [row(1, amount=4), row(2, amount=6), row(3, "B", amount=4), row(4, "B", amount=5), row(5, "D"), row(6, "D")]
    text = "key: ref\nmatch: one_to_many\nsum: {left: amount, right: amount + 0}\n"

    detection = Compared(left, right, money=MONEY).detect(text)

    assert shown(detection) == [("left_only", [3], []), ("right_only", [], [5, 6]), ("unbalanced", [2], [3, 4])]
    assert shown(Compared(left[1:2], right[2:4]).detect(f"{text}tolerance: {{amount: {{by: 1}}}}")) == []
    unbalanced = next(group for group in detection.groups if group.form == "unbalanced")
    assert isinstance(unbalanced, Discrepancy)
    assert unbalanced.differences == (Difference("amount / amount + 0", Decimal(10), Decimal(9), "amount", "amount"),)


@pytest.mark.parametrize(
    ("match", "form"),
    [("one_to_many", "duplicate_left"), ("many_to_one", "duplicate_right"), ("many_to_many", None)],
)
def test_a_side_of_one_may_not_repeat_a_key(match: str, form: str | None) -> None:
    detection = Compared([row(1), row(2)], [row(1), row(2)]).detect(f"{KEY}\nmatch: {match}")

    assert [form for form, _, _ in shown(detection)] == ([form] if form else [])


@pytest.mark.slow
def test_the_nearest_dates_of_a_bundle_compare() -> None:
    text = "key: ref\nmatch: one_to_many\ntolerance: {date: {left: day, right: day, days: 3}}"
    right = [row(1, day=D(2026, 3, 20)), row(2, day=D(2026, 3, 4))]

    assert shown(Compared([row(1)], right).detect(text)) == []
    finding = only(Compared([row(1)], right[:1]), text)
    assert (finding.form, finding.differences) == (
        "mismatch",
        (Difference("day", MARCH, D(2026, 3, 20), "day", "day"),),
    )


def test_every_record_of_a_bundle_must_agree_in_compared_fields() -> None:
    right = [row(1, amount=4), row(2, amount=6, status=None)]

    finding = only(Compared([row(1)], right), f"{KEY}\nmatch: one_to_many\ncompare: status")

    assert finding.differences == (Difference("status", "ok", None, "status", "status"),)


def test_a_search_takes_the_records_that_add_up() -> None:
    left = [row(1, amount=10), row(2, amount=7), row(3, amount=100)]
    right = [row(1, amount=4), row(2, amount=6), row(3, amount=7), row(4, amount=33)]
    text = "key: ref\nmatch: one_to_many\nsum: {left: amount, right: amount}\nbundle: search"

    detection = Compared(left, right).detect(text)

    assert (shown(detection), detection.matched) == ([("left_only", [3], []), ("right_only", [], [4])], 2)
    [reason] = {group.reason for group in detection.groups if isinstance(group, Discrepancy)} - {None}
    assert reason == "no records add up to it"


def test_two_bundles_that_add_up_are_ambiguous_and_many_records_are_not_searched() -> None:
    right = [row(1, amount=4), row(2, amount=6), row(3, amount=3), row(4, amount=7), row(5, amount=50)]
    text = "key: ref\nmatch: one_to_many\nsum: {left: amount, right: amount}\nbundle: %s"

    assert shown(Compared([row(1)], right).detect(text % "search")) == [
        ("ambiguous", [1], [1, 2, 3, 4]),
        ("right_only", [], [5]),
    ]
    few = Compared([row(1)], right).detect(text % "{max: 4}")
    assert shown(few)[0] == ("left_only", [1], [])
    assert few.groups[0].reason == "more than 4 records to search"  # type: ignore[attr-defined]


@pytest.mark.slow
def test_money_of_two_currencies_is_never_added_up() -> None:
    """Neither in sums of a key nor in a search for the records that add up; the currency is no part of the key."""
    left = [row(1, amount=10)]
    right = [row(1, amount=10, currency="USD"), row(2, amount=4), row(3, amount=6)]
    search = "key: ref\nmatch: one_to_many\nbundle: search"
    totals = "totals: {by: [ref], sum: {left: amount, right: amount}}"

    searched = Compared(left, right, money=MONEY).detect(search)
    summed = Compared(left, right[:1], money=MONEY).detect(totals)

    assert (shown(searched), searched.matched) == ([("right_only", [], [1])], 1)
    assert [(group.form, group.key["currency"], group.money) for group in summed.groups] == [
        ("unbalanced", "EUR", {"EUR": Decimal(10)}),
        ("unbalanced", "USD", {"USD": Decimal(-10)}),
    ]


@pytest.mark.slow
def test_an_only_bundle_is_not_taken_from_a_record_that_then_has_none() -> None:
    """The second record needs the amount of 4 in both of its bundles; or only in one of them."""
    text = "key: ref\nmatch: one_to_many\nsum: {left: amount, right: amount}\nbundle: search"
    pieces = [row(1, amount=4), row(2, amount=6), row(3, amount=6)]
    more = [row(1, amount=4), row(2, amount=6), row(3, amount=7), row(4, amount=3)]
    wholes = [row(1, amount=4), row(2, amount=10)]

    needed, free = (Compared(wholes, right).detect(text) for right in (pieces, more))

    assert shown(needed) == [("ambiguous", [1, 2], [1, 2, 3])]
    assert (shown(free), free.matched) == ([("right_only", [], [2])], 2)


# Fields with a tolerance, and values of all types


@pytest.mark.slow
def test_compared_numbers_and_dates_may_have_a_tolerance() -> None:
    text = "key: ref\ncompare: [{left: amount, right: amount, by: 0.5}, {left: day, right: at, days: 1}]"
    close = row(1, amount=Decimal("10.5"), at=dt.datetime(2026, 3, 2, tzinfo=dt.UTC))
    far = row(1, amount=Decimal("10.6"), at=dt.datetime(2026, 3, 3, tzinfo=dt.UTC))

    assert shown(Compared([row(1)], [close]).detect(text)) == []
    assert [each.column for each in only(Compared([row(1)], [far]), text).differences] == ["amount", "day / at"]


@pytest.mark.slow
def test_two_empty_values_agree_and_one_does_not_agree_with_a_value() -> None:
    text = f"{KEY}\ncompare: [status, {{left: amount, right: amount, by: 1}}]"
    empty = row(1, status=None, amount=None)

    assert shown(Compared([empty], [row(1, status=" ", amount=None)]).detect(text)) == []
    assert [each.column for each in only(Compared([empty], [row(1)]), text).differences] == ["status", "amount"]


NUMBERS = [
    (Type.INTEGER, 20, Type.DECIMAL, Decimal("20.00")),
    (Type.FLOAT, 0.1, Type.DECIMAL, Decimal("0.1")),
    (Type.FLOAT, -0.0, Type.FLOAT, 0.0),
    (Type.INTEGER, 2**53, Type.FLOAT, float(2**53)),
]


@pytest.mark.parametrize(("left_type", "left", "right_type", "right"), NUMBERS)
@pytest.mark.slow
def test_numbers_are_equal_by_value_whatever_their_types(
    left_type: Type, left: Any, right_type: Type, right: Any
) -> None:
    compared = Compared(
        [row(1, amount=left)],
        [row(1, amount=right)],
        types=TYPES | {"amount": left_type},
        right_types=TYPES | {"amount": right_type},
    )

    assert shown(compared.detect("key: amount")) == []
    assert shown(compared.detect("key: ref\ncompare: amount")) == []
    assert shown(compared.detect("key: ref\ntolerance: {amount: {left: amount, right: amount, by: 0}}")) == []


@pytest.mark.slow
def test_amounts_of_any_size_are_exact() -> None:
    left = [row(1, amount=Decimal("1000000000000000000000000000.000000001"))]
    right = [row(1, amount=Decimal(10) ** 27)]

    assert shown(Compared(left, right).detect(CLOSE)) == []
    detection = Compared(left, right, money=MONEY).detect(KEY)
    assert detection.groups[0].money == {"EUR": Decimal("0.000000001")}


def test_floats_are_the_decimals_they_are_written_as() -> None:
    types = TYPES | {"amount": Type.FLOAT}
    left, right = [row(1, amount=0.3)], [row(1, amount=0.1), row(2, amount=0.2)]

    compared = Compared(left, right, types=types, money=MONEY)

    detection = compared.detect("key: ref\nmatch: one_to_many")
    assert shown(detection) == []
    assert [(line.left, line.right) for line in detection.balance] == [(Decimal("0.3"), Decimal("0.3"))]


# Where, grace, report


def test_only_records_that_pass_the_conditions_are_compared() -> None:
    left = [row(1, status="void"), row(2, "B"), row(3, "C", status=None)]

    detection = Compared(left, [row(2, "B")]).detect(f"{KEY}\nwhere: {{left: status <> 'void'}}")

    assert (shown(detection), detection.scanned, detection.read) == ([], 2, 4)
    [skipped] = detection.skipped
    assert (skipped.column, skipped.reason, skipped.records) == (
        "where",
        "the condition on the left side is unknown: a value in it is null",
        1,
    )


@pytest.mark.slow
def test_a_record_is_not_yet_due_until_its_grace_ends() -> None:
    text = f"{KEY}\ngrace: {{left: {{at: 2d}}, right: {{day: 2d}}}}"
    young, old = SLOT - dt.timedelta(days=2) + dt.timedelta(seconds=1), SLOT - dt.timedelta(days=2)
    left = [row(1, at=young), row(2, "B", at=old), row(3, "C", at=None)]
    right = [row(8, "Y", day=D(2026, 3, 9)), row(9, "Z", day=D(2026, 3, 8))]

    detection = Compared(left, right, money=MONEY).detect(text)

    assert shown(detection) == [("left_only", [2], []), ("left_only", [3], []), ("right_only", [], [9])]
    assert detection.not_yet_due == 2
    assert detection.balance[0].not_yet_due == 0
    assert detection.balance[0].explained == 10


def test_report_chooses_the_forms_and_the_balance_keeps_all() -> None:
    detection = Compared([row(1)], [row(2, "B")], money=MONEY).detect(f"{KEY}\nreport: [left_only]")

    [line] = detection.balance
    assert shown(detection) == [("left_only", [1], [])]
    assert (line.left - line.right, line.explained, line.not_reported) == (0, 10, -10)
    assert line.by_form == {"left_only": 10}


# Totals


def test_totals_compare_sums_per_key() -> None:
    left = [row(1), row(2, amount=7), row(3, "B"), row(4, None, amount=5)]
    right = [row(1, amount=17), row(2, "B", amount=11), row(3, "C", amount=0)]
    text = "totals: {by: [ref, {left: [at, day], right: day}], sum: {left: amount, right: amount}}"

    detection = Compared(left, right, money=MONEY).detect(text)

    assert shown(detection) == [("unbalanced", [3], [2]), ("unbalanced", [4], [])]
    keyed, keyless = detection.groups
    assert keyed.key == {"ref": "B", "at": MARCH, "currency": "EUR"}
    assert keyed.differences == (Difference("amount", 10, 11, "amount", "amount"),)  # type: ignore[attr-defined]
    assert keyless.key == {"ref": None, "at": MARCH, "currency": "EUR", "side": "left"}
    assert (detection.matched, detection.balance[0].explained) == (2, 4)


FLOATS = TYPES | {"amount": Type.FLOAT}
TOTALS = "totals: {by: ref, sum: {left: amount, right: amount}}"


@pytest.mark.parametrize("right_types", [FLOATS, TYPES], ids=["floats", "decimals"])
@pytest.mark.slow
def test_totals_add_floats_as_the_decimals_they_are_written_as(right_types: dict[str, Type]) -> None:
    """As doubles, 0.1 + 0.2 is not 0.3, and 2**53 + 0.5 is 2**53."""
    number = float if right_types is FLOATS else Decimal
    left = [row(1, amount=0.1), row(2, amount=0.2), row(3, "B", amount=2.0**53), row(4, "B", amount=0.5)]
    left += [row(5, "C", amount=0.1), row(6, "C", amount=0.1), row(7, "C", amount=None)]
    right = [row(1, amount=number("0.3")), row(2, "B", amount=number("9007199254740992"))]
    right += [row(3, "C", amount=number("0.2"))]

    detection = Compared(left, right, types=FLOATS, right_types=right_types, money=MONEY).detect(TOTALS)

    [unbalanced] = detection.groups
    assert shown(detection) == [("unbalanced", [3, 4], [2])]
    assert unbalanced.differences[0].left == Decimal("9007199254740992.5")  # type: ignore[attr-defined]
    assert unbalanced.money == {"EUR": Decimal("0.5")}
    assert (detection.matched, detection.balance[0].explained, detection.balance[0].matched) == (2, Decimal("0.5"), 0)


def test_what_is_not_finite_adds_nothing_to_totals() -> None:
    left = [row(1, amount=float("nan")), row(2, amount=float("inf")), row(3, None, amount=0.25), row(4, amount=7.0)]

    detection = Compared(left, [row(1, amount=7.0)], types=FLOATS).detect(TOTALS)

    assert shown(detection) == [("unbalanced", [3], [])]
    assert detection.matched == 1


def test_totals_of_floats_have_the_tolerance_of_amounts() -> None:
    left = [row(1, amount=0.1), row(2, amount=0.2), row(3, "B", amount=1.5)]
    right = [row(1, amount=0.31), row(2, "B", amount=1.52)]

    detection = Compared(left, right, types=FLOATS).detect(f"{TOTALS}\ntolerance: {{amount: {{by: 0.01}}}}")

    assert shown(detection) == [("unbalanced", [3], [2])]


def test_totals_list_only_the_first_records() -> None:
    compared = Compared([row(n) for n in range(12)], [row(n) for n in range(2)])

    finding = only(compared, "totals: {by: ref, sum: {left: amount, right: amount}}")

    assert (len(finding.left), len(finding.right)) == (10, 2)
    assert finding.reason == "12 left and 2 right records; the first 10 are listed"


# Records


def test_records_without_an_id_are_named_by_their_content() -> None:
    left = [{"ref": "A", "amount": 10}] * 3
    right = [{"ref": "A", "amount": 10}]
    types = {"ref": Type.TEXT, "amount": Type.DECIMAL}
    compared = Compared(left, right, types=types, id=())

    finding = only(compared, "key: ref\ntolerance: {amount: {left: amount, right: amount, by: 0}}")

    assert finding.form == "ambiguous"
    assert [member.id[1] for member in finding.left] == [0, 1, 2]
    assert len({member.id[0] for member in finding.members}) == 1


def test_a_dataset_can_be_compared_with_itself() -> None:
    postings = Rows(TYPES, [row(1, status="debit"), row(2, status="credit"), row(3, "B", status="credit")])
    settings = rule(f"{KEY}\nwhere: {{left: status = 'debit', right: status = 'credit'}}").model_copy(
        update={"right": "bank"}
    )
    fitted = Reconciliation().fit(settings, {"bank": replace(postings.relation(), dataset="bank")})

    detection = fitted.detect({"bank": postings.streamed()}, SLOT)

    assert shown(detection) == [("right_only", [], [3])]
    assert [member.dataset for group in detection.groups for member in group.members] == [None]
    assert detection.read == 3


def test_repeated_and_empty_ids_are_counted_on_both_sides() -> None:
    left = [row(1), row(1, "B"), row(1, "C")]
    right = [row(1), row(2, "B") | {"id": None}, row(3, "C")]

    detection = Compared(left, right).detect(KEY)

    assert (detection.identity.repeated, detection.identity.nulls) == (2, 1)


# Mistakes


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("match: one_to_one", "needs `key`"),
        ("key: {left: ref}", "1:1 `key`: needs both `left` and `right`"),
        ("key: [{left: [ref, trimm], right: ref}]", "1:20 there is no normaliser `trimm`"),
        ("key: ref\nsum: {left: a, right: b}", "2:1 `sum`: needs bundles; set `match` to one_to_many"),
        ("key: ref\nmatch: many_to_many\nbundle: search", "3:9 `bundle`: needs a single record on one side"),
        ("key: ref\ntolerance: {date: {left: a, right: b}}", "`date`: needs `days` or `business_days`"),
        ("key: ref\ntolerance: {amount: {left: a, right: b}}", "`amount`: needs `by`; write `by: 0.05`, `by: 1%`"),
        ("key: ref\ntolerance: {amount: {left: a, by: 1}}", "`amount`: needs the columns of both sides"),
        ("key: ref\ntolerance: {amount: {by: 1}}", "`amount` needs its columns; add `left` and `right`"),
        ("key: ref\ntolerance: {amount: {left: a, right: a, by: -1}}", "2:45 `by`: `-1` is not a tolerance"),
        ("key: ref\ntolerance: {amount: {left: a, right: a, percent: 100}}", "allows any difference"),
        ("key: ref\ntolerance: {amount: {left: a, right: a, by: 100%}}", "allows any difference"),
        ("key: ref\ntolerance: {amount: {left: a, right: a, by: some%}}", "`some` is not a tolerance"),
        ("key: ref\ntolerance: {amount: {left: a, right: a, by: 1%, percent: 2}}", "are both percentages"),
        ("key: ref\ntolerance: {amount: {left: a, right: a, by: 1, hold: either}}", "chooses between two limits"),
        ("key: ref\ncompare: {left: a, right: a, hold: either}", "chooses between two limits"),
        ("key: ref\nreport: [left]", "2:10 `report`: `left` is not allowed here; did you mean `left_only`?"),
        ("key: ref\ngrace: {left: {at: 2}}", "`left`: `2` is not a duration"),
        ("key: ref\nwhere: {left: status = }", "2:23 `where`: "),
        ("totals: {by: ref, sum: {left: a, right: a}}\ncompare: status", "2:10 `compare`: cannot be combined"),
        ("totals: {by: ref, sum: {left: a +, right: a}}", "1:34 `totals.sum`: "),
        (
            "key: ref\nbundle: search\nmatch: one_to_many\ntolerance: {amount: {left: a, right: a, percent: 1}}",
            "percent",
        ),
        ("totals: {by: ref, sum: {left: a, right: a}}\ntolerance: {date: {left: a, right: a, days: 1}}", "no dates"),
    ],
)
def test_a_mistake_is_told_at_its_place(text: str, mistake: str) -> None:
    problems = mistakes(text)

    assert any(mistake in problem for problem in problems), problems


def test_an_unknown_form_is_the_only_mistake_of_a_report() -> None:
    [problem] = mistakes("key: ref\nreport: [nonsense]")

    assert "`report`: `nonsense` is not allowed here; write `left_only`, " in problem


def test_every_misfit_with_the_datasets_is_told() -> None:
    compared = Compared([], [], right_types=TYPES | {"day": Type.INSTANT, "amount": Type.TEXT})
    text = """\
key: [day, nothing]
compare: [{left: status, right: status, by: 1}, {left: amount, right: amount}]
tolerance: {date: {left: status, right: day, days: 1}}
grace: {left: {status: 1d}}
where: {left: nowhere = 1}
"""

    with pytest.raises(DoesNotFit) as misfit:
        compared.fitted(text)

    answer = "\n".join(misfit.value.mistakes)
    for sentence in (
        "`key` names `nothing`, but dataset `bank` has no such column",
        "`key` compares `day` of `bank` (date) with `day` of `ledger` (instant), which are never equal; add `day`",
        "`compare` compares `amount` of `bank` (decimal) with `amount` of `ledger` (text)",
        "`by` and `percent` in `compare` need numbers; `status` has none.",
        "The date tolerance needs a date, but `status` of `bank` is of type text",
        "`grace` measures time, but `status` is of type text",
        "`where.left`: There is no column `nowhere`",
    ):
        assert sentence in answer


def test_money_in_two_literal_currencies_does_not_fit() -> None:
    left = replace(
        Rows(TYPES, []).relation(), dataset="bank", money=replace(MONEY, currency_column=None, currency="EUR")
    )
    right = replace(left, dataset="ledger", money=replace(MONEY, currency_column=None, currency="USD"))

    with pytest.raises(DoesNotFit, match="The money of `bank` is in EUR and that of `ledger` in USD"):
        Reconciliation().fit(rule(KEY), {"bank": left, "ledger": right})


@pytest.mark.parametrize(
    ("text", "path", "sentence"),
    [
        ("key: {ref: [letters, digits]}", ("key", 0, "left", "ref"), "empties every text"),
        ("key: ref\nreport: [unbalanced]", ("report",), "this rule finds only `left_only`, "),
        ("key: ref\nwhere: {left: id < 1 and id > 1}", ("where", "left"), "no record of `left` can meet"),
        ("key: ref\nwhere: {right: ref is null}", ("where", "right"), "lets through only empty values of `ref`"),
    ],
)
def test_a_rule_that_can_never_match_is_told(text: str, path: tuple[Any, ...], sentence: str) -> None:
    facts = {name: DatasetFacts(("id",)) for name in ("bank", "ledger")}

    told = list(Reconciliation().barren(rule(text), facts))

    assert any(place == path and sentence in output for place, output in told), told


def test_a_dataset_always_agrees_with_itself() -> None:
    settings = rule(KEY).model_copy(update={"right": "bank"})

    told = list(Reconciliation().barren(settings, {"bank": DatasetFacts()}))

    assert [path for path, _ in told] == [("right",)]
