"""A model: how much each level of each feature says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.features.base import Feature

VERSION = 1


@dataclass(frozen=True)
class Shares:
    """The shares of the levels of a feature among true matches and among random pairs, by level without `missing`."""

    levels: tuple[str, ...]
    match: tuple[float, ...]
    random: tuple[float, ...]

    def weights(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the weight in bits of the levels with these names: log2 of match over random, 0 for missing."""
        of_level = {
            name: float(np.log2(match / random))
            for name, match, random in zip(self.levels, self.match, self.random, strict=True)
        }
        return np.asarray([0.0, *(of_level.get(name, 0.0) for name in names[1:])])


@dataclass(frozen=True)
class Model:
    """What is known of a kind of data: shares of levels by feature, the chance of a match, and the threshold.

    `twins` is the number of matches that a record has on average. `threshold` is the least probability of a pair that
    is taken, None for that of the settings. `learnt_from` is the number of expected matches behind it, 0 for a
    built-in model; `thin` is the reason why they were too few, if they were.
    """

    shares: Mapping[str, Shares]
    twins: float
    neighbours: Mapping[str, Shares] = field(default_factory=dict)
    """The shares among pairs of neighbours, by feature of those that they share; random ones are those of `shares`."""
    neighbourhood: float = 0.0
    """The number of neighbours that a record has on average."""
    threshold: float = 0.5
    learnt_from: float = 0.0
    thin: str | None = None

    @classmethod
    def builtin(cls, features: Sequence[Feature], twins: float = 0.2) -> Model:
        """Return the built-in model of these features."""
        return cls({feature.name: builtin_shares(feature) for feature in features}, twins)

    def as_json(self) -> dict[str, Any]:
        """Return the model as JSON holds it."""
        return {
            "version": VERSION,
            "twins": round(self.twins, 6),
            "threshold": self.threshold,
            "learnt_from": round(self.learnt_from, 1),
            "thin": self.thin,
            "features": _features(self.shares),
            "neighbourhood": self.neighbourhood,
            "neighbours": _features(self.neighbours),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Model:
        """Return the model that JSON holds. Raises ValueError for another version."""
        if document.get("version") != VERSION:
            raise ValueError(f"A model of version {document.get('version')} cannot be read; learn it again.")
        return cls(
            _shares(document["features"]),
            float(document["twins"]),
            _shares(document["neighbours"]),
            float(document["neighbourhood"]),
            float(document.get("threshold", 0.5)),
            float(document.get("learnt_from", 0.0)),
            document.get("thin"),
        )


def _features(every: Mapping[str, Shares]) -> dict[str, Any]:
    return {
        name: {
            level: {"match": match, "random": random}
            for level, match, random in zip(shares.levels, shares.match, shares.random, strict=True)
        }
        for name, shares in every.items()
    }


def _shares(features: Mapping[str, Any]) -> dict[str, Shares]:
    return {
        name: Shares(
            tuple(levels),
            tuple(float(level["match"]) for level in levels.values()),
            tuple(float(level["random"]) for level in levels.values()),
        )
        for name, levels in features.items()
    }


def builtin_shares(feature: Feature) -> Shares:
    """Return the built-in shares of a feature."""
    levels = feature.levels[1:]
    contexts = np.asarray([level.context for level in levels])
    match = normalised(np.asarray([level.match for level in levels]), contexts)
    random = normalised(np.asarray([level.random for level in levels]), contexts)
    return Shares(tuple(level.name for level in levels), tuple(match.tolist()), tuple(random.tolist()))


def normalised(counts: NDArray[np.float64], contexts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the counts of levels as shares that add up to 1 in each context."""
    shares: NDArray[np.float64] = counts / np.bincount(contexts, weights=counts)[contexts]
    return shares
