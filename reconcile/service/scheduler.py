"""Turn due times into slots: one process at a time, under a lease, records due slots; workers run them.

A tick reads two clocks, asks each schedule for the times due since its watermark, and records each as a slot: due, or
missed with the reason. A job has each slot once, by its time and by the wall time that names it, so a scheduler that
comes second, late, or after a clock change adds nothing. Slots from before a schedule was first seen, or last changed,
are never due.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from notifications.wording.words import plural
from reconcile.audit import log
from reconcile.config.settings import JobConfig, Project
from reconcile.coordination import clock, lease, releases
from reconcile.errors import Refused
from reconcile.messages import troubles
from reconcile.schedule.schedules import Schedule, Slot, start_delay, tzdata_version
from reconcile.service import triggers
from reconcile.store import Store, Transaction
from reconcile.store import slots as stored
from reconcile.store.slots import NewSlot, ScheduleRow, SlotRow
from rules.values import canonical_instant

LEASE = dt.timedelta(seconds=30)
ON_TIME = dt.timedelta(minutes=1)
"""A slot recorded within this time is not missed, whatever `catch_up` says."""

_SKIPPED = "no scheduler ran at this time, and `catch_up: skip` skips it"
_REPLACED = "a later due time replaced it before it could run"
_FAILED = "it could not be completed before the next due time"
_TOO_MANY = "no scheduler ran at this time, and `catch_up: all` runs only the latest {}"
_TRIGGER_REMOVED = "the job no longer has this trigger in the configuration"


class DueTimesMissed(Refused):
    """Some due times would never run if the clock is confirmed; nothing was changed."""

    def __init__(self, jump: clock.ClockJump, missed: Mapping[str, int]) -> None:
        jobs = ", ".join(f"{job} {count:,}" for job, count in missed.items())
        times = plural(sum(missed.values()), "due time", "due times")
        super().__init__(
            f"{jump.jump}. {times} would be missed ({jobs}); nothing was changed. "
            "If the clock is correct now, add --yes. Otherwise correct it first"
        )


class _AnotherRelease(Exception):
    """New runs use another release than this process has."""


@dataclass
class Scheduler:
    """Call `tick` at least every second; it does nothing unless this process is the scheduler.

    `host` is the time since boot, `watched` the states of watched datasets. Not safe to share between threads.
    """

    store: Store
    host: Callable[[], clock.HostTime] = clock.this_host
    watched: Callable[[Project], triggers.States] = lambda _project: {}
    _lease: lease.Lease | None = None
    _lease_ends: int = 0  # as `host` counts
    _renewed: dt.datetime | None = None
    _stood_back: dt.datetime | None = None
    _release: str = ""
    _next: dict[str, dt.datetime] = field(default_factory=dict)

    @property
    def leads(self) -> bool:
        """True while this process is the scheduler: its lease has not expired."""
        return self._lease is not None and self.host().ns < self._lease_ends

    def tick(self, project: Project) -> None:
        """Record due slots. Raises a StoreError; the next tick then does it."""
        if self._lease is None:
            if self._stands_back():
                return
            before = self.host().ns
            acquired = lease.acquire(self.store, "scheduler", LEASE)
            if isinstance(acquired, lease.LeaseHeld):
                return
            self._lease, self._renewed, self._release = acquired, None, ""
            self._lease_ends = _lease_end(before)
        try:
            self._tick(project, self._lease)
        except lease.LeaseLost:
            self._lease = None
        except _AnotherRelease:
            self.stop()

    def stop(self) -> None:
        """Release the lease, so another process can schedule at once."""
        own_lease, self._lease = self._lease, None
        if own_lease is not None:
            lease.give_back(self.store, own_lease)

    def _stands_back(self) -> bool:
        """True for a while after this process stood back, so a process with another release can take over."""
        if self._stood_back is None:
            return False
        with self.store.read() as tx:
            return dt.timedelta(0) <= tx.now - self._stood_back < LEASE

    def _tick(self, project: Project, own_lease: lease.Lease) -> None:
        """Record due slots. Most ticks find nothing and cost one read of the store; every few seconds one does more."""
        with self.store.read() as tx:
            now = tx.now
        is_quiet = all(now < at for at in self._next.values()) and project.release == self._release
        if is_quiet and self._renewed is not None and dt.timedelta(0) <= now - self._renewed < LEASE / 6:
            return
        before = self.host().ns
        self._lease, self._renewed = lease.renew(self.store, own_lease), now
        self._lease_ends = _lease_end(before)
        states = self.watched(project)
        with self.store.begin() as tx:
            lease.check(tx, self._lease)
            self._stand_back_for_another(tx, project)
            self._next = self._record_all_due(tx, project, states)
        self._release = project.release

    def _stand_back_for_another(self, tx: Transaction, project: Project) -> None:
        """Leave scheduling to a process with the current release. If none takes it, adopt our own release again."""
        current = releases.current(tx)
        if current is None or current.release == project.release:
            self._stood_back = None
        elif self._stood_back is None or current.held:
            self._stood_back = tx.now
            raise _AnotherRelease
        else:
            releases.adopt(tx, project, "reconcile")

    def _record_all_due(self, tx: Transaction, project: Project, states: triggers.States) -> dict[str, dt.datetime]:
        _check_clock(tx, project, self.host())
        if project.release != self._release:
            _update_schedules(tx, project)
        following = {}
        rows = stored.schedule_rows(tx)
        for job, schedule in _scheduled(project):
            row = rows[job.name]
            if self._next.get(job.name, tx.now) <= tx.now or row.watermark > tx.now:
                _record_due(tx, project, job, schedule, row)
            nearest = schedule.following(max(tx.now, row.since))
            if nearest is not None:
                following[job.name] = nearest.at
        triggers.after_jobs(tx, project)
        triggers.files(tx, project, states)
        return following


def _lease_end(renewed: int) -> int:
    """Return the end of a lease in nanoseconds since boot."""
    return renewed + round(LEASE.total_seconds() * 1e9)


@dataclass(frozen=True)
class Confirmed:
    """A clock jump that a person confirmed, and the number of due times of each job that became missed."""

    held: clock.ClockJump
    missed: Mapping[str, int]


def confirm_clock(tx: Transaction, project: Project, actor: str, *, lose: bool = False) -> Confirmed | None:
    """Confirm the time after a clock jump, and catch up the slots it jumped over as each job says.

    Returns None without a jump. Raises DueTimesMissed, unless `lose`, if some of them would never run.
    """
    jump = clock.confirm(tx, actor)
    if jump is None:
        return None
    troubles.end(tx, project, "clock", "The time is confirmed, and schedules continue.")
    rows = stored.schedule_rows(tx)
    missed = {}
    for job, schedule in _scheduled(project):
        if job.name in rows:
            after = max(rows[job.name].since, jump.before)
            missed[job.name] = _record(tx, project, job, schedule, list(schedule.due(after, jump.since)))
    missed = {job: count for job, count in missed.items() if count}
    if missed and not lose:
        raise DueTimesMissed(jump, missed)
    return Confirmed(jump, missed)


def next_due(tx: Transaction, job: JobConfig) -> Slot | None:
    """The job's next slot that will run, except slots recorded while the clock was ahead."""
    if job.schedule is None:
        return None
    row = stored.schedule_rows(tx).get(job.name)
    after = tx.now if row is None else max(tx.now, row.since)
    decided = stored.decided(tx, job.name, after)
    return next((slot for slot in job.schedule.ahead(after) if not decided & {slot.at, _cause(slot)}), None)


