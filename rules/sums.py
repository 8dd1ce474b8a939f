"""Sums of money, exact for any size and order: the default 28 digits would round sums of wide decimals. Pure."""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Mapping
from decimal import Decimal

EXACT = decimal.Context(prec=1_000)


def of(parts: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    """Return the sum of each currency."""
    total: dict[str, Decimal] = {}
    for amounts in parts:
        add(total, amounts)
    return total


def sizes(amounts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """The amounts without their sign: a debit is as large as a credit."""
    return {currency: amount.copy_abs() for currency, amount in amounts.items()}


def add(total: dict[str, Decimal], amounts: Mapping[str, Decimal]) -> None:
    """Add each amount to its currency's sum."""
    for currency, amount in amounts.items():
        total[currency] = EXACT.add(total.get(currency, Decimal(0)), amount)
