"""What makes a job due beside the time: other jobs that succeeded, files that arrived or changed, a request.

Each writes down a slot of the job, at most one for one cause, in the transaction it is given; the first two are called
at every tick by whoever holds the scheduler's lease.

After other jobs: a job is due when each job it waits for has succeeded anew, as a whole, since it was last made due;
what succeeded before it first waited does not count. Its slot is the latest slot of those runs. Where one of them
succeeds twice before another does once, there is one run, for the latest. Files: a job is due when what a dataset
names has changed and then stayed the same for a moment, so that a file being written is let be; what was there when
the watch began does not count, nor that files went. While a run that such a trigger made due has still to begin,
further ones wait or are covered by it: it sees all that is there when it begins.
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
from reconcile.messages import troubles
from reconcile.schedule.slots import run_id, slot_text
from reconcile.store import Transaction
from reconcile.store import slots as stored_slots
from reconcile.store import triggers as stored
from reconcile.store.columns import json_text
from reconcile.store.slots import NewSlot
from reconcile.store.successes import last_success
from reconcile.store.triggers import Watch


@dataclass(frozen=True)
class Look:
    """How a watched dataset looked at a moment of this process's clock: a digest of its files, None without any.

    `problem` is why that cannot be told.
    """

    at: float
    state: str | None = None
    problem: ConnectorError | None = None


States = Mapping[str, Look]
"""The latest look at each watched dataset, by its name."""

SETTLE = dt.timedelta(seconds=2)
_LONGEST_CAUSE = 120
_LONGEST_KEY = 200
_TICK = dt.timedelta(microseconds=1)


class KeyRefused(ValueError):
    """The key of a request cannot be kept."""

    def __init__(self, why: str) -> None:
        super().__init__(f"--key {why}; use up to {_LONGEST_KEY} visible characters, like 2026-11-21 or an id")


@dataclass(frozen=True)
class Requested:
    """A run that was asked for. `is_new`: not asked for before with this key; `status` is its slot's."""

    job: str
    run: str
    slot: dt.datetime
    status: str
    is_new: bool


# After other jobs


def after_jobs(tx: Transaction, project: Project) -> None:
    """Write down what is due after other jobs; see the module's text. One look at the store where nothing is."""
    wanted = {(job.name, other) for job in project.jobs.values() for other in job.after}
    known = stored.answered(tx)
    stored.forget_awaited(tx, sorted(known.keys() - wanted))
    for job, other in sorted(wanted - known.keys()):
        before = last_success(tx, other)
        stored.answer(tx, job, other, before.fence if before else 0)
    for one in project.jobs.values():
        is_due = bool(one.after) and all(known.get((one.name, other), False) for other in one.after)
        if is_due and not stored.has_untried(tx, one.name, "after"):
            _come_due_after(tx, project, one)


def _come_due_after(tx: Transaction, project: Project, job: JobConfig) -> None:
    found = {other: success for other in job.after if (success := last_success(tx, other)) is not None}
    cause = "after:" + ",".join(sorted(one.run for one in found.values()))
    if len(cause) > _LONGEST_CAUSE:
        cause = f"after:{hashlib.sha256(cause.encode()).hexdigest()}"
    _write_down(tx, project, job, max(one.slot for one in found.values()), cause)
    for other, success in found.items():
        stored.answer(tx, job.name, other, success.fence)


# Files


def states(project: Project, sources: Mapping[str, Source], clock: Callable[[], float] = time.monotonic) -> States:
    """How the datasets that jobs watch look now. Call it outside a transaction: a disk on a network may be slow."""
    return {name: _look(project, sources, name, clock) for name in _watched(project)}


def _look(project: Project, sources: Mapping[str, Source], dataset: str, clock: Callable[[], float]) -> Look:
    chosen = project.datasets[dataset]
    source = sources[chosen.source]
    assert isinstance(source, Watchable)  # noqa: S101 - the configuration was refused otherwise
    at = clock()  # before it looks: what changes meanwhile is seen by the next look
    try:
        return Look(at, source.state(chosen.settings))
    except ConnectorError as error:
        return Look(at, problem=error)


def _watched(project: Project) -> Sequence[str]:
    return sorted({dataset for job in project.jobs.values() for dataset in job.watch})


