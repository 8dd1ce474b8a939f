"""Make text that holds data safe for a terminal, a log and JSON: every character in it is visible.

A terminal obeys control characters, and bidirectional marks and joiners mislead readers. So each invisible character is
written as its escape: `\\x1b`, `\\u202e`, `\\U000e0041`, and `\\n` for a line end inside a line of ours. Umlauts,
Chinese and emoji stay as they are. A backslash stays too, so a text can look like an escape without being one: only
JSON is exact.

Unicode calls these characters controls, surrogates, separators and "default ignorable". Two kinds of the last stay:
variation selectors, which choose how the character before is drawn, and a joiner between two emoji, which makes one
character of them.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator
from typing import TextIO, cast

_INVISIBLE = (
    "\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_HIDDEN = re.compile(f"[{_INVISIBLE}\n]")
_HIDDEN_IN_LINES = re.compile(f"[{_INVISIBLE}]")
_JOINED = re.compile("[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]\u200d[\u2190-\u2bff\U0001f000-\U0001faff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def line(text: str) -> str:
    """The text on one line: invisible characters and line ends are escaped."""
    return _HIDDEN.sub(_escape, text)


def block(text: str) -> str:
    """Escape invisible characters in a text whose line ends are ours: they stay."""
    return _HIDDEN_IN_LINES.sub(_escape, text)


def in_json(document: str, encoding: str = "utf-8") -> str:
    """The same JSON document with escapes for invisible characters, and for those missing in the encoding."""
    escaped = _HIDDEN_IN_LINES.sub(_escape_in_json, document)
    if encoding.lower().replace("_", "-") != "utf-8":
        escaped = "".join(c if _fits(c, encoding) else json.dumps(c)[1:-1] for c in escaped)
    return escaped


def _escape(hidden: re.Match[str]) -> str:
    if _joins_emoji(hidden):
        return hidden[0]
    code = ord(hidden[0])
    numbered = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return _SHORT.get(hidden[0], numbered)


def _escape_in_json(hidden: re.Match[str]) -> str:
    """Outside its texts JSON has no hidden character except line ends, and inside them no line ends."""
    return hidden[0] if _joins_emoji(hidden) else json.dumps(hidden[0])[1:-1]


def _joins_emoji(hidden: re.Match[str]) -> bool:
    return hidden[0] == "\u200d" and _JOINED.match(hidden.string, max(hidden.start() - 1, 0)) is not None


def _fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


class VisibleStream(io.TextIOBase):
    """A terminal or log that gets only visible text from `print`, libraries, warnings and tracebacks.

    It has no `buffer`, so nothing bypasses it by mistake; `raw` is for code that draws colours and moving lines.
    """

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        escaped = block(text)
        try:
            self.raw.write(escaped)
        except UnicodeEncodeError:  # a locale without these characters
            self.raw.write(escaped.encode(self.encoding, "backslashreplace").decode(self.encoding))
        return len(text)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # typeshed has it as an attribute
        return getattr(self.raw, "encoding", None) or "utf-8"  # a StringIO has none

    def flush(self) -> None:
        self.raw.flush()

    def fileno(self) -> int:
        return self.raw.fileno()

    def isatty(self) -> bool:
        return self.raw.isatty()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Leave the wrapped stream open: it belongs to the process."""


def raw(stream: TextIO) -> TextIO:
    """The wrapped stream, for text that is already visible and coloured."""
    return stream.raw if isinstance(stream, VisibleStream) else stream


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Within the block, standard output and standard error get only visible text."""
    out, err = cast(TextIO, VisibleStream(raw(sys.stdout))), cast(TextIO, VisibleStream(raw(sys.stderr)))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield
