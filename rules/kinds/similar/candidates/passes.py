"""Ways to find candidates: records that share an atom, or two or three of different columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.candidates.atoms import Atoms, Keys
from rules.kinds.similar.candidates.blocks import Keyed
from rules.kinds.similar.records import Records

_FEW_COLUMNS = 4
_RAREST = 6
"""Of the words of a record, the rarest shared ones are combined with each other."""


@dataclass(frozen=True)
class Way:
    """What the records of a block share: atoms of these `kinds`, by number, or two `words` of one.

    With `common`, atoms that few records have do not count, nor do the first two of three that few share.
    """

    kinds: tuple[int, ...]
    common: bool = False
    words: bool = False


@dataclass(frozen=True)
class Pass:
    """One way to find candidates: records with equal keys, which are computed when they are needed."""

    name: str
    keyed: Callable[[], Keyed]
    way: Way
    rare: int = 0
    """Blocks of up to so many records are always compared."""


def by_keys(records: Records, keys: Sequence[Sequence[int]]) -> Iterator[Pass]:
    """Yield one pass for each list of columns; records with a null in one of them take no part in it."""
    for number, columns in enumerate(keys, 1):
        yield Pass(f"key {number} of block", partial(_equal_in, records, columns), Way(tuple(columns)))


def of(atoms: Sequence[Atoms], covered: int) -> Iterator[Pass]:
    """Yield one pass for each kind of atom, for each two kinds of different columns, and for two words of a column.

    An atom that no more than `covered` records have finds all pairs of them alone, so that only the others are
    combined.
    """
    for number, kind in enumerate(atoms):
        yield Pass(kind.name, partial(_alone, kind), Way((number,)), covered)
    every = enumerate(kind.common(covered) for kind in atoms)
    common = [(number, kind) for number, kind in every if not kind.is_empty]
    for number, kind in common:
        if not kind.is_single:
            yield Pass(f"two of {kind.name}", partial(_two_words, kind), Way((number,), common=True, words=True))
    for (number, first), (partner, second) in combinations(common, 2):
        if first.column != second.column and (first.is_single or second.is_single):
            way = Way((number, partner), common=True)
            yield Pass(f"{first.name} with {second.name}", partial(_two_kinds, first, second), way)
    if len({kind.column for kind in atoms}) <= _FEW_COLUMNS:
        yield from _three_kinds(common, covered)


def _three_kinds(atoms: Sequence[tuple[int, Atoms]], covered: int) -> Iterator[Pass]:
    """Yield one pass for each three kinds of different columns: with few columns, two are often not rare enough."""
    singles = [(number, kind) for number, kind in atoms if kind.is_single]
    several = [(number, kind) for number, kind in atoms if not kind.is_single]
    for place, (number, first) in enumerate(singles):
        for begin, (partner, second) in enumerate(singles[place + 1 :], place + 2):
            if first.column == second.column:
                continue
            keyed = _two_kinds(first, second)
            both = _numbered(f"{first.name} with {second.name}", keyed, len(first.keys)).common(covered)
            for last, third in (*singles[begin:], *several):
                if third.column not in {first.column, second.column}:
                    way = Way((number, partner, last), common=True)
                    yield Pass(f"{both.name} with {third.name}", partial(_two_kinds, both, third), way)


def _equal_in(records: Records, columns: Sequence[int]) -> Keyed:
    filled = np.ones(len(records), dtype=bool)
    for column in columns:
        filled &= records.columns[column].codes >= 0
    places = np.flatnonzero(filled)
    combined, bound = np.zeros(len(places), dtype=np.int64), 1
    for column in columns:
        encoded = records.columns[column]
        pairs = combined * max(len(encoded.values), 1) + encoded.codes[places]
        distinct, combined = np.unique(pairs, return_inverse=True)
        bound = max(len(distinct), 1)
    return Keyed(combined.astype(np.int64), places, bound)


def _alone(kind: Atoms) -> Keyed:
    places = np.flatnonzero(kind.keys >= 0) if kind.holders is None else kind.holders.astype(np.int64)
    keys = kind.keys[places] if kind.holders is None else kind.keys
    return Keyed(keys.astype(np.int64), places, kind.bound)


def _two_kinds(first: Atoms, second: Atoms) -> Keyed:
    single, partner = (first, second) if first.is_single else (second, first)
    own = single.keys if partner.holders is None else single.keys[partner.holders]
    kept = np.flatnonzero((own >= 0) & (partner.keys >= 0))
    keys = own[kept].astype(np.int64) * partner.bound + partner.keys[kept]
    places = kept if partner.holders is None else partner.holders[kept].astype(np.int64)
    return Keyed(keys, places, single.bound * partner.bound)


def _numbered(name: str, keyed: Keyed, records: int) -> Atoms:
    """Return the keys, of which a record has at most one, as atoms."""
    packed, bits = keyed.packed(records)
    keys = packed >> bits
    numbers = np.zeros(len(keys), dtype=np.int32)
    numbers[1:] = np.cumsum(keys[1:] != keys[:-1])
    of_record = np.full(records, -1, dtype=np.int32)
    of_record[packed & ((1 << bits) - 1)] = numbers
    return Atoms(name, -1, of_record, int(numbers[-1]) + 1 if len(numbers) else 1)


def _two_words(words: Atoms) -> Keyed:
    """Return the pairs of the rarest shared words of each record."""
    assert words.holders is not None  # noqa: S101 - a record has several words
    places, keys = rarest_pairs(words.holders, words.keys, np.bincount(words.keys, minlength=words.bound))
    return Keyed(keys, places, words.bound**2)


def rarest_pairs(holders: Keys, words: Keys, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of the rarest words of each record, as its place and one number for both words.

    `counts` says how many records have each word; of equally rare ones, the one with the smaller number is rarer.
    """
    bound = len(counts)
    rank = np.empty(bound, dtype=np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(bound)
    packed = holders.astype(np.int64) * bound + rank[words]
    packed.sort()
    places, keys = packed // bound, packed % bound
    starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    position = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    rarest = position < _RAREST
    places, keys = places[rarest], keys[rarest]
    pair_places, pair_keys = [], []
    for offset in range(1, _RAREST):
        together = places[offset:] == places[:-offset]
        low, high = keys[:-offset][together], keys[offset:][together]
        pair_places.append(places[offset:][together])
        pair_keys.append(low * bound + high)
    return np.concatenate(pair_places), np.concatenate(pair_keys)
