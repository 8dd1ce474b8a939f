"""Records without a partner that would have one, were it not for one error."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rules.forensics.amounts import day, number, places
from rules.forensics.chance import LOOKS_LIKE, MOST, ONE_DAY, Claim, binomial_tail
from rules.values import EXACT, Value, canonical_json

Record = Mapping[str, Value]
Pair = tuple[Value, Value]
Columns = Sequence[tuple[str, str]]
"""Columns of the left and of the right dataset that should agree."""

_Dated = dict[Decimal, dt.date | None]
"""Amounts that one record alone has, with its date."""


@dataclass(frozen=True)
class _Form:
    """How the counterpart of a record differs: in its amount, or by `days`."""

    words: str
    amount: Callable[[Decimal], Decimal]
    days: int | None = None

    @property
    def least(self) -> float:
        """The probability of it by chance is taken to be at least this."""
        return LOOKS_LIKE if self.days is None else ONE_DAY


_FORMS = (
    _Form("with the same amount a day later: this looks like a cut-off at the end of the day", Decimal, 1),
    _Form("with the same amount a day earlier: this looks like a cut-off at the end of the day", Decimal, -1),
    _Form("with the opposite sign: this looks like a sign error in one of the two systems", Decimal.copy_negate),
    _Form(
        "with 100 times the amount: this looks like cents mistaken for units", lambda amount: EXACT.scaleb(amount, 2)
    ),
    _Form(
        "with a hundredth of the amount: this looks like cents mistaken for units",
        lambda amount: EXACT.scaleb(amount, -2),
    ),
)

_BESIDE = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
"""Units beside an amount at which a counterpart would be chance."""


class Unmatched:
    """Records without a partner.

    `differences` are those of a left and a right record with the same key, which no other such record has.

    `claims` are about amounts that one record of a side alone has. Statistic: how many of them one record of the other
    side alone has too, a day later or earlier; with the opposite sign; 100 times as large. The total is the records of
    the smaller side. Chance: binomial, for each with the share of such counterparts up to five units beside the right
    amount, but at least 2 %, and 1/14 for a day.
    """

    def __init__(self, datasets: tuple[str, str], columns: Columns) -> None:
        self._datasets = datasets
        self._columns = columns
        self._sides: tuple[list[Record], list[Record]] = ([], [])
        self._by_key: tuple[dict[str, Record | None], dict[str, Record | None]] = ({}, {})

    def add(self, key: Mapping[str, Value], left: Sequence[Record], right: Sequence[Record]) -> None:
        """Add a record of one side."""
        side = 0 if left else 1
        if len(self._sides[side]) < MOST:
            [record] = left or right
            name = canonical_json([*key, *key.values()])
            self._sides[side].append(record)
            self._by_key[side][name] = None if name in self._by_key[side] else record

    def differences(self) -> Iterator[tuple[str, Pair]]:
        """Yield column and values of each difference: of amounts, or if they agree, of dates."""
        lefts, rights = self._by_key
        for name, left in lefts.items():
            right = rights.get(name)
            if left is not None and right is not None:
                different = (list(self._different(left, right, read)) for read in (number, day))
                yield from next(filter(None, different), [])

    def _different(self, left: Record, right: Record, read: Callable[[Value], object]) -> Iterator[tuple[str, Pair]]:
        for ours, theirs in self._columns:
            pair = (left.get(ours), right.get(theirs))
            of_left, of_right = map(read, pair)
            if of_left is not None and of_right is not None and of_left != of_right:
                yield ours if ours == theirs else f"{ours} / {theirs}", pair

    def claims(self) -> Iterator[Claim]:
        amount, date = self._first(number), self._first(day)
        if amount is None:
            return
        sides = [
            (len(records), name, _alone(records, amount[side], date and date[side]))
            for side, (records, name) in enumerate(zip(self._sides, self._datasets, strict=True))
        ]
        (total, smaller, few), (_, larger, many) = sorted(sides, key=lambda side: side[0])
        for form in _FORMS:
            cases, by_chance = _looked_up(few, many, form)
            sentence = (
                f"{cases:,} of {total:,} records of {smaller} without a partner have a counterpart in {larger} "
                f"{form.words}."
            )
            yield Claim(cases, total, binomial_tail(cases, total, max(form.least, by_chance)), sentence)

    def _first(self, read: Callable[[Value], object]) -> tuple[str, str] | None:
        """Return the first columns in which records of both sides have a value that can be read so."""
        lefts, rights = self._sides
        return next(
            (
                (ours, theirs)
                for ours, theirs in self._columns
                if any(read(record.get(ours)) is not None for record in lefts)
                if any(read(record.get(theirs)) is not None for record in rights)
            ),
            None,
        )


def _alone(records: Sequence[Record], amount: str, date: str | None) -> _Dated:
    """Return the amounts that one record alone has."""
    amounts = Counter(number(record.get(amount)) for record in records)
    dated = ((number(record.get(amount)), day(record.get(date)) if date else None) for record in records)
    return {of: at for of, at in dated if of is not None and amounts[of] == 1}


def _looked_up(few: _Dated, many: _Dated, form: _Form) -> tuple[int, float]:
    """Return how many of the few have a counterpart of that form among the many, and the share by chance."""
    unit = Decimal(1).scaleb(-max(map(places, (*few, *many)), default=0))
    targets = [(form.amount(amount), date) for amount, date in few.items() if amount]
    cases = sum(_has(many, amount, date, form.days) for amount, date in targets)
    beside = sum(_has(many, amount + step * unit, date, form.days) for amount, date in targets for step in _BESIDE)
    return cases, beside / (len(_BESIDE) * max(1, len(targets)))


def _has(many: _Dated, amount: Decimal, date: dt.date | None, days: int | None) -> bool:
    """Return True if the many have that amount and, if so asked, so many days later."""
    if days is None or amount not in many:
        return amount in many
    later = many[amount]
    return date is not None and later is not None and (later - date).days == days
