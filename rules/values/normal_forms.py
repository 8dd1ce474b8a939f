"""Unicode's normal forms in time that grows with the text, not with its square, and characters that show nothing.

The library sorts the marks of a letter by insertion. A text of nothing but marks takes it minutes, in which no other
thread runs. Here the marks are sorted before; the result is the same.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_SHORT = 300
"""Texts up to this length are left to the library: their square is small."""
_MARKS = re.compile(rb"[^\x00]{2,}")
"""Neighbours whose combining class is not 0."""


INVISIBLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""First and last code points of Unicode's property Default_Ignorable_Code_Point: characters that programs do not show.

Zero-width blanks and joiners, soft hyphens, byte-order marks, marks of direction, variation selectors, fillers.
"""
_INVISIBLE = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in INVISIBLE) + "]+")


def visible(text: str) -> str:
    """Return the text without the characters that show nothing."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def normalised(form: Form, text: str) -> str:
    """Return the text in a normal form, as `unicodedata.normalize` does."""
    if len(text) <= _SHORT or text.isascii():
        return unicodedata.normalize(form, text)
    decomposition: Form = "NFKD" if "K" in form else "NFD"
    parts = "".join(_decomposed(decomposition, character) for character in text)
    classes = bytes(map(unicodedata.combining, parts))
    pieces, end = [], 0
    for run in _MARKS.finditer(classes):
        pieces += [parts[end : run.start()], *sorted(parts[run.start() : run.end()], key=unicodedata.combining)]
        end = run.end()
    return unicodedata.normalize(form, "".join([*pieces, parts[end:]]))


@functools.lru_cache(maxsize=4096)
def _decomposed(form: Form, character: str) -> str:
    return unicodedata.normalize(form, character)
