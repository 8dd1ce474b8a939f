"""A model: how much each level of each feature says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from rules.groups.learning import Expected
from rules.kinds.similar.features.base import Feature
from rules.kinds.similar.model.document import ExpectedShares, Features, LevelShares, ModelDocument
from rules.kinds.similar.types import SemanticType

_LEAST_RECALL = 0.0001


@dataclass(frozen=True)
class Shares:
    """The shares of the levels of a feature among true matches and among random pairs, by level without `missing`."""

    levels: tuple[str, ...]
    match: tuple[float, ...]
    random: tuple[float, ...]

    def weights(self, names: Sequence[str], otherwise: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the weight in bits of the levels with these names, the first of them `missing`.

        It is log2 of match over random; `otherwise` has the weights of levels without shares, by default 0.
        """
        weights = np.zeros(len(names)) if otherwise is None else otherwise.copy()
        numbers = {name: number for number, name in enumerate(names) if number}
        for name, match, random in zip(self.levels, self.match, self.random, strict=True):
            if name in numbers:
                weights[numbers[name]] = float(np.log2(match / random))
        return weights


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
    moved: float = 0.0
    """The share of true matches of which one has another address, in all of its parts; 0 if these are independent."""
    threshold: float = 0.5
    learnt_from: float = 0.0
    thin: str | None = None

    @classmethod
    def builtin(cls, features: Sequence[Feature], twins: float = 0.2) -> Model:
        """Return the built-in model of these features."""
        return cls({feature.name: builtin_shares(feature) for feature in features}, twins)

    @classmethod
    def of(cls, document: ModelDocument) -> Model:
        """Return the model that a file holds."""
        return cls(
            _read(document.features),
            document.twins,
            _read(document.neighbours),
            document.neighbourhood,
            threshold=float(document.threshold),
        )

    def document(self, compare: Mapping[str, SemanticType], expected: Sequence[Expected] = ()) -> ModelDocument:
        """Return the model for a file, with rounded numbers, and what to expect of thresholds."""
        return ModelDocument(
            version="1",
            compare=dict(compare),
            threshold=_share(self.threshold),
            twins=_rounded(self.twins),
            neighbourhood=_rounded(self.neighbourhood),
            features=_written(self.shares),
            neighbours=_written(self.neighbours),
            expected=tuple(
                ExpectedShares(
                    threshold=_share(line.threshold),
                    pairs=line.pairs,
                    precision=_share(line.precision),
                    recall=_share(line.recall),
                )
                for line in expected
                if line.pairs and line.recall >= _LEAST_RECALL
            ),
        )


def _read(features: Features) -> dict[str, Shares]:
    return {
        name: Shares(
            tuple(levels),
            tuple(shares.match for shares in levels.values()),
            tuple(shares.random for shares in levels.values()),
        )
        for name, levels in features.items()
    }


def _written(features: Mapping[str, Shares]) -> Features:
    return {
        name: {
            level: LevelShares(match=_rounded(match), random=_rounded(random))
            for level, match, random in zip(shares.levels, shares.match, shares.random, strict=True)
        }
        for name, shares in features.items()
    }


def _share(number: float) -> Decimal:
    return Decimal(repr(_rounded(number)))


def _rounded(number: float) -> float:
    """Return a number with four significant digits, which is more than data can tell."""
    return float(f"{number:.4g}")


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
