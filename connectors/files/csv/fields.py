"""The grammar of CSV, in one place: how lines become records, and records become fields.

A field whose first character is the quote is quoted and may hold delimiters, line ends and doubled quotes; blanks
around the quotes are not part of it. Any other field goes to the next delimiter or line end, quotes included. Lines end
in LF, CRLF or CR.
"""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

NO_DELIMITER = "\x1f"
"""What separates the fields of a one-column file: a control character that text does not hold."""
ENDS = "\r\n"


@dataclass(frozen=True)
class Malformed:
    """A record that cannot be read: on which line, why, and what to do. `width` is its wrong number of fields."""

    line: int
    reason: str
    remedy: str
    width: int | None = None


class Record(NamedTuple):
    """`line` is the one it starts on, counted from 1; `fields` are the texts, or what is wrong with them."""

    line: int
    fields: list[str] | Malformed


@dataclass
class Reader:
    """Reads records from physical lines. `one_column` says that an empty line is a record.

    A quoted field of more than `limit` characters counts as never closed. After a record that cannot be read, reading
    goes on with the line after its first one.
    """

    lines: Iterable[str]
    delimiter: str
    quote: str
    limit: int
    number: int = 0
    one_column: bool = False
    _waiting: deque[str] = field(default_factory=deque)

    def __iter__(self) -> Iterator[Record]:
        self.lines = iter(self.lines)
        for line in iter(self._next, None):
            start = self.number
            if self.quote not in line:  # most lines: no need to look at each field
                body = line.rstrip(ENDS)
                if body or self.one_column:
                    yield Record(start, body.split(self.delimiter))
                continue
            taken = [line]
            fields = self._fields(line, taken)
            if isinstance(fields, Malformed):
                self._waiting.extendleft(reversed(taken[1:]))
                self.number = start
            yield Record(start, fields)

    def _next(self) -> str | None:
        self.number += 1
        return self._waiting.popleft() if self._waiting else next(self.lines, None)  # type: ignore[call-overload]

    def _fields(self, line: str, taken: list[str]) -> list[str] | Malformed:
        """The fields of a record that starts with this line; lines it goes on with are appended to `taken`."""
        opening, closing = _patterns(self.delimiter, self.quote)
        fields: list[str] = []
        at = 0
        while True:
            if opened := opening.match(line, at):
                begun, text, size = self.number, [], 0
                at = opened.end()
                while (closed := closing.match(line, at)) is None:
                    text.append(line[at:])
                    size += len(line) - at
                    more = self._next() if size <= self.limit else None
                    if more is None:
                        return _unclosed(begun)
                    taken.append(more)
                    line, at = more, 0
                text.append(closed[1])
                fields.append("".join(text).replace(2 * self.quote, self.quote))
                at = closed.end()
                if line[at : at + 1] not in ("", self.delimiter, *ENDS):
                    return _followed(begun, self.number)
            else:
                end = line.find(self.delimiter, at)
                text_end = len(line.rstrip(ENDS)) if end < 0 else end
                fields.append(line[at:text_end])
                at = text_end
            if line[at : at + 1] != self.delimiter:
                return fields
            at += 1


def _followed(opened: int, closed: int) -> Malformed:
    reason = "text follows a closing quote"
    if opened != closed:
        reason = f"a quote opened on this line closes on line {closed}, and text follows it"
    return Malformed(opened, reason, "double the quotes inside the field")


def _unclosed(line: int) -> Malformed:
    return Malformed(
        line,
        "a quote opened on this line is never closed, so the file is cut or a quote inside a field is not doubled",
        "fetch the file again or repair the line; nothing of it was used",
    )


@functools.cache
def _patterns(delimiter: str, quote: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What opens a quoted field, and its text to the closing quote within one line."""
    blanks = "" if " " in (delimiter, quote) else " *"
    q = re.escape(quote)
    return re.compile(f"{blanks}{q}"), re.compile(f"([^{q}]*(?:{q}{q}[^{q}]*)*){q}(?!{q}){blanks}")
