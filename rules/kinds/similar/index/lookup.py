"""Find the records that share with some others what `candidates` would compare them by, without sorting all records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rules.groups.scope import Unscoped
from rules.kinds.similar import parallel
from rules.kinds.similar.candidates.choice import RARE
from rules.kinds.similar.candidates.passes import Way, rarest_pairs
from rules.kinds.similar.contents import mixed
from rules.kinds.similar.encoded import Places, distinct_in_place
from rules.kinds.similar.index.index import Index, Kind

_BITS = 22
"""A filter of so many bits excludes most records that share no key."""
_MOST_PAIRS = 20_000_000
Mask = NDArray[np.bool_]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Lookup:
    """The records of an index that share a key with one of those at `places`.

    A key that more than `max_block` records share now is refused: a full run leaves it out.
    """

    index: Index
    places: Places
    max_block: int

    def pairs(self) -> tuple[Places, Places]:
        """Return the pairs of present records, the smaller place first, in order. Raises Unscoped."""
        size = len(self.index)
        packed = np.zeros(0, dtype=np.int64)
        for of_way in parallel.in_order(lambda item: self._of_way(*item), self.index.ways):
            packed = distinct_in_place(np.concatenate([packed, of_way]))
            if len(packed) > _MOST_PAIRS:
                raise Unscoped(f"the changed records share values with others in more than {_MOST_PAIRS:,} pairs")
        return packed // max(size, 1), packed % max(size, 1)

    def _of_way(self, way: Way, limit: int) -> NDArray[np.int64]:
        """Return the pairs that this way finds, as `first * records + second`."""
        entries = self._of_two_words(self.index.kinds[way.kinds[0]]) if way.words else self._sharing(way)
        if not len(entries.places):
            return np.zeros(0, dtype=np.int64)
        keys, numbers = np.unique(entries.keys, return_inverse=True)
        counts = self._counts(entries, numbers, len(keys))
        kept = (counts[numbers] <= limit) & self.index.present[entries.places]
        return self._paired(entries.places[kept], numbers[kept])

    def _counts(self, entries: _Entries, numbers: Places, keys: int) -> NDArray[np.int64]:
        """Return how many records of the full run had each key, which are numbered."""
        return np.bincount(numbers[entries.places < self.index.base], minlength=keys)

    def _sharing(self, way: Way) -> _Entries:
        """Return the entries of all records that have a key of a record that is looked up."""
        kinds = [self.index.kinds[number] for number in way.kinds]
        every = _Atoms.of(kinds)
        own = every.only(np.flatnonzero(self._is_looked_up[every.places])).filled()
        if way.common:
            is_common = np.ones(len(own.places), dtype=bool)
            for kind, atoms in zip(kinds, own.atoms, strict=True):
                is_common &= kind.counts[atoms] > self._covered
            own = own.only(np.flatnonzero(is_common))
        if way.common and len(kinds) > 2:
            own = self._of_common_pairs(every.first_two(), own)
        return every.having(own)

    def _of_common_pairs(self, every: _Atoms, own: _Atoms) -> _Atoms:
        """Return those of our atoms of which the first two are shared by more than a few records."""
        ours = own.first_two()
        entries = every.having(ours)
        keys, numbers = np.unique(entries.keys, return_inverse=True)
        counts = self._counts(entries, numbers, len(keys))
        return own.only(np.flatnonzero(counts[np.searchsorted(keys, ours.entries.keys)] > self._covered))

    def _of_two_words(self, kind: Kind) -> _Entries:
        """Return the pairs of the rarest common words of the records that share two with one that is looked up."""
        assert kind.holders is not None  # noqa: S101 - a record has several words
        is_common = kind.counts > self._covered
        own = kind.atoms[self._is_looked_up[kind.holders]]
        is_ours = np.zeros(len(is_common), dtype=bool)
        is_ours[own] = True
        shared = np.bincount(kind.holders[(is_ours & is_common)[kind.atoms]], minlength=len(self.index))
        chosen = np.flatnonzero((shared > 1)[kind.holders] & is_common[kind.atoms])
        places, words = rarest_pairs(kind.holders[chosen], kind.atoms[chosen], np.where(is_common, kind.counts, 0))
        keys = words.astype(np.uint64)
        of_ours = np.unique(keys[self._is_looked_up[places]])
        kept = np.isin(keys, of_ours)
        return _Entries(places[kept], keys[kept])

    @property
    def _covered(self) -> int:
        return min(RARE, self.max_block)

    @cached_property
    def _is_looked_up(self) -> Mask:
        chosen = np.zeros(len(self.index), dtype=bool)
        chosen[self.places] = True
        return chosen

    def _paired(self, places: Places, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pairs of records with equal keys of which one is looked up."""
        order = np.argsort(keys, kind="stable")
        places, keys = places[order], keys[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        sizes = np.diff(np.append(starts, len(keys)))
        if sizes.max(initial=0) > self.max_block:
            raise Unscoped(f"changed records share values that {int(sizes.max()):,} records have by now")
        block = np.repeat(np.arange(len(starts)), sizes)
        own = np.flatnonzero(self._is_looked_up[places])
        times = sizes[block[own]]
        left = np.repeat(places[own], times)
        within = np.arange(len(left)) - np.repeat(np.cumsum(times) - times, times)
        right = places[np.repeat(starts[block[own]], times) + within]
        unequal = left != right
        left, right = left[unequal], right[unequal]
        packed: NDArray[np.int64] = np.minimum(left, right) * len(self.index) + np.maximum(left, right)
        return distinct_in_place(packed)


@dataclass(frozen=True)
class _Entries:
    """Records with a key each; a record with several keys is there several times."""

    places: Places
    keys: Keys


@dataclass(frozen=True)
class _Atoms:
    """Records with their atoms of some kinds, an array for each; a record with several atoms is there several times."""

    kinds: tuple[Kind, ...]
    places: Places
    atoms: tuple[NDArray[np.int32], ...]

    @classmethod
    def of(cls, kinds: list[Kind]) -> _Atoms:
        """Return all records; at most one of the kinds has several atoms in a record. Some atoms are lacking."""
        holders = next((kind.holders for kind in kinds if kind.holders is not None), None)
        if holders is None:
            return cls(tuple(kinds), np.arange(len(kinds[0].atoms)), tuple(kind.atoms for kind in kinds))
        atoms = (kind.atoms if kind.holders is not None else kind.atoms[holders] for kind in kinds)
        return cls(tuple(kinds), holders.astype(np.int64), tuple(atoms))

    def only(self, chosen: Places) -> _Atoms:
        return _Atoms(self.kinds, self.places[chosen], tuple(atoms[chosen] for atoms in self.atoms))

    def first_two(self) -> _Atoms:
        return _Atoms(self.kinds[:2], self.places, self.atoms[:2])

    def filled(self) -> _Atoms:
        """Return only the records with an atom of each kind."""
        filled = np.ones(len(self.places), dtype=bool)
        for atoms in self.atoms:
            filled &= atoms >= 0
        return self.only(np.flatnonzero(filled))

    @property
    def entries(self) -> _Entries:
        """The records with a key each: exact for up to two kinds, for three a hash."""
        keys = self.atoms[0].astype(np.uint64)
        for kind, atoms in zip(self.kinds[1:], self.atoms[1:], strict=True):
            keys = (mixed(keys) if len(self.kinds) > 2 else keys) * np.uint64(len(kind.digests)) + atoms.astype(
                np.uint64
            )
        return _Entries(self.places, keys)

    def having(self, own: _Atoms) -> _Entries:
        """Return the records that have the atoms of one of our records."""
        keys = np.unique(own.entries.keys)
        if not len(keys):
            return own.entries
        passing = np.zeros(1 << _BITS, dtype=bool)
        passing[own._hashes] = True
        near = self.only(np.flatnonzero(passing[self._hashes])).filled().entries
        position = np.minimum(np.searchsorted(keys, near.keys), len(keys) - 1)
        equal = keys[position] == near.keys
        return _Entries(near.places[equal], near.keys[equal])

    @property
    def _hashes(self) -> NDArray[np.uint32]:
        """A number of a few bits for each record, equal for equal atoms."""
        total = np.zeros(len(self.places), dtype=np.uint32)
        for kind, atoms in zip(self.kinds, self.atoms, strict=True):
            total += kind.hashes[atoms]
            total *= np.uint32(0x9E3779B1)
        total >>= np.uint32(32 - _BITS)
        return total
