"""A person keeps another record than the rule says: what is planned, approved, cleaned, told and undone then."""

import datetime as dt
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.audit.proof import prove
from reconcile.cleaning.planning.planner import RulePlanner
from reconcile.config.settings import Retention
from reconcile.decisions import keeper_choice
from reconcile.decisions.keeper import check
from reconcile.decisions.refusals import (
    ChoseKeeper,
    FindingChanged,
    KeeperFixed,
    PlanNotNamed,
    RecordsChanged,
    RecordUnknown,
    RuleDoesNotClean,
)
from reconcile.decisions.request import DecisionResult
from reconcile.findings.identity import member_name
from reconcile.findings.keeper import CHOOSABLE
from reconcile.findings.shown import Finding
from reconcile.findings.states import PlanState, State
from reconcile.journal.approvals import PlanChanged
from reconcile.messages import living, outbox
from reconcile.people import tokens
from reconcile.store import findings as stored_findings
from reconcile.store import tables
from reconcile.upkeep import compaction, erasure
from rules.groups import keyed as groups
from tests.support import filled
from tests.support.web import PII, Browser, Site, cheap_hashes, site_of
from tests.support.world import ALONE, DELETE, Kept, Killed, World

__all__ = ["cheap_hashes"]

THREE = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "a@x", "A."), (9, "b@x", "Bob"))
"""Three records of one customer, of whom the rule keeps the first, and another customer."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return ran(World.at(tmp_path_factory.mktemp("prepared") / "w", *THREE, twins=DELETE)).kept()


@pytest.fixture
def world(prepared: Kept) -> World:
    """A group of three whose plan waits for approval."""
    return prepared.restored()


def ran(world: World) -> World:
    world.run()
    return world


def keep(world: World, *record: str | int, by: str = "ada", **given: Any) -> DecisionResult:
    with world.decisions(by) as decisions:
        return keeper_choice.keep(decisions, world.only(), tuple(map(str, record)), **given)


def shown(world: World) -> Finding:
    with world.open() as application, application.store.read() as tx:
        [finding] = stored_findings.find(tx)
        return finding


def kept(world: World) -> tuple[Any, str | None]:
    """The keeper of the only finding, and who chose it."""
    finding = shown(world)
    assert finding.keeper is not None
    return finding.keeper.id[0], finding.kept_by


def waiting(world: World) -> list[str]:
    """The hashes of the plans that wait for approval."""
    return [plan.plan_hash for plan in world.plans() if plan.state is PlanState.AWAITING]


def intact(world: World) -> bool:
    """The log is whole, and agrees with the state."""
    with world.open() as application:
        return prove(application.store, {}).intact


# From a choice to an undo


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def with_orders(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Three records of one customer, each with an order, in both databases of records and of states."""
    database = {} if request.param == "sqlite" else {"url": request.getfixturevalue("postgres_url")}
    (tmp_path / "w").mkdir()
    world = World(tmp_path / "w", {"twins": {"clean": {"action": "delete", "references": "repoint"}}}, **database)
    world.config |= {"state": database["url"]} if database else {}
    world.shop.sql(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers (id))",
        *(f"INSERT INTO customers VALUES ({number}, '{email}', '{name}')" for number, email, name in THREE),
        *(f"INSERT INTO orders VALUES ({10 * number}, {number})" for number, *_ in THREE),
    )
    yield world
    world.shop.close()


@pytest.mark.slow
def test_the_chosen_record_stays_references_follow_it_and_undo_restores_all(with_orders: World) -> None:
    world = ran(with_orders)
    before = world.shop.tables("customers", "orders")

    answer = keep(world, 2)
    world.approve(world.only(), actor="ada")

    assert answer.sentence.startswith(f"{world.only()} now keeps record 2, the choice of ada. Its new plan waits")
    assert world.shop.ids() == [2, 9]
    assert world.shop.rows("orders") == [(10, 2), (20, 2), (30, 2), (90, 9)]
    assert world.findings() == {world.only(): "cleaned"}
    world.run()
    world.undo(world.only())
    assert world.shop.tables("customers", "orders") == before
    assert kept(world) == (2, "ada")
    assert intact(world)


