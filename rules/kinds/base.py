"""The interface of a rule kind. `reconcile` uses a kind only through what is here.

`Rule` answers questions about the settings alone; `Fitted` answers those that need a dataset's columns. `Kind.fit`
makes it once and loads the engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from rules.binding.fitted import Conditional, DoesNotFit, Fitted, Incremental, Neighbouring, Rows
from rules.binding.rule import DatasetFacts, Rule, SettingPath

if TYPE_CHECKING:  # a configuration is read without the engines
    from rules.engines.base import Relation

__all__ = [
    "Conditional",
    "DatasetFacts",
    "DoesNotFit",
    "Fitted",
    "Incremental",
    "Kind",
    "Neighbouring",
    "Rows",
    "Rule",
    "SettingPath",
]


class Kind(Protocol):
    """A kind of rule, registered in `rules.kinds.KINDS` or by an entry point in `reconcile.rules`."""

    @property
    def Settings(self) -> type[Rule]:  # noqa: N802 - a class, named as those of connectors, channels and actions
        """The model of the rule's settings in YAML."""

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        """Yield why the settings let the rule find nothing: the path of a setting, and a sentence about it."""

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> Fitted:
        """Fit a rule to its datasets, given by name. Raises DoesNotFit with every mistake."""