def files(tx: Transaction, project: Project, seen: States, clock: Callable[[], float] = time.monotonic) -> None:
    """Write down what is due because files changed, as `states` saw them; see the module's text.

    A dataset that `seen` does not name stays as it is. One that cannot be looked at is a trouble.
    """
    known = stored.watched(tx)
    wanted = {(job.name, dataset) for job in project.jobs.values() for dataset in job.watch}
    stored.forget_watches(tx, sorted(known.keys() - wanted))
    for job in project.jobs.values():
        taken, digests = False, {}
        for name in job.watch:
            before = known.get((job.name, name))
            after = _after(seen.get(name), before, Watch(job.name, name, None, tx.now), clock())
            if after != before and after is not None:
                stored.keep_watch(tx, after)
            taken |= before is not None and after is not None and after.digest != before.digest
            digests[name] = after.digest if after else None
        if taken and not stored.has_untried(tx, job.name, "file"):
            cause = hashlib.sha256(json_text([job.name, digests]).encode()).hexdigest()
            _write_down(tx, project, job, tx.now, f"file:{cause}")
    if wanted or known:
        _tell_who_cannot_be_seen(tx, project, seen)


def _after(look: Look | None, known: Watch | None, now: Watch, clock: float) -> Watch | None:
    """A watch after a look; its digest is another one when the files changed and have settled. `now` is a new one."""
    if look is None or look.problem is not None:
        return known
    if known is None:
        return replace(now, digest=look.state)
    if look.state is None or look.state == known.digest:
        return replace(known, pending=None, pending_since=None)
    at = now.seen_at - dt.timedelta(seconds=max(clock - look.at, 0))
    since = known.pending_since
    if look.state != known.pending or since is None or since > at:
        return replace(known, pending=look.state, pending_since=at)
    return known if at - since < SETTLE else replace(now, digest=look.state)


def _tell_who_cannot_be_seen(tx: Transaction, project: Project, seen: States) -> None:
    watched = _watched(project)
    told = {one.subject for one in troubles.going_on(tx) if one.subject.startswith("watch:")}
    for name in watched:
        look = seen.get(name)
        if look is not None and look.problem is not None:
            sentence = f"The files of dataset {name} cannot be watched, so no change starts a job. {look.problem}"
            troubles.begin(tx, project, f"watch:{name}", sentence)
        elif look is not None and f"watch:{name}" in told:
            troubles.end(tx, project, f"watch:{name}")
    for subject in sorted(told - {f"watch:{name}" for name in watched}):
        troubles.end(tx, project, subject, "Nothing watches them any more.")


# A request


def request(tx: Transaction, project: Project, job: str, key: str | None = None, *, by: str) -> Requested:
    """Make a job due now because somebody asks; the same key twice is one run. Raises KeyRefused.

    `job` is one of the project's. Whether it is paused is not looked at: the request then waits.
    """
    if key is not None and (not key or len(key) > _LONGEST_KEY or not key.isprintable()):
        raise KeyRefused("is empty" if not key else "is too long" if len(key) > _LONGEST_KEY else "cannot be kept")
    cause = f"request:{secrets.token_hex(8) if key is None else key}"
    before = stored.slot_by_cause(tx, job, cause)
    slot = tx.now
    while before is None:
        _write_down(tx, project, project.jobs[job], slot, cause)
        found = stored.slot_by_cause(tx, job, cause)
        if found is not None and found.slot == slot:
            body = {"job": job, "run": run_id(job, slot), "slot": slot_text(slot)}
            log.append(tx, by, "slot.requested", f"job:{job}", body)
            return Requested(job, run_id(job, slot), slot, found.status, is_new=True)
        before, slot = found, slot + _TICK
    return Requested(job, run_id(job, before.slot), before.slot, before.status, is_new=False)


# All of them


def sources_of(project: Project, job: JobConfig) -> tuple[str, ...]:
    """The sources its rules read, each once."""
    return tuple(dict.fromkeys(project.datasets[project.rules[name].dataset].source for name in job.rules))


def _write_down(tx: Transaction, project: Project, job: JobConfig, slot: dt.datetime, cause: str) -> None:
    sources = sources_of(project, job)
    new = NewSlot(job.name, slot, cause, start_at=tx.now, priority=job.priority, sources=sources)
    stored_slots.write_down(tx, [new])
