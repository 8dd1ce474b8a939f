"""The question to an engine: which records fail? Compiled once for every engine that can answer it exactly."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from rules.engines.base import RecordCounts, Repeats, Skipped
from rules.engines.compile import Compiler, unused
from rules.kinds.check import numbers
from rules.kinds.check.bound import FOLLOWING, BoundCheck
from rules.kinds.check.model import part_name
from rules.values import Type

Element = sa.ColumnElement[Any]
OUTSIDE, OUTSIDE_UNKNOWN, PASSES, UNKNOWN, NAMELESS, _FIRST_PLACE = 1, 2, 3, 4, 5, 6
_UNKNOWN = "the condition is unknown: a value in it is null"
_UNKNOWN_OUTSIDE = "the dataset's condition is unknown: a value in it is null"


@dataclass(frozen=True)
class Computed:
    """The records of a statement, and `c` with what is computed of each. `is_ordered`: some may have no place."""

    records: sa.FromClause
    c: Mapping[str, Element]
    is_ordered: bool = False
    python: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_dataset(self) -> Element:
        return self.c.get("in_dataset", sa.true())


def question(bound: BoundCheck, table: sa.FromClause, dialect: str, slot: dt.datetime) -> Repeats:
    """Compile the rule for one dialect; one that compares records in an order only for DuckDB."""
    compiler = Compiler(bound.columns, table, dialect, slot, bound.relation.timezone)
    computed = _ordered(bound, compiler) if bound.rule.is_ordered else _judged(bound, compiler)
    has_place = _has_place(bound, computed.c) if computed.is_ordered else sa.true()
    fails = sa.and_(computed.in_dataset, has_place, computed.c["fails"])
    relation = bound.relation
    return Repeats(
        keyed=computed.records,
        columns=(*bound.needed, *answered(bound)),
        key=(_number(1),),
        takes_part=fails,
        state=_state(bound, computed, fails),
        minimum=1,
        id=relation.id if set(relation.id).isdisjoint(relation.derived) else (),
        ids=bound.ids(compiler) if relation.id else None,
        outside=(OUTSIDE, OUTSIDE_UNKNOWN) if relation.where is not None else (),
        python=computed.python,
    )


def answered(bound: BoundCheck) -> tuple[str, ...]:
    """Return the answer's columns beside those of the dataset: values of the previous record, or of the following."""
    return (FOLLOWING, *bound.following_id) if bound.gaps is not None else tuple(bound.previous)


def _judged(bound: BoundCheck, compiler: Compiler) -> Computed:
    """Select the records with the result of the condition."""
    assert bound.condition is not None  # noqa: S101 - a rule without it is ordered
    computed = {"fails": compiler.condition(bound.condition)} | _in_dataset(bound, compiler)
    records, c = _select(compiler.table, bound.needed, computed, "judged")
    return Computed(records, c, python=compiler.python)


def _ordered(bound: BoundCheck, compiler: Compiler) -> Computed:
    """Select the records with what is next to them in their order, and the result of the condition."""
    values = _values(bound, compiler)
    computed = values | _in_dataset(bound, compiler)
    records, c = _select(compiler.table, bound.needed, computed, "valued")
    in_order = sa.and_(c.get("in_dataset", sa.true()), _has_place(bound, c))
    partition: list[Element] = [sa.case((in_order, _number(1)), else_=_number(0))]
    partition += _of(c, "by_", "series_")
    # Records that share an id have no order of their own; without one they would differ in each run.
    content = () if bound.relation.id else (records.c[name] for name in bound.content)
    order = [*_of(c, "order_", "number", "id_", "value_"), *content]
    if bound.gaps is not None:
        return _with_following(bound, Computed(records, c, is_ordered=True, python=compiler.python), partition, order)
    return _with_previous(bound, compiler, Computed(records, c, is_ordered=True), partition, order)


def _of(c: Mapping[str, Element], *prefixes: str) -> list[Element]:
    """Return the columns whose names begin with the first prefix, then those of the next."""
    return [column for prefix in prefixes for name, column in c.items() if name.startswith(prefix)]


def _values(bound: BoundCheck, compiler: Compiler) -> dict[str, Element]:
    """Return the values that order the records, and those that are compared with another record's."""
    schema, gaps = bound.columns.schema, bound.gaps
    values: dict[str, Element] = {
        f"order_{n}": compiler.whole(name) if schema[name].type is Type.TEXT else compiler.place(name)
        for n, name in enumerate(bound.rule.order)
    }
    for n, part in enumerate(bound.rule.by):
        values[f"by_{n}"] = compiler.comparable(part, compiler.key(part))
    if gaps is not None:
        value = compiler.comparable(gaps, compiler.key(gaps))
        series = numbers.series_sql(value) if bound.is_of_texts else ()
        values |= {f"series_{n}": text for n, text in enumerate(series)}
        values |= {"number": numbers.number_sql(value, bound.type_of(gaps)), "value_0": value}
    values |= {f"value_{n}": compiler.value(value) for n, value in enumerate(bound.previous.values())}
    return values | {f"id_{n}": compiler.whole(name) for n, name in enumerate(bound.relation.id)}


