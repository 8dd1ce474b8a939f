"""Why a rule puts records together, in one sentence without values, from its settings alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rules.expressions.words import duration_in_words, name_in_words
from rules.groups.spans import Consecutive, MaximumDistance, Overlap, Span
from rules.models import KeyPart, Percent

if TYPE_CHECKING:
    from rules.kinds.duplicates.model import DuplicatesRule


def because(rule: DuplicatesRule) -> str:
    """Return the sentence: "They have the same email (mailbox) and city, …"."""
    parts = [_key(rule)]
    if rule.span is not None:
        parts.append(_span(rule.span, is_chain=rule.gap is not None))
    if rule.repeats is not None:
        column = name_in_words(rule.repeats)
        parts.append(f"and each is the same occurrence in its {column}")
    if rule.distinct is not None:
        parts.append(f"but differ in {name_in_words(rule.distinct)}")
    return f"{', '.join(parts)}."


def _key(rule: DuplicatesRule) -> str:
    if rule.key == "all":
        return "They have the same value in every column but the id"
    keys = [_all(parts, rule.open_columns) for parts in rule.keys]
    if len(keys) == 1:
        return f"They have the same {keys[0]}"
    return f"Each has the same {', or '.join(keys)} as another record"


def _all(parts: Sequence[KeyPart], open_columns: Collection[str]) -> str:
    *names, last = (f"{_part(part)}{' or none' if part.column in open_columns else ''}" for part in parts)
    return f"{', '.join(names)} and {last}" if names else last


def _part(part: KeyPart) -> str:
    steps = ", ".join(step.name for step in part.steps)
    return f"{name_in_words(part.column)} ({steps})" if steps else name_in_words(part.column)


def _span(span: Span, *, is_chain: bool) -> str:
    if isinstance(span, Consecutive):
        return f"and follow one another in {order_in_words(span)}"
    if isinstance(span, Overlap):
        return f"and their periods from {name_in_words(span.begin)} to {name_in_words(span.end)} overlap"
    limits = [f"{name_in_words(limit.column)} within {_distance(limit)}" for limit in _limits(span)]
    return f"with {' and '.join(limits)} of the {'previous' if is_chain else 'first'} record"


def _limits(span: MaximumDistance) -> list[MaximumDistance]:
    return [span] if span.also is None else [span, span.also]


def _distance(span: MaximumDistance) -> str:
    return f"{span.by.percent} %" if isinstance(span.by, Percent) else distance_in_words(span)


def order_in_words(consecutive: Consecutive) -> str:
    """Return the order of `consecutive`, and what has an order of its own: "the order of at within one sku"."""
    within = " and ".join(map(name_in_words, consecutive.within))
    order = f"the order of {name_in_words(consecutive.by)}"
    return f"{order} within one {within}" if within else order


def distance_in_words(span: MaximumDistance) -> str:
    """Return the largest distance of a `gap` or `window`, without that of its second column."""
    if isinstance(span.by, Percent):
        return f"{span.by.percent} % of the larger"
    return duration_in_words(span.by) if isinstance(span.by, dt.timedelta) else str(span.by)
