"""The positions of a text file's lines, to read a few of them again without the rest."""

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
    """Line feeds in each `BLOCK` bytes of a file with this stamp.

    `count` is the number of its lines, whether or not the last one ends in a line feed.
    """

    feeds: Positions
    count: int
    stamp: tuple[int, int, int, int]

    def copy(self, file: OpenedFile, numbers: Positions, target: BinaryIO) -> bool:
        """Copy the lines with these numbers, ascending from 0; return False if the file has changed."""
        if file.stamp != self.stamp:
            return False
        with file.bytes() as content:
            target.writelines(self._lines(content, numbers))
        return True

    def _lines(self, file: BinaryIO, numbers: Positions) -> Iterator[bytes]:
        """The lines with these numbers. A line begins after the line feed of the previous one."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.feeds)])
        blocks = np.searchsorted(before, numbers) - 1
        firsts = np.flatnonzero(np.diff(blocks, prepend=-2))
        for first, end in zip(firsts, [*firsts[1:], len(numbers)], strict=True):
            block = max(int(blocks[first]), 0)
            yield from _of_block(file, block * BLOCK, numbers[first:end] - before[block])


def _of_block(file: BinaryIO, begin: int, feeds: Positions) -> Iterator[bytes]:
    """The lines after the line feeds with these numbers, counted from 1 in one block; 0 is the start of the file."""
    file.seek(begin)
    pieces = file.read(BLOCK).split(b"\n", int(feeds[-1]) + 1)
    starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    for feed in feeds:
        if feed + 1 < len(pieces):
            yield pieces[feed] + b"\n"
        else:  # it continues in the next block
            file.seek(begin + starts[feed])
            yield file.readline()
