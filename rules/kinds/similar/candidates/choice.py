"""Choose the pairs of records that are worth comparing: bounded for each block and in total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.candidates.blocks import Blocks
from rules.kinds.similar.encoded import Places, sorted_distinct
from rules.kinds.similar.records import Records

EVERY_PAIR = 300_000
"""Up to this many pairs, all are compared."""
PER_RECORD = 8
"""How many candidates a record has on average, at most."""
LEAST_BUDGET = 2_000_000
_SIZES = (4, 8, 12, 16, 24, 32, 48, 64, 100, 200, 400, 800, 1600)
_FEW_COLUMNS = 4
_MERGED = 4_000_000
"""So many pairs, of which passes share most, wait before they are sorted into the others."""
_RAREST = 6
"""Of the words of a record, the rarest shared ones are combined with each other."""


@dataclass(frozen=True)
class LeftOut:
    """A pass with blocks that were not compared: how many blocks, and how many pairs and records they hold."""

    name: str
    blocks: int
    pairs: int
    records: int


@dataclass(frozen=True)
class Candidates:
    """The pairs to compare, as `first * records + second` in ascending order, and what was left out."""

    packed: NDArray[np.int64]
    records: int
    is_every_pair: bool
    largest_block: int = 0
    left_out: tuple[LeftOut, ...] = ()

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def first(self) -> Places:
        return self.packed // self.records

    @property
    def second(self) -> Places:
        return self.packed % self.records


@dataclass(frozen=True)
class Pass:
    """One way to find candidates: records with equal keys."""

    name: str
    places: Places
    keys: NDArray[np.int64]


def every_pair(records: Records) -> Candidates:
    """Return all pairs."""
    if records.has_sides:
        left, right = np.flatnonzero(records.sides == 0), np.flatnonzero(records.sides == 1)
        packed = np.sort((left[:, None] * len(records) + right[None, :]).ravel())
    else:
        first, second = np.triu_indices(len(records), 1)
        packed = first * len(records) + second
    return Candidates(packed.astype(np.int64), max(len(records), 1), is_every_pair=True)


def candidates(
    records: Records, atoms: Sequence[Atoms], max_block: int, keys: Sequence[Sequence[int]] = ()
) -> Candidates:
    """Return the pairs that share a rare atom, or two atoms of different columns that are rare together.

    With `keys`, each a list of columns by position, instead the pairs that agree in all columns of one of them.
    Of more than `max_block` equal records, only the first is compared.
    """
    if records.pairs <= EVERY_PAIR and not keys:
        return every_pair(records)
    budget = max(LEAST_BUDGET, PER_RECORD * len(records))
    blocks, left_out = [], []
    crowds = records.crowds(max_block)
    if crowds:
        compared = np.ones(len(records), dtype=bool)
        compared[np.concatenate([crowd[1:] for crowd in crowds])] = False
        atoms = [kind.only(compared) for kind in atoms]
        pairs = sum(len(crowd) * (len(crowd) - 1) // 2 for crowd in crowds)
        left_out.append(LeftOut("equal records", len(crowds), pairs, sum(map(len, crowds))))
    for step in _by_keys(records, keys) if keys else passes(atoms):
        of_pass = Blocks.of(records, step.places, step.keys)
        small = of_pass.sizes <= max_block
        if not small.all():
            blocks_left, pairs_left, records_left = (
                (~small).sum(),
                of_pass.pairs[~small].sum(),
                of_pass.sizes[~small].sum(),
            )
            left_out.append(LeftOut(step.name, int(blocks_left), int(pairs_left), int(records_left)))
        blocks.append(of_pass.only(small).compact())
    packed, limit = _rarest_first(blocks, len(records), budget, max_block)
    return Candidates(packed, len(records), is_every_pair=False, largest_block=limit, left_out=tuple(left_out))


def _rarest_first(blocks: Sequence[Blocks], records: int, budget: int, max_block: int) -> tuple[NDArray[np.int64], int]:
    """Return the pairs of the smallest blocks of all passes that stay within the budget, and the largest size taken.

    What the records of a block share is as rare as the block is small, in whichever pass.
    """
    packed = np.zeros(0, dtype=np.int64)
    taken = 0
    for size in _SIZES:
        limit = min(size, max_block)
        tiers = [own.only((own.sizes > taken) & (own.sizes <= limit)) for own in blocks]
        waiting: list[NDArray[np.int64]] = []
        for tier in tiers:
            waiting.append(tier.packed(records))
            if sum(map(len, waiting)) > max(len(packed), _MERGED):
                packed, waiting = sorted_distinct(np.concatenate([packed, *waiting])), []
                if len(packed) > budget:
                    return packed, taken
        packed = sorted_distinct(np.concatenate([packed, *waiting]))
        if len(packed) > budget:
            return packed, taken
        taken = limit
    return packed, taken


def _by_keys(records: Records, keys: Sequence[Sequence[int]]) -> Iterator[Pass]:
    """Yield one pass for each list of columns; records with a null in one of them take no part in it."""
    for number, columns in enumerate(keys, 1):
        codes = np.stack([records.columns[column].codes for column in columns])
        places = np.flatnonzero((codes >= 0).all(axis=0))
        combined = np.zeros(len(places), dtype=np.int64)
        for column in columns:
            encoded = records.columns[column]
            pairs = combined * max(len(encoded.values), 1) + encoded.codes[places]
            combined = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        yield Pass(f"key {number} of block", places, combined)


def passes(atoms: Sequence[Atoms]) -> Iterator[Pass]:
    """Yield one pass for each kind of atom, for each two kinds of different columns, and for two words of a column."""
    for kind in atoms:
        yield Pass(kind.name, kind.places, kind.keys)
        if not kind.is_single:
            yield _two_words(kind)
    for first, second in combinations(atoms, 2):
        if first.column != second.column and (first.is_single or second.is_single):
            yield _two_kinds(first, second)
    if len({kind.column for kind in atoms}) <= _FEW_COLUMNS:
        yield from _three_kinds(atoms)


def _three_kinds(atoms: Sequence[Atoms]) -> Iterator[Pass]:
    """Yield one pass for each three kinds of different columns: with few columns, two are often not rare enough."""
    for first, second, third in combinations(atoms, 3):
        columns = {first.column, second.column, third.column}
        kinds = sorted((first, second, third), key=lambda kind: not kind.is_single)
        if len(columns) == 3 and kinds[1].is_single:
            step = _two_kinds(kinds[0], kinds[1])
            distinct, keys = np.unique(step.keys, return_inverse=True)
            both = Atoms(step.name, -1, step.places, keys.astype(np.int64), max(len(distinct), 1), is_single=True)
            yield _two_kinds(both, kinds[2])


def _two_kinds(first: Atoms, second: Atoms) -> Pass:
    single, several = (first, second) if first.is_single else (second, first)
    keys = np.full(int(max(single.places.max(initial=-1), several.places.max(initial=-1))) + 1, -1, dtype=np.int64)
    keys[single.places] = single.keys
    partner = keys[several.places]
    kept = partner >= 0
    return Pass(
        f"{first.name} with {second.name}", several.places[kept], partner[kept] * several.bound + several.keys[kept]
    )


def _two_words(words: Atoms) -> Pass:
    """Return a pass of pairs of the rarest shared words of each record."""
    counts = np.bincount(words.keys, minlength=words.bound)
    shared = counts[words.keys] > 1
    places, keys = words.places[shared], words.keys[shared]
    order = np.lexsort((keys, counts[keys], places))
    places, keys = places[order], keys[order]
    starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]])) if len(places) else np.zeros(0, int)
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    rarest = rank < _RAREST
    places, keys, rank = places[rarest], keys[rarest], rank[rarest]
    pair_places, pair_keys = [], []
    for offset in range(1, _RAREST):
        together = places[offset:] == places[:-offset]
        low = np.minimum(keys[offset:], keys[:-offset])[together]
        high = np.maximum(keys[offset:], keys[:-offset])[together]
        pair_places.append(places[offset:][together])
        pair_keys.append(low * words.bound + high)
    return Pass(f"two of {words.name}", np.concatenate(pair_places), np.concatenate(pair_keys))
