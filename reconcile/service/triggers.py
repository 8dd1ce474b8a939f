"""Triggers of a job other than time: other jobs that succeeded, files that arrived or changed, a request.

Each records a slot of the job, at most one per cause, in the given transaction; the scheduler calls the first two at
every tick.

After other jobs: a job is due when each job it waits for has fully succeeded since it was last made due; successes
before it first waited do not count. Its slot is the latest slot of those runs. If one of them succeeds twice before
another succeeds once, there is one run, for the latest. Files: a job is due when the files of a dataset changed and
then stayed the same for a moment, so files still being written are left alone; files present when the watch began do
not count, nor do deleted ones. While a run of such a trigger has not begun, further triggers wait or are covered by
it: it sees everything present when it begins.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from connectors.base import Source, Watchable
from connectors.errors import ConnectorError
from reconcile.audit import log
from reconcile.config.settings import JobConfig, Project
from reconcile.errors import Wrong
from reconcile.messages import troubles
from reconcile.schedule.slots import run_id, slot_text
from reconcile.store import Transaction
from reconcile.store import slots as stored_slots
from reconcile.store import triggers as stored
from reconcile.store import troubles as stored_troubles
from reconcile.store.columns import json_text
from reconcile.store.slots import NewSlot
from reconcile.store.triggers import WatchedDataset, last_success


@dataclass(frozen=True)
class WatchedState:
    """The state of a watched dataset at a moment of this process's clock: a digest of its files, None without any.

    `problem` is set if it could not be read.
    """

    at: float
    state: str | None = None
    problem: ConnectorError | None = None


States = Mapping[str, WatchedState]
"""The latest snapshot of each watched dataset, by its name."""

SETTLE = dt.timedelta(seconds=2)
_LONGEST_CAUSE = 120
_LONGEST_KEY = 200
_TICK = dt.timedelta(microseconds=1)


class RequestKeyRefused(Wrong):
    """The key of a request is invalid."""

    def __init__(self, why: str) -> None:
        super().__init__(f"--key {why}; use up to {_LONGEST_KEY} visible characters, like 2026-11-21 or an id")


@dataclass(frozen=True)
class RequestedRun:
    """A requested run. `is_new`: the first request with this key; `status` is its slot's."""

    job: str
    run: str
    slot: dt.datetime
    status: str
    is_new: bool


# After other jobs


def after_jobs(tx: Transaction, project: Project) -> None:
    """Record slots due after other jobs, as the module describes. It reads the store once if nothing is due."""
    waits = {(job.name, predecessor) for job in project.jobs.values() for predecessor in job.after}
    answered = stored.answered(tx)
    stored.forget_awaited(tx, sorted(answered.keys() - waits))
    for name, predecessor in sorted(waits - answered.keys()):
        success = last_success(tx, predecessor)
        stored.answer(tx, name, predecessor, success.fence if success else 0)
    for job in project.jobs.values():
        is_due = bool(job.after) and all(answered.get((job.name, predecessor), False) for predecessor in job.after)
        if is_due and not stored.has_untried(tx, job.name, "after"):
            _record_due_after(tx, project, job)


def _record_due_after(tx: Transaction, project: Project, job: JobConfig) -> None:
    successes = {name: success for name in job.after if (success := last_success(tx, name)) is not None}
    cause = "after:" + ",".join(sorted(success.run for success in successes.values()))
    if len(cause) > _LONGEST_CAUSE:
        cause = f"after:{hashlib.sha256(cause.encode()).hexdigest()}"
    _record(tx, project, job, max(success.slot for success in successes.values()), cause)
    for name, success in successes.items():
        stored.answer(tx, job.name, name, success.fence)


# Files


def states(project: Project, sources: Mapping[str, Source], clock: Callable[[], float] = time.monotonic) -> States:
    """Take a snapshot of each watched dataset. Call it outside a transaction: a network disk may be slow."""
    return {name: _snapshot(project, sources, name, clock) for name in _watched(project)}


def _snapshot(
    project: Project, sources: Mapping[str, Source], dataset: str, clock: Callable[[], float]
) -> WatchedState:
    chosen = project.datasets[dataset]
    source = sources[chosen.source]
    assert isinstance(source, Watchable)  # noqa: S101 - the configuration checks it
    at = clock()  # before reading: the next snapshot sees changes made meanwhile
    try:
        return WatchedState(at, source.state(chosen.settings))
    except ConnectorError as error:
        return WatchedState(at, problem=error)


def _watched(project: Project) -> Sequence[str]:
    return sorted({dataset for job in project.jobs.values() for dataset in job.watch})


