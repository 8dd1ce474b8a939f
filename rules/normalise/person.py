"""Names of people in a form that does not depend on order, titles and punctuation. Python only."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from rules.normalise.folding import Folding
from rules.normalise.normaliser import Normaliser, no_argument
from rules.normalise.vocabulary import cached_if_short, listed, sections
from rules.values import Type

_TEXT = {Type.TEXT: Type.TEXT}
_FOLDING = Folding(".")
_DEGREE = "\0"
"""Ends a degree of single letters: M.D. is `md` with it."""


class _Titles:
    """The words that `name` drops."""

    def __init__(self) -> None:
        self.titles = listed("names", "titles") | listed("names", "generations")
        self.after_names = listed("names", "after names")
        degrees = sorted(listed("names", "dotted"), reverse=True)
        letters = [degree for degree in degrees if all(len(part) == 1 for part in degree.split("."))]
        fields = sorted(listed("names", "fields"), reverse=True)
        self.degrees = frozenset(degree.replace(".", "") + _DEGREE for degree in letters)
        self.longer = _any_of(degree for degree in degrees if degree not in letters)
        self.letters = re.compile(_any_of(letters).pattern + r"(?!\.[^ .])")
        self.doctor = re.compile(rf"(?<![^ .])dr\.?(?:[ .]*{_any_of(fields).pattern}\.)+")
        self.starts = {degree.partition(" ")[0] for degree in degrees if " " in degree}
        self.starts |= {f"{field}." for field in fields}


def _any_of(dotted: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for texts with full stops, after which a blank means any number of them."""
    texts = "|".join(text.replace(".", r"\.").replace(" ", " *") for text in dotted)
    return re.compile(rf"(?<![^ .])(?:{texts})(?![^ .])")


@functools.cache
def _titles() -> _Titles:
    return _Titles()


def name(text: str) -> str:
    """`Dr. Lee, Ann-Marie` as `ann lee marie`: sorted words without titles; a name of nothing else keeps them."""
    return " ".join(sorted(_words(text)))


def _words(text: str) -> list[str]:
    titles, text = _titles(), _FOLDING.fold(text)
    words = text.split()
    if "." in text:
        plain = [_without_stop(word) for word in words]
        words = [word for word in plain if word] if None not in plain else _without_degrees(text, titles)
    return _without_titles(words, titles)


def _without_titles(words: list[str], titles: _Titles) -> list[str]:
    if not titles.titles.isdisjoint(words):
        words = [word for word in words if word not in titles.titles] or words
    if not titles.after_names.isdisjoint(words):
        kept = [word for word in words if word not in titles.after_names]
        words = kept if _is_full(kept) else words
    return words


@cached_if_short
def _without_stop(word: str) -> str | None:
    """Return the word without the full stop at its end; None if it may belong to a degree."""
    bare = word.rstrip(".")
    return None if "." in bare or word in _titles().starts else bare


def _without_degrees(text: str, titles: _Titles) -> list[str]:
    text = titles.doctor.sub("dr ", text)
    text = titles.longer.sub(lambda match: match[0].replace(".", "").replace(" ", ""), text)
    text = titles.letters.sub(lambda match: match[0].replace(".", "") + _DEGREE, text)
    words = text.replace(".", " ").split()
    if titles.degrees.isdisjoint(words):
        return words
    kept = [word for word in words if word not in titles.degrees]
    return (
        kept
        if _is_full(kept)
        else [part for word in words for part in (word[:-1] if word in titles.degrees else [word])]
    )


def _is_full(words: list[str]) -> bool:
    return sum(len(word) > 1 for word in words) > 1


@functools.cache
def nicknames() -> Mapping[str, str]:
    """Return the given name of each short form and spelling that belongs to a single one."""
    givens: dict[str, set[str]] = {}
    lines = [(form, words) for lines in sections("nicknames").values() for form, words in lines]
    for form, words in lines:
        for word in words:
            givens.setdefault(word, set()).add(form)
    names = {form for form, _ in lines}
    return {word: next(iter(given)) for word, given in givens.items() if len(given) == 1 and word not in names}


@functools.cache
def namesakes() -> Mapping[str, frozenset[str]]:
    """Return the given names that each name can stand for: Alex for Alexander and Alexandra, Robert for itself."""
    givens: dict[str, set[str]] = {}
    for form, words in (line for lines in sections("nicknames").values() for line in lines):
        for word in (form, *words):
            givens.setdefault(word, set()).add(form)
    return {word: frozenset(forms) for word, forms in givens.items()}


def nickname(text: str) -> str:
    """As `name`, with short forms of given names written out: `Bob Lee` as `lee robert`; Alex and Sam stay."""
    given = nicknames()
    words = [given.get(word, word) for word in _words(text)]
    return " ".join(sorted(_without_titles(words, _titles())))  # Don is a title or Donald


PERSON = (
    Normaliser(
        "name",
        lambda value, _argument, _timezone: name(value),
        _TEXT,
        no_argument,
        words="as a person's name: words in any order, without titles, accents and punctuation",
    ),
    Normaliser(
        "nickname",
        lambda value, _argument, _timezone: nickname(value),
        _TEXT,
        no_argument,
        words="as a person's name in any order, with short forms as given names (Bob is Robert)",
    ),
)
