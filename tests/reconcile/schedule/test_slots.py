"""Slots: one moment, one run, however it is written."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.schedule.slots import SlotRefused, parse_slot, run_id, slot_text

BERLIN = ZoneInfo("Europe/Berlin")
SLOT = dt.datetime(2026, 11, 21, 5, 15, tzinfo=dt.UTC)


def test_a_run_has_the_same_id_in_every_process_for_ever() -> None:
    """A golden value: a changed id would run every known slot again."""
    assert run_id("nightly", SLOT) == "run1_xuo2iaqzfkhmxilmgjcabnjyja"


def test_two_writings_of_one_moment_are_one_run() -> None:
    assert run_id("nightly", SLOT.astimezone(BERLIN)) == run_id("nightly", SLOT)


def test_another_job_or_moment_is_another_run() -> None:
    ids = {
        run_id(job, SLOT + dt.timedelta(microseconds=n)) for job in ("nightly", "nightly ", "n", "") for n in range(3)
    }

    assert len(ids) == 12


def test_a_naive_slot_has_no_id() -> None:
    with pytest.raises(ValueError, match="naive"):
        run_id("nightly", SLOT.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T05:15Z", SLOT),
        ("2026-11-21T05:15:00Z", SLOT),
        ("2026-11-21T05:15:00.000000Z", SLOT),
        ("2026-11-21 06:15:00+01:00", SLOT),
        ("2026-11-21T06:15", SLOT),
        (" 2026-11-21T06:15 ", SLOT),
        ("2026-07-01T06:15", dt.datetime(2026, 7, 1, 4, 15, tzinfo=dt.UTC)),
        ("2026-11-21T05:15:00.5Z", SLOT.replace(microsecond=500_000)),
        ("2026-10-25T02:30:00+02:00", dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)),
        ("2026-10-25T02:30:00+01:00", dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)),
    ],
)
def test_a_slot_is_a_time_with_an_offset_or_in_the_jobs_zone(text: str, expected: dt.datetime) -> None:
    slot = parse_slot(text, BERLIN)

    assert slot == expected
    assert slot.tzinfo is dt.UTC


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("2026-03-29T02:30", "does not exist in Europe/Berlin"),
        (
            "2026-10-25T02:30",
            "is set back; write 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00",
        ),
        ("2026-11-21", "is not a time; write it like"),
        ("05:15", "is not a time"),
        ("now", "is not a time"),
        ("", "is not a time"),
        ("20261121T0515", "is not a time"),
        ("2026-W47-6T05:15", "is not a time"),
        ("２０２６-11-21T05:15", "is not a time"),
        ("2026-13-21T05:15", "is not a time: month"),
        ("2026-11-21T25:15Z", "is not a time: hour"),
        ("2026-11-21T05:15+25:00", "is not a time: offset"),
        ("0001-01-01T00:00+14:00", "is not a time: date value out of range"),
        ("9999-12-31T23:59-14:00", "is not a time: date value out of range"),
        ("0001-01-01T00:00", "is not a time: date value out of range"),
    ],
)
def test_what_is_not_one_moment_is_refused_with_the_reason(text: str, part: str) -> None:
    with pytest.raises(SlotRefused) as caught:
        parse_slot(text, BERLIN)

    assert part in str(caught.value)


@given(
    st.builds(
        lambda day, minute: dt.datetime.fromisoformat("1990-01-01") + dt.timedelta(days=day, minutes=15 * minute),
        st.integers(0, 47 * 365),
        st.integers(0, 95),
    ),
    st.sampled_from([BERLIN, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("America/Sao_Paulo"), ZoneInfo("Pacific/Apia")]),
)
def test_a_local_time_names_its_only_moment_or_is_refused(naive: dt.datetime, zone: ZoneInfo) -> None:
    hour = dt.timedelta(hours=26)
    moments = {(naive - hour + dt.timedelta(minutes=15) * n).replace(tzinfo=dt.UTC) for n in range(4 * 53)}
    matching = [moment for moment in moments if moment.astimezone(zone).replace(tzinfo=None) == naive]

    try:
        slot = parse_slot(naive.isoformat(), zone)
    except SlotRefused:
        assert len(matching) != 1
    else:
        assert matching == [slot]


def test_a_slot_is_shown_in_utc_without_a_fraction_it_does_not_have() -> None:
    assert slot_text(SLOT.astimezone(BERLIN)) == "2026-11-21T05:15:00Z"
    assert slot_text(SLOT.replace(microsecond=5)) == "2026-11-21T05:15:00.000005Z"
