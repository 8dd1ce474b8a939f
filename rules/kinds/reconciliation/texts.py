"""Values that occur in texts as whole words: `INV-1001` in "Invoice INV-1001, thanks", not in "INV-10012".

A word is a run of letters, their marks and numbers. Every run of words of a text is looked up among the values, so the
time depends on the length of the texts, not on the number of values.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from rules.normalise.text import docno, squeeze

_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_WORD = re.compile("[^ ]+")
_JOINING = frozenset(".,/:'\N{RIGHT SINGLE QUOTATION MARK}\N{MINUS SIGN}")
"""Characters that join two numbers to one, besides hyphens and dashes."""
_BEGINNING = 8
"""Characters by which runs of words are recognised as the beginning of no value."""


class _Characters(dict[int, int]):
    """Characters of words as they are, any other as a blank."""

    def __missing__(self, character: int) -> int:
        self[character] = character if unicodedata.category(chr(character))[0] in "LMN" else ord(" ")
        return self[character]


_CHARACTERS = _Characters()


Words = list[tuple[int, int]]
"""Where each word of a text begins and ends."""


def _words(text: str) -> Words:
    if text.isascii():
        return [match.span() for match in _ASCII_WORD.finditer(text)]
    return [match.span() for match in _WORD.finditer(text.translate(_CHARACTERS))]


def _joined(text: str, words: Words) -> set[int]:
    """Return the words that are one number with the next one, like 12-3, by where they end."""
    near = [end for (_, end), (begin, _) in pairwise(words) if begin == end + 1 and text[end] != " "]
    return {end for end in near if _joins(text[end]) and _is_number(text[end - 1]) and _is_number(text[end + 1])}


def _joins(character: str) -> bool:
    return character in _JOINING or unicodedata.category(character) == "Pd"


def _is_number(character: str) -> bool:
    return unicodedata.category(character)[0] == "N"


@lru_cache(maxsize=65_536)
def _numbered(word: str) -> tuple[str, bool, bool]:
    """Return a word as `docno` writes it, and whether it begins and ends with a number, marks left out."""
    bare = [character for character in word.upper() if unicodedata.category(character)[0] != "M"]
    return docno(word), bool(bare) and _is_number(bare[0]), bool(bare) and _is_number(bare[-1])


def _as_written(text: str, words: Words, first: int) -> Iterator[str]:
    """Yield the runs of words from that one, each longer than the one before, as they are written."""
    begin = words[first][0]
    for place in range(first, len(words)):
        yield text[begin : words[place][1]]


def _as_alnum(text: str, words: Words, first: int) -> Iterator[str]:
    """Yield the same runs as `alnum` writes them."""
    run = ""
    for place in range(first, len(words)):
        run += text[slice(*words[place])]
        yield run


def _as_docno(text: str, words: Words, first: int) -> Iterator[str]:
    """Yield the same runs as `docno` writes them: two words are apart only if both are numbers."""
    run, after_number = "", False
    for place in range(first, len(words)):
        form, begins, ends = _numbered(text[slice(*words[place])])
        run += f"-{form}" if after_number and begins else form
        after_number = ends
        yield run


_RUNS: Mapping[str | None, Callable[[str, Words, int], Iterator[str]]] = {
    None: _as_written,
    "alnum": _as_alnum,
    "docno": _as_docno,
}


def core(value: str) -> str | None:
    """Return a value from its first to its last letter or number, as texts are searched for it; None if it has none."""
    cleaned = squeeze(value)
    words = _words(cleaned)
    return cleaned[words[0][0] : words[-1][1]] if words else None


def size(value: str) -> int:
    """Return the number of letters and numbers of a value."""
    return sum(unicodedata.category(character)[0] in "LN" for character in value)


class Finder:
    """Finds values in texts. `by_words` is a normaliser of each run of words: None, `alnum` or `docno`."""

    def __init__(self, cores: Iterable[str], by_words: str | None = None) -> None:
        self._cores = frozenset(cores)
        self._runs = _RUNS[by_words]
        self._longest = max(map(len, self._cores), default=0)
        self._beginnings = frozenset(each[:end] for each in self._cores for end in range(1, _BEGINNING + 1))

    def find(self, text: str) -> Iterator[str]:
        """Yield the values that occur in the text, each as often as it does."""
        cleaned = squeeze(text)
        words = _words(cleaned)
        joined = _joined(cleaned, words)
        for first, (begin, _) in enumerate(words):
            if begin - 1 in joined:
                continue
            for place, run in enumerate(self._runs(cleaned, words, first), first):
                if run[:_BEGINNING] not in self._beginnings or len(run) > self._longest:
                    break
                if run in self._cores and words[place][1] not in joined:
                    yield run
