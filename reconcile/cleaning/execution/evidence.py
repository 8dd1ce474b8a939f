"""Ask the rules of plans again right before the plans are executed.

The target locks and compares the rows of a plan itself. Whether the rule would still clean them depends on other
records too, which may be in another system that no transaction of the target reaches: everything is read again after
the approval and before anything is sent.
"""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from connectors.errors import ConnectorError
from connectors.target import Target
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning.asking import RuleRefuses
from reconcile.cleaning.planning.planner import Planner, RulePlanner
from reconcile.detection.subject import Subject
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.journal import effects
from reconcile.store import Store
from reconcile.store import findings as stored_findings
from reconcile.store.plans import StoredPlan
from reconcile.store.sealing import RowsUnreadable
from rules.document.mistakes import RuleError
from rules.kinds.base import Rule

CHANGED = "records that it relies on changed since it was planned"
AT_ONCE = 1_000
"""Plans whose evidence is read together, at most: a rule over a large dataset is asked once for several batches."""
HOLDS = 10.0
"""Seconds for which evidence holds, from when its reading began; older evidence is read again."""


@dataclass
class Evidence:
    """The evidence of plans. `stale` and `unread` have the reason, by plan: a run would not plan it again, or nothing
    could be read, or a run would clean nothing now. `run` and `slot` are those of the run, None outside of runs.

    `at_once`: so many plans are to be looked at next. Where that takes long, because many processes share a processor
    or plans are large, fewer are: evidence that holds no longer when it is read would be read again for each batch.
    `is_shared`: other processes execute most of the plans that were looked at, so each takes some at random.
    """

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    subject: Callable[[str], Subject]
    slot: dt.datetime | None = None
    run: str | None = None
    stale: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    at_once: int = AT_ONCE
    is_shared: bool = False
    _seen: set[str] = field(default_factory=set)
    _claimed: set[str] = field(default_factory=set)
    _read_at: float = 0.0

    def is_of(self, rule: str) -> bool:
        """Return True if the rule cleans, so that its plans rely on its answer."""
        return self.terms.rule(rule) is not None

    def lacks(self, plan: StoredPlan) -> bool:
        """Return True if the plan needs evidence that was not read."""
        return self._needs(plan) and plan.id not in self._seen

    def _needs(self, plan: StoredPlan) -> bool:
        return plan.undoes is None and self.is_of(plan.rule)

    def holds(self, due: Sequence[str], batch: int) -> bool:
        """Return True if the evidence of the next batch of due plans was read a moment ago."""
        if time.monotonic() - self._read_at > HOLDS:
            return False
        return not self._seen.isdisjoint(due) if self.is_shared else self._seen.issuperset(due[:batch])

    def next(self, due: Sequence[str], batch: int) -> Sequence[str]:
        """Return which of the due plans to look at next."""
        others = len(self._seen.difference(due, self._claimed))
        self.is_shared = others > len(self._claimed) or (self.is_shared and others > 0)
        most = max(self.at_once, batch)
        return random.sample(due, min(most, len(due))) if self.is_shared else due[:most]

    def prefer(self, due: Sequence[str], batch: int) -> Sequence[str]:
        """Return the batch of due plans to claim: where plans are shared, those that were looked at."""
        seen = [name for name in due if name in self._seen] if self.is_shared else []
        return (seen or due)[:batch]

    def claims(self, plans: Collection[str]) -> None:
        """Note plans that this process executes."""
        self._claimed |= set(plans)

    def look(self, plans: Sequence[StoredPlan]) -> None:
        """Plan these again, from the current records of all datasets; no transaction may be open."""
        self.stale, self.unread, self._seen, self._claimed = {}, {}, {plan.id for plan in plans}, set()
        self._read_at = time.monotonic()
        by_rule: dict[str, list[StoredPlan]] = {}
        for plan in filter(self._needs, plans):
            by_rule.setdefault(plan.rule, []).append(plan)
        for name, of_rule in by_rule.items():
            rule = self.terms.rule(name)
            assert rule is not None  # noqa: S101 - only such plans are here
            try:
                self._look(rule, of_rule)
            except (ConnectorError, RuleError) as error:
                self.unread |= {plan.id: str(error) for plan in of_rule}
        took = time.monotonic() - self._read_at
        self.at_once = len(plans) // 2 if took > HOLDS / 2 else min(2 * self.at_once, AT_ONCE)

    def _look(self, rule: Rule, plans: Sequence[StoredPlan]) -> None:
        with self.store.read() as tx:
            findings: dict[str, Finding] = {
                finding.id: finding for finding in stored_findings.some(tx, [plan.finding for plan in plans])
            }
        planner = Planner(self.terms.project, self.subject, self.target, self.store).of(rule, self.slot, self.run or "")
        again = {finding.id: planned for finding, planned in planner.plans(findings.values())}
        stale: dict[str, str] = {}
        for plan in plans:
            planned = again.get(plan.finding)
            if isinstance(planned, RuleRefuses):
                self.unread[plan.id] = str(planned)
            elif (reason := _why_stale(plan, planned, planner)) is not None:
                stale[plan.id] = reason
        done = self._done_before([plan for plan in plans if plan.id in stale])
        self.stale |= {name: reason for name, reason in stale.items() if name not in done}

    def _done_before(self, plans: Sequence[StoredPlan]) -> set[str]:
        """Return the plans that the target remembers as done, although a restored state does not."""
        done = set()
        for plan in plans:
            keys = effects.keys_of(self.store, plan.target, plan.content)
            if self.target(plan.source).receipts(keys, plan.content.table):
                done.add(plan.id)
        return done


def _why_stale(plan: StoredPlan, planned: Plan | NotPlannable | None, planner: RulePlanner) -> str | None:
    """Return why the plan would not be made as it is now; a damaged one is left to the claim, which sets it aside."""
    if not _is_readable(plan):
        return None
    if isinstance(planned, NotPlannable):
        return str(planned)
    if planned is None or _decided(planned) != _decided(plan.content):
        return CHANGED
    return None if planner.asks is None else f"approval is needed again, because {planner.asks}"


def _is_readable(plan: StoredPlan) -> bool:
    try:
        return plan.content is not None
    except RowsUnreadable:
        return False


def _decided(plan: Plan) -> tuple[object, ...]:
    """Return what the rule decides: which record stays, what happens to which others, and on what evidence.

    The target compares all rows of the plan itself, under lock, and names the columns that changed.
    """
    operations = {(operation.record, operation.effect) for operation in plan.operations}
    return plan.keeper, operations, plan.evidence, plan.calls
