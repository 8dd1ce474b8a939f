"""The facts of one pass over the bytes of a text file: its encoding, its line ends, its longest line.

The positions of a text file's lines, to read a few of them again without the rest.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileRefused, FileUnreadable

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


CHUNK = 1 << 20
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LINE_FEED = ord("\n")
NEAR = 64
UNIT = {"utf-16": 2, "utf-32": 4}


@dataclass(frozen=True)
class Facts:
    """`plain`: all lines end the same way, and there are no blanks between quotes or before an opening quote, which
    DuckDB would split into other fields than we do. `first_odd_line` is the first line that is not UTF-8.

    `lines` are the positions of lines in a plain, uncompressed file with line feeds; `count` is just their number.
    """

    encoding: str
    plain: bool
    size: int
    first_odd_line: int | None = None
    lines: Lines | None = field(default=None, compare=False)
    count: int | None = None


class _Utf8:
    """Checks for strict UTF-8, a chunk at a time; remembers the line of the first other byte."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._waiting = False
        self.odd_line: int | None = None

    def feed(self, chunk: bytes, lines_before: int) -> None:
        if self.odd_line is not None or (chunk.isascii() and not self._waiting and chunk):
            return
        try:
            self._decoder.decode(chunk, final=not chunk)
            self._waiting = bool(self._decoder.getstate()[0])
        except UnicodeDecodeError as error:
            self.odd_line = 1 + lines_before + chunk[: max(error.start, 0)].count(b"\n")


class _Blanks:
    """Detects blanks beside quotes that matter; may report too many, never too few."""

    def __init__(self, quote: bytes) -> None:
        self._near = b" " + quote
        self._pattern = re.compile(rb"(?:^|[,;|\t\r\n]|%b) +%b" % (2 * (re.escape(quote),)))
        self._tail = b"\n"
        self.seen = False

    def feed(self, chunk: bytes) -> None:
        begun = self._tail + chunk[:NEAR]
        self._tail = chunk[-NEAR:]
        for part in (begun, chunk):
            self.seen = self.seen or (self._near in part and self._pattern.search(part) is not None)


def facts(file: OpenedFile, configured: str | None, max_line: int, quote: str = '"') -> Facts:
    """Read the file once, in bounded memory.

    The encoding is that of a byte order mark, else the configured one, else UTF-8 if all bytes fit, else Windows-1252.
    Raises FileRefused for a line longer than `max_line` bytes, and for a file that unpacks to too many bytes.
    """
    size = lines = returns = pairs = run = 0
    utf8, tail, marked, blanks = _Utf8(), b"", None, _Blanks(quote.encode())
    feeds: list[int] = []
    try:
        changed = file.stamp
        with file.bytes() as content:
            while chunk := content.read(CHUNK):
                if not size:
                    marked = next((encoding for mark, encoding in MARKS if chunk.startswith(mark)), None)
                size += len(chunk)
                if configured is None and marked is None:
                    utf8.feed(chunk, lines)
                blanks.feed(chunk)
                last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
                run = run + len(chunk) if last < 0 else len(chunk) - last - 1
                if run > max_line:
                    raise FileRefused(
                        file.name, f"a line is longer than {max_line:,} bytes", "raise `max_line` if it is data"
                    )
                more = _feeds(chunk)
                feeds += more
                lines += sum(more)
                if b"\r" in chunk or tail == b"\r":
                    returns += chunk.count(b"\r")
                    pairs += chunk.count(b"\r\n") + (tail == b"\r" and chunk[:1] == b"\n")
                tail = chunk[-1:]
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise FileRefused(file.name, f"it cannot be read: {error.strerror}", "check its permissions") from error
        raise FileUnreadable(file.name, "the compressed data is cut or damaged", "fetch the file again") from error
    utf8.feed(b"", lines)
    plain = returns == 0 or lines == 0 or (returns == pairs == lines)
    encoding = marked or configured or ("cp1252" if utf8.odd_line is not None else "utf-8")
    plain = plain and not blanks.seen and UNIT.get(encoding, 1) == 1
    count = lines + (tail != b"\n") if plain and lines >= returns else None
    line_feeds = None
    if count is not None and not file.is_compressed:
        line_feeds = Lines(np.array(feeds, np.int64), count, changed)
    return Facts(encoding, plain, size, utf8.odd_line, line_feeds, count)


def _feeds(chunk: bytes) -> list[int]:
    # bytes.count is slow with many hits.
    is_feed = np.frombuffer(chunk, np.uint8) == _LINE_FEED
    return [int(np.count_nonzero(is_feed[i : i + BLOCK])) for i in range(0, len(chunk), BLOCK)]
