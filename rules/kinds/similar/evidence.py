"""Say in words what speaks for and against a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np

from rules.kinds.similar.features.amounts import AmountFeature
from rules.kinds.similar.features.base import MISSING, Feature
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model import scoring

NEIGHBOURS, MOVE = "neighbours", "move"
_PLACES = Decimal("0.01")
_LITTLE = Decimal("0.3")
"""Bits too few to be worth words."""


@dataclass(frozen=True)
class Reason:
    """What one column says about a pair: `weight` bits, for a match if positive. `words` hold no value of a record.

    `column` is the name of the column, or `neighbours` for what is taken back because different records that are
    close, like those of one household, have as much in common, or `move` for what is given back because a move changes
    the whole address at once.
    """

    column: str
    level: str
    words: str
    weight: Decimal


@dataclass(frozen=True)
class Evidence:
    """Why two records match, or do not: the weights add up to the `score` exactly.

    `probability` follows from the score and from how rare matches are in these data.
    """

    reasons: tuple[Reason, ...]
    score: Decimal
    probability: float

    @property
    def words(self) -> str:
        """The reasons worth telling, the strongest first: those for a match, then those against it after "but"."""
        telling = [reason for reason in self.reasons if abs(reason.weight) >= _LITTLE]
        telling.sort(key=lambda reason: -abs(reason.weight))
        speaking = [reason.words for reason in telling if reason.weight > 0]
        against = [reason.words for reason in telling if reason.weight < 0 and reason.column != NEIGHBOURS]
        less = [reason.words for reason in telling if reason.column == NEIGHBOURS]
        if against and speaking:
            against[0] = f"but {against[0]}"
        return ", ".join((*speaking, *less, *against))


def evidence(matching: Matching, pairs: list[tuple[int, int]]) -> Iterator[Evidence]:
    """Yield the evidence of pairs of places."""
    if not pairs:
        return
    first, second = (np.asarray(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    scored = matching.score(first, second)
    probabilities = 1 / (1 + np.exp2(-np.clip(scored.bits, -40, 40)))
    features = matching.comparison.features
    for row, pair in enumerate(pairs):
        reasons = [
            Reason(
                features[number].name,
                features[number].levels[level].name,
                _words(matching.settings.compare[features[number].column].name, features[number], pair, level),
                _rounded(float(scored.weights[row, number])),
            )
            for number, level in enumerate(scored.levels[row].tolist())
            if level != MISSING
        ]
        if given_back := _rounded(float(scored.weights[row, scoring.MOVE])):
            reasons.append(Reason(MOVE, "moved", "a move changes a whole address", given_back))
        if taken_back := _rounded(float(scored.weights[row, scoring.NEIGHBOURS])):
            reasons.append(Reason(NEIGHBOURS, "shared", "less what neighbours also share", taken_back))
        score = sum((reason.weight for reason in reasons), Decimal(0))
        yield Evidence(tuple(reasons), score, float(probabilities[row]))


def _rounded(weight: float) -> Decimal:
    return Decimal(repr(weight)).quantize(_PLACES, ROUND_HALF_EVEN) + 0


_SHORT = {
    "is the same": "same {}",
    "differs": "different {}",
    "has the same numbers": "same numbers in {}",
    "has one in common": "one {} in common",
}


def _words(name: str, feature: Feature, pair: tuple[int, int], level: int) -> str:
    """Return a clause like "same phone" or "surname is one letter apart"."""
    words = feature.in_words(*pair, level) if isinstance(feature, AmountFeature) else feature.levels[level].words
    return _SHORT[words].format(name) if words in _SHORT else f"{name} {words}"
