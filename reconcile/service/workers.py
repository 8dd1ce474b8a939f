"""Slots become runs: whoever has room takes the most urgent slot that may start, and has its run carried out.

A job runs once at a time, and no source is read by more runs at once than it allows: a source that hangs keeps its own
share busy and no more. Any number of processes share the work. A slot belongs to the process that took it as long as
it renews it; when that process is dead the slot is due again, and its run goes on from its checkpoints.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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

RUNS = retry.Policy(dt.timedelta(seconds=30), dt.timedelta(minutes=15), 6, dt.timedelta(hours=12))
"""When a run that could not check everything is tried again; what it checked is not checked again."""

CLAIM = dt.timedelta(seconds=60)
SOON = dt.timedelta(seconds=5)
STOPPING = dt.timedelta(seconds=10)
"""How long a run may take to stop when it was told to, before its process is killed."""


OUTCOMES = ("succeeded", "failed", "busy", "stopped", "paused", "died")


@dataclass(frozen=True)
class Ended:
    """How carrying a run out ended, one of OUTCOMES: `failed` (not all could be checked), `busy` (the job runs
    already), `stopped` (it was told to); with a sentence where there is something to say."""

    how: str
    sentence: str | None = None


class Carrying(Protocol):
    """One run being carried out, beside us."""

    def ended(self) -> Ended | None:
        """How it ended; None as long as it goes on. Never waits."""

    def rule(self) -> str | None:
        """The rule it is at, once it said so."""

    def stop(self) -> None:
        """Tell it to stop at the next good moment. Safe to call twice."""

    def kill(self) -> None:
        """End it now, whatever it is doing."""


Carry = Callable[[Project, SlotRow], Carrying]


@dataclass
class _Work:
    row: SlotRow
    carrying: Carrying
    project: Project
    stopped_at: dt.datetime | None = None


@dataclass
class Workers:
    """Call `tick` several times a second. `carry` begins to carry a slot's run out. Not safe to share between threads.

    `heard` is told of everything that ends: (slot, how it ended).
    """

    store: Store
    carry: Carry
    heard: Callable[[SlotRow, Ended], None] = lambda _row, _ended: None
    rescued: int = 0
    """Slots taken from processes that died."""
    _work: dict[tuple[str, dt.datetime, int], _Work] = field(default_factory=dict)
    _renewed: dt.datetime | None = None

    @property
    def busy(self) -> int:
        """How many runs this process has under way."""
        return len(self._work)

    def tick(self, project: Project) -> None:
        """Put down what ended, keep what goes on, and take what may start. Raises a StoreError; nothing is lost."""
        self.settle()
        with self.store.read() as tx:
            if not stored.anything_to_do(tx):
                return
        with self.store.begin() as tx:
            stored.take_turns(tx)
            self._renew(tx)
            self._stop_what_is_paused(tx)
            taken = self._taken(tx, project)
        for row in taken:
            self._work[row.job, row.slot, row.fence] = _Work(row, self.carry(project, row), project)

    def settle(self) -> None:
        """Put down what became of runs that ended."""
        for key, work in list(self._work.items()):
            ended = work.carrying.ended()
            if ended is not None:
                with self.store.begin() as tx:
                    if work.stopped_at is not None and ended.how in ("died", "failed"):
                        ended = Ended("stopped")
                    _put_down(tx, work, ended)
                del self._work[key]
                self.heard(work.row, ended)

    def stop(self) -> None:
        """Tell every run to stop; `settle` until nothing is `busy`."""
        with self.store.read() as tx:
            now = tx.now
        for work in self._work.values():
            work.stopped_at = work.stopped_at or now
            work.carrying.stop()

    def kill(self) -> None:
        """End every run now. What they finished is kept; the slots are due again."""
        for work in self._work.values():
            work.stopped_at = work.stopped_at or work.row.start_at
            work.carrying.kill()

    def _renew(self, tx: Transaction) -> None:
        if self._renewed is not None and dt.timedelta(0) <= tx.now - self._renewed < CLAIM / 4:
            return
        self._renewed = tx.now
        owner = Owner.this_process(CLAIM).to_json()
        for work in self._work.values():
            stored.renew(tx, work.row, owner, tx.now + CLAIM)

    def _stop_what_is_paused(self, tx: Transaction) -> None:
        paused = pauses.active(tx)
        for work in self._work.values():
            if work.stopped_at is None and _is_paused(work.row.job, paused):
                work.stopped_at = tx.now
                work.carrying.stop()
            elif work.stopped_at is not None and tx.now - work.stopped_at > STOPPING:
                work.carrying.kill()

    def _taken(self, tx: Transaction, project: Project) -> list[SlotRow]:
        """The slots this process now carries out: as many as it has room for, each source within its share."""
        current = releases.current(tx)
        if current is not None and current.release != project.release:
            return []
        running = [row for row in stored.running(tx) if not self._is_rescued(tx, row)]
        shares = _Shares(project, running, [_at(work) for work in self._work.values()])
        jobs = {row.job for row in running}
        paused = pauses.active(tx)
        room = project.max_parallel - len(self._work)
        taken: list[SlotRow] = []
        owner = Owner.this_process(CLAIM).to_json()
        for row in stored.ready(tx):
            if len(taken) >= room:  # less than none, when `max_parallel` was lowered meanwhile
                break
            known = row.job in project.jobs and row.job not in jobs and not _is_paused(row.job, paused)
            if not known or shares.are_full_for(row):
                continue
            mine = stored.take(tx, row, owner, tx.now + CLAIM)
            if mine is not None:
                taken.append(mine)
                jobs.add(row.job)
                shares.give(row)
        return taken

    def _is_rescued(self, tx: Transaction, row: SlotRow) -> bool:
        """Whether a running slot's process is dead; then it is due again, at once."""
        if not is_dead(tx, Owner.from_json(row.owner), row.lease_until):
            return False
        if stored.again(tx, row, tx.now, "its process ended before the run did"):
            self.rescued += 1
            body = {"job": row.job, "slot": canonical_instant(row.slot), "attempt": row.attempts}
            log.append(tx, "reconcile", "slot.rescued", f"job:{row.job}", body)
        return True


