"""Elements of OFX: SGML whose values are not closed (version 1), or XML (version 2).

There is no document type to read and no entity to resolve. An element with text is a value; one without text and
closing tag is an empty value. Only what is known to hold others must be closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from connectors.errors import FileRefused, FileUnreadable
from connectors.files.bank.text import squeezed

MOST_DEPTH = 50
AGAIN = "fetch it again: it may be truncated or damaged"
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9_.]*)\s*(?P<empty>/?)>|<(?P<special>!--|!\[CDATA\[|!|\?)")
_ENDS = {"!--": "-->", "![CDATA[": "]]>", "!": ">", "?": "?>"}
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " "}
_CLOSED = {"OFX", "STMTRS", "CCSTMTRS", "STMTTRN", "STMTTRNP"}
"""Elements that must be closed. Not a list of transactions: some banks forget to, and its statement is closed."""


@dataclass(slots=True)
class Element:
    """An element with the line where it begins. A value has `text`, and nothing in it."""

    name: str
    line: int
    text: str = ""
    inner: list[Element] = field(default_factory=list)

    def all(self, name: str) -> Iterator[Element]:
        """Yield the elements of that name directly in this one."""
        return (element for element in self.inner if element.name == name)

    def first(self, path: str) -> Element | None:
        """Return the first element at a path like `LEDGERBAL/BALAMT`."""
        element: Element | None = self
        for name in path.split("/"):
            element = next(element.all(name), None) if element is not None else None
        return element

    def value(self, *paths: str) -> str | None:
        """Return the first text at one of the paths that is not empty."""
        elements = (self.first(path) for path in paths)
        return next((text for element in elements if element and (text := squeezed(element.text))), None)


def elements(file: str, text: str, is_wanted: Callable[[str], bool]) -> Iterator[Element]:
    """Yield each wanted element once it is closed; it is then forgotten. Raises FileUnreadable and FileRefused.

    `text` has `\\n` as its only line end.
    """
    tree = _Tree(file, is_wanted)
    line, before = 1, 0
    for start, token, value in _tokens(file, text):
        line += text.count("\n", before, start)
        before = start
        if token["close"]:
            yield from tree.close(token["name"].upper(), line)
            if value.strip():
                raise FileUnreadable(f"{file}:{line}", f"text follows `</{token['name']}>`", AGAIN)
        else:
            tree.open(token["name"].upper(), value, line)
            if token["empty"]:
                yield from tree.close(token["name"].upper(), line)
    tree.end()


def _tokens(file: str, text: str) -> Iterator[tuple[int, re.Match[str], str]]:
    """Yield tags with their positions and the text behind each. Comments and instructions are left out."""
    pending: re.Match[str] | None = None
    texts: list[str] = []
    position = 0
    while match := _TAG.search(text, position):
        texts.append(_unescaped(text[position : match.start()]))
        position = match.end()
        if match["special"] is None:
            if pending is not None:
                yield pending.start(), pending, "".join(texts)
            pending, texts = match, []
            continue
        end = text.find(_ENDS[match["special"]], position)
        if match["special"] == "!" or end < 0:
            _refuse_declaration(file, text, match)
        if match["special"] == "![CDATA[":
            texts.append(text[position:end])
        position = end + len(_ENDS[match["special"]])
    if pending is not None:
        yield pending.start(), pending, "".join([*texts, _unescaped(text[position:])])


def _refuse_declaration(file: str, text: str, match: re.Match[str]) -> None:
    place = f"{file}:{text.count(chr(10), 0, match.start()) + 1}"
    if match["special"] == "!":
        raise FileRefused(place, "it declares a document type", "fetch it from the bank again")
    raise FileUnreadable(place, f"`<{match['special']}` is not closed", AGAIN)


def _unescaped(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    number = int(match[2]) if match[2] else int(match[3], 16)
    is_character = 31 < number < 0x110000 and not 0xD800 <= number < 0xE000
    return chr(number) if is_character else " "


class _Tree:
    """The elements that are open."""

    def __init__(self, file: str, is_wanted: Callable[[str], bool]) -> None:
        self._file, self._is_wanted = file, is_wanted
        self._open: list[Element] = []
        self._value: str | None = None
        self._is_closed = False

    def open(self, name: str, text: str, line: int) -> None:
        if not self._open and (name != "OFX" or self._is_closed):
            raise FileUnreadable(f"{self._file}:{line}", "this is not OFX, which begins with `<OFX>`", "correct `path`")
        element = Element(name, line, text.strip())
        if self._open:
            self._open[-1].inner.append(element)
        self._value = name if element.text else None
        if not element.text:
            self._open.append(element)
        if len(self._open) > MOST_DEPTH:
            raise FileUnreadable(f"{self._file}:{line}", f"more than {MOST_DEPTH} elements are nested", AGAIN)

    def close(self, name: str, line: int) -> Iterator[Element]:
        value, self._value = self._value, None
        if value == name:
            return
        if all(element.name != name for element in self._open):
            raise FileUnreadable(f"{self._file}:{line}", f"`</{name}>` closes nothing", AGAIN)
        while (element := self._open.pop()).name != name:
            self._close_empty(element)
        self._is_closed = not self._open
        if self._is_wanted(name):
            yield element
            if self._open:
                self._open[-1].inner.pop()  # it is the last one, since it was open until now

    def _close_empty(self, element: Element) -> None:
        """Take an element that is not closed for an empty value: what follows it is in the same element as it is."""
        if element.name in _CLOSED:
            raise FileUnreadable(f"{self._file}:{element.line}", f"`<{element.name}>` is not closed", AGAIN)
        self._open[-1].inner.extend(element.inner)
        element.inner = []

    def end(self) -> None:
        if self._open:
            element = next((each for each in reversed(self._open) if each.name in _CLOSED), self._open[0])
            raise FileUnreadable(f"{self._file}:{element.line}", f"`<{element.name}>` is not closed", AGAIN)
        if not self._is_closed:
            raise FileUnreadable(self._file, "this is not OFX, which begins with `<OFX>`", "correct `path`")
