"""Pairs across two sides, amounts that add up, and the balance: compared with trying everything."""

import random
from collections.abc import Mapping
from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from rules.kinds.reconciliation.balance import BalanceBroken, Sides, balance
from rules.kinds.reconciliation.subsets import Outcome, Subset, subset
from rules.pairs.assignment import network, optimum
from rules.pairs.assignment.assign import Assignment, Candidates, assign
from rules.pairs.assignment.network import Amounts
from rules.values import EXACT, add
from tests.rules.kinds.reconciliation.assignment_oracle import (
    Distance,
    Expected,
    Pair,
    best,
    expected,
    open_in_some_only,
)

DAY = 86_400_000_000
"""Microseconds."""

FEW = 5
numbers = st.integers(0, FEW - 1)
pairs = st.tuples(numbers, numbers)


@st.composite
def by_field(draw: st.DrawFn) -> dict[Pair, Distance]:
    """Distances of records with few different dates and amounts, within tolerances: many are equal."""
    records = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=FEW)
    lefts, rights = draw(records), draw(records)
    scale = draw(st.sampled_from([1, 10**9, 2**55 + 1, 10**21]))
    days, money = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    return {
        (left, right): (abs(day - other_day), abs(amount - other_amount) * scale)
        for left, (day, amount) in enumerate(lefts)
        for right, (other_day, other_amount) in enumerate(rights)
        if abs(day - other_day) <= days and abs(amount - other_amount) <= money
    }


small = st.integers(0, 2)
large = st.integers(0, 3).map(lambda extra: 2**53 + extra)
larger = st.integers(0, 3).map(lambda extra: 2**70 + extra)
distances = st.one_of(
    by_field(),
    st.dictionaries(pairs, st.tuples(small, small)),
    st.dictionaries(pairs, st.tuples(st.sampled_from([0, 1, DAY, 3 * DAY, 3 * DAY + 1]), large)),
    st.dictionaries(pairs, st.tuples(small, st.one_of(small, larger))),
    st.dictionaries(pairs, st.tuples(*[st.integers(0, 1)] * 2, small, st.one_of(small, larger), small)),
)
of_two_costs = distances.filter(lambda given: all(len(costs) == 2 for costs in given.values()))


def candidates(distances: Mapping[Pair, Distance]) -> Candidates:
    """The candidates in the order of the mapping; amounts as Python ints only where int64 is too small."""
    left, right = (np.array([pair[side] for pair in distances], dtype=np.int64) for side in (0, 1))
    costs = zip(*distances.values(), strict=True) if distances else ((), ())
    return Candidates(left, right, tuple(map(amounts_of, costs)))


def amounts_of(cost: tuple[int, ...]) -> Amounts:
    return np.array(cost, dtype=object if any(each >= 2**63 for each in cost) else np.int64)


def plain(answer: Assignment) -> Expected:
    groups = ((tuple(group.lefts.tolist()), tuple(group.rights.tolist())) for group in answer.ambiguous)
    pairs = zip(answer.left.tolist(), answer.right.tolist(), strict=True)
    return Expected(tuple(pairs), tuple(groups), answer.interchangeable)


@given(distances)
@example({})
@example({(0, 0): (0, 0), (1, 0): (0, 0)})
@example({(0, 0): (1, 0), (1, 0): (1, 0), (0, 1): (0, 0), (1, 1): (0, 0), (2, 0): (1, 0)})
def test_the_assignment_is_the_best_of_all_that_are_possible(distances: dict[Pair, Distance]) -> None:
    answer = plain(assign(candidates(distances), FEW, FEW))

    assert answer == expected(distances)