@pytest.mark.parametrize("chosen", [1, 2, 3])
@pytest.mark.parametrize(
    "clean",
    [
        {"action": "delete"},
        {"action": "merge", "surplus": "delete", "fields": {"name": "longest"}},
        {"action": "move", "to": "old"},
    ],
    ids=lambda clean: str(clean["action"]),
)
@pytest.mark.slow
def test_whatever_is_chosen_exactly_that_record_of_the_group_remains(
    clean: dict[str, Any], chosen: int, tmp_path: Path
) -> None:
    world = World.at(tmp_path / "w", *THREE, twins={"clean": clean})
    world.shop.sql("CREATE TABLE old (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
    world.run()
    keep(world, chosen)

    assert world.approve(world.only(), actor="ada").ok

    assert world.shop.ids() == [chosen, 9]
    assert shown(world).surplus[0].id == ((2,) if chosen == 1 else (1,)), "the others stay in the rule's order"
    assert world.shop.ids("old") == ([n for n in (1, 2, 3) if n != chosen] if clean["action"] == "move" else [])
    assert intact(world)


@pytest.mark.slow
def test_an_action_that_marks_the_surplus_marks_all_but_the_chosen_record(tmp_path: Path) -> None:
    clean = {"action": "set", "values": {"name": "twin"}}
    world = ran(World.at(tmp_path / "w", *THREE, twins={"clean": clean}))
    keep(world, 3)

    world.approve(world.only(), actor="ada")

    assert world.shop.rows() == [(1, "a@x", "twin"), (2, "a@x", "twin"), (3, "a@x", "A."), (9, "b@x", "Bob")]
    world.run()
    world.add((4, "a@x", "Anne"))
    world.run()
    assert kept(world) == (3, "ada")
    world.approve(world.only(), actor="ada")
    assert world.shop.rows("customers", "id, name")[2:4] == [(3, "A."), (4, "twin")]


@pytest.mark.slow
def test_values_of_a_merge_come_from_the_others_in_the_rule_s_order(tmp_path: Path) -> None:
    rows = ((1, "a@x", "Anna"), (2, "a@x", "Anne"), (3, "a@x", "A."))
    clean = {"action": "merge", "surplus": "delete", "fields": {"name": "longest"}}
    world = ran(World.at(tmp_path / "w", *rows, twins={"clean": clean}))
    keep(world, 3)

    world.approve(world.only(), actor="ada")

    assert world.shop.rows() == [(3, "a@x", "Anna")]


# Approvals


@pytest.mark.slow
def test_an_approval_of_the_plan_before_the_choice_is_void(world: World) -> None:
    [old] = waiting(world)

    keep(world, 2)

    [new] = waiting(world)
    assert new != old
    assert [plan.reason for plan in world.plans() if plan.plan_hash == old] == ["ada chose another keeper"]
    with pytest.raises(PlanChanged):
        world.approve(world.only(), plan_hash=old)
    assert world.shop.ids() == [1, 2, 3, 9]
    assert world.findings() == {world.only(): "awaiting_approval"}


def test_whoever_approves_the_choice_of_another_person_names_the_plan_they_saw(world: World) -> None:
    keep(world, 2, by="ada")
    [plan] = waiting(world)

    with pytest.raises(
        PlanNotNamed, match=f"ada chose another keeper .* approve {world.only()} --plan-hash {plan[:8]}"
    ):
        world.approve(world.only(), actor="bob")

    assert world.shop.ids() == [1, 2, 3, 9]
    assert world.findings() == {world.only(): "awaiting_approval"}
    world.approve(world.only(), actor="bob", plan_hash=plan[:12])
    assert world.shop.ids() == [2, 9]


@pytest.mark.parametrize("chosen", [("--rule", "twins"), ("--where", "records = 3"), ("--severity", "low")])
def test_nobody_approves_the_choice_of_another_person_among_many(world: World, chosen: tuple[str, ...]) -> None:
    keep(world, 2, by="ada")

    answer = world.command("approve", *chosen, "--json")

    assert (answer.code, answer.json["not_done"]) == (4, 1)
    assert "ada chose another keeper" in answer.json["findings"][0]["sentence"]
    assert world.shop.ids() == [1, 2, 3, 9]

    (world.folder / "plans.json").write_text(world.command("plan", "--json").out)
    assert world.command("approve", "--plan-file", "plans.json").code == 0
    assert world.shop.ids() == [2, 9]


def test_who_chose_the_keeper_has_seen_its_plan(world: World) -> None:
    keep(world, 2, by="ada")

    world.approve(world.only(), actor="Ada")

    assert world.shop.ids() == [2, 9]


def test_after_a_choice_was_taken_back_no_plan_has_to_be_named(world: World) -> None:
    """The plan is that of the rule again."""
    keep(world, 2, by="ada")
    keep(world, 1, by="ada")

    world.approve(world.only(), actor="bob")

    assert world.shop.ids() == [1, 9]


@pytest.mark.slow
def test_who_chose_the_keeper_is_none_of_the_two_who_approve(tmp_path: Path) -> None:
    world = ran(World.at(tmp_path / "w", *THREE, twins=DELETE | {"approval": "two_person"}))
    world.approve(world.only(), actor="ada")
    keep(world, 2, by="ada")

    world.approve(world.only(), actor="bob", plan_hash=waiting(world)[0])
    with pytest.raises(ChoseKeeper, match=r"Ada chose the keeper of .* two other people must approve"):
        world.approve(world.only(), actor="Ada")
    world.run()
    with pytest.raises(ChoseKeeper):
        world.approve(world.only(), actor="ada")

    assert world.shop.ids() == [1, 2, 3, 9]
    world.approve(world.only(), actor="cleo", plan_hash=waiting(world)[0])
    assert world.shop.ids() == [2, 9]


def test_a_rejected_plan_is_not_proposed_again_when_the_choice_returns_to_it(world: World) -> None:
    with world.decisions("bob") as decisions:
        decisions.reject(world.only())
    keep(world, 2)

    answer = keep(world, 1)

    assert "There is no plan now: bob rejected this plan on" in answer.sentence
    assert world.findings() == {world.only(): "open"}
    assert (kept(world), waiting(world)) == ((1, None), [])
    assert intact(world)


@pytest.mark.parametrize("state", ["approved", "cleaned", "dismissed", "handled", "undone"])
def test_a_finding_that_is_decided_gets_no_other_keeper(state: str, world: World) -> None:
    name = world.only()
    if state in ("dismissed", "handled"):
        world.command(state[:-2] if state == "dismissed" else "handle", name)
    else:
        world.approve(name, later=state == "approved")
    if state == "undone":
        world.undo(name)
    assert world.findings() == {name: state}
    before = [(plan.id, plan.state) for plan in world.plans()]

    with pytest.raises(KeeperFixed, match=f"{name} cannot be given another keeper: .*Nothing was changed"):
        keep(world, 2)

    assert [(plan.id, plan.state) for plan in world.plans()] == before
    assert kept(world) == (1, None)


@pytest.mark.parametrize("state", list(State))
def test_every_state_either_allows_a_choice_or_says_why_not(state: State, world: World) -> None:
    finding = replace(shown(world), state=state)

    if state in CHOOSABLE:
        check(finding)
    else:
        with pytest.raises(KeeperFixed, match=r"cannot be given another keeper: .+\. Nothing was changed$"):
            check(finding)


@pytest.mark.slow
def test_a_rule_without_approval_cleans_with_the_chosen_keeper_in_its_next_run(tmp_path: Path) -> None:
    world = ran(World.at(tmp_path / "w", *THREE, twins=ALONE))  # the first run only reports

    answer = keep(world, 3)
    world.run()

    assert answer.sentence.endswith("The next run cleans it without approval.")
    assert world.shop.ids() == [3, 9]
    assert {plan.policy for plan in world.plans()} == {"none"}
    assert intact(world)


# Choices that change nothing, or are refused


def test_the_rule_s_own_keeper_takes_a_choice_back(world: World) -> None:
    [by_rule] = waiting(world)
    keep(world, 2)

    answer = keep(world, 1)

    assert "now keeps record 1, the rule's own choice" in answer.sentence
    assert (kept(world), waiting(world)) == ((1, None), [by_rule])
    assert world.events("finding.keeper") == ["finding.keeper_chosen", "finding.keeper_by_rule"]
    assert intact(world)


@pytest.mark.parametrize(("first", "again"), [(None, 1), (2, 2)])
def test_a_choice_that_was_made_already_changes_nothing(first: int | None, again: int, world: World) -> None:
    if first is not None:
        keep(world, first)
    before = world.events()

    answer = keep(world, again, by="bob")

    assert not answer.changed
    assert answer.sentence.endswith("; nothing was changed.")
    assert world.events() == before


def test_an_unknown_record_is_answered_with_the_records(world: World) -> None:
    with pytest.raises(RecordUnknown, match=r"has no such record\. Its records are `1`, `2` and `3`\. Nothing"):
        keep(world, 9)
    with pytest.raises(RecordUnknown, match="Name the record"):
        keep(world)


def test_an_id_of_several_columns_is_given_in_parts_or_as_it_is_printed(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *THREE, twins=DELETE)
    world.config["datasets"] = {"customers": {"source": "shop", "table": "customers", "id": ["id", "name"]}}
    world.run()

    keep(world, 2, "Ann")
    assert kept(world) == (2, "ada")
    keep(world, "3 / A.")
    assert kept(world) == (3, "ada")


def test_a_rule_that_does_not_clean_has_nothing_to_choose(tmp_path: Path) -> None:
    world = ran(World.at(tmp_path / "w", *THREE, twins={}))

    with pytest.raises(RuleDoesNotClean, match="has no `clean`"):
        keep(world, 2)


# Records that change


@pytest.mark.parametrize(
    "change", ["DELETE FROM customers WHERE id = 2", "UPDATE customers SET email = 'c@x' WHERE id = 2"]
)
@pytest.mark.slow
def test_without_the_chosen_record_the_rule_s_keeper_counts_and_no_old_approval_cleans(
    change: str, world: World
) -> None:
    keep(world, 2)
    [old] = waiting(world)
    world.approve(world.only(), actor="ada", later=True)
    world.shop.sql(change)
    with world.open() as application:
        application.clean_due()
    remaining = [number for number in (1, 2, 3, 9) if number != 2 or change.startswith("UPDATE")]
    assert world.shop.ids() == remaining

    world.run()

    assert kept(world) == (1, None)
    assert "chosen keeper left; the rule's keeper counts" in world.command("show", world.only(), "--history").out
    [new] = waiting(world)
    assert new != old
    world.approve(world.only(), actor="ada")
    assert world.shop.ids() == [number for number in remaining if number != 3]
    assert intact(world)


LEAVES = "UPDATE customers SET email = 'c@x' WHERE id = 2"
RETURNS = "UPDATE customers SET email = 'a@x' WHERE id = 2"


@pytest.mark.slow
def test_a_chosen_record_that_leaves_and_returns_is_kept_without_asking(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *THREE, twins=DELETE)
    world.run()
    keep(world, 2)
    world.shop.sql(LEAVES)
    world.run()
    world.shop.sql(RETURNS)

    world.rules = {"twins": ALONE}
    world.run()

    assert kept(world) == (2, "ada")
    assert "chosen keeper is in the finding again" in world.command("show", world.only(), "--history").out
    world.run()
    assert 2 in world.shop.ids()
    assert intact(world)


@pytest.mark.slow
def test_a_chosen_record_that_is_gone_for_a_run_and_whose_finding_was_over_is_kept(tmp_path: Path) -> None:
    rows = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (9, "b@x", "Bob"))
    world = World.at(tmp_path / "w", *rows, twins=DELETE)
    world.run()
    keep(world, 2)
    world.rules = {"twins": ALONE}
    world.shop.sql("DELETE FROM customers WHERE id = 2")
    world.run()
    world.run()
    assert world.findings() == {world.only(): "resolved"}
    world.add((2, "a@x", "Ann"))

    world.run()
    world.run()

    assert kept(world) == (2, "ada")
    assert 2 in world.shop.ids()


