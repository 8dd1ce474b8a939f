"""Addresses in a form that does not depend on order, abbreviations and punctuation. Python only."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator

from rules.normalise.folding import Folding
from rules.normalise.normaliser import Normaliser, no_argument
from rules.normalise.vocabulary import Phrases, cached_if_short, forms, listed, sections
from rules.values import Type

_FOLDING = Folding(".-/,#")
_INITIALS = re.compile(r"\b([^\W\d_])\.(?=[^\W\d_]\b)")
_DASH, _SLASH = "\1", "\2"
_RANGE = re.compile(r"(?:(?<=\d)|(?<=\d[a-z])) ?- ?(?=\d)")
_PARTS = re.compile(r"(?:(?<=\d)|(?<=\d[a-z]))/(?=\d)")
_SIGNS = str.maketrans(
    {".": " ", "-": " ", "/": " ", ",": " , ", "#": " unit ", _DASH: "-", _SLASH: "/"},
)
_STREET = re.compile(r"\bc/ *(?=[^\W\d_]{2})")  # the Spanish c/
_SHORT_STREETS = {"r. ": "rue ", "v. ": "via "}
_DIRECTIONS = frozenset("nsew")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_POSTCODE = re.compile(r"([a-z]{1,2}\d[a-z\d]?)(\d[a-z]{2})|([a-z]\d[a-z])(\d[a-z]\d)|(\d{4})(?!st|nd|rd|th)([a-z]{2})")
"""British, Canadian and Dutch postcodes, which are also written with a blank."""
_UNIT = ("unit",)
_SHORTEST_STEM = 3
_SUITE_OR_SAINT = "ste"


class _Words:
    """The words of addresses."""

    def __init__(self) -> None:
        ordinals = (word for _, line in sections("addresses")["ordinals"] for word in line)
        self.forms = {word: form for part in ("words", "directions") for word, form in forms("addresses", part).items()}
        self.forms |= {word: f"{place}th" for place, word in enumerate(ordinals, 1)}
        self.dropped = listed("addresses", "dropped")
        self.units = listed("addresses", "units") | {_SUITE_OR_SAINT}
        self.endings = tuple(sorted(listed("addresses", "endings"), key=len, reverse=True))
        self.phrases = Phrases("addresses", str.split)

    def is_plain(self, word: str) -> bool:
        """Return False for a word that is dropped, the word of a unit, or the start of a phrase."""
        return word not in self.dropped and word not in self.units and word not in self.phrases


@functools.cache
def _listed() -> _Words:
    return _Words()


def address(text: str) -> str:
    """`Apt. 4, 12-B Main Street` as `main st unit4 12b`: each word once, sorted, and numbers after them.

    Street words have one form. An address of nothing but words that are dropped keeps them.
    """
    text = _FOLDING.fold(text)
    written, read = text.split(), set[str]()
    words = iter(written)
    for word in words:
        number = word.rstrip(",")
        if number.isdigit():
            read.add(number)
            continue
        parts = _alone(word)
        if parts is _UNIT and (number := next(words, "").rstrip(",")).isdigit():
            read.add(f"unit{number}")
        elif parts is None or parts is _UNIT or (word[0] in _DIRECTIONS and word is written[-1] and len(word) < 3):
            return _in_context(text, written)
        else:
            read.update(parts)
    return _sorted(read or set(_split(text)) - {","})


def _sorted(words: set[str]) -> str:
    in_order = sorted(words)
    numbers = bisect.bisect(in_order, ":")  # the sign after 9
    return " ".join(in_order[numbers:] + in_order[:numbers])


@cached_if_short
def _alone(word: str) -> tuple[str, ...] | None:
    """Return the forms of a word with its signs, or _UNIT; None if they depend on the words beside it."""
    vocabulary, parts = _listed(), _split(word)
    if len(parts) == 1 and parts[0] in vocabulary.units:
        return _UNIT
    if len(parts) == 1 and parts[0] in _DIRECTIONS:
        return (_form(parts[0]),)
    if len(parts) == 1 and parts[0] in vocabulary.dropped:
        return ()
    is_joined = word[0] in "-/" or word[-1] in "-/" or any(map(_is_letter, parts))
    if is_joined or not all(map(vocabulary.is_plain, parts)):
        return None
    return tuple(form for part in parts if part != "," for form in _form(part).split())


def _in_context(text: str, written: list[str]) -> str:
    """Return the address of a folded text, of which `written` are the words with their signs."""
    if text[:3] in _SHORT_STREETS or "-" in text or "/" in text:
        words = _split(_SHORT_STREETS.get(text[:3], text[:3]) + text[3:])
    else:
        words = [part for word in written for part in _parts(word)]
    if any(map(_is_letter, words)):
        words = _with_letters(words)
    phrases = _listed().phrases
    words = phrases.replaced([word for word in words if word != ","])
    read = {part for word in _with_units(words) for part in word.split()} or set(words)
    result = _sorted(read)
    # Sorted words may be neighbours that are a phrase.
    return address(result) if result != text and phrases.may_be_in(read) else result


@cached_if_short
def _parts(word: str) -> tuple[str, ...]:
    return tuple(_split(word))


def _is_letter(word: str) -> bool:
    return len(word) == 1 and word.isalpha()


def _split(text: str) -> list[str]:
    """Return the words, without signs but commas, and those between numbers: 12-14, 3/45."""
    if "." in text:
        text = _INITIALS.sub(r"\1", text)
    if "/" in text:
        text = _PARTS.sub(_SLASH, _STREET.sub("calle ", text))
    if "-" in text:
        text = _RANGE.sub(_DASH, text)
    return text.translate(_SIGNS).split()


def _with_letters(words: list[str]) -> list[str]:
    """Return the words with house numbers and their letter as one; n, e, s and w before a word are directions."""
    joined: list[str] = []
    for word, following in zip(words, [*words[1:], ","], strict=True):
        is_of_number = _is_letter(word) and (word not in _DIRECTIONS or following == ",")
        if is_of_number and joined and joined[-1].isdigit():
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _with_units(words: list[str]) -> Iterator[str]:
    """Yield the forms of the words; a unit has its number in the same word, and is dropped without one."""
    vocabulary = _listed()
    if not vocabulary.dropped.isdisjoint(words):
        words = [word for word in words if word not in vocabulary.dropped]
    if vocabulary.units.isdisjoint(words):
        yield from map(_form, words)
        return
    place = 0
    while place < len(words):
        word, following = words[place], "".join(words[place + 1 : place + 2])
        place += 1
        if word not in vocabulary.units:
            yield _form(word)
        elif _is_number(following) and (word != _SUITE_OR_SAINT or following[0].isdigit()):
            yield f"unit{following}"
            place += 1
        elif word == _SUITE_OR_SAINT:
            yield _form(word)


def _is_number(word: str) -> bool:
    return len(word) == 1 or any(map(str.isdigit, word))


@cached_if_short
def _form(word: str) -> str:
    """Return the form of a word, which may be several words."""
    vocabulary = _listed()
    form = vocabulary.forms.get(word)
    if form is not None:
        return form
    if ordinal := _ORDINAL.fullmatch(word):
        return f"{ordinal[1]}th"
    if (postcode := _POSTCODE.fullmatch(word)) and vocabulary.is_plain(parts := postcode[postcode.lastindex or 0]):
        start = word[: -len(parts)]
        return f"{start} {_form(parts)}"
    if word.endswith(vocabulary.endings):
        ending = next(ending for ending in vocabulary.endings if word.endswith(ending))
        stem = word.removesuffix(ending)
        if len(stem) >= _SHORTEST_STEM and stem.isalpha() and vocabulary.is_plain(stem):
            return f"{_form(stem)} {_form(ending)}"
    return word


ADDRESS = (
    Normaliser(
        "address",
        lambda value, _argument, _timezone: address(value),
        {Type.TEXT: Type.TEXT},
        no_argument,
        words="as an address: words in any order, with street words in one form, without accents and punctuation",
    ),
)
