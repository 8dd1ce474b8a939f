"""One JSON document with an array of records: at its top, or where `records` says."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import ClassVar, NoReturn

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.csv.facts import MARKS
from connectors.files.json.located import Located
from connectors.files.json.values import TOO_DEEP
from connectors.files.json.window import JsonWindow
from connectors.files.left_out import NONE, MalformedRecords

MOST_ARRAYS = 8
"""Arrays of objects that a sentence names."""
DEEPEST = 8
"""Levels of objects in which they are looked for."""


@dataclass(frozen=True)
class JsonDocument:
    """`records` is the path to the array, like `data.items`; without it, the document is the array.

    `longest` is the number of characters that a record may have. The encoding is that of a byte order mark, else
    `configured`, else UTF-8.
    """

    file: OpenedFile
    longest: int
    records: str | None = None
    configured: str | None = None
    left_out: ClassVar[MalformedRecords] = NONE

    @property
    def name(self) -> str:
        return self.file.name

    def located(self) -> Iterator[Located]:
        """Yield the records, with their position in the array from 1 and their line. Raises FileUnreadable."""
        with self.file.bytes() as content:
            text = JsonWindow(self.name, content, self._encoding, self.longest)
            try:
                yield from self._within(text, self.records or "")
            except RecursionError:
                raise FileUnreadable(self.name, *TOO_DEEP) from None
            if text.peek():
                self._refuse_more(text)

    def arrays(self) -> list[str]:
        """The paths of the first arrays of objects in the document, empty for its top. Raises FileUnreadable."""
        with self.file.bytes() as content:
            text = JsonWindow(self.name, content, self._encoding, self.longest)
            try:
                paths = list(islice(_arrays(text, ()), MOST_ARRAYS))
            except RecursionError:
                raise FileUnreadable(self.name, *TOO_DEEP) from None
            if len(paths) < MOST_ARRAYS and text.peek():
                self._refuse_more(text)
            return paths

    def place(self, located: Located) -> str:
        return f"{self.name}:{located.line}, record {located.number}"

    def count(self) -> int:
        return sum(1 for _ in self.located())

    @cached_property
    def _encoding(self) -> str:
        try:
            with self.file.bytes() as content:
                start = content.read(4)
        except (EOFError, OSError, zlib.error) as error:
            raise FileUnreadable(self.name, "it is truncated or damaged", "fetch it again") from error
        marked = next((encoding for mark, encoding in MARKS if start.startswith(mark)), None)
        if marked is None and self.configured is None and b"\0" in start:
            order = "be" if start.startswith(b"\0") else "le"
            reason = "it is not UTF-8 text, and has no byte order mark"
            raise FileUnreadable(self.name, reason, f"set `encoding`, which may be utf-16-{order}")
        encoding = marked or self.configured or "utf-8"
        try:
            " ".encode(encoding)  # fails for codecs like rot13, which do not encode text
        except LookupError as error:
            raise FileUnreadable(self.name, f"encoding {encoding!r} is unknown", "use a name like utf-16") from error
        return "utf-8-sig" if encoding == "utf-8" else encoding

    def _within(self, text: JsonWindow, path: str) -> Iterator[Located]:
        """Yield the records of the array at a path below the value that begins here."""
        opened = text.peek()
        if not path and opened == "[":
            yield from self._elements(text)
            return
        is_met = False
        if path and opened == "{":
            for key in text.members():
                if path != key and not path.startswith(f"{key}."):
                    text.skip()
                    continue
                if is_met:
                    text.refuse("`records` matches a second array here", "rename one of the keys")
                is_met = True
                yield from self._within(text, path[len(key) + 1 :])
        elif path and opened == "[":
            first, _, rest = path.partition(".")
            for number, _ in enumerate(text.elements()):
                if str(number) != first:
                    text.skip()
                    continue
                is_met = True
                yield from self._within(text, rest)
        if not is_met:
            self._refuse_missing(is_empty=not opened)

    def _elements(self, text: JsonWindow) -> Iterator[Located]:
        for number, _ in enumerate(text.elements(), 1):
            text.peek()
            line = text.line
            record = text.value()
            if not isinstance(record, dict):
                place = self.place(Located(number, line, {}))
                raise FileUnreadable(place, "it is not a JSON object", "write each record as an object")
            yield Located(number, line, record)

    def _refuse_missing(self, *, is_empty: bool) -> NoReturn:
        """Raise FileUnreadable for a document without an array at the path, with the paths that it has."""
        if is_empty and self.records is None:
            raise FileUnreadable(self.name, "it is empty", "remove it, or send it again")
        where = f"at `records: {self.records}`" if self.records else "at its top"
        paths = self.arrays()
        if not paths:
            remedy = "no other place in it has an array of objects"
        elif paths == [""]:
            remedy = "leave out `records`: the document itself is the array"
        else:
            remedy = f"set {' or '.join(f'`records: {path}`' for path in paths if path)}"
        raise FileUnreadable(self.name, f"the document has no array {where}", remedy)

    def _refuse_more(self, text: JsonWindow) -> NoReturn:
        remedy = "write one array, or set `format: jsonl` if each line is an object"
        text.refuse("the document ends before this", remedy)


def proposed(document: JsonDocument) -> str | None:
    """Return the path to the only array of objects; None if the document is that array, or has several or none."""
    paths = replace(document, records=None).arrays()
    return paths[0] or None if len(paths) == 1 else None


def _arrays(text: JsonWindow, path: tuple[str, ...]) -> Iterator[str]:
    opened = text.peek()
    if opened == "{" and len(path) < DEEPEST:
        for key in text.members():
            yield from _arrays(text, (*path, key))
    elif opened == "[":
        for number, _ in enumerate(text.elements()):
            if number == 0 and text.peek() == "{":
                yield ".".join(path)
            text.skip()
    else:
        text.skip()
