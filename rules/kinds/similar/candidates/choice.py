"""Choose the pairs of records that are worth comparing: bounded for each block and in total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar import parallel
from rules.kinds.similar.candidates import passes
from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.candidates.blocks import Blocks, Packed
from rules.kinds.similar.candidates.passes import Pass, Way
from rules.kinds.similar.encoded import Places, distinct_in_place
from rules.kinds.similar.records import Records

EVERY_PAIR = 300_000
"""Up to this many pairs, all are compared."""
PER_RECORD = 4
"""How many candidates a record has on average: larger blocks are added until they are so many."""
LEAST_BUDGET = 2_000_000
_MOST = 2
"""How many times as many they may become by the blocks of one size."""
_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100, 200, 400, 800, 1600)
RARE = 4
"""What no more records share is rare alone."""
_MERGED = 4_000_000
"""So many pairs, of which passes share most, wait before they are sorted into the others."""


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
    ways: tuple[tuple[Way, int], ...] = ()
    """The ways in which pairs were found, each with the number of records up to which its blocks were compared."""

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def first(self) -> Places:
        return self.packed // self.records

    @property
    def second(self) -> Places:
        return self.packed % self.records

    def inside(self, members: Places) -> tuple[Places, Places]:
        """Return the pairs among some records, which are in ascending order."""
        bounds = np.searchsorted(self.packed, np.append(members, members + 1) * self.records)
        begins, ends = bounds[: len(members)], bounds[len(members) :]
        packed = np.concatenate([self.packed[begin:end] for begin, end in zip(begins, ends, strict=True)])
        first, second = packed // self.records, packed % self.records
        kept = np.isin(second, members)
        return first[kept], second[kept]


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
    left_out = []
    crowds = records.crowds(max_block)
    if crowds:
        compared = np.ones(len(records), dtype=bool)
        compared[np.concatenate([crowd[1:] for crowd in crowds])] = False
        atoms = [kind.only(compared) for kind in atoms]
        pairs = sum(len(crowd) * (len(crowd) - 1) // 2 for crowd in crowds)
        left_out.append(LeftOut("equal records", len(crowds), pairs, sum(map(len, crowds))))
    limits = sorted({min(size, max_block) for size in _SIZES})
    chosen = passes.by_keys(records, keys) if keys else passes.of(atoms, min(RARE, max_block))

    def blocks_of(step: Pass) -> tuple[Pass, Blocks]:
        return step, Blocks.of(records, step.keyed(), max_block)

    gathered = _Gathered(len(records), max(LEAST_BUDGET, PER_RECORD * len(records)))
    larger: list[tuple[Way, Blocks]] = []
    taken: dict[Way, int] = {}
    for step, blocks in parallel.in_order(blocks_of, chosen):
        if blocks.excess.blocks:
            excess = blocks.excess
            left_out.append(LeftOut(step.name, excess.blocks, excess.pairs, excess.records))
        taken[step.way] = max(limits[0], step.rare)
        gathered.take(blocks, taken[step.way])
        if gathered.is_too_full:
            break
        blocks.keep(limits[-1])
        most = blocks.limit(limits, gathered.budget)
        if most < limits[-1]:  # larger blocks will never be taken
            limits = [size for size in limits if size <= most]
            for earlier in (*(each for _, each in larger), blocks):
                earlier.keep(most)
        larger.append((step.way, blocks))
    limit = gathered.take_rarest(larger, limits, taken)
    return Candidates(
        gathered.packed,
        len(records),
        is_every_pair=False,
        largest_block=limit,
        left_out=tuple(left_out),
        ways=tuple(taken.items()),
    )


@dataclass
class _Gathered:
    """The pairs of the smallest blocks of all passes, until they are as many as the budget.

    What the records of a block share is as rare as the block is small, in whichever pass.
    """

    records: int
    budget: int
    packed: Packed = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _waiting: list[Packed] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.packed) >= self.budget

    @property
    def is_too_full(self) -> bool:
        return len(self.packed) > self.budget * _MOST

    def take(self, blocks: Blocks, limit: int) -> None:
        """Take the pairs of the blocks of up to so many records."""
        self._waiting.extend(blocks.take(limit, self.records))
        if sum(map(len, self._waiting)) > max(len(self.packed), _MERGED):
            self._merge()

    def take_rarest(self, every: Sequence[tuple[Way, Blocks]], limits: Sequence[int], taken: dict[Way, int]) -> int:
        """Take the pairs of larger and larger blocks; return the largest size of which all are taken.

        `taken` is updated with the size up to which the blocks of each way are taken.
        """
        whole = 0
        for limit in limits:
            for way, blocks in every:
                if self.is_too_full:
                    return whole
                self.take(blocks, limit)
                taken[way] = max(taken[way], limit)
            self._merge()
            whole = limit
            if self.is_full:
                break
        return whole

    def _merge(self) -> None:
        waiting, self._waiting = [self.packed, *self._waiting], []
        self.packed = np.zeros(0, dtype=np.int64)
        self.packed = distinct_in_place(np.concatenate(waiting))
