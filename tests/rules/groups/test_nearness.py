"""Records near in two columns, and periods that overlap: the same as comparing every record with every other."""

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.groups.group import DuplicateGroup
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.models import Distance, Percent
from rules.pairs.distances import is_near
from rules.pairs.nearness import Limit, chains, neighbours, overlapping, windows
from rules.pairs.record import Record
from rules.values import Type
from tests.support.rules import Rows, check, detect

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
NUMBERS = st.integers(-12, 12) | st.sampled_from([Decimal("0.5"), Decimal("-0.5"), Decimal(100), Decimal(101)])
DISTANCES: st.SearchStrategy[Distance] = st.sampled_from(
    [Decimal(0), Decimal(1), Decimal("2.5"), *(Percent(percent=Decimal(p)) for p in ("0", "1", "10", "50", "99.9"))]
)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=14)
Near = Callable[[Record, Record], bool]


def records(pairs: Sequence[tuple[Any, Any]]) -> list[Record]:
    return [Record((n,), (), {"x": x, "y": y}, (n,)) for n, (x, y) in enumerate(pairs)]


def ids(parts: Sequence[Sequence[Record]]) -> set[frozenset[Any]]:
    return {frozenset(record.id[0] for record in part) for part in parts}


def connected(every: Sequence[Record], near: Near) -> set[frozenset[Any]]:
    """The connected parts, by walking from record to record."""
    free, parts = list(every), []
    while free:
        part = [free.pop()]
        for record in part:
            part += [second for second in free if near(record, second)]
            free = [second for second in free if second not in part]
        parts.append(part)
    return ids(parts)


def both(first: Limit, second: Limit) -> Near:
    return lambda a, b: first.holds(a, b) and second.holds(a, b)


@given(NUMBERS, NUMBERS, NUMBERS, DISTANCES)
def test_what_lies_between_two_near_numbers_is_near_both(a: Any, b: Any, c: Any, by: Distance) -> None:
    low, middle, high = sorted((a, b, c))

    if is_near(low, high, by):
        assert is_near(low, middle, by)
        assert is_near(middle, high, by)
    assert is_near(low, high, by) == is_near(high, low, by)


@given(POINTS, DISTANCES, DISTANCES, st.randoms())
def test_a_chain_is_what_near_pairs_connect(pairs: Any, by: Distance, also: Distance, random: Any) -> None:
    every, limits = records(pairs), (Limit("x", by), Limit("y", also))
    shuffled = random.sample(every, len(every))

    assert ids(chains(shuffled, *limits)) == connected(every, both(*limits))


@given(POINTS, DISTANCES, DISTANCES, st.randoms())
def test_a_window_is_what_is_near_the_first_free_record(pairs: Any, by: Distance, also: Distance, random: Any) -> None:
    every, limits = records(pairs), (Limit("x", by), Limit("y", also))
    shuffled, near = random.sample(every, len(every)), both(*limits)
    free, expected = sorted(every, key=lambda record: (record.values["x"], record.id)), []
    while free:
        expected.append([record for record in free if near(free[0], record)])
        free = [record for record in free if record not in expected[-1]]

    spans = windows(shuffled, *limits)

    assert [[record.id for record in part] for part in spans] == [[r.id for r in part] for part in expected]


@given(POINTS, DISTANCES, DISTANCES)
def test_neighbours_are_the_near_records_of_other_windows(pairs: Any, by: Distance, also: Distance) -> None:
    every, limits = records(pairs), (Limit("x", by), Limit("y", also))
    parts, near = windows(every, *limits), both(*limits)

    beside = neighbours(parts, *limits)

    for part in parts:
        for record in part:
            expected = {second.id for second in every if second not in part and near(record, second)}
            assert {second.id for second in beside.get(id(record), ())} == expected


@given(st.lists(st.tuples(NUMBERS, st.none() | NUMBERS), max_size=14), st.booleans(), st.randoms())
def test_periods_are_together_if_they_share_a_moment(pairs: Any, includes_ends: bool, random: Any) -> None:
    periods = [(x, y) for x, y in pairs if y is None or x < y or (x == y and includes_ends)]
    every = records(periods)

    def lasts(first: Record, second: Record) -> bool:
        end, begin = first.values["y"], second.values["x"]
        return end is None or bool(begin <= end if includes_ends else begin < end)  # type: ignore[operator]

    expected = connected(every, lambda a, b: lasts(a, b) and lasts(b, a))

    assert ids(overlapping(random.sample(every, len(every)), "x", "y", includes_ends=includes_ends)) == expected


# Rules


CHARGES = {"id": Type.INTEGER, "card": Type.TEXT, "at": Type.INSTANT, "until": Type.INSTANT, "amount": Type.DECIMAL}
STAYS = {"id": Type.INTEGER, "room": Type.TEXT, "arrives": Type.DATE, "leaves": Type.DATE}


def groups(types: dict[str, Type], rows: Sequence[dict[str, Any]], **settings: Any) -> list[DuplicateGroup]:
    data = Rows(types, [{"id": n, **row} for n, row in enumerate(rows)])
    rule = DuplicatesRule(name="twins", dataset="things", **settings)
    return list(detect(rule, data.relation(), data.streamed(), NOON).groups)  # type: ignore[arg-type]


