"""A rule fitted to its two datasets: load them, match their records, prove the balance, build the findings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from rules.binding.fitted import FittedRule, Rows
from rules.engines.base import (
    ADDS_NOTHING,
    IdentityProblem,
    Pushed,
    Readable,
    Records,
    Relation,
    Skipped,
    Stop,
    Streamed,
)
from rules.engines.pushdown import Pushdown
from rules.groups.detection import Detection
from rules.groups.group import Group
from rules.groups.sample import Sample
from rules.kinds.reconciliation import matching, members, near_misses, pulling, settling, totals, units, words
from rules.kinds.reconciliation.accounts import Account, RecordSums, accounts, proven
from rules.kinds.reconciliation.bound import BoundReconciliation
from rules.kinds.reconciliation.findings import Reporter
from rules.kinds.reconciliation.fitting import fitted
from rules.kinds.reconciliation.model import FORMS, ReconciliationRule
from rules.kinds.reconciliation.outcomes import CODES, NOT_YET_DUE, Outcomes
from rules.kinds.reconciliation.pulling import Settled
from rules.kinds.reconciliation.statements import Statements, texts
from rules.kinds.reconciliation.stored import OUTSIDE, OUTSIDE_UNKNOWN, SideTable
from rules.kinds.reconciliation.workspace import Workspace
from rules.values.packed import Packed


class FittedReconciliation(FittedRule[BoundReconciliation]):
    """A rule of this kind with its datasets."""

    @classmethod
    def of(cls, rule: ReconciliationRule, relations: Mapping[str, Relation]) -> FittedReconciliation:
        """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
        return cls(fitted(rule, relations))

    def obstacle(self, dialect: str) -> str | None:
        return settling.obstacle(self.bound, dialect)

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        bound = self.bound
        local, pushed = _divided(records)
        if not pushed:
            with Workspace(bound, local, slot, memory, temp, stop) as workspace:
                return _Run(bound, workspace, slot).detection()
        self.refuse_obstacle(_dialect(pushed))
        pulled = pulling.pulled(bound, pushed, slot)
        with Workspace(bound, pulled.records, slot, memory, temp, stop) as workspace:
            detection = _Run(bound, workspace, slot, pulled.settled).detection()
        return replace(detection, engine=Pushdown.name, statements=pulling.texts(bound, pushed, slot))

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        _, pushed = _divided(records)
        if pushed:
            self.refuse_obstacle(_dialect(pushed))
            return pulling.texts(self.bound, pushed, slot)
        tables = [SideTable(self.bound, side, slot) for side in self.bound.sides]
        return texts(self.bound, tables)

    def describe(self) -> Mapping[str, Sequence[str]]:
        return words.describe(self.bound)

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        return words.samples(self.bound, dataset, rows, slot)


def _dialect(pushed: Mapping[str, Pushed]) -> str:
    return next(iter(pushed.values())).dialect


def _divided(records: Mapping[str, Records]) -> tuple[Mapping[str, Streamed | Readable], Mapping[str, Pushed]]:
    """Return the datasets that are read here, and those inside a database."""
    pushed = {name: each for name, each in records.items() if isinstance(each, Pushed)}
    return {name: each for name, each in records.items() if not isinstance(each, Pushed)}, pushed


@dataclass(frozen=True)
class _Answer:
    """What became of the records; `groups` are built when they are read."""

    groups: Iterator[Group]
    accounts: tuple[Account, Account]
    matched: int
    not_yet_due: int = 0
    interchangeable: int = 0


