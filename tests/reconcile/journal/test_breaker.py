"""The circuit breaker of a target: one for all workers, the same after a restart, and one probe a cool-down."""

import datetime as dt
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.journal import breaker
from reconcile.journal.breaker import COOL_DOWN, FAILURES, LONGEST_COOL_DOWN, PROBES, Probe
from reconcile.store import breakers
from tests.reconcile.journal.journal import TARGET, Journal, effects_postgres, journal, local

__all__ = ["effects_postgres", "journal", "local"]


def fail(journal: Journal, times: int = 1, probe: Probe | None = None, **more: bool) -> list[bool]:
    opened = []
    for _ in range(times):
        with journal.begin() as tx:
            opened.append(breaker.broke(tx, TARGET, "It did not answer.", probe=probe, **more))
    return opened


def allowed(journal: Journal) -> bool | Probe:
    with journal.begin() as tx:
        return breaker.allow(tx, TARGET)


def test_it_opens_after_failures_in_a_row_and_not_before(journal: Journal) -> None:
    assert allowed(journal) is True
    fail(journal, FAILURES - 1)
    with journal.begin() as tx:
        breaker.worked(tx, TARGET)
    assert fail(journal, FAILURES) == [False] * (FAILURES - 1) + [True]

    assert allowed(journal) is False
    with journal.store.read() as tx:
        assert breaker.reason(tx, TARGET) == "It did not answer; the next try is at 12:00:30 UTC."
        assert [item.target for item in breakers.not_closed(tx)] == [TARGET]
        assert breaker.reason(tx, "elsewhere") is None


def test_what_is_no_failure_of_the_infrastructure_does_not_count(journal: Journal) -> None:
    fail(journal, FAILURES - 1)
    fail(journal, infrastructure=False)
    fail(journal, FAILURES - 1)

    assert allowed(journal) is True


def test_after_the_cool_down_one_probe_is_sent_and_closes_it(journal: Journal) -> None:
    fail(journal, FAILURES)
    journal.tick(seconds=COOL_DOWN.total_seconds())

    probe = allowed(journal)

    assert isinstance(probe, Probe)
    assert [allowed(journal) for _ in range(3)] == [False] * 3
    with journal.begin() as tx:
        breaker.worked(tx, TARGET)  # somebody's request of before it opened
        assert breaker.allow(tx, TARGET) is False
        breaker.worked(tx, TARGET, probe)
    assert allowed(journal) is True


def test_a_probe_that_fails_doubles_the_wait_up_to_a_quarter_of_an_hour(journal: Journal) -> None:
    fail(journal, FAILURES)
    waits = []
    for _ in range(8):
        with journal.store.read() as tx:
            stored = breakers.get(tx, TARGET)
        assert stored is not None
        assert stored.probe_at is not None
        waits.append(stored.probe_at - journal.now)
        journal.now = stored.probe_at
        probe = allowed(journal)
        assert isinstance(probe, Probe)
        assert fail(journal, probe=probe) == [True]

    assert waits[:3] == [COOL_DOWN, COOL_DOWN * 2, COOL_DOWN * 4]
    assert waits[-1] == LONGEST_COOL_DOWN


def test_people_hear_of_it_when_probe_after_probe_failed_or_a_person_has_to_mend_it(journal: Journal) -> None:
    def lasting() -> list[str | None]:
        with journal.store.read() as tx:
            return [breaker.lasting(item) for item in breakers.not_closed(tx)]

    fail(journal, FAILURES)
    told = [lasting()]
    for times in range(PROBES):
        journal.tick(seconds=breaker.cool_down(FAILURES + times).total_seconds())
        probe = allowed(journal)
        assert isinstance(probe, Probe)
        fail(journal, probe=probe)
        told.append(lasting())
    assert told == [[None]] * PROBES + [["It did not answer. It is retried automatically, at least every 15 minutes."]]

    with journal.begin() as tx:
        breaker.opened_for_person(tx, TARGET, "The disk is full.")
    [waits] = lasting()
    assert str(waits).startswith("The disk is full; fix the problem")
    journal.tick(minutes=15)
    probe = allowed(journal)
    assert isinstance(probe, Probe)
    fail(journal, probe=probe)
    assert lasting() == ["It did not answer. It is retried automatically, at least every 15 minutes."]


