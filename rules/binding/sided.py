"""Groups of the records of one dataset or several, each with its own money and names of columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Protocol

from rules import values as sums
from rules.engines.base import MoneyColumns, Relation
from rules.groups.builder import GroupBuilder
from rules.groups.money import money_at_risk
from rules.groups.settings import GroupSettings
from rules.pairs.record import Record
from rules.values import Value


class NamedSide(Protocol):
    """A dataset with its columns under the rule's names."""

    @property
    def relation(self) -> Relation: ...

    @property
    def relation_in_rule(self) -> Relation:
        """The dataset with its `money` in the rule's names of columns."""

    def seen(self, record: Mapping[str, Value], columns: Iterable[str]) -> dict[str, Value]:
        """Return a record's values of these columns of the rule, null where the dataset has no such column."""


class SidedSettings(GroupSettings, Protocol):
    """The settings of a rule over one dataset or several."""

    @property
    def sides(self) -> Sequence[NamedSide]:
        """The datasets."""

    @property
    def seen(self) -> Sequence[str]:
        """The columns of a record that decide about its group or are shown."""


@dataclass(frozen=True)
class SidedBuilder(GroupBuilder):
    """Build groups of records of several datasets."""

    bound: SidedSettings

    def money(self, surplus: Sequence[Record]) -> dict[str, Decimal]:
        amounts = (
            money_at_risk((record for record in surplus if self.number_of(record) == number), side.relation_in_rule)
            for number, side in enumerate(self.bound.sides)
        )
        return dict(sorted(sums.of(amounts).items()))

    @cached_property
    def priced(self) -> Mapping[str | None, MoneyColumns]:
        relations = [side.relation_in_rule for side in self.bound.sides]
        named = ((each.dataset if number else None, each.money) for number, each in enumerate(relations))
        return {dataset: money for dataset, money in named if money is not None}

    def number_of(self, record: Record) -> int:
        """Return the number of the record's dataset."""
        return self._numbers[record.dataset] if record.dataset else 0

    def seen(self, number: int, record: Record) -> Record:
        """Return a record of a dataset with the values that the rule sees."""
        side = self.bound.sides[number]
        return dataclasses.replace(
            record,
            values=side.seen(record.values, self.bound.seen),
            order=(number, *record.order),
            dataset=side.relation.dataset if number else None,
        )

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {side.relation.dataset: number for number, side in enumerate(self.bound.sides)}
