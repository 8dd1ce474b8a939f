"""Metrics of `reconcile serve` for Prometheus: its own events as they happen, and the current state.

Counters and histograms belong to this process. Gauges about the state are read from the store on request, in one read
transaction, at most every few seconds. Labels are names of the configuration; they never hold data. No label is called
`job` or `instance`: Prometheus sets these itself and renames ours. Every series an alert may need starts at 0:
Prometheus does not see an increase from nothing to 1, nor a missing job.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from reconcile.cleaning.execution.execute import How
from reconcile.cleaning.execution.outcomes import ExecutionResult
from reconcile.config.settings import Project
from reconcile.coordination import pauses
from reconcile.coordination.clock import held as clock_is_held
from reconcile.findings.states import OVER, PlanState
from reconcile.guard.counts import EVENTS
from reconcile.journal import breaker, ownership
from reconcile.messages import delivery, watchdog
from reconcile.schedule.slots import run_id
from reconcile.service import ready
from reconcile.service.workers import CLAIM, OUTCOMES
from reconcile.store import (
    Store,
    StoreError,
    Transaction,
    breakers,
    findings,
    guarded_keys,
    health,
    outbox,
    triggers,
    troubles,
)
from reconcile.store import plans as stored_plans
from reconcile.store import runs as stored_runs
from reconcile.store import slots as stored_slots
from reconcile.store.slots import SlotRow

FRESH = 5.0
"""Seconds for which values read from the store are reused."""
RECENT = dt.timedelta(days=1)
"""Ended slots are counted this far back."""

_SECONDS = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, float("inf"))
_LAGS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, float("inf"))
_JOB = "reconcile_job"
_RETRIED = ("failed", "died")


@dataclass(frozen=True)
class ProcessState:
    """The state of this process, which only it knows."""

    leads: bool
    running: int
    taken_over: int
    is_worker: bool = False
    ages: Mapping[str, float] = field(default_factory=dict)
    """For each duty, the seconds since it last ended without an error."""


class Metrics:
    """The metrics of one process, with the `store` and `project` of the moment.

    `here` returns the state of the process. Thread-safe. Call the methods outside of a transaction: they read the
    store.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        project: Callable[[], Project],
        here: Callable[[], ProcessState],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._store = store
        self._project = project
        self._clock = clock
        self._began: dict[tuple[str, dt.datetime, int], float] = {}
        text = "Runs executed by this process: succeeded, failed, died, stopped, paused or busy."
        self._runs = self._counter("runs", text, _JOB, "status")
        self._seconds = self._histogram("run_seconds", "Duration of a run.", _SECONDS, _JOB)
        self._records = self._counter("records_scanned", "Records that passed `where`.", _JOB, "rule")
        self._lag = self._histogram(
            "scheduling_lag_seconds", "Time from a slot's due time and jitter until its run began.", _LAGS
        )
        text = (
            "What is retried: run_failed, run_died, cleaning_not_done, cleaning_paused, cleaning_commit_unknown, "
            "or a message's error, such as RateLimited."
        )
        self._retries = self._counter("retries", text, "class")
        text = "Messages that were sent, that failed for good, or whose outcome is unknown: you decide."
        self._messages = self._counter("messages", text, "channel", "status")
        self._operations = self._counter("operations", "Cleanings executed by this process, by outcome.", "outcome")
        ProcessCollector(registry=self.registry)
        self.registry.register(_Process(here))
        self.registry.register(_State(store, project, here, clock))

    def page(self, accept: str = "") -> tuple[bytes, str]:
        """The metrics as Prometheus reads them, and the content type; `accept` is its header."""
        self._begin_at_zero(self._project())
        encode, kind = choose_encoder(accept)
        return encode(self.registry), kind

    def _begin_at_zero(self, project: Project) -> None:
        """Create the counters of every job and channel of the configuration; existing ones keep their values."""
        for job in project.jobs.values():
            self._seconds.labels(job.name)
            for outcome in OUTCOMES:
                self._runs.labels(job.name, outcome)
            for rule in job.rules:
                self._records.labels(job.name, rule)
        for channel in project.channels:
            for outcome in ("sent", *outbox.GIVEN_UP):
                self._messages.labels(channel, outcome)
        for how in How:
            self._operations.labels(how.value)

    def run_started(self, row: SlotRow) -> None:
        """Note that the run of a claimed slot begins."""
        self._began[row.job, row.slot, row.fence] = self._clock()

    def run_ended(self, row: SlotRow, how: str) -> None:
        """Count a recorded run by its outcome (see workers.RunOutcome). Raises a StoreError after counting its end."""
        began = self._began.pop((row.job, row.slot, row.fence), None)
        self._runs.labels(row.job, how).inc()
        if began is not None:
            self._seconds.labels(row.job).observe(self._clock() - began)
        with self._store().read() as tx:
            run = stored_runs.get(tx, run_id(row.job, row.slot))
            slot_row = stored_slots.get(tx, row.job, row.slot)
            scanned = {} if run is None else stored_runs.scanned_since(tx, run.id, _taken_at(row))
        if run is not None and run.attempt == 1 and row.attempts == 1:
            self._lag.observe(max(0.0, (run.started - row.start_at).total_seconds()))
        for rule, records in scanned.items():
            self._records.labels(row.job, rule).inc(records)
        if how in _RETRIED and slot_row is not None and slot_row.status == "due":
            self._retries.labels(f"run_{how}").inc()

    def delivered(self, report: delivery.DeliveryReport) -> None:
        """Count the messages of a delivery of this process."""
        for message in report.sent:
            self._messages.labels(message.channel, "sent").inc()
        for message in report.failed:
            self._messages.labels(message.channel, message.status).inc()
        for why, _ in report.retried:
            self._retries.labels(why).inc()

    def executed(self, tally: ExecutionResult) -> None:
        """Count the plans that this process executed between runs."""
        for how, number in tally.counts.items():
            self._operations.labels(how.value).inc(number)
        for how in (How.NOT_DONE, How.PAUSED, How.COMMIT_UNKNOWN):
            if number := tally.counts[how]:
                self._retries.labels(f"cleaning_{how.value}").inc(number)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"reconcile_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"reconcile_{name}", text, labels, buckets=buckets, registry=self.registry)