def _scheduled(project: Project) -> Iterator[tuple[JobConfig, Schedule]]:
    for job in project.jobs.values():
        if job.schedule is not None:
            yield job, job.schedule


def _check_clock(tx: Transaction, project: Project, host: clock.HostTime) -> None:
    """Check the clock. After a jump every schedule continues from now: earlier slots wait for a person."""
    known_jump = clock.held(tx)
    jump = clock.look(tx, host)
    if jump is None or jump == known_jump:
        return
    for row in stored.schedule_rows(tx).values():
        stored.keep_schedule(tx, replace(row, since=min(row.since, tx.now), watermark=tx.now))
    clock.shorten_waits(tx, project.longest_retry)
    troubles.begin(tx, project, "clock", jump.sentence)


def _update_schedules(tx: Transaction, project: Project) -> None:
    """Start new and changed schedules now; drop deleted ones with their waiting slots."""
    rows = stored.schedule_rows(tx)
    schedules = dict(_schedules_by_job(project))
    for name, schedule in schedules.items():
        if name not in rows or rows[name].revision != schedule.revision:
            stored.keep_schedule(tx, ScheduleRow(name, schedule.revision, tx.now, tx.now))
            body = {"job": name, "cron": schedule.cron, "timezone": schedule.timezone}
            log.append(tx, "reconcile", "schedule.taken_up", f"job:{name}", body)
    stored.forget_schedules(tx, set(rows) - set(schedules))
    for row in stored.listed(tx, statuses=("due",)):
        if row.job not in project.jobs or (row.trigger == "schedule" and row.job not in schedules):
            _drop(tx, row, _TRIGGER_REMOVED)


