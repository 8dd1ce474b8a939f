"""A clock that was wrong, and a person who confirms it: `jobs` and `resume --clock` say which due times still run."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from cli_support import FILES, ORDERS, Project
from store_support import FixedClock

from reconcile import config
from reconcile.config import settings
from reconcile.coordination import clock
from reconcile.schedule.slots import slot_text
from reconcile.service import scheduler
from reconcile.service.scheduler import Scheduler
from reconcile.store import Store
from reconcile.store import slots as stored

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)


@dataclass
class Office:
    """A folder with a state, whose clock begins at the time of this machine, and the commands in it."""

    command: Project
    state: str
    store: Store
    clock: FixedClock
    awake: dt.timedelta = dt.timedelta(0)

    @property
    def hourly(self) -> str:
        """A time of every hour, half an hour from now."""
        return f"{(self.clock.now + HOUR / 2).minute} * * * *"

    def writes(self, **jobs: dict[str, Any]) -> None:
        """Write these jobs into the configuration, by their schedules."""
        written = {name: {"rules": "all", "schedule": schedule} for name, schedule in jobs.items()}
        self.command.write(f"state: {self.state}\n{FILES}jobs: {json.dumps(written)}\n")

    def project(self) -> settings.Project:
        return config.load(self.command.folder / "reconcile.yaml", {})

    def scheduler(self) -> Scheduler:
        return Scheduler(self.store, lambda: clock.HostTime("boot-1", int(self.awake.total_seconds() * 1e9)))

    def sleep(self, length: dt.timedelta) -> None:
        self.clock.now += length
        self.awake += length

    def jumps(self, length: dt.timedelta, waiting: dt.timedelta = dt.timedelta(0)) -> Scheduler:
        """The clock, which was behind, jumps to now; before that so much time passed with nothing to run."""
        self.clock.now -= length
        ticking = self.scheduler()
        ticking.tick(self.project())
        self.sleep(waiting)
        ticking.tick(self.project())
        self.clock.now += length
        ticking.tick(self.project())
        return ticking

    def confirms(self) -> None:
        with self.store.begin() as tx:
            assert scheduler.confirm_clock(tx, self.project(), "maria", lose=True) is not None

    def statuses(self) -> Counter[str]:
        with self.store.read() as tx:
            return Counter(row.status for row in stored.listed(tx))

    def runs_what_waits(self, job: str) -> dt.datetime:
        with self.store.begin() as tx:
            [row] = stored.waiting(tx, job)
            taken = stored.take(tx, row, {}, tx.now)
            assert taken is not None
            stored.end(tx, taken, "succeeded")
            return row.slot

    def next_of(self, job: str) -> str | None:
        [shown] = [one for one in self.command("jobs", "--json").json if one["job"] == job]
        answer: str | None = shown["next"]
        return answer

    def first_to_run(self, job: str, ticking: Scheduler) -> str:
        """The slot that a worker takes first, when time passes from now on."""
        for _ in range(6 * 60):
            self.sleep(MINUTE)
            ticking.tick(self.project())
            with self.store.read() as tx:
                ready = [row for row in stored.ready(tx) if row.job == job]
            if ready:
                return slot_text(ready[0].slot)
        pytest.fail("nothing comes due")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    shared = request.param == "postgresql"
    url = request.getfixturevalue("postgres_url") if shared else "sqlite:///reconcile.db"
    (tmp_path / "orders.csv").write_text(ORDERS)
    now = FixedClock(dt.datetime.now(dt.UTC))
    with Store.open(url, tmp_path, clock=now) as store:
        yield Office(Project(tmp_path), url, store, now)


@pytest.mark.parametrize("catch_up", ["latest", "skip", "all"])
@pytest.mark.slow
def test_jobs_shows_the_time_that_runs_next_after_a_wrong_clock_was_confirmed(office: Office, catch_up: str) -> None:
    office.writes(hourly={"cron": office.hourly, "catch_up": catch_up, "max": 2})
    ticking = office.scheduler()
    ticking.tick(office.project())
    office.clock.now += 5 * HOUR
    ticking.tick(office.project())
    office.confirms()
    office.clock.now -= 5 * HOUR
    ticking.tick(office.project())
    office.confirms()

    shown = office.next_of("hourly")

    assert shown == office.first_to_run("hourly", ticking)


def test_a_time_that_ran_while_the_clock_was_ahead_is_not_shown_as_the_next(office: Office) -> None:
    office.writes(hourly={"cron": office.hourly})
    ticking = office.scheduler()
    ticking.tick(office.project())
    office.clock.now += 3 * HOUR
    ticking.tick(office.project())
    office.sleep(HOUR)
    ticking.tick(office.project())
    ran = office.runs_what_waits("hourly")
    office.clock.now -= 3 * HOUR
    ticking.tick(office.project())
    office.sleep(ran - MINUTE - office.clock.now)

    with office.store.read() as tx:
        following = scheduler.next_due(tx, office.project().jobs["hourly"])

    assert following is not None
    assert following.at == ran + HOUR


def test_a_schedule_that_was_taken_up_while_the_clock_was_ahead_begins_when_the_clock_is_set_back(
    office: Office,
) -> None:
    office.writes(daily={"cron": "0 6 * * *"})
    ticking = office.scheduler()
    ticking.tick(office.project())
    office.clock.now += 30 * DAY
    office.writes(daily={"cron": "0 6 * * *"}, hourly={"cron": office.hourly})
    ticking.tick(office.project())
    office.clock.now -= 30 * DAY
    ticking.tick(office.project())

    shown = office.next_of("hourly")

    assert shown == office.first_to_run("hourly", ticking)
    assert office.clock.now < dt.datetime.now(dt.UTC) + HOUR


def test_resume_clock_says_how_many_due_times_become_missed_and_changes_nothing_before_it_hears_yes(
    office: Office,
) -> None:
    office.writes(daily={"cron": "0 6 * * *"}, hourly={"cron": office.hourly, "catch_up": "skip"})
    ticking = office.jumps(10 * DAY)

    asked = office.command("resume", "--clock")
    still = office.command("resume", "--clock", "--json")
    ticking.tick(office.project())
    before = office.statuses()
    done = office.command("resume", "--clock", "--yes", "--json")
    again = office.command("resume", "--clock")

    assert (asked.code, still.code, done.code, again.code) == (4, 4, 0, 0)
    assert "249 due times would be missed (daily 9, hourly 240)" in asked.err
    assert "--yes" in asked.err
    assert before == {}
    assert done.json == {"subject": "clock", "resumed": True, "missed": {"daily": 9, "hourly": 240}}
    assert office.statuses() == {"missed": 249, "due": 1}
    assert "was not paused" in again.err


def test_resume_clock_does_not_ask_where_nothing_becomes_missed(office: Office) -> None:
    office.writes(daily={"cron": "0 6 * * *"})
    office.jumps(DAY)

    done = office.command("resume", "--clock")

    assert (done.code, done.out) == (0, "clock resumed\n")
    assert office.statuses() == {"due": 1}


def test_a_waiting_time_that_a_newer_one_replaces_is_counted_and_one_that_was_decided_before_is_not(
    office: Office,
) -> None:
    office.writes(hourly={"cron": office.hourly})
    office.clock.now -= 2 * HOUR
    ticking = office.jumps(3 * HOUR, waiting=HOUR)

    asked = office.command("resume", "--clock")
    done = office.command("resume", "--clock", "--yes")
    office.clock.now += 3 * HOUR
    ticking.tick(office.project())
    office.clock.now -= 3 * HOUR
    ticking.tick(office.project())
    back = office.command("resume", "--clock")

    assert "3 due times would be missed (hourly 3)" in asked.err
    assert (done.code, office.statuses()) == (0, {"missed": 3, "due": 1})
    assert (back.code, back.out) == (0, "clock resumed\n")


@pytest.mark.server
def test_a_confirmation_between_the_two_steps_of_a_tick_stays(postgres_url: str, tmp_path: Path) -> None:
    now = FixedClock()
    with (
        Store.open(postgres_url, tmp_path, clock=now) as ticking,
        Store.open(postgres_url, tmp_path, clock=now) as other,
    ):

        def tick(awake: dt.timedelta) -> None:
            with ticking.begin() as tx:
                clock.look(tx, clock.HostTime("boot-1", int(awake.total_seconds() * 1e9)))

        confirmed = []

        def confirm_once(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            if "FROM clock" in statement and not confirmed:
                with other.begin() as tx:
                    confirmed.append(clock.confirm(tx, "anna"))

        tick(MINUTE)
        now.now += 5 * HOUR
        tick(2 * MINUTE)
        now.now += MINUTE
        sa.event.listen(ticking._engine, "after_cursor_execute", confirm_once)
        tick(3 * MINUTE)

        assert confirmed[0] is not None
        with other.read() as tx:
            assert clock.held(tx) is None
