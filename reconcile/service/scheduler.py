"""Due times become slots: one process at a time, under a lease, writes down what is due; workers carry it out.

A tick reads two clocks, asks each schedule what came due since its watermark, and keeps every slot of that time: due,
or missed with the reason. A slot is there once for its job, by its time and by the wall time that names it, so a
scheduler that comes second, late, or after a clock change adds nothing. Slots of before a schedule was first seen, or
last changed, are never due.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from notifications.wording.words import plural
from reconcile.audit import log
from reconcile.config.settings import JobConfig, Project
from reconcile.coordination import clock, lease, releases
from reconcile.messages import troubles
from reconcile.schedule.schedules import Schedule, Slot, start_delay, tzdata_version
from reconcile.service import triggers
from reconcile.store import Store, Transaction
from reconcile.store import slots as stored
from reconcile.store.slots import NewSlot, ScheduleRow, SlotRow
from rules.values import canonical_instant

LEASE = dt.timedelta(seconds=30)
ON_TIME = dt.timedelta(minutes=1)
"""A slot written down within so long after its time was not missed, whatever `catch_up` says."""

_SKIPPED = "nothing ran at this time, and `catch_up: skip` lets it go"
_REPLACED = "a later due time took its place before it could run"
_FAILED = "it could not be completed before the next due time"
_TOO_MANY = "nothing ran at this time, and `catch_up: all` makes up for the latest {} only"
_GONE = "the job has no such trigger in the configuration any more"


class DueTimesMissed(Exception):
    """Confirming the clock would leave due times that never run; nothing was changed."""

    def __init__(self, held: clock.Held, missed: Mapping[str, int]) -> None:
        jobs = ", ".join(f"{job} {count:,}" for job, count in missed.items())
        times = plural(sum(missed.values()), "due time", "due times")
        super().__init__(
            f"{held.jump}. {times} would be missed ({jobs}); nothing was changed. "
            "If the clock is right now, add --yes. If it is wrong, set it right first"
        )


class _AnotherRelease(Exception):
    """New runs take another release than this process has."""


@dataclass
class Scheduler:
    """Call `tick` every second or less; it does nothing unless this process is the one that schedules.

    `host` is the time since boot, `watched` the states of watched datasets. Not safe to share between threads.
    """

    store: Store
    host: Callable[[], clock.HostTime] = clock.this_host
    watched: Callable[[Project], triggers.States] = lambda _project: {}
    _lease: lease.Lease | None = None
    _renewed: dt.datetime | None = None
    _stood_back: dt.datetime | None = None
    _release: str = ""
    _next: dict[str, dt.datetime] = field(default_factory=dict)

    @property
    def leads(self) -> bool:
        """Whether this is the process that schedules, as far as it knows."""
        return self._lease is not None

    def tick(self, project: Project) -> None:
        """Write down what came due. Raises a StoreError; the next tick then does it."""
        if self._lease is None:
            if self._leaves_it_to_others():
                return
            got = lease.acquire(self.store, "scheduler", LEASE)
            if isinstance(got, lease.Held):
                return
            self._lease, self._renewed, self._release = got, None, ""
        try:
            self._tick(project, self._lease)
        except lease.LeaseLost:
            self._lease = None
        except _AnotherRelease:
            self.stop()

    def stop(self) -> None:
        """Let another process schedule at once."""
        held, self._lease = self._lease, None
        if held is not None:
            lease.give_back(self.store, held)

    def _leaves_it_to_others(self) -> bool:
        """After it stood back for another release, a process whose time that is has a while to come."""
        if self._stood_back is None:
            return False
        with self.store.read() as tx:
            return dt.timedelta(0) <= tx.now - self._stood_back < LEASE

    def _tick(self, project: Project, held: lease.Lease) -> None:
        """Most ticks find nothing due, and then cost one look at the store; every few seconds there is more to see."""
        with self.store.read() as tx:
            now = tx.now
        is_quiet = all(now < at for at in self._next.values()) and project.release == self._release
        if is_quiet and self._renewed is not None and dt.timedelta(0) <= now - self._renewed < LEASE / 6:
            return
        self._lease, self._renewed = lease.renew(self.store, held), now
        states = self.watched(project)
        with self.store.begin() as tx:
            lease.check(tx, self._lease)
            self._stand_back_for_another(tx, project)
            self._next = self._all_that_is_due(tx, project, states)
        self._release = project.release

    def _stand_back_for_another(self, tx: Transaction, project: Project) -> None:
        """Whoever started last brought another release, and schedules it. If nobody does, it is ours again."""
        current = releases.current(tx)
        if current is None or current.release == project.release:
            self._stood_back = None
        elif self._stood_back is None or current.held:
            self._stood_back = tx.now
            raise _AnotherRelease
        else:
            releases.adopt(tx, project, "reconcile")

    def _all_that_is_due(self, tx: Transaction, project: Project, states: triggers.States) -> dict[str, dt.datetime]:
        _look_at_the_clock(tx, project, self.host())
        if project.release != self._release:
            _take_up(tx, project)
        following = {}
        known = stored.schedule_rows(tx)
        for job, schedule in _scheduled(project):
            row = known[job.name]
            if self._next.get(job.name, tx.now) <= tx.now or row.watermark > tx.now:
                _come_due(tx, project, job, schedule, row)
            nearest = schedule.following(max(tx.now, row.since))
            if nearest is not None:
                following[job.name] = nearest.at
        triggers.after_jobs(tx, project)
        triggers.files(tx, project, states)
        return following


@dataclass(frozen=True)
class Confirmed:
    """A jump of the clock that a person confirmed, and how many due times of each job became missed by that."""

    held: clock.Held
    missed: Mapping[str, int]


def confirm_clock(tx: Transaction, project: Project, actor: str, *, lose: bool = False) -> Confirmed | None:
    """Catch up the slots that the clock jumped over, as each job says; a person says that the time is right.

    None when no jump was held. Raises DueTimesMissed, unless `lose`, where some of them would never run.
    """
    was = clock.confirm(tx, actor)
    if was is None:
        return None
    troubles.end(tx, project, "clock")
    known = stored.schedule_rows(tx)
    missed = {}
    for job, schedule in _scheduled(project):
        if job.name in known:
            after = max(known[job.name].since, was.before)
            missed[job.name] = _write_down(tx, project, job, schedule, list(schedule.due(after, was.since)))
    missed = {job: count for job, count in missed.items() if count}
    if missed and not lose:
        raise DueTimesMissed(was, missed)
    return Confirmed(was, missed)


def next_due(tx: Transaction, job: JobConfig) -> Slot | None:
    """The job's next slot that will run: none that was decided while the clock was ahead."""
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


