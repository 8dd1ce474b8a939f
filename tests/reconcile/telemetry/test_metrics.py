"""Metrics: what happened in this process, what stands in the store, and that the pages name every one of them."""

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from prometheus_client.parser import text_string_to_metric_families

from notifications.base import Notice
from reconcile import config
from reconcile.app import Application
from reconcile.coordination import pauses
from reconcile.coordination.clock import HostTime, look
from reconcile.guard import Claim, Guard
from reconcile.guard.counts import EVENTS
from reconcile.messages import delivery, outbox, troubles
from reconcile.service.metrics import FRESH, Metrics, ProcessState
from reconcile.service.scheduler import Scheduler
from reconcile.service.workers import CLAIM
from reconcile.store import Store, tables
from reconcile.store import outbox as stored_outbox
from reconcile.store import slots as stored
from reconcile.store.slots import NewSlot, SlotRow
from tests.support.docs import ROOT
from tests.support.store import FixedClock

SECOND = dt.timedelta(seconds=1)
HOUR = dt.timedelta(hours=1)


@dataclass
class Server:
    """A process as the metrics see it: its store, its project, and a clock of its own."""

    application: Application
    clock: FixedClock
    seconds: float = 0.0
    here: ProcessState = field(default_factory=lambda: ProcessState(leads=True, running=2, taken_over=3))

    def __post_init__(self) -> None:
        self.store = self.application.store
        self.metrics = Metrics(
            lambda: self.store, lambda: self.application.project, lambda: self.here, lambda: self.seconds
        )

    def due(self, slot: dt.datetime, job: str = "nightly") -> None:
        with self.store.begin() as tx:
            stored.write_down(tx, [NewSlot(job, slot, f"request:{slot.isoformat()}", slot)])

    def take(self, slot: dt.datetime, job: str = "nightly") -> SlotRow:
        with self.store.begin() as tx:
            row = stored.get(tx, job, slot)
            assert row is not None
            taken = stored.take(tx, row, {}, tx.now + CLAIM)
        assert taken is not None
        return taken

    def read(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        """Every sample by its name and labels, as a scraper that comes after a while sees it."""
        self.seconds += FRESH
        text = self.metrics.page()[0].decode()
        values_by_metric: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                values_by_metric.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
        return values_by_metric

    def value(self, name: str, **labels: str) -> float | None:
        return self.read().get(f"reconcile_{name}", {}).get(tuple(sorted(labels.items())))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    written = {
        "sources": {"shop": {"type": "files"}},
        "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
        "rules": {
            name: {"kind": "duplicates", "dataset": "charges", "key": ["order"], "severity": "high"}
            for name in ("twice", "again")
        },
        "jobs": {"nightly": {"rules": ["twice", "again"]}, "other": {"rules": ["twice"]}},
        "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
        "guard": {"welcome": {}, "refunds": {}},
    }
    (tmp_path / "charges.csv").write_text("id,order\n1,A\n2,A\n3,B\n")
    (tmp_path / "reconcile.yaml").write_text(json.dumps(written))
    clock = FixedClock()
    project = config.load(tmp_path / "reconcile.yaml", {})
    with Store.open("sqlite:///reconcile.db", tmp_path, clock=clock) as store:
        yield Server(Application(project, store=store), clock)


def carry_out(server: Server, row: SlotRow, seconds: float = 4.0) -> None:
    server.metrics.run_started(row)
    server.application.run_slot(row.job, row.slot, "request")
    server.seconds += seconds


def end(server: Server, row: SlotRow, how: str, status: str | None = None) -> None:
    """What the workers do with a run that ended, and then tell."""
    with server.store.begin() as tx:
        if status is None:
            stored.again(tx, row, tx.now, "why")
        else:
            stored.end(tx, row, status)
    server.metrics.run_ended(row, how)


@pytest.mark.slow
def test_a_run_is_counted_with_its_time_its_records_and_how_late_it_was(server: Server) -> None:
    server.due(server.clock.now - 90 * SECOND)
    row = server.take(server.clock.now - 90 * SECOND)

    carry_out(server, row)
    end(server, row, "succeeded", "succeeded")

    assert server.value("runs_total", reconcile_job="nightly", status="succeeded") == 1
    assert server.value("run_seconds_sum", reconcile_job="nightly") == 4
    assert server.value("records_scanned_total", reconcile_job="nightly", rule="twice") == 3
    assert server.value("scheduling_lag_seconds_sum") == 90
    assert server.value("scheduling_lag_seconds_bucket", le="300.0") == 1
    assert server.value("scheduling_lag_seconds_bucket", le="60.0") == 0
    assert server.value("retries_total") is None


@pytest.mark.slow
def test_a_run_that_goes_on_counts_only_the_records_it_read_now(server: Server) -> None:
    server.due(server.clock.now)
    first = server.take(server.clock.now)
    carry_out(server, first)
    end(server, first, "died")
    server.clock.now += HOUR
    second = server.take(first.slot)
    server.metrics.run_started(second)

    end(server, second, "succeeded", "succeeded")

    assert server.value("records_scanned_total", reconcile_job="nightly", rule="twice") == 3
    assert server.value("retries_total", **{"class": "run_died"}) == 1
    assert server.value("scheduling_lag_seconds_count") == 1


def test_a_run_that_never_began_is_counted_all_the_same(server: Server) -> None:
    server.due(server.clock.now)
    row = server.take(server.clock.now)
    server.metrics.run_started(row)

    end(server, row, "paused")

    assert server.value("runs_total", reconcile_job="nightly", status="paused") == 1
    assert server.value("scheduling_lag_seconds_count") == 0


def test_messages_are_counted_by_what_became_of_them_and_attempts_by_their_error(server: Server) -> None:
    with server.store.begin() as tx:
        for number in range(3):
            outbox.enqueue(tx, "team", notice(f"msg1_{number}", tx.now))
    with server.store.read() as tx:
        sent, failed, _ = stored_outbox.listed(tx)
        failed = replace(failed, status="failed")

    server.metrics.delivered(
        delivery.DeliveryReport(
            sent=[sent], failed=[failed], retried=[("RateLimited", failed), ("RateLimited", failed)]
        )
    )

    assert server.value("messages_total", channel="team", status="sent") == 1
    assert server.value("messages_total", channel="team", status="failed") == 1
    assert server.value("retries_total", **{"class": "RateLimited"}) == 2


def notice(name: str, now: dt.datetime) -> Notice:
    trouble = troubles.TroubleNotice("clock", "The clock jumped. Look at it", now)
    return Notice(id=name, job=None, run=None, slot=now, created=now, timezone="UTC", trouble=trouble)


def test_the_outbox_shows_what_waits_and_for_how_long(server: Server) -> None:
    with server.store.begin() as tx:
        outbox.enqueue(tx, "team", notice("msg1_1", tx.now))
    server.clock.now += HOUR

    assert server.value("outbox", status="queued") == 1
    assert server.value("outbox", status="failed") == 0
    assert server.value("outbox_age_seconds") == 3600


def test_a_message_that_may_have_arrived_is_unknown_and_not_failed(server: Server) -> None:
    with server.store.begin() as tx:
        for number in range(3):
            outbox.enqueue(tx, "team", notice(f"msg1_{number}", tx.now))
        tx.connection.execute(sa.update(tables.outbox).values(status="failed"))
        unknown = sa.update(tables.outbox).where(tables.outbox.c.message == "msg1_1")
        tx.connection.execute(unknown.values(status="unknown"))

    assert (server.value("outbox", status="failed"), server.value("outbox", status="unknown")) == (2, 1)


@pytest.mark.slow
def test_findings_stand_by_rule_state_and_severity(server: Server) -> None:
    server.application.run_slot("nightly", server.clock.now, "request")

    assert server.value("findings", rule="twice", state="open", severity="high") == 1


def test_slots_show_what_is_open_and_what_ended_lately_and_how_old_the_queue_is(server: Server) -> None:
    now = server.clock.now
    for slot in (now - HOUR, now - 2 * HOUR, now + HOUR):
        server.due(slot)
    for slot in (now - 3 * HOUR, now - 50 * HOUR):
        server.due(slot)
        with server.store.begin() as tx:
            row = stored.get(tx, "nightly", slot)
            assert row is not None
            stored.end(tx, row, "missed", "why")

    assert server.value("slots", status="due") == 3
    assert server.value("slots", status="running") == 0
    assert server.value("slots", status="missed") == 1
    assert server.value("queue_age_seconds") == 7200


def test_an_empty_queue_has_no_age(server: Server) -> None:
    server.due(server.clock.now + HOUR)

    assert server.value("queue_age_seconds") == 0
    assert server.value("outbox_age_seconds") == 0


def test_a_due_time_that_no_scheduler_recorded_waits_in_the_queue(server: Server) -> None:
    (server.application.project.path).write_text(
        json.dumps(
            json.loads(server.application.project.path.read_text())
            | {"jobs": {"nightly": {"rules": ["twice"], "schedule": "0 * * * *"}}}
        )
    )
    server.application.project = config.load(server.application.project.path, {})
    Scheduler(server.store).tick(server.application.project)
    before = server.value("queue_age_seconds")

    server.clock.now += HOUR + 300 * SECOND

    assert before == 0
    assert server.value("queue_age_seconds") == 300


@pytest.mark.slow
def test_every_job_shows_its_last_success_and_whether_it_is_paused(server: Server) -> None:
    server.application.run_slot("nightly", server.clock.now, "request")
    with server.store.begin() as tx:
        pauses.pause(tx, "job:other", reason="r", by="ada")

    assert server.value("last_success_timestamp_seconds", reconcile_job="nightly") == server.clock.now.timestamp()
    assert server.value("last_success_timestamp_seconds", reconcile_job="other") == 0
    assert server.value("job_paused", reconcile_job="nightly") == 0
    assert server.value("job_paused", reconcile_job="other") == 1


def test_a_pause_of_everything_pauses_every_job(server: Server) -> None:
    with server.store.begin() as tx:
        pauses.pause(tx, pauses.EVERYTHING, reason="r", by="ada")

    assert server.value("job_paused", reconcile_job="nightly") == 1


def test_trouble_and_a_clock_that_jumped_are_seen(server: Server) -> None:
    with server.store.begin() as tx:
        troubles.begin(tx, server.application.project, "configuration", "It is wrong")
        look(tx, HostTime("boot", 0))
    before = server.value("clock_held")
    server.clock.now += HOUR
    with server.store.begin() as tx:
        look(tx, HostTime("boot", 0))

    assert (before, server.value("clock_held"), server.value("troubles")) == (0, 1, 1)


def test_this_process_says_how_it_stands(server: Server) -> None:
    assert server.value("scheduler_leads") == 1
    assert server.value("running") == 2
    assert server.value("lease_takeovers_total") == 3
    assert server.value("store_up") == 1


def test_a_store_that_does_not_answer_shows_as_that_and_leaves_nothing_old(server: Server, tmp_path: Path) -> None:
    assert server.value("clock_held") == 0
    server.store.close()
    (tmp_path / "reconcile.db").write_bytes(b"no database at all" * 1000)

    assert server.value("store_up") == 0
    assert server.value("clock_held") is None
    assert server.value("running") == 2


def test_the_store_is_read_once_in_a_while_however_often_somebody_asks(server: Server) -> None:
    asked: list[str] = []
    sa.event.listen(server.store._engine, "before_cursor_execute", lambda *args: asked.append(args[2]))

    server.metrics.page()
    once = len(asked)
    server.metrics.page()
    again = len(asked) - once
    server.seconds += FRESH
    server.metrics.page()

    assert once > 5
    assert again == 0
    assert len(asked) == 2 * once


def test_counting_never_walks_through_what_is_over_and_reads_no_finding(server: Server) -> None:
    asked: list[tuple[str, Any]] = []
    sa.event.listen(server.store._engine, "before_cursor_execute", lambda *args: asked.append((args[2], args[3])))

    server.metrics.page()

    plans = []
    with server.store.read() as tx:
        for statement, parameters in [
            item for item in asked if re.search(r"FROM (slots|outbox|wanted|findings)\b", item[0])
        ]:
            plan = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans += [str(row[3]) for row in plan]
    assert len(plans) > 4
    scans = [plan for plan in plans if re.match(r"SCAN (slots|outbox|runs|findings)\b", plan)]
    assert scans == ["SCAN findings USING COVERING INDEX ix_findings_rule_state_severity_amount_rank_first_seen_id"]


@pytest.mark.server
def test_it_reads_the_same_from_postgresql(server: Server, postgres_url: str, tmp_path: Path) -> None:
    server.application.run_slot("nightly", server.clock.now, "request")
    here = {name for name in server.read() if name.startswith("reconcile_")}
    with Store.open(postgres_url, tmp_path, clock=server.clock) as store:
        present = Server(Application(server.application.project, store=store), server.clock)
        present.application.run_slot("nightly", server.clock.now, "request")

        disk = {"reconcile_state_free_bytes", "reconcile_state_free_files"}
        assert {name for name in present.read() if name.startswith("reconcile_")} == here - disk
        assert present.value("last_success_timestamp_seconds", reconcile_job="nightly") == server.clock.now.timestamp()
        assert present.value("findings", rule="twice", state="open", severity="high") == 1


@pytest.mark.slow
def test_no_label_holds_data_or_secrets(server: Server) -> None:
    server.application.run_slot("nightly", server.clock.now, "request")

    labels = {name for samples in server.read().values() for key in samples for name, _ in key}

    ours = {"reconcile_job", "rule", "state", "severity", "status", "channel", "class", "outcome", "le"}
    ours |= {"namespace", "event"}
    assert labels == ours - {"class"}


def test_claims_of_every_process_are_counted_by_namespace_and_event_from_zero_on(server: Server) -> None:
    assert server.value("keys_total", namespace="refunds", event="conflicts") == 0
    with Guard.over(server.store, server.application.project.guard) as guard:
        for customer in (1, 2):
            claim = guard.claim("welcome", customer)
        assert isinstance(claim, Claim)
        claim.complete()
        guard.claim("welcome", 2)

    counted = {event: server.value("keys_total", namespace="welcome", event=event) for event in EVENTS}

    assert {event: number for event, number in counted.items() if number} == {"created": 2, "used": 1, "hits": 1}
    assert server.value("keys_in_progress", namespace="welcome") == 1
    assert server.value("keys_in_progress", namespace="refunds") == 0


def test_a_scraper_that_asks_for_openmetrics_gets_it(server: Server) -> None:
    body, kind = server.metrics.page("application/openmetrics-text; version=1.0.0")

    assert kind.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


# What is written of them


def names(server: Server) -> set[str]:
    """As they are asked for in Prometheus; the samples of a histogram count as one."""
    result = set()
    for family in server.metrics.registry.collect():
        if family.name.startswith("reconcile_"):
            result.add(f"{family.name}_total" if family.type == "counter" else family.name)
    return result


@pytest.mark.slow
def test_the_page_lists_every_metric_with_its_kind_and_labels(server: Server) -> None:
    server.application.run_slot("nightly", server.clock.now, "request")
    kinds = {f"{f.name}_total" if f.type == "counter" else f.name: f.type for f in server.metrics.registry.collect()}
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.split("\n## Metrics\n", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^- (Counter|Histogram|Gauge)s[^:]*: (.+)$", section, re.MULTILINE)
    documented = {
        name: (kind.lower(), set(re.findall(r"\w+", labels)))
        for kind, metrics in listed
        for name, labels in re.findall(r"`(reconcile_\w+)`(?: \(([^)]*)\))?(?=, |$)", metrics)
    }

    assert set(documented) == names(server)
    for name, (kind, labels) in documented.items():
        assert kind == kinds[name], name
        for sample in (name, f"{name}_bucket", f"{name}_count"):
            assert all({label for label, _ in by} - {"le"} == labels for by in server.read().get(sample, {})), sample


def test_every_metric_of_the_example_alerts_is_there_and_every_alert_says_what_it_means(server: Server) -> None:
    written = yaml.safe_load((ROOT / "examples" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
    histograms = {f"{name}_{part}" for name in names(server) for part in ("bucket", "sum", "count")}

    alerts = [rule for group in written["groups"] for rule in group["rules"]]

    assert len({item["alert"] for item in alerts}) == len(alerts) > 5
    for alert in alerts:
        assert set(alert) <= {"alert", "expr", "for", "labels", "annotations"}, alert["alert"]
        assert alert["annotations"]["summary"], alert["alert"]
        used = set(re.findall(r"reconcile_\w+", alert["expr"])) - {"reconcile_job"}
        assert used <= names(server) | histograms, alert["alert"]
        assert used or "up{" in alert["expr"], alert["alert"]
