"""XML as bytes with the places of its elements, so that single elements are replaced and all other bytes stay."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from xml.parsers import expat

from connectors.workbook.editing.refusals import NotEditable

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/"
_DECLARATION = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BEGINS_WIDE = {b"<\x00": "utf-16-le", b"\x00<": "utf-16-be"}
START_TAG = re.compile(rb"<([^\s/>!?]+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(\s*/?)>")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_DIGITS = 10

Splice = tuple[int, int, bytes]
"""Bytes from a place to before another one, and what takes their place."""


@dataclass(frozen=True)
class PartText:
    """The XML of a part as UTF-8 without byte order mark, and how it was written. Raises NotEditable."""

    text: bytes
    mark: bytes
    codec: str

    @classmethod
    def of(cls, name: str, data: bytes) -> PartText:
        mark = next((mark for mark in (codecs.BOM_UTF8, *_WIDE) if data.startswith(mark)), b"")
        codec = _WIDE.get(mark) or _BEGINS_WIDE.get(data[:2]) or "utf-8"
        body = data[len(mark) :]
        if codec == "utf-8":
            declaration = _DECLARATION.match(body)
            if declaration and declaration[1].lower() not in (b"utf-8", b"utf8"):
                raise NotEditable(f"its part {name} is not written in UTF-8 or UTF-16")
            return cls(body, mark, codec)
        try:
            text = body.decode(codec)
        except UnicodeDecodeError as error:
            raise NotEditable(f"its part {name} is damaged") from error
        return cls(text.encode(), mark, codec)

    def written(self, text: bytes) -> bytes:
        """The part with another text, in the same encoding."""
        return self.mark + (text if self.codec == "utf-8" else text.decode().encode(self.codec))


@dataclass
class Element:
    """An element with its place: `start` to `inside` is its start tag, `inside` to `outside` its content.

    `name` and the names of attributes are `namespace local`, or the name alone without a namespace.
    """

    name: str
    attributes: Mapping[str, str]
    start: int
    inside: int = 0
    outside: int = 0
    end: int = 0
    text: str = ""
    children: list[Element] = field(default_factory=list)

    @property
    def local(self) -> str:
        return self.name.rpartition(" ")[2]

    @property
    def namespace(self) -> str:
        return self.name.rpartition(" ")[0]

    @property
    def is_closed(self) -> bool:
        """Return True for an element like <a/>."""
        return self.inside == self.end

    def all(self, local: str) -> list[Element]:
        """The children with that local name."""
        return [child for child in self.children if child.local == local]

    def first(self, local: str) -> Element | None:
        return next(iter(self.all(local)), None)

    def get(self, attribute: str, default: str = "") -> str:
        return self.attributes.get(attribute, default)

    def number(self, attribute: str, default: int = 0) -> int:
        """The whole number of an attribute. Raises NotEditable if it is none."""
        written = self.attributes.get(attribute, str(default)).strip()
        if not (written.isascii() and written.isdigit() and len(written) <= _DIGITS):
            raise NotEditable(f"an element {self.local} has no number in its attribute {attribute}")
        return int(written)

    def walk(self) -> Iterable[Element]:
        """This element and all inside it, in the order of the document, however deep."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)


def parsed(name: str, text: bytes, *, namespaces: bool = True) -> Element:
    """The root of a part. Raises NotEditable for XML that is not well-formed."""
    return _Parsing(text, namespaces=namespaces).root(name)


@dataclass
class _Parsing:
    source: bytes
    namespaces: bool
    top: Element | None = None
    _open: list[Element] = field(default_factory=list)

    def root(self, name: str) -> Element:
        parser = expat.ParserCreate("utf-8", " " if self.namespaces else None)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        self._parser = parser
        try:
            parser.Parse(self.source, True)  # noqa: FBT003 - its second argument has no name
        except expat.ExpatError as error:
            raise NotEditable(f"its part {name} is damaged") from error
        if self.top is None:
            raise NotEditable(f"its part {name} is damaged")
        return self.top

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        start = self._parser.CurrentByteIndex
        tag = START_TAG.match(self.source, start)
        if tag is None:
            raise NotEditable("its XML has a tag that is not read")
        parent = self._open[-1] if self._open else None
        element = Element(name, attributes, start, tag.end())
        element.end = tag.end() if tag[3].endswith(b"/") else 0
        if parent is None:
            self.top = element
        else:
            parent.children.append(element)
        self._open.append(element)

    def _end(self, _name: str) -> None:
        element = self._open.pop()
        if element.end:
            element.outside = element.end
            return
        element.outside = self._parser.CurrentByteIndex
        element.end = self.source.index(b">", element.outside) + 1

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].text += text


@dataclass(frozen=True)
class PartXml:
    """A small part that is read as a whole: its elements, and its text to splice."""

    name: str
    source: PartText

    @classmethod
    def of(cls, name: str, data: bytes) -> PartXml:
        return cls(name, PartText.of(name, data))

    @cached_property
    def root(self) -> Element:
        return parsed(self.name, self.source.text)

    def prefix(self, element: Element) -> bytes:
        """The namespace prefix of an element with a colon, or nothing."""
        tag = self.source.text[element.start : element.inside]
        name = tag[1:].split(None, 1)[0].rstrip(b"/>")
        return name.rpartition(b":")[0] + b":" if b":" in name else b""

    def spliced(self, splices: Iterable[Splice]) -> bytes:
        """The part with these splices, as bytes of the file."""
        return self.source.written(spliced(self.source.text, splices))


def spliced(text: bytes, splices: Iterable[Splice]) -> bytes:
    """The text with these splices, which do not overlap; those at the same place keep their order."""
    pieces: list[bytes | memoryview] = []
    view, place = memoryview(text), 0
    for start, end, replacement in sorted(splices, key=lambda splice: splice[:2]):
        if start < place:
            raise ValueError("two splices overlap")
        pieces += [view[place:start], replacement]
        place = end
    return b"".join([*pieces, view[place:]])


def with_attribute(tag: bytes, name: str, value: str | None) -> bytes:
    """The start tag with this value of an attribute in its place, or as the last one; None: without it."""
    match = START_TAG.fullmatch(tag)
    if match is None:
        raise ValueError("not a start tag")
    existing = re.search(rb"(\s+%s\s*=\s*)(?:\"[^\"]*\"|'[^']*')" % re.escape(name.encode()), match[2])
    start, attributes, end = b"<" + match[1], match[2], match[3] + b">"
    if value is None:
        written = b""
    elif existing:
        written = existing[1] + b'"' + _escaped_attribute(value) + b'"'
    else:
        written = b" " + name.encode() + b'="' + _escaped_attribute(value) + b'"'
    if existing:
        return start + attributes[: existing.start()] + written + attributes[existing.end() :] + end
    return start + attributes + written + end


def escaped(text: str) -> bytes:
    """The text as the content of an element. Raises NotEditable for a character that XML does not have."""
    if _FORBIDDEN.search(text):
        raise NotEditable("it has a character that XML cannot hold")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;").encode()


def _escaped_attribute(text: str) -> bytes:
    return escaped(text).replace(b'"', b"&quot;").replace(b"\n", b"&#10;").replace(b"\t", b"&#9;")
