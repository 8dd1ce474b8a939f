"""Try possible keys on the records of a dataset, by the rule they would make: what would it find now?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reconcile.config.settings import DatasetConfig
from reconcile.detection.copied import CopiedSource
from reconcile.detection.detect import Budget, RuleDoesNotFit, detect
from reconcile.detection.subject import Subject
from reconcile.plugins import Kinds
from reconcile.profiling.keys import Candidate
from rules.engines.base import Stop
from rules.engines.profile import Profile, SharedValues
from rules.kinds import BY_KEY, BY_LIKENESS
from rules.kinds.base import Kind

MOST_TRIED = 20
"""Candidates that are tried; each takes up to three detections."""
MOST_RULES = 3
MOST_SURPLUS = 0.05
"""A key by which a larger share of the records would be surplus says that records belong together, not that one is
too many."""
_FEW, _PLAUSIBLE = 2, 6
"""So many surplus records are no objection to a key of this weight, however few records there are."""
_NEAR = 0.3
_NOTED = 2


@dataclass(frozen=True)
class Found:
    """The number of groups of a key, and the hashes of the records in them."""

    groups: int
    members: frozenset[int] = field(default=frozenset(), repr=False)

    @property
    def records(self) -> int:
        return len(self.members)

    @property
    def surplus(self) -> int:
        return self.records - self.groups

    def has_more_than(self, choices: Sequence[KeyChoice]) -> bool:
        """Return True if it has a record that these keys do not find."""
        return not self.members <= frozenset().union(*(choice.found.members for choice in choices))


@dataclass(frozen=True)
class KeyChoice:
    """A key that finds something, with what it finds as the rule would, and with all values as they are written."""

    candidate: Candidate
    found: Found
    as_written: Found
    is_weaker: bool = False
    """True if its normalisers are left out, because too many records would share the key with them."""

    def finds_more_than(self, others: Sequence[KeyChoice]) -> bool:
        """Return True if it finds a record that the others do not find."""
        return self.found.has_more_than(others)


@dataclass(frozen=True)
class TooCommon:
    """A key that too many records share; `surplus` is their number without the first of each group."""

    candidate: Candidate
    surplus: int


@dataclass(frozen=True)
class TriedKeys:
    """The most plausible keys that find something, some that come close but are too common, and the most plausible one
    that finds nothing now.
    """

    chosen: Sequence[KeyChoice]
    common: Sequence[TooCommon]
    idle: KeyChoice | None


@dataclass(frozen=True)
class Trials:
    """Tries keys over a copy of the dataset. `profile` counts its values as they are written, which is fast."""

    dataset: DatasetConfig
    copy: CopiedSource
    profile: Profile
    budget: Budget
    slot: dt.datetime
    progress: Callable[[int], None]
    stop: Stop

    def estimate(self, candidate: Candidate) -> SharedValues:
        """Count the values of the key as they are written, without the dataset's `where`: the rule finds no more."""
        self.progress(0)
        return self.profile.repeats([column.name for column in candidate.columns])

    def count(self, candidate: Candidate) -> Found | None:
        """Return what the rule of the key finds; None for a rule that can never find anything."""
        return self._count(BY_KEY, {"key": candidate.setting}, self.copy)

    def count_alike(self, compare: Mapping[str, str], most: int) -> Found | None:
        """Return what the rule that compares these columns finds in so many records, the first ones."""
        return self._count(BY_LIKENESS, {"compare": dict(compare)}, self.copy.beginning(most))

    def _count(self, name: str, criteria: Mapping[str, Any], copy: CopiedSource) -> Found | None:
        kind: Kind = Kinds("rules").load(name)()
        settings = {"dataset": self.dataset.name, "engine": "embedded", "max_share": "100%", **criteria}
        rule = kind.Settings.model_validate({"name": "trial", "kind": name, **settings})
        subjects = {self.dataset.name: Subject(self.dataset, copy)}
        try:
            answer = detect(rule, subjects, self.slot, self.budget, self.progress, self.stop)
        except RuleDoesNotFit:
            return None
        groups = answer.detection.groups
        return Found(len(groups), frozenset(hash(member.id) for group in groups for member in group.members))


def choose(candidates: Sequence[Candidate], trials: Trials) -> TriedKeys:
    """Try the candidates, the most plausible first.

    A key that is only too common with its normalisers comes after all others, as it is written.
    """
    chosen: list[KeyChoice] = []
    common: list[TooCommon] = []
    later: list[KeyChoice] = []
    idle: list[KeyChoice] = []
    for candidate in candidates[:MOST_TRIED]:
        if len(chosen) == MOST_RULES or any(_is_wider(candidate, choice.candidate) for choice in chosen):
            continue
        choice = _tried(candidate, trials)
        if isinstance(choice, TooCommon):
            common.append(choice)
        elif choice is not None and choice.is_weaker:
            later.append(choice)
        elif choice is not None and choice.finds_more_than(chosen):
            chosen.append(choice)
        elif choice is not None and not choice.found.groups:
            idle.append(replace(choice, candidate=candidate))
    for choice in later:
        if len(chosen) < MOST_RULES and choice.finds_more_than(chosen):
            chosen.append(choice)
    near = [entry for entry in common if entry.surplus <= _NEAR * trials.copy.records]
    return TriedKeys(chosen, near[:_NOTED], idle[0] if idle else None)


def _tried(candidate: Candidate, trials: Trials) -> KeyChoice | TooCommon | None:
    """Return what the key finds, counted exactly only where a fast count leaves that open; None if it never can."""
    most = max(MOST_SURPLUS * trials.copy.records, _FEW if candidate.weight >= _PLAUSIBLE else 0)
    if not candidate.is_all:
        estimate = trials.estimate(candidate)
        if estimate.surplus > most and trials.dataset.where is None:
            return TooCommon(candidate.as_written, estimate.surplus)
        if not estimate.groups and candidate == candidate.as_written:
            return KeyChoice(candidate, Found(0), Found(0))
    written = trials.count(candidate.as_written)
    if written is None or written.surplus > most:
        return None if written is None else TooCommon(candidate.as_written, written.surplus)
    return _normalised(candidate, written, trials.count, most)


def _is_wider(candidate: Candidate, chosen: Candidate) -> bool:
    """Return True if one key has all columns of the other, so that its groups lie within the other's."""
    return candidate.is_all or candidate.names <= chosen.names or chosen.names <= candidate.names


def _normalised(
    candidate: Candidate, written: Found, count: Callable[[Candidate], Found | None], most: float
) -> KeyChoice:
    """Return the key with those normalisers that find more, unless too many records then share it."""
    if candidate == candidate.as_written:
        return KeyChoice(candidate, written, written)
    more = count(candidate)
    if more is None or more.surplus > most or more == written:
        is_weaker = more is not None and more.surplus > most
        return KeyChoice(candidate.as_written, written, written, is_weaker)
    normalised = [column for column in candidate.columns if column.steps]
    for column in normalised if len(normalised) > 1 else ():
        simpler = candidate.without_steps(column.name)
        if count(simpler) == more:
            candidate = simpler
    return KeyChoice(candidate, more, written)
