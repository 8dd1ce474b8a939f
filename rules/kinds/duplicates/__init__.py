"""kind: duplicates. Several records of one dataset with the same key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rules.kinds.base import DatasetFacts, Rule, SettingPath
from rules.kinds.duplicates import barren
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.spans import MaximumDistance

if TYPE_CHECKING:
    from rules.engines.base import Relation
    from rules.kinds.duplicates.detection import FittedDuplicates

__all__ = ["Duplicates", "DuplicatesRule", "MaximumDistance"]


class Duplicates:
    """The kind `duplicates`; see `rules.kinds.base.Kind`."""

    Settings = DuplicatesRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        return barren.reasons(_checked(rule), datasets[rule.dataset])

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> FittedDuplicates:
        # Reading a configuration must not load the engines.
        from rules.kinds.duplicates.detection import FittedDuplicates  # noqa: PLC0415 - see above

        return FittedDuplicates.of(_checked(rule), relations[rule.dataset])


def _checked(rule: Rule) -> DuplicatesRule:
    if not isinstance(rule, DuplicatesRule):
        raise TypeError(f"a rule of kind {rule.kind} is not of kind duplicates")
    return rule
