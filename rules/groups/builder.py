"""Build a group from the records that belong together. Pure."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rules.engines.base import MoneyColumns
from rules.groups import survivorship
from rules.groups.group import DuplicateGroup, Member
from rules.groups.settings import GroupSettings
from rules.pairs.evidence import Link
from rules.pairs.record import Record
from rules.values import Value, order_key


@dataclass(frozen=True)
class GroupBuilder(ABC):
    """Build groups as a rule's settings want them, whatever joins their records."""

    bound: GroupSettings
    slot: dt.datetime

    @abstractmethod
    def money(self, surplus: Sequence[Record]) -> dict[str, Decimal]:
        """Return the sum of the surplus per currency."""

    @property
    @abstractmethod
    def priced(self) -> Mapping[str | None, MoneyColumns]:
        """The columns of amounts in the records' values, by dataset."""

    def ordered(self, records: list[Record]) -> tuple[Record, ...]:
        """Return the records, keeper first; empty if they are too few or do not meet the rule's conditions."""
        if len(records) < self.bound.minimum or not self.bound.meets_conditions(records, self.slot):
            return ()
        return survivorship.in_order(records, self.bound.keep, self.bound.considered, lambda record: record.place)

    def group(
        self, ordered: Sequence[Record], key: Mapping[str, Value], links: tuple[Link, ...] = ()
    ) -> DuplicateGroup:
        """Return the group of these records, keeper first."""
        keeper, *surplus = ordered
        column, shown = self.bound.span_column, self.bound.shown
        places = sorted((record.values[column] for record in ordered), key=order_key) if column else []
        return DuplicateGroup(
            key=key,
            keeper=Member.of(keeper, shown),
            surplus=tuple(Member.of(record, shown) for record in surplus),
            money=self.money(surplus),
            span=(places[0], places[-1]) if places else None,
            links=links,
            excepted=self.bound.excepted.within(ordered),
            priced=self.priced,
        )
