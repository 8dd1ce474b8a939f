"""Advice on a rule whose findings people mostly reject: the change that leaves out most of the rejected findings, and
none of the confirmed ones. Pure.

Only columns that findings show are looked at, and none with personal data.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from notifications.wording import words
from reconcile.findings.shown import Finding
from reconcile.masking.personal import Masking
from rules.document.mistakes import RuleError
from rules.expressions import parse
from rules.values import Value

_FEWEST = 3
"""Findings below which a change is a coincidence."""
_LONGEST = 60
"""Characters of a text that a condition may compare with."""


@dataclass(frozen=True)
class Proposal:
    """A change of a rule, in words, and how many of the rejected findings and of those that wait it leaves out."""

    words: str
    left_out: int
    waiting: int


@dataclass(frozen=True)
class _Change:
    """A change of a rule: which findings it leaves out, and which it touches at all."""

    words: str
    leaves_out: Callable[[Finding], bool]
    touches: Callable[[Finding], bool]


@dataclass(frozen=True)
class Judged:
    """Findings of a rule: those that people rejected, those that they confirmed, and those that wait."""

    rejected: Sequence[Finding]
    confirmed: Sequence[Finding]
    waiting: Sequence[Finding]


def proposal(judged: Judged, hidden: Masking, ordered_by: str | None) -> Proposal | None:
    """Return the change that leaves out most of the rejected findings, at least half; None without one.

    Without confirmed findings there is none: nothing says what the rule must still find. `ordered_by` is the column of
    the rule's `gap` or `window`.
    """
    rejected, confirmed = judged.rejected, judged.confirmed
    if not confirmed:
        return None
    columns = [column for column in _columns(rejected, hidden) if column not in hidden.id]
    changes = itertools.chain(
        (_with_key(column) for column in columns if column != ordered_by),
        _with_distance(confirmed, hidden, ordered_by),
        (change for column in columns for change in _with_condition(rejected, confirmed, column)),
    )
    proposals = [
        Proposal(change.words, sum(map(change.leaves_out, rejected)), sum(map(change.leaves_out, judged.waiting)))
        for change in changes
        if not any(map(change.touches, confirmed))
    ]
    enough = [each for each in proposals if each.left_out >= max(_FEWEST, len(rejected) / 2)]
    return max(enough, key=lambda each: each.left_out, default=None)


def _columns(findings: Iterable[Finding], hidden: Masking) -> list[str]:
    """Return the columns that may be shown of records of these findings and are not in their keys."""
    members = [member for finding in findings for member in finding.members]
    keys = {column for finding in findings for column in finding.key}
    shown = dict.fromkeys(column for member in members for column in member.values)
    return [column for column in shown if column not in keys and not hidden.hides(column)]


def _values(finding: Finding, column: str) -> list[Value]:
    return [member.values.get(column) for member in finding.members]


def _with_key(column: str) -> _Change:
    return _Change(
        f"With `{column}` in `key`", partial(_all_differ, column=column), partial(_any_differs, column=column)
    )


def _all_differ(finding: Finding, column: str) -> bool:
    filled = [value for value in _values(finding, column) if value is not None]
    return len(filled) == len(set(filled))


def _any_differs(finding: Finding, column: str) -> bool:
    values = _values(finding, column)
    return None in values or len(set(values)) > 1


def _with_distance(confirmed: Sequence[Finding], hidden: Masking, column: str | None) -> Iterator[_Change]:
    """Yield the shortest distance between neighbours that keeps all confirmed findings."""
    if column is None or hidden.hides(column):
        return
    distances = [distance for finding in confirmed for distance in _distances(finding, column)]
    most = max(distances, default=0.0)
    if most == 0:
        return
    is_time = isinstance(confirmed[0].members[0].values.get(column), dt.date)
    yield _Change(
        f"If `{column}` may differ by at most {words.span(most) if is_time else f'{most:,.6g}'}",
        lambda finding: min(_distances(finding, column), default=0.0) > most,
        lambda finding: not _distances(finding, column),
    )


def _distances(finding: Finding, column: str) -> list[float]:
    """Return the distances between neighbours, in seconds for times; empty if one is unknown."""
    numbers = [_number(value) for value in _values(finding, column)]
    ordered = sorted(number for number in numbers if number is not None)
    return [after - before for before, after in itertools.pairwise(ordered)] if len(ordered) == len(numbers) else []


def _number(value: Value) -> float | None:
    match value:
        case dt.datetime():
            return value.timestamp()
        case dt.date():
            return value.toordinal() * 86_400.0
        case int() | float() | Decimal() if not isinstance(value, bool):
            return float(value)
    return None


def _with_condition(rejected: Sequence[Finding], confirmed: Sequence[Finding], column: str) -> Iterator[_Change]:
    """Yield a condition without the records that have the most frequent value of rejected findings."""
    counted = Counter(value for finding in rejected for value in set(_values(finding, column)))
    is_sometimes_empty = any(None in _values(finding, column) for finding in (*rejected, *confirmed))
    for value, _ in counted.most_common(1):
        condition = _condition(column, value, or_empty=is_sometimes_empty)
        if condition is not None:
            yield _Change(
                f"With `{condition}` in `where`",
                partial(_is_left_out, column=column, value=value),
                partial(_has, column=column, value=value),
            )


def _is_left_out(finding: Finding, column: str, value: Value) -> bool:
    """Return True if at most one record has another value."""
    return sum(each != value for each in _values(finding, column)) < 2


def _has(finding: Finding, column: str, value: Value) -> bool:
    return value in _values(finding, column)


def _condition(column: str, value: Value, *, or_empty: bool) -> str | None:
    """Return the condition that omits the records with this value; None if it cannot be written."""
    match value:
        case None:
            condition = f"{column} is not null"
        case str() if len(value) <= _LONGEST and value.isprintable() and "`" not in value:
            quoted = value.replace("'", "''")
            condition = f"{column} <> '{quoted}'"
        case int() | Decimal() if not isinstance(value, bool):
            condition = f"{column} <> {value}"
        case _:
            return None
    if value is not None and or_empty:
        condition += f" or {column} is null"
    try:
        parse(condition)
    except RuleError:  # the name of the column is a word of the language, or is written otherwise
        return None
    return condition
