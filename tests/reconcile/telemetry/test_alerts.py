"""The shipped alerts, evaluated by promtool over our own metrics pages and over the cases beside the alerts."""

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from reconcile import config
from reconcile.app import Application
from reconcile.journal import breaker
from reconcile.messages import delivery, watchdog
from reconcile.messages.outbox import Message
from reconcile.service.metrics import FRESH, Metrics, ProcessState
from reconcile.store import Store
from tests.reconcile.telemetry.alerts import RULES, TARGET, Scrape, firing, promtool
from tests.support.store import FixedClock
from tests.support.world import World

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""When promtool's clock begins."""
HOUR = dt.timedelta(hours=1)
STATE = "sqlite:///reconcile.db"
JOBS = {"nightly": {"rules": ["twice"]}, "other": {"rules": ["twice"]}}


class Watched:
    """A server whose clock is promtool's, and everything that Prometheus scraped of it."""

    def __init__(self, application: Application, clock: FixedClock, folder: Path) -> None:
        self.application = application
        self.store = application.store
        self.clock = clock
        self._folder = folder
        self._seconds = 0.0
        self._scrapes: list[Scrape] = []
        here = ProcessState(leads=True, running=0, taken_over=0, is_worker=True)
        self.metrics = Metrics(lambda: self.store, lambda: application.project, lambda: here, lambda: self._seconds)

    def passes(self, time: dt.timedelta) -> None:
        """Let so much time pass, in which Prometheus reads this page every minute."""
        self._seconds += FRESH
        with self.store.begin() as tx:
            watchdog.late(tx, self.application.project)
        self._scrapes.append(Scrape(self.metrics.page()[0], time // dt.timedelta(minutes=1)))
        self.clock.now += time

    def gives_up_a_message(self) -> None:
        message = Message("msg1_1", "team", "nightly", None, "failed", 24, self.clock.now, False, "refused", None, None)
        self.metrics.delivered(delivery.DeliveryReport(failed=[message]))

    def succeeds(self, job: str) -> None:
        self.application.run_slot(job, self.clock.now, "request")

    def firing(self) -> dict[str, set[str]]:
        return firing(self._scrapes, self._folder)


@contextmanager
def shop(folder: Path, jobs: dict[str, Any]) -> Iterator[Watched]:
    """A server that has just begun to serve these jobs."""
    written = {
        "sources": {"shop": {"type": "files"}},
        "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
        "jobs": jobs,
        "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
    }
    (folder / "charges.csv").write_text("id,order\n1,A\n2,B\n")
    (folder / "reconcile.yaml").write_text(json.dumps(written))
    clock = FixedClock(EPOCH)
    with Store.open(STATE, folder, clock=clock) as store:
        yield Watched(Application(config.load(folder / "reconcile.yaml", {}), store=store), clock, folder)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with shop(tmp_path, JOBS) as server:
        yield server


@pytest.mark.slow
def test_a_job_that_stopped_succeeding_alerts_while_another_succeeds(watched: Watched) -> None:
    watched.passes(HOUR)
    for job in JOBS:
        watched.succeeds(job)
    watched.passes(24 * HOUR)
    watched.succeeds("other")
    watched.passes(10 * HOUR)

    assert watched.firing()["ReconcileJobWithoutSuccess"] == {"nightly"}


@pytest.mark.slow
def test_a_job_that_never_succeeded_alerts_while_another_succeeds(watched: Watched) -> None:
    watched.succeeds("other")
    watched.passes(16 * HOUR)
    watched.succeeds("other")
    watched.passes(16 * HOUR)

    assert watched.firing() == {"ReconcileJobNeverSucceeded": {"nightly"}}


@pytest.mark.slow
def test_a_job_that_is_later_than_its_success_within_alerts_while_another_is_in_time(tmp_path: Path) -> None:
    jobs = {name: job | {"success_within": "2h"} for name, job in JOBS.items()}
    with shop(tmp_path, jobs) as watched:
        for hours in range(4):
            watched.succeeds("other")
            watched.passes(HOUR)
            fired = watched.firing()
            assert fired == ({} if hours < 3 else {"ReconcileSuccessOverdue": {"nightly"}, "ReconcileTrouble": {""}})


def test_the_first_message_of_a_server_that_is_given_up_alerts(watched: Watched) -> None:
    watched.passes(HOUR)
    watched.gives_up_a_message()
    watched.passes(HOUR / 2)

    assert watched.firing() == {"ReconcileMessagesFailed": {"team"}}


@pytest.mark.slow
def test_a_plan_that_waits_for_approval_and_a_database_that_never_took_a_change_alert(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", (1, "a@x", "Anna"), (2, "a@x", "Ann"), twins={"clean": {"action": "delete"}})
    clock = FixedClock(dt.datetime.now(dt.UTC))
    world.run()
    [plan] = world.plans()
    with world.open() as application, Store.open(STATE, world.folder, clock=clock) as store:
        watched = Watched(Application(application.project, store=store), clock, tmp_path)
        watched.passes(24 * HOUR)
        before = watched.firing()
        with store.begin() as tx:
            breaker.opened_for_person(tx, plan.target, "The user may not write")
        clock.now += HOUR
        watched.passes(HOUR)

        assert before == {}
        assert watched.firing() == {"ReconcileApprovalsWait": {""}, "ReconcileBreakerOpen": {"shop"}}


# The cases beside the alerts


@pytest.mark.slow
def test_every_case_beside_the_alerts_holds() -> None:
    tested = promtool("test", "rules", RULES.with_name("alerts_test.yaml"))

    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    cases = yaml.safe_load(RULES.with_name("alerts_test.yaml").read_text(encoding="utf-8"))
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}

    tested = [case for test in cases["tests"] for case in test["alert_rule_test"]]

    assert {case["alertname"] for case in tested if case["exp_alerts"]} == alerts
    assert {case["alertname"] for case in tested if not case["exp_alerts"]} == alerts


def test_no_label_of_ours_is_one_that_prometheus_sets(watched: Watched) -> None:
    watched.succeeds("nightly")
    watched.gives_up_a_message()
    families = text_string_to_metric_families(watched.metrics.page()[0].decode())

    assert {name for family in families for sample in family.samples for name in sample.labels} & set(TARGET) == set()