@pytest.mark.slow
def test_a_chosen_record_is_not_cleaned_without_asking_in_another_group(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *THREE, twins=DELETE)
    world.run()
    keep(world, 3)
    world.rules = {"twins": ALONE}
    world.run()
    world.shop.sql("UPDATE customers SET email = 'b@x' WHERE id = 3", "INSERT INTO customers VALUES (8, 'b@x', 'B.')")

    world.run()
    world.run()

    assert {3, 8, 9} <= set(world.shop.ids()), "nobody saw the chosen record beside these"
    [joined] = [finding for finding in everything(world) if finding.key == {"email": "b@x"}]
    assert (joined.state, joined.kept_by) == (State.AWAITING, "ada")


@pytest.mark.slow
def test_a_chosen_record_is_not_cleaned_without_asking_by_another_rule(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *THREE, twins=DELETE)
    world.run()
    keep(world, 3)
    world.rules = {"names": ALONE | {"key": ["email"], "keep": [{"first": "id"}]}}

    world.run()
    world.run()

    assert world.shop.ids() == [1, 2, 3, 9]


def everything(world: World) -> list[Finding]:
    with world.open() as application, application.store.read() as tx:
        return stored_findings.find(tx)


@pytest.mark.slow
def test_only_another_choice_among_the_same_records_ends_one(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *THREE, twins=DELETE)
    world.run()
    keep(world, 2)
    keep(world, 3)
    assert kept(world) == (3, "ada")
    world.shop.sql("UPDATE customers SET email = 'c@x' WHERE id = 3")
    world.run()
    assert kept(world) == (1, None)
    world.shop.sql("UPDATE customers SET email = 'a@x' WHERE id = 3")
    world.run()
    assert kept(world) == (3, "ada")

    keep(world, 1)

    assert kept(world) == (1, None)
    assert intact(world)


