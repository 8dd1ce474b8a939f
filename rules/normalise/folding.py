"""Letters as names are compared by: small, without accents, in one width; signs become blanks."""

from __future__ import annotations

import unicodedata

from rules.normalise.text import unaccent
from rules.values.normal_forms import normalised, visible

_APOSTROPHES = frozenset("'`´‘’‛ʹʻʼʽˈ′＇")
_SIGNS = {"°": "o", "−": "-"}  # n° is nº


class Folding(dict[int, str | None]):
    """A table for `str.translate` that folds each character when it first meets it.

    Letters and numbers become small ones without accents, apostrophes nothing, and all other signs a blank, except
    the signs to keep.
    """

    def __init__(self, kept: str = "") -> None:
        super().__init__()
        self._kept = frozenset(kept)

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        folded = None if character in _APOSTROPHES else self._folded(character)
        self[code] = folded
        return folded

    def _folded(self, character: str) -> str | None:
        text = _SIGNS.get(character) or ("-" if unicodedata.category(character) == "Pd" else _small(character))
        if not text:
            return None
        return "".join(c if c in self._kept or unicodedata.category(c)[0] in "LMN" else " " for c in text)

    def fold(self, text: str) -> str:
        """Return the folded text."""
        folded = text.translate(self)
        return folded if folded.isascii() else normalised("NFC", folded)


def _small(character: str) -> str:
    """Return its small form, which folding changes no more."""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    text, before = visible(character), None
    while text != before:
        before, text = text, unaccent(normalised("NFKC", text).casefold())
    return text
