"""Discrepancies from their records: key, differences and money, exact and in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from rules.groups.group import Difference, Discrepancy, Member
from rules.kinds.reconciliation.bound import BoundReconciliation, BoundSide
from rules.kinds.reconciliation.judging import Judge
from rules.kinds.reconciliation.members import SideRecord, Sides
from rules.kinds.reconciliation.model import Form
from rules.pairs import distances
from rules.values import EXACT, Value, currency_name

_ZERO = Decimal(0)
_DIFFERENT: tuple[Form, ...] = ("mismatch", "unbalanced")


@dataclass(frozen=True)
class Reporter:
    """Builds the discrepancies of a rule."""

    bound: BoundReconciliation

    def discrepancy(self, form: Form, sides: Sides, reason: str | None) -> Discrepancy:
        left, right = sides
        differences = tuple(self._judge_of(sides).differences(sides)) if form in _DIFFERENT else ()
        if form == "near_miss":
            same, differences = self._kept_apart(sides)
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

    @property
    def _judge(self) -> Judge:
        return self._judges[0]

    def _member(self, side: BoundSide, record: SideRecord) -> Member:
        is_of_another = side.name == "right" and not self.bound.is_of_one_dataset
        values = {name: record.values[name] for name in side.shown}
        return Member(record.id, values, side.relation.dataset if is_of_another else None)

    @cached_property
    def _judges(self) -> tuple[Judge, ...]:
        """A judge for each key of the rule."""
        return tuple(Judge(bound) for bound in self.bound.by_each_key)

    def _judge_of(self, sides: Sides) -> Judge:
        """Return the judge for the key that matched these records: the first that they share."""
        return self._judges[0] if len(self._judges) == 1 else next(self._sharing(sides), self._judges[0])

    def _sharing(self, sides: Sides) -> Iterator[Judge]:
        """Yield the judges for the keys that all records share."""
        number = 0 if sides[0] else 1
        for judge in self._judges:
            if judge.has_key(number, sides[number][0]) and judge.share_key(sides):
                yield judge

    def _kept_apart(self, sides: Sides) -> tuple[tuple[str, ...], tuple[Difference, ...]]:
        """Return what is the same in a near miss and what differs, by the key of which the fewest parts differ."""
        judges = [judge for judge in self._judges if all(judge.has_key(n, side[0]) for n, side in enumerate(sides))]
        return min((judge.kept_apart(sides) for judge in judges or self._judges), key=lambda answer: len(answer[1]))

    def _key(self, sides: Sides) -> Mapping[str, Value]:
        """Return the key of the first record; its side and id if the rule has no key, or the record none.

        Of several keys, it is the first that all records share, or else the first that the record has.
        """
        number, side = (0, self.bound.left) if sides[0] else (1, self.bound.right)
        record = sides[number][0]
        whole = [judge for judge in self._judges if judge.has_key(number, record)]
        if whole:
            judge = whole[0] if len(whole) == 1 else next(self._sharing(sides), whole[0])
            return judge.named_key(sides)
        if self.bound.rule.totals:
            return {**self._judge.named_key(sides), "side": side.name}
        names = side.relation.id or ("record", "number")
        return {"side": side.name, **dict(zip(names, record.id, strict=True))}

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
