"""Workers: which slot is taken next, by whom, and what becomes of it however its run ends."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from store_support import FixedClock

from reconcile import config
from reconcile.app import load
from reconcile.audit import log
from reconcile.config.settings import Project
from reconcile.coordination import pauses, releases
from reconcile.service.workers import RUNS, Ended, Workers
from reconcile.store import Store
from reconcile.store import slots as stored
from reconcile.store import troubles as stored_troubles
from reconcile.store.slots import NewSlot, SlotRow


@dataclass
class Run:
    """A run whose course the test decides; it stops when it is told to."""

    row: SlotRow
    came_to: Ended | None = None
    at: str | None = None
    killed: bool = False

    def ended(self) -> Ended | None:
        return self.came_to

    def rule(self) -> str | None:
        return self.at

    def stop(self) -> None:
        self.came_to = Ended("stopped")

    def kill(self) -> None:
        self.killed = True


@dataclass
class Office:
    """A store, its clock, workers, and every run they began, by its job."""

    store: Store
    clock: FixedClock
    folder: Path
    runs: dict[str, Run] = field(default_factory=dict)
    workers: Workers = field(init=False)

    def __post_init__(self) -> None:
        self.workers = Workers(self.store, self.carry)

    def carry(self, _project: Project, row: SlotRow) -> Run:
        self.runs[row.job] = Run(row)
        return self.runs[row.job]

    def project(self, *jobs: str, shop: int | None = None, erp: int | None = None, **more: Any) -> Project:
        """Jobs over two sources, with their limits: a job called erp-… begins at erp, the others read shop only."""
        limits = {name: {"max_parallel": limit} if limit else {} for name, limit in (("shop", shop), ("erp", erp))}
        written = {
            "sources": {name: {"type": "files", **limit} for name, limit in limits.items()},
            "datasets": {name: {"source": name, "path": "a.csv", "id": "id"} for name in ("shop", "erp")},
            "rules": {name: {"kind": "duplicates", "dataset": name, "key": ["a"]} for name in ("shop", "erp")},
            "jobs": {n: {"rules": ["erp", "shop"] if n.startswith("erp") else ["shop"], "notify": ["t"]} for n in jobs},
            "channels": {"t": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
            **more,
        }
        (self.folder / "reconcile.yaml").write_text(json.dumps(written))
        return config.load(self.folder / "reconcile.yaml", {})

    def due(self, job: str, *, priority: int = 0, ago: int = 0) -> None:
        sources = ("erp", "shop") if job.startswith("erp") else ("shop",)
        with self.store.begin() as tx:
            at = tx.now - dt.timedelta(minutes=ago)
            stored.write_down(tx, [NewSlot(job, at, f"request:{at}", at, priority, sources)])

    def row(self, job: str) -> SlotRow:
        with self.store.read() as tx:
            return stored.listed(tx, job=job)[0]

    def ends(self, job: str, how: str, sentence: str | None = None) -> SlotRow:
        self.runs[job].came_to = Ended(how, sentence)
        self.workers.settle()
        return self.row(job)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    clock = FixedClock()
    with Store.open("sqlite:///state.db", tmp_path, clock=clock) as store:
        yield Office(store, clock, tmp_path)


def test_the_most_urgent_is_taken_first_then_what_waits_longest_and_no_more_than_there_is_room(office: Office) -> None:
    project = office.project("late", "early", "urgent", shop=9, max_parallel=2)
    office.due("late", ago=1)
    office.due("early", ago=9)
    office.due("urgent", priority=5)

    office.workers.tick(project)

    assert list(office.runs) == ["urgent", "early"]


def test_room_that_became_less_than_what_runs_takes_nothing(office: Office) -> None:
    jobs = [f"job-{number}" for number in range(6)]
    for job in jobs[:4]:
        office.due(job)
    office.workers.tick(office.project(*jobs, shop=9, max_parallel=4))
    for job in jobs[4:]:
        office.due(job)

    office.workers.tick(office.project(*jobs, shop=9, max_parallel=2))

    assert len(office.runs) == 4


def test_a_job_runs_once_at_a_time(office: Office) -> None:
    project = office.project("nightly")
    office.due("nightly", ago=1)
    office.due("nightly")

    office.workers.tick(project)
    office.workers.tick(project)

    assert office.workers.busy == 1


def test_a_source_with_a_limit_is_read_by_so_many_runs_of_all_processes(office: Office) -> None:
    project = office.project("erp-1", "erp-2", "erp-3", erp=2, max_parallel=9)
    other = Workers(office.store, office.carry)
    for job in project.jobs:
        office.due(job)

    office.workers.tick(project)
    other.tick(project)

    assert len(office.runs) == 2


def test_a_source_without_a_limit_leaves_one_place_to_what_does_not_read_it(office: Office) -> None:
    project = office.project("erp-1", "erp-2", "erp-3", "nightly", max_parallel=3)
    for number, job in enumerate(project.jobs):
        office.due(job, priority=-number)

    office.workers.tick(project)

    assert list(office.runs) == ["erp-1", "erp-2", "nightly"]


def test_a_run_that_went_on_to_another_source_gives_its_place_at_the_first_back(office: Office) -> None:
    project = office.project("erp-1", "erp-2", "erp-3", max_parallel=3)
    for job in project.jobs:
        office.due(job)
    office.workers.tick(project)
    before = len(office.runs)

    office.runs["erp-1"].at = "shop"
    office.workers.tick(project)

    assert (before, len(office.runs)) == (2, 3)


def test_a_run_that_failed_is_tried_again_later_and_given_up_after_its_attempts(office: Office) -> None:
    project = office.project("nightly")
    office.due("nightly")
    seen = []

    for _ in range(RUNS.attempts):
        office.workers.tick(project)
        row = office.ends("nightly", "failed", "Source 'shop' did not answer")
        seen.append(row.status)
        office.clock.now = max(office.clock.now, row.start_at)

    assert seen == ["due"] * (RUNS.attempts - 1) + ["failed"]
    assert office.row("nightly").reason == "Source 'shop' did not answer"


@pytest.mark.parametrize("how", ["busy", "paused", "stopped"])
def test_a_run_that_did_not_come_to_run_costs_no_attempt(office: Office, how: str) -> None:
    project = office.project("nightly")
    office.due("nightly")
    office.workers.tick(project)

    row = office.ends("nightly", how)

    assert (row.status, row.attempts) == ("due", 0)


def test_a_process_that_dies_twice_is_trouble_until_the_job_succeeds(office: Office) -> None:
    project = office.project("nightly")
    office.due("nightly")
    known = []
    for how in ("died", "died", "succeeded"):
        office.workers.tick(project)
        row = office.ends("nightly", how, "the process of its run was ended by signal 9 without a result")
        office.clock.now = max(office.clock.now, row.start_at)
        with office.store.read() as tx:
            known.append([one.subject for one in stored_troubles.ongoing(tx)])

    assert known == [[], ["job:nightly"], []]


def test_what_a_dead_process_had_taken_is_taken_over_and_its_own_word_counts_no_more(office: Office) -> None:
    project = office.project("nightly")
    office.due("nightly")
    office.workers.tick(project)
    with office.store.begin() as tx:
        gone = {"host": "h", "boot": "another", "pids": "", "pid": 1, "started": 0, "boot_deadline": 0}
        stored.renew(tx, office.runs["nightly"].row, gone, tx.now)
    zombie, other = office.runs["nightly"], Workers(office.store, office.carry)

    other.tick(project)
    zombie.came_to = Ended("failed", "too late")
    office.workers.settle()

    row = office.row("nightly")
    assert (row.status, row.attempts, other.rescued) == ("running", 2, 1)
    with office.store.read() as tx:
        assert len(list(log.entries(tx, event="slot.rescued"))) == 1


def test_a_paused_job_is_stopped_killed_if_it_does_not_and_not_taken_again(office: Office) -> None:
    project = office.project("nightly")
    office.due("nightly")
    office.workers.tick(project)
    run = office.runs["nightly"]
    run.stop = lambda: None  # type: ignore[method-assign]
    with office.store.begin() as tx:
        pauses.pause(tx, pauses.EVERYTHING, reason="month end", by="maria")

    office.workers.tick(project)
    office.clock.now += dt.timedelta(seconds=11)
    office.workers.tick(project)
    run.came_to = Ended("died", "the process of its run was ended by signal 9 without a result")
    office.workers.tick(project)

    assert run.killed
    assert (office.row("nightly").status, office.row("nightly").attempts) == ("due", 0)


def test_a_process_with_another_release_takes_nothing(office: Office) -> None:
    project = office.project("nightly")
    with office.store.begin() as tx:
        releases.adopt(tx, office.project("nightly", max_parallel=9), "reconcile")
    office.due("nightly")

    office.workers.tick(project)

    assert office.runs == {}


@pytest.mark.slow
def test_a_run_of_a_job_that_is_paused_meanwhile_stops_before_its_next_rule(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,a\n1,x\n2,x\n")
    office = Office.__new__(Office)
    office.folder = tmp_path
    office.project("erp-both")
    begun: list[str] = []

    with load(tmp_path / "reconcile.yaml") as application:

        def watch(rule: str, _read: int) -> None:
            if not begun:
                with application.store.begin() as tx:
                    pauses.pause(tx, pauses.of_job("erp-both"), reason="month end", by="maria")
            if rule not in begun:
                begun.append(rule)

        with pytest.raises(pauses.Paused, match="month end"):
            application.run("erp-both", watch=watch)
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_job("erp-both"), "maria")
        report = application.run("erp-both")

    assert begun == ["erp"]
    assert report.status == "succeeded"
