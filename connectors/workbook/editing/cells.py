"""Raw cells: what a cell stores, how it goes into a journal, and how it is written back.

Tags: `n` number, `s` text, `b` boolean, `e` error, `d` a date in ISO form, `z` an element without a value, `f` a
formula with its last value. A text with formats or phonetic characters has the tag `r` and its XML behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from connectors.target import Cell
from connectors.workbook.editing.markup import Element, with_attribute
from connectors.workbook.editing.ranges import cell_name, cell_place
from connectors.workbook.editing.refusals import NotEditable
from connectors.workbook.editing.strings import SharedStrings
from connectors.workbook.editing.texts import SharedText, shared_text, shown, text_element

NUMBER, TEXT, BOOLEAN, ERROR, DATE, EMPTY, FORMULA, RICH = "n", "s", "b", "e", "d", "z", "f", "r"
_TYPES = {BOOLEAN: "b", ERROR: "e", DATE: "d"}
_KNOWN = frozenset({"f", "v", "is"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class RawCell:
    """A cell as it is stored; `tag` and `text` are compared, its style and its XML are not.

    `obstacle` is the reason why its value cannot be replaced, if any.
    """

    tag: str
    text: str
    style: int = field(default=0, compare=False)
    xml: str = field(default="", compare=False, repr=False)
    obstacle: str | None = field(default=None, compare=False)

    @property
    def cell(self) -> Cell:
        """As it goes into a journal."""
        return self.tag, self.text


@dataclass(frozen=True)
class PlacedCell:
    """An element `c` of a row: its column, its place in the text of the sheet, and whether it names its own place."""

    column: int
    start: int
    end: int
    is_named: bool
    raw: RawCell


def placed_cells(row: Element, number: int, source: bytes, offset: int, strings: SharedStrings) -> list[PlacedCell]:
    """The cells of a row, parsed from the source without namespaces; `offset` is the place of the source.

    Raises NotEditable for cells out of order or in another row.
    """
    cells, column = [], 0
    for element in row.children:
        if element.name.rpartition(":")[2] != "c":
            raise NotEditable(f"row {number} holds something beside cells")
        name = element.attributes.get("r")
        place = cell_place(name) if name else (number, column + 1)
        if place is None or place[0] != number or place[1] <= column:
            raise NotEditable(f"the cells of row {number} are out of order")
        column = place[1]
        raw = _raw(element, source, strings)
        cells.append(PlacedCell(column, offset + element.start, offset + element.end, name is not None, raw))
    return cells


def _raw(element: Element, source: bytes, strings: SharedStrings) -> RawCell:
    children = {child.name.rpartition(":")[2]: child for child in element.children}
    style, xml = element.number("s"), source[element.start : element.end].decode()
    obstacle = None
    if "f" in children:
        obstacle = "computes its value"
    elif not children.keys() <= _KNOWN or len(children) < len(element.children):
        obstacle = "holds something that this program does not know"
    elif "cm" in element.attributes or "vm" in element.attributes:
        obstacle = "holds a picture, a linked data type or another value with metadata"
    tag, text = _value(element.get("t", "n"), children, source, strings)
    return RawCell(FORMULA if "f" in children else tag, text, style, xml, obstacle)


def _value(kind: str, children: Mapping[str, Element], source: bytes, strings: SharedStrings) -> tuple[str, str]:
    value = children["v"].text if "v" in children else ""
    if kind == "inlineStr":
        return _tagged(shared_text(children["is"], source)) if "is" in children else (EMPTY, "")
    if kind == "str":
        return (TEXT, shown(value)) if "v" in children else (EMPTY, "")
    if not value.strip():
        return EMPTY, ""
    if kind == "s":
        if not value.strip().isdigit():
            raise NotEditable("a cell refers to a shared string that does not exist")
        return _tagged(strings[int(value)])
    if kind not in ("n", *_TYPES.values()):
        raise NotEditable("a cell has an unknown type")
    return kind, value


def _tagged(text: SharedText) -> tuple[str, str]:
    return (RICH + text.rich if text.rich else TEXT), text.text


def shared(cell: Cell) -> SharedText | None:
    """The text to look for among the shared strings, if it is a text."""
    if cell is None or cell[0][:1] not in (TEXT, RICH):
        return None
    return SharedText(cell[1], cell[0].removeprefix(RICH) if cell[0].startswith(RICH) else "")


@dataclass(frozen=True)
class CellWriter:
    """Writes cells as the sheet does: with its namespace prefix, and with the type of numbers if it writes that.

    A text that is among the shared strings refers to it, any other is written into its cell.
    """

    prefix: bytes
    types_numbers: bool
    indexes: Mapping[SharedText, int]
    shared_prefix: bytes

    def new(self, row: int, column: int, cell: Cell, style: int) -> bytes:
        """A new element for a cell."""
        tag = b"<" + self.prefix + b'c r="' + cell_name(row, column).encode() + b'"'
        tag += b' s="%d"' % style if style else b""
        return self._filled(tag + b"/>", cell)

    def instead(self, former: bytes, cell: Cell) -> bytes:
        """The element of a cell with another value; its attributes stay, but for the type."""
        tag = former[: _tag_end(former)]
        return self._filled(tag, cell)

    def _filled(self, tag: bytes, cell: Cell) -> bytes:
        kind, content = self._content(cell)
        tag = with_attribute(tag, "t", kind)
        if not content:
            return tag if tag.endswith(b"/>") else tag[:-1] + b"/>"
        opening = tag[:-2] + b">" if tag.endswith(b"/>") else tag
        return opening + content + b"</" + self.prefix + b"c>"

    def _content(self, cell: Cell) -> tuple[str | None, bytes]:
        """The type and the content of the element."""
        if cell is None or cell[0] == EMPTY:
            return None, b""
        tag, text = cell
        if text_to_share := shared(cell):
            if text_to_share in self.indexes:
                return "s", self._element(b"v", b"%d" % self.indexes[text_to_share])
            if text_to_share.rich:
                if self.shared_prefix != self.prefix:
                    raise NotEditable("its formatted text is no longer among the shared strings")
                return "inlineStr", self._element(b"is", text_to_share.rich.encode())
            return "inlineStr", self._element(b"is", text_element(text, self.prefix))
        if tag == NUMBER and _NUMBER.fullmatch(text.strip()):
            return ("n" if self.types_numbers else None), self._element(b"v", text.encode("ascii"))
        if tag in _TYPES and text.isascii() and not set(text) & set("<>&"):
            return _TYPES[tag], self._element(b"v", text.encode("ascii"))
        raise NotEditable("the value is not one that a cell can hold")

    def _element(self, local: bytes, content: bytes) -> bytes:
        name = self.prefix + local
        return b"<" + name + b">" + content + b"</" + name + b">"


def _tag_end(element: bytes) -> int:
    place, quote = 0, b""
    while True:
        byte = element[place : place + 1]
        if quote:
            quote = b"" if byte == quote else quote
        elif byte in (b'"', b"'"):
            quote = byte
        elif byte == b">":
            return place + 1
        place += 1
