"""Schedules: when a job is due, whatever the clocks do. Every zone's clock changes are in test_zones."""

import datetime as dt
import itertools
import zoneinfo
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconcile.schedule.schedules import CATCH_UP, Schedule, ScheduleRefused, Slot, start_delay, tzdata_version
from rules.document.mistakes import short
from tests.support.docs import ROOT, rows

BERLIN = "Europe/Berlin"
SPRING = dt.datetime(2026, 3, 28, 23, tzinfo=dt.UTC)
AUTUMN = dt.datetime(2026, 10, 24, 22, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def dues(cron: str, after: dt.datetime, length: dt.timedelta = DAY, zone: str = BERLIN) -> list[str]:
    """Due times as `nominal = instant`, the second of two equal wall times with a star."""
    slots = Schedule(cron, zone).due(after, after + length)
    return [f"{slot.nominal[5:]}{'*' * slot.fold} = {slot.at:%H:%M}" for slot in slots]


def test_a_slot_is_the_instant_the_wall_time_and_which_of_two_equal_ones_it_is() -> None:
    slots = list(Schedule("15 6 * * mon-fri", BERLIN).due(utc("2026-11-20 00:00"), utc("2026-11-23 05:15")))

    assert slots == [
        Slot(utc("2026-11-20 05:15"), "2026-11-20T06:15", 0),
        Slot(utc("2026-11-23 05:15"), "2026-11-23T06:15", 0),
    ]
    assert all(slot.at.tzinfo is dt.UTC for slot in slots)


def test_the_start_of_a_window_is_left_out_and_its_end_is_in_it() -> None:
    hourly = Schedule("@hourly", "UTC")

    assert [slot.at for slot in hourly.due(utc("2026-01-01 01:00"), utc("2026-01-01 03:00"))] == [
        utc("2026-01-01 02:00"),
        utc("2026-01-01 03:00"),
    ]
    assert list(hourly.due(utc("2026-01-01 03:00"), utc("2026-01-01 03:00"))) == []
    assert list(hourly.due(utc("2026-01-02 03:00"), utc("2026-01-01 03:00"))) == []


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * *", ["03-29T02:30 = 01:00"]),
        ("10,40 2 * * *", ["03-29T02:10 = 01:00"]),
        ("30 2,3 * * *", ["03-29T02:30 = 01:00", "03-29T03:30 = 01:30"]),
        ("0 2,3 * * *", ["03-29T02:00 = 01:00"]),
        ("*/30 2 * * *", ["03-29T02:00 = 01:00"]),
        ("0 */2 * * *", [f"03-29T{2 * n:02}:00 = {max(2 * n - 2, 1):02}:00" for n in range(1, 12)]),
        ("30 1-3 * * *", ["03-29T01:30 = 00:30", "03-29T02:30 = 01:00", "03-29T03:30 = 01:30"]),
        ("30 2 29 3 *", ["03-29T02:30 = 01:00"]),
        ("30 2 30 3 *", []),
    ],
)
def test_wall_times_that_the_clock_skips_are_one_slot_at_the_first_instant_after(
    cron: str, expected: list[str]
) -> None:
    assert dues(cron, SPRING, 22 * dt.timedelta(hours=1)) == expected


def test_a_schedule_of_every_hour_skips_what_the_clock_skips() -> None:
    assert dues("30 * * * *", SPRING, dt.timedelta(hours=3)) == [
        "03-29T00:30 = 23:30",
        "03-29T01:30 = 00:30",
        "03-29T03:30 = 01:30",
    ]
    assert len(dues("*/5 * * * *", SPRING, 23 * dt.timedelta(hours=1))) == 23 * 12


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * *", ["10-25T02:30 = 00:30"]),
        ("10,40 2 * * *", ["10-25T02:10 = 00:10", "10-25T02:40 = 00:40"]),
        ("0 1-3 * * *", ["10-25T01:00 = 23:00", "10-25T02:00 = 00:00", "10-25T03:00 = 02:00"]),
        (
            "*/30 2 * * *",
            ["10-25T02:00 = 00:00", "10-25T02:30 = 00:30", "10-25T02:00* = 01:00", "10-25T02:30* = 01:30"],
        ),
        ("0 */2 25 * *", ["10-25T00:00 = 22:00", "10-25T02:00 = 00:00", "10-25T02:00* = 01:00"]),
    ],
)
def test_where_the_clock_is_set_back_fixed_times_are_due_once_and_others_each_time(
    cron: str, expected: list[str]
) -> None:
    assert dues(cron, AUTUMN - dt.timedelta(minutes=1), dt.timedelta(hours=5)) == expected


