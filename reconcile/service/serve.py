"""`reconcile serve`: schedule, run, clean, deliver, and reload the configuration, until it is stopped.

Every duty is a small `tick` that can be called by itself; an alarm clock wakes each in a thread of its own. If the
store does not answer, a duty catches up at its next tick.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from notifications.errors import ChannelError
from reconcile import config
from reconcile.app import Application
from reconcile.chat.presses import handle_due
from reconcile.chat.sockets import Sockets
from reconcile.config.settings import Project
from reconcile.coordination import fallback, releases
from reconcile.coordination.clock import held as clock_is_held
from reconcile.errors import Refused
from reconcile.messages import between, direct, escalation, living, troubles, watchdog
from reconcile.people.welcome import Welcome
from reconcile.schedule.slots import slot_text
from reconcile.service import triggers
from reconcile.service.alarm import Alarm
from reconcile.service.applications import Asgi
from reconcile.service.children import RunProcess, Sentence, warm_up
from reconcile.service.duties import Duties
from reconcile.service.exchange import Route
from reconcile.service.listener import Listener
from reconcile.service.metrics import Metrics, ProcessState
from reconcile.service.routes import health, metrics_page, readiness
from reconcile.service.scheduler import Scheduler
from reconcile.service.waits import Waits
from reconcile.service.workers import RunOutcome, Workers
from reconcile.store import Store, StoreError, outbox, plans, presses, users
from reconcile.store.errors import StoreReplaced
from reconcile.store.slots import SlotRow
from reconcile.telemetry import traces
from reconcile.upkeep import compaction, upgrade, versions
from reconcile.upkeep.backup import Backup

_SAME_TWICE = 2
_REOPENED = "the state was restored from a backup; work in progress was discarded, and serve continues from the backup"
_LAST_WORDS = 3.0
"""Seconds beyond the grace for recording stopped runs; if the state does not answer by then, it later finds their
processes dead."""
_SILENCE = 60.0
_OUTSIDE = {
    "deliver": 900.0,
    "press": 900.0,
    "chat": 900.0,
    "clean": 900.0,
    "watch": 900.0,
    "care": 900.0,
    "anchor": 900.0,
    "attend": 900.0,
}
"""Seconds a duty may be late before this process is unhealthy; more if it works with outside systems."""

log = structlog.get_logger("reconcile")


class ServerStopping(Exception):
    """The server is stopping; the next one executes the remaining plans."""

    def __init__(self) -> None:
        super().__init__("The server is stopping; approved plans are executed later")


class StateMoved(Exception):
    """A new configuration names another state; a process cannot move its runs there."""

    def __init__(self) -> None:
        super().__init__("The configuration names another `state:`. Restart `serve` to use it")


class UsersMissing(Refused):
    """The console would be open to other hosts, and nobody can sign in yet; nothing was started."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"The console on {address} can be reached from other hosts, but there is no user yet. Nothing was started. "
            "Add one (`reconcile users add NAME --role admin`), listen on 127.0.0.1, or add --no-console"
        )


def _log_backup(saved: Backup) -> None:
    log.warning("store.upgraded", backup=str(saved.file), why=upgrade.sentence(saved))


def log_undelivered(channel: str, error: ChannelError) -> None:
    log.warning("message.not_sent", channel=channel, why=str(error))


