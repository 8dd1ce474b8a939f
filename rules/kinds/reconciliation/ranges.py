"""Join two sides by key and by ranges of dates and amounts, as arrays: exact, and counted before it is built.

Each left record looks up a range of right records sorted by key, bucket of days and value. A bucket is as wide as the
window of days, so that a window touches at most two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rules.kinds.reconciliation.links import Links, bounds
from rules.kinds.reconciliation.outcomes import RIGHT
from rules.kinds.reconciliation.sides import Within
from rules.pairs.numbers import Amounts, Flags, Integers, combined, times

_WIDEST = 2**62


@dataclass(frozen=True)
class Window:
    """How many days a right record may be `earlier` or `later` than its left one."""

    earlier: int
    later: int


@dataclass(frozen=True)
class Records:
    """One side of a join: the code of each record's key, and what its ranges are over."""

    key: Integers
    day: Integers | None
    amount: Amounts | None

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, which: Any) -> Records:
        day, amount = (None if values is None else values[which] for values in (self.day, self.amount))
        return Records(self.key[which], day, amount)


@dataclass(frozen=True)
class Ranges:
    """For each lookup: its left record, and the range of right records in `order` that it may pair with."""

    left: Integers
    begin: Integers
    end: Integers
    order: Integers

    @property
    def sizes(self) -> Integers:
        return self.end - self.begin

    def pairs(self, first: int, last: int) -> tuple[Integers, Integers]:
        """Return the left and right records of the lookups from `first` to before `last`."""
        sizes = self.sizes[first:last]
        left = np.repeat(self.left[first:last], sizes)
        starts = np.cumsum(sizes) - sizes
        places = np.arange(len(left)) - np.repeat(starts - self.begin[first:last], sizes)
        return left, self.order[places]


