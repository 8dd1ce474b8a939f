"""The scheduler: what becomes of every due time, whatever the clock, the process or the configuration does."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.audit import log
from reconcile.coordination import pauses
from reconcile.store import slots as stored
from tests.support.office import DAY, HOUR, MINUTE, Office


def at(text: str) -> dt.datetime:
    """A time of 2026, in UTC."""
    return dt.datetime.fromisoformat(f"2026-{text}+00:00")


@pytest.fixture
def office(url: str, tmp_path: Path) -> Iterator[Office]:
    with Office.open(url, tmp_path, at("11-20 05:59:30")) as office:
        schedule(office, nightly={"schedule": "0 6 * * *"})
        yield office


def schedule(office: Office, **jobs: dict[str, Any]) -> None:
    """Configure these jobs, and no others."""
    office.configure(jobs={name: {"notify": ["team"], **job} for name, job in jobs.items()})


def test_a_slot_is_due_at_its_time_and_once(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    before = office.slots()

    office.sleep(dt.timedelta(seconds=31))
    scheduler.tick(office.project)
    scheduler.tick(office.project)

    assert before == []
    assert office.slots() == [("11-20 06:00", "due")]
    [row] = office.rows()
    assert (row.cause, row.sources, row.start_at) == ("schedule:2026-11-20T06:00/0", ("shop",), at("11-20 06:00"))


def test_a_scheduler_leads_until_its_lease_expires(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    at_first = scheduler.leads

    office.sleep(dt.timedelta(seconds=29))
    before = scheduler.leads
    office.sleep(dt.timedelta(seconds=2))

    assert (at_first, before, scheduler.leads) == (True, True, False)
    scheduler.tick(office.project)
    assert scheduler.leads


def test_a_second_scheduler_adds_nothing_and_takes_over_when_the_first_stops(office: Office) -> None:
    first, second = office.scheduler(), office.scheduler()
    first.tick(office.project)
    second.tick(office.project)
    office.sleep(MINUTE)
    first.tick(office.project)
    first.stop()

    second.tick(office.project)
    office.sleep(DAY)
    second.tick(office.project)

    assert (first.leads, second.leads) == (False, True)
    assert office.slots() == [("11-20 06:00", "missed"), ("11-21 06:00", "due")]


def test_a_pause_of_seconds_over_a_slot_loses_nothing(office: Office) -> None:
    schedule(office, nightly={"schedule": {"cron": "0 6 * * *", "catch_up": "skip"}})
    scheduler = office.scheduler()
    scheduler.tick(office.project)

    office.sleep(dt.timedelta(seconds=35))
    scheduler.tick(office.project)

    assert office.slots() == [("11-20 06:00", "due")]


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        ({"catch_up": "latest"}, ["missed", "missed", "missed", "due"]),
        ({"catch_up": "skip"}, ["missed", "missed", "missed", "missed"]),
        ({"catch_up": "all"}, ["due", "due", "due", "due"]),
        ({"catch_up": "all", "max": 2}, ["missed", "missed", "due", "due"]),
    ],
    ids=["latest", "skip", "all", "all but two at most"],
)
def test_what_nobody_ran_is_caught_up_as_the_job_says_and_every_other_slot_has_its_reason(
    office: Office, catch_up: dict[str, Any], expected: list[str]
) -> None:
    schedule(office, nightly={"schedule": {"cron": "0 * * * *", **catch_up}})
    first = office.scheduler()
    first.tick(office.project)
    first.stop()

    office.sleep(4 * HOUR - 10 * MINUTE)
    office.scheduler().tick(office.project)

    assert office.slots() == list(
        zip(["11-20 06:00", "11-20 07:00", "11-20 08:00", "11-20 09:00"], expected, strict=True)
    )
    assert all(row.reason for row in office.rows() if row.status == "missed")


def test_while_a_run_goes_on_only_the_newest_slot_waits(office: Office) -> None:
    schedule(office, nightly={"schedule": "0 * * * *"})
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    office.sleep(MINUTE)
    scheduler.tick(office.project)
    with office.store.begin() as tx:
        stored.take(tx, stored.waiting(tx, "nightly")[0], {}, tx.now)

    for _ in range(3):
        office.sleep(HOUR)
        scheduler.tick(office.project)

    assert [status for _, status in office.slots()] == ["running", "missed", "missed", "due"]


def test_a_slot_that_failed_and_waits_to_be_tried_again_ends_as_failed_when_the_next_comes(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    office.sleep(MINUTE)
    scheduler.tick(office.project)
    with office.store.begin() as tx:
        taken = stored.take(tx, stored.waiting(tx, "nightly")[0], {}, tx.now)
        assert taken is not None
        stored.again(tx, taken, tx.now + DAY, "Source 'shop' did not answer")

    office.sleep(DAY)
    scheduler.tick(office.project)

    assert office.slots() == [("11-20 06:00", "failed"), ("11-21 06:00", "due")]
    assert "did not answer" in str(office.rows()[0].reason)


def test_slots_before_a_schedule_was_first_seen_or_changed_are_never_due(office: Office) -> None:
    office.sleep(2 * HOUR)
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    schedule(office, nightly={"schedule": "30 7 * * *"})

    scheduler.tick(office.project)
    office.sleep(DAY)
    scheduler.tick(office.project)

    assert office.slots() == [("11-21 07:30", "due")]


def test_a_change_of_what_decides_no_time_keeps_the_watermark(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    office.sleep(dt.timedelta(seconds=45))
    schedule(office, nightly={"schedule": {"cron": "0 6 * * *", "jitter": "2m"}, "priority": 7})

    scheduler.tick(office.project)

    [row] = office.rows()
    assert (row.status, row.priority) == ("due", 7)
    assert at("11-20 06:00") < row.start_at < at("11-20 06:02")


def test_the_slots_of_a_job_that_is_gone_wait_no_more(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    office.sleep(MINUTE)
    scheduler.tick(office.project)
    schedule(office, weekly={"schedule": "0 6 * * mon"})

    scheduler.tick(office.project)

    assert office.slots() == [("11-20 06:00", "missed")]
    with office.store.read() as tx:
        assert set(stored.schedule_rows(tx)) == {"weekly"}


def test_a_clock_thirty_days_ahead_catches_up_nothing_until_a_person_says_so(office: Office) -> None:
    schedule(office, nightly={"schedule": {"cron": "*/5 * * * *", "catch_up": "all", "max": 1000}})
    scheduler = office.scheduler()
    scheduler.tick(office.project)

    office.set_clock(30 * DAY)
    scheduler.tick(office.project)
    scheduler.tick(office.project)
    jumped = office.slots()
    office.sleep(5 * MINUTE)
    scheduler.tick(office.project)

    assert jumped == []
    assert office.slots() == [("12-20 06:00", "due")]
    assert office.troubles() == ["clock"]


def test_a_confirmed_clock_lets_the_jobs_catch_up_as_they_say_and_ends_the_trouble(office: Office) -> None:
    schedule(
        office,
        nightly={"schedule": {"cron": "0 6 * * *", "catch_up": "all", "max": 3}},
        hourly={"schedule": {"cron": "0 * * * *", "catch_up": "skip"}},
        daily={"schedule": "0 6 * * *"},
    )
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    office.set_clock(30 * DAY)
    scheduler.tick(office.project)

    confirmed = office.confirm_clock(lose=True)
    again = office.confirm_clock()

    assert confirmed is not None
    assert {job: count for job, count in confirmed.missed.items() if job != "hourly"} == {"nightly": 27, "daily": 29}
    assert again is None
    assert [status for _, status in office.slots()] == ["missed"] * 27 + ["due"] * 3
    assert {status for _, status in office.slots("hourly")} == {"missed"}
    assert [status for _, status in office.slots("daily")] == ["missed"] * 29 + ["due"]
    assert office.troubles() == []


def test_a_clock_that_was_set_ahead_and_back_costs_no_slot(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    office.set_clock(30 * DAY)
    scheduler.tick(office.project)
    office.sleep(10 * MINUTE)
    office.set_clock(-30 * DAY)
    scheduler.tick(office.project)
    office.confirm_clock()

    office.sleep(DAY)
    scheduler.tick(office.project)

    assert [slot for slot, _ in office.slots() if slot.startswith("11-2")] == ["11-20 06:00", "11-21 06:00"]


def test_an_hour_that_the_clock_shows_twice_runs_nothing_twice(office: Office) -> None:
    schedule(office, nightly={"schedule": "*/10 * * * *"})
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    for _ in range(6):
        office.sleep(10 * MINUTE)
        scheduler.tick(office.project)
        office.run_oldest()
    before = office.slots()

    office.set_clock(-HOUR)
    for _ in range(6):
        office.sleep(10 * MINUTE)
        scheduler.tick(office.project)
    again = office.slots()
    office.sleep(10 * MINUTE)
    scheduler.tick(office.project)

    assert again == before
    assert office.slots()[-1] == ("11-20 07:00", "due")
    assert office.troubles() == ["clock"]


def test_a_small_step_of_the_clock_is_no_trouble(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)

    for step in (dt.timedelta(minutes=9), -dt.timedelta(minutes=9), dt.timedelta(seconds=-1)):
        office.set_clock(step)
        office.sleep(MINUTE)
        scheduler.tick(office.project)

    assert office.troubles() == []


def test_a_second_that_happens_twice_makes_one_slot(office: Office) -> None:
    """A leap second, as a clock without them shows it."""
    office.clock.now = at("12-31 23:59:59")
    schedule(office, nightly={"schedule": "* * * * *"})
    scheduler = office.scheduler()
    scheduler.tick(office.project)

    office.sleep(dt.timedelta(seconds=1))
    scheduler.tick(office.project)
    office.set_clock(dt.timedelta(seconds=-1))
    scheduler.tick(office.project)
    office.sleep(dt.timedelta(seconds=1))
    scheduler.tick(office.project)

    assert len(office.slots()) == 1


def test_a_leap_day_is_due_in_a_leap_year_only(office: Office) -> None:
    schedule(office, nightly={"schedule": "0 6 29 2 *"})
    scheduler = office.scheduler()
    scheduler.tick(office.project)

    for _ in range(40):
        office.sleep(31 * DAY)
        scheduler.tick(office.project)

    with office.store.read() as tx:
        assert [row.slot.isoformat() for row in stored.listed(tx)] == ["2028-02-29T06:00:00+00:00"]


def test_time_that_passed_while_the_host_was_off_is_no_jump(office: Office) -> None:
    scheduler = office.scheduler()
    scheduler.tick(office.project)
    scheduler.stop()

    office.sleep(3 * DAY)
    office.boot, office.awake = "boot-2", dt.timedelta(minutes=2)
    office.scheduler().tick(office.project)

    assert office.troubles() == []
    assert [status for _, status in office.slots()] == ["missed", "missed", "due"]


def test_every_missed_slot_and_every_schedule_is_in_the_audit_log(office: Office) -> None:
    schedule(office, nightly={"schedule": "0 * * * *"})
    first = office.scheduler()
    first.tick(office.project)
    first.stop()
    office.sleep(3 * HOUR)

    office.scheduler().tick(office.project)

    with office.store.read() as tx:
        events = {entry.event: entry.body for entry in log.entries(tx)}
    assert events["schedule.taken_up"]["cron"] == "0 * * * *"
    assert events["slot.missed"]["slots"] == 2
    assert log.verify(office.store).intact


def test_a_pause_ends_at_its_time(office: Office) -> None:
    with office.store.begin() as tx:
        pauses.pause(tx, pauses.of_job("nightly"), reason="audit", by="maria", until=tx.now + HOUR)
        now = pauses.active(tx)

    office.sleep(HOUR)

    with office.store.read() as tx:
        assert (list(now), pauses.active(tx)) == (["job:nightly"], {})
