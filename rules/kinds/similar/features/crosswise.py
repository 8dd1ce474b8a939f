"""Names in each other's column: the given name of one record is the surname of the other, and the reverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar import degrees
from rules.kinds.similar.encoded import Codes, Levels, Places
from rules.kinds.similar.features.base import MISSING, Feature
from rules.kinds.similar.features.values import ELSEWHERE, SWAPPED, ValueFeature
from rules.kinds.similar.settings import Settings
from rules.kinds.similar.types import PERSONAL, SemanticType


@dataclass(frozen=True)
class Crosswise:
    """The features of given names and surnames, by position, and both columns as codes of one list of names."""

    given: int
    surname: int
    given_codes: Codes
    surname_codes: Codes

    @classmethod
    def of(cls, features: Sequence[Feature], settings: Settings) -> Crosswise | None:
        """Return it if there is one column of each type, and the rule counts swapped names in both."""
        types = [settings.compare[feature.column].type for feature in features]
        chosen = [settings.levels.get(each.name, ()) for each in settings.compare if each.type in PERSONAL]
        if not all(degrees.counts(degrees.SWAPPED, levels) for levels in chosen):
            return None
        if types.count(SemanticType.GIVEN_NAME) != 1 or types.count(SemanticType.SURNAME) != 1:
            return None
        given, surname = types.index(SemanticType.GIVEN_NAME), types.index(SemanticType.SURNAME)
        first, last = features[given], features[surname]
        assert isinstance(first, ValueFeature)  # noqa: S101 - names are compared as a whole
        assert isinstance(last, ValueFeature)  # noqa: S101 - as above
        numbers = {text: number for number, text in enumerate(first.encoded.texts)}
        mapped = np.asarray(
            [numbers.get(text, len(numbers) + number) for number, text in enumerate(last.encoded.texts)] + [-2],
            dtype=np.int32,
        )
        return cls(
            given, surname, first.encoded.codes, np.where(last.encoded.codes < 0, -2, mapped[last.encoded.codes])
        )

    def crossed(self, first: Places, second: Places) -> Levels:
        """Return the level of each pair with a name in the other's column, and 0 for the others."""
        given_as_surname = self.given_codes[first] == self.surname_codes[second]
        surname_as_given = self.surname_codes[first] == self.given_codes[second]
        levels = np.zeros(len(first), dtype=np.int8)
        levels[given_as_surname ^ surname_as_given] = ELSEWHERE
        levels[given_as_surname & surname_as_given] = SWAPPED
        return levels

    def mark(self, levels: NDArray[np.int8], first: Places, second: Places) -> None:
        """Set the level of swapped names: one level for both columns."""
        unlike = np.flatnonzero((levels[:, self.given] < SWAPPED) & (levels[:, self.surname] < SWAPPED))
        crossed = self.crossed(first[unlike], second[unlike])
        chosen = crossed > 0
        levels[unlike[chosen], self.given] = crossed[chosen]
        levels[unlike[chosen], self.surname] = MISSING
