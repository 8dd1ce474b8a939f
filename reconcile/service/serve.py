"""`reconcile serve`: schedule, carry out, deliver, and take up a new configuration, until it is told to stop.

Every duty is a small `tick` that can be called by itself; an alarm clock wakes each in a thread of its own. What a
duty could not do because the store did not answer, it does at its next tick.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from reconcile import config
from reconcile.app import Application
from reconcile.config.settings import Project
from reconcile.coordination import releases
from reconcile.coordination.clock import held as clock_is_held
from reconcile.messages import delivery, troubles, watchdog
from reconcile.schedule.slots import slot_text
from reconcile.service import triggers
from reconcile.service.alarm import Alarm
from reconcile.service.children import Child, Sentence, warm_up
from reconcile.service.listener import Listener, Route
from reconcile.service.metrics import Here, Metrics
from reconcile.service.routes import health, metrics_page, readiness
from reconcile.service.scheduler import Scheduler
from reconcile.service.workers import Ended, Workers
from reconcile.store import Store
from reconcile.store.errors import StoreReplaced
from reconcile.store.slots import SlotRow
from reconcile.telemetry import traces
from reconcile.upkeep import compaction

COMPACT_EVERY = dt.timedelta(days=1)
_SAME_TWICE = 2
_REOPENED = (
    "the state was restored from a backup; nothing of what was under way was kept, and serve goes on by itself from "
    "what the backup holds"
)
_LAST_WORDS = 3.0
"""Seconds beyond the grace for writing down what was stopped; a state that does not answer then hears it from no one,
and finds the runs' processes dead."""
_SILENCE = 60.0
_OUTSIDE = {"deliver": 900.0, "clean": 900.0, "watch": 900.0, "care": 900.0, "anchor": 900.0}
"""Seconds a duty may be late before this process counts as ill; more where it works with what is not ours."""

log = structlog.get_logger("reconcile")


class Leaving(Exception):
    """The server was told to stop; what is left is carried out by the next one."""

    def __init__(self) -> None:
        super().__init__("It was told to stop; what is approved is carried out later")


class StateMoved(Exception):
    """A new configuration keeps its state elsewhere; a process cannot take its runs there."""

    def __init__(self) -> None:
        super().__init__("The configuration names another `state:` than the one being served; restart `serve` for that")


