"""A cause is named only where a test bears it out: simulated traffic of each cause, and chance, which is silent."""

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from rules.forensics.chance import CHANCE as ALLOWED
from rules.forensics.disagreements import Disagreements
from rules.groups.group import Discrepancy
from tests.rules.forensics.traffic import (
    CHANCE,
    COLUMNS,
    MONDAY,
    Group,
    Row,
    at,
    batches,
    cause,
    disagreement,
    entries,
    money,
    order,
    overlaps,
    posted_twice,
    random_disagreements,
    random_repeats,
    resends,
    retries,
    scattered,
)
from tests.rules.kinds.reconciliation.compared import Compared, row, rule
from tests.support.cli import Project


def gaps(*seconds: float) -> list[Group]:
    chance = random.Random(1)
    return [[order(chance, 5000 * n, n), order(chance, 5000 * n + gap, n)] for n, gap in enumerate(seconds)]


def test_repeats_that_cluster_at_thirty_seconds_betray_a_retrying_client() -> None:
    result = cause(gaps(29.2, 29.8, 30.0, 30.1, 30.4, 30.6, 31.0, 30.2, 29.9, 840.0))

    assert result == (
        "9 of 10 repeats came 29–31 s after the previous record: this looks like a client that retries after 30 s."
    )


def test_a_peak_away_from_the_usual_time_outs_is_named_as_it_is() -> None:
    assert cause(gaps(37.0, 37.1, 37.3, 37.2, 37.0, 37.4, 37.1, 37.2)) == (
        "8 of 8 repeats came 37 s after the previous record: this looks like a client that retries after about 37 s."
    )


def test_too_few_repeats_carry_no_claim() -> None:
    assert cause(gaps(*[30.0] * 7)) is None


def test_repeats_at_the_same_instant_name_no_cause() -> None:
    assert cause(gaps(*[0.0] * 20)) is None
    assert cause(gaps(*[0.0] * 20, *[30.0] * 10)) is None


def test_a_daily_habit_is_no_retry() -> None:
    assert cause(gaps(*[86_400.0] * 20)) is None


SIMULATED = {
    retries: (
        "40 of 44 repeats came 29–31 s after the previous record: this looks like a client that retries after 30 s."
    ),
    overlaps: (
        "41 of 44 repeats came 4.8–5.2 min after the previous record: "
        "this looks like a job that starts every 5 min while its previous run is still busy."
    ),
    resends: (
        "55 of 59 repeats have the `event_id` of the previous record and a different time: "
        "this looks like a webhook or message that was delivered again."
    ),
    posted_twice: (
        "120 of 126 repeats came 60 min after the previous record, all within 120 s: "
        "this looks like one batch that was posted twice."
    ),
    batches: (
        "60 of 70 repeats lie between the same two values of `batch_id`: "
        "this looks like one batch that was posted twice."
    ),
}


@pytest.mark.parametrize("simulate", SIMULATED, ids=lambda simulate: simulate.__name__)
def test_simulated_traffic_names_its_cause_with_figures(simulate: Callable[[random.Random], list[Group]]) -> None:
    assert cause(simulate(random.Random(1))) == SIMULATED[simulate]


@pytest.mark.parametrize("simulate", SIMULATED, ids=lambda simulate: simulate.__name__)
def test_a_cause_is_recognised_whatever_the_draw(simulate: Callable[[random.Random], list[Group]]) -> None:
    words = SIMULATED[simulate].rpartition(": ")[2]

    assert all(str(cause(simulate(random.Random(seed)))).endswith(words) for seed in range(20))


def test_charges_by_chance_name_no_cause() -> None:
    assert cause(scattered(random.Random(1), 60)) is None


@pytest.mark.parametrize("distance", CHANCE)
def test_times_by_chance_name_no_cause(distance: str) -> None:
    for number in (8, 12, 40):
        chance = random.Random(distance)

        assert cause(gaps(*(CHANCE[distance](chance) for _ in range(number)))) is None


def test_an_event_that_is_the_key_came_again_if_its_times_differ() -> None:
    chance = random.Random(1)
    first = [order(chance, number, number, event_id=number) for number in range(9)]
    again = [[row, {**row, "charged_at": at(10 ** chance.uniform(1, 4))}] for row in first]
    copies = [[row, dict(row)] for row in first]

    assert "9 of 9 repeats have the `event_id`" in str(cause(again, "event_id"))
    assert cause(copies, "event_id") is None


def test_one_event_id_for_all_groups_is_no_delivery_that_came_again() -> None:
    groups = [[{**row, "event_id": "charge.created"} for row in group] for group in scattered(random.Random(1), 20)]

    assert cause(groups) is None


