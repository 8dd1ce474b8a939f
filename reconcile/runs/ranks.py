"""Amounts that are personal data order no findings, or the order would tell what is masked."""

from __future__ import annotations

from reconcile.config.settings import Project
from reconcile.masking.personal import Masking
from reconcile.store import Store, finding_states
from rules.kinds.base import Rule


def hides_amounts(project: Project, rule: Rule) -> bool:
    """Return True if the amount of each finding of the rule is masked."""
    return Masking.of(project, rule.dataset, rule.name).hides_amounts


def unrank_masked(store: Store, project: Project) -> None:
    """Take masked amounts out of the order after an upgrade, which ranks all and knows no configuration."""
    masked = [name for name, rule in project.rules.items() if hides_amounts(project, rule)]
    with store.begin() as tx:
        names = finding_states.rules_with_findings(tx)
        finding_states.unrank(tx, [name for name in names if name in masked or name not in project.rules])
