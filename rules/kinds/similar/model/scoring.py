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
        """The weight of each level, by feature; what the model does not have is built in."""
        tables = []
        for feature, names in zip(self.comparison.features, self._names, strict=True):
            builtin = builtin_shares(feature).weights(names)
            own = self.model.shares.get(feature.name)
            tables.append(builtin if own is None else own.weights(names, builtin))
        return tuple(tables)

    @cached_property
    def neighbour_tables(self) -> dict[int, NDArray[np.float64]]:
        """The weight of each level for neighbours against random pairs, by feature of those that they share."""
        features = self.comparison.features
        return {
            number: self.model.neighbours[features[number].name].weights(self._names[number], self.tables[number])
            for number in self.comparison.shared
            if features[number].name in self.model.neighbours
        }

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(level.name for level in feature.levels) for feature in self.comparison.features)

    @cached_property
    def nearness(self) -> float:
        """The share of neighbours among random pairs."""
        records = self.comparison.records
        return min(self.model.neighbourhood * len(records) / 2 / max(records.pairs, 1), 0.5)

    def neighbourly(self, levels: Levels, rarity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds in bits that each pair is one of neighbours, against a random pair.

        `rarity` are the bits of rarity of the shared features.
        """
        bits = rarity.copy()
        for number, table in self.neighbour_tables.items():
            bits += table[levels[:, number]]
        with np.errstate(divide="ignore"):
            odds: NDArray[np.float64] = bits + np.log2(self.nearness / (1 - self.nearness))
        return odds

    @cached_property
    def prior(self) -> float:
        """The bits with which each pair begins: the log odds that two random records match."""
        records = self.comparison.records
        matches = self.model.twins * len(records) / 2
        share = min(max(matches / max(records.pairs, 1), 1e-15), 0.5)
        return float(np.log2(share / (1 - share)))

    def weights(self, first: Places, second: Places, levels: Levels) -> NDArray[np.float64]:
        """Return the weight in bits of each pair (rows) in each feature (columns).

        A last column takes back what neighbours have in common just as well.
        """
        rarities = self.comparison.rarities(first, second, levels).astype(np.float64)
        weights = np.zeros((len(first), rarities.shape[1] + 1), order="F")
        weights[:, :-1] = rarities
        for number, table in enumerate(self.tables):
            weights[:, number] += table[levels[:, number]]
        if self.neighbour_tables:
            shared = rarities[:, list(self.comparison.shared)].sum(axis=1)
            weights[:, -1] = -np.logaddexp2(0, self.neighbourly(levels, shared))
        return weights


def probability(bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of log odds in bits."""
    result: NDArray[np.float64] = 1 / (1 + np.exp2(-np.clip(bits, -MOST, MOST)))
    return result


def log_odds(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log odds of probabilities in bits."""
    least = 2.0**-MOST
    limited = np.clip(probabilities, least, 1 - least)
    bits: NDArray[np.float64] = np.log2(limited / (1 - limited))
    return bits


def competing(bits: NDArray[np.float64], first: Places, second: Places, records: int) -> NDArray[np.float64]:
    """Return the probability of each pair if each record has at most one partner: pairs of a record compete."""
    odds = np.exp2(np.clip(bits, -MOST, MOST))
    left = np.bincount(first, weights=odds, minlength=records)
    right = np.bincount(second, weights=odds, minlength=records)
    shares: NDArray[np.float64] = odds / (1 + np.maximum(left[first] + right[second] - odds, odds))
    return shares