def test_two_batches_alone_prove_nothing() -> None:
    assert cause([[{"batch_id": "B-1"}, {"batch_id": "B-2"}] for _ in range(60)]) is None


def places(*rows: tuple[str, int, str, int]) -> list[Group]:
    return [[{"_file": a, "_row": of}, {"_file": b, "_row": row}] for a, of, b, row in rows]


def test_an_export_that_was_delivered_twice_repeats_its_records_in_their_order() -> None:
    chance = random.Random(7)
    copied = [("may.csv", row, "may (1).csv", row) for row in range(2, 3393)]
    scattered_rows = [("april.csv", chance.randrange(2000), "may.csv", chance.randrange(2000)) for _ in range(28)]

    assert cause(places(*copied, *scattered_rows)) == (
        "3,391 of 3,419 repeats are in may (1).csv and, in the same order, in may.csv: "
        "this looks like one export that was delivered twice."
    )


def test_payments_made_twice_lie_scattered_and_are_no_copy() -> None:
    chance = random.Random(7)
    rows = [("april.csv", chance.randrange(2000), "may.csv", chance.randrange(2000)) for _ in range(60)]

    assert cause(places(*rows)) is None
    assert cause(places(*[("a.csv", row, "b.csv", row) for row in range(7)])) is None


def swapped(amount: Decimal) -> Decimal:
    digits = f"{amount:.2f}".replace(".", "")
    return Decimal(digits[:-2] + digits[-1] + digits[-2]) / 100


AMOUNTS: dict[str, tuple[Callable[[Decimal], Decimal], str]] = {
    "sign": (lambda amount: -amount, "have the opposite sign: this looks like a sign error in one of the two systems"),
    "digits": (swapped, "swap two neighbouring digits: this looks like amounts typed by hand"),
    "units": (
        lambda amount: amount * 100,
        "are 100 times as large in ledger: this looks like cents mistaken for units",
    ),
    "cents": (lambda amount: amount / 100, "are 100 times as large in bank: this looks like cents mistaken for units"),
    "fee": (
        lambda amount: (amount * Decimal("0.986")).quantize(Decimal("0.01")),
        "are 1.4 % smaller in ledger than in bank: this looks like a fee",
    ),
}


@pytest.mark.parametrize(
    "matched", [True, False], ids=["in matched records", "in records of one key without a partner"]
)
@pytest.mark.parametrize("name", AMOUNTS)
def test_wrong_amounts_name_their_cause(name: str, matched: bool) -> None:
    wrong, words = AMOUNTS[name]
    chance = random.Random(3)
    pairs = [pair for pair in entries(chance, 40, wrong) if pair[0]["amount"] != pair[1]["total"]][:30]
    second = list(entries(chance, 4, lambda _: money(chance)))

    assert (
        disagreement([*pairs, *second], matched=matched) == f"30 of 34 different amounts in `amount / total` {words}."
    )


def test_a_fixed_fee_and_rounding_are_no_share() -> None:
    chance = random.Random(3)
    fixed = entries(chance, 40, lambda amount: amount - Decimal("0.30"))
    rounded = entries(chance, 40, lambda amount: amount - Decimal(chance.randrange(1, 4)) / 100)

    assert disagreement(list(fixed)) is None
    assert disagreement(list(rounded)) is None


def a_day_later(number: int) -> list[tuple[Row, Row]]:
    pairs = entries(random.Random(3), number, lambda amount: amount)
    return [(left, {**right, "posted": right["posted"] + dt.timedelta(1)}) for left, right in pairs]


@pytest.mark.parametrize(
    "matched", [True, False], ids=["in matched records", "in records of one key without a partner"]
)
def test_dates_of_the_next_day_name_a_cut_off(matched: bool) -> None:
    assert disagreement(a_day_later(20), "booked", matched=matched) == (
        "20 of 20 different dates in `booked / posted` are one day later in ledger than in bank: "
        "this looks like a cut-off at the end of the day."
    )


def test_records_without_partner_are_compared_by_their_amount_where_the_key_tells_nothing() -> None:
    late, opposite = (Disagreements(("bank", "ledger"), COLUMNS) for _ in range(2))
    for left, right in a_day_later(20):
        late.add({"currency": "EUR"}, [left], [])
        late.add({"currency": "EUR"}, [], [right])
        opposite.add({"currency": "EUR"}, [left], [])
        opposite.add({"currency": "EUR"}, [], [{**right, "total": -right["total"]}])
    opposite.add({"currency": "EUR"}, [], [{"total": Decimal("0.01"), "posted": MONDAY.date()}])

    assert late.cause() == (
        "20 of 20 records of bank without a partner have a counterpart in ledger with the same amount a day later: "
        "this looks like a cut-off at the end of the day."
    )
    assert opposite.cause() == (
        "20 of 20 records of bank without a partner have a counterpart in ledger with the opposite sign: "
        "this looks like a sign error in one of the two systems."
    )


