"""Approvals: a yes holds for exactly the plan that was shown, by as many persons as have to say it."""

import datetime as dt

import pytest

from reconcile.journal import approvals, effects
from reconcile.journal.approvals import ApprovalExpired, PlanChanged, PlanOver, SamePerson
from reconcile.store import approvals as stored_approvals
from reconcile.store import plans
from tests.reconcile.journal.journal import NOON, Journal, effects_postgres, journal, local, plan

__all__ = ["effects_postgres", "journal", "local"]

WEEK = NOON + dt.timedelta(days=7)


def say(journal: Journal, name: str, by: str, decision: approvals.Decision = "approved", plan_hash: str = "") -> bool:
    with journal.begin() as tx:
        stored = plans.get(tx, name)
        return approvals.give(
            tx, stored, by=by, plan_hash=plan_hash or stored.plan_hash, decision=decision, note="seen"
        )


def test_one_yes_is_enough_where_one_is_required(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"), policy="required")
    with journal.store.read() as tx:
        assert not approvals.satisfied(tx, plans.get(tx, name))

    assert say(journal, name, "eve")

    with journal.store.read() as tx:
        [item] = stored_approvals.of(tx, name)
        assert (item.by, item.decision, item.at, item.note) == ("eve", "approved", NOON, "seen")
        assert stored_approvals.given(tx, [name, "P-none"]) == {name: {"eve"}}


def test_two_persons_are_two_and_neither_of_them_proposed_it(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"), policy="two_person", by="eve")

    with pytest.raises(SamePerson):
        say(journal, name, "eve")
    assert [say(journal, name, by) for by in ("adam", "adam", "noah")] == [False, False, True]


def test_a_yes_to_another_plan_counts_for_nothing(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"), policy="required")
    shown = journal.get(name).plan_hash
    [newer] = journal.propose(plan("F-1", "a", "b"), policy="required")

    with pytest.raises(PlanChanged):
        say(journal, newer, "eve", plan_hash=shown)
    with pytest.raises(PlanOver, match="skipped"):
        say(journal, name, "eve")
    with journal.store.read() as tx:
        assert stored_approvals.of(tx, newer) == stored_approvals.of(tx, name) == []


def test_it_is_too_late_once_it_expired_was_carried_out_or_was_decided(journal: Journal) -> None:
    late, done = journal.propose(plan("F-1", "a"), plan("F-2", "b"), policy="required", expires=WEEK)
    say(journal, done, "eve")
    with journal.begin() as tx:
        effects.approved(tx, [done], by="eve")
    journal.do(done)
    journal.tick(days=8)

    with pytest.raises(ApprovalExpired, match="28 Nov 2026"):
        say(journal, late, "eve")
    with pytest.raises(PlanOver, match="succeeded"):
        say(journal, done, "eve")


def test_a_no_outweighs_and_is_remembered_by_the_plan(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"), policy="required")
    assert say(journal, name, "eve")
    assert not say(journal, name, "noah", "rejected")

    with journal.store.read() as tx:
        stored = plans.get(tx, name)
        assert not approvals.satisfied(tx, stored)
        assert stored_approvals.rejected(tx, [stored.finding, "F-OTHER0"]) == {stored.finding: [stored]}
    assert say(journal, name, "noah")


def test_the_same_click_twice_is_one_approval(journal: Journal) -> None:
    [name] = journal.propose(plan("F-1", "a"), policy="two_person")

    assert [say(journal, name, "eve") for _ in range(5)] == [False] * 5
    with journal.store.read() as tx:
        assert len(stored_approvals.of(tx, name)) == 1


def test_what_asks_nobody_needs_no_approval(local: Journal) -> None:
    [name] = local.propose(plan("F-1", "a"), policy="none")
    with local.store.read() as tx:
        assert approvals.satisfied(tx, plans.get(tx, name))


def test_who_approved_is_counted_for_plans_that_wait_for_several_people(journal: Journal) -> None:
    two, alone, over = (
        journal.propose(plan(f"F-{number}", record), policy=policy)[0]
        for number, record, policy in ((1, "a", "two_person"), (2, "b", "required"), (3, "c", "two_person"))
    )
    for name, by in ((two, "eve"), (over, "eve"), (over, "noah")):
        say(journal, name, by)
    with journal.begin() as tx:
        effects.approved(tx, [over], by="noah")

    with journal.store.read() as tx:
        given = approvals.of_waiting(tx, ["F-1", "F-2", "F-3", "F-NONE"])

    assert {finding: of_plan.by for finding, of_plan in given.items()} == {"F-1": ("eve",)}
    assert given["F-1"].sentence == "1 of 2 approvals: eve; needs another person"
    assert (given["F-1"].has(" EVE"), given["F-1"].has("noah")) == (True, False)
    assert journal.get(alone).policy == "required"
