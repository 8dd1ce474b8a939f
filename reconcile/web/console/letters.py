"""Mark the letters in which two texts differ. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from notifications.base import MASK

_LONGEST = 300
"""Longer texts are not compared letter by letter."""

Part = tuple[str, bool]
"""A part of a text, and True if the other text does not have it there."""


def marked(first: str, second: str) -> tuple[list[Part], list[Part]]:
    """Return the parts of both texts. Texts of which one is empty, masked or long are one part each, unmarked."""
    is_compared = first and second and MASK not in (first, second) and max(len(first), len(second)) <= _LONGEST
    if first == second or not is_compared:
        return [(first, False)], [(second, False)]
    steps = SequenceMatcher(None, first.lower(), second.lower(), autojunk=False).get_opcodes()
    if len(first.lower()) != len(first) or len(second.lower()) != len(second):
        steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return (
        list(_parts(first, [(begin, end, name != "equal") for name, begin, end, _, _ in steps])),
        list(_parts(second, [(begin, end, name != "equal") for name, _, _, begin, end in steps])),
    )


def _parts(text: str, spans: list[tuple[int, int, bool]]) -> Iterator[Part]:
    yield from ((text[begin:end], differs) for begin, end, differs in spans if end > begin)
