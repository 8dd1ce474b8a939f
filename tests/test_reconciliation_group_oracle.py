"""Rules with `group` over small datasets: the answer is that of an independent oracle, in any order of records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reconciliation_oracle_support import Case, Row, answer, balance
from reconciliation_support import MONEY, TYPES, Compared
from test_reconciliation_oracle import datasets, found, rules, seeds

from rules.values import Type

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


def compared(case: Case, left: Sequence[Row], right: Sequence[Row]) -> Compared:
    types = {**TYPES, "doc": Type.TEXT}
    return Compared(left, right, types=types, money=MONEY if case.money else None, timezones=case.zones)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(grouped(), seeds)
def test_the_answer_is_that_of_the_oracle_in_any_order(rule: tuple[str, Case], seed: int) -> None:
    text, case = rule
    left, right = documents(seed)
    shuffled = random.Random(seed)

    detection = compared(case, shuffled.sample(left, len(left)), shuffled.sample(right, len(right))).detect(text)

    assert found(detection) == answer(case, left, right)
    assert all(group.differences for group in detection.groups if getattr(group, "form", "") == "mismatch")
    totals = balance(left, case.where), balance(right, case.where)
    for line in detection.balance:
        assert (line.left, line.right) == tuple(total[line.currency] for total in totals)
        assert line.left - line.right == line.matched + line.explained + line.not_yet_due
