"""Delays: spread like full jitter, and yet the same for every process that computes them."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.schedule import retry

NOW = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
SLOW = retry.Policy(HOUR, 100 * HOUR, 8, 1_000 * HOUR)


def seconds(n: float) -> dt.timedelta:
    return dt.timedelta(seconds=n)


def test_a_delay_is_the_same_after_a_restart() -> None:
    """A golden value: it is in audit logs, where somebody may compute it again."""
    assert retry.uniform("m1", 0) == GOLDEN
    assert retry.decide("m1", 3, retry.PATIENT) == retry.decide("m1", 3, retry.PATIENT)


GOLDEN = 0.8859833843396991


def test_delays_of_different_keys_and_attempts_are_spread_evenly() -> None:
    drawn = sorted(retry.uniform(f"key-{k}", n) for k in range(500) for n in range(4))

    assert max(abs(value - (at + 0.5) / 2_000) for at, value in enumerate(drawn)) < 0.035


@given(st.text(max_size=20), st.integers(0, 10_000), st.sampled_from([retry.QUICK, retry.PATIENT, retry.NEVER, SLOW]))
def test_a_delay_is_below_a_ceiling_that_doubles_up_to_the_cap(key: str, n: int, policy: retry.Policy) -> None:
    decision = retry.decide(key, n, policy)

    doubled = policy.base.total_seconds() * 2 ** min(n, 500)
    assert decision.ceiling.total_seconds() == min(policy.cap.total_seconds(), doubled)
    assert decision.delay == max(decision.ceiling * retry.uniform(key, n), retry.FLOOR)


def test_what_the_server_asks_for_is_waited_for_up_to_an_hour() -> None:
    asked = {
        given: retry.decide("m1", 0, retry.PATIENT, given).delay
        for given in (seconds(-5), seconds(0), seconds(120), 2 * HOUR)
    }

    usual = retry.decide("m1", 0, retry.PATIENT).delay
    assert list(asked.values()) == [usual, usual, seconds(120), HOUR]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("0", seconds(0)),
        ("30", seconds(30)),
        (" 30 ", seconds(30)),
        ("+30", seconds(30)),
        ("030", seconds(30)),
        ("1.5", seconds(1.5)),
        ("1.", seconds(1)),
        ("-1", seconds(0)),
        ("-0.5", seconds(0)),
        ("3600", HOUR),
        ("3601", HOUR),
        ("1000000000", HOUR),
        ("9" * 400, HOUR),
        ("Sat, 21 Nov 2026 12:00:10 GMT", seconds(10)),
        ("Saturday, 21-Nov-26 12:00:10 GMT", seconds(10)),
        ("Sat Nov 21 12:00:10 2026", seconds(10)),
        ("Sat, 21 Nov 2026 13:00:10 +0100", seconds(10)),
        ("Sat, 21 Nov 2026 12:00:10 -0000", seconds(10)),
        ("Sat, 21 Nov 2026 11:00:00 GMT", seconds(0)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", HOUR),
        ("Mon, 01 Jan 0001 00:00:00 +1400", seconds(0)),
        ("Sat, 32 Nov 2026 12:00:10 GMT", None),
        ("", None),
        (None, None),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("1e3", None),
        ("0x10", None),
        ("1_000", None),
        ("１２", None),
        ("30, 60", None),
        ("30;q=1", None),
        ("\x00", None),
    ],
)
def test_a_retry_after_header_is_understood_or_ignored(header: str | None, expected: dt.timedelta | None) -> None:
    assert retry.parse_retry_after(header, NOW) == expected


@given(st.text(max_size=60))
def test_no_header_is_an_error_or_a_wait_beyond_an_hour(header: str) -> None:
    found = retry.parse_retry_after(header, NOW)

    assert found is None or seconds(0) <= found <= HOUR


def test_a_decision_is_written_down_in_plain_numbers() -> None:
    written = retry.decide("m1", 2, retry.PATIENT, seconds(7)).to_json()

    assert written == {"n": 2, "u": round(retry.uniform("m1", 2), 6), "ceiling": 4.0, "retry_after": 7.0, "delay": 7.0}
