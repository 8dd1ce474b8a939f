"""Groups of the records of one dataset, which have equal keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from rules.engines.base import MoneyColumns
from rules.groups.ids import Keyed, identified
from rules.groups.keyed import Grouping, Key
from rules.groups.money import money_at_risk
from rules.groups.settings import SingleDatasetSettings
from rules.normalise import chain_function
from rules.pairs.record import Record
from rules.values import Value


@dataclass(frozen=True)
class DatasetGrouping(Grouping):
    """Build groups of the records of one dataset."""

    bound: SingleDatasetSettings

    def sources(self, parts: Iterable[int]) -> Sequence[str]:
        return list(self.bound.columns.sources([self.bound.parts[n].column for n in parts]))

    def completed(self, row: Mapping[str, Value]) -> dict[str, Value]:
        return self.bound.columns.complete(row, self.slot)

    def values(self, completed: Mapping[str, Value], parts: Iterable[int]) -> Key:
        normal, key = self.normal, self.bound.parts
        return tuple(normal[n](completed[key[n].column]) for n in parts)

    def identified(self, keyed: Iterable[Keyed]) -> list[Record]:
        return identified(keyed, self.bound.relation, self.bound.content)

    def values_of(self, record: Record, parts: Iterable[int]) -> Key:
        return self.values(record.values, parts)

    def money(self, surplus: Sequence[Record]) -> dict[str, Decimal]:
        return money_at_risk(surplus, self.bound.relation)

    @cached_property
    def priced(self) -> Mapping[str | None, MoneyColumns]:
        money = self.bound.relation.money
        return {} if money is None else {None: money}

    @cached_property
    def normal(self) -> Sequence[Callable[[Value], Value]]:
        """The normalisers of each part of the key, as one function."""
        return [chain_function(part.steps, self.bound.relation.timezone) for part in self.bound.parts]
