"""The suggestion for a dataset: its settings with the reasons for them, and rules with what they find now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from reconcile.documents import JsonObject
from reconcile.profiling.likeness import Likeness
from reconcile.profiling.trials import KeyChoice, TooCommon


@dataclass(frozen=True)
class Setting:
    """A setting and why it is suggested. One that `is_open` needs a person's answer and is only a comment."""

    name: str
    value: Any
    why: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class SuggestedRule:
    name: str
    choice: KeyChoice


@dataclass(frozen=True)
class SuggestedLikeness:
    """A rule that finds records written differently."""

    name: str
    likeness: Likeness


@dataclass(frozen=True)
class SuggestedDataset:
    """A dataset with its number of records. `types` are types of columns; `remarks` are sentences without a setting.

    `idle` is the most plausible rule that finds nothing now. `alike` finds records that no other rule finds.
    """

    name: str
    records: int
    settings: Sequence[Setting]
    types: Sequence[Setting] = ()
    rules: Sequence[SuggestedRule] = ()
    common: Sequence[TooCommon] = ()
    remarks: Sequence[str] = ()
    idle: SuggestedRule | None = None
    alike: SuggestedLikeness | None = None

    @property
    def has_rules(self) -> bool:
        return bool(self.rules) or self.alike is not None

    @property
    def rule_names(self) -> frozenset[str]:
        alike = () if self.alike is None else (self.alike,)
        return frozenset(rule.name for rule in (*self.rules, *alike))


@dataclass(frozen=True)
class NewSource:
    """A source that the configuration does not have yet."""

    name: str
    settings: JsonObject


@dataclass(frozen=True)
class Suggestion:
    """All that is suggested. `source` is set if the configuration does not have it.

    `skipped` are datasets that could not be read, each with a sentence.
    """

    origin: str
    datasets: Sequence[SuggestedDataset]
    source: NewSource | None = None
    skipped: Sequence[tuple[str, str]] = field(default=())