@dataclass
class ServeProcess:
    """One process that serves a configuration file. `worker`: other processes schedule.

    `sentence` puts an error into words; `listen` overrides the configuration's; `site` builds the console and the API.
    A start with a broken file goes on with the release that is current in the state, as a reload does. `state_trouble`
    may have begun before the state could be opened; this process tells its end.
    The constructor raises the errors of `config.load`, `Store.open` and `releases.to_run`, ListenRefused and
    UsersMissing.
    """

    path: Path
    environ: Mapping[str, str]
    sentence: Sentence
    worker: bool = False
    listen: str | None = None
    site: Callable[[ServeProcess], Asgi] | None = None
    welcome: Welcome = field(default_factory=Welcome)
    alarm: Alarm = field(default_factory=Alarm)
    state_trouble: direct.StateTrouble = field(default_factory=lambda: direct.StateTrouble(log_undelivered))
    _refused: str | None = None
    _refusals: int = 0
    _states: triggers.States = field(default_factory=dict)
    _reopening: threading.Lock = field(default_factory=threading.Lock)
    _leaving: threading.Event = field(default_factory=threading.Event)
    _waits: Waits = field(default_factory=Waits)
    has_users: bool = True
    """False: the console waits for its first user."""

    def __post_init__(self) -> None:
        broken: config.ConfigProblems | None = None
        try:
            self._file = config.load(self.path, self.environ)
        except config.ConfigProblems as problems:
            broken = problems
            self._file = fallback.to_serve(self.path, problems, self.environ)
        address = self.listen or self._file.listen or "none"
        has_site = self.site is not None and self._file.console.enabled
        app = self.site(self) if self.site is not None and has_site else None
        self.listener = None if address == "none" else Listener(address, self.routes, self._file.listen_hosts, app)
        self.application = Application(self._file)
        self.application.upgrade = upgrade.back_up_first(_log_backup)
        try:
            self._open()
            if self.listener is not None and app is not None:
                self._welcome(self.listener)
            self._take_up(self._file)
            if broken is not None:
                self._refused, self._refusals = str(broken), _SAME_TWICE
                self._tell_refusal(str(broken))
        except BaseException:
            self._abandon()
            raise
        self.duties = Duties(self.sentence)
        self.sockets = Sockets(lambda: self.store, lambda: self.alarm.wake("press"))
        self.metrics = Metrics(lambda: self.store, lambda: self.project, self._process_state)

    def _welcome(self, listener: Listener) -> None:
        """Refuse an open address without users: whoever comes first would become the administrator."""
        with self.store.read() as tx:
            self.has_users = users.exist(tx)
        if listener.is_open and not self.has_users:
            raise UsersMissing(listener.address)

    def _abandon(self) -> None:
        """Release what a failed start took."""
        if self.listener is not None:
            self.listener.stop()
        self.application.close()

    def _open(self) -> None:
        self.store: Store = self.application.store
        self.scheduler = Scheduler(self.store, watched=lambda _project: self._states)
        self.workers = Workers(self.store, self._start_run, self._run_ended)

    @property
    def project(self) -> Project:
        """The release that new runs use, as far as this process knows."""
        return self.application.project

    # Duties

    def schedule(self) -> None:
        self.scheduler.tick(self.project)

    def work(self) -> None:
        self.workers.tick(self.project)

    def deliver(self) -> None:
        """Deliver the messages that are due now, and update those whose findings changed."""
        with self.store.read() as tx:
            if not outbox.anything_due(tx, self.project.channels) and not living.anything_stale(tx, self.project):
                return
        report = self.application.deliver()
        self.metrics.delivered(report)
        for message in report.sent:
            log.info("message.sent", channel=message.channel, message=message.message, job=message.job)
        for _, message in report.retried:
            retry = {"attempts": message.attempts, "next_at": message.next_at}
            log.warning(
                "message.not_sent", channel=message.channel, message=message.message, why=message.problem, **retry
            )
        for message in report.failed:
            log.warning("message.failed", channel=message.channel, message=message.message, why=message.problem)

    def press(self) -> None:
        """Carry out the buttons that people pressed."""
        with self.store.read() as tx:
            if not presses.anything_due(tx):
                return
        for handled in handle_due(self.application):
            log.info("press.handled", press=handled.id, changed=handled.changed)
            self.alarm.wake("deliver")

    def chat(self) -> None:
        """Keep the connections to chats open over which presses of buttons arrive."""
        self.sockets.tick(self.project)

    def clean(self) -> None:
        """Execute approved plans and due retries, between runs."""
        if not self._waits.is_over:
            return
        tally = self.application.clean_due(self._raise_if_leaving)
        if tally is not None and tally.counts:
            self.metrics.executed(tally)
            counts = {how.value: number for how, number in tally.counts.items()}
            log.info("cleaning.executed", **counts, why=tally.reasons or None)
        self._waits.note(tally, any_left=self._any_plan_waits)

    def _any_plan_waits(self) -> bool:
        with self.store.read() as tx:
            return bool(plans.waiting_of(tx))

    def _raise_if_leaving(self) -> None:
        """Called between two batches, when the last one is recorded: raise ServerStopping if the server is stopping."""
        if self._leaving.is_set():
            raise ServerStopping

    def reload(self) -> None:
        """Serve the current content of the file (a setting, an included file, a renewed secret), or a promoted
        release."""
        try:
            loaded = config.load(self.path, self.environ)
            if loaded != self._file:
                self._take_up(loaded)
            else:
                self._follow()
        except (config.ConfigProblems, StateMoved, releases.ReleaseRefused) as error:
            self._refuse(error)
        else:
            if self._refused is not None:
                self._refused, self._refusals = None, 0
                with self.store.begin() as tx:
                    troubles.end(tx, self.project, "configuration", "The configuration file is correct again.")

    def watch(self) -> None:
        """Check the files that jobs wait for, outside of any transaction: a folder can hang."""
        self._states = triggers.states(self.project, self.application.sources)

    def care(self) -> None:
        """Report late jobs, undecided findings and cleanings since, and, once a day, delete old data."""
        if not self.scheduler.leads:
            return
        with self.store.begin() as tx:
            watchdog.late(tx, self.project)
            is_undecided = clock_is_held(tx) is None and escalation.is_due(tx, self.project)
            has_news = between.is_due(tx)
        if is_undecided:
            with self.store.begin() as tx:
                escalation.tell(tx, self.project, self.project.rules)
        if has_news:
            with self.store.begin() as tx:
                between.tell(tx, self.project)
        compacted = compaction.daily(self.store, self.project.retention, undo_window=self.project.undo_window)
        if compacted is not None:
            log.info("store.compacted", **compacted.counts)
            released = versions.release(self.store, self.project, self.application.sources.__getitem__)
            log.info("versions.released", versions=released.versions, bytes=released.size)
            for source, reason in released.unreached.items():
                log.warning("versions.unreached", source=source, why=reason)

    def anchor(self) -> None:
        """Sign the end of the audit log, and write it to places outside."""
        report = self.application.anchor()
        for name, sentence in report.failed.items():
            log.warning("anchor.failed", anchor=name, why=sentence)

    def attend(self) -> None:
        """Check that the state can be written, and report what goes on failing in this process."""
        if not self.scheduler.leads:  # the scheduler writes every few seconds
            with contextlib.suppress(StoreError):  # noted by the store
                direct.probe(self.store)
        if not self.worker:
            self.state_trouble.tick(self.store, self.project, self.application.channels)
        if self.store.writes.ongoing() is None:
            self.duties.tell(self.store, self.project)

    # Asked from outside

    @property
    def routes(self) -> Mapping[str, Route]:
        """The HTTP routes."""
        return {
            "/healthz": lambda _headers: health(self.silent()),
            "/readyz": lambda _headers: readiness(self.store, is_worker=self.worker),
            "/metrics": lambda headers: metrics_page(self.metrics, headers),
        }

    def silent(self) -> dict[str, float]:
        """The overdue duties, with their seconds."""
        late = self.alarm.silence()
        return {name: seconds for name, seconds in late.items() if seconds > _OUTSIDE.get(name, _SILENCE)}

    def _process_state(self) -> ProcessState:
        here = ProcessState(self.scheduler.leads, self.workers.busy, self.workers.rescued)
        return replace(here, is_worker=self.worker, ages=self.duties.ages())

    # Running

    def start(self) -> None:
        """Begin to serve; returns at once."""
        warm_up(traces.MODULES if traces.wanted(self.project.traces, self.environ) else ())
        duties: list[tuple[float, Callable[[], None]]] = [(0.2, self.work), (1.0, self.deliver), (1.0, self.clean)]
        duties += [(5.0, self.reload), (0.5, self.press), (5.0, self.chat), (5.0, self.attend)]
        if not self.worker:
            duties += [(0.5, self.schedule), (2.0, self.watch), (60.0, self.care), (60.0, self.anchor)]
        self.duties.add(duty.__name__ for _, duty in duties)
        self.duties.adopt(self.store)
        for seconds, duty in duties:
            self.alarm.every(seconds, duty.__name__, self._guard(duty))
        self.alarm.start()
        if self.listener is not None:
            self.listener.start()
        log.info("serve.started", release=self.project.release[:12], jobs=len(self.project.jobs), worker=self.worker)

    def log_no_users(self) -> None:
        """Log that the console waits for its first user, and how to add one without a terminal."""
        log.info("console.without_users", hint="reconcile users add NAME --role admin")

    def wait(self, stop_requested: threading.Event) -> None:
        """Return when the event is set."""
        while not stop_requested.wait(1.0):
            self.alarm.look()

    def stop(self, at_once: threading.Event, clock: Callable[[], float] = time.monotonic) -> None:
        """Take nothing new, let runs finish or stop them within `grace_stop`, and release everything.

        `at_once`, set while this waits, kills the runs in progress. Finished work is kept either way.
        """
        log.info("serve.stopping", running=self.workers.busy)
        self._leaving.set()
        grace = self.project.grace_stop.total_seconds()
        begin, is_told = clock(), False
        self.alarm.stop(patience=grace / 2)
        self._guard(self.scheduler.stop)()
        while self.workers.busy and (elapsed := clock() - begin) < grace + _LAST_WORDS:
            if elapsed > grace / 2 and not is_told:
                self._guard(self.workers.stop)()
                is_told = True
            if elapsed > grace - 1 or at_once.is_set():
                self.workers.kill()
            time.sleep(0.05)
            self._guard(self.workers.settle)()
        self._guard(self.sockets.stop)()
        if self.listener is not None:
            self.listener.stop()
        if not self.worker and not at_once.is_set():
            self._guard(self.anchor)()
        self._close()
        log.info("serve.stopped")

    def _guard(self, duty: Callable[[], None]) -> Callable[[], None]:
        """Wrap a duty: a failure is noted and logged, and the duty is retried at its next tick."""

        def tick() -> None:
            try:
                duty()
            except ServerStopping:
                return
            except StoreReplaced:
                self._reopen()
            except Exception as error:  # noqa: BLE001 - a duty must not end with its first defect
                self.duties.failed(duty.__name__, error)
            else:
                self.duties.succeeded(duty.__name__)

        return tick

    def _reopen(self) -> None:
        """Reopen a state restored from a backup: current runs belong to the old state and can write nothing more."""
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

    def _take_up(self, loaded: Project) -> None:
        """Serve this configuration or, while a person holds a release, that one."""
        if loaded.state.get_secret_value() != self._file.state.get_secret_value():
            raise StateMoved
        with self.store.begin() as tx:
            releases.adopt(tx, loaded, "reconcile")
        self._file = loaded
        self._serve(loaded)

    def _follow(self) -> None:
        """Serve another release that a person promoted or freed, or that another process adopted."""
        with self.store.read() as tx:
            current = releases.current(tx)
        if current is not None and current.release != self.project.release:
            self._serve(self._file)

    def _serve(self, loaded: Project) -> None:
        with self.store.read() as tx:
            chosen = releases.to_run(tx, loaded, self.environ)
        if chosen != self.project:
            previous, self.application = self.application, Application(chosen, store=self.store)
            previous.sources.close()
        log.info("release.taken_up", release=releases.shortened(chosen.release))

    def _refuse(self, error: Exception) -> None:
        """Refuse a broken file that is the same twice (so it is not being written): the previous release continues."""
        message = str(error)
        self._refusals = self._refusals + 1 if message == self._refused else 1
        self._refused = message
        if self._refusals == _SAME_TWICE:
            self._tell_refusal(message)

    def _tell_refusal(self, message: str) -> None:
        first, *more = message.splitlines()
        others = f" (and {len(more)} more; `reconcile check` lists them)" if more else ""
        sentence = f"The configuration is wrong, so the previous release continues: {first}{others}"
        log.error("configuration.refused", why=sentence)
        with self.store.begin() as tx:
            troubles.begin(tx, self.project, "configuration", sentence)

    # Runs

    def _start_run(self, project: Project, row: SlotRow) -> RunProcess:
        log.info("run.started", job=row.job, slot=slot_text(row.slot), attempt=row.attempts)
        self.metrics.run_started(row)
        return RunProcess(project, row, self.sentence)

    def _run_ended(self, row: SlotRow, ended: RunOutcome) -> None:
        log.info("run.ended", job=row.job, slot=slot_text(row.slot), how=ended.how, why=ended.sentence)
        self.alarm.wake("deliver")
        self.metrics.run_ended(row, ended.how)
