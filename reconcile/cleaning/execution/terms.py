"""What the configuration says now of what may be carried out: compared with what a plan was made and approved under."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from reconcile.cleaning.planning.binding import binding_of
from reconcile.config.settings import Project
from reconcile.coordination import pauses
from reconcile.findings.bundle import Bundle
from reconcile.schedule import retry
from reconcile.store import Transaction
from reconcile.store import runs as stored_runs
from rules.cleaning import Caps, Policy, stricter
from rules.kinds.base import Rule


@dataclass
class Terms:
    """The configuration, asked about single rules and plans."""

    project: Project
    _bindings: dict[str, str | None] = field(default_factory=dict)

    def rule(self, name: str) -> Rule | None:
        """The rule of that name, if it is there and cleans."""
        rule = self.project.rules.get(name)
        return rule if rule is not None and rule.clean is not None else None

    def binding(self, name: str) -> str | None:
        """What stands for all that a plan of the rule depends on; None where it does not clean."""
        if name not in self._bindings:
            rule = self.rule(name)
            self._bindings[name] = None if rule is None else binding_of(self.project, rule)
        return self._bindings[name]

    def void(self, bundle: Bundle, target: str, policy: str) -> str | None:
        """Why a plan may not be carried out any more, whatever was approved; None where it may.

        `target` is what the source's database is now, `policy` what the plan was proposed under.
        """
        if bundle.target != target:
            return f"source {bundle.source!r} is another database than the one it was planned for"
        if bundle.undoes is not None:
            return None
        binding = self.binding(bundle.rule)
        if binding is None:
            return f"rule {bundle.rule!r} does not clean any more"
        if binding != bundle.binding:
            return f"rule {bundle.rule!r}, its dataset or its source was edited since it was planned"
        if stricter(_policy(policy), self.asks(bundle)) != policy:
            return f"rule {bundle.rule!r} asks more people now than when it was planned"
        if policy == "none" and self._is_too_large(bundle):
            return f"its group is larger than rule {bundle.rule!r} allows now"
        if policy == "none" and self.cannot_count(bundle):
            return "money is limited now, and a part of its money cannot be counted"
        return None

    def cannot_count(self, bundle: Bundle) -> bool:
        """Return True if money is limited and a part of what the plan takes of it cannot be counted."""
        rule = self.rule(bundle.rule)
        limited = rule is not None and (rule.limits.money or self.project.caps_of(bundle.source).money)
        return bool(limited and bundle.uncounted)

    def _is_too_large(self, bundle: Bundle) -> bool:
        rule = self.rule(bundle.rule)
        most = None if rule is None else rule.limits.caps(0).group
        return most is not None and len(bundle.surplus) + 1 > most

    def asks(self, bundle: Bundle) -> Policy:
        """What has to happen before a plan is carried out."""
        rule = self.rule(bundle.rule)
        if rule is None:
            return "required"
        surplus = len(bundle.surplus)
        counted = {} if bundle.uncounted else bundle.money  # a part of it may be anything
        money = {currency: Decimal(amount) for currency, amount in counted.items()}
        return rule.approval.asks(surplus=surplus, records=surplus + 1, money=money)

    def caps(self, tx: Transaction, rule: str) -> Caps:
        """What the rule may change at most; its share is of what its last run scanned."""
        found = self.rule(rule)
        if found is None:
            return Caps(records=0)
        seen = stored_runs.seen_before(tx, found.dataset, rule, "", limit=1)
        return found.limits.caps(seen[0].scanned if seen else 0)

    def retries(self, rule: str) -> retry.Policy:
        """How what was proven not done is tried again."""
        found = self.project.rules.get(rule)
        try:
            return retry.named("patient" if found is None else found.retry, self.project.retries)
        except KeyError:
            return retry.PATIENT

    def closed(self, tx: Transaction, source: str, rule: str) -> str | None:
        """Why nothing of the rule is carried out in the source now: a pause, or a maintenance window."""
        return pauses.closed(tx, self.project.maintenance, source=source, rule=rule, job=None)


@functools.cache
def _policy(name: str) -> Policy:
    known: Mapping[str, Policy] = {"none": "none", "required": "required", "two_person": "two_person"}
    return known[name]
