"""Check plans against the current configuration: may a plan still be executed as it was made and approved?"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from reconcile.cleaning.planning.binding import binding_of
from reconcile.config.settings import Project
from reconcile.coordination import pauses
from reconcile.findings.identity import member_name
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.journal import effects
from reconcile.schedule import retry
from reconcile.store import Transaction, finding_states
from reconcile.store import plans as stored_plans
from reconcile.store import runs as stored_runs
from reconcile.upkeep import erasure
from rules.cleaning import Caps, Policy, stricter
from rules.kinds.base import Rule


@dataclass
class Terms:
    """Answers about single rules and plans from the configuration."""

    project: Project
    _bindings: dict[str, str | None] = field(default_factory=dict)

    def rule(self, name: str) -> Rule | None:
        """Return the rule of that name if it exists and cleans."""
        rule = self.project.rules.get(name)
        return rule if rule is not None and rule.clean is not None else None

    def binding(self, name: str) -> str | None:
        """Return the binding of the rule's plans; None if the rule does not clean."""
        if name not in self._bindings:
            rule = self.rule(name)
            self._bindings[name] = None if rule is None else binding_of(self.project, rule)
        return self._bindings[name]

    def void(self, plan: Plan, target: str, policy: str) -> str | None:
        """Return why a plan is void despite any approval; None if it is valid.

        `target` identifies the source's current database; `policy` is the plan's approval policy.
        """
        if plan.target != target:
            return f"source {plan.source!r} is a different database than the one it was planned for"
        if plan.undoes is not None:
            return None
        binding = self.binding(plan.rule)
        if binding is None:
            return f"rule {plan.rule!r} no longer cleans"
        if binding != plan.binding:
            return f"rule {plan.rule!r}, its dataset or its source was edited since it was planned"
        if stricter(_policy(policy), self.asks(plan)) != policy:
            return f"rule {plan.rule!r} requires more approvals now than when it was planned"
        if policy == "none" and self._is_too_large(plan):
            return f"its group is larger than rule {plan.rule!r} allows now"
        if policy == "none" and self.cannot_count(plan):
            return "money is limited now, and part of its money cannot be counted"
        return None

    def at_least(self, policy: Policy, earlier: str) -> Policy:
        """Return the policy, or that of an earlier plan if it asks more people."""
        return stricter(_policy(earlier), policy)

    def cannot_count(self, plan: Plan) -> bool:
        """Return True if money is limited and part of the plan's money cannot be counted."""
        rule = self.rule(plan.rule)
        limited = rule is not None and (rule.limits.money or self.project.caps_of(plan.source).money)
        return bool(limited and plan.uncounted)

    def _is_too_large(self, plan: Plan) -> bool:
        rule = self.rule(plan.rule)
        limit = None if rule is None else rule.limits.caps(0).group
        return limit is not None and plan.group > limit

    def asks(self, plan: Plan) -> Policy:
        """Return the approval policy of a plan."""
        rule = self.rule(plan.rule)
        if rule is None:
            return "required"
        counted = {} if plan.uncounted else plan.money  # an uncounted part could be any amount
        money = {currency: Decimal(amount) for currency, amount in counted.items()}
        return rule.approval.asks(surplus=len(plan.surplus), records=plan.group, money=money)

    def decided(self, tx: Transaction, findings: Sequence[Finding]) -> set[str]:
        """Return the ids of those of one rule's findings that a person decided about, or about a record of theirs.

        A decision about a record may have been made in another finding, such as a discrepancy of another form. One
        about the finding counts also if its records have other names since, as after an edit of the dataset's `id`.
        """
        if not findings:
            return set()
        rule = self.project.rules[findings[0].rule]
        names = [name for name in (rule.name, rule.was) if name is not None]
        records = {finding.id: list(map(member_name, finding.members)) for finding in findings}
        decided = finding_states.decided_records(tx, names, itertools.chain.from_iterable(records.values()))
        as_a_whole = finding_states.decided_findings(tx, records) | stored_plans.decided_in_vain(tx, records)
        return as_a_whole | {name for name, members in records.items() if not decided.isdisjoint(members)}

    def policy(
        self,
        tx: Transaction,
        finding: Finding,
        plan: Plan,
        group: int | None,
        *,
        was_decided: bool,
        knows: Callable[[Plan], bool],
    ) -> Policy:
        """Return the approval policy of a plan, or "required" if it is unusual or people were asked before.

        `group` is the rule's limit for the records of a group; `knows` is True for a plan on records that were
        cleaned before.
        """
        policy = self.asks(plan)
        if policy != "none":
            return policy
        asks = finding.state is State.AWAITING or was_decided or self.is_unusual(finding, plan, group)
        asks = asks or erasure.holds_erased(tx, plan)
        asks = asks or effects.restored(tx, plan) or (knows(plan) and effects.stays_marked(tx, plan))
        return "required" if asks else "none"

    def is_unusual(self, finding: Finding, plan: Plan, group: int | None) -> bool:
        """Return True if people are asked about the plan even if its rule needs no approval."""
        rule = self.rule(plan.rule)
        fires_unknown = bool(plan.triggers) and (rule is None or rule.clean is None or rule.clean.triggers != "known")
        is_too_large = group is not None and (finding.records if plan.keeper else plan.group) > group
        is_judged = bool(finding.settled_pairs or finding.handled_pairs)
        return any((is_too_large, fires_unknown, plan.reversible == "no", self.cannot_count(plan), is_judged))

    def caps(self, tx: Transaction, rule: str) -> Caps:
        """Return the rule's limits; its share refers to the records that its last run scanned."""
        cleaning_rule = self.rule(rule)
        if cleaning_rule is None:
            return Caps(records=0)
        last_run = stored_runs.seen_before(tx, cleaning_rule.cleaned, rule, "", limit=1)
        return cleaning_rule.limits.caps(last_run[0].scanned if last_run else 0)

    def retries(self, rule: str) -> retry.Policy:
        """Return the rule's retry policy for plans proven not done."""
        configured = self.project.rules.get(rule)
        try:
            return retry.named("patient" if configured is None else configured.retry, self.project.retries)
        except KeyError:
            return retry.PATIENT

    def closed(self, tx: Transaction, source: str, rule: str) -> str | None:
        """Return why no plan of the rule runs in the source now: a pause or a maintenance window; None otherwise."""
        return pauses.closed(tx, self.project.maintenance, source=source, rule=rule, job=None)


@functools.cache
def _policy(name: str) -> Policy:
    policies: Mapping[str, Policy] = {"none": "none", "required": "required", "two_person": "two_person"}
    return policies[name]
