"""Dates compared by day, month, year, typo and distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from rules.kinds.similar.encoded import Encoded, Floats, Levels, Places
from rules.kinds.similar.features.base import DIFFERENT, MISSING, Level
from rules.kinds.similar.texts import DATE_FORMS

_LEVELS = (
    Level("missing", 1, 1, "is missing"),
    Level("different", 0.03, 0.90, "differs"),
    Level("year", 0.02, 0.05, "has the same year"),
    Level("near", 0.02, 0.01, "is at most a month apart"),
    Level("week", 0.02, 0.005, "is at most a week apart"),
    Level("two", 0.06, 0.03, "differs in day, month or year alone"),
    Level("typo", 0.06, 0.004, "is one character apart"),
    Level("swapped", 0.02, 0.0005, "has day and month swapped"),
    Level("same", 0.77, 0.0005, "is the same"),
)
_TYPO = next(number for number, level in enumerate(_LEVELS) if level.name == "typo")
_SIGNED = tuple(
    Level(
        f"{days:+d}",
        share,
        0.001,
        f"is {abs(days)} {'day' if abs(days) == 1 else 'days'} {'later' if days > 0 else 'earlier'}",
    )
    for days, share in ((-3, 0.004), (-2, 0.01), (-1, 0.02), (1, 0.06), (2, 0.04), (3, 0.02))
)


@dataclass(frozen=True)
class DateFeature:
    """A column of dates. Between two tables the sign of a difference of days counts."""

    name: str
    column: int
    encoded: Encoded
    has_sides: bool

    @property
    def levels(self) -> tuple[Level, ...]:
        return (*_LEVELS, *_SIGNED) if self.has_sides else _LEVELS

    @property
    def same(self) -> int:
        return len(_LEVELS) - 1

    @cached_property
    def _parts(self) -> tuple[NDArray[np.int16], NDArray[np.int8], NDArray[np.int8], NDArray[np.int32]]:
        """Year, month, day and number of the day of each distinct value."""
        return parts(self.encoded.values)

    @cached_property
    def _digits(self) -> NDArray[np.int8]:
        """The digits of each distinct value, as year, month and day."""
        years, months, days, _ = self._parts
        number = years.astype(np.int64) * 10_000 + months.astype(np.int64) * 100 + days
        return np.stack([(number // 10**power) % 10 for power in range(8)], axis=1).astype(np.int8)

    def compare(self, first: Places, second: Places) -> Levels:
        left, right = self.encoded.codes[first], self.encoded.codes[second]
        levels = np.full(len(first), DIFFERENT, dtype=np.int8)
        years, months, days, numbers = self._parts
        same_year = years[left] == years[right]
        same_month = months[left] == months[right]
        same_day = days[left] == days[right]
        distance = numbers[right].astype(np.int64) - numbers[left]
        real = (numbers[left] > _NO_DAY) & (numbers[right] > _NO_DAY)
        levels[same_year] = 2
        levels[(np.abs(distance) <= 31) & real] = 3
        levels[(np.abs(distance) <= 7) & real] = 4
        levels[same_year.astype(np.int8) + same_month + same_day == 2] = 5
        near = np.flatnonzero(same_year.astype(np.int8) + same_month + same_day >= 1)
        typos = (self._digits[left[near]] != self._digits[right[near]]).sum(axis=1)
        levels[near[typos == 1]] = _TYPO
        swapped = same_year & (months[left] == days[right]) & (days[left] == months[right])
        levels[swapped] = 7
        unread = np.flatnonzero((left >= 0) & (right >= 0) & ((years[left] == 0) | (years[right] == 0)))
        levels[unread] = self._unread(left[unread], right[unread])
        levels[left == right] = self.same
        if self.has_sides:
            for number, days_apart in enumerate((-3, -2, -1, 1, 2, 3), len(_LEVELS)):
                levels[(distance == days_apart) & real] = number
        levels[(left < 0) | (right < 0)] = 0
        return levels

    def _unread(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> Levels:
        """Return the levels of values of which one or both are no dates: a typo, or neither for nor
        against."""
        texts = self.encoded.texts
        apart = process.cpdist(texts[left], texts[right], scorer=OSA.distance, score_cutoff=1)
        return np.where(apart <= 1, np.int8(_TYPO), np.int8(MISSING))

    def compare_unequal(self, first: Places, second: Places) -> Levels:
        """Return the levels of pairs that have two unequal values."""
        return self.compare(first, second)

    def rarity(self, first: Places, second: Places, levels: Levels) -> Floats:  # noqa: ARG002
        bits = np.zeros(len(first), dtype=np.float32)
        agreeing = np.flatnonzero(levels == self.same)
        bits[agreeing] = self.encoded.rarity(first[agreeing])
        return bits


_NO_DAY = -1_000_000


def parts(values: Any) -> tuple[NDArray[np.int16], NDArray[np.int8], NDArray[np.int8], NDArray[np.int32]]:
    """Return year, month, day and the number of the day of texts like 2024-03-01, 20240301 or 01.03.2024.

    A text that is no date has year 0; a date that does not exist, such as one of the month 24, has no number.
    """
    text = values.cast(pa.string())
    year, month, day = (np.zeros(len(text), dtype=np.int64) for _ in range(3))
    for form in reversed(DATE_FORMS):
        matched = pc.extract_regex(text, form)
        valid = np.asarray(pc.is_valid(matched))
        for name, target in (("y", year), ("m", month), ("d", day)):
            numbers_read = np.asarray(pc.fill_null(pc.struct_field(matched, name).cast(pa.int64()), 0))
            target[valid] = numbers_read[valid]
    real = (year > 0) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    months = (np.maximum(year, 1) - 1970) * 12 + np.clip(month, 1, 12) - 1
    numbers = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    return (
        year.astype(np.int16),
        month.astype(np.int8),
        day.astype(np.int8),
        np.where(real, numbers, _NO_DAY).astype(np.int32),
    )
