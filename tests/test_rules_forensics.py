"""A cause is named only where the distances in time bear it out."""

from __future__ import annotations

import random
from collections import Counter

from rules.forensics import copy_sentence, retry_sentence


def test_repeats_that_cluster_at_thirty_seconds_betray_a_retrying_client() -> None:
    gaps = [29.2, 29.8, 30.0, 30.1, 30.4, 30.6, 31.0, 30.2, 29.9, 840.0]

    assert retry_sentence(gaps) == (
        "9 of 10 repeats came 29–31 s after the previous record: this looks like a client that retries after 30 s."
    )


def test_a_peak_away_from_the_usual_time_outs_is_named_as_it_is() -> None:
    gaps = [37.0, 37.1, 37.3, 37.2, 37.0, 37.4, 37.1, 37.2]

    assert retry_sentence(gaps) == (
        "8 of 8 repeats came 37 s after the previous record: this looks like a client that retries after about 37 s."
    )


def test_too_few_repeats_carry_no_claim() -> None:
    assert retry_sentence([30.0] * 7) is None


def test_scattered_repeats_name_no_cause() -> None:
    for seed in range(200):
        chance = random.Random(seed)
        gaps = [10 ** chance.uniform(-1, 4.9) for _ in range(40)]

        assert retry_sentence(gaps) is None


def test_repeats_at_the_same_instant_name_no_cause() -> None:
    assert retry_sentence([0.0] * 20) is None


def test_an_export_that_was_delivered_twice_repeats_its_records_in_their_order() -> None:
    shifts = {("may (1).csv", "may.csv", 0): 3391, ("april.csv", "may.csv", -17): 1, ("may (1).csv", "may.csv", 40): 20}

    assert copy_sentence(shifts, 3419) == (
        "3,391 of 3,419 repeats are in may (1).csv and, in the same order, in may.csv: "
        "this looks like one export that was delivered twice."
    )


def test_payments_made_twice_lie_scattered_and_are_no_copy() -> None:
    chance = random.Random(7)
    shifts = Counter(("april.csv", "may.csv", chance.randrange(-2000, 2000)) for _ in range(60))

    assert copy_sentence(shifts, 60) is None
    assert copy_sentence({("a.csv", "b.csv", 0): 7}, 7) is None
    assert copy_sentence({}, 9) is None
