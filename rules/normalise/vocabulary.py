"""Reads the lists of words in `data`: titles, legal forms, street words, short forms of given names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import TypeVar

_SHORT = 60
Section = tuple[tuple[str, tuple[str, ...]], ...]
"""Lines in order: the form before the colon, empty without one, and the words after it."""


@functools.cache
def sections(name: str) -> Mapping[str, Section]:
    """Return the sections of that list, by name; lines before the first section are in the section ``""``."""
    text = resources.files("rules.normalise").joinpath("data", f"{name}.txt").read_text("utf-8")
    lines: dict[str, list[tuple[str, tuple[str, ...]]]] = {"": []}
    section = ""
    for line in filter(None, (written.partition("#")[0].strip() for written in text.splitlines())):
        if line.startswith("["):
            section = line.strip("[]")
            lines[section] = []
            continue
        form, _, words = line.rpartition(":")
        separator = ";" if section == "phrases" else ","
        lines[section].append((form.strip(), tuple(word.strip() for word in words.split(separator))))
    return {section: tuple(entries) for section, entries in lines.items()}


def listed(name: str, section: str) -> frozenset[str]:
    """Return the words of a section."""
    return frozenset(word for _, words in sections(name)[section] for word in words)


def forms(name: str, section: str) -> Mapping[str, str]:
    """Return the form of each word of a section."""
    return {word: form for form, words in sections(name)[section] for word in words}


Result = TypeVar("Result")


def cached_if_short(function: Callable[[str], Result]) -> Callable[[str], Result]:
    """Remember the results for short texts only: a few thousand long ones would fill the memory."""
    cached = functools.lru_cache(maxsize=16_384)(function)

    @functools.wraps(function)
    def called(text: str) -> Result:
        return cached(text) if len(text) <= _SHORT else function(text)

    return called


class Phrases:
    """Replaces several words in a row by one."""

    def __init__(self, name: str, split: Callable[[str], list[str]]) -> None:
        self._by_start: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for form, phrases in sections(name)["phrases"]:
            for phrase in map(tuple, map(split, phrases)):
                if phrase != (form,):
                    self._by_start.setdefault(phrase[0], []).append((phrase, form))
        for entries in self._by_start.values():
            entries.sort(key=lambda entry: -len(entry[0]))

    def __contains__(self, word: str) -> bool:
        """Return True if a phrase starts with that word."""
        return word in self._by_start

    def replaced(self, words: list[str]) -> list[str]:
        """Return the words with each phrase as its form, the longest first."""
        return list(self._read(words)) if self.may_be_in(words) else words

    def may_be_in(self, words: Iterable[str]) -> bool:
        """Return True if a phrase starts with one of these words."""
        return not self._by_start.keys().isdisjoint(words)

    def _read(self, words: list[str]) -> Iterator[str]:
        place = 0
        while place < len(words):
            for phrase, form in self._by_start.get(words[place], ()):
                if tuple(words[place : place + len(phrase)]) == phrase:
                    yield form
                    place += len(phrase)
                    break
            else:
                yield words[place]
                place += 1
