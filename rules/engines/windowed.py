"""The question as one statement that every database understands: window functions over the keyed records."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from rules.engines.base import Repeats


def repeated(question: Repeats) -> sa.Select[Any]:
    """Records whose key has at least `minimum` records, a near neighbour and a different value where that is asked."""
    keyed, key = question.keyed, question.key
    names = _unused({c.name for c in keyed.c}, "copies", "before", "after", "least", "greatest")
    computed: list[sa.Label[Any]] = [sa.func.count().over(partition_by=key).label(names["copies"])]
    if question.near is not None:
        at = question.near.at
        computed.append(at.label(names["before"] + "_at"))
        for name, neighbour in (("before", sa.func.lag(at, type_=at.type)), ("after", sa.func.lead(at, type_=at.type))):
            computed.append(neighbour.over(partition_by=key, order_by=at).label(names[name]))
    if question.differ is not None:
        for name, end in (("least", sa.func.min), ("greatest", sa.func.max)):
            computed.append(end(question.differ).over(partition_by=key).label(names[name]))
    wanted = [keyed.c[name] for name in question.columns]
    counted = sa.select(*wanted, *computed).where(question.takes_part).cte("counted")
    answer = sa.select(*(counted.c[name] for name in question.columns))
    answer = answer.where(counted.c[names["copies"]] >= question.minimum)
    if question.near is not None:
        here, before, after = (counted.c[n] for n in (names["before"] + "_at", names["before"], names["after"]))
        answer = answer.where(sa.or_(question.near.within(before, here), question.near.within(here, after)))
    if question.differ is not None:
        answer = answer.where(counted.c[names["least"]] < counted.c[names["greatest"]])
    return answer


def states(question: Repeats) -> sa.Select[Any]:
    """How many records are in each state."""
    each = sa.select(question.state.label("state")).select_from(question.keyed).subquery("each_record")
    counted: sa.Select[Any] = sa.select(each.c.state, sa.func.count().label("records")).group_by(each.c.state)
    return counted


def identity(ids: sa.Select[Any]) -> sa.Select[Any]:
    """How many records there are, how many have no null in their id, and how many different ids these have."""
    # A subquery in each place: a WITH that is named twice would be written down in full before it is counted.
    every, others = ids.subquery("every_id"), ids.subquery("other_ids")
    each = sa.select(*others.c).where(_whole(others)).distinct().subquery("each_id")
    return sa.select(
        sa.func.count().label("records"),
        sa.func.count(sa.case((_whole(every), 1))).label("named"),
        sa.select(sa.func.count()).select_from(each).scalar_subquery().label("different"),
    ).select_from(every)


def unnamed(ids: sa.Select[Any]) -> sa.Select[Any]:
    """How many records have an empty part in their id."""
    every = ids.subquery("every_id")
    return sa.select(sa.func.count().label("records")).select_from(every).where(sa.not_(_whole(every)))


def _whole(ids: sa.Subquery) -> sa.ColumnElement[bool]:
    return sa.and_(*(column.is_not(None) for column in ids.c))


def _unused(taken: set[str], *wanted: str) -> dict[str, str]:
    tail = ""
    while any(name + tail in taken or name + tail + "_at" in taken for name in wanted):
        tail += "_"
    return {name: name + tail for name in wanted}
