"""Due times in the store: each job's last seen schedule, and every slot with its outcome."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa

from reconcile.store import unchanged_runs
from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import schedules, slots

OPEN = ("due", "running")
OVER = ("succeeded", "failed", "missed")
_CLAIMS = 0x7265636F6E636C6D  # the advisory lock that serialises taking slots, so that shares are counted


@dataclass(frozen=True)
class ScheduleRow:
    """A job's last seen schedule."""

    job: str
    revision: str
    since: dt.datetime
    watermark: dt.datetime


@dataclass(frozen=True)
class NewSlot:
    """A new slot: due, or `missed` with its reason. `cause` makes it due once per job."""

    job: str
    slot: dt.datetime
    cause: str
    start_at: dt.datetime
    priority: int = 0
    sources: tuple[str, ...] = ()
    tzdata: str | None = None
    missed: str | None = None


@dataclass(frozen=True)
class SlotRow:
    """A stored slot."""

    job: str
    slot: dt.datetime
    cause: str
    status: str
    reason: str | None
    priority: int
    start_at: dt.datetime
    attempts: int
    sources: tuple[str, ...]
    owner: Any
    fence: int
    lease_until: dt.datetime
    created_at: dt.datetime
    ended_at: dt.datetime | None

    @property
    def trigger(self) -> str:
        """The trigger, as in a run's row: schedule, after, file or request."""
        return self.cause.partition(":")[0]


_COLUMNS = tuple(slots.c[name] for name in SlotRow.__dataclass_fields__)


def _row(row: sa.Row[Any]) -> SlotRow:
    slot_row = SlotRow(**row._asdict())
    return replace(slot_row, sources=tuple(slot_row.sources))


# Schedules


def schedule_rows(tx: Transaction) -> dict[str, ScheduleRow]:
    query = sa.select(schedules.c.job, schedules.c.revision, schedules.c.since, schedules.c.watermark)
    return {row.job: ScheduleRow(*row) for row in tx.connection.execute(query)}


def keep_schedule(tx: Transaction, row: ScheduleRow) -> None:
    insert = insert_for(tx, schedules)
    newer = {name: insert.excluded[name] for name in ("revision", "since", "watermark")}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["job"], set_=newer), asdict(row))


def forget_schedules(tx: Transaction, jobs: Iterable[str]) -> None:
    tx.connection.execute(sa.delete(schedules).where(schedules.c.job.in_(list(jobs))))


# Slots


def write_down(tx: Transaction, new: Sequence[NewSlot]) -> None:
    """Store slots; one with an existing time or cause is not changed."""
    rows = [
        {
            "job": slot.job,
            "slot": slot.slot,
            "cause": slot.cause,
            "tzdata": slot.tzdata,
            "status": "due" if slot.missed is None else "missed",
            "reason": slot.missed,
            "priority": slot.priority,
            "start_at": slot.start_at,
            "attempts": 0,
            "sources": list(slot.sources),
            "fence": 0,
            "lease_until": tx.now,
            "created_at": tx.now,
            "ended_at": None if slot.missed is None else tx.now,
        }
        for slot in new
    ]
    if rows:
        tx.connection.execute(insert_for(tx, slots).on_conflict_do_nothing(), rows)


def get(tx: Transaction, job: str, slot: dt.datetime) -> SlotRow | None:
    row = tx.connection.execute(sa.select(*_COLUMNS).where(slots.c.job == job, slots.c.slot == slot)).one_or_none()
    return None if row is None else _row(row)


def listed(
    tx: Transaction, *, job: str | None = None, statuses: Sequence[str] = (), limit: int | None = None
) -> list[SlotRow]:
    """Return slots, the newest first."""
    query = sa.select(*_COLUMNS).order_by(slots.c.slot.desc(), slots.c.job).limit(limit)
    if job is not None:
        query = query.where(slots.c.job == job)
    if statuses:
        query = query.where(slots.c.status.in_(statuses))
    return [_row(row) for row in tx.connection.execute(query)]


def kept(tx: Transaction, job: str, since: dt.datetime) -> set[dt.datetime | str]:
    """Return the times and causes of the job's slots from this time on."""
    return _names(tx, slots.c.job == job, slots.c.slot >= since) | unchanged_runs.since(tx, job, since)


def decided(tx: Transaction, job: str, since: dt.datetime) -> set[dt.datetime | str]:
    """Return the times and causes of the job's slots from this time on that are no longer due."""
    named = _names(tx, slots.c.job == job, slots.c.slot >= since, slots.c.status != "due")
    return named | unchanged_runs.since(tx, job, since)


