"""Many values as few bytes: what is made once, and gone through again later."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, overload

BLOCK = 1_000
"""Values that are packed together."""
T = TypeVar("T")


class Packed(Sequence[T]):
    """Values in their order, a few hundred bytes each at most times, where the objects would take kilobytes.

    A look at one unpacks its block and makes it anew: it is equal, and not the same. The newest are not packed yet, so
    few values cost nothing. It can be appended to; safe to read from several threads.
    """

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._blocks: list[bytes] = []
        self._newest: list[T] = []
        self._open: tuple[int, list[T]] = (-1, [])
        for value in values:
            self.append(value)

    def append(self, value: T) -> None:
        """Put a value behind the others; it must be one that can be pickled, and not change any more."""
        if len(self._newest) == BLOCK:
            self._blocks.append(zlib.compress(pickle.dumps(self._newest, pickle.HIGHEST_PROTOCOL), level=1))
            self._newest = []
        self._newest.append(value)

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK + len(self._newest)

    def __iter__(self) -> Iterator[T]:
        for number in range(len(self._blocks)):
            yield from self._unpacked(number)
        yield from self._newest

    @overload
    def __getitem__(self, wanted: int) -> T: ...
    @overload
    def __getitem__(self, wanted: slice) -> list[T]: ...
    def __getitem__(self, wanted: int | slice) -> T | list[T]:
        if isinstance(wanted, slice):
            return [self._at(place) for place in range(len(self))[wanted]]
        return self._at(range(len(self))[wanted])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _at(self, place: int) -> T:
        """Whoever goes through places in order unpacks each block once."""
        number, within = divmod(place, BLOCK)
        if number == len(self._blocks):
            return self._newest[within]
        opened, values = self._open
        if opened != number:
            values = self._unpacked(number)
            self._open = (number, values)
        return values[within]

    def _unpacked(self, number: int) -> list[T]:
        values: list[T] = pickle.loads(zlib.decompress(self._blocks[number]))  # noqa: S301 - bytes of this object's own
        return values