def test_a_probe_whose_sender_died_is_followed_by_another_after_a_cool_down(journal: Journal) -> None:
    fail(journal, FAILURES)
    journal.tick(minutes=1)
    first = allowed(journal)
    journal.tick(minutes=1)
    second = allowed(journal)

    assert isinstance(first, Probe)
    assert isinstance(second, Probe)
    assert fail(journal, probe=first) == [False]
    with journal.begin() as tx:
        breaker.worked(tx, TARGET, first)
        assert breaker.allow(tx, TARGET) is False
        breaker.worked(tx, TARGET, second)
        assert breaker.allow(tx, TARGET) is True


def test_what_only_a_person_can_mend_waits_for_one_and_is_probed_seldom(journal: Journal) -> None:
    def denied() -> None:
        with journal.begin() as tx:
            breaker.opened_for_person(tx, TARGET, "We may not delete there.")

    denied()
    denied()
    journal.tick(minutes=14)
    assert allowed(journal) is False
    for _ in range(3):
        journal.tick(minutes=15)
        assert isinstance(allowed(journal), Probe)
        assert allowed(journal) is False
        denied()

    assert allowed(journal) is False
    with journal.begin() as tx:
        assert "fix the problem, then run `reconcile retry`" in str(breaker.reason(tx, TARGET))
        assert breaker.close(tx, TARGET, by="eve")
        assert not breaker.close(tx, TARGET, by="eve")
    assert allowed(journal) is True
    assert journal.events() == ["target.opened_for_person", *["target.probed"] * 3, "target.closed"]


def test_what_a_person_mended_goes_on_by_itself(journal: Journal) -> None:
    with journal.begin() as tx:
        breaker.opened_for_person(tx, TARGET, "The disk is full.")
    journal.tick(minutes=15)
    probe = allowed(journal)
    assert isinstance(probe, Probe)
    with journal.begin() as tx:
        breaker.worked(tx, TARGET, probe)

    assert allowed(journal) is True
    assert journal.events() == ["target.opened_for_person", "target.probed", "target.closed"]


def test_retries_are_a_tenth_of_a_minutes_requests_and_three_at_least(journal: Journal) -> None:
    def left(calls: int, retries: int) -> int:
        with journal.begin() as tx:
            return breaker.retries_left(tx, TARGET, calls=calls, retries=retries)

    assert [left(0, 2), left(0, 2), left(0, 2)] == [2, 1, 0]
    assert left(100, 50) == 7
    assert left(0, 5) == 1  # those that were granted are requests too
    journal.tick(minutes=1)
    assert left(0, 5) == 3


@given(st.integers(0, 10_000))
def test_a_cool_down_only_grows_and_ends(failures: int) -> None:
    assert dt.timedelta(0) < breaker.cool_down(failures) <= breaker.cool_down(failures + 1) <= LONGEST_COOL_DOWN


@pytest.mark.parametrize("seed", range(3))
def test_twenty_restarts_of_four_workers_send_one_probe_a_cool_down(seed: int, journal: Journal) -> None:
    """Nothing of it is in anybody's memory: whoever asks, when and how often, a cool-down has one probe at most."""
    fail(journal, FAILURES)
    probes: list[dt.datetime] = []
    for _restart in range(20):
        for worker in range(4):
            journal.tick(seconds=(worker * 7 + seed * 5) % 11)
            probe = allowed(journal)
            if isinstance(probe, Probe):
                probes.append(journal.now)
                if worker % 2:
                    fail(journal, probe=probe)  # the others died with it

    assert len(probes) >= 2
    assert all(later - earlier >= COOL_DOWN for earlier, later in itertools.pairwise(probes))
