"""The file of a learnt model: YAML that a person reads, changes and commits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from rules.cleaning import Share
from rules.kinds.similar.types import SemanticType
from rules.models import Strict

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


Features = dict[str, dict[str, LevelShares]]


class ModelDocument(Strict):
    """What `reconcile learn` writes, and the setting `model` reads."""

    version: Literal["1"]
    compare: dict[str, SemanticType]
    threshold: Share
    twins: float = Field(gt=0)
    neighbourhood: float = Field(default=0, ge=0)
    features: Features
    neighbours: Features = Field(default_factory=dict)

    def text(self, heading: str) -> str:
        """Return the file, with the weight of each level, in bits, as a comment. `heading` is its first comment."""
        return "".join(f"{line}\n" for line in (*(f"# {line}" for line in heading.splitlines()), *self._lines()))

    def _lines(self) -> Iterator[str]:
        yield f"version: {self.version}"
        yield "compare:"
        yield from (f"  {_key(name)}: {semantic_type.value}" for name, semantic_type in self.compare.items())
        yield f"threshold: {(100 * self.threshold).normalize():f}%"
        yield f"twins: {self.twins!r}  # twins that a record has on average"
        yield "features:"
        yield from _feature_lines(self.features)
        if self.neighbours:
            yield f"neighbourhood: {self.neighbourhood!r}  # neighbours that a record has on average"
            yield "neighbours:"
            yield from _feature_lines(self.neighbours)


def _feature_lines(features: Features) -> Iterator[str]:
    for name, levels in features.items():
        yield f"  {_key(name)}:"
        for level, shares in levels.items():
            weight = math.log2(shares.match / shares.random)
            yield f"    {_key(level)}: {{match: {shares.match!r}, random: {shares.random!r}}}  # {weight:+.1f}"


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _WORDS else json.dumps(name, ensure_ascii=False)
