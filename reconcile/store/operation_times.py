"""How long operations took, and how many were retried or failed, from the times in the journal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from reconcile.findings.states import PlanState
from reconcile.store.database import Transaction
from reconcile.store.tables import effects, plans

PERCENTILES = (50, 95, 99)


class OperationTimes(NamedTuple):
    """The operations of one source and action that ended since a time, which `window` names.

    `retried` took more than one attempt. The percentiles count the succeeded ones, in seconds from the sending of the
    last attempt to the end; None if none succeeded. Undone operations are left out: their first end is not kept.
    """

    window: str
    source: str
    action: str
    ended: int
    failed: int
    retried: int
    p50: float | None
    p95: float | None
    p99: float | None


def operation_times(tx: Transaction, windows: Mapping[str, dt.datetime]) -> list[OperationTimes]:
    """Return the operations that ended since the time of each window, by source, action and window.

    A percentile is the smallest time that at least so many percent of the operations did not exceed.
    """
    ranked = _ranked(windows).subquery()
    group = (ranked.c.window, ranked.c.source, ranked.c.action)
    numbers = (
        sa.func.count(),
        sa.func.sum(sa.case((ranked.c.is_done, 0), else_=1)),
        sa.func.sum(sa.case((ranked.c.attempts > 1, 1), else_=0)),
    )
    query = sa.select(*group, *numbers, *(_percentile(ranked, percent) for percent in PERCENTILES))
    order = (ranked.c.source, ranked.c.action, ranked.c.window)
    return [OperationTimes(*row) for row in tx.connection.execute(query.group_by(*group).order_by(*order))]


def _ranked(windows: Mapping[str, dt.datetime]) -> sa.Select[Any]:
    """Return the operations of each window with their place by time among those that ended alike."""
    each = [
        sa.select(sa.literal(name).label("window"), sa.literal(since, effects.c.ended_at.type).label("since"))
        for name, since in windows.items()
    ]
    window = sa.union_all(*each).subquery()
    seconds = _Seconds(effects.c.sent_at, effects.c.ended_at)
    is_done = (effects.c.state == PlanState.SUCCEEDED.value).label("is_done")
    alike = [window.c.window, plans.c.source, plans.c.action, is_done.element]
    place = sa.func.row_number().over(partition_by=alike, order_by=seconds).label("place")
    number = sa.func.count().over(partition_by=alike).label("number")
    columns = (window.c.window, plans.c.source, plans.c.action, is_done, plans.c.attempts)
    return (
        sa.select(*columns, seconds.label("seconds"), place, number)
        .join(plans, effects.c.plan == plans.c.id)
        .join(window, effects.c.ended_at >= window.c.since)
        .where(
            effects.c.ended_at >= sa.literal(min(windows.values()), effects.c.ended_at.type),
            effects.c.state.in_([PlanState.SUCCEEDED.value, PlanState.FAILED.value]),
        )
    )


def _percentile(ranked: sa.Subquery, percent: int) -> sa.ColumnElement[float | None]:
    is_above = sa.and_(ranked.c.is_done, ranked.c.place * 100 >= ranked.c.number * percent)
    return sa.func.min(sa.case((is_above, ranked.c.seconds)))


class _Seconds(sa.sql.functions.GenericFunction[float]):
    """The seconds between two instants, to a millisecond."""

    inherit_cache = True
    name = "reconcile_seconds"
    type = sa.Double()


@compiles(_Seconds, "postgresql")
def _of_postgresql(element: _Seconds, compiler: SQLCompiler, **options: Any) -> str:
    begin, end = (f"CAST({compiler.process(clause, **options)} AS timestamptz)" for clause in element.clauses)
    return f"CAST(ROUND(EXTRACT(EPOCH FROM {end} - {begin}), 3) AS double precision)"


@compiles(_Seconds, "sqlite")
def _of_sqlite(element: _Seconds, compiler: SQLCompiler, **options: Any) -> str:
    begin, end = (f"julianday({compiler.process(clause, **options)})" for clause in element.clauses)
    return f"ROUND(({end} - {begin}) * 86400, 3)"
