"""Limits: counted once, before it is done, over a run and over any 24 hours, and never exceeded by anybody."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from connectors.target import Change, RowName
from reconcile.audit import log
from reconcile.findings.plan import Plan
from reconcile.journal import effects, limits
from reconcile.journal.limits import Both, CleaningStopped, OverLimit, Use
from reconcile.store import tables
from rules.cleaning import Caps
from tests.reconcile.journal.journal import NOON, RUN, TARGET, Journal, effects_postgres, journal, local, plan
from tests.support.chance import examples

__all__ = ["effects_postgres", "journal", "local"]

TEN = Both(Caps(records=10))
Reserve = Callable[..., None]


@pytest.fixture
def names(journal: Journal) -> list[str]:
    return journal.propose(*(plan(f"F-{n:02}", f"r{n}") for n in range(12)), policy="required")


def reserve(
    journal: Journal, name: str, records: int = 1, *, caps: Both | None = TEN, run: str | None = RUN, **money: str
) -> None:
    with journal.begin() as tx:
        amounts = {unit: Decimal(amount) for unit, amount in money.items()}
        limits.reserve(tx, [Use(name, records, amounts)], rule="twins", target=TARGET, run=run, caps=caps)


def test_what_does_not_fit_is_refused_whole_and_counts_nothing(journal: Journal, names: list[str]) -> None:
    reserve(journal, names[0], 8)
    with pytest.raises(
        OverLimit, match=r"11 rows would be changed by rule `twins` in 24 hours; the limit is 10 \(`records`\)"
    ):
        reserve(journal, names[1], 3)
    reserve(journal, names[2], 2)
    with pytest.raises(OverLimit), journal.begin() as tx:
        limits.reserve(tx, [Use(names[3], 0), Use(names[4], 1)], rule="twins", target=TARGET, run=RUN, caps=TEN)

    assert sorted(row["records"] for row in journal.rows(tables.limit_uses)) == [2, 8]


def test_one_plan_counts_once_however_often_it_is_tried(journal: Journal, names: list[str]) -> None:
    for _ in range(3):
        reserve(journal, names[0], 10)

    assert len(journal.rows(tables.limit_uses)) == 1


def test_a_lowered_limit_holds_for_a_plan_that_was_counted_under_a_higher_one(
    journal: Journal, names: list[str]
) -> None:
    """A plan that waits for approval takes no room from the others."""
    lowered = Both(Caps(records=9))
    reserve(journal, names[0], 8)
    reserve(journal, names[1], 2)

    reserve(journal, names[0], 8, caps=lowered)
    with journal.begin() as tx:
        effects.approved(tx, names[:1], by="ann", in_one_entry=False)
    with pytest.raises(
        OverLimit, match=r"10 rows would be changed by rule `twins` in 24 hours; the limit is 9 \(`records`\)"
    ):
        reserve(journal, names[1], 2, caps=lowered)
    with pytest.raises(OverLimit, match="the limit is 7"):
        reserve(journal, names[0], 8, caps=Both(None, Caps(records=7)))


def test_a_plan_that_a_person_let_exceed_limits_takes_no_room_from_a_lowered_limit(
    journal: Journal, names: list[str]
) -> None:
    reserve(journal, names[0], 8)
    reserve(journal, names[1], 2)
    with journal.begin() as tx:
        effects.beyond_limits(tx, names[0], 8, by="ann")
        effects.approved(tx, names[:1], by="ann", in_one_entry=False)

    reserve(journal, names[1], 2, caps=Both(Caps(records=9)))


def test_a_money_limit_that_is_new_holds_for_a_plan_that_was_counted_before(journal: Journal, names: list[str]) -> None:
    reserve(journal, names[0], 1, EUR="20")

    with pytest.raises(OverLimit, match="the limit is 19 EUR"):
        reserve(journal, names[0], 1, EUR="20", caps=Both(Caps(money={"EUR": Decimal(19)})))
    reserve(journal, names[0], 1, EUR="20", caps=Both(Caps(money={"EUR": Decimal(20)})))


def test_the_last_24_hours_count_not_the_day(journal: Journal, names: list[str]) -> None:
    reserve(journal, names[0], 6, run="run-1")
    journal.tick(hours=12)
    reserve(journal, names[1], 4, run="run-2")
    journal.tick(hours=11, minutes=59)
    with pytest.raises(OverLimit):
        reserve(journal, names[2], 1, run="run-3")
    journal.tick(minutes=1)
    reserve(journal, names[2], 6, run="run-3")
    with pytest.raises(OverLimit):
        reserve(journal, names[3], 1, run="run-4")
    journal.tick(days=3)
    reserve(journal, names[3], 10, run="run-5")


def test_a_run_has_its_own_limit_however_long_it_lasts(journal: Journal, names: list[str]) -> None:
    reserve(journal, names[0], 6, run="long")
    journal.tick(hours=30)
    reserve(journal, names[1], 4, run="other")
    with pytest.raises(OverLimit, match="in a run"):
        reserve(journal, names[2], 5, run="long")
    reserve(journal, names[2], 4, run="long")


def test_a_target_has_limits_over_all_rules(journal: Journal, names: list[str]) -> None:
    shop = Both(None, Caps(records=10))
    with journal.begin() as tx:
        limits.reserve(tx, [Use(names[0], 6)], rule="one", target=TARGET, run=RUN, caps=shop)
    with journal.begin() as tx, pytest.raises(OverLimit, match="by all rules in this target"):
        limits.reserve(tx, [Use(names[1], 6)], rule="other", target=TARGET, run=RUN, caps=shop)
    with journal.begin() as tx:
        limits.reserve(tx, [Use(names[1], 6)], rule="other", target="elsewhere", run=RUN, caps=shop)


def test_money_is_limited_by_currency_and_one_that_is_not_named_is_over(journal: Journal, names: list[str]) -> None:
    caps = Both(Caps(money={"EUR": Decimal(100)}))
    reserve(journal, names[0], caps=caps, EUR="99.99")
    with pytest.raises(OverLimit, match=r"100\.01 EUR .* limit is 100 EUR") as caught:
        reserve(journal, names[1], caps=caps, EUR="0.02")
    assert caught.value.cap == "EUR"
    with pytest.raises(OverLimit, match="no limit is set in USD"):
        reserve(journal, names[1], caps=caps, USD="0.01")
    reserve(journal, names[1], caps=caps, EUR="0.01")


def test_the_smaller_of_rows_and_share_holds_and_is_named(journal: Journal, names: list[str]) -> None:
    with pytest.raises(OverLimit, match=r"limit is 3 \(`share`\)"):
        reserve(journal, names[0], 4, caps=Both(Caps(records=10, share=3)))


def test_what_people_approve_is_counted_and_not_refused(journal: Journal, names: list[str]) -> None:
    reserve(journal, names[0], 500, caps=None)
    with pytest.raises(OverLimit):
        reserve(journal, names[1], 1)


def test_what_was_proven_not_done_is_given_back_and_what_was_abandoned_is_not(journal: Journal) -> None:
    skipped, failed, lost = journal.propose(plan("F-1", "a"), plan("F-2", "b"), plan("F-3", "c"))
    caps = Both(Caps(records=10, money={"EUR": Decimal(30)}))
    for name in (skipped, failed, lost):
        reserve(journal, name, 3, caps=caps, EUR="10")
    sent = {item.id: item for item in journal.send(skipped, failed, lost).sent}
    with journal.begin() as tx:
        effects.skipped(tx, [(sent[skipped], "It changed.")])
        effects.failed(tx, [(sent[failed], "It cannot be.")])
        doubtful = effects.outcome_unknown(tx, [sent[lost]], "It broke.")
        effects.quarantined(tx, [(doubtful[0], "Nobody knows.")])
        effects.judged(tx, lost, "abandon", by="eve", reason="Leave it.")

    [more] = journal.propose(plan("F-4", "d"))
    with pytest.raises(OverLimit):
        reserve(journal, more, 8, caps=caps)
    reserve(journal, more, 7, caps=caps, EUR="20")


def test_a_stop_holds_for_everybody_until_a_person_allows_it(journal: Journal, names: list[str]) -> None:
    with journal.begin() as tx:
        limits.stop(tx, limits.of_rule("twins"), "the column email is empty now")
    for caps in (TEN, None):
        with pytest.raises(CleaningStopped, match="rule `twins` is stopped: the column email is empty now"):
            reserve(journal, names[0], caps=caps)
    with journal.begin() as tx:
        assert "email" in str(limits.stopped(tx, rule="twins", target=TARGET))
        assert limits.stopped(tx, rule="other", target=TARGET) is None
        assert limits.allow(tx, limits.of_rule("twins"), by="eve")
        assert not limits.allow(tx, limits.of_rule("twins"), by="eve")
    reserve(journal, names[0])
    with journal.store.read() as tx:
        assert [entry.actor for entry in log.entries(tx, event="cleaning")] == ["reconcile", "eve"]


def test_surplus_moved_and_captured_rows_count_and_the_keepers_fields_do_not() -> None:
    first = plan("F-1", "a", money={"EUR": "1.50"})
    row, second = RowName("notes", (("id", ("n", "1")),)), RowName("customers", (("id", ("t", "k")),))
    more = (
        Change(row, {"id": ("n", "1")}, {"customer": ("t", "k")}, "reference"),
        Change(row, {"id": ("n", "1")}, None, "captured"),
        Change(second, {"id": ("t", "k")}, {"phone": ("t", "1")}, "keeper"),
        Change(second, {"id": ("t", "k")}, {}, "surplus"),
    )
    created = Plan(**{**vars(first), "changes": first.changes + more})

    assert Use.of("B-1", created) == Use("B-1", 3, {"EUR": Decimal("1.50")})


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "give back", "wait"]), st.integers(0, 11), st.integers(0, 6), st.integers(0, 30)
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
@example([("reserve", 0, 3, 0), ("reserve", 1, 6, 0), ("wait", 0, 0, 24), ("reserve", 0, 2, 0)])
def test_the_running_sums_are_what_adding_up_would_give(local: Journal, steps: list[tuple[str, int, int, int]]) -> None:
    """Whatever is counted, given back and forgotten by time: no 24 hours and no run ever exceed the limit.

    A plan that is counted again in its run, a day later, takes the place of what was counted of it there.
    """
    names = local.propose(*(plan(f"F-{n:02}", f"r{n}") for n in range(12)), policy="required")
    with local.begin() as tx:
        tx.connection.execute(tables.limit_uses.delete())
        tx.connection.execute(tables.limits.delete())
    used: dict[str, tuple[dt.datetime, str, int]] = {}
    for what, which, records, hours in steps:
        name, run = names[which], f"run-{hours % 2}"
        day = sum(n for at, _, n in used.values() if at > local.now - limits.DAY)
        of_run = sum(n for item, (_, second, n) in used.items() if second == run and item != name)
        remembered = name in used and used[name][0] > local.now - limits.DAY
        if what == "wait":
            local.tick(hours=hours)
        elif what == "give back":
            with local.begin() as tx:
                limits.give_back(tx, [name])
            used.pop(name, None)
        else:
            try:
                reserve(local, name, records, run=run)
            except OverLimit:
                assert not remembered
                assert day + records > 10 or of_run + records > 10
            else:
                assert remembered or (day + records <= 10 and of_run + records <= 10)
                if not remembered:
                    used[name] = (local.now, run, records)
    assert local.now >= NOON
