"""Makes a case about which product and oracle differ smaller, by leaving out one thing after another."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.product.oracle.case import Case, read_columns
from tests.product.oracle.check import Difference, compare
from tests.product.oracle.expressions import Expression

Json = dict[str, Any]
PLAIN_DATASET: Json = {"zone": "UTC", "money": None, "null_values": (), "derived": {}, "where": None}
PLAIN_RULE: Json = {
    "where": None,
    "cut": None,
    "distinct": None,
    "having": None,
    "minimum": 2,
    "keep": (),
    "repeats": None,
    "excepted": (),
    "nulls": frozenset(),
    "open": frozenset(),
}


def smallest(folder: Path, difference: Difference) -> Difference:
    """The smallest case that still differs in one of the same parts."""
    for candidate in _smaller(difference.case):
        for smaller in compare(folder, [candidate], difference.home).differences:
            if smaller.parts & difference.parts:
                return smallest(folder, smaller)
    return difference


def _smaller(case: Case) -> Iterator[Case]:
    half = len(case.rows) // 2
    if half:
        yield replace(case, rows=case.rows[:half])
        yield replace(case, rows=case.rows[half:])
    for at in range(len(case.rows)):
        yield replace(case, rows=case.rows[:at] + case.rows[at + 1 :])
    for changes in _dataset_changes(case):
        if _fits(smaller := replace(case, **changes)):
            yield smaller
    for changes in _rule_changes(case):
        yield replace(case, rule=replace(case.rule, **changes))
    used = read_columns(case)
    kept = tuple(column for column in case.columns if column.name in used)
    if kept and kept != case.columns:
        yield replace(case, columns=kept)
    for at, row in enumerate(case.rows):
        for name in (name for name in row if row[name] is not None and name not in case.id and name in used):
            yield replace(case, rows=(*case.rows[:at], {**row, name: None}, *case.rows[at + 1 :]))


def _dataset_changes(case: Case) -> Iterator[Json]:
    yield from ({name: plain} for name, plain in PLAIN_DATASET.items() if getattr(case, name) != plain)
    yield from ({"where": part} for part in _parts(case.where))


def _rule_changes(case: Case) -> Iterator[Json]:
    rule = case.rule
    yield from ({name: plain} for name, plain in PLAIN_RULE.items() if getattr(rule, name) != plain)
    yield from ({"where": part} for part in _parts(rule.where))
    yield from ({"having": part} for part in _parts(rule.having))
    key = rule.key or ()
    for name, items in (("keep", rule.keep), ("excepted", rule.excepted), ("key", key)):
        for at in range(len(items) if len(items) > 1 else 0):
            yield {name: items[:at] + items[at + 1 :]}
    for at, (column, chain) in enumerate(key):
        for step in range(len(chain)):
            yield {"key": (*key[:at], (column, chain[:step] + chain[step + 1 :]), *key[at + 1 :])}


def _parts(condition: Expression | None) -> tuple[Expression, ...]:
    return condition.smaller if condition else ()


def _fits(case: Case) -> bool:
    """Return True if every column that is read is there."""
    return read_columns(case) - {"EUR", "records"} <= case.kinds.keys()