def _taken_at(row: SlotRow) -> dt.datetime:
    """The time at which this process took the slot; an earlier owner counted what the run finished before."""
    return row.lease_until - CLAIM


class _Process:
    """The state of this process, read at every scrape."""

    def __init__(self, here: Callable[[], ProcessState]) -> None:
        self._here = here

    def collect(self) -> Iterable[Metric]:
        here = self._here()
        yield _gauge("scheduler_leads", "1 if this process is the scheduler.", int(here.leads))
        yield _gauge("running", "Runs in progress in this process.", here.running)
        text = "Runs that this process took over from a dead process."
        yield CounterMetricFamily("reconcile_lease_takeovers", text, value=here.taken_over)
        text = "Time since a duty of this process last ended without an error."
        ages = _labelled("tick_age_seconds", text, "duty")
        for duty, age in here.ages.items():
            ages.add_metric([duty], age)
        yield ages


@dataclass(eq=False)  # prometheus keeps collectors as keys
class _State:
    """The current state, read from the store at most every `FRESH` seconds."""

    store: Callable[[], Store]
    project: Callable[[], Project]
    here: Callable[[], ProcessState]
    clock: Callable[[], float]
    _read_at: float | None = None
    _metrics: list[Metric] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            if self._read_at is None or self.clock() - self._read_at >= FRESH:
                self._metrics = self._read()
                self._read_at = self.clock()
            return self._metrics

    def _read(self) -> list[Metric]:
        """A store that does not answer has no gauges: old ones would look like good ones."""
        store = self.store()
        try:
            with store.read() as tx:
                obstacle = ready.obstacle_in(tx, is_worker=self.here().is_worker)
                metrics = [_ready(int(obstacle is None)), _size(tx), *_all_metrics(tx, self.project())]
        except StoreError:
            return [_up(0), _ready(0), *_room(store)]
        return [_up(int(store.writes.ongoing() is None)), *metrics, *_room(store)]


def _up(value: int) -> Metric:
    return _gauge("store_up", "1 if the state database answers, and accepted the last writes of this process.", value)


def _ready(value: int) -> Metric:
    return _gauge("ready", "1 while /readyz answers 200.", value)


def _size(tx: Transaction) -> Metric:
    return _gauge("state_bytes", "Size of the state database.", health.size(tx))


def _room(store: Store) -> Iterator[Metric]:
    """The room on the disk of an SQLite state, also while it can't be read."""
    room = health.room(store)
    if room is not None:
        yield _gauge("state_free_bytes", "Free space on the disk of the state.", room.bytes)
        if room.files is not None:
            yield _gauge("state_free_files", "Files that can still be created on the disk of the state.", room.files)


def _all_metrics(tx: Transaction, project: Project) -> Iterator[Metric]:
    yield _findings(tx)
    yield from _slots(tx, project)
    yield from _outbox(tx)
    yield from _jobs(tx, project)
    yield from _cleanings(tx, project)
    yield from _keys(tx, project)
    yield _gauge("troubles", "Current troubles with Reconcile itself.", len(troubles.ongoing(tx)))
    yield _gauge("clock_held", "1 while a clock jump waits for confirmation.", int(clock_is_held(tx) is not None))


