"""Drop pairs that cannot reach the threshold before all of their columns are compared.

Whether two values are equal is known at once from their codes; how alike unequal ones are takes time. So each pair
has an upper bound of its log odds, which falls column by column. No pair at or above the threshold is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Floats, Places
from rules.kinds.similar.features.crosswise import Crosswise
from rules.kinds.similar.features.dates import DateFeature
from rules.kinds.similar.features.values import ELSEWHERE, SWAPPED, ValueFeature
from rules.kinds.similar.model.scoring import Scoring

_SLACK = 1e-3
"""Bits that sums of single precision, and in another order, may differ by."""


@dataclass(frozen=True)
class Screening:
    """Upper bounds of the log odds of pairs under a model."""

    scoring: Scoring

    @cached_property
    def _most(self) -> tuple[NDArray[np.float64], ...]:
        """The most that each level can weigh, by feature: over all contexts of an address built from the names."""
        comparison = self.scoring.comparison
        tables = []
        for number, table in enumerate(self.scoring.tables):
            most = table.copy()
            if comparison.derived is not None and number == comparison.derived.email:
                size = comparison.derived.size
                most[1 : size + 1] = most[1:].reshape(-1, size).max(axis=0)
            tables.append(most)
        return tuple(tables)

    @cached_property
    def _coded(self) -> dict[int, ValueFeature | DateFeature]:
        """The features that know from codes whether two values are equal."""
        features = enumerate(self.scoring.comparison.features)
        return {number: feature for number, feature in features if isinstance(feature, (ValueFeature, DateFeature))}

    @cached_property
    def _begin(self) -> float:
        """The bound before anything is compared: the prior, and the most that all features without codes can add."""
        rest = [number for number in range(len(self._most)) if number not in self._coded]
        most = sum(max(float(self._most[number].max()), 0.0) + self._rarest(number) for number in rest)
        return self.scoring.prior + _SLACK + most + self._moved

    @cached_property
    def _moved(self) -> float:
        """The bits that a move may add to the bound of an address: mostly none, since words count with their most."""
        scoring = self.scoring
        if not scoring.comparison.movable or not scoring.model.moved:
            return 0.0
        least = 0.0
        for number in scoring.comparison.movable:
            table = self._most[number]
            least += float(table.min()) if number in self._coded else max(float(table.max()), 0.0)
        return max(float(np.log2(scoring.model.moved)) + 1 - least, 0.0)

    def _rarest(self, number: int) -> float:
        """Return the bits that the rarest value of an amount adds; words have none."""
        encoded = getattr(self.scoring.comparison.features[number], "encoded", None)
        if encoded is None:
            return 0.0
        bits = float(np.log2(max(encoded.chance * encoded.filled, 1.0)))
        return max(0.0, bits) * self.scoring.comparison.factors[number]

    @cached_property
    def _agreement(self) -> dict[int, Floats]:
        """What equal values weigh, by feature and code."""
        return {
            number: (
                self._most[number][feature.same] + feature.encoded.rarities * self.scoring.comparison.factors[number]
            ).astype(np.float32)
            for number, feature in self._coded.items()
        }

    @cached_property
    def _disagreement(self) -> dict[int, float]:
        """The most that two unequal values can weigh, by feature, if no name is in the other's column."""
        crossed = _names(self.scoring.comparison.crosswise)
        most = {}
        for number, feature in self._coded.items():
            is_possible = np.ones(len(self._most[number]), dtype=bool)
            is_possible[feature.same] = False
            if isinstance(feature, ValueFeature):
                is_possible[feature.same :] = False  # the other contexts, of which `_most` has the largest already
            if number in crossed:
                is_possible[[ELSEWHERE, SWAPPED]] = False
            most[number] = float(self._most[number][is_possible].max())
        return most

    @cached_property
    def _in_turn(self) -> tuple[int, ...]:
        """The features in the order in which unequal values are compared: what has few values is compared fastest."""
        return tuple(sorted(self._coded, key=lambda number: (len(self._coded[number].encoded.values), number)))

    def survivors(self, first: Places, second: Places, minimum: float) -> NDArray[np.int64]:
        """Return the positions of the pairs that may have log odds of `minimum` bits or more."""
        bounds, unequal = self._bounds(first, second, minimum)
        alive = np.flatnonzero(bounds >= 0)
        for number in self._in_turn:
            rest = alive[unequal[number][alive]]
            change = (self._most[number] - self._disagreement[number]).astype(np.float32)
            bounds[rest] += change[self._coded[number].compare_unequal(first[rest], second[rest])]
            alive = alive[bounds[alive] >= 0]
        return alive

    def possible(self, first: Places, second: Places, minimum: float) -> NDArray[np.int64]:
        """Return the positions of the pairs that may have so many bits as far as the codes of their values tell."""
        return np.flatnonzero(self._bounds(first, second, minimum)[0] >= 0)

    def _bounds(self, first: Places, second: Places, minimum: float) -> tuple[Floats, dict[int, NDArray[np.bool_]]]:
        """Return an upper bound of the bits of each pair above `minimum`, and which pairs have two unequal values, by
        feature.
        """
        crosswise = self.scoring.comparison.crosswise
        bounds = np.full(len(first), self._begin - minimum, dtype=np.float32)
        shares, unequal = {}, {}
        for number in self._coded:
            shares[number], unequal[number] = self._share(number, first, second)
            bounds += shares[number]
        if crosswise is not None:
            self._cross(crosswise, bounds, shares, unequal, first, second)
        return bounds, unequal

    def _share(self, number: int, first: Places, second: Places) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the most that a feature can add to each pair, and which pairs have two unequal values."""
        codes = self._coded[number].encoded.codes
        left, right = codes[first], codes[second]
        unequal = left != right
        unequal &= (left | right) >= 0
        share = np.where(unequal, np.float32(self._disagreement[number]), np.float32(0))
        equal = np.flatnonzero((left == right) & (left >= 0))
        share[equal] = self._agreement[number][left[equal]]
        return share, unequal

    def _cross(
        self,
        crosswise: Crosswise,
        bounds: Floats,
        shares: dict[int, Floats],
        unequal: dict[int, NDArray[np.bool_]],
        first: Places,
        second: Places,
    ) -> None:
        """Raise the bounds of pairs with a name in the other's column; their names need not be compared."""
        levels = crosswise.crossed(first, second)
        crossed = np.flatnonzero(levels)
        most = self._most[crosswise.given].astype(np.float32)[levels[crossed]]
        both = shares[crosswise.given][crossed] + shares[crosswise.surname][crossed]
        bounds[crossed] += np.maximum(most - both, 0)
        for number in _names(crosswise):
            unequal[number][crossed] = False


def _names(crosswise: Crosswise | None) -> tuple[int, ...]:
    return () if crosswise is None else (crosswise.given, crosswise.surname)