def test_a_schedule_of_every_hour_is_due_in_each_real_hour() -> None:
    assert dues("0 * * * *", AUTUMN, dt.timedelta(hours=4)) == [
        "10-25T01:00 = 23:00",
        "10-25T02:00 = 00:00",
        "10-25T02:00* = 01:00",
        "10-25T03:00 = 02:00",
    ]


def test_half_an_hour_less_is_not_an_hour_less() -> None:
    assert dues("45 * * * *", utc("2026-04-04 13:50"), dt.timedelta(hours=3), "Australia/Lord_Howe") == [
        "04-05T01:45 = 14:45",
        "04-05T01:45* = 15:15",
        "04-05T02:45 = 16:15",
    ]


def test_a_job_of_a_day_that_never_was_runs_once_when_the_next_one_begins() -> None:
    assert dues("15 6,18 * * *", utc("2011-12-29 00:00"), 2 * DAY, "Pacific/Apia") == [
        "12-28T18:15 = 04:15",
        "12-29T06:15 = 16:15",
        "12-29T18:15 = 04:15",
        "12-30T06:15 = 10:00",
        "12-31T06:15 = 16:15",
    ]


@pytest.mark.parametrize(
    ("shorthand", "cron"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 7"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 jan *"),
        ("@Annually", "0 0 1 1 *"),
    ],
)
def test_a_shorthand_is_due_as_what_it_stands_for(shorthand: str, cron: str) -> None:
    assert dues(shorthand, AUTUMN, 40 * DAY) == dues(cron, AUTUMN, 40 * DAY)


@pytest.mark.parametrize(
    ("cron", "days"),
    [
        ("0 0 * * 0", [1, 8, 15, 22, 29]),
        ("0 0 * * 7", [1, 8, 15, 22, 29]),
        ("0 0 * * SUN", [1, 8, 15, 22, 29]),
        ("0 0 * * 5-7", [1, 6, 7, 8, 13, 14, 15, 20, 21, 22, 27, 28, 29]),
        ("0 0 * * mon,fri", [2, 6, 9, 13, 16, 20, 23, 27, 30]),
        ("0 0 13 * fri", [6, 13, 20, 27]),
        ("0 0 1-7 * mon", [1, 2, 3, 4, 5, 6, 7, 9, 16, 23, 30]),
        ("0 0 */10 * sun", [1]),
        ("0 0 10-12 * */7", []),
        ("0 0 8-14 * */7", [8]),
        ("0 0 */10 * *", [1, 11, 21]),
        ("0 0 L * *", [30]),
        ("0 0 * * 1#2", [9]),
        ("0 0 * * 5L", [27]),
        ("0 0 31 10,11,12 *", []),
    ],
)
def test_days_are_those_of_debians_cron(cron: str, days: list[int]) -> None:
    """November 2026 begins on a Sunday. Both kinds of days mean either, unless one of them begins with a star."""
    slots = Schedule(cron, "UTC").due(utc("2026-10-31 23:59"), utc("2026-11-30 23:59"))

    assert [int(slot.nominal[8:10]) for slot in slots] == days


def test_the_days_in_the_table_of_both_day_fields_are_those_that_come_due() -> None:
    """Both fields have to fit where one of them begins with a star, else either of them."""
    table = rows(ROOT / "docs" / "operations.md", "## Schedules")

    assert len(table) == 3
    for cron, _, days in table:
        slots = Schedule(cron.strip("`"), "UTC").due(utc("2026-10-31 23:59"), utc("2026-11-30 23:59"))
        assert ", ".join(str(slot.at.day) for slot in slots) == days, cron


MINUTES = "write 0-59, such as `0`, `0,30` or `*/15`"
HOURS = "write 0-23, such as `6`, `8-18` or `*/2`"
DAYS = "write 1-31 or `L` for the last, such as `1`, `1,15` or `*`"
MONTHS = "write 1-12 or jan-dec, such as `*` or `1,4,7,10`"
WEEKDAYS = "write 0-7 (0 and 7 are Sunday) or sun-sat, such as `mon-fri`, `sat,sun` or `1#1` for the first Monday"
FIVE = "write five: minute hour day-of-month month day-of-week"
NO_CRON = "is not a cron text; write five fields, such as `15 6 * * mon-fri`"
NEVER = "is never due: no month it names has such a day; write another day"
LONG_STEP = "that is longer than the field; steps restart in every field"


