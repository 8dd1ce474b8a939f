"""Plan a finding because a person decides about it, and propose the plan."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from connectors.errors import ConnectorError
from connectors.target import Target
from reconcile.audit import log
from reconcile.cleaning import cleaning
from reconcile.cleaning.execution.execute import may_answer_later
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning.planner import Planner
from reconcile.coordination import releases
from reconcile.decisions.decide import check_seen
from reconcile.decisions.refusals import PlanRejected, RuleDoesNotClean
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event
from reconcile.journal import effects, ownership
from reconcile.people.roles import Role
from reconcile.store import Store, Transaction, approvals
from reconcile.store import findings as stored_findings
from reconcile.store.approvals import Approval
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition
from rules.cleaning import Policy
from rules.kinds.base import Rule


@dataclass(frozen=True)
class Proposing:
    """The decisions of one person, with everything that planning and execution need.

    `system` is the operating system's user who says that `actor` is their name.
    """

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    planner: Planner
    actor: str
    sleep: Callable[[float], None] = lambda _: None
    patience: dt.timedelta = dt.timedelta(seconds=5)
    system: str | None = None
    role: Role = Role.ADMIN
    sees_personal: bool = True

    @contextmanager
    def logging_refusal(self, decision: str, scope: str) -> Iterator[None]:
        """Record in the audit log that a database did not let a person decide; the error goes on to them.

        `scope` is what the decision is about: a finding, or "run …" or "plan …" for an undo.
        """
        try:
            yield
        except (ConnectorError, ownership.OwnershipRefused) as error:
            with self.store.begin() as tx:
                body = {"decision": decision, "finding": scope, "why": str(error)}
                log.append(tx, self.actor, "decision.refused", scope, body)
            raise

    def cleaning_rule(self, finding: Finding) -> Rule:
        """Return the finding's rule, which has `clean`. Raises RuleDoesNotClean."""
        rule = self.terms.rule(finding.rule)
        if rule is None:
            raise RuleDoesNotClean(finding)
        return rule

    def plan(self, finding: Finding, rule: Rule, *, overrule: bool) -> None:
        """Make and propose a plan for a finding that has none. Raises PlanRejected, FindingChanged."""
        plan = self.planner.of(rule).plan(finding)
        self.must_be_ours(plan.source, plan.table)
        policy = self.terms.asks(plan)
        with self.store.begin() as tx:
            effects.lock_findings(tx, [finding.id])
            check_seen(stored_findings.lock(tx, finding.id), finding.version)
            if rejections := self.rejections(tx, plan):
                if not overrule:
                    raise PlanRejected(finding.id, rejections[-1])
                by = sorted({rejection.by for rejection in rejections})
                body = {"finding": finding.id, "plan_hash": plan.plan_hash, "rejected_by": by}
                log.append(tx, self.actor, "rejection.overruled", finding.id, body)
            name = self.propose(tx, plan, rule, "required" if policy == "none" else policy)
            progress.move(tx, [Transition(finding.id, Event.PROPOSED, name)], by=self.actor)

    def propose(self, tx: Transaction, plan: Plan, rule: Rule, policy: Policy) -> str:
        """Store a plan that waits for approval, and return its id; the finding keeps its state."""
        releases.keep(tx, self.terms.project)  # the configuration may have changed since the last run
        release, expires = self.terms.project.release, tx.now + rule.approval_expires
        [name] = effects.propose(
            tx, [plan], run=None, release=release, policy=policy, by=cleaning.ACTOR, expires=expires
        )
        return name

    def must_be_ours(self, source: str, table: str) -> None:
        """Raise an OwnershipRefused unless this state may clean the table."""
        ownership.must_be_ours(self.store, self.target(source), table)

    def must_be_ours_if_asked(self, source: str, table: str) -> None:
        """Raise an OwnershipRefused for another state's table; a database that does not answer is asked later."""
        try:
            self.must_be_ours(source, table)
        except ConnectorError as error:
            if not may_answer_later(error):
                raise

    def rejections(self, tx: Transaction, plan: Plan) -> list[Approval]:
        """Return the rejections of this plan, oldest first; columns that may drift don't count as a difference."""
        plans = approvals.rejected(tx, [plan.finding]).get(plan.finding, ())
        recorded = [
            approval for rejected in plans if rejected.is_for(plan) for approval in approvals.of(tx, rejected.id)
        ]
        return sorted(
            (approval for approval in recorded if approval.decision == "rejected"), key=lambda approval: approval.at
        )
