"""Where the lines of a text file are, so that a few of them are found again without reading the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from connectors.base import Positions
    from connectors.disk.opened_file import OpenedFile


BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class Lines:
    """Line feeds in each `BLOCK` bytes of a file that had this stamp.

    `count` are its lines, whether or not the last one ends in a line feed.
    """

    feeds: Positions
    count: int
    stamp: tuple[int, int, int, int]

    def copy(self, file: OpenedFile, numbers: Positions, target: BinaryIO) -> bool:
        """Copy the lines with these numbers, ascending and counted from 0; False where the file has changed since."""
        if file.stamp != self.stamp:
            return False
        with file.bytes() as content:
            target.writelines(self._lines(content, numbers))
        return True

    def _lines(self, file: BinaryIO, numbers: Positions) -> Iterator[bytes]:
        """A line begins behind the line feed that ends the one before it; the first begins where the file does."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.feeds)])
        blocks = np.searchsorted(before, numbers) - 1
        firsts = np.flatnonzero(np.diff(blocks, prepend=-2))
        for first, end in zip(firsts, [*firsts[1:], len(numbers)], strict=True):
            block = max(int(blocks[first]), 0)
            yield from _of_block(file, block * BLOCK, numbers[first:end] - before[block])


def _of_block(file: BinaryIO, begin: int, feeds: Positions) -> Iterator[bytes]:
    """The lines behind the line feeds with these numbers, counted from 1 in one block; 0 is where the file begins."""
    file.seek(begin)
    pieces = file.read(BLOCK).split(b"\n", int(feeds[-1]) + 1)
    starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    for feed in feeds:
        if feed + 1 < len(pieces):
            yield pieces[feed] + b"\n"
        else:  # it goes on in the next block
            file.seek(begin + starts[feed])
            yield file.readline()