def test_a_record_that_joins_changes_the_plan_and_not_the_choice(world: World) -> None:
    keep(world, 2)
    before, [old] = shown(world).version, waiting(world)
    world.add((4, "a@x", "Anne"))

    world.run()

    assert kept(world) == (2, "ada")
    assert shown(world).version > before
    [new] = waiting(world)
    assert new != old
    world.approve(world.only(), actor="ada")
    assert world.shop.ids() == [2, 9]


def test_records_that_changed_since_the_last_run_are_looked_at_before_a_choice(world: World) -> None:
    world.shop.sql("UPDATE customers SET email = 'c@x' WHERE id = 3")

    with pytest.raises(RecordsChanged, match=r"Nothing was changed for F-\w+\. Its records changed since it was found"):
        keep(world, 2)

    assert kept(world) == (1, None)


@pytest.mark.slow
def test_a_finding_that_took_in_another_keeps_what_was_chosen_in_it(tmp_path: Path) -> None:
    rows = [(number, "a@x", "Ann") for number in (1, 2, 3, 9, 10)]
    rule = DELETE | {"key": ["email"], "gap": {"id": 3}}
    world = World.at(tmp_path / "w", *rows, twins=rule)
    world.run()
    older, younger = _by_first(world)
    for name, record in ((older, "2"), (younger, "10")):
        with world.decisions("ada") as decisions:
            keeper_choice.keep(decisions, name, (record,))
    world.add((6, "a@x", "Anne"))

    world.run()

    assert world.findings() == {older: "awaiting_approval", younger: "merged_into"}
    of_both = "".join(world.command("show", name, "--history").out for name in (older, younger))
    assert "rule's keeper counts" not in of_both
    assert "keeper chosen by ada" in world.command("show", older).out
    world.approve(older, actor="ada")
    assert world.shop.ids() == [2]
    assert intact(world)


