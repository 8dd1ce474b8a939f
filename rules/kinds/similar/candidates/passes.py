"""Ways to find candidates: records that share an atom, or two or three of different columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.candidates.blocks import Keyed
from rules.kinds.similar.records import Records

_FEW_COLUMNS = 4
_RAREST = 6
"""Of the words of a record, the rarest shared ones are combined with each other."""


@dataclass(frozen=True)
class Pass:
    """One way to find candidates: records with equal keys, which are computed when they are needed."""

    name: str
    keyed: Callable[[], Keyed]
    rare: int = 0
    """Blocks of up to so many records are always compared."""


def by_keys(records: Records, keys: Sequence[Sequence[int]]) -> Iterator[Pass]:
    """Yield one pass for each list of columns; records with a null in one of them take no part in it."""
    for number, columns in enumerate(keys, 1):
        yield Pass(f"key {number} of block", partial(_equal_in, records, columns))


def of(atoms: Sequence[Atoms], covered: int) -> Iterator[Pass]:
    """Yield one pass for each kind of atom, for each two kinds of different columns, and for two words of a column.

    An atom that no more than `covered` records have finds all pairs of them alone, so that only the others are
    combined.
    """
    for kind in atoms:
        yield Pass(kind.name, partial(_alone, kind), covered)
    common = [kind for kind in (kind.common(covered) for kind in atoms) if not kind.is_empty]
    for kind in common:
        if not kind.is_single:
            yield Pass(f"two of {kind.name}", partial(_two_words, kind))
    for first, second in combinations(common, 2):
        if first.column != second.column and (first.is_single or second.is_single):
            yield Pass(f"{first.name} with {second.name}", partial(_two_kinds, first, second))
    if len({kind.column for kind in atoms}) <= _FEW_COLUMNS:
        yield from _three_kinds(common, covered)


def _three_kinds(atoms: Sequence[Atoms], covered: int) -> Iterator[Pass]:
    """Yield one pass for each three kinds of different columns: with few columns, two are often not rare enough."""
    singles = [kind for kind in atoms if kind.is_single]
    several = [kind for kind in atoms if not kind.is_single]
    for place, first in enumerate(singles):
        for begin, second in enumerate(singles[place + 1 :], place + 2):
            if first.column == second.column:
                continue
            keyed = _two_kinds(first, second)
            both = _numbered(f"{first.name} with {second.name}", keyed, len(first.keys)).common(covered)
            for third in (*singles[begin:], *several):
                if third.column not in {first.column, second.column}:
                    yield Pass(f"{both.name} with {third.name}", partial(_two_kinds, both, third))


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
    counts = np.bincount(words.keys, minlength=words.bound)
    rank = np.empty(words.bound, dtype=np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(words.bound)
    packed = words.holders.astype(np.int64) * words.bound + rank[words.keys]
    packed.sort()
    places, keys = packed // words.bound, packed % words.bound
    starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    position = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    rarest = position < _RAREST
    places, keys = places[rarest], keys[rarest]
    pair_places, pair_keys = [], []
    for offset in range(1, _RAREST):
        together = places[offset:] == places[:-offset]
        low, high = keys[:-offset][together], keys[offset:][together]
        pair_places.append(places[offset:][together])
        pair_keys.append(low * words.bound + high)
    return Keyed(np.concatenate(pair_keys), np.concatenate(pair_places), words.bound**2)
