"""The fastest form of the question on PostgreSQL: a number for every record, then only records whose number repeats.

This number, the mark, is 8 bytes for any key length, and one pass over the marks also counts the skipped records by
reason. Sorting marks is several times faster than sorting records by their keys, and uses several processors.
Two keys may share a mark, so the result is a superset; `rules.grouping` compares the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from rules.engines import windowed
from rules.engines.base import Repeats

MOST = 200_000
"""Marks that are looked up in one statement; if more repeat, keys are compared instead."""
OLDEST = 140_000
"""PostgreSQL 14 looks marks up by hash; earlier versions would scan all of them for every record."""

_OTHERS = -1
_ADDED = 1  # row that `repeating` adds
_FIRST_STATE = -2
_REASONS = 1_000
_BITS = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True)
class Marked:
    """A table with marks: `mark` is never null, and not negative for a record that takes part."""

    table: sa.FromClause
    mark: sa.ColumnElement[int]


@dataclass(frozen=True)
class MarkCounts:
    """The result of the pass over the marks: records by state, those that are not ASCII, and the repeating marks.

    `marks` is None if there are more than MOST.
    """

    states: Mapping[int, int]
    non_ascii: int
    marks: tuple[int, ...] | None


def mark(
    takes_part: sa.ColumnElement[bool],
    hashes: Sequence[sa.ColumnElement[int]],
    non_ascii: sa.ColumnElement[bool],
    state: sa.ColumnElement[int],
) -> sa.ColumnElement[int]:
    """Combine all hashes into one number; a negative state if a hash is null or the record takes no part.

    `non_ascii` is true for records that are not ASCII where that matters; `state` is then ignored.
    """
    first, *more = hashes
    for hash_value in more:
        first = first.bitwise_xor(hash_value)
    hashed = sa.case((sa.and_(sa.not_(non_ascii), takes_part), first.bitwise_and(_number(_BITS))))
    return sa.func.coalesce(
        hashed, sa.case((non_ascii, _number(_OTHERS)), else_=_number(_FIRST_STATE) - state), type_=sa.BigInteger()
    )


def prepare() -> sa.Select[Any]:
    """Select the server's version and set, for this transaction only, sorting on several processors."""
    # It underestimates the number of marks and aggregates by hash: three times slower once that spills.
    settings = sa.select(
        sa.cast(sa.func.current_setting("server_version_num"), sa.Integer).label("version"),
        sa.func.set_config("enable_hashagg", "off", sa.true(), type_=sa.Text()).label("sorts"),
        sa.func.set_config("parallel_tuple_cost", "0.001", sa.true(), type_=sa.Text()).label("divides"),
    )
    return sa.select(*settings.selected_columns)


def repeating(marked: Marked, minimum: int) -> sa.Select[Any]:
    """Select the negative marks, then every repeating mark, with counts; one more than MOST if there are too many."""
    marks = sa.select(marked.mark.label("mark")).select_from(marked.table)
    # One more row makes the mark a column. An expression in HAVING would carry its inputs through the sort.
    rows = marks.union_all(sa.select(_number(_OTHERS))).subquery("each_record")
    counted: sa.Select[Any] = sa.select(rows.c.mark, sa.func.count().label("records")).group_by(rows.c.mark)
    counted = counted.having(sa.or_(sa.func.count() >= minimum, rows.c.mark < 0))
    return counted.order_by(rows.c.mark).limit(_number(MOST + _REASONS))


def every_record(marked: Marked) -> sa.Select[Any]:
    """Count the records of the table."""
    return sa.select(sa.func.count().label("records")).select_from(marked.table)


def mark_counts(rows: Iterable[tuple[int, int]], records: int) -> MarkCounts:
    """Compute the counts from the rows of `repeating`, each a mark and its count, and the number of records."""
    repeated = list(rows)
    states = {_FIRST_STATE - number: count for number, count in repeated if number <= _FIRST_STATE}
    non_ascii = sum(count for number, count in repeated if number == _OTHERS) - _ADDED
    marks = tuple(number for number, _ in repeated if number >= 0)
    taking_part = records - non_ascii - sum(states.values())
    states |= {0: taking_part} if taking_part else {}
    return MarkCounts(states, non_ascii, marks if len(marks) <= MOST else None)


def alike(marked: Marked, question: Repeats, marks: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select the records with these marks that also meet the question's other conditions."""
    table = marked.table
    members = sa.select(*(table.c[name] for name in question.columns)).where(marked.mark == sa.any_(marks))
    if (question.near is None and question.differ is None) or question.over is None:
        return members
    return windowed.repeated(question.over(members.subquery("alike")))


def constant(marks: Sequence[int]) -> sa.ColumnElement[Any]:
    """Return the marks as a constant, because PostgreSQL looks constants up by hash."""
    return sa.literal(list(marks), sa.ARRAY(sa.BigInteger()))


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.BigInteger())
