"""Metrics of `reconcile serve` for Prometheus: its own events as they happen, and the state as it stands.

Counters and histograms belong to this process. Gauges about the state are read from the store when somebody asks, in
one read transaction, at most every few seconds. Labels are names of the configuration; they never hold data. No label
is called `job` or `instance`: Prometheus sets these itself and renames ours. Whatever an alert waits for has a series
from the start, with 0: Prometheus does not see an increase from nothing to 1, nor a job that is missing.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from reconcile.cleaning.execution.carried import Tally
from reconcile.cleaning.execution.execute import How
from reconcile.config.settings import Project
from reconcile.coordination import pauses
from reconcile.coordination.clock import held as clock_is_held
from reconcile.findings.operations import OVER, BundleState
from reconcile.journal import breaker, ownership
from reconcile.messages import delivery, watchdog
from reconcile.schedule.slots import run_id
from reconcile.service.workers import CLAIM, OUTCOMES
from reconcile.store import Store, StoreError, Transaction, successes
from reconcile.store import bundles as stored_bundles
from reconcile.store import runs as stored_runs
from reconcile.store import slots as stored_slots
from reconcile.store.slots import SlotRow
from reconcile.store.tables import bundles, findings, outbox, run_rules, slots, troubles
from rules.models import Severity

FRESH = 5.0
"""Seconds for which what was read from the store is given again."""
RECENT = dt.timedelta(days=1)
"""Slots that ended are counted so far back; older ones are history."""

_SECONDS = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, float("inf"))
_LAGS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, float("inf"))
_JOB = "reconcile_job"
_TRIED_AGAIN = ("failed", "died")
_OPEN = ("due", "running")
_OVER = ("succeeded", "failed", "missed")
_WAITING = ("queued", "sending")
_GIVEN_UP = ("failed", "unknown")


@dataclass(frozen=True)
class Here:
    """What only this process knows of itself."""

    leads: bool
    running: int
    taken_over: int


class Metrics:
    """The metrics of one process: of the `store` it has open, and the `project` it serves, at the time of asking.

    `here` says how the process stands. Safe between threads. What it is told must not be told inside of a transaction:
    it reads the store.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        project: Callable[[], Project],
        here: Callable[[], Here],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._store = store
        self._project = project
        self._clock = clock
        self._began: dict[tuple[str, dt.datetime, int], float] = {}
        self._runs = self._counter("runs", "Runs that this process carried out, by how they ended.", _JOB, "status")
        self._seconds = self._histogram("run_seconds", "How long carrying a run out took.", _SECONDS, _JOB)
        self._records = self._counter("records_scanned", "Records that passed `where`.", _JOB, "rule")
        self._lag = self._histogram(
            "scheduling_lag_seconds", "From when a slot was to start until its run was taken up.", _LAGS
        )
        self._retries = self._counter("retries", "Runs and messages that are to be tried again, by why.", "class")
        self._messages = self._counter("messages", "Messages sent, or given up.", "channel", "status")
        self._operations = self._counter(
            "operations", "Cleanings that this process carried out, by outcome.", "outcome"
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(_Process(here))
        self.registry.register(_State(store, project, clock))

    def page(self, accept: str = "") -> tuple[bytes, str]:
        """The metrics as Prometheus reads them, and the content type; `accept` is its header."""
        self._begin_at_zero(self._project())
        encode, kind = choose_encoder(accept)
        return encode(self.registry), kind

    def _begin_at_zero(self, project: Project) -> None:
        """Give every job and channel of the configuration its counters; those that count already stay as they are."""
        for job in project.jobs.values():
            self._seconds.labels(job.name)
            for outcome in OUTCOMES:
                self._runs.labels(job.name, outcome)
            for rule in job.rules:
                self._records.labels(job.name, rule)
        for channel in project.channels:
            for outcome in ("sent", *_GIVEN_UP):
                self._messages.labels(channel, outcome)
        for how in How:
            self._operations.labels(how.value)

    def run_started(self, row: SlotRow) -> None:
        """A slot was taken, and its run begins to be carried out."""
        self._began[row.job, row.slot, row.fence] = self._clock()

    def run_ended(self, row: SlotRow, how: str) -> None:
        """Its run ended so (workers.Ended), and was put down. Raises a StoreError; what it did is counted before."""
        began = self._began.pop((row.job, row.slot, row.fence), None)
        self._runs.labels(row.job, how).inc()
        if began is not None:
            self._seconds.labels(row.job).observe(self._clock() - began)
        with self._store().read() as tx:
            ran = stored_runs.get(tx, run_id(row.job, row.slot))
            left = stored_slots.get(tx, row.job, row.slot)
            scanned = [] if ran is None else list(_scanned(tx, ran.id, _taken_at(row)))
        if ran is not None and ran.attempt == 1 and row.attempts == 1:
            self._lag.observe(max(0.0, (ran.started - row.start_at).total_seconds()))
        for rule, records in scanned:
            self._records.labels(row.job, rule).inc(records)
        if how in _TRIED_AGAIN and left is not None and left.status == "due":
            self._retries.labels(f"run_{how}").inc()

    def delivered(self, report: delivery.Report) -> None:
        """What a delivery of this process did."""
        for message in report.sent:
            self._messages.labels(message.channel, "sent").inc()
        for message in report.failed:
            self._messages.labels(message.channel, message.status).inc()
        for why, _ in report.retried:
            self._retries.labels(why).inc()

    def carried_out(self, tally: Tally) -> None:
        """What became of plans that this process carried out between runs."""
        for how, number in tally.counts.items():
            self._operations.labels(how.value).inc(number)
        for how in (How.NOT_DONE, How.PAUSED, How.IN_DOUBT):
            if number := tally.counts[how]:
                self._retries.labels(f"cleaning_{how.value}").inc(number)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"reconcile_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"reconcile_{name}", text, labels, buckets=buckets, registry=self.registry)


def _taken_at(row: SlotRow) -> dt.datetime:
    """When this process took the slot: what its run finished earlier was counted by whoever had it then."""
    return row.lease_until - CLAIM


def _scanned(tx: Transaction, run: str, since: dt.datetime) -> Iterator[tuple[str, int]]:
    mine = (run_rules.c.run == run, run_rules.c.status == "done", run_rules.c.finished >= since)
    for row in tx.connection.execute(sa.select(run_rules.c.rule, run_rules.c.outcome).where(*mine)):
        yield row.rule, row.outcome.get("scanned", 0)


class _Process:
    """How this process stands, asked at every scrape."""

    def __init__(self, here: Callable[[], Here]) -> None:
        self._here = here

    def collect(self) -> Iterable[Metric]:
        here = self._here()
        yield _gauge("scheduler_leads", "1 where this process schedules.", int(here.leads))
        yield _gauge("running", "Runs that this process has under way.", here.running)
        text = "Runs that this process took over from one that died."
        yield CounterMetricFamily("reconcile_lease_takeovers", text, value=here.taken_over)


@dataclass(eq=False)  # prometheus keeps collectors as keys
class _State:
    """The state as it stands, read from the store at most every `FRESH` seconds."""

    store: Callable[[], Store]
    project: Callable[[], Project]
    clock: Callable[[], float]
    _read_at: float | None = None
    _found: list[Metric] = field(default_factory=list)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def collect(self) -> Iterable[Metric]:
        with self._one_at_a_time:
            if self._read_at is None or self.clock() - self._read_at >= FRESH:
                self._found = self._read()
                self._read_at = self.clock()
            return self._found

    def _read(self) -> list[Metric]:
        """What does not answer has no state: an old one would look like a good one."""
        try:
            with self.store().read() as tx:
                found = list(_all_of_it(tx, self.project()))
        except StoreError:
            return [_gauge("store_up", "1 where the state database answers.", 0)]
        return [_gauge("store_up", "1 where the state database answers.", 1), *found]


def _all_of_it(tx: Transaction, project: Project) -> Iterator[Metric]:
    yield _findings(tx)
    yield from _slots(tx)
    yield from _outbox(tx)
    yield from _jobs(tx, project)
    yield from _cleanings(tx, project)
    count = tx.connection.execute(sa.select(sa.func.count()).select_from(troubles)).scalar_one()
    yield _gauge("troubles", "Troubles with Reconcile itself that go on.", count)
    yield _gauge("clock_held", "1 while a jump of the clock waits for a person.", int(clock_is_held(tx) is not None))


def _findings(tx: Transaction) -> Metric:
    metric = _labelled("findings", "Findings as they stand.", "rule", "state", "severity")
    by = (findings.c.rule, findings.c.state, findings.c.severity)
    for rule, state, severity, count in tx.connection.execute(sa.select(*by, sa.func.count()).group_by(*by)):
        metric.add_metric([rule, state, Severity(severity).name], count)
    return metric


def _slots(tx: Transaction) -> Iterator[Metric]:
    counts = dict.fromkeys((*_OPEN, *_OVER), 0)
    counted = sa.or_(slots.c.status.in_(_OPEN), sa.and_(slots.c.status.in_(_OVER), slots.c.start_at >= tx.now - RECENT))
    query = sa.select(slots.c.status, sa.func.count()).where(counted).group_by(slots.c.status)
    for status, count in tx.connection.execute(query):
        counts[status] = count
    metric = _labelled("slots", "Due times: all that are open, and those of the last day that ended.", "status")
    for status, count in counts.items():
        metric.add_metric([status], count)
    yield metric
    first = sa.func.min(slots.c.start_at, type_=slots.c.start_at.type)
    oldest = tx.connection.execute(
        sa.select(first).where(slots.c.status == "due", slots.c.start_at <= tx.now)
    ).scalar_one()
    yield _gauge("queue_age_seconds", "How long the slot that waits longest could have started.", _age(tx, oldest))


def _outbox(tx: Transaction) -> Iterator[Metric]:
    first = sa.func.min(outbox.c.queued_at, type_=outbox.c.queued_at.type)
    query = (
        sa.select(outbox.c.status, sa.func.count(), first)
        .where(outbox.c.status.in_((*_WAITING, *_GIVEN_UP)))
        .group_by(outbox.c.status)
    )
    counted = {status: (count, oldest) for status, count, oldest in tx.connection.execute(query)}
    metric = _labelled("outbox", "Messages that are not sent.", "status")
    for name in (*_WAITING, *_GIVEN_UP):
        metric.add_metric([name], counted[name][0] if name in counted else 0)
    yield metric
    oldest = min((counted[name][1] for name in _WAITING if name in counted), default=None)
    yield _gauge("outbox_age_seconds", "How long the message that waits longest has waited.", _age(tx, oldest))


def _cleanings(tx: Transaction, project: Project) -> Iterator[Metric]:
    plans = _labelled("plans", "Plans for cleaning, by state; those that are over are left out.", "status")
    counts = stored_bundles.counts(tx)
    for state in BundleState:
        if state not in OVER:
            plans.add_metric([state.value], counts.get(state, 0))
    yield plans
    first = sa.func.min(bundles.c.created_at, type_=bundles.c.created_at.type)
    oldest = tx.connection.execute(sa.select(first).where(bundles.c.state == BundleState.AWAITING.value)).scalar_one()
    text = "How long the plan that waits longest for an approval has waited."
    yield _gauge("approval_age_seconds", text, _age(tx, oldest))
    broken = _labelled("breaker_open", "1 while nothing is sent to a source because it does not answer.", "source")
    stopped = breaker.all_open(tx)
    sources = breaker.sources(tx, stopped)
    open_now = {sources[one.target] for one in stopped if one.target in sources}
    for source in sorted({*ownership.cleaned(project), *sources.values()}):
        broken.add_metric([source], int(source in open_now))
    yield broken


def _jobs(tx: Transaction, project: Project) -> Iterator[Metric]:
    text = "When the job's last success ended; 0 before the first."
    success = _labelled("last_success_timestamp_seconds", text, _JOB)
    text = "How much longer than `success_within` the job's last success is ago; 0 while it is in time."
    overdue = _labelled("success_overdue_seconds", text, _JOB)
    paused = _labelled("job_paused", "1 while the job is paused.", _JOB)
    stopped, late = pauses.active(tx), watchdog.overdue(tx, project)
    succeeded = successes.last_of_each(tx, project.jobs)
    for job in project.jobs:
        success.add_metric([job], succeeded[job].timestamp() if job in succeeded else 0)
        overdue.add_metric([job], late[job].total_seconds() if job in late else 0)
        is_paused = pauses.EVERYTHING in stopped or pauses.of_job(job) in stopped
        paused.add_metric([job], int(is_paused))
    yield from (success, overdue, paused)


def _age(tx: Transaction, since: dt.datetime | None) -> float:
    return 0.0 if since is None else max(0.0, (tx.now - since).total_seconds())


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"reconcile_{name}", text, value=value)


def _labelled(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"reconcile_{name}", text, labels=labels)
