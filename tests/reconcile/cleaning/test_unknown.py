"""Plans that were damaged or have an unknown outcome: others go on, and a person has a way out."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.errors import SourceUnreachable
from connectors.sql.source import SqlSource
from connectors.target import TargetError, TransactionOutcome
from reconcile import points
from reconcile.cleaning.undo import AnotherTarget
from reconcile.findings.states import PlanState
from reconcile.journal import effects
from reconcile.store import tables
from tests.reconcile.journal.journal import STATE, TTL, Journal, plan
from tests.support.world import DELETE, TWO, World, asking, commit_unanswered

pytestmark = pytest.mark.slow

__all__ = ["asking"]


def tamper(world: World, finding: str | None = None) -> None:
    """Somebody edits plans in the state database."""
    where = "" if finding is None else f" WHERE finding = '{finding}'"
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute(f"UPDATE plans SET content = replace(content, 'Ann', 'Eve'){where}")
        connection.commit()


def test_the_finding_of_a_damaged_plan_goes_into_quarantine_with_it_and_has_a_way_out(asking: World) -> None:
    asking.approve(asking.only(), later=True)
    tamper(asking)

    asking.run()
    assert ([item.state for item in asking.plans()], asking.shop.ids()) == ([PlanState.QUARANTINED], [1, 2, 3])
    assert asking.findings() == {asking.only(): "quarantined"}

    with asking.decisions() as decisions:
        decisions.judge(asking.only(), "abandon")
        assert decisions.retry(asking.only()).ok
    assert (asking.findings(), asking.shop.ids()) == ({asking.only(): "cleaned"}, [1, 3])


def test_a_damaged_plan_in_doubt_keeps_no_other_from_being_settled(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, (4, "b@x", "Bo"), twins=DELETE)
    world.run()
    for name in world.findings():
        world.approve(name, later=True)

    with commit_unanswered():
        world.run()
    assert {item.state for item in world.plans()} == {PlanState.UNKNOWN}
    bad, good = sorted(world.findings())
    tamper_all = "UPDATE plans SET content = content || ' ' WHERE finding = ?"
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute(tamper_all, (bad,))
        connection.commit()
    world.bury()

    world.run()

    assert world.findings() == {bad: "quarantined", good: "cleaned"}


def test_a_plan_in_doubt_that_cannot_be_asked_about_is_in_nobodys_hand(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had it in hand would be ended as a zombie once its claim is over, though it lives and works."""
    monkeypatch.setattr(SqlSource, "remembers", lambda *_: False)
    work = SqlSource.work
    lost: list[str] = []

    def lose(reached: str) -> None:
        if reached == "target.before_commit":
            lost.append(reached)
            raise TargetError("The connection broke in COMMIT", TransactionOutcome.UNKNOWN)

    def away(self: Any, seconds: float) -> Any:
        if lost:
            raise SourceUnreachable("shop", "here", "it is away")
        return work(self, seconds)

    monkeypatch.setattr(points, "armed", lose)
    monkeypatch.setattr(SqlSource, "work", away)
    with asking.decisions() as decisions:
        answer = decisions.approve(asking.only())

    [item] = asking.plans()
    assert (answer.state, item.state, item.owner) == (PlanState.UNKNOWN, PlanState.UNKNOWN, None)


def test_what_is_in_doubt_in_a_source_that_is_away_is_not_asked_about_all_the_time(asking: World) -> None:
    with asking.killed_at("target.committed"):
        asking.approve(asking.only())
    (asking.folder / "shop.db").rename(asking.folder / "away.db")
    with asking.open() as application:
        assert application.clean_due() is not None
        assert application.clean_due() is None
    [item] = asking.plans()
    assert (item.state, item.owner) == (PlanState.UNKNOWN, None)
    (asking.folder / "away.db").rename(asking.folder / "shop.db")
    with asking.decisions() as decisions, decisions.store.begin() as tx:
        tx.connection.execute(sa.update(tables.plans).values(next_at=tx.now))

    with asking.open() as application:
        application.clean_due()
    assert asking.findings() == {asking.only(): "cleaned"}


