"""Sums over the whole state: what waits, what it is worth, what appeared each day, what fails."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.findings.payload import HANDLED_MONEY
from reconcile.findings.states import PlanState, State
from reconcile.store.database import Transaction
from reconcile.store.tables import failures, findings, plans

_BATCH = 5_000


class FailureRow(NamedTuple):
    """A check that fails since a time; `subject` is a source, a rule or a channel."""

    job: str
    subject: str
    sentence: str
    since: dt.datetime


def money_of_findings(
    tx: Transaction, states: Collection[State], rule: str | None = None, *, since: dt.datetime | None = None
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rule and the money of each finding with money in these states, since a time, of one rule or all,
    streamed."""
    has_money = findings.c.money != sa.literal({}, findings.c.money.type)
    in_states = findings.c.state.in_([state.value for state in states])
    query = sa.select(findings.c.rule, findings.c.money).where(in_states, has_money)
    if since is not None:
        query = query.where(findings.c.state_since >= since)
    yield from _streamed(tx, _of(query, findings, rule))


def money_handled(
    tx: Transaction, since: dt.datetime, rule: str | None = None
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rule and the money of what was handled in each finding whose state is as old as a time, as above.

    If a record joined a handled finding, that is the money of its other records. A merged finding is counted where its
    records are now.
    """
    yield from money_of_findings(tx, (State.HANDLED,), rule, since=since)
    payload = findings.c.payload
    may_be_partly = sa.type_coerce(payload, sa.Text).contains(f'"{HANDLED_MONEY}"', autoescape=True)
    query = sa.select(findings.c.rule, payload).where(may_be_partly, findings.c.state_since >= since)
    query = query.where(findings.c.state.not_in((State.HANDLED.value, State.MERGED.value)))
    for name, parts in _streamed(tx, _of(query, findings, rule)):
        if money := parts.get(HANDLED_MONEY):  # the text may be in another part, such as a reason
            yield name, money


def money_cleaned(
    tx: Transaction, since: dt.datetime, rule: str | None = None
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rule and the money of each cleaning that was done since a time and is not undone, as above."""
    query = sa.select(plans.c.rule, plans.c.money).where(
        plans.c.state == PlanState.SUCCEEDED.value, plans.c.undoes.is_(None), plans.c.ended_at >= since
    )
    yield from _streamed(tx, _of(query, plans, rule))


def _of(query: sa.Select[Any], table: sa.Table, rule: str | None) -> sa.Select[Any]:
    return query if rule is None else query.where(table.c.rule == rule)


def _streamed(tx: Transaction, query: sa.Select[Any]) -> Iterator[Any]:
    yield from (tuple(row) for row in tx.connection.execute(query.execution_options(yield_per=_BATCH)))


def decided(
    tx: Transaction, states: Collection[State], rule: str | None = None
) -> Iterator[tuple[str, dt.datetime, dt.datetime]]:
    """Yield rule, first sight and last change of each finding in these states that a person decided, as above."""
    of_people = findings.c.decided_by.is_not(None), findings.c.state.in_([state.value for state in states])
    query = sa.select(findings.c.rule, findings.c.first_seen, findings.c.state_since).where(*of_people)
    yield from _streamed(tx, _of(query, findings, rule))


def new_by_day(tx: Transaction, since: dt.datetime, rule: str | None = None) -> list[tuple[str, str, int]]:
    """Return rule, day (`2026-11-21`, in UTC) and the number of findings first seen then, since a time."""
    day = sa.func.substr(sa.type_coerce(findings.c.first_seen, sa.Text), 1, 10).label("day")
    query = sa.select(findings.c.rule, day, sa.func.count()).where(findings.c.first_seen >= since)
    if rule is not None:
        query = query.where(findings.c.rule == rule)
    return [(name, text, number) for name, text, number in tx.connection.execute(query.group_by(findings.c.rule, day))]


def failing(tx: Transaction) -> list[FailureRow]:
    """Return the checks that failed in their job's last run, the longest first."""
    query = sa.select(*(failures.c[name] for name in FailureRow._fields)).order_by(failures.c.since, failures.c.subject)
    return [FailureRow(*row) for row in tx.connection.execute(query)]
