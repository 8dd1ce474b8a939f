"""How two amounts, or two dates, that should be equal differ."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from rules.forensics.chance import binomial_tail
from rules.values import EXACT, Value, canonical_number

Amounts = tuple[Decimal, Decimal]
"""Different amounts of the left and of the right record."""

_SHARES = decimal.Context(prec=30)
_LARGEST = Decimal("0.2")
"""The largest share that is taken for a fee."""
_ROUNDING = Decimal("0.2")
"""The largest part of a fee by which rounding may leave it open."""
_SUMS = 3
"""Different sums that a share explains and a fixed fee does not."""


def number(value: Value) -> Decimal | None:
    """Return a finite number as a decimal."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    amount = Decimal(canonical_number(value))
    return amount if amount.is_finite() else None


def day(value: Value) -> dt.date | None:
    """Return the day of a date, or of an instant in UTC."""
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).date()
    return value if isinstance(value, dt.date) else None


def is_opposite(left: Decimal, right: Decimal) -> bool:
    return left == right.copy_negate()


def is_hundredfold(large: Decimal, small: Decimal) -> bool:
    return large == EXACT.multiply(small, Decimal(100))


def swaps_digits(left: Decimal, right: Decimal) -> bool:
    """Return True if an amount is a different one with two neighbouring digits swapped; a zero in front is no digit."""
    scale = max(places(left), places(right))
    first, second = (str(int(EXACT.scaleb(amount.copy_abs(), scale))) for amount in (left, right))
    if left.is_signed() != right.is_signed() or len(first) != len(second):
        return False
    at = next(place for place in range(len(first)) if first[place] != second[place])
    return second == first[:at] + first[at + 1 : at + 2] + first[at] + first[at + 2 :]


@dataclass(frozen=True)
class Fee:
    """A share that so many second amounts lack of the first ones, in per cent, and the probability of it by chance."""

    cases: int
    percent: str
    chance: float


@dataclass(frozen=True)
class _Lack:
    """What a second amount lacks, and the range of its share of the first one, which rounding leaves open."""

    amount: Decimal
    low: Decimal
    high: Decimal


def constant_fee(pairs: Sequence[Amounts]) -> Fee | None:
    """Return the share that most of the second amounts lack of the first ones, at most a fifth.

    An amount in whole units of its last place leaves its share open by one unit in each direction. Statistic: the most
    amounts with a share in common. Chance: binomial, each amount besides the one where the overlap begins with the
    width of its range, if shares are scattered evenly up to the largest; times the amounts. There is no such share if
    fewer than three different sums are lacking, which would be a fixed fee, or if rounding leaves a fifth of it open.
    """
    unit = Decimal(1).scaleb(-max((places(amount) for pair in pairs for amount in pair), default=0))
    lacks = [lack for whole, rest in pairs if (lack := _lack(whole, rest, unit))]
    if not lacks:
        return None
    low = _most_common(lacks)
    common = [lack for lack in lacks if lack.low <= low <= lack.high]
    high = min(lack.high for lack in common)
    if len({lack.amount for lack in common}) < _SUMS or high - low > _ROUNDING * high:
        return None
    largest = max(lack.high for lack in lacks)
    width = sum(min(1.0, float((lack.high - lack.low) / largest)) for lack in lacks) / len(lacks)
    chance = len(lacks) * binomial_tail(len(common) - 1, len(lacks) - 1, width)
    return Fee(len(common), _percent(low, high), chance)


def _lack(whole: Decimal, rest: Decimal, unit: Decimal) -> _Lack | None:
    amount, of = EXACT.subtract(whole, rest).copy_abs(), whole.copy_abs()
    if rest.copy_abs() >= of or not unit < amount <= _LARGEST * of:
        return None
    return _Lack(amount, _SHARES.divide(amount - unit, of), _SHARES.divide(amount + unit, of))


def _most_common(lacks: Sequence[_Lack]) -> Decimal:
    """Return the smallest share that lies in most ranges: one of their beginnings."""
    edges = sorted([(lack.low, 0) for lack in lacks] + [(lack.high, 1) for lack in lacks])
    open_ranges = accumulate(1 if edge == 0 else -1 for _, edge in edges)
    return max(zip(open_ranges, edges, strict=True), key=lambda item: item[0])[1][0]


def _percent(low: Decimal, high: Decimal) -> str:
    """Return the shortest number of per cent between two shares."""
    middle = (low + high) * 50
    rounded = (round(middle, decimals) for decimals in range(8))
    return f"{next((number for number in rounded if low * 100 <= number <= high * 100), middle):f}"


def places(amount: Decimal) -> int:
    """Return the number of decimals, without zeros at the end."""
    return len(canonical_number(amount).partition(".")[2])