def test_an_undo_that_a_person_says_was_done_is_done_though_it_was_never_sent(tmp_path: Path) -> None:
    """Its key was given up in doubt before, so it is not sent, but asked about."""
    journal = Journal.at(STATE, tmp_path)
    [name] = journal.propose(plan("F-1", "a"))
    journal.do(name)
    back = plan("F-1", "a", effect="delete.undo", undoes=name)
    [given_up] = journal.propose(back)
    with journal.begin() as tx:
        doubtful = effects.outcome_unknown(tx, effects.send(tx, effects.claim(tx, [given_up], ttl=TTL)).sent, "broke")
        effects.quarantined(tx, [(item, "unknown outcome") for item in doubtful])
        effects.judged(tx, given_up, "abandon", by="anna", reason="too late")
    [again] = journal.propose(replace(back, why=("again",)))
    assert [conflict.id for conflict, _ in journal.send(again).conflicts] == [again]

    with journal.begin() as tx:
        effects.judged(tx, again, "done", by="anna", reason="I looked")

    assert [journal.state(item) for item in (name, given_up, again)] == [
        PlanState.COMPENSATED,
        PlanState.FAILED,
        PlanState.SUCCEEDED,
    ]
    journal.store.close()


def outcome_unknown(folder: Path) -> World:
    """A plan was done, and whoever did it died before anybody knew."""
    world = World.at(folder, *TWO, twins=DELETE)
    world.run()
    world.approve(world.only(), later=True)

    with commit_unanswered():
        world.run()
    world.bury()
    assert world.shop.ids() == [1, 3]
    return world


def test_no_other_database_is_asked_whether_it_was_done(tmp_path: Path) -> None:
    """It would say that it has no receipt, and what was done elsewhere would count as not done."""
    world = outcome_unknown(tmp_path / "w")
    staging = World.at(tmp_path / "staging", *TWO)
    world.config["sources"] = {"shop": {"type": "sql", "url": f"sqlite:///{staging.folder}/shop.db"}}

    with world.open() as application:
        application.clean_due()

    [plan] = world.plans()
    assert (plan.state, staging.shop.ids()) == (PlanState.QUARANTINED, [1, 2, 3])
    assert "now leads to a different target" in str(plan.reason)
    assert world.findings() == {world.only(): "quarantined"}
    with world.decisions() as decisions:
        assert decisions.judge(world.only(), "done").ok
    assert (world.findings(), world.intact()) == ({world.only(): "cleaned"}, True)


@pytest.mark.parametrize("how", ["run", "serve"])
def test_a_person_is_asked_about_what_is_in_doubt_in_a_source_that_was_renamed(how: str, tmp_path: Path) -> None:
    world = outcome_unknown(tmp_path / "w")
    world.config["sources"] = {"store": {"type": "sql", "url": "sqlite:///shop.db"}}
    world.config["datasets"] = {"customers": {"source": "store", "table": "customers", "id": "id"}}

    with world.open() as application:
        if how == "run":
            application.run("nightly")
        else:
            application.clean_due()

    with world.decisions() as decisions:
        [item] = decisions.quarantined()
        assert "is no longer in the configuration" in str(item.reason)
        assert decisions.judge(item.id, "done").ok
    assert (world.findings(), world.intact()) == ({world.only(): "cleaned"}, True)


def test_nothing_is_said_to_be_taken_back_because_another_database_never_lost_it(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    world.approve(world.only())
    staging = World.at(tmp_path / "staging", *TWO)
    world.config["sources"] = {"shop": {"type": "sql", "url": f"sqlite:///{staging.folder}/shop.db"}}

    with pytest.raises(AnotherTarget, match="Nothing was changed"):
        world.undo(world.only())
    world.config.clear()
    world.undo(world.only())

    assert world.shop.rows() == list(TWO)


def rewrite_plan(world: World, finding: str, old: str, new: str) -> None:
    """Somebody edits a plan in the state database."""
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute("UPDATE plans SET content = replace(content, ?, ?) WHERE finding = ?", (old, new, finding))
        connection.commit()


def test_a_plan_that_was_never_sent_and_was_judged_not_done_is_carried_out_and_holds_up_nothing(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, (4, "b@x", "Bo"), twins=DELETE)
    world.run()
    bad, good = sorted(world.findings())
    world.approve(bad, later=True)
    word = "Ann" if "Ann" in (world.plans(bad)[0].sealed_content or "") else "Bo"
    rewrite_plan(world, bad, word, "Eve")
    world.run()
    assert world.findings()[bad] == "quarantined"
    rewrite_plan(world, bad, "Eve", word)
    world.approve(good, later=True)

    with world.decisions() as decisions:
        decision = decisions.judge(bad, "not_done")
    world.run()

    assert (decision.ok, decision.state) == (True, PlanState.SUCCEEDED)
    assert (set(world.findings().values()), world.shop.ids(), world.intact()) == ({"cleaned"}, [1, 3], True)