@given(distances)
@pytest.mark.slow
def test_a_group_is_undecided_exactly_if_equally_good_assignments_leave_different_records_open(
    distances: dict[Pair, Distance],
) -> None:
    answer = assign(candidates(distances), FEW, FEW)

    longer = {
        (side, record)
        for group in answer.ambiguous
        for side, records in (("left", group.lefts), ("right", group.rights))
        if len(records) == max(len(group.lefts), len(group.rights))
        for record in records.tolist()
    }
    assert open_in_some_only(best(distances)) <= longer
    assert bool(open_in_some_only(best(distances))) == bool(answer.ambiguous)


@given(distances, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_changes_nothing(distances: dict[Pair, Distance], chance: random.Random) -> None:
    shuffled = list(distances.items())
    chance.shuffle(shuffled)

    assert plain(assign(candidates(dict(shuffled)), FEW, FEW)) == plain(assign(candidates(distances), FEW, FEW))


@given(of_two_costs, of_two_costs)
def test_records_that_have_nothing_in_common_do_not_influence_each_other(
    some: dict[Pair, Distance], more: dict[Pair, Distance]
) -> None:
    beside = {(left + FEW, right + FEW): distance for (left, right), distance in more.items()}
    alone, apart = (plain(assign(candidates(part), 2 * FEW, 2 * FEW)) for part in (some, beside))

    together = plain(assign(candidates(some | beside), 2 * FEW, 2 * FEW))

    assert together == Expected(
        alone.pairs + apart.pairs,
        alone.ambiguous + apart.ambiguous,
        alone.interchangeable + apart.interchangeable,
    )


@given(distances)
def test_a_pair_given_twice_counts_with_its_smaller_distance(distances: dict[Pair, Distance]) -> None:
    given_once = candidates(distances)
    farther = candidates({pair: (*costs, last + 1) for pair, (*costs, last) in distances.items()})
    left, right = (np.concatenate([getattr(farther, side), getattr(given_once, side)]) for side in ("left", "right"))
    costs = tuple(map(np.concatenate, zip(farther.costs, given_once.costs, strict=True)))

    assert plain(assign(Candidates(left, right, costs), FEW, FEW)) == plain(assign(given_once, FEW, FEW))


def test_one_payment_for_two_equal_invoices_is_left_undecided() -> None:
    answer = assign(candidates({(0, 0): (1, 0), (1, 0): (1, 0), (2, 1): (0, 0)}), 3, 2)

    assert plain(answer) == Expected(pairs=((2, 1),), ambiguous=(((0, 1), (0,)),), interchangeable=0)


def test_equal_records_in_equal_numbers_are_paired_in_order_and_counted() -> None:
    answer = assign(candidates({(left, right): (0, 0) for left in range(3) for right in range(3)}), 3, 3)

    assert plain(answer) == Expected(pairs=((0, 0), (1, 1), (2, 2)), ambiguous=(), interchangeable=3)


def test_one_more_pair_is_worth_any_number_of_days() -> None:
    answer = assign(candidates({(0, 0): (0, 0), (0, 1): (300, 9), (1, 0): (300, 9)}), 2, 2)

    assert plain(answer).pairs == ((0, 1), (1, 0))


def test_one_day_is_worth_any_amount_of_money() -> None:
    answer = assign(candidates({(0, 0): (1, 0), (0, 1): (0, 10**30)}), 1, 2)

    assert plain(answer).pairs == ((0, 1),)


@pytest.mark.parametrize("rights", [80, 100])
def test_a_large_component_is_solved_as_a_dense_solver_does(rights: int) -> None:
    chance = np.random.default_rng(rights)
    left, right = (side.ravel() for side in np.indices((90, rights)))
    days, money = chance.integers(0, 4, len(left)), chance.integers(0, 10**6, len(left))

    answer = assign(Candidates(left, right, (days, money)), 90, rights)

    lefts, partners = linear_sum_assignment((days * 10**8 + money).reshape(90, rights).astype(float))
    assert plain(answer).pairs == tuple(zip(lefts.tolist(), partners.tolist(), strict=True))


def entangled(seed: int) -> tuple[Candidates, int, int]:
    """Records that may each belong to a few of the next: mostly one component."""
    chance = np.random.default_rng(seed)
    lefts, rights = int(chance.integers(60, 90)), int(chance.integers(60, 90))
    left = np.repeat(np.arange(lefts), 4)
    right = (left + chance.integers(0, 8, len(left))) % rights
    costs = chance.integers(0, 4, len(left)), chance.integers(0, 9, len(left))
    return Candidates(left, right, costs), lefts, rights


@pytest.mark.parametrize("seed", range(10))
def test_a_sparse_component_is_solved_the_same_whether_a_solver_proposes_or_not(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = entangled(seed)
    expected = assign(*problem)

    monkeypatch.setattr(network, "_SLOW", 0)
    monkeypatch.setattr(network, "_LARGE", 10**6)
    sparse = [each for each in network.networks(problem[0]) if each.solver == "sparse"]

    assert sparse
    assert plain(assign(*problem)) == plain(expected)


@pytest.mark.parametrize("solver", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(6))
def test_costs_that_are_too_large_together_are_proposed_for_in_turn(
    seed: int, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, lefts, rights = entangled(seed)
    chance = np.random.default_rng(seed)
    left, right = np.unique(np.stack([given.left, given.right]), axis=1)
    costs = tuple(chance.integers(0, most, len(left)) for most in (2, 2, 2, 4, 100_000, 3, 2))
    problem = Candidates(left, right, costs), lefts, rights
    expected = assign(*problem)

    monkeypatch.setattr(network, "_SLOW", 0)
    monkeypatch.setattr(network, "_LARGE", 10**6 if solver == "sparse" else 10)
    large = [each for each in network.networks(problem[0]) if each.solver == solver]
    proofs = [optimum.potentials(each, optimum.proposed(each)) for each in large]

    assert proofs, "a proposal that is not the best is refuted"
    assert any(each.far > 2**53 for each in large)
    assert plain(assign(*problem)) == plain(expected)


@pytest.mark.parametrize("hopeless", [0, 10**9])
def test_a_component_that_takes_too_many_steps_is_refused(hopeless: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = entangled(3)
    monkeypatch.setattr(network, "_SLOW", 0)
    monkeypatch.setattr(network, "_LARGE", 10**6)
    monkeypatch.setattr(network, "_HOPELESS", hopeless)
    monkeypatch.setattr(optimum, "MOST_STEPS", 500)

    with pytest.raises(optimum.TooMuchWork):
        assign(*problem)


@pytest.mark.parametrize("base", [2**54, 2**90])
def test_distances_too_large_for_doubles_are_told_apart(base: int) -> None:
    """The sum of the bases is the same for every assignment; the small rest, which doubles lose, decides."""
    chance = random.Random(base)
    partner = chance.sample(range(66), 66)
    of_left, of_right = ([base + chance.randrange(base) for _ in range(66)] for _ in range(2))
    rest = {(left, right): chance.randrange(1, 3) for left in range(66) for right in range(66)}
    rest.update(dict.fromkeys(enumerate(partner), 0))

    distances = {pair: (0, of_left[pair[0]] + of_right[pair[1]] + more) for pair, more in rest.items()}

    assert plain(assign(candidates(distances), 66, 66)).pairs == tuple(enumerate(partner))


amounts = st.lists(st.one_of(st.integers(-3, 3), st.integers(0, 40), st.sampled_from([2**70, 2**70 + 1])), max_size=8)


@given(st.one_of(st.integers(-6, 60), st.just(2**71 + 1)), amounts, st.integers(0, 2))
def test_a_subset_is_found_exactly_if_it_is_the_only_one(target: int, amounts: list[int], tolerance: int) -> None:
    adding_up = [
        positions
        for size in range(1, len(amounts) + 1)
        for positions in combinations(range(len(amounts)), size)
        if abs(sum(amounts[position] for position in positions) - target) <= tolerance
    ]

    answer = subset(target, amounts, tolerance)

    outcomes = {0: Subset(Outcome.NONE), 1: Subset(Outcome.FOUND, adding_up[0] if adding_up else ())}
    assert answer == outcomes.get(len(adding_up), Subset(Outcome.AMBIGUOUS))


def test_more_amounts_than_allowed_are_not_searched() -> None:
    assert subset(5, [5] + [100] * 11, 0) == Subset(Outcome.FOUND, (0,))
    assert subset(5, [5] + [100] * 12, 0) == Subset(Outcome.TOO_MANY)
    assert subset(5, [5] + [100] * 12, 0, most=13) == Subset(Outcome.FOUND, (0,))


def test_a_search_stops_at_the_second_subset() -> None:
    """Each of the 2 ** 36 subsets adds up to nothing; trying them would take hours."""
    assert subset(0, [0] * 36, 0, most=36) == Subset(Outcome.AMBIGUOUS)


currencies = st.sampled_from(["CHF", "EUR", "JPY"])
cents = st.decimals(min_value=-(10**9), max_value=10**9, places=2) | st.just(Decimal("1" * 40 + ".000000000000000001"))
records = st.lists(st.tuples(st.sampled_from(["left", "right"]), currencies, cents, st.integers(0, 2)), max_size=12)
"""Side, currency, amount, and the part: matched, found or not yet due."""


def sides(records: list[tuple[str, str, Decimal, int]], *parts: int) -> Sides:
    sums: dict[str, dict[str, Decimal]] = {"left": {}, "right": {}}
    for side, currency, amount, part in records:
        if part in parts:
            add(sums[side], {currency: amount})
    return Sides(**sums)


def parts(records: list[tuple[str, str, Decimal, int]]) -> tuple[Sides, dict[str, Sides], Sides]:
    matched, mismatches, not_yet_due = (sides(records, part) for part in range(3))
    return matched, {"mismatch": mismatches}, not_yet_due


@given(records, st.booleans())
def test_a_balance_has_the_sums_of_both_sides_and_what_explains_their_difference(
    records: list[tuple[str, str, Decimal, int]], is_reported: bool
) -> None:
    lines = balance("r", sides(records, 0, 1, 2), *parts(records), ["mismatch"] if is_reported else ["left_only"])

    assert [line.currency for line in lines] == sorted({currency for _, currency, _, _ in records})
    for line in lines:
        explained = EXACT.add(EXACT.add(line.matched, line.explained), EXACT.add(line.not_yet_due, line.not_reported))
        assert EXACT.subtract(line.left, line.right) == explained
        assert line.explained == line.by_form.get("mismatch", 0)
        assert (line.not_reported if is_reported else line.explained) == 0


@given(records.filter(bool), st.randoms(use_true_random=False))
def test_a_record_counted_wrongly_breaks_the_balance(
    records: list[tuple[str, str, Decimal, int]], chance: random.Random
) -> None:
    side, currency, _, part = chance.choice(records)
    smallest = Decimal("0.000000000000000001")
    wrong = [*records, chance.choice([(side, currency, smallest, part), (side, "USD", smallest, part)])]

    with pytest.raises(BalanceBroken):
        balance("r", sides(records, 0, 1, 2), *parts(wrong), ["mismatch"])


def test_errors_of_both_sides_that_cancel_each_other_break_the_balance() -> None:
    total = Sides({"EUR": Decimal("10.00")}, {"EUR": Decimal("10.00")})
    matched = Sides({"EUR": Decimal("9.99")}, {"EUR": Decimal("9.99")})
    none = Sides({}, {})

    with pytest.raises(BalanceBroken) as caught:
        balance("bank-ledger", total, matched, {"mismatch": none}, none, ["mismatch"])

    assert str(caught.value) == (
        "Rule 'bank-ledger' does not balance: the left records add up to 10.00 EUR, but its matches, findings and "
        "records not yet due add up to 9.99 EUR. Nothing was reported. The data may have changed while "
        "it was read. If it fails again, report this as a defect."
    )
