"""The facts of one pass over the bytes of a text file: its encoding, its line ends, its longest line."""

from __future__ import annotations

import codecs
import re
import zlib
from dataclasses import dataclass

import numpy as np

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileRefused, FileUnreadable

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

    `count` is the number of lines of a plain file, whether or not the last one ends in a line feed.
    """

    encoding: str
    plain: bool
    size: int
    first_odd_line: int | None = None
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
    try:
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
                        file.name,
                        f"a line is longer than {max_line:,} bytes",
                        "if this is really data, raise `max_line`",
                    )
                # bytes.count is slow with many hits.
                lines += int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == _LINE_FEED))
                if b"\r" in chunk or tail == b"\r":
                    returns += chunk.count(b"\r")
                    pairs += chunk.count(b"\r\n") + (tail == b"\r" and chunk[:1] == b"\n")
                tail = chunk[-1:]
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise FileRefused(file.name, f"it cannot be read: {error.strerror}", "check its permissions") from error
        raise FileUnreadable(
            file.name, "the compressed data is truncated or damaged", "fetch the file again"
        ) from error
    utf8.feed(b"", lines)
    plain = returns == 0 or lines == 0 or (returns == pairs == lines)
    encoding = marked or configured or ("cp1252" if utf8.odd_line is not None else "utf-8")
    plain = plain and not blanks.seen and UNIT.get(encoding, 1) == 1
    count = lines + (tail != b"\n") if plain and lines >= returns else None
    return Facts(encoding, plain, size, utf8.odd_line, count)
