"""Columns compared word by word: rare words count more, and a word counts for another one that is a typo of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from rules.kinds.similar.encoded import Codes, Encoded, Floats, Levels, Places, sorted_distinct
from rules.kinds.similar.features import spelling
from rules.kinds.similar.features.base import DIFFERENT, Level
from rules.kinds.similar.types import SemanticType
from rules.kinds.similar.words import Bags

_BOUNDS = (0.3, 0.5, 0.7, 0.85, 0.985)
"""Likeness: the soft cosine of two bags."""
_INFORMATION = (0.8, 1.5)
"""Bits of the shared words, as a share of those that tell one record from all others."""
_RAREST = (0.6, 0.85)
"""For words with digits, the bits of the rarest one instead, for a model number says all that is to say."""
_RARITIES = ("common", "rare", "very rare")
_WORDS = (
    ("little", 0.05, 0.16, "shares little"),
    ("some", 0.07, 0.035, "shares some words"),
    ("half", 0.09, 0.009, "shares about half"),
    ("most", 0.13, 0.003, "shares most"),
    ("nearly", 0.16, 0.001, "is nearly the same"),
    ("same", 0.46, 0.001, "is the same"),
)
_NUMBERS = (
    ("little", 0.05, 0.04, "shares few of the numbers"),
    ("some", 0.08, 0.016, "shares some numbers"),
    ("half", 0.10, 0.008, "shares about half of the numbers"),
    ("most", 0.07, 0.004, "shares most numbers"),
    ("nearly", 0.05, 0.002, "shares nearly all numbers"),
    ("same", 0.50, 0.004, "has the same numbers"),
)
_OF_MATCHES, _OF_RANDOM = (0.25, 0.35, 0.40), (0.9, 0.08, 0.02)


def _crossed(missing: Level, none: Level, degrees: tuple[tuple[str, float, float, str], ...]) -> tuple[Level, ...]:
    """Return the levels: each degree of likeness with each rarity of what is shared."""
    return (
        missing,
        none,
        *(
            Level(f"{name}, {rarity}", match * of_matches, random * of_random, words)
            for name, match, random, words in degrees
            for rarity, of_matches, of_random in zip(_RARITIES, _OF_MATCHES, _OF_RANDOM, strict=True)
        ),
    )


WORD_LEVELS = _crossed(Level("missing", 1, 1, "is missing"), Level("none", 0.04, 0.8, "shares no word"), _WORDS)
_NO_NUMBER = Level("missing", 1, 1, "has no number")
NUMBER_LEVELS = _crossed(_NO_NUMBER, Level("none", 0.15, 0.93, "has other numbers"), _NUMBERS)
HOUSE_LEVELS = _crossed(_NO_NUMBER, Level("none", 0.06, 0.93, "has other numbers"), _NUMBERS)
"""Another number is another house, but not always another product."""
HALF, MOST = (2 + degree * len(_RARITIES) for degree in (1, 3))
"""The levels from which a part of the words agrees, and most of them."""
_CHUNK = 100_000


@dataclass(frozen=True)
class WordFeature:
    """A column by its words (`exact` False), or by its words with digits, which know no typo.

    In names, short forms of given names are alike.
    """

    name: str
    column: int
    bags: Bags
    exact: bool
    type: SemanticType = SemanticType.TEXT

    @property
    def levels(self) -> tuple[Level, ...]:
        if not self.exact:
            return WORD_LEVELS
        return HOUSE_LEVELS if self.type is SemanticType.ADDRESS else NUMBER_LEVELS

    @property
    def is_house(self) -> bool:
        """Return True for the numbers of houses, which tell neighbours apart."""
        return self.exact and self.type is SemanticType.ADDRESS

    @cached_property
    def _distinct(self) -> tuple[Encoded, sparse.csr_array]:
        """Each record's bag as a code, and the distinct bags as rows of the weights of their words."""
        return _encode(self.bags)

    @cached_property
    def _spread(self) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """The rows with similar words mixed in, and the likeness of each row with itself."""
        weights = self._distinct[1]
        used = sorted_distinct(self.bags.words)
        if self.exact:
            likeness = spelling.variants(self.bags.vocabulary, used, are_houses=self.is_house)
        else:
            likeness = spelling.similar(self.bags.vocabulary, used, are_names=self.type is SemanticType.NAME)
        spread = (weights @ likeness).tocsr()
        return spread, np.asarray(spread.multiply(weights).sum(axis=1)).ravel()

    def compare(self, first: Places, second: Places) -> Levels:
        encoded, weights = self._distinct
        spread, own = self._spread
        enough = np.log2(max(encoded.filled, 2))
        levels = np.zeros(len(first), dtype=np.int8)
        for begin in range(0, len(first), _CHUNK):
            left = encoded.codes[first[begin : begin + _CHUNK]]
            right = encoded.codes[second[begin : begin + _CHUNK]]
            filled = np.flatnonzero((left >= 0) & (right >= 0))
            if len(filled):
                left, right = left[filled], right[filled]
                shared = np.round(np.asarray(spread[left].multiply(weights[right]).sum(axis=1)).ravel(), 6)
                likeness = np.round(shared / np.sqrt(own[left] * own[right]), 6)
                degree = np.searchsorted(_BOUNDS, likeness, side="right")
                rarity = np.searchsorted(*self._information(left, right, shared / enough, enough), side="right")
                levels[begin + filled] = np.where(shared > 0, 2 + degree * len(_RARITIES) + rarity, DIFFERENT)
        return levels

    def _information(
        self, left: Codes, right: Codes, shared: NDArray[np.float64], enough: float
    ) -> tuple[tuple[float, ...], NDArray[np.float64]]:
        """Return the bounds of rarities and the information that each pair shares, as a share of what is enough."""
        if not self.exact:
            return _INFORMATION, shared
        weights, spread = self._distinct[1], self._spread[0]
        fourth = np.asarray((spread[left] ** 4).multiply(weights[right] ** 4).sum(axis=1)).ravel()
        return _RAREST, np.round(fourth**0.25 / enough, 6)

    def rarity(self, first: Places, second: Places, levels: Levels) -> Floats:  # noqa: ARG002
        return np.zeros(len(first), dtype=np.float32)


def _encode(bags: Bags) -> tuple[Encoded, sparse.csr_array]:
    width = len(bags.vocabulary)
    counts = np.bincount(bags.words, minlength=width)
    records = max(int(bags.filled().sum()), 1)
    roots = np.sqrt(np.log2(1 + records / np.maximum(counts, 1)))  # so that products of shared words are bits
    mix = np.random.default_rng(7).integers(1, 2**63, size=max(width, 1), dtype=np.uint64)
    sums = np.zeros(bags.records, dtype=np.uint64)
    np.add.at(sums, bags.places, mix[bags.words])
    filled = np.flatnonzero(bags.filled())
    _, starts, codes = np.unique(sums[filled], return_index=True, return_inverse=True)
    per_record = np.full(bags.records, -1, dtype=np.int32)
    per_record[filled] = codes
    representative = np.full(bags.records, -1, dtype=np.int64)
    representative[filled[starts]] = np.arange(len(starts))
    chosen = representative[bags.places] >= 0
    weights = sparse.csr_array(
        (roots[bags.words[chosen]], (representative[bags.places[chosen]], bags.words[chosen])),
        shape=(len(starts), width),
    )
    return Encoded(per_record, pa.nulls(len(starts))), weights
