"""Compressed storage of many values that are built once and read again later."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, overload

BLOCK = 1_000
"""Values that are packed together."""
T = TypeVar("T")


class Packed(Sequence[T]):
    """Values in order, usually a few hundred bytes each, where the objects would take kilobytes.

    Reading a value unpacks its block and builds a new, equal object. The newest values are not packed yet, so a few
    values cost nothing. Values can be appended; safe to read from several threads.
    """

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._blocks: list[bytes] = []
        self._newest: list[T] = []
        self._open: tuple[int, list[T]] = (-1, [])
        for value in values:
            self.append(value)

    def append(self, value: T) -> None:
        """Append a value; it must be picklable and never change afterwards."""
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
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(len(self))[index]]
        return self._at(range(len(self))[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _at(self, place: int) -> T:
        """Return one value; reading in order unpacks each block once."""
        number, within = divmod(place, BLOCK)
        if number == len(self._blocks):
            return self._newest[within]
        opened, values = self._open
        if opened != number:
            values = self._unpacked(number)
            self._open = (number, values)
        return values[within]

    def _unpacked(self, number: int) -> list[T]:
        values: list[T] = pickle.loads(zlib.decompress(self._blocks[number]))  # noqa: S301 - bytes that this object wrote
        return values
