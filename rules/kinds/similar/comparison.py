"""Compare pairs of records: the features of all columns, and the atoms by which candidates are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rules.kinds.similar import overlaps, words
from rules.kinds.similar.candidates import atoms as atoms_of
from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.encoded import Encoded, Floats, Levels, Places
from rules.kinds.similar.features.amounts import AmountFeature
from rules.kinds.similar.features.base import Feature
from rules.kinds.similar.features.cells import Cells
from rules.kinds.similar.features.crosswise import Crosswise
from rules.kinds.similar.features.dates import DateFeature
from rules.kinds.similar.features.derived import Derived
from rules.kinds.similar.features.values import value_feature
from rules.kinds.similar.features.wording import WordFeature
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Compared, Settings
from rules.kinds.similar.types import SEVERAL_VALUED, SHARED, WORDED, SemanticType
from rules.kinds.similar.words import Bags

_LEAST_FILLED = 0.02
"""A feature that fewer records than this share can have is left away."""


@dataclass(frozen=True)
class Comparison:
    """The features of some records."""

    records: Records
    settings: Settings
    features: tuple[Feature, ...]
    words: Mapping[int, Bags]
    """All words of each column that is compared by words."""
    crosswise: Crosswise | None
    derived: Derived | None
    shared: tuple[int, ...] = ()
    """The features whose values neighbours share; none if nothing would tell neighbours apart."""

    @classmethod
    def of(cls, records: Records, settings: Settings) -> Comparison:
        """Return the comparison of these columns."""
        whole, bags = _bags(records, settings)
        features: list[Feature] = []
        for number, (compared, encoded) in enumerate(zip(settings.compare, records.columns, strict=True)):
            match compared.type:
                case SemanticType.DATE:
                    features.append(DateFeature(compared.name, number, encoded, records.has_sides))
                case SemanticType.AMOUNT:
                    amounts = records.amounts[number]
                    same = _encoded_amounts(amounts)
                    features.append(AmountFeature(compared.name, number, amounts, same, records.has_sides))
                case semantic_type if semantic_type in WORDED:
                    features.extend(_by_words(compared, number, bags[number]))
                case semantic_type:
                    cells = _cells(encoded, semantic_type)
                    features.append(value_feature(compared.name, number, encoded, semantic_type, cells))
        shared = _shared(features, settings)
        crosswise, derived = Crosswise.of(features, settings), Derived.of(features, settings)
        return cls(records, settings, tuple(features), whole, crosswise, derived, shared)

    def atoms(self) -> Iterator[Atoms]:
        """Yield the atoms of all columns."""
        for number, (compared, encoded) in enumerate(zip(self.settings.compare, self.records.columns, strict=True)):
            amounts = self.records.amounts.get(number)
            if compared.type in WORDED:
                yield from _word_atoms(compared.name, number, encoded, self.words[number])
            else:
                values = encoded if amounts is None else _encoded_amounts(amounts)
                yield from atoms_of.of_column(compared.name, number, values, compared.type, amounts)
                if (cells := _cells(encoded, compared.type)) is not None:
                    yield _several(f"one {compared.name}", number, cells.bags(encoded))

    def levels(self, first: Places, second: Places) -> NDArray[np.int8]:
        """Return the level of each pair (rows) in each feature (columns)."""
        levels = np.empty((len(first), len(self.features)), dtype=np.int8, order="F")
        for number, feature in enumerate(self.features):
            levels[:, number] = feature.compare(first, second)
        if self.crosswise is not None:
            self.crosswise.mark(levels, first, second)
        if self.derived is not None:
            self.derived.mark(levels)
        return levels

    def rarities(self, first: Places, second: Places, levels: Levels) -> Floats:
        """Return the bits of rarity of each pair (rows) in each feature (columns)."""
        bits = np.empty((len(first), len(self.features)), dtype=np.float32, order="F")
        for number, feature in enumerate(self.features):
            bits[:, number] = feature.rarity(first, second, levels[:, number])
        return bits


def _shared(features: Sequence[Feature], settings: Settings) -> tuple[int, ...]:
    """Return the features whose values neighbours share; where these are all, all but the numbers of houses."""
    shared = [n for n, feature in enumerate(features) if settings.compare[feature.column].type in SHARED]
    if len(shared) < len(features):
        return tuple(shared)
    rest = tuple(n for n in shared if not (isinstance(own := features[n], WordFeature) and own.is_house))
    return rest if len(rest) < len(shared) else ()


def _bags(records: Records, settings: Settings) -> tuple[dict[int, Bags], dict[int, Bags]]:
    """Return the words of each column that is compared by words: all, and those that no other column repeats."""
    if not any(compared.type in WORDED for compared in settings.compare):
        return {}, {}
    textual = [
        number
        for number, compared in enumerate(settings.compare)
        if compared.type not in {SemanticType.DATE, SemanticType.AMOUNT, SemanticType.PHONE, SemanticType.EMAIL}
    ]
    every = words.bags(
        [(records.columns[number], settings.compare[number].type) for number in textual], records.spellings
    )
    composite = [settings.compare[number].type in WORDED for number in textual]
    rest = overlaps.reduced(every, composite)
    numbers = [(place, number) for place, number in enumerate(textual) if composite[place]]
    return {number: every[place] for place, number in numbers}, {number: rest[place] for place, number in numbers}


def _by_words(compared: Compared, column: int, bags: Bags) -> list[WordFeature]:
    features = []
    for suffix, having in (("", False), (" numbers", True)):
        part = bags.with_digits(having=having)
        if part.filled().sum() >= max(_LEAST_FILLED * bags.records, 2):
            features.append(WordFeature(f"{compared.name}{suffix}", column, part, having, compared.type))
    return features


def _word_atoms(name: str, column: int, encoded: Encoded, bags: Bags) -> Sequence[Atoms]:
    return [atoms_of.of_values(name, column, encoded), _several(f"words of {name}", column, bags)]


def _cells(encoded: Encoded, semantic_type: SemanticType) -> Cells | None:
    return Cells.of(encoded.values) if semantic_type in SEVERAL_VALUED else None


def _several(name: str, column: int, bags: Bags) -> Atoms:
    holders, keys = bags.places.astype(np.int32), bags.words.astype(np.int32)
    return Atoms(name, column, keys, max(len(bags.vocabulary), 1), holders)


def _encoded_amounts(amounts: NDArray[np.float64]) -> Encoded:
    valid = ~np.isnan(amounts)
    distinct, positions = np.unique(amounts[valid], return_inverse=True)
    codes = np.full(len(amounts), -1, dtype=np.int32)
    codes[valid] = positions
    return Encoded(codes, pa.array(distinct))
