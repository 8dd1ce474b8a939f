"""Records of one key belong together: one record a side, or on a `many` side all of them as one bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rules.kinds.reconciliation.outcomes import LEFT, RIGHT, Outcomes
from rules.kinds.reconciliation.ranges import Records, Window, ranges
from rules.kinds.reconciliation.sides import Field, MatchedSide, MatchedSides, Measure
from rules.pairs import numbers
from rules.pairs.numbers import Amounts, Flags, Integers

REPEATED = "the key repeats on both sides"


@dataclass(frozen=True)
class Keys:
    """The keys of both sides: for each record the number of its key, and the number of records of each key."""

    left: Integers
    right: Integers
    lefts: Integers
    rights: Integers

    @classmethod
    def of(cls, sides: MatchedSides) -> Keys:
        both = np.concatenate([sides.left.key, sides.right.key])
        distinct, at = np.unique(both, return_inverse=True)
        left, right = at[: len(sides.left)], at[len(sides.left) :]
        return cls(left, right, *(np.bincount(side, minlength=len(distinct)) for side in (left, right)))

    def __len__(self) -> int:
        return len(self.lefts)

    def of_side(self, side: int) -> Integers:
        return self.left if side == LEFT else self.right


def bundled(sides: MatchedSides, window: Window | None, has_many: tuple[bool, bool]) -> Outcomes:
    """Match the records of each key."""
    outcomes, keys = Outcomes(), Keys.of(sides)
    in_both = (keys.lefts > 0) & (keys.rights > 0)
    for number, side in enumerate((sides.left, sides.right)):
        _add_alone(outcomes, number, side, keys.of_side(number), ~in_both, has_many=has_many[number])
    repeats = [
        in_both & (count > 1) & (not many) for count, many in zip((keys.lefts, keys.rights), has_many, strict=True)
    ]
    undecided = _undecided(sides, repeats)
    repeats = [of_side & ~undecided for of_side in repeats]
    both = repeats[LEFT] & repeats[RIGHT]
    is_left = repeats[LEFT] & ~(both & (keys.rights > keys.lefts))
    _add(outcomes, sides, keys, "duplicate_left", is_left & ~both)
    _add(outcomes, sides, keys, "duplicate_left", is_left & both, REPEATED)
    _add(outcomes, sides, keys, "duplicate_right", repeats[RIGHT] & ~is_left & ~both)
    _add(outcomes, sides, keys, "duplicate_right", repeats[RIGHT] & ~is_left & both, REPEATED)
    _add(outcomes, sides, keys, "ambiguous", undecided)
    matched = in_both & ~repeats[LEFT] & ~repeats[RIGHT] & ~undecided
    balanced = _balanced(sides, keys)
    agree = _near(sides, keys, window) & _same(sides, keys)
    _add(outcomes, sides, keys, "unbalanced", matched & ~balanced)
    _add(outcomes, sides, keys, "mismatch", matched & balanced & ~agree)
    agreeing = matched & balanced & agree
    outcomes.add_agreeing(sides.left.row[agreeing[keys.left]], sides.right.row[agreeing[keys.right]])
    outcomes.matched += int((matched & balanced).sum())
    return outcomes


def _undecided(sides: MatchedSides, repeats: Sequence[Flags]) -> Flags:
    """Return True for each component with several records of a side where one is allowed, which name different ones."""
    undecided: Flags = np.zeros(len(repeats[LEFT]), np.bool_)
    if sides.links is not None:
        for side, of_side in enumerate(repeats):
            undecided |= of_side & ~sides.links.are_alike(side, len(of_side))
    return undecided


def _add_alone(
    outcomes: Outcomes, number: int, side: MatchedSide, key: Integers, is_alone: Flags, *, has_many: bool
) -> None:
    chosen = np.flatnonzero(is_alone[key])
    if has_many:
        of_chosen = np.unique(key[chosen], return_inverse=True)[1]
        outcomes.add_bundles_alone(number, of_chosen, side.row[chosen], side.due[chosen])
    else:
        outcomes.add_alone(number, side.row[chosen], side.due[chosen])


def _add(outcomes: Outcomes, sides: MatchedSides, keys: Keys, form: Any, chosen: Flags, reason: str = "") -> None:
    """Add the records of each chosen key as one discrepancy."""
    renumbered = np.cumsum(chosen) - 1
    members = []
    for number, side in enumerate((sides.left, sides.right)):
        key = keys.of_side(number)
        of_chosen = np.flatnonzero(chosen[key])
        members.append((renumbered[key[of_chosen]], side.row[of_chosen]))
    outcomes.add(form, members[LEFT], members[RIGHT], int(chosen.sum()), reason)


def _balanced(sides: MatchedSides, keys: Keys) -> Flags:
    """Return True for each key whose sums agree."""
    if sides.within is None or sides.left.amount is None or sides.right.amount is None:
        return np.ones(len(keys), np.bool_)
    left, right = (
        summed(amount, key, len(keys))
        for amount, key in ((sides.left.amount, keys.left), (sides.right.amount, keys.right))
    )
    return sides.within(left, right)


def summed(amounts: Amounts, key: Integers, size: int) -> Amounts:
    """Return the sum of each key, exactly."""
    amounts = numbers.sum_fits(amounts)
    total = np.zeros(size, amounts.dtype)
    np.add.at(total, key, amounts)
    return total


def _near(sides: MatchedSides, keys: Keys, window: Window | None) -> Flags:
    """Return True for each key that has a left and a right record within the window."""
    if window is None:
        return np.ones(len(keys), np.bool_)
    left, right = (Records(key, side.rank, None) for key, side in ((keys.left, sides.left), (keys.right, sides.right)))
    is_near = np.zeros(len(keys), np.bool_)
    is_near[keys.left[ranges(left, right, window, None).left]] = True
    return is_near


def _same(sides: MatchedSides, keys: Keys) -> Flags:
    """Return True for each key that agrees in all compared fields.

    Each left value agrees with each right one, or the values of both sides can be paired off.
    """
    is_same = np.ones(len(keys), np.bool_)
    for field in sides.fields:
        least, greatest = _extremes(np.concatenate([field.left, field.right]), _both(keys), len(keys))
        agree = np.asarray(least == greatest, np.bool_)
        if field.measure is not None:
            agree |= _agree(field.measure, keys)
        is_same &= agree | _paired_off(field, keys, ~agree)
    return is_same


def _paired_off(field: Field, keys: Keys, among: Flags) -> Flags:
    """Return True for each key of `among` that has as many left as right records, whose values agree in order.

    Whatever lies between two near values is near both: if any pairing agrees, that of the sorted values does.
    """
    paired: Flags = np.asarray(among & (keys.lefts == keys.rights) & (keys.lefts > 1), np.bool_)
    if not paired.any():
        return paired
    sides = (keys.left, keys.right)
    if field.measure is None:
        ranks: Sequence[Integers] = (field.left, field.right)
    else:
        ranks = [
            np.where(present, _ranks(values), -1)
            for values, present in zip(field.measure.values, field.measure.present, strict=True)
        ]
    left, right = (
        order[paired[key[order]]]
        for key, order in ((key, np.lexsort((rank, key))) for key, rank in zip(sides, ranks, strict=True))
    )
    paired[keys.left[left[field.differ(left, right)]]] = False
    return paired


def _ranks(values: Amounts) -> Integers:
    ranks: Integers = np.unique(values, return_inverse=True)[1]
    return ranks


def _agree(measure: Measure, keys: Keys) -> Flags:
    """Return True for each key without empty values whose farthest values of both sides agree."""
    are_present = _extremes(np.concatenate(measure.present).astype(np.int64), _both(keys), len(keys))[0] == 1
    agree: Flags = np.asarray(are_present & (keys.lefts > 0) & (keys.rights > 0), np.bool_)
    (first_left, last_left), (first_right, last_right) = (
        _extremes(values, key, len(keys)) for values, key in zip(measure.values, (keys.left, keys.right), strict=True)
    )
    agree[agree] = measure.test(first_left[agree], last_right[agree]) & measure.test(
        last_left[agree], first_right[agree]
    )
    return agree


def _both(keys: Keys) -> Integers:
    return np.concatenate([keys.left, keys.right])


def _extremes(values: Amounts, key: Integers, size: int) -> tuple[Amounts, Amounts]:
    """Return the least and the greatest value of each key; anything for a key without values."""
    if not len(values):
        return np.zeros(size, np.int64), np.zeros(size, np.int64)
    order = np.lexsort((_ranks(values), key))
    ordered = key[order]
    begins = np.minimum(np.searchsorted(ordered, np.arange(size)), len(values) - 1)
    ends = np.maximum(np.searchsorted(ordered, np.arange(size), side="right") - 1, 0)
    return values[order[begins]], values[order[ends]]
