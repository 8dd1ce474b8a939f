"""The XML of one sheet: where its rows are, and what stands before and behind them.

Only the rows that are asked for are parsed. All others are seen by one pass of a regular expression over the bytes,
which is right since a parser checked them before: within rows, `<row` begins nothing but a row.
"""

from __future__ import annotations

import bisect
import html
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from xml.parsers import expat

from connectors.workbook.editing.markup import MAIN, START_TAG, STRICT, Element, PartText, parsed, spliced
from connectors.workbook.editing.refusals import NotEditable

_ODD = re.compile(rb"<!|<\?")
_NUMBER = re.compile(rb"\sr\s*=\s*[\"'](\d{1,7})[\"']")
_ROOT = re.compile(rb"<(?:([\w.-]+):)?worksheet(?=[\s/>])")
_DECLARES = re.compile(rb"<[^<>]*\sxmlns[:=]")
_ANY_MARKUP = re.compile(
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(/?)([\w.:-]+)[^>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^>\"']*)*>", re.DOTALL
)
_ATTRIBUTE = re.compile(rb"([\w:.-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_BEFORE_MAIN = 1 << 16


@dataclass(frozen=True)
class Frame:
    """What surrounds the rows: `rows` are the places of the element `sheetData`, `inside` those of its content.

    `root` is the sheet without its rows, so that only places before them are those of the sheet.
    """

    root: Element
    rows: slice
    inside: slice


@dataclass(frozen=True)
class SheetText:
    """The XML of a sheet of cells. Raises NotEditable for one that cannot be edited byte for byte."""

    name: str
    source: PartText

    @classmethod
    def of(cls, name: str, data: bytes) -> SheetText:
        """Read a sheet, after a parser checked that it is well-formed."""
        sheet = cls(name, PartText.of(name, data))
        parser = expat.ParserCreate("utf-8")
        try:
            parser.Parse(sheet.text, True)  # noqa: FBT003 - its second argument has no name
        except expat.ExpatError as error:
            raise NotEditable(f"its part {name} is damaged") from error
        inside = sheet.frame.inside
        if _ODD.search(sheet.text, inside.start, inside.stop):
            raise NotEditable("a sheet has comments or sections of character data among its rows")
        if sheet._declares_namespaces():
            raise NotEditable("a sheet declares namespaces among its rows")
        return sheet

    def with_text(self, text: bytes) -> SheetText:
        return SheetText(self.name, PartText(text, self.source.mark, self.source.codec))

    @property
    def text(self) -> bytes:
        return self.source.text

    @property
    def data(self) -> bytes:
        """The bytes of the part."""
        return self.source.written(self.text)

    def _declares_namespaces(self) -> bool:
        """Return True if a tag among the rows declares a namespace."""
        inside, place = self.frame.inside, self.frame.inside.start
        while (place := self.text.find(b"xmlns", place, inside.stop)) >= 0:
            if _DECLARES.match(self.text, self.text.rindex(b"<", 0, place)):
                return True
            place += 1
        return False

    @cached_property
    def prefix(self) -> bytes:
        """The namespace prefix of its elements with a colon, or nothing."""
        name = self._root_tag[1]
        return name.rpartition(b":")[0] + b":" if b":" in name else b""

    @cached_property
    def _root_tag(self) -> re.Match[bytes]:
        for match in START_TAG.finditer(self.text, 0, _BEFORE_MAIN):
            return match
        raise NotEditable(f"its part {self.name} is damaged")

    @cached_property
    def frame(self) -> Frame:
        text = self.text
        name = self.prefix + b"sheetData"
        start = next((match for match in _ANY_MARKUP.finditer(text) if match[2] == name), None)
        if start is None:
            raise NotEditable("a sheet has no rows and no place for them")
        if start[0].endswith(b"/>"):
            end, inside = start.end(), slice(start.end(), start.end())
        else:
            closing = text.find(b"</" + name, start.end())
            if closing < 0:
                raise NotEditable(f"its part {self.name} is damaged")
            end, inside = text.index(b">", closing) + 1, slice(start.end(), closing)
        marker = b"<" + name + b"/>"
        without = text[: start.start()] + marker + text[end:]
        root = parsed(self.name, without)
        if root.namespace.startswith(STRICT):
            raise NotEditable("it is a strict Open XML workbook; save it as an ordinary .xlsx first")
        if root.namespace != MAIN or root.local != "worksheet":
            raise NotEditable(f"its part {self.name} is not a sheet of cells")
        return Frame(root, slice(start.start(), end), inside)

    @cached_property
    def _index(self) -> tuple[array[int], array[int]]:
        """The numbers of all rows, and their places."""
        row = re.compile(rb"<%srow(?=[\s/>])[^>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^>\"']*)*>" % re.escape(self.prefix))
        numbers, places, number = array("l"), array("q"), 0
        inside = self.frame.inside
        for match in row.finditer(self.text, inside.start, inside.stop):
            written = _NUMBER.search(match[0])
            following = int(written[1]) if written else number + 1
            if following <= number:
                raise NotEditable("a sheet has rows out of order")
            number = following
            numbers.append(number)
            places.append(match.start())
        return numbers, places

    @property
    def numbers(self) -> array[int]:
        """The numbers of the rows, in ascending order."""
        return self._index[0]

    def span(self, number: int) -> slice | None:
        """The place of a row; None if there is none."""
        numbers, places = self._index
        position = bisect.bisect_left(numbers, number)
        if position == len(numbers) or numbers[position] != number:
            return None
        start = places[position]
        tag = START_TAG.match(self.text, start)
        if tag is None or tag[3].endswith(b"/"):
            return slice(start, tag.end() if tag else start)
        closing = self.text.index(b"</" + self.prefix + b"row", start)
        return slice(start, self.text.index(b">", closing) + 1)

    def place_for(self, number: int) -> int:
        """The place where a row of that number belongs: before the next one."""
        numbers, places = self._index
        position = bisect.bisect_left(numbers, number)
        return places[position] if position < len(places) else self._after_last

    @property
    def _after_last(self) -> int:
        """The place behind the last row, before any blanks."""
        numbers, _ = self._index
        if numbers:
            span = self.span(numbers[-1])
            assert span is not None  # noqa: S101 - its number is in the list
            return int(span.stop)
        return int(self.frame.inside.start)

    def row(self, number: int) -> Element | None:
        """The parsed row, whose places begin at the row; None if there is none."""
        span = self.span(number)
        return parsed(self.name, self.text[span], namespaces=False) if span else None

    def formulas(self) -> Iterator[Mapping[str, str]]:
        """The attributes of every formula in the sheet."""
        prefix = re.escape(self.prefix)
        formula = re.compile(rb"<%sf(?=[\s/>])([^>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^>\"']*)*)>" % prefix)
        inside = self.frame.inside
        for match in formula.finditer(self.text, inside.start, inside.stop):
            yield {name.decode(): html.unescape(value[1:-1].decode()) for name, value in _ATTRIBUTE.findall(match[1])}

    @property
    def has_formulas(self) -> bool:
        return re.search(rb"<%sf[\s/>]" % re.escape(self.prefix), self.text) is not None

    @property
    def types_numbers(self) -> bool:
        """Return True if the sheet writes the type of numbers, as LibreOffice and openpyxl do."""
        return b't="n"' in self.text

    @property
    def last_row(self) -> int:
        """The number of the last row; 0 without any."""
        return self.numbers[-1] if self.numbers else 0

    def with_content(self, place: int, content: bytes) -> SheetText:
        """The sheet with more rows at a place among them."""
        frame = self.frame
        tag = START_TAG.match(self.text, frame.rows.start)
        assert tag is not None  # noqa: S101 - the frame found it
        opening = b"<" + tag[1] + tag[2] + tag[3].rstrip(b"/") + b">"
        rows = self.text[frame.inside.start : place] + content + self.text[place : frame.inside.stop]
        closing = b"</" + self.prefix + b"sheetData>"
        return self.with_text(spliced(self.text, [(frame.rows.start, frame.rows.stop, opening + rows + closing)]))
