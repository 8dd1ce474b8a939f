"""Unicode's normal forms in time that grows with the text, not with its square.

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
