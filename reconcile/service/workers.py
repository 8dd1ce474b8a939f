"""Turn slots into runs: a process with free capacity takes the most urgent ready slot and starts its run.

A job has one run at a time, and a source has at most as many readers as it allows: a source that hangs occupies only
its own share. Any number of processes share the work. A slot belongs to the process that took it as long as that
process renews it; if the process dies, the slot is due again, and its run continues from its checkpoints.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reconcile.audit import log
from reconcile.config.settings import Project
from reconcile.coordination import pauses, releases
from reconcile.coordination.lease import Owner, is_dead
from reconcile.messages import troubles
from reconcile.schedule import retry
from reconcile.store import Store, Transaction
from reconcile.store import slots as stored
from reconcile.store.slots import SlotRow
from rules.values import canonical_instant

CLAIM = dt.timedelta(seconds=60)
SOON = dt.timedelta(seconds=5)
STOPPING = dt.timedelta(seconds=10)
"""Time a run has to stop before its process is killed."""


OUTCOMES = ("succeeded", "failed", "busy", "stopped", "paused", "died")


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run, one of OUTCOMES: `failed` (not everything could be checked), `busy` (the job is already
    running), `stopped` (on request); with a sentence if there is a reason."""

    how: str
    sentence: str | None = None


class SlotRun(Protocol):
    """One run in progress, in another process."""

    def ended(self) -> RunOutcome | None:
        """The outcome; None while it runs. Never waits."""

    def rule(self) -> str | None:
        """The rule it is checking, once known."""

    def stop(self) -> None:
        """Ask it to stop at the next safe point. Safe to call twice."""

    def kill(self) -> None:
        """Kill it now."""


Starter = Callable[[Project, SlotRow], SlotRun]


@dataclass
class _QueuedRun:
    row: SlotRow
    running: SlotRun
    project: Project
    stopped_at: dt.datetime | None = None


@dataclass
class Workers:
    """Call `tick` several times a second. `start` starts the run of a slot. Not safe to share between threads.

    `heard` is called for every run that ends: (slot, outcome).
    """

    store: Store
    start: Starter
    heard: Callable[[SlotRow, RunOutcome], None] = lambda _row, _ended: None
    rescued: int = 0
    """Slots taken from processes that died."""
    _work: dict[tuple[str, dt.datetime, int], _QueuedRun] = field(default_factory=dict)
    _renewed: dt.datetime | None = None

    @property
    def busy(self) -> int:
        """The number of runs in progress in this process."""
        return len(self._work)

    def tick(self, project: Project) -> None:
        """Record ended runs, renew current ones, and start ready slots. Raises a StoreError; nothing is lost."""
        self.settle()
        with self.store.read() as tx:
            if not stored.anything_to_do(tx) or self._only_waits(tx, project):
                return
        with self.store.begin() as tx:
            stored.take_turns(tx)
            self._renew(tx)
            self._stop_paused(tx)
            rows = self._take_slots(tx, project)
        for row in rows:
            self._work[row.job, row.slot, row.fence] = _QueuedRun(row, self.start(project, row), project)

    def settle(self) -> None:
        """Record the runs that ended."""
        for key, work in list(self._work.items()):
            ended = work.running.ended()
            if ended is not None:
                with self.store.begin() as tx:
                    if work.stopped_at is not None and ended.how in ("died", "failed"):
                        ended = RunOutcome("stopped")
                    _record_end(tx, work, ended)
                del self._work[key]
                self.heard(work.row, ended)

    def stop(self) -> None:
        """Ask every run to stop; then call `settle` until nothing is `busy`."""
        with self.store.read() as tx:
            now = tx.now
        for work in self._work.values():
            work.stopped_at = work.stopped_at or now
            work.running.stop()

    def kill(self) -> None:
        """Kill every run now. Finished rules are kept; the slots are due again."""
        for work in self._work.values():
            work.stopped_at = work.stopped_at or work.row.start_at
            work.running.kill()

    def _renew(self, tx: Transaction) -> None:
        if self._renewed is not None and dt.timedelta(0) <= tx.now - self._renewed < CLAIM / 4:
            return
        self._renewed = tx.now
        owner = Owner.this_process(CLAIM).to_json()
        for work in self._work.values():
            stored.renew(tx, work.row, owner, tx.now + CLAIM)

    def _stop_paused(self, tx: Transaction) -> None:
        paused = pauses.active(tx)
        for work in self._work.values():
            if work.stopped_at is None and _is_paused(work.row.job, paused):
                work.stopped_at = tx.now
                work.running.stop()
            elif work.stopped_at is not None and tx.now - work.stopped_at > STOPPING:
                work.running.kill()

    def _take_slots(self, tx: Transaction, project: Project) -> list[SlotRow]:
        """Take slots to run: as many as this process has room for, each source within its share."""
        if _has_another_release(tx, project):
            return []
        running = [row for row in stored.running(tx) if not self._rescue_if_dead(tx, row)]
        admission = self._admission(tx, project, running)
        room = project.max_parallel - len(self._work)
        taken: list[SlotRow] = []
        owner = Owner.this_process(CLAIM).to_json()
        for row in stored.ready(tx):
            if len(taken) >= room:  # negative if `max_parallel` was lowered meanwhile
                break
            if not admission.admits(row):
                continue
            claimed = stored.take(tx, row, owner, tx.now + CLAIM)
            if claimed is not None:
                taken.append(claimed)
                admission.started(row)
        return taken

    def _only_waits(self, tx: Transaction, project: Project) -> bool:
        """Return True if every due slot waits, for a pause or a run of its job: then no tick writes to the store."""
        running = stored.running(tx)
        if self._work or any(is_dead(tx, Owner.from_json(row.owner), row.lease_until) for row in running):
            return False
        admission = self._admission(tx, project, running)
        return _has_another_release(tx, project) or not any(map(admission.admits, stored.ready(tx)))

    def _admission(self, tx: Transaction, project: Project, running: Sequence[SlotRow]) -> _Admission:
        sources = [source for work in self._work.values() for source in _current_sources(work)]
        return _Admission(project, {row.job for row in running}, pauses.active(tx), _Shares(project, running, sources))

    def _rescue_if_dead(self, tx: Transaction, row: SlotRow) -> bool:
        """Return True if a running slot's process is dead; the slot is then due again at once."""
        if not is_dead(tx, Owner.from_json(row.owner), row.lease_until):
            return False
        if stored.again(tx, row, tx.now, "its process ended before the run did"):
            self.rescued += 1
            body = {"job": row.job, "slot": canonical_instant(row.slot), "attempt": row.attempts}
            log.append(tx, "reconcile", "slot.rescued", f"job:{row.job}", body)
        return True


