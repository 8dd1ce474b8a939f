"""The file of a learnt model: YAML that a person reads, changes and commits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from rules.cleaning import Share
from rules.groups.learning import Expected, Weights
from rules.kinds.similar.types import SemanticType
from rules.models import Strict

_MOST = 1e6
"""Twins or neighbours of a record, at most."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ -]*[A-Za-z0-9_]")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null"}


def _of_pairs(share: float) -> float:
    if not 0 < share <= 1:
        raise ValueError("is a share of pairs; write more than 0 and at most 1")
    return share


class LevelShares(Strict):
    """How often pairs have a level of agreement: `match` pairs of the same thing, `random` other pairs."""

    match: Annotated[float, AfterValidator(_of_pairs)]
    random: Annotated[float, AfterValidator(_of_pairs)]


class ExpectedShares(Strict):
    """What to expect of a threshold: pairs, the share of them that is right, and of all right ones."""

    threshold: Share
    pairs: int = Field(ge=0)
    precision: Share
    recall: Share


def _probability(share: Decimal) -> Decimal:
    if not Decimal("0.01") <= share < 1:
        raise ValueError("is a probability; write 1% or more, and less than 100%")
    return share


Features = dict[str, dict[str, LevelShares]]


class ModelDocument(Strict):
    """What `reconcile learn` writes, and the setting `model` reads."""

    version: Literal["1"]
    compare: dict[str, SemanticType]
    threshold: Annotated[Share, AfterValidator(_probability)]
    twins: float = Field(gt=0, le=_MOST)
    neighbourhood: float = Field(default=0, ge=0, le=_MOST)
    features: Features
    neighbours: Features = Field(default_factory=dict)
    expected: tuple[ExpectedShares, ...] = Field(default=(), exclude=True)
    """For people; it decides about no pair."""

    def text(self, heading: str) -> str:
        """Return the file, with the weight of each level, in bits, as a comment. `heading` is its first comment."""
        return "".join(f"{line}\n" for line in (*(f"# {line}" for line in heading.splitlines()), *self._lines()))

    def _lines(self) -> Iterator[str]:
        yield f"version: {self.version}"
        yield "compare:"
        yield from (f"  {_key(name)}: {semantic_type.value}" for name, semantic_type in self.compare.items())
        yield f"threshold: {_percent(self.threshold)}"
        yield f"twins: {self.twins!r}  # twins that a record has on average"
        yield "features:"
        yield from _feature_lines(self.features)
        if self.neighbours:
            yield f"neighbourhood: {self.neighbourhood!r}  # neighbours that a record has on average"
            yield "neighbours:"
            yield from _feature_lines(self.neighbours)
        if self.expected:
            yield "expected:  # what to expect of other thresholds"
            yield from map(_expected_line, self.expected)

    def weights(self) -> Weights:
        """Return the weights for people."""
        columns = {
            name: {level: _weight(shares) for level, shares in levels.items()} for name, levels in self.features.items()
        }
        expected = [
            Expected(float(line.threshold), line.pairs, float(line.precision), float(line.recall))
            for line in self.expected
        ]
        return Weights(float(self.threshold), columns, expected)


def _feature_lines(features: Features) -> Iterator[str]:
    for name, levels in features.items():
        yield f"  {_key(name)}:"
        for level, shares in levels.items():
            numbers = f"match: {shares.match!r}, random: {shares.random!r}"
            yield f"    {_key(level)}: {{{numbers}}}  # {_weight(shares):+.1f}"


def _expected_line(line: ExpectedShares) -> str:
    shares = f"precision: {_percent(line.precision)}, recall: {_percent(line.recall)}"
    return f"  - {{threshold: {_percent(line.threshold)}, pairs: {line.pairs}, {shares}}}"


def _weight(shares: LevelShares) -> float:
    return math.log2(shares.match / shares.random)


def _percent(share: Decimal) -> str:
    return f"{(100 * share).normalize():f}%"


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _WORDS else json.dumps(name, ensure_ascii=False)
