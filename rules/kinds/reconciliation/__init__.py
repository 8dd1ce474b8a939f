"""kind: reconciliation. Two datasets that should agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rules.binding.fitted import Fitted
from rules.binding.rule import DatasetFacts, Rule, SettingPath
from rules.kinds.reconciliation import barren
from rules.kinds.reconciliation.model import ReconciliationRule

if TYPE_CHECKING:
    from rules.engines.base import Relation

__all__ = ["Reconciliation", "ReconciliationRule"]


class Reconciliation:
    """The kind `reconciliation`; see `rules.kinds.base.Kind`."""

    Settings = ReconciliationRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        return barren.reasons(_checked(rule), datasets)

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> Fitted:
        # Reading a configuration must not load the engines.
        from rules.binding import consulting  # noqa: PLC0415 - see above
        from rules.kinds.reconciliation.detection import FittedReconciliation  # noqa: PLC0415 - see above

        return consulting.fitted(_checked(rule), relations, FittedReconciliation.of)


def _checked(rule: Rule) -> ReconciliationRule:
    if not isinstance(rule, ReconciliationRule):
        raise TypeError(f"a rule of kind {rule.kind} is not of kind reconciliation")
    return rule