@dataclass(frozen=True)
class _Admission:
    """Tells which due slots may start: of configured jobs that neither run nor are paused, with room at a source."""

    project: Project
    jobs: set[str]
    paused: Mapping[str, pauses.Pause]
    shares: _Shares

    def admits(self, row: SlotRow) -> bool:
        may_start = row.job in self.project.jobs and row.job not in self.jobs
        return may_start and not _is_paused(row.job, self.paused) and not self.shares.are_full_for(row)

    def started(self, row: SlotRow) -> None:
        """Count a slot that starts."""
        self.jobs.add(row.job)
        self.shares.give(row)


class _Shares:
    """The use of each source.

    A configured limit counts every run, in any process, that reads the source at all. A source without a limit may use
    all but one of this process's places, if there are other sources. For it only the runs that read it now count, so a
    source that hangs blocks no job that does not need it.
    """

    def __init__(self, project: Project, running: Iterable[SlotRow], at: Iterable[str]) -> None:
        self._project = project
        self._reading = Counter(source for row in running for source in row.sources)
        self._at = Counter(at)

    def are_full_for(self, row: SlotRow) -> bool:
        return any(self._is_full(source) for source in row.sources if source in self._project.sources)

    def give(self, row: SlotRow) -> None:
        self._reading.update(row.sources)
        self._at.update(self._project.sources_of(self._project.jobs[row.job].rules[0]))

    def _is_full(self, source: str) -> bool:
        limit = self._project.sources[source].settings.max_parallel
        if limit is not None:
            return self._reading[source] >= limit
        return len(self._project.sources) > 1 and self._at[source] >= max(1, self._project.max_parallel - 1)


def _current_sources(work: _QueuedRun) -> tuple[str, ...]:
    """The sources that this run is reading."""
    return work.project.sources_of(work.running.rule() or work.project.jobs[work.row.job].rules[0])


def _has_another_release(tx: Transaction, project: Project) -> bool:
    current = releases.current(tx)
    return current is not None and current.release != project.release


def _is_paused(job: str, paused: Mapping[str, pauses.Pause]) -> bool:
    return pauses.EVERYTHING in paused or pauses.of_job(job) in paused


def _record_end(tx: Transaction, work: _QueuedRun, ended: RunOutcome) -> None:
    """Record the end of a slot's run; does nothing if another process took the slot over meanwhile."""
    row = work.row
    if ended.how == "succeeded":
        if stored.end(tx, row, "succeeded"):
            troubles.end(tx, work.project, f"job:{row.job}", f"Job {row.job!r} runs again.")
    elif ended.how in ("busy", "paused", "stopped"):
        stored.again(tx, row, tx.now + (SOON if ended.how == "busy" else dt.timedelta(0)), ended.sentence, count=False)
    else:
        _retry(tx, work, ended)


def _retry(tx: Transaction, work: _QueuedRun, ended: RunOutcome) -> None:
    row = work.row
    delay = retry.of_run(row.job, row.slot, row.attempts, tx.now - row.created_at)
    if delay is None:
        if not stored.end(tx, row, "failed", ended.sentence):
            return
        body = {"job": row.job, "slot": canonical_instant(row.slot), "attempts": row.attempts}
        log.append(tx, "reconcile", "slot.failed", f"job:{row.job}", body)
    elif not stored.again(tx, row, tx.now + delay, ended.sentence):
        return
    if ended.how == "died" and (delay is None or row.attempts > 1):
        sentence = f"Job {row.job!r} failed to run {row.attempts} times: {ended.sentence}"
        troubles.begin(tx, work.project, f"job:{row.job}", sentence, job=row.job)