def files(tx: Transaction, project: Project, snapshots: States, clock: Callable[[], float] = time.monotonic) -> None:
    """Record slots due to changed files in these `states`, as the module describes.

    A dataset without a snapshot stays unchanged. One that could not be read is a trouble.
    """
    watches = stored.watched(tx)
    configured = {(job.name, dataset) for job in project.jobs.values() for dataset in job.watch}
    stored.forget_watches(tx, sorted(watches.keys() - configured))
    for job in project.jobs.values():
        is_due, digests = False, {}
        for name in job.watch:
            watch = watches.get((job.name, name))
            after = _updated(snapshots.get(name), watch, WatchedDataset(job.name, name, None, tx.now), clock())
            if after != watch and after is not None:
                stored.keep_watch(tx, after)
            is_due |= watch is not None and after is not None and after.digest != watch.digest
            digests[name] = after.digest if after else None
        if is_due and not stored.has_untried(tx, job.name, "file"):
            cause = hashlib.sha256(json_text([job.name, digests]).encode()).hexdigest()
            _record(tx, project, job, tx.now, f"file:{cause}")
    if configured or watches:
        _report_unreadable(tx, project, snapshots)


def _updated(
    snapshot: WatchedState | None, watch: WatchedDataset | None, fresh: WatchedDataset, clock: float
) -> WatchedDataset | None:
    """A watch after a snapshot; its digest changes when the files changed and settled. `fresh` is a new watch."""
    if snapshot is None or snapshot.problem is not None:
        return watch
    if watch is None:
        return replace(fresh, digest=snapshot.state)
    if snapshot.state is None or snapshot.state == watch.digest:
        return replace(watch, pending=None, pending_since=None)
    at = fresh.seen_at - dt.timedelta(seconds=max(clock - snapshot.at, 0))
    since = watch.pending_since
    if snapshot.state != watch.pending or since is None or since > at:
        return replace(watch, pending=snapshot.state, pending_since=at)
    return watch if at - since < SETTLE else replace(fresh, digest=snapshot.state)


def _report_unreadable(tx: Transaction, project: Project, snapshots: States) -> None:
    watched = _watched(project)
    reported = {trouble.subject for trouble in stored_troubles.ongoing(tx) if trouble.subject.startswith("watch:")}
    for name in watched:
        snapshot = snapshots.get(name)
        if snapshot is not None and snapshot.problem is not None:
            sentence = f"The files of dataset {name} cannot be watched, so changes start no job. {snapshot.problem}"
            troubles.begin(tx, project, f"watch:{name}", sentence)
        elif snapshot is not None and f"watch:{name}" in reported:
            troubles.end(tx, project, f"watch:{name}", f"The files of dataset {name} are watched again.")
    for subject in sorted(reported - {f"watch:{name}" for name in watched}):
        name = subject.removeprefix("watch:")
        troubles.end(tx, project, subject, f"No job watches the files of dataset {name} now.")


# A request


def request(tx: Transaction, project: Project, job: str, key: str | None = None, *, by: str) -> RequestedRun:
    """Make a job due now on request; the same key twice is one run. Raises RequestKeyRefused.

    `job` is one of the project's. If it is paused, the request waits.
    """
    if key is not None and (not key or len(key) > _LONGEST_KEY or not key.isprintable()):
        raise RequestKeyRefused(
            "is empty" if not key else "is too long" if len(key) > _LONGEST_KEY else "is not readable"
        )
    cause = f"request:{secrets.token_hex(8) if key is None else key}"
    existing = stored.slot_by_cause(tx, job, cause)
    slot = tx.now
    while existing is None:
        _record(tx, project, project.jobs[job], slot, cause)
        recorded = stored.slot_by_cause(tx, job, cause)
        if recorded is not None and recorded.slot == slot:
            body = {"job": job, "run": run_id(job, slot), "slot": slot_text(slot)}
            log.append(tx, by, "slot.requested", f"job:{job}", body)
            return RequestedRun(job, run_id(job, slot), slot, recorded.status, is_new=True)
        existing, slot = recorded, slot + _TICK
    return RequestedRun(job, run_id(job, existing.slot), existing.slot, existing.status, is_new=False)


# All of them


def sources_of(project: Project, job: JobConfig) -> tuple[str, ...]:
    """The sources its rules read, each once."""
    datasets = (dataset for name in job.rules for dataset in project.rules[name].datasets)
    return tuple(dict.fromkeys(project.datasets[dataset].source for dataset in datasets))


def _record(tx: Transaction, project: Project, job: JobConfig, slot: dt.datetime, cause: str) -> None:
    sources = sources_of(project, job)
    new_slot = NewSlot(job.name, slot, cause, start_at=tx.now, priority=job.priority, sources=sources)
    stored_slots.write_down(tx, [new_slot])
