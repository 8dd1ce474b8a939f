"""The grammar of CSV, in one place: from lines to records, and from records to fields.

A field whose first character is the quote is quoted and may hold delimiters, line ends and doubled quotes; blanks
around the quotes are not part of it. Any other field ends at the next delimiter or line end and may hold quotes. Lines
end in LF, CRLF or CR.
"""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

DUCKDB_LINE = 2_000_000
"""DuckDB's default limit of a line; a higher one makes it read in larger, slower pieces."""
NO_DELIMITER = "\x1f"
"""The delimiter of a one-column file: a control character that text does not hold."""
ENDS = "\r\n"


@dataclass(frozen=True)
class Malformed:
    """An unreadable record: its line, the reason and the remedy. `width` is its wrong number of fields."""

    line: int
    reason: str
    remedy: str
    width: int | None = None


class RawRecord(NamedTuple):
    """`line` is its first line, counted from 1; `fields` are the texts, or the mistake."""

    line: int
    fields: list[str] | Malformed


@dataclass
class RecordReader:
    """Reads records from physical lines. `one_column`: an empty line is a record.

    A quoted field of more than `limit` characters counts as never closed. After an unreadable record, reading continues
    with the line after its first one.
    """

    lines: Iterable[str]
    delimiter: str
    quote: str
    limit: int
    number: int = 0
    one_column: bool = False
    _waiting: deque[str] = field(default_factory=deque)

    def __iter__(self) -> Iterator[RawRecord]:
        self.lines = iter(self.lines)
        for line in iter(self._next, None):
            start = self.number
            if self.quote not in line:  # most lines: split without the grammar
                body = line.rstrip(ENDS)
                if body or self.one_column:
                    yield RawRecord(start, body.split(self.delimiter))
                continue
            used_lines = [line]
            fields = self._fields(line, used_lines)
            if isinstance(fields, Malformed):
                self._waiting.extendleft(reversed(used_lines[1:]))
                self.number = start
            yield RawRecord(start, fields)

    def _next(self) -> str | None:
        self.number += 1
        return self._waiting.popleft() if self._waiting else next(self.lines, None)  # type: ignore[call-overload]

    def _fields(self, line: str, used_lines: list[str]) -> list[str] | Malformed:
        """The fields of a record that starts with this line; appends its further lines to `used_lines`."""
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
                    used_lines.append(more)
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


class FieldSpan(NamedTuple):
    """Where a field of a record is in the record's text: with its quotes, and the blanks around them."""

    begin: int
    end: int


def field_spans(record: str, delimiter: str, quote: str) -> list[FieldSpan]:
    """The fields of a readable record, which may extend over several lines."""
    opening, closing = _patterns(delimiter, quote)
    spans: list[FieldSpan] = []
    at = 0
    while True:
        begin = at
        closed = closing.match(record, opened.end()) if (opened := opening.match(record, at)) else None
        if closed is not None:
            at = closed.end()
        else:
            end = record.find(delimiter, at)
            at = len(record.rstrip(ENDS)) if end < 0 else end
        spans.append(FieldSpan(begin, at))
        if record[at : at + 1] != delimiter:
            return spans
        at += 1


@dataclass(frozen=True)
class QuotedField:
    """A quoted field: its text, and the number of blanks before and after its quotes."""

    text: str
    before: int
    after: int


def quoted_field(written: str, delimiter: str, quote: str) -> QuotedField | None:
    """Read a field that is quoted, as `field_spans` found it; None for any other."""
    opening, closing = _patterns(delimiter, quote)
    opened = opening.match(written)
    closed = closing.match(written, opened.end()) if opened else None
    if opened is None or closed is None:
        return None
    after = len(written) - len(written.rstrip(" ")) if quote != " " else 0
    return QuotedField(closed[1].replace(2 * quote, quote), opened.end() - 1, after)


def _followed(opened: int, closed: int) -> Malformed:
    reason = "text follows a closing quote"
    if opened != closed:
        reason = f"a quote opened on this line closes on line {closed}, but text follows it"
    return Malformed(opened, reason, "double the quotes inside the field")


def _unclosed(line: int) -> Malformed:
    return Malformed(
        line,
        "a quote opened on this line is never closed, so the file is truncated, or a quote inside a field is not "
        "doubled",
        "fetch the file again or repair the line; none of it was used",
    )


@functools.cache
def _patterns(delimiter: str, quote: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The pattern that opens a quoted field, and that of its text up to the closing quote within a line."""
    blanks = "" if " " in (delimiter, quote) else " *"
    q = re.escape(quote)
    return re.compile(f"{blanks}{q}"), re.compile(f"([^{q}]*(?:{q}{q}[^{q}]*)*){q}(?!{q}){blanks}")
