"""Score pairs by a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.comparison import Comparison
from rules.kinds.similar.encoded import Levels, Places
from rules.kinds.similar.model.model import Model, builtin_shares

MOVE, NEIGHBOURS = -2, -1
"""The columns of weights after those of the features."""
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
        return tuple(self._as_set(number, table) for number, table in enumerate(self._of_model))

    @cached_property
    def _of_model(self) -> tuple[NDArray[np.float64], ...]:
        """The weight of each level in the model, by feature; what it does not have is built in."""
        tables = []
        for feature, names in zip(self.comparison.features, self._names, strict=True):
            builtin = builtin_shares(feature).weights(names)
            own = self.model.shares.get(feature.name)
            tables.append(builtin if own is None else own.weights(names, builtin))
        return tuple(tables)

    def _as_set(self, number: int, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of a feature as the settings of the rule change them."""
        weights: NDArray[np.float64] = table[self.comparison.counted[number]] * self.comparison.factors[number]
        return weights

    @cached_property
    def neighbour_tables(self) -> dict[int, NDArray[np.float64]]:
        """The weight of each level for neighbours against random pairs, by feature of those that they share."""
        features = self.comparison.features
        return {
            number: self._as_set(
                number,
                self.model.neighbours[features[number].name].weights(self._names[number], self._of_model[number]),
            )
            for number in self.comparison.shared
            if features[number].name in self.model.neighbours
        }

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(level.name for level in feature.levels) for feature in self.comparison.features)

    @cached_property
    def nearness(self) -> float:
        """The share of neighbours among random pairs."""
        records, pairs = self.comparison.size
        return min(self.model.neighbourhood * records / 2 / max(pairs, 1), 0.5)

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
        records, pairs = self.comparison.size
        matches = self.model.twins * records / 2
        share = min(max(matches / max(pairs, 1), 1e-15), 0.5)
        return float(np.log2(share / (1 - share)))

    def weights(self, first: Places, second: Places, levels: Levels) -> NDArray[np.float64]:
        """Return the weight in bits of each pair (rows) in each feature (columns).

        Two last columns: what a move gives back of the differences of an address, and what is taken back since
        neighbours have it in common just as well.
        """
        rarities = self.comparison.rarities(first, second, levels).astype(np.float64)
        size = rarities.shape[1]
        weights = np.zeros((len(first), size + 2), order="F")
        weights[:, :size] = rarities
        for number, table in enumerate(self.tables):
            weights[:, number] += table[levels[:, number]]
        if self.comparison.movable and self.model.moved:
            weights[:, MOVE] = self._given_back(weights[:, list(self.comparison.movable)].sum(axis=1))
        if self.neighbour_tables:
            shared = rarities[:, list(self.comparison.shared)].sum(axis=1)
            weights[:, NEIGHBOURS] = -np.logaddexp2(0, self.neighbourly(levels, shared))
        return weights

    def _given_back(self, bits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a move adds to the bits of an address: who moved has no more in common than a random pair."""
        moved = np.log2(self.model.moved)
        given: NDArray[np.float64] = np.where(
            bits < 0, np.logaddexp2(bits + np.log2(1 - self.model.moved), moved), bits
        )
        return given - bits


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
