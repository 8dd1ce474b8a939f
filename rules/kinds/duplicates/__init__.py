"""kind: duplicates. Several records of one dataset, or of several, with the same key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rules.binding.fitted import Fitted
from rules.binding.rule import DatasetFacts, Rule, SettingPath
from rules.groups.spans import MaximumDistance
from rules.kinds.duplicates import barren
from rules.kinds.duplicates.model import DuplicatesRule

if TYPE_CHECKING:
    from rules.engines.base import Relation

__all__ = ["Duplicates", "DuplicatesRule", "MaximumDistance"]


class Duplicates:
    """The kind `duplicates`; see `rules.kinds.base.Kind`."""

    Settings = DuplicatesRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        settings = _checked(rule)
        if settings.several:
            return barren.reasons_of_several(settings, datasets)
        return barren.reasons(settings, datasets[rule.dataset])

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> Fitted:
        # Reading a configuration must not load the engines.
        from rules.binding import consulting  # noqa: PLC0415 - see above
        from rules.binding.listed import PairReader  # noqa: PLC0415 - see above
        from rules.kinds.duplicates.detection import FittedDuplicates  # noqa: PLC0415 - see above
        from rules.kinds.duplicates.several import FittedSeveral  # noqa: PLC0415 - see above

        def fit(settings: DuplicatesRule, relations: Mapping[str, Relation]) -> Fitted:
            if settings.several:
                return FittedSeveral.of(settings, relations)
            return FittedDuplicates.of(settings, relations[settings.dataset])

        settings = _checked(rule)
        return consulting.fitted(settings, relations, fit, PairReader.of if settings.listed is not None else None)


def _checked(rule: Rule) -> DuplicatesRule:
    if not isinstance(rule, DuplicatesRule):
        raise TypeError(f"a rule of kind {rule.kind} is not of kind duplicates")
    return rule
