"""Triggers in the store: answered successes, last seen files, requests.

Successes in the store: the last one of each job, and the jobs that must succeed in time.

The later of two runs of a job is the one with the higher fence: a clock can be set back, a fence never falls.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import awaited, expectations, runs, slots, watches

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


Pair = tuple[str, str]

# After other jobs


def answered(tx: Transaction) -> dict[Pair, bool]:
    """Return for each known (job, other job it runs after) if the other succeeded since the last answer."""
    later = sa.exists().where(runs.c.job == awaited.c.other, runs.c.fence > awaited.c.fence, *SUCCESS)
    query = sa.select(awaited.c.job, awaited.c.other, later.label("anew"))
    return {(row.job, row.other): bool(row.anew) for row in tx.connection.execute(query)}


def answer(tx: Transaction, job: str, other: str, fence: int) -> None:
    """Mark successes of the other job up to this fence as answered."""
    insert = insert_for(tx, awaited)
    newer = insert.on_conflict_do_update(index_elements=["job", "other"], set_={"fence": insert.excluded.fence})
    tx.connection.execute(newer, {"job": job, "other": other, "fence": fence})


def forget_awaited(tx: Transaction, pairs: Collection[Pair]) -> None:
    for job, other in pairs:
        tx.connection.execute(sa.delete(awaited).where(awaited.c.job == job, awaited.c.other == other))


# Files


@dataclass(frozen=True)
class WatchedDataset:
    """A watched dataset of a job: its files when a run was last made due for them, and their state since then."""

    job: str
    dataset: str
    digest: str | None
    seen_at: dt.datetime
    pending: str | None = None
    pending_since: dt.datetime | None = None


def watched(tx: Transaction) -> dict[Pair, WatchedDataset]:
    columns = (watches.c[name] for name in WatchedDataset.__dataclass_fields__)
    return {(row.job, row.dataset): WatchedDataset(*row) for row in tx.connection.execute(sa.select(*columns))}


def keep_watch(tx: Transaction, watch: WatchedDataset) -> None:
    insert = insert_for(tx, watches)
    newer = {name: insert.excluded[name] for name in ("digest", "seen_at", "pending", "pending_since")}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["job", "dataset"], set_=newer), asdict(watch))


def forget_watches(tx: Transaction, pairs: Collection[Pair]) -> None:
    for job, dataset in pairs:
        tx.connection.execute(sa.delete(watches).where(watches.c.job == job, watches.c.dataset == dataset))


# Slots


def has_untried(tx: Transaction, job: str, trigger: str) -> bool:
    """Return True if a run that this trigger made due has not begun yet: it will see all changes until then."""
    conditions = (slots.c.status == "due", slots.c.attempts == 0, slots.c.job == job)
    begins = slots.c.cause.startswith(f"{trigger}:", autoescape=True)
    return bool(tx.connection.execute(sa.select(sa.exists().where(*conditions, begins))).scalar())


def slot_by_cause(tx: Transaction, job: str, cause: str) -> sa.Row[Any] | None:
    """Return slot and status for this cause."""
    query = sa.select(*_SLOT).where(slots.c.job == job, slots.c.cause == cause)
    return tx.connection.execute(query).one_or_none()


_SLOT = tuple(slots.c[name] for name in ("slot", "status"))
