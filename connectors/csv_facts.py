"""What one pass over the bytes of a text file tells: its encoding, its line ends, its longest line."""

from __future__ import annotations

import codecs
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from connectors.csv_lines import BLOCK, Lines
from connectors.errors import FileRefused, FileUnreadable
from connectors.file_paths import open_bytes

CHUNK = 1 << 20
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LINE_FEED = ord("\n")
UNIT = {"utf-16": 2, "utf-32": 4}


@dataclass(frozen=True)
class Facts:
    """`plain` says that lines end in one way only; `first_odd_line` is where bytes stop being UTF-8.

    `lines` tells where they are in a plain file of line feeds that is not compressed.
    """

    encoding: str
    plain: bool
    size: int
    first_odd_line: int | None = None
    lines: Lines | None = field(default=None, compare=False)


class _Utf8:
    """Strict UTF-8, a chunk at a time; remembers the line of the first byte that is not."""

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


def facts(path: Path, name: str, configured: str | None, max_line: int) -> Facts:
    """Read the file once, in bounded memory.

    The encoding is that of a byte order mark, else the configured one, else UTF-8 if all bytes fit, else
    Windows-1252.
    Raises FileRefused for a line longer than `max_line` bytes.
    """
    size = lines = returns = pairs = run = 0
    utf8, tail, marked = _Utf8(), b"", None
    feeds: list[int] = []
    try:
        changed = path.stat().st_mtime_ns
        with open_bytes(path) as file:
            while chunk := file.read(CHUNK):
                if not size:
                    marked = next((encoding for mark, encoding in MARKS if chunk.startswith(mark)), None)
                size += len(chunk)
                if configured is None and marked is None:
                    utf8.feed(chunk, lines)
                last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
                run = run + len(chunk) if last < 0 else len(chunk) - last - 1
                if run > max_line:
                    raise FileRefused(
                        name, f"a line is longer than {max_line:,} bytes", "raise `max_line` if it is data"
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
            raise FileRefused(name, f"it cannot be read: {error.strerror}", "check its permissions") from error
        raise FileUnreadable(name, "the compressed data is cut or damaged", "fetch the file again") from error
    utf8.feed(b"", lines)
    plain = returns == 0 or lines == 0 or (returns == pairs == lines)
    encoding = marked or configured or ("cp1252" if utf8.odd_line is not None else "utf-8")
    plain = plain and UNIT.get(encoding, 1) == 1
    found = None
    if plain and lines >= returns and path.suffix != ".gz":
        found = Lines(np.array(feeds, np.int64), lines + (tail != b"\n"), size, changed)
    return Facts(encoding, plain, size, utf8.odd_line, found)


def _feeds(chunk: bytes) -> list[int]:
    # bytes.count takes a while where there is much to count.
    found = np.frombuffer(chunk, np.uint8) == _LINE_FEED
    return [int(np.count_nonzero(found[i : i + BLOCK])) for i in range(0, len(chunk), BLOCK)]
