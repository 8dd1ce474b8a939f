"""Triggers in the store: answered successes, last seen files, requests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store.database import Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.successes import SUCCESS
from reconcile.store.tables import awaited, runs, slots, watches

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
class Watch:
    """A watched dataset of a job: its files when a run was last made due for them, and their state since then."""

    job: str
    dataset: str
    digest: str | None
    seen_at: dt.datetime
    pending: str | None = None
    pending_since: dt.datetime | None = None


def watched(tx: Transaction) -> dict[Pair, Watch]:
    columns = (watches.c[name] for name in Watch.__dataclass_fields__)
    return {(row.job, row.dataset): Watch(*row) for row in tx.connection.execute(sa.select(*columns))}


def keep_watch(tx: Transaction, watch: Watch) -> None:
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
