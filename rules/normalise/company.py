"""Names of companies in a form that does not depend on order, legal forms and punctuation. Python only."""

from __future__ import annotations

import functools
import re
from itertools import groupby

from rules.normalise.folding import Folding
from rules.normalise.normaliser import Normaliser, no_argument
from rules.normalise.vocabulary import Phrases, cached_if_short, forms, listed
from rules.values import Type

_FOLDING = Folding("./")
_INITIALS = re.compile(r"\b([^\W\d_])[./](?=[^\W\d_]\b)")
_SIGNS = str.maketrans("./", "  ")
_JOINED = re.compile("株式会社|有限会社|合同会社|股份有限公司|有限责任公司|有限公司|주식회사|\\(株\\)")
"""Legal forms that are written without a blank beside the name."""
_BETWEEN = frozenset(("y", "e", "i"))
"""The `and` of Spanish, Italian and Polish, between two words."""


class _Forms:
    """The words of companies."""

    def __init__(self) -> None:
        self.anywhere = listed("companies", "anywhere")
        self.end = listed("companies", "end")
        self.front = listed("companies", "front")
        self.words = forms("companies", "words")
        self.phrases = Phrases("companies", lambda phrase: _initials(phrase.split()))
        self.ranked = self.end | self.front


@functools.cache
def _forms() -> _Forms:
    return _Forms()


def company(text: str) -> str:
    """`The Müller Bros. & Co. Ltd` as `brothers muller`: sorted words without legal forms.

    A name of nothing but legal forms keeps one.
    """
    listed_forms = _forms()
    words = _words(text)
    words = _core(words, listed_forms)
    if not listed_forms.words.keys().isdisjoint(words):
        words = [listed_forms.words.get(word, word) for word in words]
    if not listed_forms.ranked.isdisjoint(words) or (1 in map(len, words) and any(map(_is_letter, words))):
        words = _sorted(words, listed_forms)
    else:
        words = sorted(words)
    name = " ".join(words)
    # Sorted words may be neighbours that are a legal form.
    return company(name) if name != text and listed_forms.phrases.may_be_in(words) else name


def has_legal_form(text: str) -> bool:
    """Return True if several words end in a legal form, as in `Müller Bros. Ltd`."""
    words = _words(text)
    return len(words) > 1 and words[-1] in _forms().anywhere | _forms().end


def _words(text: str) -> list[str]:
    if not text.isascii() and _JOINED.sub("", text).strip():
        text = _JOINED.sub(" ", text)
    text = _FOLDING.fold(text)
    words = text.split()
    if "." in text or "/" in text:
        words = [p for word in words for p in (_without_stops(word) if "." in word or "/" in word else (word,))]
    if 1 in map(len, words) and any(map(_is_letter, words)):
        return _with_letters_as_one(_forms().phrases.replaced(_initials(words)))
    return _forms().phrases.replaced(words)


@cached_if_short
def _without_stops(word: str) -> tuple[str, ...]:
    """Return the parts of a word without full stops and strokes: `s.p.a.` is `spa`, `f.lli` is `f` and `lli`."""
    return tuple(_INITIALS.sub(r"\1", word).translate(_SIGNS).split())


def _initials(words: list[str]) -> list[str]:
    """Return the words with neighbouring single letters as one word, and without the `y`, `e` and `i` for `and`."""
    last = len(words) - 1
    words = [
        word
        for place, word in enumerate(words)
        if word not in _BETWEEN or place in (0, last) or len(words[place - 1]) == 1 or len(words[place + 1]) == 1
    ]
    runs = [(is_letter, list(run)) for is_letter, run in groupby(words, _is_letter)]
    return [word for is_letter, run in runs for word in (["".join(run)] if is_letter else run)]


def _with_letters_as_one(words: list[str]) -> list[str]:
    """Return the words with all single letters as one word: sorted and read again, they would become neighbours."""
    letters = sorted(filter(_is_letter, words))
    if len(letters) < 2:
        return words
    place = next(place for place, word in enumerate(words) if _is_letter(word))
    words = [*words[:place], "".join(letters), *words[place:]]
    return [word for word in words if not _is_letter(word)]


def _is_letter(word: str) -> bool:
    return len(word) == 1 and word.isalpha()


def _core(words: list[str], listed_forms: _Forms) -> list[str]:
    """Return the words without legal forms; at least one word stays."""
    if not listed_forms.anywhere.isdisjoint(words):
        words = [word for word in words if word not in listed_forms.anywhere] or words
    if listed_forms.ranked.isdisjoint(words):
        return words
    first, last = 0, len(words)
    while last > 1 and words[last - 1] in listed_forms.end:
        last -= 1
    while first < last - 1 and words[first] in listed_forms.front:
        first += 1
    return words[first:last]


def _sorted(words: list[str], listed_forms: _Forms) -> list[str]:
    """Return the words sorted so that no legal form comes where it would be dropped: at the end or at the front."""
    is_plain = any(not _is_letter(word) and word not in listed_forms.end for word in words)

    def rank(word: str) -> int:
        if _is_letter(word):
            return 0 if is_plain else 2
        return 1 if word in listed_forms.end else 4 if word in listed_forms.front else 3

    return sorted(words, key=lambda word: (rank(word), word))


COMPANY = (
    Normaliser(
        "company",
        lambda value, _argument, _timezone: company(value),
        {Type.TEXT: Type.TEXT},
        no_argument,
        words="as a company's name: words in any order, without legal forms, accents and punctuation",
    ),
)