def _places(bound: BoundCheck) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Yield the computed columns that a record needs for a place in the order, and its column with the reason if it has
    none; no reason for a part of the id, which is counted with the ids.
    """
    for n, name in enumerate(bound.rule.order):
        yield f"order_{n}", (name, "null, or has no place in an order")
    for n, part in enumerate(bound.rule.by):
        yield f"by_{n}", (part_name(part), "null or empty after normalising")
    if bound.gaps is not None:
        yield "number", (bound.gaps.column, "null or without a whole number")
    for n, _ in enumerate(bound.relation.id):
        yield f"id_{n}", None


def _with_previous(
    bound: BoundCheck, compiler: Compiler, computed: Computed, partition: list[Element], order: list[Element]
) -> Computed:
    before = {
        name: sa.func.lag(computed.c[f"value_{n}"]).over(partition_by=partition, order_by=order)
        for n, name in enumerate(bound.previous)
    }
    first = sa.case((sa.func.row_number().over(partition_by=partition, order_by=order) == _number(1), _number(1)))
    records, c = _again(bound, computed, before | {"first": first})
    assert bound.condition is not None  # noqa: S101 - only `where` has a previous record
    relation = bound.relation
    beside = Compiler(
        bound.ordered_columns, records, compiler.dialect, compiler.slot, relation.timezone, prefix="ordered"
    )
    names = (*bound.needed, *bound.previous)
    kept = {name: c[name] for name in c if not name.startswith("value_") and name not in bound.previous}
    records, c = _select(records, names, kept | {"fails": beside.condition(bound.condition)}, "judged")
    return Computed(records, c, is_ordered=True, python={**compiler.python, **beside.python})


def _with_following(bound: BoundCheck, computed: Computed, partition: list[Element], order: list[Element]) -> Computed:
    values = {FOLLOWING: "value_0", "next": "number"} | {name: f"id_{n}" for n, name in enumerate(bound.following_id)}
    after = {
        name: sa.func.lead(computed.c[value]).over(partition_by=partition, order_by=order)
        for name, value in values.items()
    }
    records, c = _again(bound, computed, after)
    last = sa.case((c["next"].is_(None), _number(1)))
    fails = {"fails": c["next"] - c["number"] > _number(1), "first": last}
    return Computed(records, c | fails, is_ordered=True, python=computed.python)


def _again(
    bound: BoundCheck, computed: Computed, more: Mapping[str, Element]
) -> tuple[sa.Subquery, dict[str, Element]]:
    """Select the records and what was computed once more, with columns that depend on it."""
    return _select(computed.records, bound.needed, {**computed.c, **more}, "in_order", answered(bound))


def _select(
    table: sa.FromClause,
    needed: Sequence[str],
    computed: Mapping[str, Element],
    name: str,
    answer: Sequence[str] = (),
) -> tuple[sa.Subquery, dict[str, Element]]:
    """Select the needed columns and computed ones, of which those of the answer keep their names."""
    own = [key for key in computed if key not in answer]
    # DuckDB does not distinguish upper and lower case.
    labels = {**unused(own, {*needed, *map(str.lower, needed)}), **{key: key for key in computed if key in answer}}
    selected = sa.select(
        *(table.c[column] for column in needed), *(value.label(labels[key]) for key, value in computed.items())
    ).subquery(name)
    return selected, {key: selected.c[label] for key, label in labels.items()}


def _in_dataset(bound: BoundCheck, compiler: Compiler) -> dict[str, Element]:
    return {name: compiler.condition(condition) for name, condition in bound.filters.items()}


def _has_place(bound: BoundCheck, c: Mapping[str, Element]) -> Element:
    return sa.and_(sa.true(), *(c[name].is_not(None) for name, _ in _places(bound)))


def _state(bound: BoundCheck, computed: Computed, fails: Element) -> sa.ColumnElement[int]:
    """0 for a record that fails, or the reason why it does not; each record counts once."""
    whens: list[tuple[Element, int]] = [(fails, 0)]
    if "in_dataset" in computed.c:
        whens += [(computed.in_dataset.is_(None), OUTSIDE_UNKNOWN), (sa.not_(computed.in_dataset), OUTSIDE)]
    for n, (name, reason) in enumerate(_places(bound)) if computed.is_ordered else ():
        whens.append((computed.c[name].is_(None), NAMELESS if reason is None else _FIRST_PLACE + n))
    if "first" in computed.c:
        whens.append((computed.c["first"].is_not(None), PASSES))
    whens.append((computed.c["fails"].is_(None), UNKNOWN))
    return sa.case(*((when, _number(state)) for when, state in whens), else_=_number(PASSES))


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.Integer())


def scanned(tally: RecordCounts) -> int:
    """Return the number of records that pass the filter of the dataset."""
    return sum(records for state, records in tally.states.items() if state not in (OUTSIDE, OUTSIDE_UNKNOWN))


def skipped(bound: BoundCheck, tally: RecordCounts) -> tuple[Skipped, ...]:
    """Put in words how many records could not be judged."""
    reasons = {OUTSIDE_UNKNOWN: ("where", _UNKNOWN_OUTSIDE), UNKNOWN: ("where", _UNKNOWN)}
    reasons |= {_FIRST_PLACE + n: reason for n, (_, reason) in enumerate(_places(bound)) if reason is not None}
    return tuple(
        Skipped(*reasons[state], records, scanned=state != OUTSIDE_UNKNOWN)
        for state, records in sorted(tally.states.items())
        if state in reasons and records
    )
