"""Outcomes of plans that no message reported yet. Each plan has at most one row: its latest outcome."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.store.bulk import insert_for, one_of
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import chunks
from reconcile.store.tables import cleaning_news, plans, runs

What = Literal["waiting", "done", "stale", "expired", "void", "withdrawn", "failed"]
"""`waiting`: approved, by people or without them, and not executed yet. `done`: executed. `stale`: not done, since
records changed; `expired`; `void`: not done for another reason; `withdrawn`: not done, since a person decided
otherwise. `failed`: it needs a person, and the news of its finding says why.
"""


@dataclass(frozen=True)
class CleaningNews:
    """The outcome of a plan. `run` executed it, if a run did; `job` is that of the run which planned it.

    `why` is the reason that the plan itself has, as of its last attempt; None without one.
    """

    plan: str
    finding: str
    rule: str
    what: What
    run: str | None
    job: str | None
    is_undo: bool
    state: PlanState
    source: str
    target: str
    why: str | None
    action: str = ""
    records: int = 0


_OF_PLAN = (plans.c.source, plans.c.target, plans.c.reason, plans.c.attempts, plans.c.action, plans.c.records)


def put(tx: Transaction, plan_ids: Collection[str], what: What, run: str | None = None) -> None:
    """Record what these plans came to, in the transaction of the fact; it replaces earlier untold news of them."""
    columns = (plans.c.id, plans.c.rule, sa.literal(what), sa.literal(run, type_=cleaning_news.c.run.type))
    now = sa.literal(tx.now, type_=cleaning_news.c.at.type)
    query = sa.select(*columns, now).where(one_of(plans.c.id, "the_ids"))
    insert = insert_for(tx, cleaning_news).from_select([column.name for column in cleaning_news.c], query)
    newest = {name: insert.excluded[name] for name in ("what", "run", "at")}
    statement = insert.on_conflict_do_update(index_elements=["plan"], set_=newest)
    tx.connection.execute(statement, {"the_ids": sorted(plan_ids)})


def forget(tx: Transaction, plan_ids: Collection[str]) -> None:
    """Forget untold news of these plans: something else tells what became of them."""
    statement = sa.delete(cleaning_news).where(one_of(cleaning_news.c.plan, "the_ids"))
    tx.connection.execute(statement, {"the_ids": sorted(plan_ids)})


def untold(tx: Transaction, rules: Collection[str]) -> Iterator[CleaningNews]:
    """Yield the untold news of these rules, the oldest first."""
    columns = (cleaning_news.c.plan, plans.c.finding, cleaning_news.c.rule, cleaning_news.c.what, cleaning_news.c.run)
    query = (
        sa.select(*columns, runs.c.job, plans.c.undoes, plans.c.state, *_OF_PLAN)
        .join_from(cleaning_news, plans, plans.c.id == cleaning_news.c.plan)
        .outerjoin(runs, runs.c.id == plans.c.run)
        .where(cleaning_news.c.rule.in_(list(rules)))
        .order_by(cleaning_news.c.at, cleaning_news.c.plan)
    )
    for row in tx.connection.execute(query):
        plan, finding, rule, what, run, job, undoes, state, source, target, reason, attempts, action, records = row
        is_undo = undoes is not None
        why = None if is_undo and attempts == 0 else reason  # until its first attempt, an undo has its person's note
        place = (PlanState(state), source, target)
        yield CleaningNews(plan, finding, rule, what, run, job, is_undo, *place, why, action, records)


def rules(tx: Transaction) -> list[str]:
    """Return the rules with untold news."""
    return list(tx.connection.execute(sa.select(cleaning_news.c.rule).distinct()).scalars())


def span(tx: Transaction) -> tuple[dt.datetime, dt.datetime] | None:
    """Return when the oldest and the newest untold news happened; None without any."""
    at = cleaning_news.c.at
    first, last = tx.connection.execute(sa.select(sa.func.min(at, type_=at.type), sa.func.max(at, type_=at.type))).one()
    return None if first is None else (first, last)


def mark_told(tx: Transaction, news: Collection[CleaningNews]) -> None:
    """Delete news that messages tell now, unless more became of a plan meanwhile."""
    for what in {item.what for item in news}:
        for chunk in chunks(item.plan for item in news if item.what == what):
            told = (one_of(cleaning_news.c.plan, "the_ids"), cleaning_news.c.what == what)
            tx.connection.execute(sa.delete(cleaning_news).where(*told), {"the_ids": chunk})
