"""Delays: spread like full jitter, and yet the same for every process that computes them."""

import datetime as dt

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


def test_a_decision_is_written_down_in_plain_numbers() -> None:
    written = retry.decide("m1", 2, retry.PATIENT, seconds(7)).to_json()

    assert written == {"n": 2, "u": round(retry.uniform("m1", 2), 6), "ceiling": 4.0, "retry_after": 7.0, "delay": 7.0}
