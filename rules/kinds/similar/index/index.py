"""What the records of a rule can share, as a run leaves it for the next one, which looks up only new records in it.

Atoms are numbers; the values behind them are digests only. Numbers and counts are those of the last full run: later
records, at positions from `base` on, add atoms that no earlier record had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rules.groups.scope import Unscoped
from rules.kinds.similar import contents
from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.candidates.passes import Way
from rules.kinds.similar.contents import Digests
from rules.kinds.similar.encoded import Places
from rules.kinds.similar.index import document, names
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.statistics import Statistics

MOST_RECORDS = 5_000_000
"""Records above which none is kept: it would take more than about half a gigabyte."""
REFUSED = "refused"
"""The reason, as a clause, why a run kept no index."""
MOST_LATER = 0.25
"""The share of later records above which statistics are too old."""


@dataclass(frozen=True)
class Numbered:
    """Digests by number, to find numbers by digests: sorted once, for all later versions of a kind."""

    digests: Digests

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.digests)

    @cached_property
    def _sorted(self) -> Digests:
        return self.digests[self._order]

    def numbers(self, digests: Digests) -> NDArray[np.int64]:
        """Return the number of each digest, -1 for unknown ones."""
        if not len(self.digests):
            return np.full(len(digests), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._sorted, digests), len(self.digests) - 1)
        return np.where(self._sorted[at] == digests, self._order[at], -1)


@dataclass(frozen=True)
class Kind:
    """The atoms of one kind: those of each record (-1 for none), or of the record at each of `holders`.

    `digests` are those of the atoms by number, `counts` how many records of the full run had each.
    """

    atoms: NDArray[np.int32]
    holders: NDArray[np.int32] | None
    digests: Digests
    counts: NDArray[np.int64]
    earlier: Numbered
    """The first of the digests, those of the full run."""

    @cached_property
    def hashes(self) -> NDArray[np.uint32]:
        """A number of 32 bits for each atom; the last is that of none."""
        return (contents.mixed(np.arange(1, len(self.digests) + 2, dtype=np.uint64)) >> np.uint64(32)).astype(np.uint32)

    @classmethod
    def of(cls, atoms: Atoms) -> Kind:
        """Return the atoms of the records of a full run."""
        digests = atoms.digests()
        counts = np.bincount(atoms.keys[atoms.keys >= 0], minlength=len(digests))
        return cls(atoms.keys, atoms.holders, digests, counts, Numbered(digests))

    def numbers(self, digests: Digests) -> NDArray[np.int64]:
        """Return the numbers of atoms, -1 for those that no record had."""
        begin = len(self.earlier.digests)
        later = Numbered(self.digests[begin:]).numbers(digests)
        return np.where(later >= 0, later + begin, self.earlier.numbers(digests))

    def extended(self, later: Kind, begin: int) -> Kind:
        """Return the atoms with those of later records, whose positions begin there."""
        numbers = self.numbers(later.digests)
        is_used = np.zeros(len(numbers), dtype=bool)
        is_used[later.atoms[later.atoms >= 0]] = True
        new = np.flatnonzero((numbers < 0) & is_used)
        order = new[np.argsort(later.digests[new], kind="stable")]
        numbers[order] = len(self.digests) + np.arange(len(order))
        atoms = np.concatenate([self.atoms, np.append(numbers, -1)[later.atoms].astype(np.int32)])
        holders = None
        if self.holders is not None and later.holders is not None:
            holders = np.concatenate([self.holders, later.holders + np.int32(begin)])
        counts = np.concatenate([self.counts, np.zeros(len(order), np.int64)])
        return Kind(atoms, holders, np.concatenate([self.digests, later.digests[order]]), counts, self.earlier)

    def taken(self, places: Places, size: int) -> Kind:
        """Return the atoms of only some of so many records, in their order."""
        if self.holders is None:
            return replace(self, atoms=self.atoms[places])
        position = np.full(size, -1, dtype=np.int32)
        position[places] = np.arange(len(places))
        chosen = position[self.holders] >= 0
        return replace(self, atoms=self.atoms[chosen], holders=position[self.holders[chosen]])


@dataclass(frozen=True)
class Index:
    """The records of a rule, by position: first the `base` records of the full run, then later ones.

    `present` says which are still as they were read; `wholes` is the kind with the values of each column. `first` and
    `second` are the pairs that hold groups together.
    """

    ids: pa.Table
    kinds: tuple[Kind, ...]
    present: NDArray[np.bool_]
    base: int
    first: Places
    second: Places
    ways: tuple[tuple[Way, int], ...]
    wholes: tuple[int, ...]
    statistics: Statistics

    @classmethod
    def of(cls, matching: Matching, ids: pa.Table, joined: tuple[Places, Places]) -> Index:
        """Return the index of the records of a full run. `ids` are theirs by place, `joined` the pairs that hold groups
        together.
        """
        atoms = list(matching.comparison.atoms())
        wholes = tuple(
            next(number for number, kind in enumerate(atoms) if kind.column == column)
            for column in range(len(matching.settings.compare))
        )
        ways = matching.candidates.ways
        if matching.settings.block:
            ways = tuple((Way(tuple(wholes[column] for column in way.kinds)), limit) for way, limit in ways)
        return cls(
            ids,
            tuple(map(Kind.of, atoms)),
            np.ones(len(ids), dtype=bool),
            len(ids),
            *joined,
            ways,
            wholes,
            Statistics.of(matching),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def counting(self) -> Statistics:
        """The statistics, with the counts of values."""
        return replace(self.statistics, counts_of=self._counts_of)

    def _counts_of(self, column: int, values: Any) -> NDArray[np.int64]:
        kind = self.kinds[self.wholes[column]]
        return np.append(kind.counts, 0)[kind.numbers(contents.digests(values))]

    def extended(self, ids: pa.Table, kinds: Sequence[Kind]) -> Index:
        """Return the index with new versions of records; earlier ones are no longer present."""
        present = self.present.copy()
        before = names.positions(self.ids, ids) >= 0
        present[before] = False
        extended = tuple(kind.extended(later, len(self)) for kind, later in zip(self.kinds, kinds, strict=True))
        return replace(
            self,
            ids=pa.concat_tables([self.ids, ids]),
            kinds=extended,
            present=np.append(present, np.ones(len(ids), dtype=bool)),
        )

    def without(self, places: Places) -> Index:
        """Return the index with these records no longer present."""
        present = self.present.copy()
        present[places] = False
        return replace(self, present=present)

    def base_document(self) -> bytes:
        """Return the records of the full run as a document."""
        arrays = names.arrays(self.ids)
        for number, kind in enumerate(self.kinds):
            arrays |= _arrays(number, kind)
        facts = {
            "id": self.ids.column_names,
            "kinds": len(self.kinds),
            "ways": [[list(way.kinds), way.common, way.words, limit] for way, limit in self.ways],
            "wholes": list(self.wholes),
            "statistics": self.statistics.document(),
        }
        return document.packed(facts, arrays)

    def later_document(self) -> bytes:
        """Return what later runs added or took away, and the probable pairs, as a document."""
        later = self.base + np.flatnonzero(self.present[self.base :])
        position = np.full(len(self), -1, dtype=np.int64)
        position[: self.base] = np.arange(self.base)
        position[later] = self.base + np.arange(len(later))
        arrays = names.arrays(self.ids.take(pa.array(later)))
        for number, kind in enumerate(self.kinds):
            of_later = kind.taken(later, len(self))
            used = np.unique(of_later.atoms[of_later.atoms >= 0])
            numbers = np.full(len(kind.digests) + 1, -1, dtype=np.int32)
            numbers[used] = np.arange(len(used))
            arrays |= _arrays(number, replace(of_later, atoms=numbers[of_later.atoms], digests=kind.digests[used]))
        arrays["gone"] = np.flatnonzero(~self.present[: self.base]).astype(np.int32)
        arrays["first"], arrays["second"] = (position[side].astype(np.int32) for side in (self.first, self.second))
        return document.packed({}, arrays)

    @classmethod
    def read(cls, base: bytes, later: bytes) -> Index:
        """Return the index of its documents. Raises Unreadable, and Unscoped if none was kept."""
        facts, arrays = document.unpacked(base)
        if REFUSED in facts:
            raise Unscoped(facts[REFUSED])
        _, later_arrays = document.unpacked(later)
        kinds = tuple(_kind(arrays, number, counted=True) for number in range(facts["kinds"]))
        ids = names.read(arrays, facts["id"])
        index = cls(
            ids,
            kinds,
            np.ones(len(ids), dtype=bool),
            len(ids),
            later_arrays["first"].astype(np.int64),
            later_arrays["second"].astype(np.int64),
            tuple((Way(tuple(way), common, words), limit) for way, common, words, limit in facts["ways"]),
            tuple(facts["wholes"]),
            Statistics.read(facts["statistics"], _uncounted),
        )
        later_kinds = [_kind(later_arrays, number, counted=False) for number in range(facts["kinds"])]
        index = index.extended(names.read(later_arrays, facts["id"]), later_kinds)
        index.present[later_arrays["gone"]] = False
        return index


def _arrays(number: int, kind: Kind) -> dict[str, document.Array]:
    arrays: dict[str, document.Array] = {f"atoms {number}": kind.atoms, f"digests {number}": kind.digests}
    return arrays if kind.holders is None else arrays | {f"holders {number}": kind.holders}


def _kind(arrays: Mapping[str, document.Array], number: int, *, counted: bool) -> Kind:
    atoms, digests = arrays[f"atoms {number}"], arrays[f"digests {number}"]
    size = len(digests)
    counts = np.bincount(atoms[atoms >= 0], minlength=size) if counted else np.zeros(size, np.int64)
    return Kind(atoms, arrays.get(f"holders {number}"), digests, counts, Numbered(digests))


def _uncounted(_: int, values: Any) -> NDArray[np.int64]:
    raise ValueError(f"{len(values)} values were not counted")
