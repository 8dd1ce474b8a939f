"""Drop pairs of an index that cannot be probable, as far as equal and unequal values tell, before any value is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Places, ValueCounts
from rules.kinds.similar.features.base import Feature
from rules.kinds.similar.features.dates import DateFeature
from rules.kinds.similar.features.values import ValueFeature
from rules.kinds.similar.index.index import Index
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model.scoring import Scoring
from rules.kinds.similar.model.screening import Screening


@dataclass(frozen=True)
class CodedPairs:
    """Pairs of records of an index, of which a matching has some."""

    index: Index
    matching: Matching

    def possible(self, first: Places, second: Places) -> NDArray[np.int64]:
        """Return the positions of the pairs that may be probable."""
        kept = np.zeros(len(first), dtype=bool)
        kept[self._screening.possible(first, second, self.matching.minimum)] = True
        kept[self._equal(first, second)] = True
        return np.flatnonzero(kept)

    def _equal(self, first: Places, second: Places) -> NDArray[np.int64]:
        """Return which pairs are equal in every column, none of them empty."""
        equal = np.arange(len(first))
        for number in self.index.wholes:
            atoms = self.index.kinds[number].atoms
            left = atoms[first[equal]]
            equal = equal[(left >= 0) & (left == atoms[second[equal]])]
        return equal

    @cached_property
    def _screening(self) -> Screening:
        comparison = self.matching.comparison
        features = tuple(map(self._of_index, comparison.features))
        crosswise = comparison.crosswise
        if crosswise is not None:
            given, surname = (
                self.index.kinds[self.index.wholes[features[number].column]]
                for number in (crosswise.given, crosswise.surname)
            )
            shared = given.numbers(surname.digests)
            shared = np.where(shared >= 0, shared, len(given.digests) + np.arange(len(shared)))
            codes = np.append(shared, -2)[surname.atoms].astype(np.int32)
            crosswise = replace(crosswise, given_codes=given.atoms, surname_codes=codes)
        comparison = replace(comparison, features=features, crosswise=crosswise)
        return Screening(Scoring(comparison, self.matching.scoring.model))

    def _of_index(self, feature: Feature) -> Feature:
        """Return the feature with the codes of all records of the index; their values are unknown."""
        if not isinstance(feature, ValueFeature | DateFeature):
            return feature
        kind = self.index.kinds[self.index.wholes[feature.column]]
        of = self.index.statistics.columns[feature.column]
        counts = ValueCounts(kind.counts, of.filled, of.chance)
        return replace(feature, encoded=Encoded(kind.atoms, pa.nulls(len(kind.digests)), counts))