def _look_at_the_clock(tx: Transaction, project: Project, host: clock.HostTime) -> None:
    """After a jump every schedule goes on from now: what lies between is not due before a person has looked."""
    before = clock.held(tx)
    held = clock.look(tx, host)
    if held is None or held == before:
        return
    for row in stored.schedule_rows(tx).values():
        stored.keep_schedule(tx, replace(row, since=min(row.since, tx.now), watermark=tx.now))
    clock.let_go(tx, project.longest_retry)
    troubles.begin(tx, project, "clock", held.sentence)


def _take_up(tx: Transaction, project: Project) -> None:
    """Schedules that are new or changed begin now; those that are gone take their waiting slots with them."""
    known = stored.schedule_rows(tx)
    now_scheduled = dict(_named(project))
    for name, schedule in now_scheduled.items():
        if name not in known or known[name].revision != schedule.revision:
            stored.keep_schedule(tx, ScheduleRow(name, schedule.revision, tx.now, tx.now))
            body = {"job": name, "cron": schedule.cron, "timezone": schedule.timezone}
            log.append(tx, "reconcile", "schedule.taken_up", f"job:{name}", body)
    stored.forget_schedules(tx, set(known) - set(now_scheduled))
    for row in stored.listed(tx, statuses=("due",)):
        if row.job not in project.jobs or (row.trigger == "schedule" and row.job not in now_scheduled):
            _let_go(tx, row, _GONE)


