"""Score pairs by a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.comparison import Comparison
from rules.kinds.similar.encoded import Levels, Places
from rules.kinds.similar.model.model import Model, builtin_shares

MOST = 40.0
"""The largest probability that is told apart, in bits."""


@dataclass(frozen=True)
class Scoring:
    """A model on the features of some records."""

    comparison: Comparison
    model: Model

    @cached_property
    def tables(self) -> tuple[NDArray[np.float64], ...]:
        """The weight of each level, by feature."""
        return tuple(
            self.model.shares.get(feature.name, builtin_shares(feature)).weights(
                [level.name for level in feature.levels]
            )
            for feature in self.comparison.features
        )

    @cached_property
    def prior(self) -> float:
        """The bits with which each pair begins: the log odds that two random records match."""
        records = self.comparison.records
        matches = self.model.twins * len(records) / 2
        share = min(max(matches / max(records.pairs, 1), 1e-15), 0.5)
        return float(np.log2(share / (1 - share)))

    def weights(self, first: Places, second: Places, levels: Levels) -> NDArray[np.float64]:
        """Return the weight in bits of each pair (rows) in each feature (columns)."""
        weights = self.comparison.rarities(first, second, levels).astype(np.float64)
        for number, table in enumerate(self.tables):
            weights[:, number] += table[levels[:, number]]
        return weights


def probability(bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of log odds in bits."""
    result: NDArray[np.float64] = 1 / (1 + np.exp2(-np.clip(bits, -MOST, MOST)))
    return result


def competing(bits: NDArray[np.float64], first: Places, second: Places, records: int) -> NDArray[np.float64]:
    """Return the probability of each pair if each record has at most one partner: pairs of a record compete."""
    odds = np.exp2(np.clip(bits, -MOST, MOST))
    left = np.bincount(first, weights=odds, minlength=records)
    right = np.bincount(second, weights=odds, minlength=records)
    return odds / (1 + np.maximum(left[first] + right[second] - odds, odds))