@pytest.mark.parametrize(
    ("cron", "end"),
    [
        ("", "is empty; write five fields, such as `15 6 * * mon-fri`, or `@daily`"),
        (" \n", "is empty; write five fields, such as `15 6 * * mon-fri`, or `@daily`"),
        ("@reboot", "names no time; write when the job is due, such as `@daily` or `15 6 * * *`"),
        ("@dayly", "is not a shorthand; did you mean `@daily`?"),
        ("@daily 6", "is not a shorthand; did you mean `@daily`?"),
        ("15 6 * *", f"has 4 fields; {FIVE}"),
        ("daily", f"has 1 field; {FIVE}"),
        ("0 15 6 * * *", f"has 6 fields; {FIVE}"),
        ("75 6 * * *", f"has a wrong minute `75`; {MINUTES}"),
        ("0,75 6 * * *", f"has a wrong minute `0,75`; {MINUTES}"),
        ("*/0 6 * * *", f"has a wrong minute `*/0`; {MINUTES}"),
        ("6:15 * * * *", f"has a wrong minute `6:15`; {MINUTES}"),
        ("0 24 * * *", f"has a wrong hour `24`; {HOURS}"),
        ("0 22-2 * * *", f"has a wrong hour `22-2`; {HOURS}; a range goes upwards"),
        ("0 0 0 * *", f"has a wrong day-of-month `0`; {DAYS}"),
        ("0 0 ? * MON", f"has a wrong day-of-month `?`; {DAYS}"),
        ("0 0 1 may-foo *", f"has a wrong month `may-foo`; {MONTHS}; a range goes upwards"),
        ("0 0 * * 8", f"has a wrong day-of-week `8`; {WEEKDAYS}"),
        ("0 0 * * FRI-MON", f"has a wrong day-of-week `fri-mon`; {WEEKDAYS}; a range goes upwards"),
        ("*/90 * * * *", f"has a step in minute `*/90` {LONG_STEP}; {MINUTES}"),
        ("0,0/61 * * * *", f"has a step in minute `0,0/61` {LONG_STEP}; {MINUTES}"),
        ("0 */36 * * *", f"has a step in hour `*/36` {LONG_STEP}; {HOURS}"),
        (f"0/{'1' * 900} * * * *", f"has a step in minute `0/{'1' * 57}…` {LONG_STEP}; {MINUTES}"),
        ("0 0 L/2 * *", f"has a step in day-of-month `l/2` without a range; {DAYS}"),
        ("0 0 31 2 *", NEVER),
        ("0 0 30 feb *", NEVER),
        ("0 0 31 4,6,9,11 *", NEVER),
        ("0 0 */16 2 0#5", NEVER),
        ("٣ 6 * * *", NO_CRON),
        ("0 0 * * ſun", NO_CRON),
        ("1" * 5000 + " * * * *", NO_CRON),
    ],
)
def test_a_cron_text_that_is_none_is_refused_with_what_to_write(cron: str, end: str) -> None:
    with pytest.raises(ScheduleRefused) as caught:
        Schedule(cron, "UTC")

    assert str(caught.value) == f"cron `{short(cron)}` {end}"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"timezone": "Europe/Berlim"}, "timezone `Europe/Berlim` is not a time zone; did you mean `Europe/Berlin`?"),
        ({"timezone": "../x"}, "timezone `../x` is not a time zone; write an IANA name like Europe/Berlin or UTC"),
        ({"jitter": -DAY}, "jitter `-1 day, 0:00:00` is negative; write a length such as `2m`"),
        ({"catch_up": "last"}, "catch_up `last` is unknown; did you mean `latest`?"),
        ({"max": 0}, "max `0` leaves nothing to catch up on; write 1 or more, or `catch_up: skip`"),
    ],
)
def test_other_settings_are_refused_with_what_to_write(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ScheduleRefused) as caught:
        Schedule(**{"cron": "@daily", "timezone": "UTC"} | settings)  # type: ignore[arg-type]

    assert str(caught.value) == sentence


def test_every_catch_up_policy_is_accepted() -> None:
    assert [Schedule("@daily", "UTC", catch_up=policy).catch_up for policy in CATCH_UP] == ["latest", "skip", "all"]


