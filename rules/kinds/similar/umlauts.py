"""Umlauts spelled out: Mueller is Müller where the records have both; Joel and Samuel stay as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.compute as pc

from rules.normalise.text import unaccent

_SPELLED_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_TABLE = str.maketrans(_SPELLED_OUT)
_MARKED = f"[{''.join(_SPELLED_OUT)}]"
_WORD = re.compile(r"[^\W\d_]+")


def spelled_out(column: Any, read: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield each word of a column of texts that has an umlaut: with it spelled out, and with the bare letter.

    Only of such words it is known that they can be spelled out. `read` normalises words, perhaps to several.
    """
    if pc.all(pc.string_is_ascii(column)).as_py() in {True, None}:
        return
    texts = pc.utf8_lower(pc.utf8_normalize(pc.unique(column), form="NFC"))
    marked = texts.filter(pc.match_substring_regex(texts, _MARKED))
    words = {word for text in marked.to_pylist() for word in _WORD.findall(text) if re.search(_MARKED, word)}
    for word in sorted(words):
        spelled, bare = read(unaccent(word.translate(_TABLE))).split(), read(unaccent(word)).split()
        if len(spelled) == len(bare):
            yield from ((ours, theirs) for ours, theirs in zip(spelled, bare, strict=True) if ours != theirs)