def _by_first(world: World) -> list[str]:
    """The findings by the id of their first record."""
    with world.open() as application, application.store.read() as tx:
        return [f.id for f in sorted(stored_findings.find(tx), key=lambda finding: finding.members[0].id)]


@pytest.mark.slow
def test_the_choice_stands_when_the_rule_would_keep_another_record(tmp_path: Path) -> None:
    world = ran(World.at(tmp_path / "w", *THREE, twins=DELETE | {"keep": [{"last": "name"}]}))
    assert kept(world) == (1, None)
    keep(world, 2)
    world.shop.sql("UPDATE customers SET name = 'Zoe' WHERE id = 3")

    world.run()

    assert kept(world) == (2, "ada")
    finding = shown(world)
    assert finding.rule_keeper is not None
    assert finding.rule_keeper.id == (3,)
    world.approve(world.only(), actor="ada")
    assert world.shop.ids() == [2, 9]


@pytest.mark.parametrize("few", [groups.FEW, 0], ids=["judged", "recognised"])
@pytest.mark.slow
def test_a_run_between_choice_and_approval_neither_loses_nor_repeats_the_finding(
    few: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where unchanged groups are recognised by their digests."""
    monkeypatch.setattr(groups, "FEW", few)
    world.run()
    told = world.messages()
    keep(world, 2)
    fingerprint, [plan] = shown(world).fingerprint, waiting(world)

    report = world.run()

    assert [outcome.findings.known for outcome in report.rules if hasattr(outcome, "findings")] == [1]
    assert (shown(world).fingerprint, waiting(world), kept(world)) == (fingerprint, [plan], (2, "ada"))
    assert world.messages() == told


# At the same moment, and killed


def test_of_two_choices_at_the_same_moment_the_second_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = RulePlanner.plans

    def and_meanwhile(planner: RulePlanner, findings: Any) -> Any:
        monkeypatch.setattr(RulePlanner, "plans", plans)
        thread = threading.Thread(target=lambda: keep(world, 3, by="bob"))
        thread.start()
        thread.join()
        return plans(planner, findings)

    monkeypatch.setattr(RulePlanner, "plans", and_meanwhile)

    with pytest.raises(FindingChanged):
        keep(world, 2)

    assert kept(world) == (3, "bob")
    assert len(waiting(world)) == 1
    assert intact(world)


def test_a_person_who_saw_another_keeper_is_refused(world: World) -> None:
    seen = shown(world).version
    keep(world, 2, seen=seen)

    with pytest.raises(FindingChanged):
        keep(world, 3, by="bob", seen=seen)

    assert kept(world) == (2, "ada")


@pytest.mark.parametrize("rule", [ALONE, DELETE], ids=["none", "required"])
@pytest.mark.slow
def test_a_run_that_planned_before_the_choice_does_not_clean_with_the_rule_s_keeper(
    rule: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ran(World.at(tmp_path / "w", *THREE, twins=rule))
    plans = RulePlanner.plans

    def and_then(planner: RulePlanner, findings: Any) -> Any:
        answers = list(plans(planner, findings))
        monkeypatch.setattr(RulePlanner, "plans", plans)
        thread = threading.Thread(target=lambda: keep(world, 2))
        thread.start()
        thread.join()
        return iter(answers)

    monkeypatch.setattr(RulePlanner, "plans", and_then)
    world.run()

    assert world.shop.ids() == [1, 2, 3, 9]
    assert kept(world) == (2, "ada")
    world.run()
    if rule is DELETE:
        world.approve(world.only(), actor="ada")
    assert world.shop.ids() == [2, 9]


def test_an_approval_that_planned_before_the_choice_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.decisions("bob") as decisions:
        decisions.reject(world.only())  # so that the approval makes a plan itself
    plan = RulePlanner.plan

    def and_then(planner: RulePlanner, finding: Finding) -> Any:
        created = plan(planner, finding)
        keep(world, 2)
        return created

    monkeypatch.setattr(RulePlanner, "plan", and_then)

    with pytest.raises(FindingChanged):
        world.approve(world.only(), overrule=True)

    assert world.shop.ids() == [1, 2, 3, 9]


def test_a_kill_before_the_new_plan_is_stored_leaves_all_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = waiting(world), shown(world)

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(keeper_choice.effects, "propose", die)
        with pytest.raises(Killed):
            keep(world, 2)

    assert (waiting(world), shown(world)) == before
    assert intact(world)


# What is kept


def test_a_backup_holds_the_choice(world: World) -> None:
    keep(world, 2)
    assert world.command("backup", "before.db").code == 0
    keep(world, 3)

    assert world.command("restore", "before.db", "--yes").code == 0

    assert kept(world) == (2, "ada")
    assert intact(world)


@pytest.mark.slow
def test_erasing_the_chosen_record_leaves_no_name_of_it(tmp_path: Path) -> None:
    rows = ((1, "a@x", "Anna"), (2000017, "a@x", "Ann"), (3, "a@x", "A."))
    world = ran(World.at(tmp_path / "w", *rows, twins=DELETE))
    keep(world, 2000017)
    chosen = shown(world).members[0]
    with world.decisions("bob") as decisions:
        decisions.reject(world.only())
    world.shop.sql("DELETE FROM customers WHERE id = 2000017")

    with world.open() as application:
        wanted = erasure.of_record(application.store, "customers", member_name(chosen), ["email"])
        erasure.erase(application.store, wanted, texts=("2000017",))

    state = filled.stored("sqlite:///reconcile.db", world.folder)
    assert [name for name, rows in state.items() if "2000017" in repr(rows)] == []
    assert shown(world).kept_by == "ada"
    assert world.command("show", world.only()).code == 0
    with pytest.raises(RecordsChanged):
        keep(world, 3)
    world.run()
    with world.open() as application, application.store.read() as tx:
        by_state = {finding.state.value: finding.kept_by for finding in stored_findings.find(tx)}
    assert by_state == {"resolved": "ada", "awaiting_approval": None}
    assert intact(world)


def test_a_choice_outlives_what_retention_deletes(world: World) -> None:
    keep(world, 2)
    world.approve(world.only(), actor="ada")

    world.clock = dt.datetime.now(dt.UTC) + dt.timedelta(days=366)
    with world.open() as application:
        done = compaction.compact(application.store, Retention(), undo_window=dt.timedelta(days=30))

    assert done
    assert kept(world) == (2, "ada")
    assert intact(world)


# Doors


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Three records of one customer, whose e-mail address is personal, in the console and the API."""
    world = World.at(tmp_path / "w", *THREE, twins=DELETE)
    world.config["datasets"] = {"customers": PII | {"id": ["id", "email"]}}
    world.run()
    with site_of(world) as site:
        yield site


@pytest.mark.slow
def test_a_reviewer_keeps_another_record_with_a_button_that_names_no_personal_data(site: Site) -> None:
    name, browser = site.world.only(), site.browser("bob")
    page = browser.get(f"/findings/{name}")
    handle = page.field("keeper")

    answer = browser.send(f"/findings/{name}/keep", f"/findings/{name}", version=page.field("version"), keeper=handle)
    after = browser.get(answer.headers["Location"])

    assert (answer.status, answer.headers["Location"]) == (303, f"/findings/{name}")
    assert page.text.count("Keep this one") == 2
    assert "a@x" not in page.body.decode()
    assert kept(site.world) == (2, "bob")
    assert "keeper chosen by bob; the rule would keep 1" in after.text
    assert "Plan: 2 records deleted" in after.text
    assert "Keep this one" not in site.browser("vic").get(f"/findings/{name}").text


@pytest.mark.slow
def test_the_note_beside_the_button_is_kept_in_the_history(site: Site) -> None:
    name, browser = site.world.only(), site.browser("bob")
    page = browser.get(f"/findings/{name}")
    form = re.search(r'<form id="keep".*?</form>', page.body.decode(), re.DOTALL)
    assert form is not None
    assert 'name="note"' in form[0]

    chosen = {"keeper": page.field("keeper"), "note": "newest contract"}
    browser.send(f"/findings/{name}/keep", f"/findings/{name}", version=page.field("version"), **chosen)

    assert "newest contract" in browser.get(f"/findings/{name}").text


@pytest.mark.slow
def test_a_button_of_an_older_page_is_refused(site: Site) -> None:
    name, browser = site.world.only(), site.browser("bob")
    page = browser.get(f"/findings/{name}")
    keep(site.world, 3, "a@x")

    answer = browser.send(
        f"/findings/{name}/keep", f"/findings/{name}", version=page.field("version"), keeper=page.field("keeper")
    )

    assert answer.status == 409
    assert "changed since it was shown" in answer.text
    assert kept(site.world) == (3, "ada")


def test_a_choice_in_the_queue_stays_at_the_finding(site: Site) -> None:
    name, browser = site.world.only(), site.browser("bob")
    page = browser.get(f"/review?finding={name}")

    answer = browser.send(
        f"/findings/{name}/keep", "/review", version=page.field("version"), keeper=page.field("keeper"), next=""
    )

    assert answer.headers["Location"] == f"/review?finding={name}"


@pytest.mark.slow
def test_a_program_keeps_a_record_by_its_id(site: Site) -> None:
    with site.store.begin() as tx:
        token = tokens.add(tx, "of-bob", "bob", by="ada")
    name, headers = site.world.only(), {"Content-Type": "application/json"}
    program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})
    version = program.get(f"/api/v1/findings/{name}").json["version"]

    unknown = program.ask("POST", f"/api/v1/findings/{name}/keep", '{"keeper": [7, "a@x"]}', **headers)
    guessed = program.ask("POST", f"/api/v1/findings/{name}/keep", '{"keeper": [2, "a@x"]}', **headers)
    done = program.ask(
        "POST", f"/api/v1/findings/{name}/keep", f'{{"version": {version}, "keeper": [2, "•••"]}}'.encode(), **headers
    )
    late = program.ask(
        "POST", f"/api/v1/findings/{name}/keep", f'{{"version": {version}, "keeper": [3, "•••"]}}'.encode(), **headers
    )
    many = program.ask(
        "POST", "/api/v1/decisions", f'{{"decision": "keep", "findings": [{{"finding": "{name}"}}]}}', **headers
    )
    document = program.get(f"/api/v1/findings/{name}").json

    assert (unknown.status, guessed.status, done.status, late.status) == (422, 422, 200, 409)
    assert unknown.text == guessed.text
    assert "a@x" not in unknown.text + done.text
    assert many.json["not_done"] == 1
    assert (document["kept_by"], document["keeper"], document["rule_keeper"]) == ("bob", [2, "•••"], [1, "•••"])


