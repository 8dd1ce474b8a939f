"""The engine: estimate a model, score pairs, put records together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar import clusters as clustering
from rules.kinds.similar import parallel
from rules.kinds.similar.assignment import assign
from rules.kinds.similar.candidates.choice import Candidates, candidates
from rules.kinds.similar.clusters import UNCONSTRAINED, Constraints
from rules.kinds.similar.comparison import Comparison
from rules.kinds.similar.encoded import Places
from rules.kinds.similar.model import estimation
from rules.kinds.similar.model.estimation import Estimate
from rules.kinds.similar.model.judged import Judged
from rules.kinds.similar.model.model import Model
from rules.kinds.similar.model.scoring import Scoring, competing
from rules.kinds.similar.model.screening import Screening
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings
from rules.kinds.similar.statistics import Statistics

BATCH = 200_000
_LEAST_GAIN = 1e-6
"""A pair exactly at the threshold is worth more than none."""


@dataclass(frozen=True)
class Pairs:
    """Pairs by their places: weights and levels by feature (columns), and `bits`, their log odds with the prior."""

    first: Places
    second: Places
    weights: NDArray[np.float64]
    levels: NDArray[np.int8]
    bits: NDArray[np.float64]


@dataclass(frozen=True)
class Matching:
    """Some records with their settings and a model.

    If they are only a part of the records of a rule, `statistics` are those of all, and `chosen` the pairs to compare.
    """

    records: Records
    settings: Settings
    model: Model | None = None
    statistics: Statistics | None = None
    chosen: Candidates | None = None

    @cached_property
    def comparison(self) -> Comparison:
        return Comparison.of(self.records, self.settings, self.statistics)

    @cached_property
    def candidates(self) -> Candidates:
        if self.chosen is not None:
            return self.chosen
        keys = [self.settings.numbers(names) for names in self.settings.block]
        return candidates(self.records, tuple(self.comparison.atoms()), self.settings.max_block, keys)

    @cached_property
    def scoring(self) -> Scoring:
        model = self.model or (None if self.statistics is None else self.statistics.model)
        return Scoring(
            self.comparison, model or estimation.builtin(self.comparison, one_to_one=self.settings.one_to_one)
        )

    @property
    def threshold(self) -> float:
        """The least probability of a pair that is taken."""
        if self.settings.threshold is not None:
            return self.settings.threshold
        return self.scoring.model.threshold

    def estimate(self, judged: Judged | None = None) -> Estimate:
        """Return the model estimated from these records, without labels but those of `judged` pairs."""
        return estimation.estimate(
            self.comparison,
            self.candidates,
            one_to_one=self.settings.one_to_one,
            expected_precision=self.settings.expected_precision,
            judged=judged,
        )

    def score(self, first: Places, second: Places) -> Pairs:
        """Return any pairs with their weights."""
        levels = self.comparison.levels(first, second)
        weights = self.scoring.weights(first, second, levels)
        bits = weights.sum(axis=1) + self.scoring.prior
        equal = self._equal(first, second)
        bits[equal] = np.maximum(bits[equal], self.minimum + _LEAST_GAIN)
        for number in self.settings.numbers(self.settings.veto):
            bits[self._differ(number, first, second)] = -np.inf
        return Pairs(first, second, weights, levels, bits)

    def _differ(self, number: int, first: Places, second: Places) -> NDArray[np.int64]:
        """Return which pairs have values in a column, and none in common."""
        codes = self.records.columns[number].codes
        left, right = codes[first].astype(np.int64), codes[second].astype(np.int64)
        differing = np.flatnonzero((left >= 0) & (right >= 0) & (left != right))
        cells = self.comparison.cells.get(number)
        return differing if cells is None else differing[~cells.share(left[differing], right[differing])]

    def _equal(self, first: Places, second: Places) -> NDArray[np.int64]:
        """Return which pairs are equal in every column, none of them empty: twins, however common the values are."""
        equal = np.arange(len(first))
        for column in self.records.columns:
            left = column.codes[first[equal]]
            equal = equal[(left >= 0) & (left == column.codes[second[equal]])]
        return equal

    @cached_property
    def minimum(self) -> float:
        """The threshold as log odds in bits."""
        return float(np.log2(self.threshold / (1 - self.threshold)))

    def pairs(self) -> Iterator[Pairs]:
        """Yield the candidates at or above the threshold, in bounded batches."""
        packed, records, minimum = self.candidates.packed, self.candidates.records, self.minimum
        screening = Screening(self.scoring)

        def probable(begin: int) -> Pairs:
            batch = packed[begin : begin + BATCH]
            first = batch // records
            second = batch - first * records
            possible = np.zeros(len(batch), dtype=bool)
            possible[screening.survivors(first, second, minimum)] = True
            possible[self._equal(first, second)] = True
            scored = self.score(first[possible], second[possible])
            kept = scored.bits >= minimum
            return Pairs(
                scored.first[kept], scored.second[kept], scored.weights[kept], scored.levels[kept], scored.bits[kept]
            )

        yield from parallel.in_order(probable, range(0, len(packed), BATCH))

    @cached_property
    def probable(self) -> tuple[Places, Places, NDArray[np.float64]]:
        """All pairs at or above the threshold, also those that compete for partners, with their bits."""
        batches = list(self.pairs())
        first, second, bits = (
            np.concatenate([getattr(batch, name) for batch in batches] or [np.zeros(0, dtype)])
            for name, dtype in (("first", np.int64), ("second", np.int64), ("bits", np.float64))
        )
        return first, second, bits

    def matches(self, constraints: Constraints = UNCONSTRAINED) -> tuple[Places, Places, NDArray[np.float64]]:
        """Return the probable pairs with their bits; of those that compete for partners, the best."""
        first, second, bits = self.probable
        if not self.settings.one_to_one:
            return first, second, bits
        if constraints.together:
            certain = np.unique(np.asarray(sorted(constraints.together)))
            free = ~(np.isin(first, certain) | np.isin(second, certain))
            first, second, bits = first[free], second[free], bits[free]
        if constraints.apart:
            size = len(self.records)
            excluded = np.asarray([low * size + high for low, high in sorted(constraints.apart)])
            free = ~np.isin(np.minimum(first, second) * size + np.maximum(first, second), excluded)
            first, second, bits = first[free], second[free], bits[free]
        matches = competing(bits, first, second, len(self.records))
        gains = bits - self.minimum + _LEAST_GAIN
        taken = assign(first, second, gains, len(self.records)) & (matches >= self.threshold)
        return first[taken], second[taken], bits[taken]

    def clusters(self, constraints: Constraints = UNCONSTRAINED) -> Iterator[Places]:
        """Yield the clusters of two or more records, each in ascending order."""
        first, second, _ = self.matches(constraints)

        def excess(left: Places, right: Places) -> NDArray[np.float64]:
            return self.score(left, right).bits - self.minimum

        grouped = clustering.clusters(first, second, self.candidates.inside, len(self.records), excess, constraints)
        crowds = {} if self.candidates.is_every_pair else self._crowds()
        if not crowds:
            yield from grouped
            return
        for cluster in grouped:
            yield np.sort(np.concatenate([crowds.pop(place, np.asarray([place])) for place in cluster.tolist()]))
        yield from crowds.values()

    def _crowds(self) -> dict[int, Places]:
        """Return the equal records of which only the first was compared, by its place, if they are similar enough."""
        crowds = self.records.crowds(self.settings.max_block)
        if self.settings.one_to_one or not crowds:
            return {}
        first, second = (np.asarray([crowd[place] for crowd in crowds]) for place in (0, 1))
        bits = self.score(first, second).bits
        return {int(crowd[0]): crowd for crowd, own in zip(crowds, bits, strict=True) if own >= self.minimum}
