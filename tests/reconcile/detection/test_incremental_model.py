"""Whatever changes in a table, runs that read only what changed have the findings of runs that read all of it."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from reconcile.decisions import decide
from reconcile.findings.states import State
from tests.reconcile.detection.changing_table import FIRST, RULE, ChangingTable
from tests.support.chance import few

EXAMPLES, STEPS = (
    int(os.environ.get(name) or usual) for name, usual in (("RECONCILE_EXAMPLES", few(1, 20)), ("RECONCILE_STEPS", 9))
)
SHAPES: dict[str, dict[str, Any]] = {
    "gap": {"gap": {"minute": 3}},
    "window": {"window": {"minute": 3}},
    "near": {"gap": {"minute": 3, "amount": 4}, "having": "max(amount) - min(amount) >= 1"},
}
RULES = {"twice": RULE} | {name: RULE | shape for name, shape in SHAPES.items()}
RULES |= {"bare": {name: value for name, value in RULES["window"].items() if name != "where"}}
NUMBERS, CUSTOMERS, MINUTES = st.integers(1, 12), st.integers(1, 3), st.integers(0, 9)


class Machine(RuleBasedStateMachine):
    """Random changes; after each run both states have the same findings of every rule."""

    incremental: ChangingTable
    full: ChangingTable
    modes: Counter[str]

    @initialize()
    def begin(self) -> None:
        self.next_id, self.changes, self.pause = 1, 0, 1
        for table in (self.incremental, self.full):
            table.slot = FIRST
            table.rule, table.more = RULE, {name: rule for name, rule in RULES.items() if name != "twice"}
            (table.folder / "state.db").unlink(missing_ok=True)
        self.incremental.sql("delete from charges")
        for customer in (1, 1, 2, 3):
            self.insert(customer, "a", "old", 0)
        self.run()

    def time(self, when: str) -> str:
        dialect = self.incremental.dialect
        remembered = {"now": dialect.now, "null": "null", "late": dialect.at(-1, "second")}
        return (remembered | {"old": dialect.at(-30, "day"), "future": dialect.at(1, "day")})[when]

    def update(self, number: int, when: str, change: str, **values: Any) -> None:
        self.incremental.sql(
            f"update charges set {change}, updated_at = {self.time(when)} where id = :id", id=number, **values
        )

    @rule(
        customer=CUSTOMERS,
        email=st.sampled_from([*"ab", "A ", "ä", "Ä", None]),
        when=st.sampled_from(["now", "late", "null", "future"]),
        minute=MINUTES,
    )
    def insert(self, customer: int, email: str | None, when: str, minute: int) -> None:
        self.incremental.add((self.next_id, customer, email, self.next_id), at=self.time(when), minute=minute)
        self.next_id += 1

    @rule(number=NUMBERS, customer=CUSTOMERS, when=st.sampled_from(["now", "late"]))
    def move(self, number: int, customer: int, when: str) -> None:
        self.update(number, when, "customer = :c", c=customer)

    @rule(number=NUMBERS, minute=MINUTES, when=st.sampled_from(["now", "late"]))
    def shift(self, number: int, minute: int, when: str) -> None:
        self.update(number, when, "minute = :m", m=minute)

    @rule(number=NUMBERS, status=st.sampled_from(["ok", "void"]))
    def change(self, number: int, status: str) -> None:
        self.update(number, "now", "status = :s, amount = amount + 1", s=status)

    @rule(number=NUMBERS, more=st.integers(0, 2))
    def delete(self, number: int, more: int) -> None:
        self.incremental.sql("delete from charges where id between :id and :last", id=number, last=number + more)

    @rule(name=st.sampled_from([*RULES]), keep=st.sampled_from(["first", "last"]), minimum=st.sampled_from([2, 3]))
    def edit(self, name: str, keep: str, minimum: int) -> None:
        edited = RULES[name] | {"keep": [{keep: "id"}]} | ({} if name in ("window", "bare") else {"minimum": minimum})
        for table in (self.incremental, self.full):
            table.rule, table.more = (
                (edited, table.more) if name == "twice" else (table.rule, table.more | {name: edited})
            )

    @rule(name=st.sampled_from([*RULES]), customer=CUSTOMERS, settle=st.sampled_from([decide.dismiss, decide.handle]))
    def settle(self, name: str, customer: int, settle: Callable[..., decide.DecisionResult]) -> None:
        for table in (self.incremental, self.full):
            table.decide(name, customer, State.OPEN, settle)

    @rule(name=st.sampled_from([*RULES]), customer=CUSTOMERS, state=st.sampled_from([State.DISMISSED, State.HANDLED]))
    def reopen(self, name: str, customer: int, state: State) -> None:
        for table in (self.incremental, self.full):
            table.decide(name, customer, state, decide.reopen)

    @invariant()
    def run_now_and_then(self) -> None:
        """Run after one change, then after two and after three."""
        self.changes += 1
        if self.changes == self.pause:
            self.changes, self.pause = 0, self.pause % 3 + 1
            self.run()

    def run(self) -> None:
        outcomes, judges = (table.run_all() for table in (self.incremental, self.full))

        assert self.incremental.findings() == self.full.findings()
        for outcome, judge in zip(outcomes, judges, strict=True):
            self.modes[f"{outcome.rule} {outcome.mode}"] += 1
            assert (outcome.groups, outcome.findings, outcome.money) == (judge.groups, judge.findings, judge.money)


@pytest.fixture(params=["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("mysql", "postgresql"))])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without the table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shop.db'}"
    server = {"mysql": "mariadb_server", "postgresql": "postgres_server"}[request.param]
    url: str = request.getfixturevalue(server)
    ChangingTable(url, tmp_path).sql("drop table if exists charges")
    return url


@pytest.mark.slow
@pytest.mark.chaos
def test_findings_are_those_of_full_runs_whatever_changes(url: str, tmp_path: Path) -> None:
    Machine.modes = Counter()
    Machine.incremental = ChangingTable(url, tmp_path / "incremental").create()
    Machine.full = ChangingTable(url, tmp_path / "full", incremental=None)

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )

    print(dict(Machine.modes))
    assert all(Machine.modes[f"{name} incremental"] >= EXAMPLES for name in RULES)