def test_a_time_without_a_zone_is_never_taken_for_an_instant() -> None:
    daily = Schedule("@daily", BERLIN)
    naive = SPRING.replace(tzinfo=None)

    for ask in (lambda: daily.due(naive, SPRING), lambda: daily.due(SPRING, naive), lambda: daily.before(naive)):
        with pytest.raises(ValueError, match="without a time zone"):
            ask()


def test_a_leap_day_is_waited_for_and_one_that_is_too_far_is_none() -> None:
    assert Schedule("0 0 29 2 *", "UTC").following(utc("2097-01-01 00:00")) == Slot(
        utc("2104-02-29 00:00"), "2104-02-29T00:00"
    )
    assert Schedule("0 0 29 2 */7", "UTC").following(utc("2032-03-01 00:00")) is None
    assert Schedule("0 0 29 2 */7", "UTC").before(utc("2059-03-01 00:00")) == Slot(
        utc("2032-02-29 00:00"), "2032-02-29T00:00"
    )


def test_slots_are_computed_as_they_are_asked_for() -> None:
    endless = Schedule("* * * * *", BERLIN).due(SPRING, dt.datetime.max.replace(tzinfo=dt.UTC))

    assert [slot.at for slot in itertools.islice(endless, 3)] == [
        SPRING + n * dt.timedelta(minutes=1) for n in (1, 2, 3)
    ]


