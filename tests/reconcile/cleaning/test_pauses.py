"""When nothing is cleaned: maintenance windows in their own zone, and what people paused."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.audit import log
from reconcile.coordination import pauses
from reconcile.schedule.maintenance import MaintenanceWindow, closed, minute
from reconcile.store import Store
from tests.support.cli import FILES, Project

BERLIN = ZoneInfo("Europe/Berlin")
ALL_DAYS = tuple(range(7))
NIGHT = MaintenanceWindow("shop", minute("22:00"), minute("02:00"), (0, 1), "Europe/Berlin")
TRANSITIONS = {  # places where clocks are set, and a day on which they are
    "Europe/Berlin": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-10-04", "2026-04-05"),
    "Africa/Cairo": ("2026-04-24", "2026-10-30"),
    "Asia/Beirut": ("2026-03-29", "2026-10-25"),
    "Pacific/Apia": ("2011-12-30", "2011-12-31"),
    "UTC": ("2026-03-29", "2026-10-25"),
}
A_MINUTE, AN_HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)


def berlin(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(dt.UTC)


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-11-23T21:59:59", None),  # a Monday
        ("2026-11-23T22:00", "2026-11-24T02:00"),
        ("2026-11-24T01:59:59", "2026-11-24T02:00"),
        ("2026-11-24T02:00", None),
        ("2026-11-25T01:00", "2026-11-25T02:00"),  # of the window that began on Tuesday
        ("2026-11-25T22:00", None),  # a Wednesday
        ("2026-11-23T01:00", None),  # of the window of Sunday, which there is none of
    ],
)
def test_a_window_over_midnight_belongs_to_the_day_it_begins_on(now: str, until: str | None) -> None:
    assert NIGHT.until(berlin(now)) == (berlin(until) if until else None)


def test_a_whole_day_is_closed_from_midnight_to_midnight() -> None:
    sunday = MaintenanceWindow("shop", minute("00:00"), minute("24:00"), (6,), "Europe/Berlin")

    assert sunday.until(berlin("2026-11-22T00:00")) == berlin("2026-11-23T00:00")
    assert sunday.until(berlin("2026-11-22T23:59")) == berlin("2026-11-23T00:00")
    assert sunday.until(berlin("2026-11-23T00:00")) is None


def test_a_night_in_which_clocks_are_set_back_is_one_window_without_a_hole() -> None:
    window = MaintenanceWindow("shop", minute("01:00"), minute("02:30"), ALL_DAYS, "Europe/Berlin")
    begins = berlin("2026-10-25T01:00")

    inside = [minutes for minutes in range(240) if window.until(begins + minutes * A_MINUTE) is not None]

    assert inside == list(range(150))  # until 02:30 by the clock that was set back


def test_a_window_that_the_clocks_jump_over_is_closed_around_the_jump() -> None:
    window = MaintenanceWindow("shop", minute("02:10"), minute("02:40"), ALL_DAYS, "Europe/Berlin")
    jump = berlin("2026-03-29T03:00")

    assert window.until(jump) is not None
    assert window.until(jump - 2 * AN_HOUR) is None
    assert window.until(jump + 2 * AN_HOUR) is None


@given(st.data())
def test_it_is_closed_whenever_the_clock_on_the_wall_shows_the_window_and_never_long_beside_it(
    data: st.DataObject,
) -> None:
    """Held to a model that asks nothing but what the wall clock shows, minute by minute."""
    name = data.draw(st.sampled_from(sorted(TRANSITIONS)))
    zone, day = ZoneInfo(name), dt.date.fromisoformat(data.draw(st.sampled_from(TRANSITIONS[name])))
    begins, ends = data.draw(st.integers(0, 1439)), data.draw(st.integers(1, 1440))
    days = tuple(sorted(data.draw(st.sets(st.integers(0, 6), min_size=1))))
    window = MaintenanceWindow("shop", begins, ends if ends != begins else ends - 1 or 2, days, name)
    start = dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC) - dt.timedelta(hours=20)
    now = start + data.draw(st.integers(0, 60 * 60)) * A_MINUTE

    shown = now.astimezone(zone)
    until = window.until(now)

    if _shows(window, shown):
        assert until is not None
        assert until > now
    elif until is not None:
        near = (now + step * AN_HOUR for step in range(-25, 26))  # Apia once left out a whole day
        offsets = {item.astimezone(zone).utcoffset() for item in near}
        assert len(offsets) > 1, "closed beside its times with no change of clocks near"


def _shows(window: MaintenanceWindow, wall: dt.datetime) -> bool:
    at, today = wall.hour * 60 + wall.minute, wall.weekday()
    if window.begins < window.ends:
        return today in window.days and window.begins <= at < window.ends
    began_yesterday = (today - 1) % 7 in window.days and at < window.ends
    return began_yesterday or (today in window.days and at >= window.begins)


@pytest.mark.parametrize("text", ["24:01", "25:00", "7:00", "22", "22:60", "-1:00", "٢٢:٠٠", ""])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time of day"):
        minute(text)


def test_the_sentence_names_the_source_and_the_end_in_the_windows_own_zone() -> None:
    late = MaintenanceWindow("shop", minute("23:00"), minute("04:00"), (0,), "Europe/Berlin")

    answer = closed([NIGHT, late], "shop", berlin("2026-11-23T23:30"))

    assert answer == "Source 'shop' is in maintenance until 24 Nov 2026 04:00 (Europe/Berlin)"
    assert closed([NIGHT, late], "erp", berlin("2026-11-23T23:30")) is None


# Pauses


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open("sqlite:///state.db", tmp_path, clock=lambda: berlin("2026-11-23T12:00")) as store:
        yield store


def asked(store: Store, windows: tuple[MaintenanceWindow, ...] = (), job: str | None = "nightly") -> str | None:
    with store.read() as tx:
        return pauses.closed(tx, windows, source="shop", rule="twins", job=job)


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        (pauses.EVERYTHING, "Everything is paused by ada since 23 Nov 2026 11:00 UTC: audit. Resume it with `"),
        (pauses.of_job("nightly"), "Job 'nightly' is paused"),
        (pauses.of_rule("twins"), "Cleaning by rule 'twins' is paused"),
        (pauses.of_source("shop"), "Resume it with `reconcile resume --source shop`"),
    ],
)
def test_a_pause_of_any_of_them_keeps_a_cleaning_from_being_sent_until_it_is_resumed(
    subject: str, told: str, store: Store
) -> None:
    with store.begin() as tx:
        pauses.pause(tx, subject, reason="audit", by="ada")
        answer = pauses.closed(tx, (), source="shop", rule="twins", job="nightly")
    again = asked(store)
    with store.begin() as tx:
        pauses.resume(tx, subject, "ada")

    assert answer == again
    assert told in (answer or "")
    assert asked(store) is None


@pytest.mark.parametrize("subject", [pauses.of_job("hourly"), pauses.of_rule("twin"), pauses.of_source("twins")])
def test_a_pause_of_something_else_keeps_nothing(subject: str, store: Store) -> None:
    with store.begin() as tx:
        pauses.pause(tx, subject, reason="audit", by="ada")

    assert asked(store) is None


def test_who_cleans_without_a_job_is_not_kept_by_the_pause_of_one(store: Store) -> None:
    with store.begin() as tx:
        pauses.pause(tx, pauses.of_job("nightly"), reason="audit", by="ada")

    assert asked(store, job=None) is None


def test_a_pause_of_a_rule_ends_at_its_time_and_lets_its_job_run(store: Store) -> None:
    with store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="audit", by="ada", until=tx.now + AN_HOUR)
        pauses.pause(tx, pauses.of_source("shop"), reason="audit", by="ada", until=tx.now)
        pauses.refuse(tx, "nightly")  # raises nothing: the rule is checked as before

    assert "until 23 Nov 2026 12:00 UTC" in (asked(store) or "")


def test_maintenance_keeps_it_by_the_clock_of_the_store(store: Store) -> None:
    noon = MaintenanceWindow("shop", minute("11:30"), minute("12:30"), (0,), "Europe/Berlin")

    assert asked(store, (noon,)) == "Source 'shop' is in maintenance until 23 Nov 2026 12:30 (Europe/Berlin)"
    assert asked(store, (NIGHT,)) is None


# The command line


def test_the_cleaning_of_a_rule_and_in_a_source_is_paused_and_resumed_by_command(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(FILES)

    first = project("pause", "--rule", "twice", "--reason", "month end")
    second = project("pause", "--source", "shop", "--until", "2h", "--json")
    back = project("resume", "--rule", "twice")
    twice = project("resume", "--rule", "twice")

    assert (first.code, second.code, back.code, twice.code) == (0, 0, 0, 0)
    assert "Cleaning by rule 'twice' is paused by" in first.out
    assert "month end. Resume it with `reconcile resume --rule twice`" in first.out
    assert second.json["subject"] == "source:shop"
    assert back.out == "Cleaning by rule 'twice' resumed\n"
    assert "was not paused" in twice.err
    with Store.open("sqlite:///reconcile.db", tmp_path) as store, store.read() as tx:
        assert [entry.event for entry in log.entries(tx)] == ["pause.begun", "pause.begun", "pause.ended"]
        assert list(pauses.active(tx)) == ["source:shop"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pause", "--rule", "twic"), "did you mean `twice`?"),
        (("pause", "--source", "shpo"), "did you mean `shop`?"),
        (("pause", "--source", "shop", "--rule", "twice"), "--source"),
        (("pause",), "--rule"),
        (("resume", "default", "--rule", "twice"), "--rule"),
        (("resume", "--clock", "--rule", "twice"), "cannot be combined"),
    ],
)
def test_a_pause_of_nothing_or_of_two_things_is_refused(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(FILES)

    answer = project(*words)

    assert answer.code == 2
    assert told in " ".join(answer.err.replace("│", "").split())
