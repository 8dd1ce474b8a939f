"""What speaks for and against a pair, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from rules.kinds.similar.matching import Matching, Pairs

_PLACES = Decimal("0.1")


@dataclass(frozen=True)
class Evidence:
    """The evidence of scored pairs."""

    matching: Matching
    scored: Pairs

    def of(self, number: int) -> tuple[str, Decimal]:
        """Return the evidence of a pair in words, strongest first, and the sum of its weights in bits."""
        features = self.matching.comparison.features
        levels = self.scored.levels[number].tolist()
        weights = self.scored.weights[number].tolist()
        told = [
            (weight, f"{feature.name} {feature.levels[level].words}")
            for feature, level, weight in zip(features, levels, weights, strict=True)
            if level
        ]
        words = ", ".join(text for _, text in sorted(told, key=lambda item: -abs(item[0])))
        return words, Decimal(repr(float(self.scored.bits[number]))).quantize(_PLACES)
