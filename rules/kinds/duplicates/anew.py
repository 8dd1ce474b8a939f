"""The groups that some records make as they are now: the reference, in Python, for a handful of records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping

from rules import grouping
from rules.engines.base import Group
from rules.kinds.duplicates.fitted import Fitted
from rules.kinds.duplicates.groups import Grouping
from rules.values import Value


def regrouped(fitted: Fitted, rows: Iterable[Mapping[str, Value]], slot: dt.datetime) -> tuple[Group, ...]:
    """What a detection over just these records would find; each row has all columns of the dataset but derived ones."""
    return Grouping(fitted, slot).of_rows(one for one in rows if _takes_part(fitted, one, slot))


def is_excepted(fitted: Fitted, group: Group) -> bool:
    """Whether the rule names two of these records as known to be different."""
    named = [grouping.written_id(member.id) for member in group.members]
    pairs = {frozenset(pair) for pair in fitted.rule.except_}
    return any(pair <= set(named) for pair in pairs)


def _takes_part(fitted: Fitted, row: Mapping[str, Value], slot: dt.datetime) -> bool:
    whole = fitted.columns.complete(row, slot)
    placed = fitted.span_column is None or whole[fitted.span_column] is not None
    return placed and all(one.evaluate(whole, slot) is True for one in fitted.conditions)
