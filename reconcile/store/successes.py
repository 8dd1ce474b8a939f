"""Successes in the store: the last one of each job, and the jobs that must succeed in time.

The later of two runs of a job is the one with the higher fence: a clock can be set back, a fence never falls.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile.store.database import Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import expectations, runs

SUCCESS = (runs.c.status == "succeeded", runs.c.trigger != "rules")
"""A run of some of a job's rules (`rules`) is not a success of the job."""


@dataclass(frozen=True)
class Success:
    """A run of a whole job that succeeded."""

    run: str
    slot: dt.datetime
    fence: int
    finished: dt.datetime


def last_success(tx: Transaction, job: str) -> Success | None:
    columns = (runs.c.id, runs.c.slot, runs.c.fence, runs.c.finished)
    latest = sa.select(*columns).where(runs.c.job == job, *SUCCESS).order_by(runs.c.fence.desc()).limit(1)
    row = tx.connection.execute(latest).one_or_none()
    return None if row is None else Success(*row)


def last_of_each(tx: Transaction, jobs: Collection[str]) -> dict[str, dt.datetime]:
    """Return when the last success of each of these jobs ended; jobs without one are missing."""
    if not jobs:
        return {}
    wanted = sa.values(sa.column("job", runs.c.job.type), name="wanted").data([(job,) for job in jobs]).cte("wanted")
    latest = (
        sa.select(runs.c.finished)
        .where(runs.c.job == wanted.c.job, *SUCCESS)
        .order_by(runs.c.fence.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = sa.select(wanted.c.job, latest.label("finished"))
    return {row.job: row.finished for row in tx.connection.execute(query) if row.finished is not None}


@dataclass(frozen=True)
class Expectation:
    """A job that must succeed within a time, counted from `since` at the earliest; None while it is paused."""

    job: str
    since: dt.datetime | None
    succeeded: dt.datetime | None


def expected(tx: Transaction) -> dict[str, Expectation]:
    latest = (
        sa.select(runs.c.finished)
        .where(runs.c.job == expectations.c.job, *SUCCESS)
        .order_by(runs.c.fence.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = sa.select(expectations.c.job, expectations.c.since, latest.label("succeeded"))
    return {row.job: Expectation(*row) for row in tx.connection.execute(query)}


def expect(tx: Transaction, job: str, since: dt.datetime | None) -> None:
    insert = insert_for(tx, expectations)
    newer = insert.on_conflict_do_update(index_elements=["job"], set_={"since": insert.excluded.since})
    tx.connection.execute(newer, {"job": job, "since": since})


def expect_no_more(tx: Transaction, jobs: Collection[str]) -> None:
    tx.connection.execute(sa.delete(expectations).where(expectations.c.job.in_(list(jobs))))
