"""Groups that are recognised by a digest of their records, so that unchanged ones need not be built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from rules.engines.base import Group
from rules.packed import Packed


@dataclass(frozen=True)
class Recognition:
    """The digests of the groups that are known, and a salt that differs for every definition of a rule."""

    salt: bytes
    digests: AbstractSet[str] = frozenset()


@dataclass(frozen=True, eq=False)
class PartlyBuilt(Sequence[Group]):
    """The groups of a rule: those that are not known are `built`, in order; the others have a number by their digest.

    Each group has a key of its own.
    As a sequence it holds all of them, built when they are read, those without a known digest first.
    """

    built: Sequence[Group]
    unbuilt: Mapping[str, int]
    build: Callable[[Collection[int]], Sequence[Group]]
    """Build the groups of these numbers, in order."""

    def without(self, digests: Collection[str]) -> Sequence[Group]:
        """Return all groups except the unbuilt ones of these digests."""
        others = [number for digest, number in self.unbuilt.items() if digest not in digests]
        if not others:
            return self.built
        groups = Packed(self.built)
        for group in self.build(others):
            groups.append(group)
        return groups

    def __len__(self) -> int:
        return len(self.built) + len(self.unbuilt)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._all)

    @overload
    def __getitem__(self, index: int) -> Group: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Group]: ...
    def __getitem__(self, index: int | slice) -> Group | Sequence[Group]:
        return self._all[index]

    @cached_property
    def _all(self) -> Sequence[Group]:
        return self.without(())
