"""A JSON document, read a window at a time: its values are parsed in order, and none is kept."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from connectors.errors import FileUnreadable
from connectors.files.json.values import DECODER, TOO_DEEP, NotJson, position_of

CHUNK = 1 << 18
_BLANK = re.compile(r"[ \t\n\r]*")
_NEAR = 16
"""Characters from the end of the window within which a mistake may only mean that the rest is not read yet."""


class JsonWindow:
    """The text of a document from where it is read on. Values of more than `longest` characters are refused.

    Every method raises FileUnreadable with line and column for text that is not JSON.
    """

    def __init__(self, name: str, content: BinaryIO, encoding: str, longest: int) -> None:
        self.name, self._content, self._encoding, self._longest = name, content, encoding, longest
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._text, self._at, self._ended = "", 0, False
        self._lines_before, self._columns_before = 0, 0
        self._counted, self._lines_counted = 0, 0

    @property
    def line(self) -> int:
        """The line of what is read next, from 1."""
        self._lines_counted += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return 1 + self._lines_before + self._lines_counted

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._read_on()

    def value(self) -> Any:
        """Read one value."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except NotJson as error:
                place = position_of(self._text, error.token, self._at) if error.token else self._at
                raise FileUnreadable(self._place(place), error.reason, error.remedy) from None
            except RecursionError:
                raise FileUnreadable(self._place(self._at), *TOO_DEEP) from None
            except json.JSONDecodeError as error:
                self._read_on_after(error.pos, is_open=error.msg.startswith("Unterminated string"))
            else:
                if end + _NEAR < len(self._text) or self._ended:  # else a number may go on
                    if end - self._at > self._longest:
                        self._refuse_long()
                    self._at = end
                    return value
                self._read_on()

    def skip(self) -> None:
        """Read past one value, however long it is."""
        opened = self.peek()
        if opened not in ("[", "{"):
            self.value()
        elif not self._skip_whole():
            for _ in self.elements() if opened == "[" else self.members():
                self.skip()

    def members(self) -> Iterator[str]:
        """Yield each key of the object that begins here; the caller reads its value before it goes on."""
        self._expect("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                self._refuse()
            key = self.value()
            self._expect(":")
            yield key
            if self._expect(",}") == "}":
                return

    def elements(self) -> Iterator[None]:
        """Yield before each element of the array that begins here; the caller reads it before it goes on."""
        self._expect("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield None
            if self._expect(",]") == "]":
                return

    def refuse(self, reason: str, remedy: str) -> NoReturn:
        """Raise FileUnreadable for what is read next."""
        raise FileUnreadable(self._place(self._at), reason, remedy)

    def _expect(self, characters: str) -> str:
        character = self.peek()
        if not character or character not in characters:
            self._refuse()
        self._at += 1
        return character

    def _refuse(self) -> NoReturn:
        """Raise FileUnreadable for a character that is not JSON here, or for the end."""
        if self.peek():
            self.refuse("this is not JSON", "repair the document")
        raise FileUnreadable(self._place(self._at), "the document ends too early: it is truncated", "fetch it again")

    def _refuse_long(self) -> NoReturn:
        self.refuse(f"a value is longer than {self._longest:,} characters", "if this is really data, raise `max_line`")

    def _skip_whole(self) -> bool:
        """Read past the object or array that begins here, if this window or the next one holds all of it."""
        if len(self._text) - self._at < CHUNK and not self._ended:
            self._read_on()
        try:
            _, self._at = DECODER.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            return False
        return True

    def _read_on_after(self, mistake: int, *, is_open: bool) -> None:
        """Read on after a mistake at a position, which may only be the end of the window; raise it if it is not."""
        is_at_end = is_open or mistake >= len(self._text) - _NEAR
        if self._ended or not is_at_end:
            self._at = len(self._text) if is_open else mistake
            self._refuse()
        if len(self._text) - self._at > self._longest:
            self._refuse_long()
        self._read_on()

    def _read_on(self) -> None:
        """Drop what is read and append at least as much as is left, so that a long value is parsed a few times only."""
        done, rest = self._text[: self._at], self._text[self._at :]
        self._lines_before += done.count("\n")
        line_end = done.rfind("\n")
        self._columns_before = len(done) - line_end - 1 if line_end >= 0 else self._columns_before + len(done)
        try:
            piece = self._content.read(max(CHUNK, len(rest)))
            self._ended = not piece
            self._text = rest + self._decoder.decode(piece, final=self._ended)
            self._at = self._counted = self._lines_counted = 0
        except UnicodeError as error:  # also of UTF-16 without its mark
            number = 1 + self._lines_before + rest.count("\n")
            reason = f"it is not {self._encoding.removesuffix('-sig')} text"
            raise FileUnreadable(f"{self.name}, after line {number}", reason, "set `encoding`, like cp1252") from error
        except (EOFError, OSError, zlib.error) as error:
            raise FileUnreadable(self.name, "it is truncated or damaged", "fetch it again") from error

    def _place(self, position: int) -> str:
        before = self._text[:position]
        line_end = before.rfind("\n")
        column = position - line_end if line_end >= 0 else self._columns_before + position + 1
        return f"{self.name}:{1 + self._lines_before + before.count(chr(10))}, column {column}"
