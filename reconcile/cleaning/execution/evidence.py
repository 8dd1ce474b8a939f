"""The evidence of plans that rely on records of other datasets, read again right before they are executed.

The target locks and compares the rows of a plan itself. Records of other datasets may be in another system, which no
transaction of the target reaches: they are read after the approval and before anything is sent.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from connectors.errors import ConnectorError
from connectors.target import Target
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning.planner import Planner
from reconcile.detection.subject import Subject
from reconcile.findings.plan import is_alike
from reconcile.findings.shown import Finding
from reconcile.store import Store
from reconcile.store import findings as stored_findings
from reconcile.store.plans import StoredPlan
from rules.errors import RuleError
from rules.kinds.base import Rule

CHANGED = "records that it relies on changed since it was planned"


@dataclass
class Evidence:
    """The evidence of plans. `stale` and `unread` have the reason, by plan: its records changed, or could not
    be read. `slot` is the run's, None outside of runs.
    """

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    subject: Callable[[str], Subject]
    slot: dt.datetime | None = None
    stale: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def is_of(self, rule: str) -> bool:
        """Return True if the rule's plans rely on several datasets."""
        cleaning_rule = self.terms.rule(rule)
        return cleaning_rule is not None and len(cleaning_rule.configured_datasets) > 1

    def lacks(self, plan: StoredPlan) -> bool:
        """Return True if the plan needs evidence that was not read."""
        return self._needs(plan) and plan.id not in self._seen

    def _needs(self, plan: StoredPlan) -> bool:
        return plan.undoes is None and self.is_of(plan.rule)

    def look(self, plans: Sequence[StoredPlan]) -> None:
        """Plan these again, from the current records of all datasets; no transaction may be open."""
        self.stale, self.unread, self._seen = {}, {}, set()
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
            self._seen |= {plan.id for plan in of_rule}

    def _look(self, rule: Rule, plans: Sequence[StoredPlan]) -> None:
        with self.store.read() as tx:
            findings: dict[str, Finding] = {
                finding.id: finding for finding in stored_findings.some(tx, [plan.finding for plan in plans])
            }
        planner = Planner(self.terms.project, self.subject, self.target, self.store).of(rule, self.slot)
        again = {finding.id: planned for finding, planned in planner.plans(findings.values())}
        for plan in plans:
            planned = again.get(plan.finding)
            if isinstance(planned, NotPlannable):
                self.stale[plan.id] = str(planned)
            elif planned is None or not is_alike(planned, plan.content):
                self.stale[plan.id] = CHANGED