@pytest.mark.parametrize(
    ("column", "given"), [("id", '"2"'), ("id", "2"), ("id", '["2"]'), ("code", "7"), ("code", "[7]"), ("code", '"7"')]
)
def test_a_program_names_a_record_by_a_text_or_a_number_as_the_command_line_does(
    tmp_path: Path, column: str, given: str
) -> None:
    world = World.at(tmp_path / "w", *THREE, twins=DELETE)
    world.shop.sql("ALTER TABLE customers ADD code VARCHAR(9)", "UPDATE customers SET code = id + 5")
    world.shop.sql("CREATE UNIQUE INDEX codes ON customers (code)")
    world.config["datasets"] = {"customers": {"source": "shop", "table": "customers", "id": column}}
    world.run()
    with site_of(world) as site:
        with site.store.begin() as tx:
            token = tokens.add(tx, "of-bob", "bob", by="ada")
        program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})

        answer = program.ask(
            "POST",
            f"/api/v1/findings/{world.only()}/keep",
            f'{{"keeper": {given}}}',
            **{"Content-Type": "application/json"},
        )
        document = program.get(f"/api/v1/findings/{world.only()}").json

    assert answer.status == 200, answer.text
    assert document["keeper"] == [2 if column == "id" else "7"]


def test_a_program_names_a_record_of_several_columns_by_one_text_too(site: Site) -> None:
    with site.store.begin() as tx:
        token = tokens.add(tx, "of-bob", "bob", by="ada")
    name, headers = site.world.only(), {"Content-Type": "application/json"}
    program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})

    for given in ('"2 / •••"', '["2", "•••"]'):
        answer = program.ask("POST", f"/api/v1/findings/{name}/keep", f'{{"keeper": {given}}}'.encode(), **headers)

        assert answer.status == 200, answer.text
        assert program.get(f"/api/v1/findings/{name}").json["keeper"][0] == 2


