"""Umlauts spelled out: Mueller is Müller where a column has both; Joel and Samuel stay as they are."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rules.normalise.text import unaccent

_SPELLED_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_TABLE = str.maketrans(_SPELLED_OUT)
_MARKED = f"[{''.join(_SPELLED_OUT)}]"
_WORD = re.compile(r"[^\W\d_]+")


def united(column: Any) -> Any:
    """Return the texts of a column with each word that spells an umlaut out as the same word without umlaut.

    Only words that the column also has with an umlaut are such: nothing else tells Mueller from Samuel.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    texts = pc.utf8_lower(pc.utf8_normalize(encoded.dictionary, form="NFC"))
    marked = texts.filter(pc.match_substring_regex(texts, _MARKED))
    plain = {
        unaccent(word.translate(_TABLE)): unaccent(word)
        for text in marked.to_pylist()
        for word in _WORD.findall(text)
        if re.search(_MARKED, word)
    }
    chosen = pc.match_substring_regex(texts, "|".join(sorted(set(_SPELLED_OUT.values()))))
    if not plain or not pc.any(chosen).as_py():
        return column

    def without_umlaut(match: re.Match[str]) -> str:
        return plain.get(unaccent(match[0]), match[0])

    replaced = [_WORD.sub(without_umlaut, text) for text in texts.filter(chosen).to_pylist()]
    return pc.replace_with_mask(texts, chosen, pa.array(replaced, pa.string())).take(encoded.indices)