class _Shares:
    """How much of each source is in use.

    A limit that the configuration names counts every run, anywhere, that reads the source at all. A source without one
    may hold all but one of this process's places, where there are others: there, only the runs that are at it now
    count, so that one which hangs stops no job that does not need it.
    """

    def __init__(self, project: Project, running: Iterable[SlotRow], at: Iterable[str]) -> None:
        self._project = project
        self._reading = Counter(source for row in running for source in row.sources)
        self._at = Counter(at)

    def are_full_for(self, row: SlotRow) -> bool:
        return any(self._is_full(source) for source in row.sources if source in self._project.sources)

    def give(self, row: SlotRow) -> None:
        self._reading.update(row.sources)
        self._at[_source(self._project, self._project.jobs[row.job].rules[0])] += 1

    def _is_full(self, source: str) -> bool:
        limit = self._project.sources[source].settings.max_parallel
        if limit is not None:
            return self._reading[source] >= limit
        return len(self._project.sources) > 1 and self._at[source] >= max(1, self._project.max_parallel - 1)


def _at(work: _Work) -> str:
    """The source that a run of ours is at."""
    return _source(work.project, work.carrying.rule() or work.project.jobs[work.row.job].rules[0])


def _source(project: Project, rule: str) -> str:
    return project.datasets[project.rules[rule].dataset].source


def _is_paused(job: str, paused: Mapping[str, pauses.Pause]) -> bool:
    return pauses.EVERYTHING in paused or pauses.of_job(job) in paused


def _put_down(tx: Transaction, work: _Work, ended: Ended) -> None:
    """What becomes of a slot whose run ended; nothing, when another process took the slot over meanwhile."""
    row = work.row
    if ended.how == "succeeded":
        if stored.end(tx, row, "succeeded"):
            troubles.end(tx, work.project, f"job:{row.job}")
    elif ended.how in ("busy", "paused", "stopped"):
        stored.again(tx, row, tx.now + (SOON if ended.how == "busy" else dt.timedelta(0)), ended.sentence, count=False)
    else:
        _try_again(tx, work, ended)


def _try_again(tx: Transaction, work: _Work, ended: Ended) -> None:
    row = work.row
    key = f"{row.job}|{canonical_instant(row.slot)}"
    decision = retry.decide(key, row.attempts - 1, RUNS)
    is_over = row.attempts >= RUNS.attempts or tx.now + decision.delay - row.created_at > RUNS.budget
    if is_over:
        if not stored.end(tx, row, "failed", ended.sentence):
            return
        body = {"job": row.job, "slot": canonical_instant(row.slot), "attempts": row.attempts}
        log.append(tx, "reconcile", "slot.failed", f"job:{row.job}", body)
    elif not stored.again(tx, row, tx.now + decision.delay, ended.sentence):
        return
    if ended.how == "died" and (is_over or row.attempts > 1):
        sentence = f"Job {row.job!r} could not be run, {row.attempts} times: {ended.sentence}"
        troubles.begin(tx, work.project, f"job:{row.job}", sentence, job=row.job)
