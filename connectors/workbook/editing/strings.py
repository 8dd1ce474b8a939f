"""The shared strings of a workbook. They are only read: new texts go into their cells, so no index ever changes."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from connectors.workbook.editing.markup import MAIN, PartText, parsed
from connectors.workbook.editing.refusals import NotEditable
from connectors.workbook.editing.texts import SharedText, shared_text

_ROOT = re.compile(rb"<(?:([\w.-]+):)?sst(?=[\s/>])[^>]*>")
_ODD = re.compile(rb"<!|<\?(?!xml\s)")


@dataclass(frozen=True)
class SharedStrings:
    """The part with the shared strings, read piece by piece. Raises NotEditable for an index that it does not have."""

    source: PartText
    _texts: dict[int, SharedText] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, data: bytes) -> SharedStrings:
        source = PartText.of(name, data)
        if _ODD.search(source.text):
            raise NotEditable(f"its part {name} has comments, CDATA or instructions, which are not read")
        strings = cls(source)
        if MAIN.encode() not in strings._root[0]:
            raise NotEditable(f"its part {name} is damaged")
        return strings

    @cached_property
    def _root(self) -> re.Match[bytes]:
        match = _ROOT.search(self.source.text)
        if match is None:
            raise NotEditable("its shared strings are damaged")
        return match

    @property
    def prefix(self) -> bytes:
        """The namespace prefix of its elements with a colon, or nothing."""
        return self._root[1] + b":" if self._root[1] else b""

    @cached_property
    def _starts(self) -> array[int]:
        pattern = re.compile(rb"<%ssi(?=[\s/>])" % re.escape(self.prefix))
        return array("q", (match.start() for match in pattern.finditer(self.source.text)))

    def _item(self, index: int) -> bytes:
        text, starts = self.source.text, self._starts
        end = starts[index + 1] if index + 1 < len(starts) else text.rindex(b"</")
        return text[starts[index] : end].rstrip()

    def __getitem__(self, index: int) -> SharedText:
        if not 0 <= index < len(self._starts):
            raise NotEditable("a cell refers to a shared string that does not exist")
        if index not in self._texts:
            item = self._item(index)
            self._texts[index] = shared_text(parsed("sharedStrings.xml", item, namespaces=False), item)
        return self._texts[index]

    def indexes(self, wanted: Iterable[SharedText]) -> Mapping[SharedText, int]:
        """The first index of each of these texts that is there, with the same formats."""
        missing = set(wanted)
        in_bytes = {text.text.encode("utf-8", "surrogatepass") for text in missing if not text.rich}
        rich = {text.rich.encode() for text in missing if text.rich}
        plain = re.compile(rb"<%(p)ssi>\s*<%(p)st(?:\s[^>]*)?>([^<]*)</" % {b"p": re.escape(self.prefix)})
        indexes: dict[SharedText, int] = {}
        for index in range(len(self._starts)) if missing else ():
            item = self._item(index)
            match = plain.match(item)
            content = match[1] if match else b""
            if match and b"&" not in content and b"_x" not in content and b"\r" not in content:
                is_candidate = content in in_bytes
            else:
                is_candidate = not match or bool(in_bytes)
            if not is_candidate and not (rich and any(xml in item for xml in rich)):
                continue
            text = self[index]
            if text in missing:
                indexes[text] = index
                missing.remove(text)
                if not missing:
                    break
        return indexes
