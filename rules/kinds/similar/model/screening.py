"""Drop pairs that cannot reach the threshold before all of their columns are compared.

Whether two values are equal is known at once from their codes; how alike unequal ones are takes time. So each pair
has an upper bound of its log odds, which falls column by column. No pair at or above the threshold is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Places
from rules.kinds.similar.features.dates import DateFeature
from rules.kinds.similar.features.values import ELSEWHERE, ValueFeature
from rules.kinds.similar.model.scoring import Scoring

_SLACK = 1e-6
"""Bits that sums in another order may differ by."""


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
    def _graded(self) -> tuple[int, ...]:
        """The features whose unequal values are compared one after the other, those that decide most first."""
        comparison = self.scoring.comparison
        crossed = () if comparison.crosswise is None else (comparison.crosswise.given, comparison.crosswise.surname)
        graded = [
            number
            for number, feature in enumerate(comparison.features)
            if isinstance(feature, (ValueFeature, DateFeature)) and number not in crossed
        ]
        addresses = () if comparison.derived is None else (comparison.derived.email,)  # long texts cost most
        return tuple(sorted(graded, key=lambda n: (n in addresses, self._most[n][1] - self._unequal(n), n)))

    def _unequal(self, number: int) -> float:
        """Return the most that two unequal values can weigh."""
        feature, table = self.scoring.comparison.features[number], self._most[number]
        if isinstance(feature, ValueFeature):
            table = table[: feature.same]
        elif isinstance(feature, DateFeature):
            table = np.delete(table, feature.same)
        return float(table.max())

    def survivors(self, first: Places, second: Places, minimum: float) -> NDArray[np.int64]:
        """Return the positions of the pairs that may have log odds of `minimum` bits or more."""
        comparison = self.scoring.comparison
        bounds = np.full(len(first), self.scoring.prior - minimum + _SLACK)
        shares = {}
        for number in range(len(comparison.features)):
            shares[number] = self._share(number, first, second)
            bounds += shares[number]
        alive = np.flatnonzero(bounds >= 0)
        for number in self._graded:
            feature = comparison.features[number]
            left, right = first[alive], second[alive]
            levels = feature.compare(left, right)
            unequal = np.flatnonzero((levels > 0) & (levels != feature.same))  # type: ignore[attr-defined]
            exact = self._most[number][levels[unequal]]
            bounds[alive[unequal]] += exact - shares[number][alive[unequal]]
            alive = alive[bounds[alive] >= 0]
        return alive

    def _share(self, number: int, first: Places, second: Places) -> NDArray[np.float64]:
        """Return the most that a feature can add to each pair."""
        comparison = self.scoring.comparison
        feature, table = comparison.features[number], self._most[number]
        if not isinstance(feature, (ValueFeature, DateFeature)):
            return np.full(len(first), max(float(table.max()), 0.0) + self._rarest(number))
        codes = feature.encoded.codes
        left, right = codes[first], codes[second]
        share = np.full(len(first), self._unequal(number))
        equal = np.flatnonzero(left == right)
        share[equal] = table[feature.same] + feature.encoded.rarity(first[equal])
        crosswise = comparison.crosswise
        absent = 0.0
        if crosswise is not None and number in {crosswise.given, crosswise.surname}:
            absent = max(0.0, float(table[ELSEWHERE:].max()))
        share[(left < 0) | (right < 0)] = absent
        return share

    def _rarest(self, number: int) -> float:
        """Return the bits that the rarest value of an amount adds; words have none."""
        encoded = getattr(self.scoring.comparison.features[number], "encoded", None)
        return 0.0 if encoded is None else max(0.0, float(np.log2(max(encoded.chance * encoded.filled, 1.0))))
