"""Run the engine on one set again and again with something changed, and compare its pairs only once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.similar.labelled import Labelled, Rates, reported_pairs
from rules.kinds.similar.candidates.choice import Candidates
from rules.kinds.similar.comparison import Comparison
from rules.kinds.similar.encoded import Places, sorted_distinct
from rules.kinds.similar.matching import BATCH, Matching, Pairs
from rules.kinds.similar.model.model import Model
from rules.kinds.similar.records import Records
from rules.kinds.similar.types import PERSONAL, WORDED, SemanticType

_WITH_WORDS = WORDED | PERSONAL | {SemanticType.CITY}
"""Types with words that a longer text can hold again."""


@contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """Give an attribute of a module or class another value for a while."""
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@dataclass
class Memory:
    """The levels of pairs that were compared: `packed` in ascending order, and one row of levels for each."""

    packed: NDArray[np.int64]
    levels: NDArray[np.int8]


@dataclass(frozen=True)
class RememberedComparison(Comparison):
    """A comparison that compares no pair twice."""

    memory: Memory = field(kw_only=True)

    def levels(self, first: Places, second: Places) -> NDArray[np.int8]:
        packed = first * len(self.records) + second
        fresh = sorted_distinct(packed[~np.isin(packed, self.memory.packed)])
        if len(fresh):
            levels = super().levels(fresh // len(self.records), fresh % len(self.records))
            together = np.concatenate([self.memory.packed, fresh])
            order = np.argsort(together, kind="stable")
            self.memory.packed = together[order]
            self.memory.levels = np.concatenate([self.memory.levels, levels])[order]
        remembered: NDArray[np.int8] = self.memory.levels[np.searchsorted(self.memory.packed, packed)]
        return remembered


class UnscreenedMatching(Matching):
    """A matching that scores all candidates, since their levels are remembered."""

    def pairs(self) -> Iterator[Pairs]:
        packed = self.candidates.packed
        for begin in range(0, len(packed), BATCH):
            batch = packed[begin : begin + BATCH]
            scored = self.score(batch // self.candidates.records, batch % self.candidates.records)
            kept = scored.bits >= self.minimum
            parts = {each.name: getattr(scored, each.name)[kept] for each in fields(Pairs)}
            yield Pairs(**parts)


@dataclass(frozen=True)
class Prepared:
    """A set with its records encoded, its candidates chosen and its pairs compared."""

    labelled: Labelled
    records: Records
    comparison: RememberedComparison
    candidates: Candidates

    @classmethod
    def of(cls, labelled: Labelled) -> Prepared:
        records = Records.of(labelled.tables, labelled.settings)
        matching = Matching(records, labelled.settings)
        comparison = matching.comparison
        memory = Memory(np.zeros(0, dtype=np.int64), np.zeros((0, len(comparison.features)), dtype=np.int8))
        parts: dict[str, Any] = {each.name: getattr(comparison, each.name) for each in fields(Comparison)}
        return cls(labelled, records, RememberedComparison(**parts, memory=memory), matching.candidates)

    def matching(self, model: Model | None = None) -> Matching:
        """Return the engine with a model, the built-in one if none is given."""
        fresh = UnscreenedMatching(self.records, self.labelled.settings, model)
        vars(fresh).update(comparison=self.comparison, candidates=self.candidates)
        return fresh

    def fresh_candidates(self) -> Candidates:
        """Return the candidates chosen again."""
        fresh = Matching(self.records, self.labelled.settings)
        vars(fresh).update(comparison=self.comparison)
        return fresh.candidates

    @property
    def has_repeats(self) -> bool:
        """Return True if two columns are compared by words, so that one may repeat the other."""
        return sum(compared.type in _WITH_WORDS for compared in self.labelled.settings.compare) > 1

    def rates(self, model: Model | None = None, *, estimated: bool = False) -> Rates:
        """Return how right the engine is with a model, the built-in or an estimated one."""
        if estimated:
            model = self.matching().estimate().model
        return Rates.of(reported_pairs(self.matching(model)), self.labelled.truth)

    def true_places(self) -> tuple[Places, Places]:
        """Return the true pairs by the places of their records."""
        place_of = np.empty(len(self.records), dtype=np.int64)
        place_of[self.records.rows] = np.arange(len(self.records))
        places = place_of[np.asarray(sorted(self.labelled.truth), dtype=np.int64).reshape(-1, 2)]
        first, second = places[:, 0], places[:, 1]
        if self.records.has_sides:
            return first, second
        return np.minimum(first, second), np.maximum(first, second)