def _named(project: Project) -> Iterator[tuple[str, Schedule]]:
    for job, schedule in _scheduled(project):
        yield job.name, schedule


def _come_due(tx: Transaction, project: Project, job: JobConfig, schedule: Schedule, row: ScheduleRow) -> None:
    """The slots since the watermark; one that lies ahead comes from a clock that was set back."""
    after = max(row.since, min(row.watermark, tx.now))
    _write_down(tx, project, job, schedule, list(schedule.due(after, tx.now)))
    stored.keep_schedule(tx, replace(row, watermark=tx.now))


def _write_down(tx: Transaction, project: Project, job: JobConfig, schedule: Schedule, found: Sequence[Slot]) -> int:
    """Keep these slots: those to run as due, the others as missed; older ones that still wait make room.

    Returns how many slots will not run because of this. A slot that is there already stays as it is.
    """
    if not found:
        return 0
    kept = stored.kept(tx, job.name, found[0].at)
    new = {slot.at: slot for slot in found if not kept & {slot.at, _cause(slot)}}
    missed = {slot.at: why for slot, why in _missed(schedule, found, tx.now) if slot.at in new}
    read = triggers.sources_of(project, job)
    stored.write_down(tx, [_new(job, schedule, slot, read, missed.get(slot.at)) for slot in new.values()])
    if missed:
        span = {"from": canonical_instant(min(missed)), "to": canonical_instant(max(missed))}
        log.append(tx, "reconcile", "slot.missed", f"job:{job.name}", {"job": job.name, "slots": len(missed)} | span)
    too_old = _too_old(schedule, stored.waiting(tx, job.name))
    for left in too_old:
        _let_go(tx, left, _REPLACED)
    return len(missed) + len(too_old)


def _missed(schedule: Schedule, found: Sequence[Slot], now: dt.datetime) -> Iterator[tuple[Slot, str]]:
    """Which of these slots are not to be run, and why."""
    if schedule.catch_up == "skip":
        yield from ((slot, _SKIPPED) for slot in found if now - slot.at > ON_TIME)
    elif schedule.catch_up == "all":
        yield from ((slot, _TOO_MANY.format(schedule.max)) for slot in found[: -schedule.max])
    else:
        yield from ((slot, _REPLACED) for slot in found[:-1])


def _too_old(schedule: Schedule, waiting: Sequence[SlotRow]) -> Sequence[SlotRow]:
    """Slots of the schedule that wait behind so many newer ones that they are not run any more."""
    keep = schedule.max if schedule.catch_up == "all" else 1
    return [row for row in waiting if row.trigger == "schedule"][:-keep]


def _let_go(tx: Transaction, row: SlotRow, why: str) -> None:
    """A waiting slot that is not run: missed, or failed where it was tried."""
    status, reason = ("failed", f"{_FAILED}: {row.reason}") if row.attempts else ("missed", why)
    if stored.end(tx, row, status, reason):
        body = {"job": row.job, "slot": canonical_instant(row.slot), "attempts": row.attempts}
        log.append(tx, "reconcile", f"slot.{status}", f"job:{row.job}", body)


def _new(job: JobConfig, schedule: Schedule, slot: Slot, read: tuple[str, ...], missed: str | None) -> NewSlot:
    return NewSlot(
        job=job.name,
        slot=slot.at,
        cause=_cause(slot),
        start_at=slot.at + start_delay(job.name, slot.at, schedule.jitter),
        priority=job.priority,
        sources=read,
        tzdata=tzdata_version(),
        missed=missed,
    )


def _cause(slot: Slot) -> str:
    return f"schedule:{slot.nominal}/{slot.fold}"
