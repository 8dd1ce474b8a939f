"""Sketches of texts: a few numbers for each, which tell of most pairs that they cannot be alike, without reading them.

All bounds hold for every text: a pair that is alike is never excluded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

_CHUNK = 100_000
_ENDS = 4
"""So many characters of the beginning and of the end are kept, a byte each."""
_BOOST = 0.1
"""Jaro and Winkler's reward for each of the first four characters that texts share."""
_SLACK = 1e-4


@dataclass(frozen=True)
class Sketches:
    """For each text its number of characters, the set of them as bits, its first characters and its last ones."""

    lengths: NDArray[np.int32]
    characters: NDArray[np.uint64]
    firsts: NDArray[np.uint32]
    lasts: NDArray[np.uint32]

    @classmethod
    def of_texts(cls, values: Any) -> Sketches:
        """Return the sketches of an Arrow array of texts without nulls."""
        column = values.cast(pa.large_string())
        parts = [_sketch(column.slice(begin, _CHUNK)) for begin in range(0, max(len(column), 1), _CHUNK)]
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def pairs(self, left: Numbers, right: Numbers) -> SketchedPairs:
        """Return pairs of texts by their positions."""
        return SketchedPairs(self, left, right)


@dataclass(frozen=True)
class SketchedPairs:
    """Pairs of texts of which only the sketches are read."""

    sketches: Sketches
    left: Numbers
    right: Numbers

    @cached_property
    def lengths(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return self.sketches.lengths[self.left], self.sketches.lengths[self.right]

    @cached_property
    def shorter(self) -> NDArray[np.int32]:
        """The number of characters of the shorter text."""
        shorter: NDArray[np.int32] = np.minimum(*self.lengths)
        return shorter

    @cached_property
    def lacking(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """How many different characters of the left text the right one lacks at least, and the reverse."""
        left, right = self.sketches.characters[self.left], self.sketches.characters[self.right]
        either = left ^ right
        return np.bitwise_count(either & left), np.bitwise_count(either & right)

    @cached_property
    def firsts(self) -> NDArray[np.int8]:
        """How many of the first four characters each pair may share from the beginning on."""
        return _shared(self.sketches.firsts[self.left] ^ self.sketches.firsts[self.right])

    @cached_property
    def lasts(self) -> NDArray[np.int8]:
        """How many of the last four characters each pair may share from the end on."""
        return _shared(self.sketches.lasts[self.left] ^ self.sketches.lasts[self.right])

    def may_be_edits_apart(self, most: int | Numbers) -> Mask:
        """Return which pairs may be so few edits apart: an edit takes away and adds one character at most."""
        ours, theirs = self.lacking
        size, size_right = self.lengths
        close: Mask = (ours <= most) & (theirs <= most) & (np.abs(size - size_right) <= most)
        return close

    def may_be_alike(self, least: float) -> Mask:
        """Return which pairs may have a similarity of Jaro and Winkler of `least`.

        A character that the other text lacks matches nothing.
        """
        ours, theirs = self.lacking
        size, size_right = (np.maximum(length, 1).astype(np.float32) for length in self.lengths)
        matching = np.minimum(size - ours, size_right - theirs)
        jaro = (matching / size + matching / size_right + np.float32(1)) / np.float32(3)
        alike: Mask = jaro + np.float32(_BOOST) * self.firsts * (1 - jaro) >= least - _SLACK
        return alike


def _shared(differences: NDArray[np.uint32]) -> NDArray[np.int8]:
    shared = np.zeros(len(differences), dtype=np.int8)
    for mask in (0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF):
        shared += (differences & np.uint32(mask)) == 0
    return shared


def _sketch(column: Any) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    hashes, ends = _characters(pa.concat_arrays([column]))
    lengths = np.diff(ends, prepend=0)
    begins = ends - lengths
    filled = np.flatnonzero(lengths)
    characters = np.zeros(len(lengths), dtype=np.uint64)
    if len(filled):
        bits = np.left_shift(np.uint64(1), (hashes & 63).astype(np.uint64))
        characters[filled] = np.bitwise_or.reduceat(bits, begins[filled])
    firsts, lasts = (np.zeros(len(lengths), dtype=np.uint32) for _ in range(2))
    for place in range(_ENDS):
        held = np.flatnonzero(lengths > place)
        firsts[held] |= hashes[begins[held] + place].astype(np.uint32) << np.uint32(8 * place)
        lasts[held] |= hashes[ends[held] - 1 - place].astype(np.uint32) << np.uint32(8 * place)
    return lengths.astype(np.int32), characters, firsts, lasts


def _characters(column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return a number of 8 bits, not 0, for each character of all texts, and where those of each text end."""
    _, offset_buffer, data = column.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[: len(column) + 1]
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]]
    bounds = offsets - offsets[0]
    if not len(text) or text.max() < 128:
        return np.maximum(_HASH[text], 1), bounds[1:]
    begins = (text & 0xC0) != 0x80
    mixed = text.astype(np.uint32)
    padded = np.append(mixed, [0, 0, 0]).astype(np.uint32)
    going_on = np.ones(len(text), dtype=bool)
    for place in (1, 2, 3):
        following = padded[place : place + len(text)]
        going_on &= (following & 0xC0) == 0x80
        mixed = np.where(going_on, mixed * np.uint32(31) + following, mixed)
    characters = mixed[begins]
    hashes = np.where(characters < 128, _HASH[characters & 127], (characters % 255 + 1).astype(np.uint8))
    ends = np.cumsum(begins)[bounds[1:] - 1] if len(bounds) > 1 else np.zeros(0, np.int64)
    ends = np.where(bounds[1:] > 0, ends, 0)
    return np.maximum(hashes, 1).astype(np.uint8), ends


_HASH = (37 + np.arange(256) % 27).astype(np.uint8)
_HASH[ord("0") : ord("9") + 1] = np.arange(27, 37)
_HASH[ord("a") : ord("z") + 1] = np.arange(1, 27)
"""Letters and digits have bits of their own."""
