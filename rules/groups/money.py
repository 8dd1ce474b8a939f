"""The money of records, by currency."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Protocol

from rules import values as sums
from rules.engines.base import MoneyColumns, Relation
from rules.groups.group import Group, Member
from rules.pairs.distances import number
from rules.values import Value


class Valued(Protocol):
    """Anything with the values of a record."""

    @property
    def values(self) -> Mapping[str, Value]: ...


def money_at_risk(surplus: Iterable[Valued], relation: Relation) -> dict[str, Decimal]:
    """Return the sum of the amounts per currency; records without an amount or a currency add nothing."""
    return {} if relation.money is None else amounts(surplus, relation.money)


def amounts(records: Iterable[Valued], money: MoneyColumns) -> dict[str, Decimal]:
    """Return the same for records whose `values` have the columns of `money`."""
    return dict(sorted(sums.of(_amounts(records, money)).items()))


def money_of(group: Group, records: Iterable[Member]) -> dict[str, Decimal]:
    """Return the sum over some records of the group, as its `money` is the sum over its surplus."""
    of_dataset: dict[str | None, list[Member]] = defaultdict(list)
    for record in records:
        of_dataset[record.dataset].append(record)
    priced = ((group.priced.get(dataset), alike) for dataset, alike in of_dataset.items())
    return dict(sorted(sums.of(amounts(alike, money) for money, alike in priced if money is not None).items()))


def money_moved(surplus: Iterable[Valued], relation: Relation) -> dict[str, Decimal]:
    """Return the sum of the absolute amounts per currency: a negative amount does not cancel others."""
    if relation.money is None:
        return {}
    sizes = ({name: size.copy_abs() for name, size in amount.items()} for amount in _amounts(surplus, relation.money))
    return dict(sorted(sums.of(sizes).items()))


def not_counted(record: Valued, relation: Relation) -> str | None:
    """Return why no sum counts the record's amount, like "no currency"; None if one does, or without `money`."""
    amount = None if relation.money is None else _amount(record, relation.money)
    return amount if isinstance(amount, str) else None


def _amounts(records: Iterable[Valued], money: MoneyColumns) -> Iterator[dict[str, Decimal]]:
    for record in records:
        amount = _amount(record, money)
        if not isinstance(amount, str):
            yield amount


def _amount(record: Valued, money: MoneyColumns) -> dict[str, Decimal] | str:
    """Return the record's amount by currency, or the reason why it has none."""
    amount = record.values[money.amount]
    currency = record.values[money.currency_column] if money.currency_column else money.currency
    if amount is None:
        return "no amount"
    exactly = number(amount)
    if not exactly.is_finite():
        return "no finite amount"
    name = sums.currency_name(str(currency or ""))
    return {name: exactly} if name else "no currency"
