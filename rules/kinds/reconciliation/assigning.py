"""match: one_to_one where dates or amounts tell records of one key apart.

Records without any difference pair off first. Then, inside a key, most pairs count, then most pairs that agree in what
the rule prefers, fewest days, least money, fewest fields that differ. What is left has no partner, or it is open which
record has none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rules.engines.base import Unanswerable
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT, Outcomes
from rules.kinds.reconciliation.ranges import Ranges, Records, Window, exact, linked_ranges, ranges, slices
from rules.kinds.reconciliation.sides import MatchedSides
from rules.pairs import numbers
from rules.pairs.assignment.assign import Assignment, assign
from rules.pairs.assignment.network import Candidates
from rules.pairs.assignment.optimum import TooMuchWork
from rules.pairs.numbers import Amounts, Flags, Integers

AT_ONCE = 2_000_000
"""Possible pairs in memory at the same time, unless one key has more."""
MOST = 10_000_000
"""Possible pairs of one key."""
MOST_TRIED = 100 * MOST


class TooManyPairs(Unanswerable):
    """One key has more possible pairs than are compared, or they are too entangled to find the best ones."""

    def __init__(self, rule: str, records: tuple[int, int], why: str) -> None:
        left, right = records
        super().__init__(
            f"Rule {rule!r}: {left:,} left and {right:,} right records share one key, and {why}. Nothing was changed. "
            "Add a column to `key`, or narrow `tolerance`."
        )


_TOO_MANY = f"more than {MOST:,} of their pairs are within the tolerance"


@dataclass(frozen=True)
class Classes:
    """Records that do not differ at all, over both sides, by a common number; `paired` have their partner.

    Records without an equal one on the other side have the number -1.
    """

    left: Integers
    right: Integers
    paired_left: Flags
    paired_right: Flags

    @classmethod
    def of(cls, sides: MatchedSides) -> Classes:
        # Records that are equal in everything are no partners if something must differ, or if keys are not equal.
        can_equal = not sides.differ and sides.links is None
        chosen = [np.flatnonzero(side.has_equals & can_equal) for side in (sides.left, sides.right)]
        sizes = (len(chosen[LEFT]), len(chosen[RIGHT]))
        left, right = numbers.combined(list(_differing(sides, chosen)), sizes)
        distinct, at = np.unique(np.concatenate([left, right]), return_inverse=True)
        left, right = at[: sizes[0]], at[sizes[0] :]
        pairs = np.minimum(*(np.bincount(side, minlength=len(distinct)) for side in (left, right)))
        classes: list[Integers] = []
        paired: list[Flags] = []
        for side, rows, number in zip((sides.left, sides.right), chosen, (left, right), strict=True):
            classes.append(np.full(len(side), -1, np.int64))
            classes[-1][rows] = number
            paired.append(np.zeros(len(side), np.bool_))
            paired[-1][rows] = _rank(number) < pairs[number]
        return cls(classes[LEFT], classes[RIGHT], paired[LEFT], paired[RIGHT])


def _differing(sides: MatchedSides, chosen: list[Integers]) -> Iterator[tuple[Integers, Integers]]:
    """Yield numbers of the chosen records that are equal for records without any difference."""
    rows, theirs = chosen
    left, right = sides.left, sides.right
    yield left.key[rows], right.key[theirs]
    yield from ((each.left[rows], each.right[theirs]) for each in (*sides.fields, *sides.prefer))
    if left.day is not None and right.day is not None:
        yield left.day[rows], right.day[theirs]
    if left.amount is not None and right.amount is not None:
        both = np.concatenate([left.amount[rows], right.amount[theirs]])
        amounts = np.unique(both, return_inverse=True)[1] if both.dtype == object else both
        yield amounts[: len(rows)], amounts[len(rows) :]


def _rank(numbers_: Integers) -> Integers:
    """Return how many earlier records have the same number."""
    order = np.argsort(numbers_, kind="stable")
    ordered = numbers_[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(order) else order
    sizes = np.diff(np.append(begins, len(order)))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(begins, sizes)
    return rank


def paired(sides: MatchedSides, window: Window | None, rule: str) -> Outcomes:
    """Match the records of both sides. Raises TooManyPairs."""
    outcomes = Outcomes()
    classes = Classes.of(sides)
    is_open = (~classes.paired_left, ~classes.paired_right)
    free = [np.flatnonzero(flags) for flags in is_open]
    groups = _Groups(classes)
    for part in _candidates(sides, (free[LEFT], free[RIGHT]), window, rule):
        assignment = _assigned(part, (len(free[LEFT]), len(free[RIGHT])), rule)
        left, right = free[LEFT][assignment.left], free[RIGHT][assignment.right]
        is_open[LEFT][left], is_open[RIGHT][right] = False, False
        _add_pairs(outcomes, sides, left, right)
        outcomes.interchangeable += assignment.interchangeable
        for undecided in assignment.ambiguous:
            groups.join(free[LEFT][undecided.lefts], free[RIGHT][undecided.rights])
    _add_open(outcomes, sides, classes, is_open, groups)
    return outcomes


def _assigned(part: Candidates, sizes: tuple[int, int], rule: str) -> Assignment:
    try:
        return assign(part, *sizes)
    except TooMuchWork as error:
        why = f"their {error.candidates:,} pairs within the tolerance overlap too much to find the best ones"
        raise TooManyPairs(rule, error.records, why) from error


def _add_pairs(outcomes: Outcomes, sides: MatchedSides, left: Integers, right: Integers) -> None:
    """Count the pairs, and add those that differ in a field as mismatches."""
    differ = sides.differences(left, right) > 0
    numbers_ = np.arange(int(differ.sum()))
    rows = sides.left.row[left[differ]], sides.right.row[right[differ]]
    outcomes.add("mismatch", (numbers_, rows[LEFT]), (numbers_, rows[RIGHT]), len(numbers_))
    outcomes.add_agreeing(sides.left.row[left[~differ]], sides.right.row[right[~differ]])
    outcomes.matched += len(left)


def _add_open(
    outcomes: Outcomes, sides: MatchedSides, classes: Classes, is_open: tuple[Flags, Flags], groups: _Groups
) -> None:
    """Add the records that stay open: alone, or with those that could stay open in their place.

    Records that do not differ can always take each other's place.
    """
    for flags, of_side in zip(is_open, (classes.left, classes.right), strict=True):
        groups.join_twins(np.unique(of_side[flags]))
    agree = classes.paired_left.copy(), classes.paired_right.copy()
    for left, right in groups.members():
        is_open[LEFT][left], is_open[RIGHT][right] = False, False
        agree[LEFT][left], agree[RIGHT][right] = False, False
        due = [side.due[rows] for side, rows in ((sides.left, left), (sides.right, right))]
        longer = [flags for flags in due if len(flags) == max(map(len, due))]
        outcomes.add_undecided(sides.left.row[left], sides.right.row[right], due=any(flags.any() for flags in longer))
    outcomes.add_agreeing(sides.left.row[agree[LEFT]], sides.right.row[agree[RIGHT]])
    outcomes.matched += int(agree[LEFT].sum())
    for number, side in enumerate((sides.left, sides.right)):
        alone = np.flatnonzero(is_open[number])
        outcomes.add_alone(number, side.row[alone], side.due[alone])


class _Groups:
    """Sets of records of which it is open who stays without a partner. Sets that share a class are one."""

    def __init__(self, classes: Classes) -> None:
        self._classes = (classes.left, classes.right)
        self._orders = [np.flatnonzero(each >= 0) for each in self._classes]
        self._orders = [
            rows[np.argsort(each[rows], kind="stable")] for each, rows in zip(self._classes, self._orders, strict=True)
        ]
        self._sorted = [each[order] for each, order in zip(self._classes, self._orders, strict=True)]
        size = max(int(each[-1]) + 1 if len(each) else 0 for each in self._sorted)
        self._has_twins = np.zeros(size + 1, np.bool_)  # the last is for records without an equal one, number -1
        self._has_twins[classes.left[classes.paired_left]] = True
        self._of_class: dict[int, int] = {}
        self._sets: dict[int, tuple[set[int], set[int]]] = {}
        self._numbers = itertools.count()

    def join(self, left: Integers, right: Integers) -> None:
        """Add a set, with all records that do not differ from one of it and have their partner."""
        of_records = np.concatenate([self._classes[LEFT][left], self._classes[RIGHT][right]])
        self._add((set(left.tolist()), set(right.tolist())), np.unique(of_records))

    def join_twins(self, classes: Integers) -> None:
        """Add the records of each class in which some records have their partner and others do not."""
        for each in classes[self._has_twins[classes]].tolist():
            self._add((set(), set()), np.array([each]))

    def _add(self, records: tuple[set[int], set[int]], classes: Integers) -> None:
        number = next(self._numbers)
        for each in classes[self._has_twins[classes]].tolist():
            if each not in self._of_class:
                for members, order, ordered in zip(records, self._orders, self._sorted, strict=True):
                    begin, end = np.searchsorted(ordered, [each, each + 1])
                    members.update(order[begin:end].tolist())
            elif self._of_class[each] in self._sets:
                for members, more in zip(records, self._sets.pop(self._of_class[each]), strict=True):
                    members.update(more)
        self._sets[number] = records
        of_members = [self._classes[side][sorted(members)] for side, members in enumerate(records)]
        for each in np.unique(np.concatenate(of_members)).tolist():
            if self._has_twins[each]:
                self._of_class[each] = number

    def members(self) -> Iterator[tuple[Integers, Integers]]:
        for left, right in self._sets.values():
            yield np.array(sorted(left), np.int64), np.array(sorted(right), np.int64)


def _candidates(
    sides: MatchedSides, free: tuple[Integers, Integers], window: Window | None, rule: str
) -> Iterator[Candidates]:
    """Yield the possible pairs of free records, by their places in `free`; all pairs of a key come together."""
    left, right = (
        Records(side.key[rows], _taken(side.rank, rows), _taken(side.amount, rows))
        for side, rows in zip((sides.left, sides.right), free, strict=True)
    )
    # Without equal records, all are free, and their places in `free` are those of the links.
    near = ranges(left, right, window, sides.within) if sides.links is None else linked_ranges(sides.links)
    keys = left.key[near.left]
    for of_slice, tried in slices(keys, near.sizes, AT_ONCE):
        lookups = np.flatnonzero(np.isin(keys, of_slice))
        is_single = len(of_slice) == 1
        if is_single and tried > MOST_TRIED:
            raise TooManyPairs(rule, _records_of(left, right, of_slice), _TOO_MANY)
        pairs = [np.empty((2, 0), np.int64)]
        for ours, theirs in _built(near, lookups):
            agree = exact(left[ours], right[theirs], window, sides.within)
            agree &= sides.may_pair(free[LEFT][ours], free[RIGHT][theirs])
            pairs.append(np.stack([ours[agree], theirs[agree]]))
            if is_single and sum(part.shape[1] for part in pairs) > MOST:
                raise TooManyPairs(rule, _records_of(left, right, of_slice), _TOO_MANY)
        ours, theirs = np.concatenate(pairs, axis=1)
        if len(ours):
            yield Candidates(ours, theirs, tuple(_costs(sides, free[LEFT][ours], free[RIGHT][theirs])))


def _taken(values: Any, rows: Integers) -> Any:
    return None if values is None else values[rows]


def _records_of(left: Records, right: Records, keys: Integers) -> tuple[int, int]:
    return int(np.isin(left.key, keys).sum()), int(np.isin(right.key, keys).sum())


def _built(near: Ranges, lookups: Integers) -> Iterator[tuple[Integers, Integers]]:
    chosen = Ranges(near.left[lookups], near.begin[lookups], near.end[lookups], near.order)
    parts = np.cumsum(chosen.sizes) // AT_ONCE
    begins = np.flatnonzero(np.concatenate([[True], parts[1:] != parts[:-1]])) if len(parts) else parts
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(lookups)], strict=True):
        yield chosen.pairs(begin, end)


def _costs(sides: MatchedSides, left: Integers, right: Integers) -> Iterator[Amounts]:
    """Yield what decides between the partners of each pair of records, the most important first; less is better."""
    for preferred in sides.prefer:
        yield preferred.differ(left, right).astype(np.int64)
    if sides.left.rank is not None and sides.right.rank is not None:
        yield np.abs(sides.left.rank[left] - sides.right.rank[right])
    if sides.left.amount is not None and sides.right.amount is not None:
        yield np.abs(sides.left.amount[left] - sides.right.amount[right])
    if sides.fields:
        yield sides.differences(left, right)