def charges(*each: tuple[int, str]) -> list[dict[str, Any]]:
    return [{"card": "A", "at": NOON + dt.timedelta(minutes=m), "amount": Decimal(amount)} for m, amount in each]


def test_another_charge_in_between_does_not_hide_a_double_one() -> None:
    rows = charges((0, "20.00"), (1, "50.00"), (2, "20.10"))

    [group] = groups(CHARGES, rows, key=["card"], gap={"at": "10m", "amount": "1%"})

    assert [member.id for member in group.members] == [(0,), (2,)]
    assert group.members[0].values.keys() == {"card", "at", "amount"}


@pytest.mark.slow
def test_amounts_drift_along_a_chain_but_not_in_a_window() -> None:
    rows = charges((0, "100"), (1, "101"), (2, "102"))
    near = {"at": "10m", "amount": "1%"}

    [chain] = groups(CHARGES, rows, key=["card"], gap=near)
    [window] = groups(CHARGES, rows, key=["card"], window=near)

    assert len(chain.members) == 3
    assert [member.id for member in window.members] == [(0,), (1,)]
    assert [(nearby.id, nearby.at) for nearby in window.nearby] == [((2,), NOON + dt.timedelta(minutes=2))]


def test_bookings_that_follow_one_another_do_not_overlap() -> None:
    def booking(begin: int, end: int | None) -> dict[str, Any]:
        until = None if end is None else NOON + dt.timedelta(hours=end)
        return {"card": "room 1", "at": NOON + dt.timedelta(hours=begin), "until": until}

    rows = [booking(0, 2), booking(2, 4), booking(3, None), booking(9, 10), booking(0, 0)]

    result = groups(CHARGES, rows, key=["card"], overlap={"from": "at", "to": "until"})

    assert [[member.id[0] for member in group.members] for group in result] == [[1, 2, 3]]


def test_a_last_day_belongs_to_a_stay_unless_the_rule_says_that_it_ends_before() -> None:
    days = [(1, 5), (5, 9), (9, 10)]
    rows = [{"room": "1", "arrives": dt.date(2026, 3, a), "leaves": dt.date(2026, 3, b)} for a, b in days]
    period = {"from": "arrives", "to": "leaves"}

    assert [len(group.members) for group in groups(STAYS, rows, key=["room"], overlap=period)] == [3]
    assert groups(STAYS, rows, key=["room"], overlap=period | {"ends": "excluded"}) == []


def test_a_record_without_begin_and_an_empty_period_are_counted() -> None:
    day = dt.date(2026, 3, 1)
    rows = [{"arrives": None, "leaves": day}, {"arrives": day, "leaves": day - dt.timedelta(days=1)}]
    data = Rows(STAYS, [{"id": n, "room": "1", **row} for n, row in enumerate(rows)])
    rule = DuplicatesRule(name="x", dataset="things", key=["room"], overlap={"from": "arrives", "to": "leaves"})

    detection = detect(rule, data.relation(), data.streamed(), NOON)

    assert [(s.column, s.reason, s.records) for s in detection.skipped] == [
        ("arrives", "null", 1),
        ("leaves", "empty period", 1),
    ]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"gap": {"at": "1%"}}, "`gap` is a percentage, but `at` is of type instant; write a duration like 15m."),
        ({"window": {"at": "1h", "card": 3}}, "`window` is a number, but `card` is of type text; declare `card`"),
        (
            {"gap": {"card.at": "1h"}},
            "`gap` names `card.at`, but dataset `things` has no such column; declare it under",
        ),
        ({"gap": {"at": "1h", "amuont": "1%"}}, "`gap` names `amuont`, but dataset `things` has no such column"),
        ({"overlap": {"from": "at", "to": "amount"}}, "`overlap` needs two columns of one type, but `at` is of type"),
        ({"overlap": {"from": "card", "to": "at"}}, "`overlap` compares times or exact numbers, but `card` is of type"),
        ({"overlap": {"from": "at", "to": "end"}}, "`overlap` names `end`, but dataset `things` has no such column"),
    ],
)
def test_columns_that_do_not_fit_are_told(settings: dict[str, Any], sentence: str) -> None:
    rule = DuplicatesRule(name="twins", dataset="things", key=["id"], **settings)

    assert any(mistake.startswith(sentence) for mistake in check(rule, Rows(CHARGES, []).relation()))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"gap": {"amount": "1%"}}, "records whose amount is at most 1 % of the larger after the previous one"),
        (
            {"gap": {"at": "10m", "amount": "1%"}},
            "records connected by pairs at most 10 minutes in at and 1 % of the larger in amount apart",
        ),
        (
            {"window": {"at": "10m", "amount": 5}},
            "those at most 10 minutes in at and 5 in amount from the first",
        ),
        (
            {"overlap": {"from": "at", "to": "until"}},
            "records whose periods from at to until overlap, also through others; without until, a period is open",
        ),
    ],
)
def test_a_rule_says_in_words_what_it_puts_together(settings: dict[str, Any], sentence: str) -> None:
    rule = DuplicatesRule(name="twins", dataset="things", key=["card"], **settings)

    described = FittedDuplicates.of(rule, Rows(CHARGES, []).relation()).describe()

    assert f"of these, {sentence}" in described["groups"]
