"""Forms with a file, as browsers send them (RFC 7578), read by python-multipart within limits.

The cost is linear in the size of the body: what could cost more, the heads of parts, is limited before it is read.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it logs bytes of requests that we refuse

MOST_PARTS = 100
_MOST_HEADS = 8
"""Heads of a part."""
_LONGEST_HEAD = 1_024
"""Bytes of a head of a part, and of the content type of the whole form."""
_LONGEST_BOUNDARY = 70


@dataclass(frozen=True)
class FormPart:
    """A field of a form; `file` is the name of the file that was chosen, None for another field."""

    name: str
    file: str | None
    content: bytes


def parts_of(kind: str, body: bytes) -> list[FormPart]:
    """Return the parts of a body whose content type is `kind`. Raises ValueError."""
    reader = _Reader()
    parser = MultipartParser(
        _boundary(kind),
        {
            "on_part_begin": reader.begin,
            "on_header_field": reader.add_name,
            "on_header_value": reader.add_value,
            "on_header_end": reader.end_head,
            "on_part_data": reader.add_content,
            "on_part_end": reader.end,
            "on_end": reader.finish,
        },
        max_header_count=_MOST_HEADS,
        max_header_size=_LONGEST_HEAD,
    )
    try:
        parser.write(body)
        parser.finalize()
    except FormParserError:
        raise ValueError("The body is not the parts of a form, between boundaries") from None
    if not reader.is_complete or not reader.parts:
        raise ValueError("The body ends before its parts do, or has none")
    return reader.parts


def _boundary(kind: str) -> bytes:
    if len(kind) > _LONGEST_HEAD:
        raise ValueError("The content type is too long")
    name, options = parse_options_header(kind)
    boundary = options.get(b"boundary", b"")
    if name != b"multipart/form-data" or not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise ValueError("The content type names no boundary")
    return boundary


@dataclass
class _Reader:
    """Collects the parts of a form from what the parser calls."""

    parts: list[FormPart] = field(default_factory=list)
    is_complete: bool = False
    _name: bytearray = field(default_factory=bytearray)
    _value: bytearray = field(default_factory=bytearray)
    _content: bytearray = field(default_factory=bytearray)
    _disposition: bytes = b""

    def begin(self) -> None:
        if len(self.parts) == MOST_PARTS:
            raise ValueError(f"A form has at most {MOST_PARTS} parts")
        self._content, self._disposition = bytearray(), b""

    def add_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def end_head(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._name.clear()
        self._value.clear()

    def add_content(self, data: bytes, start: int, end: int) -> None:
        self._content += data[start:end]

    def end(self) -> None:
        kind, options = parse_options_header(self._disposition)
        if kind != b"form-data" or b"name" not in options:
            raise ValueError("A part of the body has no name")
        file = options.get(b"filename")
        name = options[b"name"].decode("utf-8")
        self.parts.append(FormPart(name, None if file is None else file.decode("utf-8"), bytes(self._content)))

    def finish(self) -> None:
        self.is_complete = True