FIXED = ["30 2 * * *", "10,40 1-3 * * *", "20 0-23 * * 1-5", "0 0 1,15 * 6", "30 2 */3 * 0", "59 23 L * *"]
STARRED = ["0 * * * *", "45 * * * *", "*/15 * * * *", "*/30 2 * * *", "0 */2 * * *"]
CRONS = st.sampled_from(FIXED + STARRED)
ZONES = st.sampled_from(
    [BERLIN, "America/Havana", "America/Nuuk", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca", "UTC"]
)
SECONDS = st.integers(0, 366 * 86400)
"""Within 2026, whose clock changes in these zones are hit by windows around them."""
EDGES = st.sampled_from([SPRING + dt.timedelta(hours=2), AUTUMN + dt.timedelta(hours=3)])
INSTANTS = st.builds(lambda n: utc("2026-01-01 00:00") + dt.timedelta(seconds=n), SECONDS) | st.builds(
    lambda edge, five: edge + five * dt.timedelta(minutes=5), EDGES, st.integers(-24, 24)
)


@given(CRONS, ZONES, INSTANTS, st.integers(0, 40 * 3600), st.integers(0, 40 * 3600))
@example("*/30 2 * * *", BERLIN, utc("2026-10-25 00:10"), 1800, 3600)
@example("*/30 2 * * *", BERLIN, utc("2026-10-25 00:10"), 1200, 3600)
def test_two_windows_side_by_side_hold_what_the_whole_holds(
    cron: str, zone: str, a: dt.datetime, first: int, second: int
) -> None:
    schedule = Schedule(cron, zone)
    b = a + dt.timedelta(seconds=first)
    c = b + dt.timedelta(seconds=second)

    assert [*schedule.due(a, b), *schedule.due(b, c)] == list(schedule.due(a, c))


@given(CRONS, ZONES, INSTANTS)
@example("*/30 2 * * *", BERLIN, utc("2026-10-25 01:10"))
@example("30 2 * * *", BERLIN, utc("2026-10-25 01:10"))
def test_the_one_before_and_the_one_after_are_neighbours(cron: str, zone: str, at: dt.datetime) -> None:
    schedule = Schedule(cron, zone)

    before, following = schedule.before(at), schedule.following(at)

    assert before is not None
    assert following is not None
    assert before.at <= at < following.at
    assert list(schedule.due(before.at - dt.timedelta(microseconds=1), following.at)) == [before, following]


@given(CRONS, ZONES, INSTANTS, st.integers(1, 999_999))
def test_a_fraction_of_a_second_changes_no_slot(cron: str, zone: str, at: dt.datetime, fraction: int) -> None:
    schedule = Schedule(cron, zone)
    later = at + dt.timedelta(microseconds=fraction)

    assert schedule.following(later) == schedule.following(at)
    assert schedule.before(later) == schedule.before(at)


def test_a_revision_is_the_same_for_ever_and_however_it_is_written() -> None:
    """A golden value: a changed revision would forget every slot since it was activated."""
    assert Schedule("15 6 * * mon-fri", BERLIN).revision == "sched1_bok4nlzztkx2e62b"
    assert Schedule(" 15  6 * * MON-FRI", BERLIN, DAY, "all", 3).revision == "sched1_bok4nlzztkx2e62b"
    assert Schedule("@daily", BERLIN).revision == Schedule("0 0 * * *", BERLIN).revision


def test_another_cron_text_or_zone_is_another_revision() -> None:
    pairs = [("0 6 * * *", BERLIN), ("0 6 * * *", "UTC"), ("0 7 * * *", BERLIN), ("0 6 * * 1", BERLIN)]

    assert len({Schedule(cron, zone).revision for cron, zone in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("15 6 * * mon-fri", "at 06:15 on Monday through Friday"),
        ("@hourly", "at the start of every hour"),
        ("*/5 * * * *", "every fifth minute of every hour"),
        ("0 0 1 * *", "at 00:00 on the first day of every month"),
        ("0 0 11,21 * *", "at 00:00 on the 11th and the 21st day of month"),
        ("0 0 12,13,22,23 * *", "at 00:00 on the 12th, the 13th, the 22nd, and the 23rd day of month"),
        ("0 0 L * *", "at 00:00 on the last day of every month"),
    ],
)
def test_a_schedule_is_told_in_words(cron: str, words: str) -> None:
    assert Schedule(cron, BERLIN).in_words() == f"{words}, Europe/Berlin"


def fields(low: int, high: int, *others: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    spans = st.tuples(number, number).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
    steps = st.tuples(st.just("*") | spans | number.map(str), st.integers(1, high)).map(
        lambda step: f"{step[0]}/{step[1]}"
    )
    term = st.just("*") | number.map(str) | spans | steps
    terms = term | st.sampled_from(others) if others else term
    return st.lists(terms, min_size=1, max_size=3).map(",".join)


@given(
    st.tuples(fields(0, 59), fields(0, 23), fields(1, 31, "L", "LW"), fields(1, 12, "feb"), fields(0, 7, "sun", "5L"))
)
def test_any_cron_text_of_the_grammar_is_due_and_told_in_words_or_never_due(parts: tuple[str, ...]) -> None:
    cron = " ".join(parts)
    try:
        schedule = Schedule(cron, BERLIN)
    except ScheduleRefused as refused:
        words = str(refused)
    else:
        assert schedule.before(utc("2050-01-01 00:00")) is not None
        words = schedule.in_words()

    assert words.endswith((", Europe/Berlin", NEVER))


MINUTE = dt.timedelta(minutes=1)


@given(st.text(), INSTANTS, st.timedeltas(dt.timedelta(0), DAY))
def test_a_start_is_never_delayed_as_long_as_the_jitter_or_earlier_than_its_slot(
    job: str, slot: dt.datetime, jitter: dt.timedelta
) -> None:
    delay = start_delay(job, slot, jitter)

    assert dt.timedelta(0) <= delay < max(jitter, dt.timedelta(microseconds=1))
    assert delay == start_delay(job, slot.astimezone(zoneinfo.ZoneInfo(BERLIN)), jitter)


def test_a_start_is_delayed_by_the_same_on_every_host_for_ever() -> None:
    assert start_delay("nightly", utc("2026-11-21 05:15"), 2 * MINUTE) == dt.timedelta(seconds=88, microseconds=630168)


def test_starts_are_spread_evenly_over_jobs_and_over_slots() -> None:
    jobs = [start_delay(f"job {n}", SPRING, 10 * MINUTE) // MINUTE for n in range(5000)]
    slots = [start_delay("nightly", SPRING + n * DAY, 10 * MINUTE) // MINUTE for n in range(5000)]

    assert all(400 < minutes.count(minute) < 600 for minutes in (jobs, slots) for minute in range(10))


def test_the_version_of_the_zones_is_that_of_the_data_they_are_read_from(tmp_path: Path) -> None:
    (tmp_path / "Etc").mkdir()
    (tmp_path / "Etc" / "UTC").write_bytes(b"")
    before = zoneinfo.TZPATH
    try:
        zoneinfo.reset_tzpath(to=[str(tmp_path)])
        without_listing = tzdata_version()
        zoneinfo.reset_tzpath(to=[str(tmp_path / "none"), str(tmp_path)])
        (tmp_path / "tzdata.zi").write_text("# version 2026a\nR A 1916 o\n")
        with_listing = tzdata_version()
        zoneinfo.reset_tzpath(to=[])
        of_the_package = tzdata_version()
    finally:
        zoneinfo.reset_tzpath(to=before)

    assert without_listing == "system of unknown version"
    assert with_listing == "system 2026a"
    assert of_the_package.startswith("tzdata 20")
