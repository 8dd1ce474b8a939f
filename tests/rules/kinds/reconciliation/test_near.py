"""Near misses: two records without a partner that agree in all but one thing are one finding, with its reason."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from rules.engines.base import MoneyColumns
from rules.groups.group import Discrepancy
from rules.kinds.base import DatasetFacts
from rules.kinds.reconciliation import Reconciliation, near_misses
from tests.rules.kinds.reconciliation.compared import MONEY, Compared, row, rule, shown

pytestmark = pytest.mark.slow

CLOSE = """\
key: ref
tolerance: {date: {left: day, right: day, days: 3}, amount: {left: amount, right: amount, by: 0.01}}
"""
TWO_PARTS = CLOSE.replace("key: ref", "key: [status, ref]")
NEAR = [("near_miss", [1], [1])]
APART = [("left_only", [1], []), ("right_only", [], [1])]


def march(day: int) -> dt.date:
    return dt.date(2026, 3, day)


def forms_of(text: str, left: Sequence[Any], right: Sequence[Any], money: Any = None) -> list[Any]:
    return shown(Compared(list(left), list(right), money=money).detect(text))


def only(text: str, left: Any, right: Any, money: Any = None) -> Discrepancy:
    [group] = Compared([left], [right], money=money).detect(text).groups
    assert isinstance(group, Discrepancy)
    return group


def test_a_near_miss_says_what_is_the_same_and_what_differs_with_its_money_once() -> None:
    fee = only(CLOSE, row(1, amount=Decimal(100)), row(1, amount=Decimal("100.50")), MONEY)
    late = only(CLOSE, row(1, amount=Decimal(100)), row(1, amount=Decimal(100), day=march(9)), MONEY)

    assert (fee.form, fee.reason, dict(fee.money)) == ("near_miss", "same ref and day", {"EUR": Decimal("-0.50")})
    assert [(each.column, each.left, each.right) for each in fee.differences] == [("amount", 100, Decimal("100.50"))]
    assert (late.form, late.reason, dict(late.money)) == ("near_miss", "same ref and amount", {})
    assert [(each.column, each.left, each.right) for each in late.differences] == [("day", march(1), march(9))]


def test_a_reference_that_was_typed_wrongly_is_a_near_miss_of_day_and_amount() -> None:
    finding = only(CLOSE, row(1, "L1", amount=Decimal(7)), row(1, "l-1", amount=Decimal(7)))

    assert (finding.form, finding.reason, finding.key) == ("near_miss", "same day and amount", {"ref": "L1"})
    assert [(each.column, each.left, each.right) for each in finding.differences] == [("ref", "L1", "l-1")]


# The only records of a key


def test_the_only_two_records_of_a_key_belong_together_however_far_apart_they_are() -> None:
    assert forms_of(CLOSE, [row(1, amount=5)], [row(1, amount=9000, day=march(31))]) == NEAR


def test_a_key_of_other_records_too_says_little_so_only_near_amounts_are_a_near_miss() -> None:
    """One more pair of the key, which agrees."""
    others = [row(7, amount=700)]

    assert forms_of(CLOSE, [row(1, amount=5), *others], [row(1, amount=9000), *others]) == APART
    assert forms_of(CLOSE, [row(1, amount=5), *others], [row(1, amount=6, day=march(9)), *others]) == APART
    assert forms_of(CLOSE, [row(1, amount=90), *others], [row(1, amount=100), *others]) == NEAR
    assert forms_of(CLOSE, [row(1, amount=89), *others], [row(1, amount=100), *others]) == APART


@pytest.mark.parametrize(("day", "expected"), [(dt.date(2026, 4, 1), NEAR), (dt.date(2026, 4, 2), APART)])
def test_equal_amounts_are_a_near_miss_up_to_a_month(day: dt.date, expected: Any) -> None:
    others = [row(7, amount=700)]

    assert forms_of(CLOSE, [row(1, amount=5), *others], [row(1, amount=5, day=day), *others]) == expected


def test_of_two_possible_partners_none_is_taken() -> None:
    twice = [row(1, amount=100), row(2, amount=101)]

    assert [form for form, *_ in forms_of(CLOSE, [row(1, amount=95)], twice)] == [
        "left_only",
        "right_only",
        "right_only",
    ]


def test_the_better_evidence_is_looked_at_first() -> None:
    """Its day keeps one apart and its amount the other: equal amounts come first."""
    left = [row(1, amount=100)]
    right = [row(1, amount=101), row(2, amount=100, day=march(20))]

    assert forms_of(CLOSE, left, right) == [("near_miss", [1], [2]), ("right_only", [], [1])]


# All of the key but one part


def test_records_that_agree_in_all_but_one_part_of_the_key_are_a_near_miss() -> None:
    assert forms_of(TWO_PARTS, [row(1, "A")], [row(1, "B")]) == NEAR
    assert forms_of(TWO_PARTS, [row(1, "A")], [row(1, "A", status="paid")]) == NEAR
    assert forms_of(TWO_PARTS, [row(1, "A")], [row(1, "B", status="paid")]) == APART
    assert forms_of(TWO_PARTS, [row(1, "A")], [row(1, "B", amount=11)]) == APART
    assert forms_of(TWO_PARTS, [row(1, "A")], [row(1, "B", day=march(9))]) == APART


def test_a_part_alone_says_too_little_unless_days_or_amounts_are_near() -> None:
    assert forms_of("key: [status, ref]", [row(1, "A")], [row(1, "B")]) == APART
    assert forms_of("key: [ref, amount]", [row(1, amount=100)], [row(1, amount=110)]) == NEAR
    assert forms_of("key: [ref, amount]", [row(1, amount=100)], [row(1, amount=112)]) == APART
    assert forms_of("key: [ref, day]", [row(1)], [row(1, day=march(9))]) == NEAR
    assert forms_of("key: [ref, day]", [row(1)], [row(1, day=dt.date(2026, 4, 2))]) == APART
    assert forms_of("key: [ref, amount, status]", [row(1)], [row(1, "B")]) == NEAR


def test_the_days_of_instants_in_two_zones_may_be_the_part_that_differs() -> None:
    late = dt.datetime(2026, 3, 3, 4, tzinfo=dt.UTC)
    left, right = [row(1, at=late), row(2, "B")], [row(1, at=late), row(2, "B")]
    compared = Compared(left, right, timezones=("America/New_York", "Asia/Tokyo"))

    assert shown(compared.detect("key: [ref, {at: [day]}]")) == [("near_miss", [1], [1])]


def test_equal_money_counts_and_the_currency_does_not() -> None:
    euro, dollar = row(1, "A", status="EUR"), row(1, "A", status="USD")
    named = MoneyColumns("amount", "status")

    assert forms_of("key: [day, ref]", [row(1)], [row(1, "B")], MONEY) == NEAR
    assert forms_of("key: [day, ref]", [row(1)], [row(1, "B", amount=11)], MONEY) == APART
    assert forms_of("key: [status, ref]", [euro], [euro | {"ref": "B"}], named) == APART
    assert forms_of("key: [day, ref]", [euro], [dollar | {"ref": "B"}], named) == APART


def test_a_currency_that_differs_is_a_near_miss_of_all_the_rest() -> None:
    euro, dollar = row(1, "A", status="EUR"), row(1, "A", status="USD")
    named = MoneyColumns("amount", "status")

    assert forms_of("key: [status, ref]", [euro], [dollar], named) == NEAR
    assert forms_of("key: [status, ref]", [euro], [dollar | {"amount": 11}], named) == APART


def test_money_without_an_amount_is_not_equal_to_any() -> None:
    assert forms_of("key: [day, ref]", [row(1, amount=None)], [row(1, "B", amount=None)], MONEY) == APART
    assert forms_of("key: [day, ref]", [row(1, amount=None)], [row(1, "B", amount=0)], MONEY) == APART


# What else decides


def test_records_without_key_date_or_amount_stay_apart_with_their_reason() -> None:
    for missing in ("ref", "day", "amount"):
        assert forms_of(CLOSE, [row(1) | {missing: None}], [row(1)]) == APART


def test_one_of_the_two_must_be_due() -> None:
    waits = "grace: {left: {at: 9w}, right: {at: 9w}}\n"

    assert forms_of(CLOSE + waits, [row(1)], [row(1, amount=11)]) == []
    assert forms_of(CLOSE + waits.replace(", right: {at: 9w}", ""), [row(1)], [row(1, amount=11)]) == NEAR


def test_a_searched_bundle_has_near_misses_too() -> None:
    text = "key: ref\nmatch: one_to_many\nbundle: search\nsum: {left: amount, right: amount}"

    assert forms_of(text, [row(1, amount=100)], [row(1, amount=60)]) == NEAR
    assert [form for form, *_ in forms_of(text, [row(1, amount=100)], [row(1, amount=60), row(2, amount=30)])] == [
        "left_only",
        "right_only",
        "right_only",
    ]


def test_a_rule_that_does_not_report_them_has_none_and_the_balance_still_explains_all() -> None:
    compared = Compared([row(1, amount=100)], [row(1, amount=101)], money=MONEY)

    alone = compared.detect(f"{CLOSE}report: [left_only, right_only]")
    near = compared.detect(f"{CLOSE}report: [near_miss]")

    assert shown(alone) == APART
    assert shown(near) == NEAR
    assert dict(near.balance[0].by_form) == {"near_miss": -1}
    assert dict(alone.balance[0].by_form) == {"left_only": 100, "right_only": -101}


def test_a_rule_that_can_have_none_cannot_report_them() -> None:
    facts = {name: DatasetFacts(("id",)) for name in ("bank", "ledger")}

    [(path, sentence)] = Reconciliation().barren(rule("key: ref\nreport: [near_miss]"), facts)

    assert path == ("report",)
    assert sentence.startswith("this rule finds only `left_only`, ")


def test_of_too_many_possible_pairs_none_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = [row(1, amount=100)], [row(1, amount=101)]
    others = [row(7, amount=700)]
    assert forms_of(CLOSE, [*left, *others], [*right, *others]) == NEAR

    monkeypatch.setattr(near_misses, "MOST", 0)

    assert forms_of(CLOSE, [*left, *others], [*right, *others]) == APART


def test_a_large_number_of_open_records_is_paired_as_a_few_are() -> None:
    count = 3000
    left = [row(n, f"R{n}", amount=n) for n in range(count)]
    right = [row(n, f"R{n}", amount=n + 1) for n in range(count)]

    assert forms_of(CLOSE, left, right) == [("near_miss", [n], [n]) for n in range(count)]
