"""Groups join, part, vanish and return; their rule is renamed: what people decided about records stays as they left it.

A machine with records on a line: those next to each other are one group. Each is worth its own power of two, so a sum
says which records it counts.
"""

import datetime as dt
import itertools
import random
import shutil
import tempfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reconcile.audit.proof import prove
from reconcile.decisions import decide, keeper
from reconcile.findings.identity import RuleIdentity
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.store import overview
from rules.engines.base import MoneyColumns
from rules.groups.group import DuplicateGroup, Member
from tests.support.findings import SPAN, FindingsOffice, ids
from tests.support.store import NOON

pytestmark = pytest.mark.slow

RECORDS = range(1, 8)
_PRICED = {None: MoneyColumns("amount", currency="EUR")}


def worth(records: set[int]) -> Decimal:
    return Decimal(sum(2**record for record in records))


class Decided(RuleBasedStateMachine):
    """The model knows which surplus was handled, which records were dismissed, and which one was chosen."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.office = FindingsOffice.new("sqlite:///state.db", self.folder)
        self.rule: RuleIdentity = SPAN
        self.names = 0
        self.present = set(RECORDS) - {3, 6}
        self.handled: dict[frozenset[int], Decimal] = {}
        self.home: dict[frozenset[int], str] = {}
        self.chosen: set[int] = set()
        self.run()

    def teardown(self) -> None:
        if hasattr(self, "office"):
            for finding in self.office.all():
                self.take_back(finding.id)
            assert self.handled_money() == 0, "every decision can be taken back"
            assert prove(self.office.store, {}).intact
            self.office.store.close()
            shutil.rmtree(self.folder)

    @rule(record=st.sampled_from(RECORDS))
    def come_or_go(self, record: int) -> None:
        self.present ^= {record}
        self.run()

    @rule()
    def rename(self) -> None:
        self.names += 1
        self.rule = replace(self.rule, name=f"rule-{self.names}", was=self.rule.name)
        self.run()

    @precondition(lambda self: self.open())
    @rule(choice=st.randoms(use_true_random=False))
    def handle(self, choice: random.Random) -> None:
        finding = choice.choice(self.open())
        decide.handle(self.office.store, finding.id, actor="ada")
        records = frozenset(int(str(name)) for name in ids(finding.members))
        partly = sum((money for inside, money in self.handled.items() if self.into(inside) == finding.id), Decimal(0))
        self.handled = {inside: money for inside, money in self.handled.items() if self.into(inside) != finding.id}
        self.handled[records] = partly + finding.money["EUR"]
        self.home[records] = finding.id
        self.run()

    @precondition(lambda self: self.open())
    @rule(choice=st.randoms(use_true_random=False))
    def choose(self, choice: random.Random) -> None:
        finding = choice.choice(self.open())
        member = choice.choice(finding.members)
        with self.office.store.begin() as tx:
            keeper.choose(tx, finding, keeper.KeeperChoice(replace(member, chosen_by="ada")), by="ada", note=None)
        self.chosen -= {int(str(name)) for name in ids(finding.members)}
        self.chosen.add(int(str(member.id[0])))

    @precondition(lambda self: any(finding.state is State.HANDLED for finding in self.office.all()))
    @rule(choice=st.randoms(use_true_random=False))
    def reopen(self, choice: random.Random) -> None:
        handled = [finding for finding in self.office.all() if finding.state is State.HANDLED]
        finding = choice.choice(handled)
        before = self.handled_money()
        decide.reopen(self.office.store, finding.id, actor="ada")
        assert self.handled_money() == before - finding.money["EUR"]
        self.handled = {inside: money for inside, money in self.handled.items() if self.into(inside) != finding.id}
        self.run()

    def into(self, records: frozenset[int]) -> str:
        """The finding that has the decision about these records now."""
        name = self.home[records]
        while (finding := self.office.get(name)).merged_into is not None:
            name = finding.merged_into
        return name

    def take_back(self, name: str) -> None:
        finding = self.office.get(name)
        if finding.state in (State.HANDLED, State.OPEN):
            decide.reopen(self.office.store, name, actor="ada")
        assert name in {each.id for each in self.office.all()}

    def open(self) -> list[Finding]:
        return [finding for finding in self.office.all() if finding.state is State.OPEN]

    def run(self) -> None:
        self.office.record(*self.groups(), rule=self.rule)
        again = self.office.record(*self.groups(), rule=replace(self.rule, was=None))
        assert (again.new, again.grown, again.reopened, again.resolved, again.merged) == (0, 0, 0, 0, 0)

    def groups(self) -> list[DuplicateGroup]:
        runs = [
            [record for _, record in pairs]
            for _, pairs in itertools.groupby(enumerate(sorted(self.present)), lambda pair: pair[1] - pair[0])
        ]
        return [self.group(run) for run in runs if len(run) > 1]

    def group(self, records: list[int]) -> DuplicateGroup:
        first, *surplus = (
            Member((record,), {"id": record, "order": "A", "amount": Decimal(2**record)}) for record in records
        )
        money = {"EUR": worth(set(records[1:]))}
        return DuplicateGroup(
            {"order": "A"}, first, tuple(surplus), money=money, span=(records[0], records[0]), priced=_PRICED
        )

    def handled_money(self) -> Decimal:
        """The sum over findings that are handled, and over the handled part of others."""
        with self.office.store.read() as tx:
            sums = [Decimal(money["EUR"]) for _, money in overview.money_handled(tx, NOON - dt.timedelta(days=1))]
        return sum(sums, Decimal(0))

    @invariant()
    def the_handled_money_is_that_of_the_decisions(self) -> None:
        if hasattr(self, "office"):
            assert self.handled_money() == sum(self.handled.values(), Decimal(0))

    @invariant()
    def each_group_has_one_finding_that_is_open_or_decided(self) -> None:
        if not hasattr(self, "office"):
            return
        shown = [set(ids(finding.members)) for finding in self.office.all() if finding.state is State.OPEN]
        of_groups = [set(ids(group.members)) for group in self.groups()]
        assert all(records in of_groups for records in shown)

    @invariant()
    def a_chosen_record_is_the_keeper_or_beside_another_chosen_one(self) -> None:
        if not hasattr(self, "office"):
            return
        for finding in self.open():
            inside = self.chosen.intersection(int(str(name)) for name in ids(finding.members))
            assert not inside or (finding.keeper is not None and finding.keeper.id[0] in inside)


TestDecided = pytest.mark.timeout(300)(Decided.TestCase)
TestDecided.settings = settings(max_examples=6, stateful_step_count=25, deadline=None)