def _schedules_by_job(project: Project) -> Iterator[tuple[str, Schedule]]:
    for job, schedule in _scheduled(project):
        yield job.name, schedule


def _record_due(tx: Transaction, project: Project, job: JobConfig, schedule: Schedule, row: ScheduleRow) -> None:
    """Record the slots since the watermark; a watermark in the future comes from a clock that was set back."""
    after = max(row.since, min(row.watermark, tx.now))
    _record(tx, project, job, schedule, list(schedule.due(after, tx.now)))
    stored.keep_schedule(tx, replace(row, watermark=tx.now))


def _record(tx: Transaction, project: Project, job: JobConfig, schedule: Schedule, due_slots: Sequence[Slot]) -> int:
    """Record these slots as due or missed, and end older waiting slots they replace.

    Returns the number of slots that will not run because of this. An existing slot stays unchanged.
    """
    if not due_slots:
        return 0
    recorded = stored.kept(tx, job.name, due_slots[0].at)
    new = {slot.at: slot for slot in due_slots if not recorded & {slot.at, _cause(slot)}}
    missed = {slot.at: why for slot, why in _missed_slots(schedule, due_slots, tx.now) if slot.at in new}
    sources = triggers.sources_of(project, job)
    stored.write_down(tx, [_new_slot(job, schedule, slot, sources, missed.get(slot.at)) for slot in new.values()])
    if missed:
        span = {"from": canonical_instant(min(missed)), "to": canonical_instant(max(missed))}
        log.append(tx, "reconcile", "slot.missed", f"job:{job.name}", {"job": job.name, "slots": len(missed)} | span)
    too_old = _too_old(schedule, stored.waiting(tx, job.name))
    for replaced in too_old:
        _drop(tx, replaced, _REPLACED)
    return len(missed) + len(too_old)


def _missed_slots(schedule: Schedule, due_slots: Sequence[Slot], now: dt.datetime) -> Iterator[tuple[Slot, str]]:
    """The slots among these that will not run, with the reasons."""
    if schedule.catch_up == "skip":
        yield from ((slot, _SKIPPED) for slot in due_slots if now - slot.at > ON_TIME)
    elif schedule.catch_up == "all":
        yield from ((slot, _TOO_MANY.format(schedule.max)) for slot in due_slots[: -schedule.max])
    else:
        yield from ((slot, _REPLACED) for slot in due_slots[:-1])


def _too_old(schedule: Schedule, waiting: Sequence[SlotRow]) -> Sequence[SlotRow]:
    """Waiting slots of the schedule that newer ones replace."""
    keep = schedule.max if schedule.catch_up == "all" else 1
    return [row for row in waiting if row.trigger == "schedule"][:-keep]


def _drop(tx: Transaction, row: SlotRow, why: str) -> None:
    """End a waiting slot that will not run: missed, or failed if it was tried."""
    status, reason = ("failed", f"{_FAILED}: {row.reason}") if row.attempts else ("missed", why)
    if stored.end(tx, row, status, reason):
        body = {"job": row.job, "slot": canonical_instant(row.slot), "attempts": row.attempts}
        log.append(tx, "reconcile", f"slot.{status}", f"job:{row.job}", body)


def _new_slot(job: JobConfig, schedule: Schedule, slot: Slot, sources: tuple[str, ...], missed: str | None) -> NewSlot:
    return NewSlot(
        job=job.name,
        slot=slot.at,
        cause=_cause(slot),
        start_at=slot.at + start_delay(job.name, slot.at, schedule.jitter),
        priority=job.priority,
        sources=sources,
        tzdata=tzdata_version(),
        missed=missed,
    )


def _cause(slot: Slot) -> str:
    return f"schedule:{slot.nominal}/{slot.fold}"