def _names(tx: Transaction, *which: sa.ColumnElement[bool]) -> set[dt.datetime | str]:
    rows = tx.connection.execute(sa.select(slots.c.slot, slots.c.cause).where(*which))
    return {name for row in rows for name in row}


def waiting(tx: Transaction, job: str) -> list[SlotRow]:
    """Return the due slots of a job, oldest first."""
    query = sa.select(*_COLUMNS).where(slots.c.job == job, slots.c.status == "due").order_by(slots.c.slot)
    return [_row(row) for row in tx.connection.execute(query)]


def anything_to_do(tx: Transaction) -> bool:
    """Return True if a slot may start now, or one is running."""
    ready = sa.or_(sa.and_(slots.c.status == "due", slots.c.start_at <= tx.now), slots.c.status == "running")
    return bool(tx.connection.execute(sa.select(sa.exists().where(ready))).scalar())


def oldest_due(tx: Transaction) -> dt.datetime | None:
    """Return the start time of the slot that has waited longest; None if none waits."""
    first = sa.func.min(slots.c.start_at, type_=slots.c.start_at.type)
    oldest: dt.datetime | None = tx.connection.execute(
        sa.select(first).where(slots.c.status == "due", slots.c.start_at <= tx.now)
    ).scalar_one()
    return oldest


def counts(tx: Transaction, since: dt.datetime) -> dict[str, int]:
    """Count open slots, and those of OVER that began at this time or later, by status."""
    counted = sa.or_(slots.c.status.in_(OPEN), sa.and_(slots.c.status.in_(OVER), slots.c.start_at >= since))
    query = sa.select(slots.c.status, sa.func.count().label("slots")).where(counted).group_by(slots.c.status)
    return dict.fromkeys((*OPEN, *OVER), 0) | {row.status: row.slots for row in tx.connection.execute(query)}


def tzdata_of_due(tx: Transaction) -> list[str]:
    """Return the versions of the time zone data with which due times were computed."""
    query = sa.select(slots.c.tzdata).where(slots.c.status == "due", slots.c.tzdata.is_not(None)).distinct()
    return sorted(tx.connection.execute(query).scalars())


def take_turns(tx: Transaction) -> None:
    """Serialise processes that take slots until the transaction ends."""
    if tx.store.is_shared:
        tx.connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _CLAIMS})


def running(tx: Transaction) -> list[SlotRow]:
    return [_row(row) for row in tx.connection.execute(sa.select(*_COLUMNS).where(slots.c.status == "running"))]


def ready(tx: Transaction) -> list[SlotRow]:
    """Return due slots that may start, the most urgent first."""
    query = (
        sa.select(*_COLUMNS)
        .where(slots.c.status == "due", slots.c.start_at <= tx.now)
        .order_by(slots.c.priority.desc(), slots.c.start_at, slots.c.slot, slots.c.job)
    )
    return [_row(row) for row in tx.connection.execute(query)]


def take(tx: Transaction, row: SlotRow, owner: Mapping[str, Any], until: dt.datetime) -> SlotRow | None:
    """Claim a due slot for this process; return None if it changed meanwhile."""
    values = {
        "status": "running",
        "owner": dict(owner),
        "lease_until": until,
        "attempts": slots.c.attempts + 1,
        "fence": slots.c.fence + 1,
        "reason": None,
    }
    updated = tx.connection.execute(_as_it_was(row).values(values).returning(*_COLUMNS)).one_or_none()
    return None if updated is None else _row(updated)


def renew(tx: Transaction, row: SlotRow, owner: Mapping[str, Any], until: dt.datetime) -> bool:
    """Renew the lease; return False if the slot no longer belongs to this process."""
    return _changed(tx, row, owner=dict(owner), lease_until=until)


def end(tx: Transaction, row: SlotRow, status: str, reason: str | None = None) -> bool:
    """End a slot; return False if it changed meanwhile."""
    return _changed(tx, row, status=status, reason=reason, owner=None, ended_at=tx.now)


def again(tx: Transaction, row: SlotRow, start_at: dt.datetime, reason: str | None, *, count: bool = True) -> bool:
    """Schedule a slot again from `start_at` on; without `count` this attempt is not counted."""
    attempts = row.attempts if count else row.attempts - 1
    return _changed(tx, row, status="due", reason=reason, owner=None, start_at=start_at, attempts=attempts)


def _as_it_was(row: SlotRow) -> Any:
    return sa.update(slots).where(
        slots.c.job == row.job, slots.c.slot == row.slot, slots.c.fence == row.fence, slots.c.status == row.status
    )


def _changed(tx: Transaction, row: SlotRow, **values: Any) -> bool:
    return tx.connection.execute(_as_it_was(row).values(values)).rowcount == 1
