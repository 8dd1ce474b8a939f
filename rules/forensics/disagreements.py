"""Why two systems disagree: sign errors, swapped digits, cents taken for units, fees, and a cut-off a day apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

from rules.forensics.amounts import Amounts, constant_fee, day, is_hundredfold, is_opposite, number, swaps_digits
from rules.forensics.chance import LOOKS_LIKE, MOST, ONE_DAY, Claim, binomial_tail, strongest
from rules.forensics.overlaps import Overlaps
from rules.forensics.unmatched import Columns, Pair, Record, Unmatched
from rules.groups.group import Difference
from rules.values import Value

_ERRORS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "have the opposite sign: this looks like a sign error in one of the two systems": is_opposite,
    "swap two neighbouring digits: this looks like amounts typed by hand": swaps_digits,
    "are 100 times as large in {left}: this looks like cents mistaken for units": is_hundredfold,
    "are 100 times as large in {right}: this looks like cents mistaken for units": (
        lambda left, right: is_hundredfold(right, left)
    ),
}


class Disagreements:
    """What the discrepancies of a rule have in common, collected one by one; the claim with most cases names a cause.

    The tests compare fields that differ in matched records, and the `columns` (left, right) that should agree, in
    records without a partner that have the same key. Statistic: the differences of a column that look alike. Chance:
    binomial, for each with 2 % that a wrong amount has the opposite sign, two neighbouring digits swapped, or 100 times
    the amount; and with 1/14, or 1 / twice the most days apart if that is more, that a wrong date is one day later. For
    a share see `constant_fee`, for records without a partner `Unmatched`. Chance is multiplied by the number of claims.
    """

    def __init__(self, datasets: tuple[str, str], columns: Columns) -> None:
        self._left, self._right = datasets
        self._differences: list[tuple[str, Pair]] = []
        self._unmatched = Unmatched(datasets, columns)
        self._overlaps = [Overlaps(dataset) for dataset in datasets]

    def add(
        self,
        key: Mapping[str, Value],
        left: Sequence[Record],
        right: Sequence[Record],
        differences: Sequence[Difference] = (),
    ) -> None:
        """Add one discrepancy with the records of both sides."""
        if len(self._differences) < MOST:
            self._differences.extend((field.column, (field.left, field.right)) for field in differences)
        for overlaps, side in zip(self._overlaps, (left, right), strict=True):
            overlaps.add(side)
        if len(left) + len(right) == 1:
            self._unmatched.add(key, left, right)

    def cause(self) -> str | None:
        fields: dict[str, list[Pair]] = defaultdict(list)
        for column, pair in (*self._differences, *self._unmatched.differences()):
            fields[column].append(pair)
        of_fields = (claim for column in sorted(fields) for claim in self._of_field(column, fields[column]))
        of_files = (overlaps.claim() for overlaps in self._overlaps if overlaps)
        return strongest([*of_fields, *self._unmatched.claims(), *of_files])

    def _of_field(self, column: str, pairs: Sequence[Pair]) -> Iterator[Claim]:
        numbers = [(number(left), number(right)) for left, right in pairs]
        amounts = [(left, right) for left, right in numbers if left is not None and right is not None and left != right]
        days = [(day(left), day(right)) for left, right in pairs]
        apart = [
            (right - left).days for left, right in days if left is not None and right is not None and left != right
        ]
        yield from self._of_amounts(column, amounts)
        yield from self._of_days(column, apart)

    def _of_amounts(self, column: str, amounts: Sequence[Amounts]) -> Iterator[Claim]:
        total = len(amounts)
        subject = f"of {total:,} different amounts in `{column}`"
        for words, looks_like in _ERRORS.items():
            cases = sum(looks_like(left, right) for left, right in amounts)
            sentence = f"{cases:,} {subject} {words.format(left=self._left, right=self._right)}."
            yield Claim(cases, total, binomial_tail(cases, total, LOOKS_LIKE), sentence)
        reverse = [(right, left) for left, right in amounts]
        for whole, rest, pairs in ((self._left, self._right, amounts), (self._right, self._left, reverse)):
            if fee := constant_fee(pairs):
                words = f"are {fee.percent} % smaller in {rest} than in {whole}: this looks like a fee"
                yield Claim(fee.cases, total, fee.chance, f"{fee.cases:,} {subject} {words}.")

    def _of_days(self, column: str, apart: Sequence[int]) -> Iterator[Claim]:
        total = len(apart)
        by_chance = max(ONE_DAY, 1 / (2 * max(map(abs, apart), default=1)))
        for later, earlier, days in ((self._right, self._left, 1), (self._left, self._right, -1)):
            cases = apart.count(days)
            sentence = (
                f"{cases:,} of {total:,} different dates in `{column}` are one day later in {later} than in {earlier}: "
                "this looks like a cut-off at the end of the day."
            )
            yield Claim(cases, total, binomial_tail(cases, total, by_chance), sentence)