ALONE = "report: [left_only, right_only]"
TOLERANCE = "tolerance: {date: {left: day, right: day, days: 0}, amount: {left: amount, right: amount, by: 0.01}}"


@pytest.mark.parametrize(
    ("text", "wrong", "words"),
    [
        (f"key: ref\n{TOLERANCE}", {"amount": -1}, "20 of 20 different amounts in `amount` have the opposite sign"),
        (f"key: currency\n{TOLERANCE}\n{ALONE}", {"day": 1}, "a counterpart in ledger with the same amount a day"),
        (f"key: currency\n{TOLERANCE}", {"day": 1}, "20 of 20 different dates in `day` are one day later in ledger"),
        ("key: ref\ncompare: amount", {"amount": -1}, "20 of 20 different amounts in `amount` have the opposite sign"),
        ("key: ref\ncompare: day", {"day": 1}, "20 of 20 different dates in `day` are one day later in ledger"),
    ],
    ids=["no partner by key", "no partner", "near misses", "amounts that differ", "dates that differ"],
)
@pytest.mark.slow
def test_what_a_reconciliation_finds_is_enough_to_name_a_cause(text: str, wrong: dict[str, int], words: str) -> None:
    left = [row(n, f"A-{n}", amount=Decimal(n * n) / 100 + n, day=MONDAY.date()) for n in range(1, 21)]
    later = dt.timedelta(wrong.get("day", 0))
    right = [
        {**entry, "amount": entry["amount"] * wrong.get("amount", 1), "day": entry["day"] + later} for entry in left
    ]
    disagreements = Disagreements(("bank", "ledger"), rule(text).agreeing)

    for group in Compared(left, right).detect(text).groups:
        assert isinstance(group, Discrepancy)
        sides = ([member.values for member in side] for side in (group.left, group.right))
        disagreements.add(group.key, *sides, group.differences)

    assert words in str(disagreements.cause())


def test_equal_prices_prove_no_cut_off() -> None:
    """Subscriptions of one price: each has some partner a day later."""
    disagreements = Disagreements(("bank", "ledger"), COLUMNS)
    for left, right in a_day_later(40):
        disagreements.add({"currency": "EUR"}, [{**left, "amount": Decimal("9.99")}], [])
        disagreements.add({"currency": "EUR"}, [], [{**right, "total": Decimal("9.99")}])

    assert disagreements.cause() is None


def test_few_differences_carry_no_claim() -> None:
    assert disagreement(list(entries(random.Random(3), 7, lambda amount: -amount))) is None


RANDOM = {"repeats": random_repeats, "disagreements": random_disagreements}


@pytest.mark.parametrize(
    "number", [60, pytest.param(1000, marks=pytest.mark.slow)], ids=lambda number: f"{number} data sets"
)
@pytest.mark.parametrize("name", RANDOM)
def test_chance_is_named_a_cause_less_often_than_allowed(name: str, number: int) -> None:
    alarms = [seed for seed in range(number) if RANDOM[name](random.Random(f"{name} {seed}")) is not None]

    assert len(alarms) <= ALLOWED * number


OVERLAPPING = """\
sources: {exports: {type: files}}
datasets:
  bank: {source: exports, path: "bank-*.csv"}
  ledger: {source: exports, path: ledger.csv, id: entry}
rules: {bank-vs-ledger: {kind: reconciliation, left: bank, right: ledger, key: [reference]}}
channels: {team: {type: file, path: told.txt}}
jobs: {nightly: {rules: all, notify: [team]}}
"""


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.slow
def test_exports_that_overlap_are_named_with_what_to_do(scattered: bool, tmp_path: Path) -> None:
    days = {name: [f"R{n},{n}.00" for n in range(lines)] for name, lines in (("01", 16), ("02", 20))}
    if scattered:  # each record twice in one of the files
        days = {"01": [*days["01"][:8]] * 2, "02": [*days["02"][8:16]] * 2}
    for name, lines in days.items():
        (tmp_path / f"bank-{name}.csv").write_text("\n".join(["reference,amount", *lines, ""]))
    entries = (f"e{n},R{n},{n}.00" for n in range(20))
    (tmp_path / "ledger.csv").write_text("\n".join(["entry,reference,amount", *entries, ""]))

    Project(tmp_path).write(OVERLAPPING)("run", "-q")

    told = (tmp_path / "told.txt").read_text()
    assert "16 twice in bank" in told
    cause = (
        "Probable cause: 16 of 16 repeated records of bank are in different files: this looks like exports that "
        "overlap. Let `path` match only files that do not, or only the newest."
    )
    assert (cause in told) is not scattered
