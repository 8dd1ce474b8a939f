"""kind: check. Single records that must not be, or that must not follow the previous one: a condition, or gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rules.binding.rule import DatasetFacts, Rule, SettingPath
from rules.kinds.check import barren
from rules.kinds.check.model import CheckRule

if TYPE_CHECKING:
    from rules.binding.fitted import Fitted
    from rules.engines.base import Relation

__all__ = ["Check", "CheckRule"]


class Check:
    """The kind `check`; see `rules.kinds.base.Kind`."""

    Settings = CheckRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        return barren.reasons(_checked(rule), datasets[rule.dataset])

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> Fitted:
        # Reading a configuration must not load the engines.
        from rules.binding import consulting  # noqa: PLC0415 - see above
        from rules.kinds.check.detection import FittedCheck  # noqa: PLC0415 - see above

        def fit(settings: CheckRule, relations: Mapping[str, Relation]) -> Fitted:
            return FittedCheck.of(settings, relations[settings.dataset])

        return consulting.fitted(_checked(rule), relations, fit)


def _checked(rule: Rule) -> CheckRule:
    if not isinstance(rule, CheckRule):
        raise TypeError(f"a rule of kind {rule.kind} is not of kind check")
    return rule
