"""Pages of findings in the order of their filter, each page begun where the last one ended.

A page reads only its own rows, however many findings there are: for each severity, the first rows of each state (and
rule) come from an index in their order, and are merged. By probability, those of each state are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import sqlalchemy as sa

from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.store import findings as stored
from reconcile.store.database import Transaction
from reconcile.store.findings import FindingFilter
from reconcile.store.tables import findings
from rules.models import Severity


class PagePosition(NamedTuple):
    """The place of a finding in the order: `rank` is that of its amount, or its probability among all severities."""

    severity: int
    rank: float
    first_seen: dt.datetime
    id: str


@dataclass(frozen=True)
class FindingPage:
    """Findings, and the position after which the next page begins; None after the last one."""

    findings: tuple[Finding, ...]
    end: PagePosition | None


def page(
    tx: Transaction, criteria: FindingFilter, *, limit: int, after: PagePosition | None = None, members: bool = False
) -> FindingPage:
    """Return up to `limit` findings after a position."""
    positions = _positions(tx, criteria, limit + 1, after)
    shown = positions[:limit]
    by_id = {finding.id: finding for finding in stored.some(tx, [position.id for position in shown], members=members)}
    end = shown[-1] if len(positions) > limit else None
    return FindingPage(tuple(by_id[position.id] for position in shown if position.id in by_id), end)


def _positions(tx: Transaction, criteria: FindingFilter, limit: int, after: PagePosition | None) -> list[PagePosition]:
    if criteria.by_probability:
        query = _first(criteria, findings.c.probability, limit, after)
        return [PagePosition(0, *row) for row in tx.connection.execute(query)]
    positions: list[PagePosition] = []
    worst = max(Severity) if after is None else after.severity
    least = min(Severity) if criteria.severity is None else int(criteria.severity)
    for severity in range(worst, least - 1, -1):
        start = after if after is not None and after.severity == severity else None
        of_any = replace(criteria, severity=None)
        query = _first(of_any, findings.c.amount_rank, limit - len(positions), start, findings.c.severity == severity)
        positions += [PagePosition(severity, *row) for row in tx.connection.execute(query)]
        if len(positions) >= limit:
            break
    return positions


def _first(
    criteria: FindingFilter,
    rank: sa.Column[float],
    limit: int,
    after: PagePosition | None,
    *common: sa.ColumnElement[bool],
) -> sa.Select[float, dt.datetime, str]:
    """Return rank, time and id of the first rows: the first of each part, merged."""
    columns = (rank, findings.c.first_seen, findings.c.id)
    parts = []
    for conditions in _parts(criteria):
        query = sa.select(*columns).where(*common, *conditions)
        if after is not None:
            values = zip((after.rank, after.first_seen, after.id), columns, strict=True)
            position = sa.tuple_(*(sa.literal(value, column.type) for value, column in values))
            query = query.where(sa.tuple_(*columns) > position)
        parts.append(query.order_by(*columns).limit(limit).subquery())
    names = [column.name for column in columns]
    merged = sa.union_all(*(sa.select(*(part.c[name] for name in names)) for part in parts)).subquery()
    ordered = [merged.c[name] for name in names]
    return sa.select(*ordered).order_by(*ordered).limit(limit)


def _parts(criteria: FindingFilter) -> Iterator[Sequence[sa.ColumnElement[bool]]]:
    """Yield conditions that an index answers in order, except for findings of a person or a list."""
    if criteria.assigned_to or criteria.ids is not None:
        yield list(stored.conditions(criteria))
        return
    common = list(stored.conditions(replace(criteria, states=(), rules=())))
    for state in criteria.states or tuple(State):
        if not criteria.rules:
            yield [findings.c.state == state.value, *common]
        for rule in criteria.rules:
            yield [findings.c.rule == rule, findings.c.state == state.value, *common]


def numbers(tx: Transaction, criteria: FindingFilter) -> Mapping[State, int]:
    """Return the number of findings that fit, in each state that has any."""
    query = sa.select(findings.c.state, sa.func.count()).group_by(findings.c.state)
    query = query.where(*stored.conditions(criteria))
    return {State(state): number for state, number in tx.connection.execute(query)}
