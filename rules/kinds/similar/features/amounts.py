"""Amounts compared by their ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Floats, Levels, Places
from rules.kinds.similar.features.base import DIFFERENT, Level

_STEPS = (0.0005, 0.005, 0.015, 0.03, 0.06, 0.12, 0.25, 0.5)
_SHARES = (0.05, 0.05, 0.06, 0.06, 0.06, 0.06, 0.06, 0.05)
_CHANCES = (0.001, 0.004, 0.008, 0.01, 0.02, 0.03, 0.07, 0.12)


_LEAST_SHOWN = 0.1
"""A difference of fewer per cent is not shown as a figure."""


def _bins(side: str) -> tuple[Level, ...]:
    return tuple(
        Level(f"{side} {high:g}", share / 2, chance / 2, f"is at most {100 * high:g} % {side}")
        for high, share, chance in zip(_STEPS, _SHARES, _CHANCES, strict=True)
    )


_SAME = 2
_LEVELS = (
    Level("missing", 1, 1, "is missing"),
    Level("different", 0.05, 0.73, "differs"),
    Level("same", 0.50, 0.003, "is the same"),
    *_bins("higher"),
    *_bins("lower"),
)


@dataclass(frozen=True)
class AmountFeature:
    """A column of amounts. Between two tables the sign of the difference counts."""

    name: str
    column: int
    amounts: NDArray[np.float64]
    encoded: Encoded
    has_sides: bool

    @property
    def levels(self) -> tuple[Level, ...]:
        return _LEVELS

    def compare(self, first: Places, second: Places) -> Levels:
        left, right = self.amounts[first], self.amounts[second]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.abs(right) / np.abs(left))
        step = np.searchsorted(np.log1p(_STEPS), np.abs(ratio))
        levels = np.where(step < len(_STEPS), 3 + step, DIFFERENT)
        lower = (ratio < 0) & (step < len(_STEPS)) if self.has_sides else np.zeros(len(first), dtype=bool)
        levels[lower] += len(_STEPS)
        levels[np.sign(left) != np.sign(right)] = DIFFERENT
        levels[left == right] = _SAME
        levels[np.isnan(left) | np.isnan(right)] = 0
        return levels.astype(np.int8)

    def in_words(self, first: int, second: int, level: int) -> str:
        """Return how far the amounts of two records are apart, in per cent: no amount follows from that."""
        if level <= _SAME:
            return self.levels[level].words
        left, right = abs(float(self.amounts[first])), abs(float(self.amounts[second]))
        share = 100 * abs(right - left) / (left if self.has_sides else max(left, right))
        words = f"about {share:.2g} %" if share >= _LEAST_SHOWN else f"less than {_LEAST_SHOWN:g} %"
        if not self.has_sides:
            return f"differs by {words}"
        return f"is {words} {'higher' if right > left else 'lower'}"

    def rarity(self, first: Places, second: Places, levels: Levels) -> Floats:  # noqa: ARG002
        bits = np.zeros(len(first), dtype=np.float32)
        agreeing = np.flatnonzero(levels == _SAME)
        bits[agreeing] = self.encoded.rarity(first[agreeing])
        return bits
