"""E-mail addresses built from the names: where the names agree, an equal address says little more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.features.base import Feature, Level
from rules.kinds.similar.features.values import AGREES, ValueFeature
from rules.kinds.similar.features.wording import HALF, MOST, WordFeature
from rules.kinds.similar.settings import Settings
from rules.kinds.similar.types import PERSONAL, SemanticType

_SAMPLE = 10_000
_MOSTLY = 0.5
_LEVELS = ("different", "number", "alike", "typo", "local", "shared", "same")
_NAMES_AGREE = (
    dict(zip(_LEVELS, (0.985, 0.01, 0.01, 0.0015, 0.0015, 0.0003, 0.002), strict=True)),
    dict(zip(_LEVELS, (0.93, 0.1, 0.03, 0.03, 0.005, 0.001, 0.005), strict=True)),
)
"""Built-in shares of the levels among random pairs of which one name agrees, and both."""


@dataclass(frozen=True)
class Derived:
    """The features of an e-mail address and of the names that it is built from, by position."""

    email: int
    names: tuple[tuple[int, int], ...]
    """Features of names, each with the level from which one name more agrees."""
    size: int

    @classmethod
    def of(cls, features: list[Feature], settings: Settings, *, is_derived: bool | None = None) -> Derived | None:
        """Return it if addresses hold the names of their records, and give the feature a context for each case.

        `is_derived` says whether they do, by default the records.
        """
        types = [settings.compare[feature.column].type for feature in features]
        names = [(number, AGREES) for number, semantic_type in enumerate(types) if semantic_type in PERSONAL]
        if not names:
            whole = [
                n for n, feature in enumerate(features) if types[n] is SemanticType.NAME and not _is_exact(feature)
            ]
            names = [(number, least) for number in whole for least in (HALF, MOST)]
        if types.count(SemanticType.EMAIL) != 1 or not names:
            return None
        email = types.index(SemanticType.EMAIL)
        feature = features[email]
        assert isinstance(feature, ValueFeature)  # noqa: S101 - an e-mail address is compared as a whole
        if is_derived is None:
            is_derived = _share([features[number] for number in dict(names)], feature) >= _MOSTLY
        if not is_derived:
            return None
        base = feature.levels
        features[email] = replace(feature, levels=(*base, *_contexts(base)))
        return cls(email, tuple(names), len(base) - 1)

    def mark(self, levels: NDArray[np.int8]) -> None:
        """Move the levels of the address to the context of their pair."""
        agreeing = sum(((levels[:, name] >= least).astype(np.int8) for name, least in self.names), np.int8(0))
        context = np.minimum(agreeing, len(_NAMES_AGREE)) * self.size
        levels[:, self.email] = np.where(levels[:, self.email] > 0, levels[:, self.email] + context, 0)


def _contexts(base: tuple[Level, ...]) -> list[Level]:
    return [
        replace(level, name=f"{level.name}, {agreement}", random=shares[level.name], context=context)
        for context, (agreement, shares) in enumerate(
            zip(("one name agrees", "both names agree"), _NAMES_AGREE, strict=True), 1
        )
        for level in base[1:]
    ]


def _is_exact(feature: Feature) -> bool:
    return isinstance(feature, WordFeature) and feature.exact


def _share(names: Sequence[Feature], email: ValueFeature) -> float:
    """Return the share of addresses that hold a name of their record."""
    texts, codes = email.encoded.texts, email.encoded.codes[:_SAMPLE]
    places = np.flatnonzero(codes >= 0)
    words = [_words(name, int(places.max(initial=-1)) + 1) for name in names]
    holding = sum(
        any(word in texts[codes[place]] for of_name in words for word in of_name[place]) for place in places.tolist()
    )
    return holding / max(len(places), 1)


def _words(name: Feature, records: int) -> list[list[str]]:
    """Return the words of two letters or more of the first records in a column of names."""
    words: list[list[str]] = [[] for _ in range(records)]
    if isinstance(name, WordFeature):
        end = int(np.searchsorted(name.bags.places, records))
        for place, word in zip(name.bags.places[:end].tolist(), name.bags.words[:end].tolist(), strict=True):
            words[place].append(name.bags.vocabulary[word])
    elif isinstance(name, ValueFeature):
        for place, code in enumerate(name.encoded.codes[:records].tolist()):
            if code >= 0:
                words[place].append(name.encoded.texts[code])
    return [[word for word in of_record if len(word) > 1] for of_record in words]