def ranges(left: Records, right: Records, window: Window | None, within: Within | None) -> Ranges:
    """Return where each left record finds the right records that it may pair with; `exact` tests them."""
    value, low, high = _values(left, right, window, within)
    if window is None or within is None:
        return _looked_up(left.key, right.key, np.arange(len(left)), (value, low, high))
    assert left.day is not None and right.day is not None  # noqa: S101, PT018 - a window is over days
    width = window.earlier + window.later + 1
    first, last = ((left.day + moved) // width for moved in (-window.earlier, window.later))
    wide = np.flatnonzero(first != last)
    lefts = np.concatenate([np.arange(len(left)), wide])
    buckets = np.concatenate([first, last[wide]])
    keys = combined([(left.key[lefts], right.key), (buckets, right.day // width)], (len(lefts), len(right)))
    return _looked_up(*keys, lefts, (value, low[lefts], high[lefts]))


def linked_ranges(links: Links) -> Ranges:
    """Return where each left record finds the right records with which it is linked."""
    if links.contained == RIGHT:
        order = np.argsort(links.class_of, kind="stable")
        begin, end = bounds(links.class_of[order], links.classes)
        return Ranges(links.texts, begin, end, order)
    order = np.argsort(links.classes, kind="stable")
    begin, end = bounds(links.classes[order], links.class_of)
    filled = np.flatnonzero(begin < end)
    return Ranges(filled, begin[filled], end[filled], links.texts[order])


def _values(
    left: Records, right: Records, window: Window | None, within: Within | None
) -> tuple[Amounts, Amounts, Amounts]:
    """Return the value of each right record, and the lowest and highest of each left record's partners."""
    if within is not None:
        assert left.amount is not None and right.amount is not None  # noqa: S101, PT018 - a test is over amounts
        return (right.amount, *_bounds(left.amount, within))
    if window is not None:
        assert left.day is not None and right.day is not None  # noqa: S101, PT018 - see above
        return right.day, left.day - window.earlier, left.day + window.later
    nothing = np.zeros(len(left), np.int64)
    return np.zeros(len(right), np.int64), nothing, nothing


def _bounds(amount: Amounts, within: Within) -> tuple[Amounts, Amounts]:
    """Return the lowest and highest partner of each amount; with two limits that both hold, those of the first."""
    nearest: list[tuple[Amounts, Amounts]] = []
    if within.by is not None:
        nearest.append((_plus(amount, -within.by), _plus(amount, within.by)))
    if within.percent is not None and (within.either or not nearest):
        nearest.append(_share_bounds(amount, *within.percent))
    lows, highs = zip(*nearest, strict=True)
    return np.minimum.reduce(lows), np.maximum.reduce(highs)


def _share_bounds(amount: Amounts, share: int, whole: int) -> tuple[Amounts, Amounts]:
    # The larger side is at most the smaller one times whole / (whole - share).
    size = np.abs(amount)
    smaller = times(size, whole - share) // whole
    larger = -(-times(size, whole) // (whole - share))
    return np.where(amount < 0, -larger, smaller), np.where(amount < 0, -smaller, larger)


def _plus(amount: Amounts, by: int) -> Amounts:
    """Add exactly: amounts of 64 bits leave room for one addition."""
    return amount + by if abs(by) < 2**62 else amount.astype(object) + by


def _looked_up(
    left_key: Integers, right_key: Integers, lefts: Integers, values: tuple[Amounts, Amounts, Amounts]
) -> Ranges:
    """Return the right records with the key of each lookup and a value in its range."""
    places, lowest, highest = _placed(left_key, right_key, values)
    order = np.argsort(places, kind="stable")
    places = places[order]
    nearby = np.argsort(lowest)  # sorted lookups read the places in order: several times faster
    begin = np.searchsorted(places, lowest[nearby])
    end = np.searchsorted(places, highest[nearby], side="right")
    filled = begin < end
    return Ranges(lefts[nearby[filled]], begin[filled], end[filled], order)


def _placed(
    left_key: Integers, right_key: Integers, values: tuple[Amounts, Amounts, Amounts]
) -> tuple[Integers, Integers, Integers]:
    """Return the place of each right record by key and value, and the first and last place of each lookup."""
    value, low, high = values
    if not len(value):
        nothing = np.zeros(len(low), np.int64)
        return np.empty(0, np.int64), nothing, nothing
    first, last = int(value.min()), int(value.max())
    keys = max(int(right_key.max()), int(left_key.max()) if len(left_key) else 0) + 1
    if keys * (last - first + 3) >= _WIDEST:
        levels = np.unique(value)
        low, high = np.searchsorted(levels, low), np.searchsorted(levels, high, side="right") - 1
        value, first, last = np.searchsorted(levels, value), 0, len(levels) - 1
    width = last - first + 3
    begin, end = ((np.clip(ends, first - 1, last + 1) - (first - 1)).astype(np.int64) for ends in (low, high))
    places = right_key * width + (value - (first - 1)).astype(np.int64)
    return places, left_key * width + begin, left_key * width + end


def exact(left: Records, right: Records, window: Window | None, within: Within | None) -> Flags:
    """Return True for each pair (a record of each side) that is within the window and the limits."""
    agree: Flags = np.ones(len(left), np.bool_)
    if window is not None:
        assert left.day is not None and right.day is not None  # noqa: S101, PT018 - see above
        later = right.day - left.day
        agree &= (later >= -window.earlier) & (later <= window.later)
    if within is not None:
        assert left.amount is not None and right.amount is not None  # noqa: S101, PT018 - see above
        agree &= within(left.amount, right.amount)
    return agree


def slices(keys: Integers, sizes: Integers, most: int) -> Iterator[tuple[Integers, int]]:
    """Yield sets of keys that together have about `most` pairs, and their number of pairs; a key is never split."""
    distinct, at = np.unique(keys, return_inverse=True)
    by_key = np.zeros(len(distinct), np.int64)
    np.add.at(by_key, at, sizes)
    parts = np.cumsum(by_key) // most
    for part in np.unique(parts):
        chosen = parts == part
        yield distinct[chosen], int(by_key[chosen].sum())
