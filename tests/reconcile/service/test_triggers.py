"""What makes a job due beside the time: each cause once, whoever looks, however often."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from deltalake import write_deltalake

from connectors.errors import SourceUnreachable
from notifications.wording.headline import headline
from reconcile import config
from reconcile.app import Application
from reconcile.audit import log
from reconcile.config.opened import Sources
from reconcile.config.settings import Project
from reconcile.coordination import lease, pauses
from reconcile.messages import outbox
from reconcile.schedule import slots
from reconcile.service import triggers
from reconcile.service.triggers import WatchedState
from reconcile.store import Store, tables
from reconcile.store import runs as stored_runs
from reconcile.store import slots as stored_slots
from reconcile.store import triggers as stored_triggers
from reconcile.store.slots import SlotRow
from tests.support import cli
from tests.support.store import NOON, FixedClock, in_parallel

HOUR = dt.timedelta(hours=1)
AFTER = {"a": {"rules": "all"}, "c": {"rules": "all"}, "b": {"rules": "all", "after": ["a", "c"], "priority": 7}}
WATCH = {"b": {"rules": "all", "watch": ["payments", "refunds"]}}


def project(folder: Path, jobs: dict[str, Any]) -> Project:
    """Two datasets of one folder of files, a rule for one of them, and these jobs."""
    (folder / "in").mkdir(exist_ok=True)
    settings = {
        "sources": {"bank": {"type": "files", "root": "in"}},
        "datasets": {name: {"source": "bank", "path": f"{name}-*.csv"} for name in ("payments", "refunds")},
        "rules": {"twice": {"kind": "duplicates", "dataset": "payments", "key": "reference"}},
        "jobs": jobs,
        "channels": {"ops": {"type": "file", "path": "ops.txt"}},
        "alerts": ["ops"],
    }
    (folder / "reconcile.yaml").write_text(json.dumps(settings), encoding="utf-8")
    return config.load(folder / "reconcile.yaml")


class Plant:
    """A store whose clock stands still, and a project whose jobs succeed when they are told to."""

    def __init__(self, store: Store, clock: FixedClock, url: str, folder: Path) -> None:
        self.store = store
        self.clock = clock
        self.url = url
        self.folder = folder
        self.project = project(folder, AFTER)
        self._fence = 0

    def with_jobs(self, jobs: dict[str, Any]) -> Plant:
        self.project = project(self.folder, jobs)
        return self

    def end(self, job: str, slot: dt.datetime, status: str = "succeeded", trigger: str = "schedule") -> str:
        """A run of the job ends so, as the latest one."""
        self._fence += 1
        run = slots.run_id(job, slot)
        with self.store.begin() as tx:
            stored_runs.keep_release(tx, "r1", {})
            stored_runs.start(tx, run, job, slot, "r1", trigger, self._fence)
            stored_runs.finish(tx, run, status, {})
        return run

    def tick(self) -> list[SlotRow]:
        """What is due after a look at the other jobs."""
        with self.store.begin() as tx:
            triggers.after_jobs(tx, self.project)
            return stored_slots.waiting(tx, "b")

    def look(self, **problems: SourceUnreachable) -> list[SlotRow]:
        """What is due after a look at the files, now."""
        return self.see(self.states(**problems))

    def states(self, **problems: SourceUnreachable) -> triggers.States:
        sources = Sources(self.project)
        seen = triggers.states(self.project, sources, self.seconds)
        sources.close()
        return {**seen, **{name: WatchedState(self.seconds(), problem=why) for name, why in problems.items()}}

    def see(self, seen: triggers.States) -> list[SlotRow]:
        with self.store.begin() as tx:
            triggers.files(tx, self.project, seen, self.seconds)
            return stored_slots.waiting(tx, "b")

    def seconds(self) -> float:
        return self.clock.now.timestamp()

    def settled(self) -> list[SlotRow]:
        """What is due once the files have stayed as they are for two looks."""
        self.look()
        self.clock.sleep(2)
        return self.look()

    def file(self, name: str, content: str = "reference\n1\n") -> Path:
        path = self.folder / "in" / name
        path.write_text(content, encoding="utf-8")
        return path

    def start(self) -> None:
        """A worker takes all that is due."""
        with self.store.begin() as tx:
            for row in stored_slots.ready(tx):
                assert stored_slots.take(tx, row, {}, tx.now + HOUR)

    def request(self, key: str | None = None) -> triggers.RequestedRun:
        with self.store.begin() as tx:
            return triggers.request(tx, self.project, "b", key, by="ada")

    def headlines(self) -> list[str]:
        with self.store.read() as tx:
            rows = tx.connection.execute(sa.select(tables.outbox.c.notice).order_by(tables.outbox.c.queued_at))
            return [headline(outbox.notice_of(row.notice)) for row in rows]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def plant(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Plant]:
    shared = request.param == "postgresql"
    url = str(request.getfixturevalue("postgres_url")) if shared else "sqlite:///reconcile.db"
    clock = FixedClock()
    with Store.open(url, tmp_path, clock=clock) as store:
        yield Plant(store, clock, url, tmp_path)


# After other jobs


def test_a_job_is_due_when_all_it_waits_for_have_succeeded_anew(plant: Plant) -> None:
    plant.tick()

    of_a = plant.end("a", NOON)
    assert plant.tick() == []
    of_c = plant.end("c", NOON + HOUR)

    [due] = plant.tick()
    assert (due.slot, due.trigger, due.priority, due.sources) == (NOON + HOUR, "after", 7, ("bank",))
    assert due.cause == "after:" + ",".join(sorted((of_a, of_c)))
    assert plant.tick() == [due]


def test_what_succeeded_before_the_job_was_first_seen_makes_nothing_due(plant: Plant) -> None:
    plant.end("a", NOON)
    plant.end("c", NOON)

    assert plant.tick() == []
    assert plant.tick() == []


def test_a_run_that_was_under_way_when_the_job_was_first_seen_counts_when_it_succeeds(plant: Plant) -> None:
    plant.end("a", NOON, status="running")
    plant.tick()

    with plant.store.begin() as tx:
        stored_runs.finish(tx, slots.run_id("a", NOON), "succeeded", {})
    plant.end("c", NOON)

    assert len(plant.tick()) == 1


def test_failed_missed_and_partial_runs_do_not_count(plant: Plant) -> None:
    plant.tick()
    plant.end("c", NOON)

    plant.end("a", NOON, status="failed")
    plant.end("a", NOON + HOUR, trigger="rules")
    missed = stored_slots.NewSlot("a", NOON, "schedule:x/0", NOON, missed="nothing ran")
    with plant.store.begin() as tx:
        stored_slots.write_down(tx, [missed])

    assert plant.tick() == []


def test_of_two_successes_of_one_before_one_of_the_other_the_latest_counts(plant: Plant) -> None:
    plant.tick()

    for hour in range(3):
        plant.end("a", NOON + hour * HOUR)
        plant.tick()
    plant.end("c", NOON)

    [due] = plant.tick()
    assert due.slot == NOON + 2 * HOUR
    plant.start()
    assert plant.tick() == []


def test_the_next_success_of_both_makes_the_next_run_due(plant: Plant) -> None:
    plant.tick()
    for hour in range(3):
        plant.end("a", NOON + hour * HOUR)
        plant.end("c", NOON + hour * HOUR)
        plant.tick()
        plant.start()
    plant.end("a", NOON + 9 * HOUR)
    plant.tick()

    assert [row.slot for row in _all(plant)] == [NOON, NOON + HOUR, NOON + 2 * HOUR]


def _all(plant: Plant) -> list[SlotRow]:
    with plant.store.read() as tx:
        return sorted(stored_slots.listed(tx, job="b"), key=lambda row: row.slot)


def test_while_a_run_waits_to_begin_later_successes_wait_with_it_and_then_count_once(plant: Plant) -> None:
    plant.tick()
    for hour in range(4):
        plant.end("a", NOON + hour * HOUR)
        plant.end("c", NOON + hour * HOUR)
        plant.tick()
    assert [row.slot for row in _all(plant)] == [NOON]

    plant.start()
    plant.tick()
    plant.tick()

    assert [row.slot for row in _all(plant)] == [NOON, NOON + 3 * HOUR]


def test_a_slot_that_is_there_already_stays_as_it_is(plant: Plant) -> None:
    plant.tick()
    with plant.store.begin() as tx:
        stored_slots.write_down(tx, [stored_slots.NewSlot("b", NOON, "schedule:noon/0", NOON)])

    plant.end("a", NOON)
    plant.end("c", NOON)

    assert [row.cause for row in plant.tick()] == ["schedule:noon/0"]


def test_a_clock_that_was_set_back_hides_no_success(plant: Plant) -> None:
    plant.tick()
    plant.end("a", NOON)
    plant.end("c", NOON)
    plant.tick()
    plant.start()

    plant.clock.sleep(-3_600)
    plant.end("a", NOON - HOUR / 2)
    plant.end("c", NOON - HOUR / 2)

    assert [row.slot for row in plant.tick()] == [NOON - HOUR / 2]


def test_a_job_that_is_waited_for_newly_has_to_succeed_from_then_on(plant: Plant) -> None:
    plant.with_jobs({**AFTER, "b": {"rules": "all", "after": "a"}}).tick()
    plant.end("c", NOON)
    plant.with_jobs(AFTER).tick()
    plant.end("a", NOON)
    assert plant.tick() == []

    plant.end("c", NOON + HOUR)
    assert len(plant.tick()) == 1


def test_a_job_that_waits_no_more_forgets_what_it_waited_for(plant: Plant) -> None:
    plant.tick()
    plant.with_jobs({name: {"rules": "all"} for name in "abc"}).tick()
    plant.end("a", NOON)
    plant.end("c", NOON)

    assert plant.with_jobs(AFTER).tick() == []


def test_a_job_may_wait_for_many(plant: Plant) -> None:
    many = [f"job-{number}" for number in range(12)]
    jobs = {name: {"rules": "all"} for name in many}
    plant.with_jobs({**jobs, "b": {"rules": "all", "after": many}}).tick()
    for number, name in enumerate(many):
        plant.end(name, NOON + number * HOUR)

    [due] = plant.tick()

    assert due.slot == NOON + 11 * HOUR
    assert len(due.cause) == len("after:") + 64


def test_a_look_at_the_other_jobs_reads_no_more_than_what_is_new(tmp_path: Path) -> None:
    """However many runs there were, a tick asks an index."""
    asked: list[str] = []
    with Store.open("sqlite:///reconcile.db", tmp_path) as store, store.read() as tx:
        sa.event.listen(tx.connection, "before_cursor_execute", lambda *output: asked.append(output[2]))
        stored_triggers.answered(tx)
        explained = tx.connection.exec_driver_sql(f"explain query plan {asked[0]}", ("succeeded", "rules"))
        plans = [row[3] for row in explained]

    assert [plan for plan in plans if "runs" in plan] == [
        "SEARCH runs USING INDEX ix_runs_job_status_fence (job=? AND status=? AND fence>?)"
    ]


# Files


def test_a_file_that_arrives_after_the_watch_began_makes_the_job_due_once_it_has_settled(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    plant.file("payments-1.csv")

    assert plant.look() == []
    plant.clock.sleep(1)
    assert plant.look() == []
    plant.clock.sleep(1)

    [due] = plant.look()
    assert (due.slot, due.trigger, due.sources) == (plant.clock.now, "file", ("bank",))
    plant.start()
    plant.clock.sleep(60)
    assert plant.settled() == []


def test_what_was_there_before_the_watch_began_makes_nothing_due(plant: Plant) -> None:
    plant.file("payments-1.csv")

    assert plant.with_jobs(WATCH).settled() == []
    assert plant.settled() == []


def test_a_file_that_is_being_written_is_let_be(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()

    for size in range(1, 5):
        plant.file("payments-1.csv", "x" * size)
        assert plant.look() == []
        plant.clock.sleep(3)

    assert len(plant.look()) == 1


def test_one_look_is_not_two_however_often_it_is_told(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    plant.file("payments-1.csv")
    seen = plant.states()

    for _ in range(4):
        assert plant.see(seen) == []
        plant.clock.sleep(2)

    assert len(plant.look()) == 1


def test_a_change_of_content_size_or_time_and_a_further_file_each_make_a_run_due(plant: Plant) -> None:
    path = plant.file("payments-1.csv")
    plant.with_jobs(WATCH).look()

    path.write_text("reference\n22\n", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert len(plant.settled()) == 1
    plant.start()
    os.utime(path, ns=(2, 2))
    assert len(plant.settled()) == 1
    plant.start()
    plant.file("payments-2.csv")
    assert len(plant.settled()) == 1
    plant.start()
    plant.file("other.csv")
    assert plant.settled() == []


def test_files_that_go_make_nothing_due_nor_do_the_same_ones_when_they_are_back(plant: Plant) -> None:
    path = plant.file("payments-1.csv")
    plant.with_jobs(WATCH).look()

    path.rename(plant.folder / "away")
    assert plant.settled() == []
    (plant.folder / "away").rename(path)
    assert plant.settled() == []

    (plant.folder / "in").rename(plant.folder / "unmounted")
    assert plant.settled() == []
    (plant.folder / "unmounted").rename(plant.folder / "in")
    assert plant.settled() == []


def test_files_of_several_datasets_that_change_together_are_one_run(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    plant.file("payments-1.csv")
    plant.file("refunds-1.csv")

    assert len(plant.settled()) == 1


def test_a_change_while_a_run_waits_to_begin_is_covered_by_it(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    for number in range(5):
        plant.file(f"payments-{number}.csv")
        assert len(plant.settled()) == 1
    plant.start()
    assert plant.settled() == []

    plant.file("payments-9.csv")
    assert len(plant.settled()) == 1


def test_a_clock_that_was_set_back_only_makes_the_change_wait_anew(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    plant.file("payments-1.csv")
    plant.look()
    plant.clock.sleep(-3_600)

    assert len(plant.settled()) == 1


def test_a_watch_that_ended_begins_anew(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    plant.with_jobs({"b": {"rules": "all"}}).look()
    plant.file("payments-1.csv")

    assert plant.with_jobs(WATCH).settled() == []


def test_a_dataset_that_cannot_be_looked_at_is_told_once_and_stays_as_it_was(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    plant.file("payments-1.csv")
    gone = SourceUnreachable("bank", "in", "stale file handle")

    for _ in range(3):
        assert plant.look(payments=gone) == []
        plant.clock.sleep(2)
    assert len(plant.settled()) == 1

    sentence = "the files of dataset payments cannot be watched, so changes start no job"
    assert plant.headlines() == [f"⚠️ Reconcile: {sentence}", "✅ The files of dataset payments are watched again"]


def test_trouble_with_a_dataset_ends_when_nobody_watches_it_any_more(plant: Plant) -> None:
    plant.with_jobs(WATCH).look(payments=SourceUnreachable("bank", "in", "stale file handle"))

    plant.with_jobs({"b": {"rules": "all"}}).look()

    assert len(plant.headlines()) == 2


def test_links_broken_links_and_odd_names_have_a_state_and_folders_have_none(plant: Plant) -> None:
    plant.with_jobs(WATCH).look()
    inside = plant.folder / "in"
    (inside / "payments-folder.csv").mkdir()
    assert plant.settled() == []

    (inside / "payments-broken.csv").symlink_to(plant.folder / "nowhere")
    assert len(plant.settled()) == 1
    plant.start()
    (inside / os.fsdecode(b"payments-\xff.csv")).write_bytes(b"")
    assert len(plant.settled()) == 1
    plant.start()

    target = plant.folder / "target"
    (inside / "payments-link.csv").symlink_to(target)
    assert len(plant.settled()) == 1
    plant.start()
    target.write_text("what it leads to counts")
    assert len(plant.settled()) == 1


def test_a_workbook_is_watched_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text(
        "sources: {crm: {type: workbook, path: contacts.xlsx}}\n"
        "datasets: {contacts: {source: crm, id: id}}\n"
        "rules: {twice: {kind: duplicates, dataset: contacts, key: mail}}\n"
        "jobs: {b: {rules: all, watch: contacts}}\n",
        encoding="utf-8",
    )
    with Application(config.load(tmp_path / "reconcile.yaml")) as application:
        before = triggers.states(application.project, application.sources)
        (tmp_path / "contacts.xlsx").write_bytes(b"PK")
        after = triggers.states(application.project, application.sources)

    assert before["contacts"].state is None
    assert after["contacts"].state is not None


@pytest.mark.slow
def test_a_table_of_a_lake_is_watched_by_its_version(tmp_path: Path) -> None:
    """Also after a run, which stays at the version that it read."""
    (tmp_path / "reconcile.yaml").write_text(
        "sources: {lake: {type: delta}}\n"
        "datasets: {orders: {source: lake, path: orders, id: id}}\n"
        "rules: {twice: {kind: duplicates, dataset: orders, key: mail, max_share: 100%}}\n"
        "jobs: {b: {rules: all, watch: orders}}\n",
        encoding="utf-8",
    )
    records = pa.table({"id": [1, 2], "mail": ["a", "a"]})
    with Application(config.load(tmp_path / "reconcile.yaml")) as application:
        states = [triggers.states(application.project, application.sources)["orders"].state]
        for _ in range(2):
            write_deltalake(tmp_path / "orders", records, mode="append")
            states.append(triggers.states(application.project, application.sources)["orders"].state)
            application.run_all()
            states.append(triggers.states(application.project, application.sources)["orders"].state)

    assert states[0] is None
    assert states[1] == states[2] != states[3] == states[4]


# A request


def test_a_request_is_due_at_once_and_in_the_audit_log(plant: Plant) -> None:
    asked = plant.request()

    with plant.store.read() as tx:
        [due] = stored_slots.waiting(tx, "b")
        [entry] = log.entries(tx, event="slot.requested")
    assert asked == triggers.RequestedRun("b", slots.run_id("b", NOON), NOON, "due", is_new=True)
    assert (due.slot, due.trigger, due.start_at, due.priority) == (NOON, "request", NOON, 7)
    assert (entry.actor, entry.body) == (
        "ada",
        {"job": "b", "run": asked.run, "slot": "2026-11-21T12:00:00Z"},
    )


def test_the_same_key_twice_is_one_run_also_after_it_ended(plant: Plant) -> None:
    first = plant.request("2026-11-21")
    plant.clock.sleep(60)
    again = plant.request("2026-11-21")
    plant.start()
    running = plant.request("2026-11-21")
    second = plant.request("2026-11-22")

    assert (again.is_new, again.run, again.status) == (False, first.run, "due")
    assert (running.is_new, running.run, running.status) == (False, first.run, "running")
    assert (second.is_new, second.run == first.run) == (True, False)


def test_requests_without_a_key_are_each_a_run_also_at_the_same_moment(plant: Plant) -> None:
    runs = {plant.request().run for _ in range(3)}

    assert len(runs) == 3


@pytest.mark.parametrize("key", ["", "x" * 201, "two\nlines", "\u202e"])
def test_a_key_that_cannot_be_kept_is_refused(plant: Plant, key: str) -> None:
    with pytest.raises(triggers.RequestKeyRefused, match="--key"):
        plant.request(key)


@pytest.mark.slow
def test_of_processes_that_ask_with_one_key_at_once_one_makes_the_run(plant: Plant) -> None:
    code = """
        from reconcile import config
        from reconcile.service import triggers
        project = config.load(root / "reconcile.yaml")
        with Store.open(url, root) as store, store.begin() as tx:
            asked = triggers.request(tx, project, "b", "2026-11-21", by="ada")
            print(asked.is_new, asked.run)
        """

    answer = in_parallel(4, code, plant.url, plant.folder)

    assert sorted(line.split()[0] for line in answer) == ["False", "False", "False", "True"]
    assert len({line.split()[1] for line in answer}) == 1


# The command


@pytest.fixture
def shop(tmp_path: Path) -> cli.Project:
    project(tmp_path, AFTER)
    return cli.Project(tmp_path)


def test_the_command_says_the_run_and_whether_it_was_there_already(shop: cli.Project) -> None:
    first = shop("trigger", "b", "--key", "import 7", "--json", RECONCILE_ACTOR="ada")
    again = shop("trigger", "b", "--key", "import 7")
    answer = shop("trigger", "b")

    document = first.json
    assert document | {"run": "", "slot": ""} == {
        "job": "b",
        "run": "",
        "slot": "",
        "status": "due",
        "new": True,
        "paused": None,
    }
    assert (first.code, again.code, answer.code) == (0, 0, 0)
    assert f"was already requested and is due  {document['run']}" in again.out
    assert "is queued" in answer.out
    assert document["run"] not in answer.out
    assert "No `reconcile serve` is running on this state" in answer.err
    assert shop("audit", "--json", "--event", "slot.requested").out.count('"ada"') == 1


def test_the_command_says_that_a_paused_job_waits(shop: cli.Project) -> None:
    with Store.open("sqlite:///reconcile.db", shop.folder) as store, store.begin() as tx:
        pauses.pause(tx, "job:b", reason="the bank is being moved", by="ada")

    asked = shop("trigger", "b")

    assert asked.code == 0
    assert "It is waiting: Job 'b' is paused by ada" in asked.err
    assert shop("trigger", "b", "--json").json["paused"] == "the bank is being moved"


def test_the_command_refuses_an_unknown_job_and_a_key_that_cannot_be_kept(shop: cli.Project) -> None:
    unknown, empty = shop("trigger", "nightly"), shop("trigger", "b", "--key", "")

    assert (unknown.code, empty.code) == (2, 2)
    assert "There is no job 'nightly'" in unknown.err
    assert "--key is empty" in empty.err


def test_no_word_of_serve_while_one_runs(shop: cli.Project) -> None:
    with Store.open("sqlite:///reconcile.db", shop.folder) as store:
        lease.acquire(store, "scheduler", HOUR)
        assert "serve" not in shop("trigger", "b").err
