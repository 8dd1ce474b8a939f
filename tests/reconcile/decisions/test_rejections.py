"""A rejected plan stays rejected, also when somebody approves, or a run plans, at the same moment."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from reconcile.cleaning import cleaning
from reconcile.decisions.refusals import NothingProposed, PlanRejected
from reconcile.findings.states import PlanState
from reconcile.journal import effects
from tests.support.store import Program
from tests.support.world import DELETE, World

pytestmark = pytest.mark.slow

ROUNDS = 16
TWINS = ((1, "a@x", "Anna"), (2, "a@x", "Ann"))
DECIDE = """
import time
from pathlib import Path
from reconcile import config
from reconcile.app import Application
from connectors.errors import ConnectorError
from reconcile.errors import Refused, Wrong
from reconcile.store.errors import StoreLocked
what, actor = wait().split()
with Application(config.load(Path(root) / "reconcile.yaml", {})) as application:
    decisions = application.decisions(actor)
    print("open")
    while (told := wait()) != "end":
        finding, seconds = told.split()
        time.sleep(float(seconds))
        try:
            answer = getattr(decisions, what)(finding)
            print("yes" if answer.ok else "no", answer.sentence)
        except (Wrong, Refused, StoreLocked) as error:
            print("no", type(error).__name__, error)
print("over")
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def state(request: pytest.FixtureRequest) -> dict[str, str]:
    """The `state` of a configuration, in each database it can be kept in."""
    return {} if request.param == "sqlite" else {"state": request.getfixturevalue("postgres_url")}


def approving_and_rejecting(world: World, findings: list[str], waits: Callable[[int], float]) -> Iterator[list[str]]:
    """What an approver and a rejecter are told who decide about the same finding at the same moment."""
    programs = [Program(DECIDE, "", world.folder) for _ in range(2)]
    for program, who in zip(programs, ("approve anna", "reject bob"), strict=True):
        program.ready().go()
        program._pipe.send(who)
        assert program.line() == "open"
    for number, finding in enumerate(findings):
        for program, seconds in zip(programs, (waits(number), 0.0), strict=True):
            program._pipe.send(f"{finding} {seconds}")
        yield [program.line() for program in programs]
    for program in programs:
        program._pipe.send("end")
        assert program.end() == "over"


def test_of_an_approval_and_a_rejection_at_the_same_moment_one_holds(state: dict[str, str], tmp_path: Path) -> None:
    """Whatever the moment: where the rejecter hears yes, nothing is carried out."""
    pairs = [(2 * n + twin, f"{n}@x", "Anna") for n in range(1, ROUNDS + 1) for twin in (0, 1)]
    world = World.at(tmp_path / "w", *pairs, config=state, twins=DELETE)
    world.run()
    findings = sorted(world.findings())
    assert len(findings) == ROUNDS

    heard: Counter[tuple[str, str]] = Counter()
    for finding, (approver, rejecter) in zip(
        findings, approving_and_rejecting(world, findings, lambda number: number * 0.004), strict=True
    ):
        says = (approver.partition(" ")[0], rejecter.partition(" ")[0])
        heard[says] += 1
        now = world.findings()[finding]
        assert says in {("yes", "no"), ("no", "yes")}, (approver, rejecter)
        assert now == ("cleaned" if says[0] == "yes" else "open"), (approver, rejecter)

    gone = 2 * ROUNDS - len(world.shop.ids())
    assert gone == heard["yes", "no"]
    assert heard["no", "yes"], "no round was rejected: the moments do not meet"


def test_a_rejected_plan_is_approved_only_by_whoever_knows_that_it_was_rejected(
    state: dict[str, str], tmp_path: Path
) -> None:
    world = World.at(tmp_path / "w", *TWINS, config=state, twins=DELETE)
    world.run()
    with world.decisions("bob") as decisions:
        decisions.reject(world.only(), note="that is my mother")

    with pytest.raises(PlanRejected, match="bob rejected this plan on"):
        world.approve(world.only())
    assert (world.shop.ids(), world.findings()) == ([1, 2], {world.only(): "open"})
    assert len(world.plans()) == 1

    assert world.approve(world.only(), overrule=True).ok
    assert world.shop.ids() == [1]
    assert "rejection.overruled" in world.events()
    assert world.intact()


def test_another_plan_than_the_rejected_one_is_approved_as_ever(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWINS, twins=DELETE)
    world.run()
    with world.decisions("bob") as decisions:
        decisions.reject(world.only())
    with closing(sqlite3.connect(world.folder / "shop.db")) as shop:
        shop.execute("UPDATE customers SET name = 'Anne' WHERE id = 2")
        shop.commit()
    world.run()

    assert world.approve(world.only()).ok
    assert world.shop.ids() == [1]


def test_a_run_that_plans_while_somebody_rejects_does_not_propose_the_same_plan_again(
    state: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rejection comes after the run looked at what was rejected, and before it proposes."""
    world = World.at(tmp_path / "w", *TWINS, config=state, twins=DELETE)
    world.run()
    finding = world.only()
    rejecter = threading.Thread(target=lambda: _reject(world, finding))
    propose = effects.propose

    def and_meanwhile(*given: Any, **named: Any) -> list[str]:
        if rejecter.ident is None:
            rejecter.start()
            rejecter.join(2)
        return propose(*given, **named)

    monkeypatch.setattr(cleaning.effects, "propose", and_meanwhile)
    world.run()
    rejecter.join()
    monkeypatch.undo()
    world.run()

    assert world.findings() == {finding: "open"}
    assert {plan.state for plan in world.plans()} == {PlanState.SKIPPED}


def _reject(world: World, finding: str) -> None:
    with world.decisions("bob") as decisions, suppress(NothingProposed):
        decisions.reject(finding)
