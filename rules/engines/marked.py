"""The question in PostgreSQL's fastest form: a number for every record, and then only records whose number repeats.

A number, a mark, is 8 bytes whatever the length of a key, and one pass over the marks also counts the records that take
no part, by reason. Sorting marks is several times faster than sorting records by their keys, and on several processors.
Two keys may share a mark, so what comes out is a suspicion; the values themselves decide, in `rules.grouping`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from rules.engines import windowed
from rules.engines.base import Repeats

MOST = 200_000
"""Marks that are looked up in one statement; where more repeat, keys are compared after all."""
OLDEST = 140_000
"""PostgreSQL 14 looks marks up by hash; those before it would go through all of them for every record."""

_OTHERS = -1
_ADDED = 1  # row that `repeating` adds to them
_FIRST_STATE = -2
_REASONS = 1_000
_BITS = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True)
class Marked:
    """What a question needs to be asked with marks: `mark` is never null, for a record that takes part not negative."""

    table: sa.FromClause
    mark: sa.ColumnElement[int]


@dataclass(frozen=True)
class Judged:
    """What the pass over the marks found: records by state, those that are not ASCII, and the marks that repeat.

    `marks` is None where they are more than can be looked up.
    """

    states: Mapping[int, int]
    others: int
    marks: tuple[int, ...] | None


def mark(
    takes_part: sa.ColumnElement[bool],
    hashes: Sequence[sa.ColumnElement[int]],
    others: sa.ColumnElement[bool],
    state: sa.ColumnElement[int],
) -> sa.ColumnElement[int]:
    """One number of all hashes; where one of them is null or the record takes no part, its state as a negative number.

    `others` are the records that are not ASCII where that matters; `state` is then not asked.
    """
    first, *more = hashes
    for each in more:
        first = first.bitwise_xor(each)
    hashed = sa.case((sa.and_(sa.not_(others), takes_part), first.bitwise_and(_number(_BITS))))
    return sa.func.coalesce(
        hashed, sa.case((others, _number(_OTHERS)), else_=_number(_FIRST_STATE) - state), type_=sa.BigInteger()
    )


def prepare() -> sa.Select[Any]:
    """The server's version, and for this transaction only the settings with which it sorts, on several processors."""
    # It guesses that millions of marks are few, and aggregates them by hash: three times slower once that spills.
    asked = sa.select(
        sa.cast(sa.func.current_setting("server_version_num"), sa.Integer).label("version"),
        sa.func.set_config("enable_hashagg", "off", sa.true(), type_=sa.Text()).label("sorts"),
        sa.func.set_config("parallel_tuple_cost", "0.001", sa.true(), type_=sa.Text()).label("divides"),
    )
    return sa.select(*asked.selected_columns)


def repeating(marked: Marked, minimum: int) -> sa.Select[Any]:
    """Every mark that repeats, after the negative ones, with how often; one more than MOST where there are too many."""
    marks = sa.select(marked.mark.label("mark")).select_from(marked.table)
    # One more row makes the mark a column. An expression in HAVING would drag what it is made of through the sort.
    each = marks.union_all(sa.select(_number(_OTHERS))).subquery("each_record")
    counted: sa.Select[Any] = sa.select(each.c.mark, sa.func.count().label("records")).group_by(each.c.mark)
    counted = counted.having(sa.or_(sa.func.count() >= minimum, each.c.mark < 0))
    return counted.order_by(each.c.mark).limit(_number(MOST + _REASONS))


def every_record(marked: Marked) -> sa.Select[Any]:
    """How many records the table has."""
    return sa.select(sa.func.count().label("records")).select_from(marked.table)


def judged(rows: Iterable[tuple[int, int]], every: int) -> Judged:
    """From the rows of `repeating`, each a mark and how often, and the number of records."""
    repeated = list(rows)
    states = {_FIRST_STATE - number: count for number, count in repeated if number <= _FIRST_STATE}
    others = sum(count for number, count in repeated if number == _OTHERS) - _ADDED
    marks = tuple(number for number, _ in repeated if number >= 0)
    taking_part = every - others - sum(states.values())
    return Judged({**states, 0: taking_part} if taking_part else states, others, marks if len(marks) <= MOST else None)


def alike(marked: Marked, question: Repeats, marks: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """The records with these marks; where the question asks for more than equal keys, those of them that have it."""
    table = marked.table
    members = sa.select(*(table.c[name] for name in question.columns)).where(marked.mark == sa.any_(marks))
    if (question.near is None and question.differ is None) or question.over is None:
        return members
    return windowed.repeated(question.over(members.subquery("alike")))


def constant(marks: Sequence[int]) -> sa.ColumnElement[Any]:
    """The marks as a constant, which is what PostgreSQL looks up by hash."""
    return sa.literal(list(marks), sa.ARRAY(sa.BigInteger()))


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.BigInteger())
