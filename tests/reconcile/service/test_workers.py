"""Workers: which slot is taken next, by whom, and what becomes of it however its run ends."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.app import load
from reconcile.config.settings import Project
from reconcile.coordination import pauses, releases
from reconcile.schedule.retry import RUNS
from reconcile.service.workers import RunOutcome, Workers
from reconcile.store import slots as stored
from reconcile.store.slots import NewSlot, SlotRow
from tests.support.office import STATE, Office


@dataclass
class Run:
    """A run whose course the test decides; it stops when it is told to."""

    row: SlotRow
    came_to: RunOutcome | None = None
    at: str | None = None
    killed: bool = False

    def ended(self) -> RunOutcome | None:
        return self.came_to

    def rule(self) -> str | None:
        return self.at

    def stop(self) -> None:
        self.came_to = RunOutcome("stopped")

    def kill(self) -> None:
        self.killed = True


@dataclass
class Crew:
    """Workers in an office, and every run that they began, by its job."""

    office: Office
    runs: dict[str, Run] = field(default_factory=dict)
    workers: Workers = field(init=False)

    def __post_init__(self) -> None:
        self.workers = Workers(self.office.store, self.start)

    def start(self, _project: Project, row: SlotRow) -> Run:
        self.runs[row.job] = Run(row)
        return self.runs[row.job]

    def project(self, *jobs: str, **given: Any) -> Project:
        return configure(self.office, *jobs, **given)

    def due(self, job: str, *, priority: int = 0, ago: int = 0) -> None:
        """A slot of the job that is due since so many minutes."""
        sources = ("erp", "shop") if job.startswith("erp") else ("shop",)
        with self.office.store.begin() as tx:
            at = tx.now - dt.timedelta(minutes=ago)
            stored.write_down(tx, [NewSlot(job, at, f"request:{at}", at, priority, sources)])

    def row(self, job: str) -> SlotRow:
        return self.office.rows(job)[-1]

    def ends(self, job: str, how: str, sentence: str | None = None) -> SlotRow:
        """The run of the job ends so."""
        self.runs[job].came_to = RunOutcome(how, sentence)
        self.workers.settle()
        return self.row(job)


def configure(office: Office, *jobs: str, shop: int | None = None, erp: int | None = None, **more: Any) -> Project:
    """Jobs over two sources, with their limits: a job called erp-… begins at erp, the others read shop only."""
    limits = {name: {"max_parallel": limit} if limit else {} for name, limit in (("shop", shop), ("erp", erp))}
    return office.configure(
        sources={name: {"type": "files", **limit} for name, limit in limits.items()},
        datasets={name: {"source": name, "path": "a.csv", "id": "id"} for name in ("shop", "erp")},
        rules={name: {"kind": "duplicates", "dataset": name, "key": ["a"]} for name in ("shop", "erp")},
        jobs={n: {"rules": ["erp", "shop"] if n.startswith("erp") else ["shop"], "notify": ["team"]} for n in jobs},
        **more,
    )


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    with Office.open(STATE, tmp_path) as office:
        yield Crew(office)


def test_the_most_urgent_is_taken_first_then_what_waits_longest_and_no_more_than_there_is_room(crew: Crew) -> None:
    project = crew.project("late", "early", "urgent", shop=9, max_parallel=2)
    crew.due("late", ago=1)
    crew.due("early", ago=9)
    crew.due("urgent", priority=5)

    crew.workers.tick(project)

    assert list(crew.runs) == ["urgent", "early"]


def test_room_that_became_less_than_what_runs_takes_nothing(crew: Crew) -> None:
    jobs = [f"job-{number}" for number in range(6)]
    for job in jobs[:4]:
        crew.due(job)
    crew.workers.tick(crew.project(*jobs, shop=9, max_parallel=4))
    for job in jobs[4:]:
        crew.due(job)

    crew.workers.tick(crew.project(*jobs, shop=9, max_parallel=2))

    assert len(crew.runs) == 4


def test_a_job_runs_once_at_a_time(crew: Crew) -> None:
    project = crew.project("nightly")
    crew.due("nightly", ago=1)
    crew.due("nightly")

    crew.workers.tick(project)
    crew.workers.tick(project)

    assert crew.workers.busy == 1


def test_a_source_with_a_limit_is_read_by_so_many_runs_of_all_processes(crew: Crew) -> None:
    project = crew.project("erp-1", "erp-2", "erp-3", erp=2, max_parallel=9)
    workers = Workers(crew.office.store, crew.start)
    for job in project.jobs:
        crew.due(job)

    crew.workers.tick(project)
    workers.tick(project)

    assert len(crew.runs) == 2


def test_a_source_without_a_limit_leaves_one_place_to_what_does_not_read_it(crew: Crew) -> None:
    project = crew.project("erp-1", "erp-2", "erp-3", "nightly", max_parallel=3)
    for number, job in enumerate(project.jobs):
        crew.due(job, priority=-number)

    crew.workers.tick(project)

    assert list(crew.runs) == ["erp-1", "erp-2", "nightly"]


def test_a_run_that_went_on_to_another_source_gives_its_place_at_the_first_back(crew: Crew) -> None:
    project = crew.project("erp-1", "erp-2", "erp-3", max_parallel=3)
    for job in project.jobs:
        crew.due(job)
    crew.workers.tick(project)
    before = len(crew.runs)

    crew.runs["erp-1"].at = "shop"
    crew.workers.tick(project)

    assert (before, len(crew.runs)) == (2, 3)


def test_a_run_of_a_rule_over_two_sources_takes_a_place_at_both(crew: Crew) -> None:
    """Two runs compare erp with shop, so that a run of shop alone finds no place there."""
    comparison = {"kind": "reconciliation", "left": "erp", "right": "shop", "key": ["a"]}
    both = {"rules": ["erp-shop"], "notify": ["team"]}
    project = crew.office.configure(
        sources={name: {"type": "files"} for name in ("shop", "erp")},
        datasets={name: {"source": name, "path": "a.csv", "id": "id"} for name in ("shop", "erp")},
        rules={"shop": {"kind": "duplicates", "dataset": "shop", "key": ["a"]}, "erp-shop": comparison},
        jobs={"erp-1": both, "erp-2": both, "nightly": {"rules": ["shop"], "notify": ["team"]}},
        max_parallel=3,
    )
    for number, job in enumerate(project.jobs):
        crew.due(job, priority=-number)

    crew.workers.tick(project)
    taken = list(crew.runs)
    crew.ends("erp-1", "succeeded")
    crew.workers.tick(project)

    assert taken == ["erp-1", "erp-2"]
    assert list(crew.runs) == ["erp-1", "erp-2", "nightly"]


def test_a_run_that_failed_is_tried_again_later_and_given_up_after_its_attempts(crew: Crew) -> None:
    project = crew.project("nightly")
    crew.due("nightly")
    seen = []

    for _ in range(RUNS.attempts):
        crew.workers.tick(project)
        row = crew.ends("nightly", "failed", "Source 'shop' did not answer")
        seen.append(row.status)
        crew.office.clock.now = max(crew.office.clock.now, row.start_at)

    assert seen == ["due"] * (RUNS.attempts - 1) + ["failed"]
    assert crew.row("nightly").reason == "Source 'shop' did not answer"


@pytest.mark.parametrize("how", ["busy", "paused", "stopped"])
def test_a_run_that_did_not_come_to_run_costs_no_attempt(crew: Crew, how: str) -> None:
    project = crew.project("nightly")
    crew.due("nightly")
    crew.workers.tick(project)

    row = crew.ends("nightly", how)

    assert (row.status, row.attempts) == ("due", 0)


def test_a_process_that_dies_twice_is_trouble_until_the_job_succeeds(crew: Crew) -> None:
    project = crew.project("nightly")
    crew.due("nightly")
    troubles = []
    for how in ("died", "died", "succeeded"):
        crew.workers.tick(project)
        row = crew.ends("nightly", how, "the process of its run was ended by signal 9 without a result")
        crew.office.clock.now = max(crew.office.clock.now, row.start_at)
        troubles.append(crew.office.troubles())

    assert troubles == [[], ["job:nightly"], []]


def test_what_a_dead_process_had_taken_is_taken_over_and_its_own_word_counts_no_more(crew: Crew) -> None:
    project = crew.project("nightly")
    crew.due("nightly")
    crew.workers.tick(project)
    with crew.office.store.begin() as tx:
        gone = {"host": "h", "boot": "another", "pids": "", "pid": 1, "started": 0, "boot_deadline": 0}
        stored.renew(tx, crew.runs["nightly"].row, gone, tx.now)
    zombie, workers = crew.runs["nightly"], Workers(crew.office.store, crew.start)

    workers.tick(project)
    zombie.came_to = RunOutcome("failed", "too late")
    crew.workers.settle()

    row = crew.row("nightly")
    assert (row.status, row.attempts, workers.rescued) == ("running", 2, 1)
    assert len(crew.office.entries("slot.rescued")) == 1


def test_a_paused_job_is_stopped_killed_if_it_does_not_and_not_taken_again(crew: Crew) -> None:
    project = crew.project("nightly")
    crew.due("nightly")
    crew.workers.tick(project)
    run = crew.runs["nightly"]
    run.stop = lambda: None  # type: ignore[method-assign]
    with crew.office.store.begin() as tx:
        pauses.pause(tx, pauses.EVERYTHING, reason="month end", by="maria")

    crew.workers.tick(project)
    crew.office.clock.now += dt.timedelta(seconds=11)
    crew.workers.tick(project)
    run.came_to = RunOutcome("died", "the process of its run was ended by signal 9 without a result")
    crew.workers.tick(project)

    assert run.killed
    assert (crew.row("nightly").status, crew.row("nightly").attempts) == ("due", 0)


def test_a_slot_that_only_waits_for_a_pause_writes_nothing_and_starts_once_it_is_over(crew: Crew) -> None:
    project = crew.project("nightly")
    crew.due("nightly")
    with crew.office.store.begin() as tx:
        pauses.pause(tx, pauses.of_job("nightly"), reason="month end", by="maria")
        engine = tx.connection.engine
    statements: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2].lstrip()))

    for _ in range(300):  # a minute
        crew.workers.tick(project)
    with crew.office.store.begin() as tx:
        pauses.resume(tx, pauses.of_job("nightly"), "maria")
    before = len(statements)
    crew.workers.tick(project)

    waiting = statements[:before]
    assert [text for text in waiting if text.startswith("UPDATE slots")] == []
    assert waiting.count("BEGIN IMMEDIATE") == 1  # the end of the pause
    assert crew.row("nightly").status == "running"


def test_a_process_with_another_release_takes_nothing(crew: Crew) -> None:
    project = crew.project("nightly")
    with crew.office.store.begin() as tx:
        releases.adopt(tx, crew.project("nightly", max_parallel=9), "reconcile")
    crew.due("nightly")

    crew.workers.tick(project)

    assert crew.runs == {}


@pytest.mark.slow
def test_a_run_of_a_job_that_is_paused_meanwhile_stops_before_its_next_rule(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,a\n1,x\n2,x\n")
    with Office.open(STATE, tmp_path) as office:
        configure(office, "erp-both")
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
