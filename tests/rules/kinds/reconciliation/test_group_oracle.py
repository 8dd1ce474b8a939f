"""Rules with `group` over small datasets: the answer is that of an independent oracle, in any order of records."""

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rules.groups.group import Discrepancy
from rules.kinds.reconciliation import assigning, matching
from rules.values import Type
from tests.rules.kinds.reconciliation import test_contained as test_reconciliation_contained
from tests.rules.kinds.reconciliation.compared import MONEY, TYPES, Compared
from tests.rules.kinds.reconciliation.oracle import Case, Row, answer, balance
from tests.rules.kinds.reconciliation.test_oracle import datasets, found, rules, seeds
from tests.support.chance import examples

pytestmark = pytest.mark.slow

DOCUMENTS = ["doc: [trim, lower]", "doc: [trim, lower]", None]
"""The columns of `group` on a side."""


def documents(seed: int) -> tuple[list[Row], list[Row]]:
    """Records of both sides; those of few documents often have one key, one status, one day."""
    drawn = random.Random(seed)
    left, right = ([_documented(drawn, row) for row in rows] for rows in datasets(seed))
    return left, right


def _documented(drawn: random.Random, row: Row) -> Row:
    block = None if row["ref"] is None else row["ref"].strip()[1:]
    document = None if drawn.random() < 0.2 else f"{drawn.choice('Dd')}{block}{drawn.choice('xxy')}"
    return {**row, "doc": document}


def _document(value: str | None) -> Any:
    return None if value is None else value.strip().lower()


def _part(name: str, row: Row) -> Any:
    return row[name].strip().lower() if name == "ref" and row[name] is not None else row[name]


@st.composite
def grouped(draw: st.DrawFn) -> tuple[str, Case]:
    text, case = draw(rules(["one_to_one"]))
    return _with_group(draw, text, case)


@st.composite
def contained(draw: st.DrawFn) -> tuple[str, Case, int]:
    """A rule whose key contains a value, its meaning, and the side of the values."""
    text, case, side = draw(test_reconciliation_contained.rules())
    assume(case.many == (False, False))
    return *_with_group(draw, text, case), side


def _with_group(draw: st.DrawFn, text: str, case: Case) -> tuple[str, Case]:
    assume(not (case.amounts or case.money) or all("amount" not in each.parts for each in case.every_key))
    sides = [draw(st.sampled_from(DOCUMENTS)) for _ in range(2)]
    assume(any(sides))
    columns = ", ".join(f"{side}: {{{part}}}" for side, part in zip(("left", "right"), sides, strict=True) if part)
    meaning: dict[str, Any] = {
        "documents": ("doc" if sides[0] else None, "doc" if sides[1] else None),
        "document": _document,
        "part": _part,
    }
    others = tuple(replace(each, **meaning) for each in case.others)
    return f"{text}group: {{{columns}}}\n", replace(case, **meaning, others=others)


def texts(seed: int, side: int) -> tuple[list[Row], list[Row]]:
    """Records whose texts contain values; those of one document have one text."""
    drawn = random.Random(seed)
    left, right = (
        [_of_text(drawn, row, 2 * row["id"] + copy) for row in rows for copy in range(drawn.choice([1, 1, 2]))]
        for rows in test_reconciliation_contained.datasets(seed, side)
    )
    return left, right


def _of_text(drawn: random.Random, row: Row, number: int) -> Row:
    document = None if row["ref"] is None or drawn.random() < 0.2 else row["ref"] + drawn.choice("xxy")
    values = {"amount": drawn.choice([row["amount"], Decimal("0.25")]), "status": drawn.choice([row["status"], "ok"])}
    return {**row, **values, "id": number, "doc": document}


def compared(case: Case, left: Sequence[Row], right: Sequence[Row]) -> Compared:
    types = {**TYPES, "doc": Type.TEXT}
    return Compared(left, right, types=types, money=MONEY if case.money else None, timezones=case.zones)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(grouped(), seeds)
def test_the_answer_is_that_of_the_oracle_in_any_order(rule: tuple[str, Case], seed: int) -> None:
    text, case = rule
    assert_agrees(text, case, *documents(seed))


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(contained(), seeds)
def test_keys_that_contain_a_value_have_groups_too(drawn: tuple[str, Case, int], seed: int) -> None:
    text, case, side = drawn
    assert_agrees(text, case, *texts(seed, side))


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(grouped(), seeds)
def test_it_does_not_depend_on_the_parts_in_which_keys_are_matched(rule: tuple[str, Case], seed: int) -> None:
    text, case = rule
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(matching, "RECORDS_OF_A_PART", 3)
        patched.setattr(assigning, "AT_ONCE", 2)
        assert_agrees(text, case, *documents(seed))


def assert_agrees(text: str, case: Case, left: Sequence[Row], right: Sequence[Row]) -> None:
    shuffled = random.Random(len(left))

    detection = compared(case, shuffled.sample(left, len(left)), shuffled.sample(right, len(right))).detect(text)

    assert found(detection) == answer(case, left, right)
    mismatches = [each for each in detection.groups if isinstance(each, Discrepancy) and each.form == "mismatch"]
    assert all(mismatch.differences for mismatch in mismatches)
    totals = balance(left, case.where), balance(right, case.where)
    for line in detection.balance:
        assert (line.left, line.right) == tuple(total[line.currency] for total in totals)
        assert line.left - line.right == line.matched + line.explained + line.not_yet_due
