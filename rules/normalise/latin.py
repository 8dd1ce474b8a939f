"""Transliteration of all scripts to plain Latin letters."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable

from rules.values.normal_forms import normalised, visible

_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_GREEK_PAIR = re.compile("ου|γγ|γχ|γξ|[αε]υ", re.IGNORECASE)
_VOICED = frozenset("αεηιουωβγδζλμνρ")
"""Before these letters αυ and ευ are av and ev; before others and at the end, af and ef."""


def latin(text: str) -> str:
    """Return the text in ASCII letters: `Юлия` is `Yuliya`, `Łódź` `Lodz`; signs and symbols stay.

    Letters follow the tables of anyascii, one by one; Greek pairs of letters follow ELOT 743. Chinese characters have
    their Mandarin reading, also in Japanese texts; Arabic and Hebrew have no vowels.
    """
    if text.isascii():
        return text
    composed = normalised("NFC", visible(text))
    if _GREEK.search(composed):
        composed = _without_greek_pairs(composed)
    result = composed.translate(_letters())
    return result if result.strip() else text


def _without_greek_pairs(text: str) -> str:
    bare = normalised("NFC", normalised("NFD", text).replace("\u0301", ""))
    return _GREEK_PAIR.sub(_greek_pair, bare)


def _greek_pair(match: re.Match[str]) -> str:
    pair = match[0].lower()
    if pair[0] == "γ":
        spelled = "n" + {"γ": "g", "χ": "ch", "ξ": "x"}[pair[1]]
    elif pair == "ου":
        spelled = "ou"
    else:
        following = match.string[match.end() : match.end() + 1].lower()
        spelled = ("a" if pair[0] == "α" else "e") + ("v" if following in _VOICED else "f")
    return spelled.upper() if match[0].isupper() else spelled.capitalize() if match[0][0].isupper() else spelled


class _Letters(dict[int, str]):
    """A table for `str.translate` that looks a character up when it first meets it."""

    def __init__(self, transliterated: Callable[[str], str]) -> None:
        super().__init__()
        self._transliterated = transliterated

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = self._spelled(character)
        return self[code]

    def _spelled(self, character: str) -> str:
        if unicodedata.category(character)[0] not in "LMN":
            return character
        spelled = self._transliterated(character)
        # A hard sign or an ayn is an apostrophe in Latin letters, which people leave out.
        return spelled if any(map(str.isalnum, spelled)) or not spelled else ""


@functools.cache
def _letters() -> _Letters:
    from anyascii import anyascii  # noqa: PLC0415 - only rules with `translit: latin` need it

    return _Letters(anyascii)