@dataclass(frozen=True)
class _Run:
    """One detection, once the records of both sides are loaded."""

    bound: BoundReconciliation
    workspace: Workspace
    slot: dt.datetime
    settled: Settled | None = None

    def detection(self) -> Detection:
        bound, workspace, settled = self.bound, self.workspace, self.settled
        states: Sequence[Mapping[int, int]] = [
            {int(state): int(records) for state, records in workspace.rows(table.states())}
            for table in workspace.tables
        ]
        identity = self._identity(states) if settled is None else self._known_identity(settled)
        statements = matching.prepared(workspace, bound)
        answer = self._totals(statements) if bound.rule.totals else self._matched(statements, states)
        states = states if settled is None else settled.states
        names = [side.relation.dataset for side in bound.sides]
        has_money = all(side.relation.money for side in bound.sides)
        left, right = answer.accounts
        balance = proven(bound.rule.name, names, left, right, bound.rule.report, has_money=has_money)
        skipped = [table.skipped(of_side) for table, of_side in zip(workspace.tables, states, strict=True)]
        skipped += (
            [
                self._unpriced(table, account.total)
                for table, account in zip(workspace.tables, answer.accounts, strict=True)
            ]
            if has_money
            else []
        )
        read_of = {name: sum(of_side.values()) for name, of_side in zip(names, states, strict=True)}
        scanned_of = {name: account.total.records for name, account in zip(names, answer.accounts, strict=True)}
        return Detection(
            rule=bound.rule.name,
            engine=workspace.name,
            read=sum(read_of.values()),
            scanned=left.total.records + right.total.records,
            skipped=tuple(each for of_side in skipped for each in of_side),
            groups=Packed(answer.groups),
            identity=IdentityProblem(*(sum(counts) for counts in zip(*map(astuple, identity), strict=True))),
            statements=texts(bound, workspace.tables),
            read_of=read_of,
            scanned_of={} if bound.is_of_one_dataset else scanned_of,
            identity_of={} if bound.is_of_one_dataset else dict(zip(names, identity, strict=True)),
            balance=balance,
            matched=answer.matched,
            not_yet_due=answer.not_yet_due,
            interchangeable=answer.interchangeable,
        )

    def _unpriced(self, table: SideTable, total: RecordSums) -> list[Skipped]:
        """Return how many records add nothing to the balance because they lack an amount or its currency."""
        relation, money = table.side.relation, table.side.relation.money
        dataset = None if self.bound.is_of_one_dataset else relation.dataset
        counts = {money.amount: total.no_amount, money.currency_column or "": total.no_currency} if money else {}
        return [
            Skipped(column, ADDS_NOTHING, records, scanned=False, whole=False, dataset=dataset)
            for column, records in counts.items()
            if records
        ]

    def _matched(self, statements: Statements, states: Sequence[Mapping[int, int]]) -> _Answer:
        workspace = self.workspace
        matched = matching.matched(workspace, statements, self.bound, states)
        outcomes = near_misses.joined(workspace, statements, self.bound, matched.outcomes)
        outcomes = outcomes.with_records(lambda side, rows: units.records(workspace, statements.tables[side], rows))
        waiting = int((outcomes.forms[outcomes.members.number] == CODES[NOT_YET_DUE]).sum())
        for agreed, sums in zip(matched.agreed, self.settled.sums if self.settled else (), strict=False):
            agreed.plus(sums)
        keys, totals = (self.settled.keys, self.settled.totals) if self.settled else (0, None)
        both = accounts(workspace, outcomes, matched.agreed, totals)
        groups = self._groups(statements, outcomes)
        return _Answer(groups, both, outcomes.matched + keys, waiting, outcomes.interchangeable)

    def _totals(self, statements: Statements) -> _Answer:
        summed = totals.summed(self.workspace, statements, self.bound)
        groups = summed.groups(self.workspace, statements, self.slot)
        return _Answer(groups, summed.accounts, summed.matched)

    def _identity(self, states: Sequence[Mapping[int, int]]) -> Sequence[IdentityProblem]:
        """Return the records of each dataset whose id is empty, or repeats another's."""
        problems = []
        for table, of_side in zip(self.workspace.tables, states, strict=True):
            problem = IdentityProblem()
            if table.side.relation.id:
                records = sum(count for state, count in of_side.items() if state not in (OUTSIDE, OUTSIDE_UNKNOWN))
                named, different = self.workspace.ids(table, records)
                problem = IdentityProblem(records - named, named - different)
                table.has_unique_ids = named == different
            problems.append(problem)
        return problems

    def _known_identity(self, settled: Settled) -> Sequence[IdentityProblem]:
        for table, problem in zip(self.workspace.tables, settled.identity, strict=True):
            table.has_unique_ids = bool(table.side.relation.id) and not problem.repeated
        return settled.identity

    def _groups(self, statements: Statements, outcomes: Outcomes) -> Iterator[Group]:
        """Build the findings to report, by key."""
        reported = outcomes.only([CODES[form] for form in self.bound.rule.report])
        forms, reasons, reporter = reported.forms.tolist(), reported.reasons, Reporter(self.bound)
        order = members.in_order(self.workspace, statements, reported.members, reported.size)
        for number, sides in members.read(self.workspace, reported.members, order, self.slot):
            yield reporter.discrepancy(FORMS[forms[number]], sides, reasons[number])