def _findings(tx: Transaction) -> Metric:
    metric = _labelled("findings", "Current findings.", "rule", "state", "severity")
    for count in findings.counts(tx):
        metric.add_metric([count.rule, count.state.value, count.severity.name], count.findings)
    return metric


def _slots(tx: Transaction, project: Project) -> Iterator[Metric]:
    metric = _labelled("slots", "Due times: all open ones, and those that ended within the last day.", "status")
    for status, count in stored_slots.counts(tx, tx.now - RECENT).items():
        metric.add_metric([status], count)
    yield metric
    waiting = [stored_slots.oldest_due(tx), *_unrecorded(tx, project)]
    oldest = min((at for at in waiting if at is not None), default=None)
    yield _gauge(
        "queue_age_seconds", "Age of the oldest due time that waits to start, recorded or not.", _age(tx, oldest)
    )


def _unrecorded(tx: Transaction, project: Project) -> Iterator[dt.datetime]:
    """The first due time of each job that no scheduler has recorded, though it is past."""
    rows = stored_slots.schedule_rows(tx)
    for job in project.jobs.values():
        row = rows.get(job.name)
        if job.schedule is None or row is None or row.revision != job.schedule.revision:
            continue
        first = job.schedule.following(max(row.since, row.watermark))
        if first is not None and first.at <= tx.now:
            yield first.at


def _outbox(tx: Transaction) -> Iterator[Metric]:
    counts = outbox.counts(tx)
    metric = _labelled("outbox", "Unsent messages.", "status")
    for status in (*outbox.WAITING, *outbox.GIVEN_UP):
        metric.add_metric([status], counts[status].count if status in counts else 0)
    yield metric
    oldest = min((counts[status].oldest for status in outbox.WAITING if status in counts), default=None)
    yield _gauge("outbox_age_seconds", "Age of the oldest waiting message.", _age(tx, oldest))


def _cleanings(tx: Transaction, project: Project) -> Iterator[Metric]:
    plans = _labelled("plans", "Unfinished cleaning plans, by state.", "state")
    counts = stored_plans.counts(tx)
    for state in PlanState:
        if state not in OVER:
            plans.add_metric([state.value], counts.get(state, 0))
    yield plans
    text = "Plans with a failed attempt that wait for the next one."
    yield _gauge("plans_to_retry", text, stored_plans.tried(tx))
    text = "Age of the oldest plan that waits for an approval."
    yield _gauge("approval_age_seconds", text, _age(tx, stored_plans.oldest_awaiting(tx)))
    broken = _labelled("breaker_open", "1 while nothing is sent to a source because it does not answer.", "source")
    stopped = breakers.not_closed(tx)
    sources = breaker.sources(tx, stopped)
    open_now = {sources[target.target] for target in stopped if target.target in sources}
    for source in sorted({*ownership.cleaned(project), *sources.values()}):
        broken.add_metric([source], int(source in open_now))
    yield broken


def _jobs(tx: Transaction, project: Project) -> Iterator[Metric]:
    text = "Time at which the job's last success ended; 0 before the first."
    success = _labelled("last_success_timestamp_seconds", text, _JOB)
    text = "Seconds by which the job's last success exceeds `success_within`; 0 while it is in time."
    overdue = _labelled("success_overdue_seconds", text, _JOB)
    paused = _labelled("job_paused", "1 while the job is paused.", _JOB)
    stopped, late = pauses.active(tx), watchdog.overdue(tx, project)
    succeeded = triggers.last_of_each(tx, project.jobs)
    for job in project.jobs:
        success.add_metric([job], succeeded[job].timestamp() if job in succeeded else 0)
        overdue.add_metric([job], late[job].total_seconds() if job in late else 0)
        is_paused = pauses.EVERYTHING in stopped or pauses.of_job(job) in stopped
        paused.add_metric([job], int(is_paused))
    yield from (success, overdue, paused)


def _keys(tx: Transaction, project: Project) -> Iterator[Metric]:
    """What happened to the keys of the namespaces of the configuration, in all processes."""
    text = "Claims of keys and their ends, by event: " + ", ".join(EVENTS) + "."
    counted, held = guarded_keys.counts(tx), guarded_keys.in_progress(tx) if project.guard else {}
    events = CounterMetricFamily("reconcile_keys", text, labels=("namespace", "event"))
    in_progress = _labelled("keys_in_progress", "Keys that a claim works on, or left.", "namespace")
    for namespace in project.guard:
        for event in EVENTS:
            events.add_metric([namespace, event], counted.get((namespace, event), 0))
        in_progress.add_metric([namespace], held.get(namespace, 0))
    yield from (events, in_progress)


def _age(tx: Transaction, since: dt.datetime | None) -> float:
    return 0.0 if since is None else max(0.0, (tx.now - since).total_seconds())


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"reconcile_{name}", text, value=value)


def _labelled(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"reconcile_{name}", text, labels=labels)
