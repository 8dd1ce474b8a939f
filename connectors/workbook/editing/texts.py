"""Texts of cells as the format writes them: escapes of characters, blanks at the ends, runs with formats."""

from __future__ import annotations

import re
from dataclasses import dataclass

from connectors.workbook.editing.markup import Element, escaped
from connectors.workbook.editing.refusals import NotEditable

MOST_CHARACTERS = 32_767
"""Excel's limit of a cell, in units of UTF-16."""
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")
_SURROGATE = re.compile("[dD][89a-fA-F]..")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_BLANK_ENDS = re.compile(r"\A\s|\s\Z|\n")
_RICH = frozenset({"r", "rPh", "phoneticPr"})


@dataclass(frozen=True)
class SharedText:
    """A text of a cell as people see it; `rich` is its XML if it has formats or phonetic characters, else empty."""

    text: str
    rich: str = ""


def shown(written: str) -> str:
    """The text of XML content: _x000D_ means a character, _x005F_ an underscore before such a sign."""
    if "_x" not in written:
        return written
    return _ESCAPE.sub(lambda m: m[0] if _SURROGATE.fullmatch(m[1]) else chr(int(m[1], 16)), written)


def text_element(text: str, prefix: bytes) -> bytes:
    """The element `t` of a text, the inverse of `shown`. Raises NotEditable for a text that no cell can hold."""
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > MOST_CHARACTERS:
        raise NotEditable(f"the text is longer than the {MOST_CHARACTERS:,} characters of a cell")
    written = _ESCAPE.sub(lambda m: f"_x005F{m[0]}", text)
    written = _CONTROL.sub(lambda m: f"_x{ord(m[0]):04X}_", written)
    space = b' xml:space="preserve"' if _BLANK_ENDS.search(written) else b""
    return b"<" + prefix + b"t" + space + b">" + escaped(written) + b"</" + prefix + b"t>"


def shared_text(item: Element, source: bytes) -> SharedText:
    """The text of an element `si` or `is`, parsed from the source without namespaces."""
    texts, is_rich = [], False
    for child in item.children:
        local = child.name.rpartition(":")[2]
        is_rich |= local in _RICH
        if local == "t":
            texts.append(child.text)
        elif local == "r":
            texts += [part.text for part in child.children if part.name.rpartition(":")[2] == "t"]
    text = shown("".join(texts))
    return SharedText(text, source[item.inside : item.outside].decode() if is_rich else "")
