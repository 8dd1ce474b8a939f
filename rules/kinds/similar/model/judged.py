"""Pairs that people judged, and what they say about the probabilities of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rules.kinds.similar.encoded import Places
from rules.kinds.similar.model.scoring import log_odds, probability
from rules.kinds.similar.records import Records

LEAST_JUDGED = 10
"""With fewer judged pairs, probabilities stay as they are."""
_SLOPE_BELIEF, _SHIFT_BELIEF = 4.0, 0.25
"""How firmly a slope of 1 and a shift of 0 are believed, in pairs."""


@dataclass(frozen=True)
class Judged:
    """Pairs of places as candidates have them, and whether people said that they are the same."""

    first: Places
    second: Places
    same: NDArray[np.bool_]

    @classmethod
    def of(cls, pairs: Mapping[tuple[int, int], bool], records: Records) -> Judged:
        """Return the pairs that are compared at all: of two tables, only pairs of a record of each."""
        chosen = np.asarray(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        same = np.asarray([pairs[pair] for pair in sorted(pairs)], dtype=bool)
        if records.has_sides:
            compared = records.sides[chosen[:, 0]] != records.sides[chosen[:, 1]]
            chosen, same = chosen[compared], same[compared]
            chosen = np.where(records.sides[chosen[:, :1]] == 0, chosen, chosen[:, ::-1])
        return cls(chosen[:, 0], chosen[:, 1], same)

    def __len__(self) -> int:
        return len(self.same)

    def packed(self, records: int) -> NDArray[np.int64]:
        """Return the pairs as `first * records + second`."""
        packed: NDArray[np.int64] = self.first * records + self.second
        return packed

    def among(self, packed: NDArray[np.int64], records: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the positions of the judged pairs among these, and what people said about each."""
        order = np.argsort(packed, kind="stable")
        positions = np.searchsorted(packed, self.packed(records), sorter=order)
        return order[positions], self.same


@dataclass(frozen=True)
class Calibration:
    """A straight line from the log odds of a model, in bits, to those that people's judgements support."""

    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def of(cls, probabilities: NDArray[np.float64], same: NDArray[np.bool_]) -> Calibration:
        """Return the line under which these judgements are most likely (Platt 1999).

        People see pairs because of their probabilities, which biases nothing that is said given a probability.
        """
        if len(same) < LEAST_JUDGED:
            return cls()
        logits = log_odds(probabilities) * np.log(2)

        def loss(line: NDArray[np.float64]) -> float:
            logit = line[0] * logits + line[1]
            unlikely = np.logaddexp(0, np.where(same, -logit, logit)).sum()
            return float(unlikely + _SLOPE_BELIEF * (line[0] - 1) ** 2 / 2 + _SHIFT_BELIEF * line[1] ** 2 / 2)

        fit = optimize.minimize(loss, np.array([1.0, 0.0]), method="L-BFGS-B", bounds=[(0.2, 5.0), (-10.0, 10.0)])
        return cls(round(float(fit.x[0]), 6), round(float(fit.x[1] / np.log(2)), 6))

    def calibrated(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities that the judgements support, for those of the model."""
        if self == Calibration():
            return probabilities
        return probability(self.slope * log_odds(probabilities) + self.shift)

    def of_model(self, calibrated: float) -> float:
        """Return the probability of the model that stands for this one."""
        bits = (log_odds(np.array([calibrated])) - self.shift) / self.slope
        return float(probability(bits)[0])
