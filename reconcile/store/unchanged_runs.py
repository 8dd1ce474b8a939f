"""Old runs that changed nothing: one row for each day of a job, which still names every slot, so that none runs again.

The slots of a row are spans [first, step, count], in microseconds since 1970: a job a minute has one span a day.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.runs import RunRow
from reconcile.store.tables import dataset_stats, releases, run_rules, runs, slots, unchanged_runs
from rules.values import canonical_instant

Span = tuple[int, int, int]
"""First, step, count: evenly spaced slots, in microseconds since 1970."""


@dataclass(frozen=True)
class UnchangedRuns:
    """The runs of a job in one day (of UTC) that changed nothing. `summary` is that of the one with the latest slot."""

    job: str
    day: str
    release: str
    runs: int
    slots: Sequence[Span]
    first_slot: dt.datetime
    last_slot: dt.datetime
    started: dt.datetime
    finished: dt.datetime
    summary: Any


def fold(tx: Transaction, ids: Sequence[str], shortened: Callable[[Any], Any]) -> int:
    """Replace these runs, with their checkpoints, counts and slots, by a row a day; return how many still existed.

    `shortened` returns what is kept of a summary.
    """
    locked = sa.select(releases.c.hash).where(releases.c.hash.in_(sa.select(runs.c.release).where(runs.c.id.in_(ids))))
    tx.connection.execute(locked.order_by(releases.c.hash).with_for_update(key_share=True))  # one process at a time
    tx.connection.execute(sa.delete(run_rules).where(run_rules.c.run.in_(ids)))
    tx.connection.execute(sa.delete(dataset_stats).where(dataset_stats.c.run.in_(ids)))
    deleted = sa.delete(runs).where(runs.c.id.in_(ids)).returning(*_RUN)  # each is counted by one process
    days: dict[tuple[str, str, str], list[RunRow]] = defaultdict(list)
    for run in itertools.starmap(RunRow, tx.connection.execute(deleted).all()):
        days[run.job, run.slot.date().isoformat(), run.release].append(run)
    for (job, day, release), of_day in sorted(days.items()):
        _add(tx, job, day, release, of_day, shortened)
    return sum(map(len, days.values()))


def _add(
    tx: Transaction, job: str, day: str, release: str, of_day: Sequence[RunRow], shortened: Callable[[Any], Any]
) -> None:
    existing = tx.connection.execute(_OF_DAY, {"job": job, "day": day, "release": release}).one_or_none()
    before = None if existing is None else UnchangedRuns(*existing)
    latest = max(of_day, key=lambda run: run.slot)
    times = [run.slot for run in of_day] + ([] if before is None else list(_instants(before.slots)))
    started = [run.started for run in of_day] + ([] if before is None else [before.started])
    finished = [run.finished or run.started for run in of_day] + ([] if before is None else [before.finished])
    row = {
        "runs": len(times),
        "slots": _spans(times),
        "first_slot": min(times),
        "last_slot": max(times),
        "started": min(started),
        "finished": max(finished),
        "summary": shortened(latest.summary) if before is None or before.last_slot < latest.slot else before.summary,
    }
    insert = insert_for(tx, unchanged_runs).on_conflict_do_update(index_elements=["job", "day", "release"], set_=row)
    tx.connection.execute(insert, {"job": job, "day": day, "release": release} | row)
    gone = sa.delete(slots).where(slots.c.job == job, slots.c.slot.in_([run.slot for run in of_day]))
    kept = slots.c.cause.startswith("request:")  # its key must stay, so that it is no new request
    tx.connection.execute(gone.where(slots.c.status == "succeeded", ~kept))


def of_slot(tx: Transaction, run: str, job: str, slot: dt.datetime) -> RunRow | None:
    """Return the run of this slot with the counts and times of its day; None if no row has the slot."""
    query = _ROWS.where(unchanged_runs.c.job == job, unchanged_runs.c.day == slot.astimezone(dt.UTC).date().isoformat())
    rows = itertools.starmap(UnchangedRuns, tx.connection.execute(query).all())
    return next((_run_row(row, run, slot) for row in rows if slot in set(_instants(row.slots))), None)


def _run_row(row: UnchangedRuns, run: str, slot: dt.datetime) -> RunRow:
    summary = {**row.summary, "run": run, "slot": canonical_instant(slot)}
    return RunRow(run, row.job, slot, row.release, "", "succeeded", 1, row.started, row.finished, summary)


def since(tx: Transaction, job: str, slot: dt.datetime) -> set[dt.datetime]:
    """Return the slots of the job from this time on."""
    query = _ROWS.where(unchanged_runs.c.job == job, unchanged_runs.c.last_slot >= slot)
    rows = itertools.starmap(UnchangedRuns, tx.connection.execute(query).all())
    return {instant for row in rows for instant in _instants(row.slots) if instant >= slot}


def listed(tx: Transaction, job: str | None, limit: int) -> list[UnchangedRuns]:
    """Return the latest days, newest first."""
    query = _ROWS.order_by(unchanged_runs.c.last_slot.desc(), unchanged_runs.c.job).limit(limit)
    if job is not None:
        query = query.where(unchanged_runs.c.job == job)
    return list(itertools.starmap(UnchangedRuns, tx.connection.execute(query)))


def _spans(times: Iterable[dt.datetime]) -> list[Span]:
    """Return these times as few spans: the longest even row from each time on."""
    ordered = sorted({(instant - _EPOCH) // _MICROSECOND for instant in times})
    spans: list[Span] = []
    for instant in ordered:
        if spans:
            first, step, count = spans[-1]
            if count == 1 or instant == first + step * count:
                spans[-1] = (first, instant - first if count == 1 else step, count + 1)
                continue
        spans.append((instant, 0, 1))
    return spans


def _instants(spans: Iterable[Span]) -> Iterator[dt.datetime]:
    for first, step, count in spans:
        yield from (_EPOCH + (first + step * number) * _MICROSECOND for number in range(count))


_EPOCH, _MICROSECOND = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(microseconds=1)
_RUN = tuple(runs.c[name] for name in RunRow.__dataclass_fields__)
_ROWS = sa.select(*(unchanged_runs.c[name] for name in UnchangedRuns.__dataclass_fields__))
_OF_DAY = _ROWS.where(
    *(unchanged_runs.c[name] == sa.bindparam(name) for name in ("job", "day", "release"))
).with_for_update()
