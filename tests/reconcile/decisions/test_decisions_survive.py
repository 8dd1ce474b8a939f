"""What people decided survives every change that is not theirs: of names, kinds, ids and groups."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from reconcile.audit.proof import prove
from reconcile.coordination import pauses
from reconcile.decisions import decide
from reconcile.decisions.refusals import PlanRejected
from reconcile.findings.states import State
from reconcile.store import limits, overview
from reconcile.tracking.remember import preview
from rules.engines.base import MoneyColumns
from rules.groups.group import DuplicateGroup, Member
from tests.support.findings import RULE, SPAN, FindingsOffice, discrepancy, group
from tests.support.store import NOON
from tests.support.world import ALONE, DELETE, TWO, World


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FindingsOffice]:
    url = "sqlite:///state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    office = FindingsOffice.new(url, tmp_path)
    yield office
    office.store.close()


# Another kind of rule

BALANCE = replace(RULE, kind="comparison", definition="d2")
"""A rule of another kind under the same name."""


def test_a_rule_of_another_kind_continues_no_finding_and_no_decision_under_its_name(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), group("B", 3, 4))
    decide.dismiss(office.store, office.last_heard[1][0], actor="ada")

    outcome = office.record(discrepancy("mismatch", "A", [1], [2]), group("B", 3, 4), rule=BALANCE)
    again = office.record(discrepancy("mismatch", "A", [1], [2]), group("B", 3, 4), rule=BALANCE)

    assert (outcome.new, outcome.grown, outcome.resolved, outcome.settled) == (2, 0, 1, 0)
    assert (again.known, again.new, again.resolved) == (2, 0, 0)
    old = [(finding.state, finding.reason) for finding in office.all() if finding.kind == "duplicates"]
    assert (State.RESOLVED, "its rule is of another kind now") in old
    assert State.DISMISSED in {state for state, _ in old}


@pytest.mark.parametrize("name", ["double-charge", "balance"])
def test_was_says_that_a_rule_of_another_kind_is_the_same(name: str, office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), group("B", 3, 4))
    decide.dismiss(office.store, office.last_heard[1][0], actor="ada")
    answer = replace(BALANCE, name=name, was="double-charge")

    with office.store.read() as tx:
        foreseen, _ = preview(tx, answer, [group("A", 1, 2), group("B", 3, 4)])
    outcome = office.record(group("A", 1, 2), group("B", 3, 4), rule=answer)
    again = office.record(group("A", 1, 2), group("B", 3, 4), rule=replace(answer, was=None))

    for each in (foreseen, outcome, again):
        assert (each.known, each.settled, each.new, each.resolved) == (1, 1, 0, 0)
    assert {finding.kind for finding in office.all()} == {"comparison"}


# Another name


def renamed(world: World, *names: str, run: bool = True) -> None:
    """Rename the only rule, name after name, each time with a run."""
    for name in names:
        [(former, rule)] = world.rules.items()
        world.rules = {name: rule | {"was": former}}
        if run:
            world.run()


def intact(world: World) -> bool:
    """The log is whole, and agrees with the state."""
    with world.open() as application:
        return prove(application.store, {}).intact


RENAMES = [("same-mail",), ("same-mail", "one-person"), ("same-mail", "twins")]


@pytest.mark.slow
@pytest.mark.parametrize("names", RENAMES)
def test_a_rejected_plan_stays_rejected_when_its_rule_is_renamed(names: tuple[str, ...], tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    with world.decisions() as decisions:
        decisions.reject(world.only())

    renamed(world, *names)

    assert world.findings() == {world.only(): "open"}
    assert len(world.plans()) == 1
    with pytest.raises(PlanRejected):
        world.approve(world.only())
    assert intact(world)


@pytest.mark.slow
@pytest.mark.parametrize("names", RENAMES)
def test_an_approved_plan_is_executed_when_its_rule_is_renamed(names: tuple[str, ...], tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    world.approve(world.only(), later=True)

    renamed(world, *names)

    assert world.shop.ids() == [1, 3]
    assert world.findings() == {world.only(): "cleaned"}
    assert intact(world)
    world.undo(world.only())
    assert world.shop.ids() == [1, 2, 3]


@pytest.mark.slow
def test_a_plan_is_approved_between_a_rename_and_the_next_run(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    renamed(world, "same-mail", run=False)

    assert world.approve(world.only()).ok

    assert world.shop.ids() == [1, 3]
    world.run()
    assert world.findings() == {world.only(): "cleaned"}
    assert intact(world)


@pytest.mark.slow
@pytest.mark.parametrize("names", RENAMES)
def test_the_first_of_two_approvals_counts_after_a_rename(names: tuple[str, ...], tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE | {"approval": "two_person"})
    world.run()
    world.approve(world.only(), actor="ada")

    renamed(world, *names)

    assert world.approve(world.only(), actor="bob").ok
    assert world.shop.ids() == [1, 3]
    assert intact(world)


@pytest.mark.slow
def test_a_renamed_rule_has_used_of_its_limits_what_it_had(tmp_path: Path) -> None:
    rows = [(2 * pair + twin, f"{pair}@x", "n") for pair in range(3) for twin in (1, 2)]
    world = World.at(tmp_path / "w", *rows[:4], twins=ALONE | {"limits": {"records": 2, "share": "100%"}})
    world.run()
    world.run()
    assert world.shop.ids() == [1, 3]
    world.add(*rows[4:])

    renamed(world, "same-mail", "one-person")
    world.run()

    assert world.shop.ids() == [1, 3, 5, 6]
    assert sorted(world.findings().values()) == ["awaiting_approval", "cleaned", "cleaned"]
    assert intact(world)


@pytest.mark.slow
def test_a_stop_of_a_rule_holds_under_its_next_name(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    with world.open() as application, application.store.begin() as tx:
        limits.create(tx, ["rule:twins"])
        limits.stop(tx, "rule:twins", "somebody stopped it")

    renamed(world, "same-mail")
    world.run()

    assert world.shop.ids() == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("is_run_first", [True, False])
def test_a_pause_of_a_rule_holds_under_its_next_name(is_run_first: bool, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    with world.open() as application, application.store.begin() as tx:
        pauses.pause(tx, pauses.of_rule("twins"), reason="year end", by="ada")

    renamed(world, "same-mail", run=is_run_first)
    answer = world.approve(world.only())

    assert not answer.ok
    assert "is paused by ada" in answer.sentence
    assert world.shop.ids() == [1, 2, 3]


# Groups that join and part


PRICES = {None: MoneyColumns("amount", currency="EUR")}


def members(first: int, *others: int) -> tuple[Member, tuple[Member, ...]]:
    keeper, *surplus = (Member((n,), {"id": n, "order": "A", "amount": Decimal(5)}) for n in (first, *others))
    return keeper, tuple(surplus)


def priced(*records: int, money: str) -> DuplicateGroup:
    """A group of charges next to each other; each but the keeper is worth `money`."""
    keeper, *surplus = (Member((n,), {"id": n, "order": "A", "amount": Decimal(money)}) for n in records)
    at_risk = {"EUR": Decimal(money) * len(surplus)}
    return DuplicateGroup({"order": "A"}, keeper, tuple(surplus), money=at_risk, span=(records[0],) * 2, priced=PRICES)


def handled(office: FindingsOffice) -> Decimal:
    """What overviews count as handled."""
    with office.store.read() as tx:
        sums = [Decimal(money["EUR"]) for _, money in overview.money_handled(tx, NOON - dt.timedelta(days=1))]
    return sum(sums, Decimal(0))


def both_handled(office: FindingsOffice) -> tuple[str, str]:
    office.record(priced(1, 2, money="20"), priced(8, 9, money="400"), rule=SPAN)
    first, second = sorted(office.all(), key=lambda finding: str(finding.members))
    for finding in (first, second):
        decide.handle(office.store, finding.id, actor="ada")
    return first.id, second.id


def test_two_handled_findings_that_join_and_part_are_handled_as_before(office: FindingsOffice) -> None:
    names = both_handled(office)
    money = [handled(office)]

    office.record(DuplicateGroup({"order": "A"}, *members(1, 2, 8, 9), span=(1, 1), priced=PRICES), rule=SPAN)
    money.append(handled(office))
    parted = office.record(priced(1, 2, money="20"), priced(8, 9, money="400"), rule=SPAN)
    money.append(handled(office))

    assert money == [Decimal(420)] * 3
    assert (parted.settled, parted.new, office.last_heard) == (2, 0, [])
    assert {finding.id: finding.state for finding in office.all()} == dict.fromkeys(names, State.HANDLED)
    for name in names:
        assert decide.reopen(office.store, name, actor="ada").changed
    assert handled(office) == 0
    assert office.record(priced(1, 2, money="20"), priced(8, 9, money="400"), rule=SPAN).known == 2
    assert prove(office.store, {}).intact


def test_decisions_are_taken_back_while_their_findings_are_joined(office: FindingsOffice) -> None:
    both_handled(office)
    joined = DuplicateGroup({"order": "A"}, *members(1, 2, 8, 9), span=(1, 1), priced=PRICES)
    office.record(joined, rule=SPAN)
    [name] = [finding.id for finding in office.all() if finding.state is State.OPEN]

    answer = decide.reopen(office.store, name, actor="ada")
    again = decide.reopen(office.store, name, actor="ada")
    office.record(joined, rule=SPAN)

    assert (answer.changed, again.changed) == (True, False)
    assert (handled(office), office.get(name).handled_pairs) == (0, ())
    parted = office.record(priced(1, 2, money="20"), priced(8, 9, money="400"), rule=SPAN)
    assert (parted.settled, parted.known + parted.new) == (0, 2)
    assert prove(office.store, {}).intact


def test_the_money_of_a_handled_record_stays_when_that_is_deleted(office: FindingsOffice) -> None:
    office.record(priced(1, 2, money="20"), rule=SPAN)
    decide.handle(office.store, office.only().id, actor="ada")
    office.record(priced(1, 2, 3, money="20"), rule=SPAN)
    assert (handled(office), office.only().money) == (20, {"EUR": 20})

    office.record(priced(1, 3, money="20"), rule=SPAN)

    assert (handled(office), office.only().money) == (20, {"EUR": 20})
    office.record(rule=SPAN)
    assert (handled(office), office.only().state) == (20, State.RESOLVED)


@pytest.mark.slow
def test_a_record_that_joins_before_the_handled_ones_can_be_cleaned(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *((n, "a@x", "Ann") for n in (5, 6)), twins=ALONE)
    world.run()
    assert world.command("handle", world.only(), "--note", "merged in the shop").code == 0
    world.add((1, "a@x", "Anna"))
    world.run()

    assert world.shop.ids() == [1, 5, 6]
    assert "one of the records that were handled; the rule would keep 1" in world.command("show", world.only()).out
    assert world.approve(world.only()).ok
    assert world.shop.ids() == [5, 6]