def test_the_command_line_keeps_a_record_and_says_so_everywhere(world: World) -> None:
    name = world.only()

    answer = world.command("keep", name, "2", "--note", "has the newer phone", "--json").json

    assert (answer["changed"], answer["finding"]["keeper"]) == (True, [2])
    assert "keeper chosen by" in world.command("show", name).out
    assert "has the newer phone" in world.command("show", name).out
    assert "keeper: chosen by" in world.command("plan").out
    assert world.command("plan", "--json").json[0]["keeper"] == [2]
    assert world.command("keep", name, "7").code == 2
    assert world.command("keep", name, "2").out.endswith("nothing was changed.\n")


def test_a_message_names_the_chosen_keeper_and_one_that_was_sent_before_is_corrected(world: World) -> None:
    """A button of a message must not approve another plan than the message names."""
    since = shown(world).state_since
    keep(world, 2)
    assert shown(world).state_since > since, "so that messages that show the finding are compared with it again"
    world.add((4, "a@x", "Anne"))
    world.run()
    assert "keep 2 (chosen by ada), surplus 1, 3, 4" in world.messages()

    with world.open() as application, application.store.read() as tx:
        stored = [outbox.notice_of(row) for row in tx.connection.execute(sa.select(tables.outbox.c.notice)).scalars()]
        current = [living.current(tx, application.project, notice) for notice in stored]

    told = {(group.keeper, group.surplus, group.kept_by) for notice in current for group in living.groups(notice)}
    assert told == {("2", ("1", "3", "4"), "ada")}
