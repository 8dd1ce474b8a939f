"""Discrepancies from their records: key, differences and money, exact and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from rules import distances
from rules.engines.base import Discrepancy, Member
from rules.kinds.reconciliation.bound import BoundRule, BoundSide
from rules.kinds.reconciliation.judging import Judge
from rules.kinds.reconciliation.members import Record, Sides
from rules.kinds.reconciliation.model import Form
from rules.values import EXACT, Value, currency_name

_ZERO = Decimal(0)
_DIFFERENT: tuple[Form, ...] = ("mismatch", "unbalanced")


@dataclass(frozen=True)
class Reporter:
    """Builds the discrepancies of a rule."""

    bound: BoundRule

    def discrepancy(self, form: Form, sides: Sides, reason: str | None) -> Discrepancy:
        left, right = sides
        differences = tuple(self._judge.differences(sides)) if form in _DIFFERENT else ()
        if form == "near_miss":
            same, differences = self._judge.kept_apart(sides)
            reason = f"same {' and '.join(same)}" if same else None
        return Discrepancy(
            key=self._key(sides),
            form=form,
            left=tuple(self._member(self.bound.left, record) for record in left),
            right=tuple(self._member(self.bound.right, record) for record in right),
            differences=differences,
            reason=reason,
            money=_nonzero(self._money(sides)),
        )

    def total(
        self, sides: Sides, sums: tuple[Decimal, Decimal], money: Mapping[str, Decimal], reason: str | None
    ) -> Discrepancy:
        """Return two sums that differ, with some of their records; `money` is what these have by currency."""
        left, right = self.bound.sides
        difference = self._judge.difference(left.amount or "", right.amount or "", *sums)
        return Discrepancy(
            key=self._key(sides),
            form="unbalanced",
            left=tuple(self._member(left, record) for record in sides[0]),
            right=tuple(self._member(right, record) for record in sides[1]),
            differences=(difference,),
            reason=reason,
            money=_nonzero(dict.fromkeys(money, EXACT.subtract(*sums)) if len(money) == 1 else money),
        )

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.bound)

    def _member(self, side: BoundSide, record: Record) -> Member:
        is_of_another = side.name == "right" and not self.bound.is_of_one_dataset
        values = {name: record.values[name] for name in side.shown}
        return Member(record.id, values, side.relation.dataset if is_of_another else None)

    def _key(self, sides: Sides) -> Mapping[str, Value]:
        """Return the key of the first record; its side and id if the rule has no key, or the record none."""
        side = self.bound.left if sides[0] else self.bound.right
        record = (sides[0] or sides[1])[0]
        key = self._judge.key_of(0 if sides[0] else 1, record)
        named = dict(zip(self._key_names, key, strict=True))
        is_named = (value is not None or self.bound.matches_null(n) for n, value in enumerate(key))
        if key and all(is_named):
            return named
        if self.bound.rule.totals:
            return named | {"side": side.name}
        names = side.relation.id or ("record", "number")
        return {"side": side.name, **dict(zip(names, record.id, strict=True))}

    @cached_property
    def _key_names(self) -> tuple[str, ...]:
        """The left columns of the key; a column that it holds twice also names its normalisers."""
        names: list[str] = []
        for pair in self.bound.pairs:
            steps = ", ".join(step.name for step in pair.left.steps) or "as it is"
            names.append(f"{pair.left.column} ({steps})" if pair.left.column in names else pair.left.column)
        return tuple(names)

    def _money(self, sides: Sides) -> Mapping[str, Decimal]:
        """Return left - right: of the amounts that the rule compares, or of records without a partner their money.

        If only one dataset has money, only its records without a partner have an amount.
        """
        left, right = self.bound.sides
        if (left.money is None) != (right.money is None) and all(sides):
            return {}
        is_compared = all(sides) and self.bound.limits is not None
        total: dict[str, Decimal] = {}
        for side, records, combine in zip((left, right), sides, (EXACT.add, EXACT.subtract), strict=True):
            if side.money is None or side.currency is None:
                continue
            for record in records:
                amount = record.values[(side.amount if is_compared else None) or side.money]
                currency = record.values[side.currency]
                if amount is None or currency is None:
                    continue
                number = distances.number(amount)
                if number.is_finite():
                    code = currency_name(str(currency))
                    total[code] = combine(total.get(code, _ZERO), number)
        return total


def _nonzero(money: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
    return {currency: amount for currency, amount in sorted(money.items()) if amount}
