"""The neighbours of a record, in SQL: the previous one that reaches nearest, and the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from rules.engines.base import Near

Column = sa.ColumnElement[Any]


def neighbours(key: Sequence[Column], at: Column, until: Column | None) -> dict[str, Column]:
    """Return `at`, how far the records `before` reach, how far all up to this one `reach`, and the place `after`.

    Without `until` a record reaches as far as it begins, so the previous one reaches nearest. A period whose end is
    null reaches everything.
    """
    over: dict[str, Any] = {"partition_by": key, "order_by": at}
    after = sa.func.lead(at, type_=at.type).over(**over)
    if until is None:
        return {"at": at, "before": sa.func.lag(at, type_=at.type).over(**over), "reach": at, "after": after}
    return {
        "at": at,
        "before": _reach(until, over | {"rows": (None, -1)}, at),
        "reach": _reach(until, over | {"rows": (None, 0)}, after),
        "after": after,
    }


def _reach(until: Column, over: Mapping[str, Any], everything: Column) -> Column:
    without_end = sa.func.count(sa.case((until.is_(None), 1))).over(**over)
    return sa.case((without_end > 0, everything), else_=sa.func.max(until, type_=until.type).over(**over))


def is_near(near: Near, c: Mapping[str, Column]) -> sa.ColumnElement[bool]:
    """Return the condition that a record has a near neighbour, over the columns that `neighbours` computes."""
    at, before, reach, after = (sa.type_coerce(c[n], near.at.type) for n in ("at", "before", "reach", "after"))
    return sa.or_(near.within(before, at), near.within(reach, after))
