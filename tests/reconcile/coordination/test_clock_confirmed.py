"""A clock that was wrong, and a person who confirms it: `jobs` and `resume --clock` say which due times still run."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.coordination import clock
from reconcile.schedule.slots import slot_text
from reconcile.service import scheduler
from reconcile.service.scheduler import Scheduler
from reconcile.store import Store
from reconcile.store import slots as stored
from tests.support.office import DAY, HOUR, MINUTE, Office
from tests.support.store import FixedClock


@pytest.fixture
def office(url: str, tmp_path: Path) -> Iterator[Office]:
    """Its clock begins at the time of this machine, which is what the commands read."""
    with Office.open(url, tmp_path, dt.datetime.now(dt.UTC)) as office:
        yield office


def hourly(office: Office) -> str:
    """A time of every hour, half an hour from now."""
    return f"{(office.clock.now + HOUR / 2).minute} * * * *"


def schedule(office: Office, **jobs: dict[str, Any]) -> None:
    office.configure(jobs={name: {"schedule": schedule} for name, schedule in jobs.items()})


def jumps(office: Office, length: dt.timedelta, waiting: dt.timedelta = dt.timedelta(0)) -> Scheduler:
    """The clock, which was behind, jumps to now; before that so much time passed with nothing to run."""
    office.set_clock(-length)
    ticking = office.scheduler()
    ticking.tick(office.project)
    office.sleep(waiting)
    ticking.tick(office.project)
    office.set_clock(length)
    ticking.tick(office.project)
    return ticking


def next_of(office: Office, job: str) -> str | None:
    """The next time of a job, as the command `jobs` shows it."""
    [shown] = [row for row in office.command("jobs", "--json").json if row["job"] == job]
    answer: str | None = shown["next"]
    return answer


def first_to_run(office: Office, job: str, ticking: Scheduler) -> str:
    """The slot that a worker takes first, when time passes from now on."""
    for _ in range(6 * 60):
        office.sleep(MINUTE)
        ticking.tick(office.project)
        with office.store.read() as tx:
            ready = [row for row in stored.ready(tx) if row.job == job]
        if ready:
            return slot_text(ready[0].slot)
    pytest.fail("no slot of the job becomes due")


@pytest.mark.parametrize("catch_up", ["latest", "skip", "all"])
@pytest.mark.slow
def test_jobs_shows_the_time_that_runs_next_after_a_wrong_clock_was_confirmed(office: Office, catch_up: str) -> None:
    schedule(office, hourly={"cron": hourly(office), "catch_up": catch_up, "max": 2})
    ticking = office.scheduler()
    ticking.tick(office.project)
    office.clock.now += 5 * HOUR
    ticking.tick(office.project)
    assert office.confirm_clock(lose=True) is not None
    office.clock.now -= 5 * HOUR
    ticking.tick(office.project)
    assert office.confirm_clock(lose=True) is not None

    shown = next_of(office, "hourly")

    assert shown == first_to_run(office, "hourly", ticking)


def test_a_time_that_ran_while_the_clock_was_ahead_is_not_shown_as_the_next(office: Office) -> None:
    schedule(office, hourly={"cron": hourly(office)})
    ticking = office.scheduler()
    ticking.tick(office.project)
    office.clock.now += 3 * HOUR
    ticking.tick(office.project)
    office.sleep(HOUR)
    ticking.tick(office.project)
    ran = office.run_oldest("hourly")
    office.clock.now -= 3 * HOUR
    ticking.tick(office.project)
    office.sleep(ran - MINUTE - office.clock.now)

    with office.store.read() as tx:
        following = scheduler.next_due(tx, office.project.jobs["hourly"])

    assert following is not None
    assert following.at == ran + HOUR


def test_a_schedule_that_was_taken_up_while_the_clock_was_ahead_begins_when_the_clock_is_set_back(
    office: Office,
) -> None:
    schedule(office, daily={"cron": "0 6 * * *"})
    ticking = office.scheduler()
    ticking.tick(office.project)
    office.clock.now += 30 * DAY
    schedule(office, daily={"cron": "0 6 * * *"}, hourly={"cron": hourly(office)})
    ticking.tick(office.project)
    office.clock.now -= 30 * DAY
    ticking.tick(office.project)

    shown = next_of(office, "hourly")

    assert shown == first_to_run(office, "hourly", ticking)
    assert office.clock.now < dt.datetime.now(dt.UTC) + HOUR


def test_resume_clock_says_how_many_due_times_become_missed_and_changes_nothing_before_it_hears_yes(
    office: Office,
) -> None:
    schedule(office, daily={"cron": "0 6 * * *"}, hourly={"cron": hourly(office), "catch_up": "skip"})
    ticking = jumps(office, 10 * DAY)

    asked = office.command("resume", "--clock")
    still = office.command("resume", "--clock", "--json")
    ticking.tick(office.project)
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
    schedule(office, daily={"cron": "0 6 * * *"})
    jumps(office, DAY)

    done = office.command("resume", "--clock")

    assert (done.code, done.out) == (0, "clock resumed\n")
    assert office.statuses() == {"due": 1}


def test_a_waiting_time_that_a_newer_one_replaces_is_counted_and_one_that_was_decided_before_is_not(
    office: Office,
) -> None:
    schedule(office, hourly={"cron": hourly(office)})
    office.clock.now -= 2 * HOUR
    ticking = jumps(office, 3 * HOUR, waiting=HOUR)

    asked = office.command("resume", "--clock")
    done = office.command("resume", "--clock", "--yes")
    office.clock.now += 3 * HOUR
    ticking.tick(office.project)
    office.clock.now -= 3 * HOUR
    ticking.tick(office.project)
    back = office.command("resume", "--clock")

    assert "3 due times would be missed (hourly 3)" in asked.err
    assert (done.code, office.statuses()) == (0, {"missed": 3, "due": 1})
    assert (back.code, back.out) == (0, "clock resumed\n")


@pytest.mark.server
def test_a_confirmation_between_the_two_steps_of_a_tick_stays(postgres_url: str, tmp_path: Path) -> None:
    now = FixedClock()
    with (
        Store.open(postgres_url, tmp_path, clock=now) as ticking,
        Store.open(postgres_url, tmp_path, clock=now) as store,
    ):

        def tick(awake: dt.timedelta) -> None:
            with ticking.begin() as tx:
                clock.look(tx, clock.HostTime("boot-1", int(awake.total_seconds() * 1e9)))

        confirmed = []

        def confirm_once(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            if "FROM clock" in statement and not confirmed:
                with store.begin() as tx:
                    confirmed.append(clock.confirm(tx, "anna"))

        tick(MINUTE)
        now.now += 5 * HOUR
        tick(2 * MINUTE)
        now.now += MINUTE
        sa.event.listen(ticking._engine, "after_cursor_execute", confirm_once)
        tick(3 * MINUTE)

        assert confirmed[0] is not None
        with store.read() as tx:
            assert clock.held(tx) is None
