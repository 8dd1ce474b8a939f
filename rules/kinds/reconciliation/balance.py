"""The proof that a reconciliation explains every amount of both sides, per currency and exactly."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from rules.engines.base import Unanswerable
from rules.groups.detection import BalanceLine
from rules.values import EXACT

_ZERO = Decimal(0)


class BalanceBroken(Unanswerable):
    """Matched pairs, findings and records not yet due do not add up to the records that were read."""

    def __init__(self, rule: str, side: str, currency: str, total: Decimal, explained: Decimal) -> None:
        super().__init__(
            f"Rule {rule!r} does not balance: the {side} records add up to {total:f} {currency}, but its matches, "
            f"findings and records not yet due add up to {explained:f} {currency}. Nothing was reported. "
            "The data may have changed while it was read. If it fails again, report this as a defect."
        )


@dataclass(frozen=True)
class Sides:
    """The sums of some records of both sides, by currency."""

    left: Mapping[str, Decimal]
    right: Mapping[str, Decimal]

    def difference(self, currency: str) -> Decimal:
        """Left - right."""
        return EXACT.subtract(self.left.get(currency, _ZERO), self.right.get(currency, _ZERO))


def balance(
    rule: str,
    total: Sides,
    matched: Sides,
    findings: Mapping[str, Sides],
    not_yet_due: Sides,
    reported: Collection[str],
) -> tuple[BalanceLine, ...]:
    """Return a line for each currency, in order, or raise BalanceBroken. `findings` are by form.

    Each side must add up on its own, so that no error on one hides an error on the other. `total` is to come from the
    records as they were read, not from the parts.
    """
    parts = (matched, *findings.values(), not_yet_due)
    currencies = sorted({currency for sides in (total, *parts) for currency in (*sides.left, *sides.right)})
    for currency in currencies:
        _prove(rule, "left", currency, total.left, [part.left for part in parts])
        _prove(rule, "right", currency, total.right, [part.right for part in parts])
    told = {form: sides for form, sides in findings.items() if form in reported}
    untold = [sides for form, sides in findings.items() if form not in reported]
    return tuple(_line(currency, total, matched, told, untold, not_yet_due) for currency in currencies)


def _line(
    currency: str,
    total: Sides,
    matched: Sides,
    told: Mapping[str, Sides],
    untold: Iterable[Sides],
    not_yet_due: Sides,
) -> BalanceLine:
    by_form = {form: sides.difference(currency) for form, sides in told.items()}
    return BalanceLine(
        currency=currency,
        left=total.left.get(currency, _ZERO),
        right=total.right.get(currency, _ZERO),
        matched=matched.difference(currency),
        explained=functools.reduce(EXACT.add, by_form.values(), _ZERO),
        not_yet_due=not_yet_due.difference(currency),
        not_reported=functools.reduce(EXACT.add, (sides.difference(currency) for sides in untold), _ZERO),
        by_form={form: amount for form, amount in by_form.items() if amount},
    )


def _prove(
    rule: str, side: str, currency: str, total: Mapping[str, Decimal], parts: list[Mapping[str, Decimal]]
) -> None:
    explained = _ZERO
    for part in parts:
        explained = EXACT.add(explained, part.get(currency, _ZERO))
    if EXACT.compare(explained, total.get(currency, _ZERO)) != 0:
        raise BalanceBroken(rule, side, currency, total.get(currency, _ZERO), explained)
