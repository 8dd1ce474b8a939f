"""The records that a rule compares, as a question for DuckDB, and the counts of its answer in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from rules.engines.base import RecordCounts, Repeats, Skipped
from rules.engines.compile import Compiler, unused
from rules.groups.question import EXCLUDED, EXCLUDED_UNKNOWN, OUTSIDE, OUTSIDE_UNKNOWN
from rules.kinds.similar.bound import SimilarSide
from rules.normalise import times

_EMPTY = 5
"""The state of a record in which every compared column is empty."""


def labels(side: SimilarSide) -> dict[str, str]:
    """Return the name of the answer's column for each compared column of the rule."""
    names = [f"compared_{number}" for number in range(len(side.own_columns))]
    return dict(zip(side.own_columns, unused(names, side.needed).values(), strict=True))


def question(side: SimilarSide, table: sa.FromClause, slot: dt.datetime) -> Repeats:
    """Ask for every record that takes part."""
    relation = side.relation
    compiler = Compiler(side.columns, table, "duckdb", slot, relation.timezone)
    computed = {label: compiler.column(side.own_columns[column]) for column, label in labels(side).items()}
    conditions = {name: compiler.condition(condition) for name, condition in side.filters.items()}
    names = unused(conditions, (*side.needed, *computed))
    read = sa.select(
        *(table.c[name] for name in side.needed),
        *(value.label(label) for label, value in computed.items()),
        *(condition.label(names[name]) for name, condition in conditions.items()),
    ).subquery("compared")
    passed = {name: read.c[label] for name, label in names.items()}
    has_value = sa.or_(*(read.c[label].is_not(None) for label in computed))
    takes_part = sa.and_(sa.true(), *passed.values(), has_value)
    return Repeats(
        keyed=read,
        columns=(*side.needed, *computed),
        key=(_number(1),),
        takes_part=takes_part,
        state=_state(takes_part, passed),
        minimum=1,
        id=relation.id if set(relation.id).isdisjoint(relation.derived) else (),
        ids=side.ids(compiler) if relation.id else None,
        outside=(OUTSIDE, OUTSIDE_UNKNOWN) if relation.where is not None else (),
        python=compiler.python,
    )


def compared(side: SimilarSide, answer: pa.Table) -> pa.Table:
    """Return the compared columns of an answer under the rule's names; of instants, the days in the dataset's zone."""
    timezone = side.relation.timezone
    return pa.table({column: _days(answer[label], timezone) for column, label in labels(side).items()})


def _days(column: Any, timezone: str) -> Any:
    if not pa.types.is_timestamp(column.type):
        return column
    in_utc = column.cast(pa.timestamp(column.type.unit))
    if timezone == "UTC":
        return in_utc.cast(pa.date32())
    # Arrow has no zones where the system has none, but Python has.
    encoded = in_utc.combine_chunks().dictionary_encode()
    instants = (instant.replace(tzinfo=dt.UTC) for instant in encoded.dictionary.to_pylist())
    return pa.array([times.day(instant, timezone) for instant in instants], pa.date32()).take(encoded.indices)


def skipped(side: SimilarSide, tally: RecordCounts) -> Iterator[Skipped]:
    """Yield how many records take no part, by reason."""
    reasons = (
        (OUTSIDE_UNKNOWN, "where", "the dataset's condition is unknown: a value in it is null", False),
        (EXCLUDED_UNKNOWN, "where", "the condition is unknown: a value in it is null", False),
        (_EMPTY, ", ".join(side.own_columns), "null", True),
    )
    for state, column, reason, passes in reasons:
        if records := tally.states.get(state, 0):
            yield Skipped(column, reason, records, passes)


def _state(takes_part: sa.ColumnElement[bool], passed: Mapping[str, sa.ColumnElement[Any]]) -> sa.ColumnElement[int]:
    """0 for a record that takes part, or the reason why it does not."""
    whens = [(takes_part, 0)]
    for name, unknown, outside in (
        ("in_dataset", OUTSIDE_UNKNOWN, OUTSIDE),
        ("in_rule", EXCLUDED_UNKNOWN, EXCLUDED),
    ):
        if name in passed:
            whens += [(passed[name].is_(None), unknown), (sa.not_(passed[name]), outside)]
    return sa.case(*((when, _number(state)) for when, state in whens), else_=_number(_EMPTY))


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.Integer())
