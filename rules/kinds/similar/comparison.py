"""Compare pairs of records: the features of all columns, and the atoms by which candidates are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rules.kinds.similar import contents, degrees, overlaps, words
from rules.kinds.similar.candidates import atoms as atoms_of
from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.contents import Digests
from rules.kinds.similar.encoded import Codes, Encoded, Floats, Levels, Places
from rules.kinds.similar.features import generations, roles
from rules.kinds.similar.features.amounts import AmountFeature
from rules.kinds.similar.features.base import DIFFERENT, MISSING, Feature
from rules.kinds.similar.features.cells import Cells
from rules.kinds.similar.features.crosswise import Crosswise
from rules.kinds.similar.features.dates import DateFeature
from rules.kinds.similar.features.derived import Derived
from rules.kinds.similar.features.values import role_feature, value_feature
from rules.kinds.similar.features.wording import WordFeature
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Compared, Settings
from rules.kinds.similar.statistics import ColumnStatistics, Statistics
from rules.kinds.similar.types import (
    ADDRESSED,
    NAMES,
    PERSONAL,
    PLACES,
    SEVERAL_VALUED,
    WORDED,
    WORDLESS,
    SemanticType,
    shared_by_neighbours,
)
from rules.kinds.similar.words import Bags

_LEAST_FILLED = 0.02
"""A feature that fewer records than this share can have is left away."""

_MOSTLY = 0.5
_SAMPLE = 10_000


@dataclass(frozen=True)
class Comparison:
    """The features of some records."""

    records: Records
    settings: Settings
    features: tuple[Feature, ...]
    words: Mapping[int, Bags]
    """All words of each column that is compared by words."""
    cells: Mapping[int, Cells]
    """The values of each column of which some cells hold several."""
    crosswise: Crosswise | None
    derived: Derived | None
    shared: tuple[int, ...] = ()
    """The features whose values neighbours share; none if nothing would tell neighbours apart."""
    statistics: Statistics | None = None
    """What decides besides the values of two records, if not these records do."""
    is_parted: bool = False
    """Some values were compared without a part, such as a generation, or have a feature for it."""
    movable: tuple[int, ...] = ()
    """The features of an address, its postcode and its city, which change together when somebody moves."""

    @classmethod
    def of(cls, records: Records, settings: Settings, statistics: Statistics | None = None) -> Comparison:
        """Return the comparison of these columns."""
        columns = records.columns if statistics is None else statistics.counted(records.columns)
        whole, bags = _bags(records, settings)
        features: list[Feature] = []
        mailboxes: list[Feature] = []
        cells: dict[int, Cells] = {}
        has_names = not NAMES.isdisjoint(compared.type for compared in settings.compare)
        is_parted = False
        for number, (compared, encoded) in enumerate(zip(settings.compare, columns, strict=True)):
            of_column = None if statistics is None else statistics.columns[number]
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
                    parts = _cells(encoded, semantic_type, of_column)
                    if parts is not None:
                        cells[number] = parts
                    own, of_roles = encoded, None
                    if statistics is None:  # those of parted columns are not kept
                        own, of_roles = _parted(encoded, semantic_type, has_names=has_names)
                    is_parted |= own is not encoded
                    if of_roles is not None:
                        mailboxes.append(role_feature(f"{compared.name} role", number, of_roles))
                        parts = Cells.of(own.values)
                    is_finer = None if of_column is None else of_column.finer
                    features.append(value_feature(compared.name, number, own, semantic_type, parts, is_finer=is_finer))
        shared = tuple(sorted({*_shared(features, settings), *_of_colleagues(features, records, settings)}))
        crosswise = Crosswise.of(features, settings)
        derived = Derived.of(features, settings, is_derived=None if statistics is None else statistics.derived)
        shared += tuple(range(len(features), len(features) + len(mailboxes)))  # those who work together share them
        features += mailboxes
        generation = generations.of_names(records.columns, settings) if statistics is None else None
        if generation is not None:
            features.append(generation)
        movable = _movable(features, settings)
        of_all = (statistics, is_parted, movable)
        return cls(records, settings, tuple(features), whole, cells, crosswise, derived, shared, *of_all)

    @property
    def size(self) -> tuple[int, int]:
        """How many records and pairs of them there are, or were in the run that the statistics are of."""
        if self.statistics is not None:
            return self.statistics.records, self.statistics.pairs
        return len(self.records), self.records.pairs

    def atoms(self) -> Iterator[Atoms]:
        """Yield the atoms of all columns."""
        for number, (compared, encoded) in enumerate(zip(self.settings.compare, self.records.columns, strict=True)):
            amounts = self.records.amounts.get(number)
            if compared.type in WORDED:
                yield from _word_atoms(compared.name, number, encoded, self.words[number])
            else:
                whole = encoded if amounts is None else _encoded_amounts(amounts)
                yield from atoms_of.of_column(compared.name, number, whole, compared.type, amounts)
            if number in self.cells:
                yield _several(f"one {compared.name}", number, self.cells[number].bags(encoded))

    def levels(self, first: Places, second: Places) -> NDArray[np.int8]:
        """Return the level of each pair (rows) in each feature (columns)."""
        levels = np.empty((len(first), len(self.features)), dtype=np.int8, order="F")
        for number, (feature, counted) in enumerate(zip(self.features, self.counted, strict=True)):
            levels[:, number] = counted[feature.compare(first, second)]
        if self.crosswise is not None:
            self.crosswise.mark(levels, first, second)
        if self.derived is not None:
            self.derived.mark(levels)
        return levels

    def rarities(self, first: Places, second: Places, levels: Levels) -> Floats:
        """Return the bits of rarity of each pair (rows) in each feature (columns)."""
        bits = np.empty((len(first), len(self.features)), dtype=np.float32, order="F")
        for number, feature in enumerate(self.features):
            bits[:, number] = feature.rarity(first, second, levels[:, number]) * np.float32(self.factors[number])
        return bits

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """By how much the rule multiplies the bits of each feature."""
        names = (self.settings.compare[feature.column].name for feature in self.features)
        return tuple(self.settings.weights.get(name, 1.0) for name in names)

    @cached_property
    def counted(self) -> tuple[NDArray[np.int8], ...]:
        """As which level each level counts, by feature: that of different values, if the rule does not choose it."""
        return tuple(
            _counted(feature, self.settings.levels.get(self.settings.compare[feature.column].name, ()))
            for feature in self.features
        )


def _counted(feature: Feature, chosen: Sequence[str]) -> NDArray[np.int8]:
    contexts = [level.context for level in feature.levels]
    return np.asarray(
        [
            number
            if number in {MISSING, DIFFERENT} or degrees.counts(level.name, chosen)
            else contexts.index(level.context, DIFFERENT)
            for number, level in enumerate(feature.levels)
        ],
        dtype=np.int8,
    )


def _parted(encoded: Encoded, semantic_type: SemanticType, *, has_names: bool) -> tuple[Encoded, Encoded | None]:
    """Return the values of a column without generations and mailboxes of roles, and these mailboxes.

    Persons share the mailbox of a role; without names of persons, it is that of a company.
    """
    if semantic_type in PERSONAL:
        return generations.without(encoded), None
    if semantic_type is SemanticType.EMAIL and has_names:
        return roles.parted(encoded) or (encoded, None)
    return encoded, None


def _cells(encoded: Encoded, semantic_type: SemanticType, statistics: ColumnStatistics | None) -> Cells | None:
    """Return the values of the cells of a column in which some hold several."""
    if semantic_type not in SEVERAL_VALUED or (statistics is not None and not statistics.cells):
        return None
    return Cells.of(encoded.values, always=statistics is not None)


def _shared(features: Sequence[Feature], settings: Settings) -> tuple[int, ...]:
    """Return the features whose values neighbours share; where these are all, all but the numbers of houses."""
    near = shared_by_neighbours({compared.type for compared in settings.compare})
    shared = [n for n, feature in enumerate(features) if settings.compare[feature.column].type in near]
    if len(shared) < len(features):
        return tuple(shared)
    rest = tuple(n for n in shared if not (isinstance(own := features[n], WordFeature) and own.is_house))
    return rest if len(rest) < len(shared) else ()


def _movable(features: Sequence[Feature], settings: Settings) -> tuple[int, ...]:
    """Return the features of an address; none where no name is compared, which would stay when somebody moves."""
    types = {compared.type for compared in settings.compare}
    if SemanticType.ADDRESS not in types or types.isdisjoint(NAMES | {SemanticType.COMPANY}):
        return ()
    return tuple(n for n, feature in enumerate(features) if settings.compare[feature.column].type in ADDRESSED)


def _of_colleagues(features: Sequence[Feature], records: Records, settings: Settings) -> Iterator[int]:
    """Yield the features of companies whose records are mostly of different persons at one place."""
    names = [feature for feature in features if settings.compare[feature.column].type in NAMES]
    for number, feature in enumerate(features):
        if not names or settings.compare[feature.column].type is not SemanticType.COMPANY:
            continue
        first, second = _side_by_side(records.columns[feature.column].codes)
        differ = np.ones(len(first), dtype=bool)
        near = np.zeros(len(first), dtype=bool)
        for name in names:
            differ &= name.compare(first, second) <= DIFFERENT
        for compared, encoded in zip(settings.compare, records.columns, strict=True):
            if compared.type in PLACES:
                near |= (encoded.codes[first] == encoded.codes[second]) & (encoded.codes[first] >= 0)
        if len(first) and (differ & near).mean() > _MOSTLY:
            yield number


def _side_by_side(codes: Codes) -> tuple[Places, Places]:
    """Return pairs of records with one value, each with the next one that has it: of the first values, so many."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    equal = np.flatnonzero((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0))[:_SAMPLE]
    return order[equal], order[equal + 1]


def _bags(records: Records, settings: Settings) -> tuple[dict[int, Bags], dict[int, Bags]]:
    """Return the words of each column that is compared by words: all, and those that no other column repeats."""
    if not any(compared.type in WORDED for compared in settings.compare):
        return {}, {}
    textual = [number for number, compared in enumerate(settings.compare) if compared.type not in WORDLESS]
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


def _several(name: str, column: int, bags: Bags) -> Atoms:
    holders, keys = bags.places.astype(np.int32), bags.words.astype(np.int32)
    return Atoms(name, column, keys, max(len(bags.vocabulary), 1), holders, digests=lambda: _named(bags.vocabulary))


def _named(vocabulary: NDArray[np.object_]) -> Digests:
    return contents.digests(pa.array(vocabulary, pa.string()))


def _encoded_amounts(amounts: NDArray[np.float64]) -> Encoded:
    valid = ~np.isnan(amounts)
    distinct, positions = np.unique(amounts[valid], return_inverse=True)
    codes = np.full(len(amounts), -1, dtype=np.int32)
    codes[valid] = positions
    return Encoded(codes, pa.array(distinct))
