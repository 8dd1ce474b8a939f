"""Check plans against the current configuration: may a plan still be executed as it was made and approved?"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from reconcile.cleaning.planning.binding import binding_of
from reconcile.config.settings import Project
from reconcile.coordination import pauses
from reconcile.documents import JsonObject
from reconcile.findings.identity import member_name, record_of
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.journal import effects
from reconcile.masking.personal import Masking
from reconcile.schedule import retry
from reconcile.store import Transaction, finding_states
from reconcile.store import plans as stored_plans
from reconcile.store import runs as stored_runs
from reconcile.store.plans import StoredPlan
from reconcile.upkeep import erasure
from rules.cleaning import Caps, Policy, stricter
from rules.kinds.base import Rule


@dataclass
class Terms:
    """Answers about single rules and plans from the configuration."""

    project: Project
    _bindings: dict[str, str | None] = field(default_factory=dict)

    def rule(self, name: str) -> Rule | None:
        """Return the rule that has that name, or had it according to its `was`, if it exists and cleans."""
        rule = self._named(name)
        return rule if rule is not None and rule.clean is not None else None

    def _named(self, name: str) -> Rule | None:
        rules = self.project.rules
        return rules.get(name) or next((rule for rule in rules.values() if rule.was == name), None)

    def binding(self, name: str) -> str | None:
        """Return the binding of the rule's plans; None if the rule does not clean."""
        if name not in self._bindings:
            rule = self.rule(name)
            self._bindings[name] = None if rule is None else binding_of(self.project, rule)
        return self._bindings[name]

    def void(self, plan: Plan, target: str, policy: str) -> str | None:
        """Return why a plan is void despite any approval; None if it is valid.

        `target` identifies the source's current target; `policy` is the plan's approval policy.
        """
        if plan.target != target:
            return f"source {plan.source!r} leads to a different target than the one it was planned for"
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
        name = findings[0].rule
        rule = self._named(name)
        names = [name] if rule is None else list({name, rule.name, rule.was or name})
        records = {finding.id: list(map(member_name, finding.members)) for finding in findings}
        decided = finding_states.decided_records(tx, names, itertools.chain.from_iterable(records.values()))
        as_a_whole = finding_states.decided_findings(tx, records) | stored_plans.decided_in_vain(tx, records)
        as_a_whole |= _with_chosen_records(tx, findings)
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
        return self.caps_of(cleaning_rule, last_run[0].scanned if last_run else 0)

    def caps_of(self, rule: Rule, scanned: int) -> Caps:
        """Return the limits of a rule whose share refers to so many records."""
        hidden = Masking.of(self.project, rule.dataset, rule.name)
        return replace(rule.limits.caps(scanned), hides_money=hidden.hides_amounts)

    def limits_in_force(self, rule: str, source: str) -> JsonObject:
        """Return the configured limits of a rule and of its source, as plain JSON."""
        configured, of_source = self.project.rules[rule].limits, self.project.caps_of(source)
        return {
            "records": configured.records,
            "share": str(configured.share),
            "group": configured.group,
            "money": _amounts(configured.money or {}),
            "source_records": of_source.records,
            "source_money": _amounts(of_source.money),
        }

    def is_tightened(self, plan: StoredPlan) -> bool:
        """Return True if a limit is stricter now than when the plan got its last approval."""
        before = plan.approved_within
        if before is None or plan.rule not in self.project.rules:
            return False
        now = self.limits_in_force(plan.rule, plan.source)
        numbers = [name for name in now if not name.endswith("money")]
        if any(_is_less(now[name], before.get(name)) for name in numbers):
            return True
        return any(_is_stricter(now[name], before.get(name) or {}) for name in ("money", "source_money"))

    def void_by_limits(self, plan: StoredPlan) -> str | None:
        """Return why an approved plan is void if a limit was tightened since; None if it is valid, or may wait."""
        rule = self.rule(plan.rule)
        if rule is None or not self.is_tightened(plan):
            return None
        if plan.is_beyond_limits:
            return f"the limits of rule {plan.rule!r} are stricter now than when it was approved beyond them"
        group, before = rule.limits.group, plan.approved_within or {}
        if _is_less(group, before.get("group")) and plan.content.group > group:
            return f"its group is larger than rule {plan.rule!r} allows now; its limit was tightened after the approval"
        return None

    def retries(self, rule: str) -> retry.Policy:
        """Return the rule's retry policy for plans proven not done."""
        configured = self._named(rule)
        try:
            return retry.named("patient" if configured is None else configured.retry, self.project.retries)
        except KeyError:
            return retry.PATIENT

    def closed(self, tx: Transaction, source: str, rule: str) -> str | None:
        """Return why no plan of the rule runs in the source now: a pause or a maintenance window; None otherwise."""
        configured = self._named(rule)
        names = {rule} if configured is None else {rule, configured.name, configured.was or rule}
        reasons = (
            pauses.closed(tx, self.project.maintenance, source=source, rule=name, job=None) for name in sorted(names)
        )
        return next((reason for reason in reasons if reason is not None), None)


def _with_chosen_records(tx: Transaction, findings: Sequence[Finding]) -> set[str]:
    """Return the findings with a record that a person chose to keep, in any rule, and that they would not keep.

    Also those whose keeper, or a field of it, was chosen in another finding: nobody saw it beside the records that
    would go.
    """
    not_kept = {
        finding.id: {
            (member.dataset or finding.dataset, record_of(member.id))
            for member in finding.members
            if member is not finding.keeper
        }
        for finding in findings
    }
    by_dataset: dict[str, set[str]] = defaultdict(set)
    for dataset, name in itertools.chain.from_iterable(not_kept.values()):
        by_dataset[dataset].add(name)
    chosen = finding_states.chosen_records(tx, by_dataset)
    elsewhere = {finding.id for finding in findings if finding.keeper and finding.keeper.is_chosen_elsewhere}
    elsewhere |= {each.id for each in findings if any(member.gives_from_elsewhere for member in each.members)}
    return elsewhere | {name for name, records in not_kept.items() if not records.isdisjoint(chosen)}


@functools.cache
def _policy(name: str) -> Policy:
    policies: Mapping[str, Policy] = {"none": "none", "required": "required", "two_person": "two_person"}
    return policies[name]


def _amounts(money: Mapping[str, Decimal]) -> dict[str, str]:
    return {currency: str(amount) for currency, amount in sorted(money.items())}


def _is_less(now: Any, before: Any) -> bool:
    """Return True if a limit is smaller than before; None is no limit."""
    return now is not None and (before is None or Decimal(now) < Decimal(before))


def _is_stricter(now: Mapping[str, str], before: Mapping[str, str]) -> bool:
    """Return True if limits of money refuse what they did not refuse before; one that names no currency limits none."""
    if not now:
        return False
    return not before or any(Decimal(now.get(name, 0)) < Decimal(amount) for name, amount in before.items())
