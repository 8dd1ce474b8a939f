"""What to expect at each threshold: how many pairs, how many of them are right, and how many of all are taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.model.scoring import log_odds, probability

THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Curve:
    """Pairs by their probability under the model: `matches` is how probable each is once judgements count.

    Both are in descending order of `probabilities`. `total` is the expected number of matches among all pairs.
    """

    probabilities: NDArray[np.float64]
    matches: NDArray[np.float64]
    total: float

    @classmethod
    def of(cls, probabilities: NDArray[np.float64], matches: NDArray[np.float64], total: float) -> Curve:
        order = np.argsort(-probabilities, kind="stable")
        return cls(probabilities[order], matches[order], total)

    def at(self, threshold: float) -> tuple[int, float, float]:
        """Return the number of pairs at or above a threshold, and their expected precision and recall."""
        pairs = int(np.searchsorted(-self.probabilities, -threshold, side="right"))
        right = float(self.matches[:pairs].sum())
        return pairs, right / pairs if pairs else 1.0, min(right / self.total, 1.0) if self.total else 0.0

    def cut(self, expected_precision: float, least: float, most: float) -> float:
        """Return a probability with which pairs are right as often as expected, between `least` and `most`.

        It is in the middle between the last pair that is taken and the next one.
        """
        if not len(self.matches):
            return max(least, 0.5)
        precision = np.cumsum(self.matches) / np.arange(1, len(self.matches) + 1)
        enough = np.flatnonzero(precision >= expected_precision)
        around = int(enough[-1]) if len(enough) else 0
        bits = log_odds(self.probabilities[around : around + 2])
        middle = float(probability(np.array([bits.mean()]))[0])
        last = around == len(self.matches) - 1
        return least if last and len(enough) else round(min(max(middle, least), most), 6)
