"""Groups that are recognised by a digest of their records, so that unchanged ones need not be built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np

from rules.engines.base import Positions
from rules.groups.group import Group
from rules.values.packed import Packed

DIGEST_BYTES = 16
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""A truth value for each of something."""


class Digests:
    """Digests of 16 bytes each, in order, without an object for each."""

    def __init__(self, content: bytes | bytearray = b"") -> None:
        self._halves = np.frombuffer(content, np.uint64).reshape(-1, 2)

    @classmethod
    def read(cls, digests: Sequence[str]) -> Digests:
        """Read digests of 32 hexadecimal digits."""
        return cls(bytes.fromhex("".join(digests)))

    def __len__(self) -> int:
        return len(self._halves)

    def __getitem__(self, place: int) -> str:
        """Return one as hexadecimal digits."""
        digest: bytes = self._halves[place].tobytes()
        return digest.hex()

    def where(self, mask: Mask) -> Digests:
        """Return the digests where the mask is true."""
        return Digests(self._halves[mask].tobytes())

    def places_of(self, wanted: Digests) -> Positions:
        """Return for each wanted digest a place where it is, or -1.

        It may be -1 if another digest here has the same first half; callers must build the group then.
        """
        if not len(self):
            return np.full(len(wanted), -1, np.int64)
        order, first_halves = self._in_order
        near = np.searchsorted(first_halves, wanted._halves[:, 0])
        places = order[np.minimum(near, len(self) - 1)]
        is_equal = (self._halves[places] == wanted._halves).all(axis=1)
        return np.where(is_equal, places, -1)

    @cached_property
    def _in_order(self) -> tuple[Positions, Positions]:
        order = np.argsort(self._halves[:, 0], kind="stable")
        return order, self._halves[order, 0]


@dataclass(frozen=True)
class Recognition:
    """The digests of the groups that are known, and a salt that differs for every definition of a rule."""

    salt: bytes
    digests: Digests = field(default_factory=Digests)


@dataclass(frozen=True, eq=False)
class PartlyBuilt(Sequence[Group]):
    """The groups of a rule: those that are not known are `built`, in order; the others have a digest and a number.

    Each group has a key of its own. As a sequence it holds all of them, built when they are read, those without a known
    digest first.
    """

    built: Sequence[Group]
    unbuilt: Digests
    numbers: Positions
    build: Callable[[Collection[int]], Sequence[Group]]
    """Build the groups of these numbers, in order."""

    def without(self, is_unchanged: Mask | None = None) -> Sequence[Group]:
        """Return all groups except the unchanged ones among the unbuilt, of which there is a truth value for each."""
        others = self.numbers if is_unchanged is None else self.numbers[~is_unchanged]
        if not len(others):
            return self.built
        groups = Packed(self.built)
        for group in self.build(others.tolist()):
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
        return self.without()
