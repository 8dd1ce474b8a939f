"""Plan findings: the one way to a plan, for runs, dry runs, approvals and `reconcile plan`.

So the same findings and rows give the same plan, whoever asks.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from connectors.target import Cells, Target
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.planning.binding import binding_of
from reconcile.cleaning.planning.members import cleaned_members
from reconcile.cleaning.planning.plan import CHUNK, PlanningContext, make, make_many, read_rows
from reconcile.config.settings import Project
from reconcile.detection.detect import Budget
from reconcile.detection.subject import Subject, subjects_of
from reconcile.findings.identity import record_of
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding, FindingMember
from reconcile.journal import effects, holds
from reconcile.store import Store
from rules.kinds.base import Rule


@dataclass(frozen=True)
class Planner:
    """Plans for the rules of a project. `store` is None if there is no state yet."""

    project: Project
    subject: Callable[[str], Subject]
    target: Callable[[str], Target]
    store: Store | None

    def of(self, rule: Rule, slot: dt.datetime | None = None, run: str = "") -> RulePlanner:
        """Open the datasets and the target of a rule that cleans, with the target's current catalogue.

        Everything is read where records are changed, never from a replica.

        `slot` is the value of `slot()` in its conditions, by default the store's time. `run` is the id of the run that
        plans, empty outside of runs. Raises TargetRefused, ConnectorError, StoreError.
        """
        slot = slot or self._now()
        subjects = {name: subject.at_primary() for name, subject in subjects_of(rule, self.subject, slot).items()}
        target = self.target(self.project.datasets[rule.cleaned].source)
        tools = PlanningContext.of(target, subjects, rule, slot, binding=binding_of(self.project, rule))
        tools = replace(tools, budget=Budget(f"{self.project.memory // 1_000_000}MB"), store=self.store, run=run)
        if self.store is None:
            return RulePlanner(tools)
        journal = JournalGenerations(self.store, tools.identity, tools.catalogue.table)
        return RulePlanner(replace(tools, generations=journal, secret=self.store.key), journal)

    def _now(self) -> dt.datetime:
        if self.store is None:
            return dt.datetime.now(dt.UTC)
        with self.store.read() as tx:
            return tx.now


@dataclass(frozen=True)
class RulePlanner:
    """Plans findings of one rule. `journal` is None if there is no state yet."""

    tools: PlanningContext
    journal: JournalGenerations | None = None

    def plans(self, findings: Iterable[Finding]) -> Iterator[tuple[Finding, Plan | NotPlannable]]:
        """Yield each finding with its plan, or with the reason why there is none; rows are read in chunks.

        Raises ConnectorError if the target fails.
        """
        for chunk in in_chunks(findings, CHUNK):
            if self.journal is not None:
                self.journal.look(member for each in chunk for member in cleaned_members(each, self.tools.rule))
            for finding, (_, plan) in zip(chunk, make_many(chunk, self.tools), strict=True):
                yield finding, plan

    def plan(self, finding: Finding) -> Plan:
        """Return the plan for one finding. Raises NotPlannable with the reason if there is none; ConnectorError."""
        return make(finding, self.tools)

    def cells(self, finding: Finding) -> dict[str, Cells]:
        """Return the current cells of the finding's records, by name, without missing ones. Raises NotPlannable if they
        are too many; ConnectorError."""
        rows = read_rows(finding, self.tools)
        names = (record_of(member.id) for member in cleaned_members(finding, self.tools.rule))
        return {name: row.cells for name, row in zip(names, rows, strict=True) if row is not None}

    def knows(self, plan: Plan) -> bool:
        """Return True if the journal may know the plan's keeper; most records are unknown to it."""
        if not plan.keeper:
            return False
        return self.journal is None or holds.name_of(plan.table, plan.keeper) in self.journal

    @property
    def asks(self) -> str | None:
        """Why people are asked about each of the plans that were made, as a clause; None if nothing says so."""
        return self.tools.asking.asks

    @property
    def bound(self) -> str:
        """The rule's binding in this target and schema; the first run under a new one only reports."""
        return self.tools.bound


@dataclass
class JournalGenerations:
    """Generations of effects by record, as the journal knows them. Call `look` first for many records."""

    store: Store
    target: str
    table: str
    _looked: frozenset[str] = frozenset()
    _known: frozenset[str] = frozenset()

    def look(self, members: Iterable[FindingMember]) -> None:
        """Look up these records of the table at once: most are unknown to the journal."""
        names = [holds.name_of(self.table, record_of(member.id)) for member in members]
        with self.store.read() as tx:
            self._known = frozenset(effects.known(tx, self.target, names))
        self._looked = frozenset(names)

    def __contains__(self, name: str) -> bool:
        """Return True if the journal knows this record, or if it was not looked up."""
        return name in self._known or name not in self._looked

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
        names = {name for _, name in pairs}
        if names <= self._looked and names.isdisjoint(self._known):
            return dict.fromkeys(pairs, 1)
        with self.store.read() as tx:
            return effects.generations(tx, self.target, pairs)
