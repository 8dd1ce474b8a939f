"""Read YAML into a tree in which every scalar keeps its author's text and every node its position.

A small, safe part of YAML: mappings, lists and scalars. Anchors, aliases, tags, merge keys, a second document and a
duplicate key are mistakes, size and depth are bounded, and no type is guessed from how a scalar looks: `no`,
`0123` and `12:30:45` stay as written. The schema decides types later. An empty value, `~` and an unquoted
`null` are None.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rules.document.mistakes import Mistake, Position, short
from rules.document.syntax import explain

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 50_000  # a thousand rules; checking more would take more than seconds

_PRINTED_QUOTES = "“”„‟‘’‚‛«»"
_NULLS = ("", "~", "null", "Null", "NULL")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where PyYAML was built with it: 20 times faster

Data = None | str | list["Data"] | dict[str, "Data"]


@dataclass(frozen=True)
class ScalarNode:
    """A text, or None. `lead` is the offset of its first character from `at`, when it is written verbatim there.

    `sealed_as` is set once a secret was put into the text: the author's own form, which may be shown.
    """

    at: Position
    text: str | None = field(repr=False)
    lead: int | None = None
    sealed_as: str | None = None

    def position(self, offset: int) -> Position:
        """Return the position of one character of the text; of the whole text where that is unknown."""
        if self.lead is None:
            return self.at
        return Position(self.at.file, self.at.line, self.at.column + self.lead + offset)


@dataclass(frozen=True)
class ListNode:
    at: Position
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Entry:
    """One `key: value` of a mapping, with the position of its key."""

    key_at: Position
    node: Node


@dataclass(frozen=True)
class MapNode:
    at: Position
    entries: Mapping[str, Entry]


Node = ScalarNode | ListNode | MapNode


@dataclass(frozen=True)
class ParsedFile:
    """The tree of a file, as far as it can be read, and every mistake in its syntax."""

    root: Node | None
    problems: tuple[Mistake, ...] = ()


def read(path: Path, shown: str | None = None) -> ParsedFile:
    """Read a file; `shown` is its name in sentences. Raises OSError when it cannot be opened."""
    name = shown or str(path)
    if not path.is_dir() and path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Is not a file", str(path))  # a pipe or device could make us wait forever
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    return parse(raw, name)


def parse(raw: bytes | str, file: str = "<text>", *, largest: int = MAX_BYTES) -> ParsedFile:
    """Parse a text of at most `largest` bytes into a tree and its mistakes; never raises for any text."""
    encoded = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    start = Position(file, 1, 1)
    if len(encoded) > largest:
        sentence = f"this file is larger than {largest // 1000:,} kB; split it with `include:`"
        return ParsedFile(None, (Mistake.at(start, sentence),))
    try:
        text = encoded.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return ParsedFile(None, (Mistake.at(_byte_position(encoded, error.start, file), _not_utf8(encoded)),))
    control = _CONTROL.search(text)
    if control:
        place = _text_position(text, control.start(), file)
        sentence = f"control character U+{ord(control[0]):04X} found; remove it or write it as an escape"
        return ParsedFile(None, (Mistake.at(place, sentence),))
    return _Builder(text, file).document()


def data(node: Node | None) -> Data:
    """Return the tree as plain Python values, secrets included."""
    if isinstance(node, MapNode):
        return {key: data(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [data(item) for item in node.items]
    return node.text if node is not None else None


def walk(node: Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    """Yield every node with its path, from the root down."""
    yield path, node
    if isinstance(node, MapNode):
        for key, entry in node.entries.items():
            yield from walk(entry.node, (*path, key))
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from walk(item, (*path, index))


@dataclass(frozen=True)
class PathEnd:
    """The end of a path: the node, the position of its key, and the part of the path that exists in the file."""

    node: Node
    key_at: Position
    path: tuple[str | int, ...]


def locate(root: Node, path: tuple[str | int, ...], key_at: Position | None = None) -> PathEnd:
    """Follow a path as deep as the file goes. Steps that the file does not have are skipped."""
    place = PathEnd(root, key_at or root.at, ())
    for step in path:
        if isinstance(place.node, MapNode) and step in place.node.entries:
            entry = place.node.entries[str(step)]
            place = PathEnd(entry.node, entry.key_at, (*place.path, step))
        elif isinstance(place.node, ListNode) and isinstance(step, int) and step < len(place.node.items):
            item = place.node.items[step]
            place = PathEnd(item, item.at, (*place.path, step))
    return place


class _TooDeep(Exception):
    """The text nests deeper than MAX_DEPTH; nothing after it is read."""

    def __init__(self, at: Position) -> None:
        super().__init__(at)
        self.at = at


class _TooMany(_TooDeep):
    """The text holds more than MAX_NODES values; nothing after it is read."""


class _Builder:
    """Builds the tree from PyYAML's events, so that a hostile text costs no more than its length."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._problems: list[Mistake] = []
        self._nodes = 0
        self._parser: Any = _Parser(text)

    def document(self) -> ParsedFile:
        root: Node | None = None
        try:
            root = self._root()
        except _TooMany as limit:
            self._tell(limit.at, f"this file has more than {MAX_NODES:,} values; split it with `include:`")
        except _TooDeep as limit:
            self._tell(limit.at, f"this is nested deeper than {MAX_DEPTH} levels; flatten it")
        except yaml.YAMLError as error:
            line, column, sentence = explain(self._text, error)
            self._tell(Position(self._file, line, column), sentence)
        finally:
            self._parser.dispose()
        return ParsedFile(root, tuple(sorted(set(self._problems))))

    def _root(self) -> Node | None:
        root: Node | None = None
        first = True
        while True:
            event = self._parser.get_event()
            if isinstance(event, yaml.StreamEndEvent):
                return root
            if isinstance(event, yaml.DocumentStartEvent):
                if not first:
                    self._tell(self._at(event), "a second document begins here; one file holds one, so remove `---`")
                    return root
                first = False
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, 0)

    def _node(self, event: Any, depth: int) -> Node:
        at = self._at(event)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _TooMany(at)
        if depth > MAX_DEPTH:
            raise _TooDeep(at)
        self._refuse_extras(event, at)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(at, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(at, depth)
        return self._scalar(event, at)

    def _refuse_extras(self, event: Any, at: Position) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._tell(at, f"`*{event.anchor}` is an alias, which is not supported; repeat the value, or quote it")
        elif event.anchor is not None:
            self._tell(at, f"`&{event.anchor}` is an anchor, which is not supported; remove it, or quote the value")
        elif event.tag is not None:
            self._tell(at, f"`{short(event.tag)}` is a tag, which is not supported; remove it, or quote the value")

    def _mapping(self, at: Position, depth: int) -> MapNode:
        entries: dict[str, Entry] = {}
        while not isinstance(event := self._parser.get_event(), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(self._parser.get_event(), depth + 1)
            name = self._key(key)
            if name is None:
                continue
            if name in entries:
                first = entries[name].key_at
                self._tell(key.at, f"`{short(name)}` is defined twice, first in line {first.line}; keep one")
            else:
                entries[name] = Entry(key.at, value)
        return MapNode(at, entries)

    def _key(self, key: Node) -> str | None:
        if not isinstance(key, ScalarNode) or key.text is None:
            self._tell(key.at, "a key must be a single text; give it a name, or quote it")
            return None
        if key.text == "<<" and key.lead == 0:
            self._tell(key.at, "`<<` merges mappings, which is not supported; write the keys out")
            return None
        return key.text

    def _list(self, at: Position, depth: int) -> ListNode:
        items: list[Node] = []
        while not isinstance(event := self._parser.get_event(), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return ListNode(at, tuple(items))

    def _scalar(self, event: Any, at: Position) -> ScalarNode:
        if isinstance(event, yaml.AliasEvent):
            return ScalarNode(at, None)
        value: str = event.value
        if not event.style and value in _NULLS:
            return ScalarNode(at, None)
        if not event.style and value[0] in _PRINTED_QUOTES:
            self._tell(at, f"`{value[0]}` is a typographic quote; write ' or \"")
        written = self._text[event.start_mark.index : event.end_mark.index]
        lead = 0 if written == value else 1 if written[1:-1] == value and event.style in ("'", '"') else None
        return ScalarNode(at, value, lead)

    def _at(self, event: Any) -> Position:
        return Position(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _tell(self, at: Position, sentence: str) -> None:
        self._problems.append(Mistake.at(at, sentence))


def _text_position(text: str, index: int, file: str) -> Position:
    prefix = text[:index]
    return Position(file, prefix.count("\n") + 1, index - (prefix.rfind("\n") + 1) + 1)


def _byte_position(raw: bytes, index: int, file: str) -> Position:
    prefix = raw[:index].decode("utf-8", "replace")
    return _text_position(prefix, len(prefix), file)


def _not_utf8(raw: bytes) -> str:
    kind = "UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "not UTF-8"
    return f"the file's text is {kind} here; save it as UTF-8"