@dataclass
class Server:
    """One process that serves a configuration file. `worker`: it leaves the scheduling to others.

    `sentence` puts an error into words; `listen` comes before the configuration's. Raises, when it is made, what
    `config.load`, `Store.open` and `releases.to_run` raise, and ListenRefused.
    """

    path: Path
    environ: Mapping[str, str]
    sentence: Sentence
    worker: bool = False
    listen: str | None = None
    alarm: Alarm = field(default_factory=Alarm)
    _wrong: str | None = None
    _wrong_times: int = 0
    _compacted: dt.datetime | None = None
    _states: triggers.States = field(default_factory=dict)
    _problems: dict[str, str] = field(default_factory=dict)
    _reopening: threading.Lock = field(default_factory=threading.Lock)
    _leaving: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._file = config.load(self.path, self.environ)
        address = self.listen or self._file.listen or "none"
        self.listener = None if address == "none" else Listener(address, self.routes, self._file.listen_hosts)
        self.application = Application(self._file)
        self._open()
        self._take_up(self._file)
        self.metrics = Metrics(lambda: self.store, lambda: self.project, self._here)

    def _open(self) -> None:
        self.store: Store = self.application.store
        self.scheduler = Scheduler(self.store, watched=lambda _project: self._states)
        self.workers = Workers(self.store, self._carry, self._heard)

    @property
    def project(self) -> Project:
        """The release that new runs take, as far as this process knows."""
        return self.application.project

    # Duties

    def schedule(self) -> None:
        self.scheduler.tick(self.project)

    def work(self) -> None:
        self.workers.tick(self.project)

    def deliver(self) -> None:
        """What is due now; what is due later is there at the next tick."""
        with self.store.read() as tx:
            if not delivery.anything_due(tx, self.project.channels):
                return
        report = self.application.deliver()
        self.metrics.delivered(report)
        for message in report.sent:
            log.info("message.sent", channel=message.channel, message=message.message, job=message.job)
        for _, message in report.retried:
            again = {"attempts": message.attempts, "next_at": message.next_at}
            log.warning(
                "message.not_sent", channel=message.channel, message=message.message, why=message.problem, **again
            )
        for message in report.failed:
            log.warning("message.failed", channel=message.channel, message=message.message, why=message.problem)

    def clean(self) -> None:
        """Carry out what people approved and what is due to be tried again, between runs."""
        tally = self.application.clean_due(self._stay)
        if tally is not None:
            self.metrics.carried_out(tally)
            counts = {how.value: number for how, number in tally.counts.items()}
            log.info("cleaning.carried_out", **counts, why=tally.reasons or None)

    def _stay(self) -> None:
        """Between two batches: what is in hand was written down, and nothing more is taken once it has to stop."""
        if self._leaving.is_set():
            raise Leaving

    def reload(self) -> None:
        """Take up what the file says now (a setting, an included file, a secret that was renewed), or what a person
        promoted."""
        try:
            found = config.load(self.path, self.environ)
            if found != self._file:
                self._take_up(found)
            else:
                self._follow()
        except (config.ConfigProblems, StateMoved, releases.ReleaseRefused) as wrong:
            self._refuse(wrong)
        else:
            if self._wrong is not None:
                self._wrong, self._wrong_times = None, 0
                with self.store.begin() as tx:
                    troubles.end(tx, self.project, "configuration")

    def watch(self) -> None:
        """Look at the files that jobs wait for, outside of any transaction: a folder can hang."""
        self._states = triggers.states(self.project, self.application.sources)

    def care(self) -> None:
        """What is late, and, once a day, what may be thrown away."""
        if not self.scheduler.leads:
            return
        with self.store.begin() as tx:
            watchdog.late(tx, self.project)
            held, now = clock_is_held(tx), tx.now
        if held is None and (self._compacted is None or now - self._compacted >= COMPACT_EVERY):
            done = compaction.compact(self.store, self.project.retention, undo_window=self.project.undo_window)
            self._compacted = now
            log.info("store.compacted", **done.counts)

    def anchor(self) -> None:
        """Sign the end of the audit log, and write it to places outside."""
        report = self.application.anchor()
        for name, sentence in report.failed.items():
            log.warning("anchor.failed", anchor=name, why=sentence)

    # Asked from outside

    @property
    def routes(self) -> Mapping[str, Route]:
        """What is answered over HTTP."""
        return {
            "/healthz": lambda _headers: health(self.silent()),
            "/readyz": lambda _headers: readiness(self.store, is_worker=self.worker),
            "/metrics": lambda headers: metrics_page(self.metrics, headers),
        }

    def silent(self) -> dict[str, float]:
        """The duties of which nothing was heard for too long, and for how many seconds."""
        late = self.alarm.silence()
        return {name: seconds for name, seconds in late.items() if seconds > _OUTSIDE.get(name, _SILENCE)}

    def _here(self) -> Here:
        return Here(self.scheduler.leads, self.workers.busy, self.workers.rescued)

    # Running

    def start(self) -> None:
        """Begin to serve; returns at once."""
        warm_up(traces.MODULES if traces.wanted(self.project.traces, self.environ) else ())
        duties: list[tuple[float, Callable[[], None]]] = [(0.2, self.work), (1.0, self.deliver), (1.0, self.clean)]
        duties.append((5.0, self.reload))
        if not self.worker:
            duties += [(0.5, self.schedule), (2.0, self.watch), (60.0, self.care), (60.0, self.anchor)]
        for seconds, duty in duties:
            self.alarm.every(seconds, duty.__name__, self._guarded(duty))
        self.alarm.start()
        if self.listener is not None:
            self.listener.start()
        log.info("serve.started", release=self.project.release[:12], jobs=len(self.project.jobs), worker=self.worker)

    def wait(self, told: threading.Event) -> None:
        """Until somebody says stop."""
        while not told.wait(1.0):
            self.alarm.look()

    def stop(self, at_once: threading.Event, clock: Callable[[], float] = time.monotonic) -> None:
        """Take nothing new, let runs finish or stop them within `grace_stop`, and give everything back.

        `at_once`, set while this waits, ends what is under way. What was finished is kept either way.
        """
        log.info("serve.stopping", running=self.workers.busy)
        self._leaving.set()
        grace = self.project.grace_stop.total_seconds()
        begin, told = clock(), False
        self.alarm.stop(patience=grace / 2)
        self._guarded(self.scheduler.stop)()
        while self.workers.busy and (gone := clock() - begin) < grace + _LAST_WORDS:
            if gone > grace / 2 and not told:
                self._guarded(self.workers.stop)()
                told = True
            if gone > grace - 1 or at_once.is_set():
                self.workers.kill()
            time.sleep(0.05)
            self._guarded(self.workers.settle)()
        if self.listener is not None:
            self.listener.stop()
        if not self.worker and not at_once.is_set():
            self._guarded(self.anchor)()
        self._close()
        log.info("serve.stopped")

    def _guarded(self, duty: Callable[[], None]) -> Callable[[], None]:
        """A duty whose failure is told once, and tried again at its next tick."""

        def tick() -> None:
            try:
                duty()
            except Leaving:
                return
            except StoreReplaced:
                self._reopen()
            except Exception as error:  # noqa: BLE001 - a duty must not end with its first defect
                self._tell(duty.__name__, error)
            else:
                self._problems.pop(duty.__name__, None)

        return tick

    def _tell(self, duty: str, error: Exception) -> None:
        """Once for each kind of error, as long as it lasts: a defect would fill the disk with reports."""
        if self._problems.get(duty) != type(error).__name__:
            self._problems[duty] = type(error).__name__
            log.error("duty.failed", duty=duty, why=self.sentence(error))

    def _reopen(self) -> None:
        """The state was restored from a backup: what runs belongs to the state before and can write nothing more."""
        with self._reopening:
            try:
                with self.store.read():
                    return  # another duty was first
            except StoreReplaced:
                self.workers.kill()
            self._close()
            self.application = Application(self.project)
            self._open()
            log.warning("store.reopened", why=_REOPENED)

    def _close(self) -> None:
        self.application.close()
        self.store.close()

    # Releases

    def _take_up(self, found: Project) -> None:
        """Serve what was found, or, while a person holds a release, that one."""
        if found.state.get_secret_value() != self._file.state.get_secret_value():
            raise StateMoved
        with self.store.begin() as tx:
            releases.adopt(tx, found, "reconcile")
        self._file = found
        self._serve(found)

    def _follow(self) -> None:
        """A person promoted another release, let go of the one that was held, or another process brought its own."""
        with self.store.read() as tx:
            current = releases.current(tx)
        if current is not None and current.release != self.project.release:
            self._serve(self._file)

    def _serve(self, found: Project) -> None:
        with self.store.read() as tx:
            chosen = releases.to_run(tx, found, self.environ)
        if chosen != self.project:
            before, self.application = self.application, Application(chosen, store=self.store)
            before.sources.close()
        log.info("release.taken_up", release=releases.shortened(chosen.release))

    def _refuse(self, wrong: Exception) -> None:
        """A broken file, seen twice alike (it is not being written): the release before goes on; people hear once."""
        said = str(wrong)
        self._wrong_times = self._wrong_times + 1 if said == self._wrong else 1
        self._wrong = said
        if self._wrong_times == _SAME_TWICE:
            first, *more = said.splitlines()
            rest = f" (and {len(more)} more; `reconcile check` lists them)" if more else ""
            sentence = f"The configuration is wrong, so the release before goes on: {first}{rest}"
            log.error("configuration.refused", why=sentence)
            with self.store.begin() as tx:
                troubles.begin(tx, self.project, "configuration", sentence)

    # Runs

    def _carry(self, project: Project, row: SlotRow) -> Child:
        log.info("run.started", job=row.job, slot=slot_text(row.slot), attempt=row.attempts)
        self.metrics.run_started(row)
        return Child(project, row, self.sentence)

    def _heard(self, row: SlotRow, ended: Ended) -> None:
        log.info("run.ended", job=row.job, slot=slot_text(row.slot), how=ended.how, why=ended.sentence)
        self.alarm.wake("deliver")
        self.metrics.run_ended(row, ended.how)
