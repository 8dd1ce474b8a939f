"""The question as one statement for every database: window functions over the keyed records."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from rules.engines.base import Repeats
from rules.engines.neighbours import is_near, neighbours


def repeated(question: Repeats) -> sa.Select[Any]:
    """Select records whose key has at least `minimum` records, if required near ones and with different values."""
    if question.is_of_every_record:
        return sa.select(*(question.keyed.c[name] for name in question.columns)).where(question.takes_part)
    if question.keys:
        return _repeated_under_any(question)
    keyed, key = question.keyed, question.key
    names = _unused({c.name for c in keyed.c}, "copies", "at", "before", "reach", "after", "least", "greatest")
    computed: list[sa.Label[Any]] = [sa.func.count().over(partition_by=key).label(names["copies"])]
    if question.near is not None:
        beside = neighbours(key, question.near.at, question.near.until)
        computed += [column.label(names[name]) for name, column in beside.items()]
    if question.differ is not None:
        for name, end in (("least", sa.func.min), ("greatest", sa.func.max)):
            computed.append(end(question.differ).over(partition_by=key).label(names[name]))
    selected = [keyed.c[name] for name in question.columns]
    counted = sa.select(*selected, *computed).where(question.takes_part).cte("counted")
    select = sa.select(*(counted.c[name] for name in question.columns))
    select = select.where(counted.c[names["copies"]] >= question.minimum)
    if question.near is not None:
        select = select.where(is_near(question.near, {name: counted.c[names[name]] for name in beside}))
    if question.differ is not None:
        select = select.where(counted.c[names["least"]] < counted.c[names["greatest"]])
    return select


def _repeated_under_any(question: Repeats) -> sa.Select[Any]:
    """Select records that share any of the keys, each with the marks of `keys`."""
    keyed = question.keyed
    copies = (
        sa.case((key.is_complete, sa.func.count().over(partition_by=key.parts))).label(key.column)
        for key in question.keys
    )
    counted = sa.select(*(keyed.c[name] for name in question.columns), *copies).where(question.takes_part)
    counts = counted.cte("counted")
    repeats = {key.column: _joins(question, counts.c[key.column]) for key in question.keys}
    marks = (sa.case((is_repeated, 1), else_=0).label(name) for name, is_repeated in repeats.items())
    return sa.select(*(counts.c[name] for name in question.columns), *marks).where(sa.or_(*repeats.values()))


def _joins(question: Repeats, copies: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    return copies >= question.minimum if question.most is None else copies.between(question.minimum, question.most)


def states(question: Repeats) -> sa.Select[Any]:
    """Count the records in each state."""
    rows = sa.select(question.state.label("state")).select_from(question.keyed).subquery("each_record")
    counted: sa.Select[Any] = sa.select(rows.c.state, sa.func.count().label("records")).group_by(rows.c.state)
    return counted


def identity(ids: sa.Select[Any]) -> sa.Select[Any]:
    """Count all records, those without a null in their id, and the different ids among these."""
    # A subquery in each place: a WITH used twice would be materialised before it is counted.
    all_ids, other_ids = ids.subquery("every_id"), ids.subquery("other_ids")
    distinct_ids = sa.select(*other_ids.c).where(_is_named(other_ids)).distinct().subquery("each_id")
    return sa.select(
        sa.func.count().label("records"),
        sa.func.count(sa.case((_is_named(all_ids), 1))).label("named"),
        sa.select(sa.func.count()).select_from(distinct_ids).scalar_subquery().label("different"),
    ).select_from(all_ids)


def unnamed(ids: sa.Select[Any]) -> sa.Select[Any]:
    """Count the records with an empty part in their id."""
    all_ids = ids.subquery("every_id")
    return sa.select(sa.func.count().label("records")).select_from(all_ids).where(sa.not_(_is_named(all_ids)))


def _is_named(ids: sa.Subquery) -> sa.ColumnElement[bool]:
    return sa.and_(*(column.is_not(None) for column in ids.c))


def _unused(used: set[str], *names: str) -> dict[str, str]:
    tail = ""
    while any(name + tail in used for name in names):
        tail += "_"
    return {name: name + tail for name in names}
