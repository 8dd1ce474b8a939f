"""Holds: no record is ever keeper of one cleaning and surplus of another at once."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.findings.states import PlanState
from reconcile.journal import effects, holds
from reconcile.journal.holds import HoldConflict, HoldRequest
from reconcile.store import holds as stored_holds
from reconcile.store import tables
from tests.reconcile.journal.journal import TARGET, Journal, effects_postgres, held, hold, journal, local, plan

__all__ = ["effects_postgres", "journal", "local"]


def three(journal: Journal) -> list[str]:
    return journal.propose(*(plan(f"F-{n}", f"r{n}") for n in range(3)), policy="required")


def test_keepers_share_a_record_and_surplus_excludes_everybody(journal: Journal) -> None:
    item, two, three_ = three(journal)
    with journal.begin() as tx:
        hold(tx, item, TARGET, ["k"], ["a"])
        hold(tx, two, TARGET, ["k"], ["b"])
        for keeper, surplus in (("z", "k"), ("a", "z"), ("z", "a")):
            with pytest.raises(HoldConflict) as caught:
                hold(tx, three_, TARGET, [keeper], [surplus])
            assert (caught.value.plan, caught.value.other in (item, two)) == (three_, True)
        hold(tx, three_, "another target", ["a"], ["k"])

    assert held(journal, item) == {"a": "surplus", "k": "keeper"}
    assert held(journal, three_) == {"a": "keeper", "k": "surplus"}


def test_taking_twice_is_taking_once_and_what_is_let_go_is_free(journal: Journal) -> None:
    item, two, _ = three(journal)
    with journal.begin() as tx:
        for _ in range(2):
            hold(tx, item, TARGET, ["k"], ["a"])
    with journal.begin() as tx:
        stored_holds.release(tx, [item])
        hold(tx, two, TARGET, ["a"], ["k"])

    assert len(journal.rows(tables.holds)) == 2


def test_of_two_plans_in_one_batch_that_want_each_others_keeper_one_waits(journal: Journal) -> None:
    first, second = journal.propose(plan("F-1", "b", keeper="a"), plan("F-2", "a", keeper="b"))
    with journal.begin() as tx:
        outcome = effects.hold(tx, effects.claim(tx, [first, second], ttl=dt.timedelta(minutes=1)))
        [(waiting, conflict)] = outcome.waiting
        effects.released(tx, [waiting], str(conflict))

    assert (len(outcome.taken), conflict.other) == (1, outcome.taken[0].id)
    assert journal.state(waiting.id) is PlanState.APPROVED
    assert {row["plan"] for row in journal.rows(tables.holds)} == {outcome.taken[0].id}


def test_a_plan_with_a_conflict_holds_nothing_of_what_it_wanted(journal: Journal) -> None:
    item, two, free = three(journal)
    with journal.begin() as tx:
        hold(tx, item, TARGET, [], ["x"])
        answer = holds.take_all(
            tx, [HoldRequest(two, TARGET, ("k",), ("a", "x")), HoldRequest(free, TARGET, ("k",), ("a",))]
        )

    assert [conflict.plan for conflict in answer] == [two]
    assert {row["plan"] for row in journal.rows(tables.holds)} == {item, free}


RECORDS = st.sampled_from("abcde")
WANTED = st.tuples(RECORDS, st.sets(RECORDS, min_size=1, max_size=3)).filter(lambda pair: pair[0] not in pair[1])


@pytest.mark.slow
@given(st.lists(st.lists(WANTED, min_size=1, max_size=4), max_size=6))
def test_no_record_is_ever_keeper_and_surplus_whatever_is_wanted_in_whatever_order(
    batches: list[list[tuple[str, set[str]]]],
) -> None:
    """Against a model: whoever comes first has it, all of it or nothing."""
    standing: holds.Standing = {}
    model: dict[str, tuple[str, set[str]]] = {}
    for number, batch in enumerate(batches):
        for place, (keeper, surplus) in enumerate(batch):
            name = f"{number}-{place}"
            wanted = HoldRequest(name, TARGET, (keeper,), tuple(sorted(surplus)))
            conflict = holds._conflict(wanted, standing)
            fits = all(not (surplus & (theirs | {kept})) and keeper not in theirs for kept, theirs in model.values())
            assert (conflict is None) == fits
            if fits:
                model[name] = (keeper, surplus)
                for record, role in wanted.roles.items():
                    standing.setdefault((TARGET, record), {})[name] = role
    for roles in standing.values():
        assert set(roles.values()) in ({"keeper"}, {"surplus"})
        assert list(roles.values()).count("surplus") <= 1
