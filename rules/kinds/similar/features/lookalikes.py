"""Characters that look alike to a scanner: 0 and O, 1 and l or I."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Levels, Places
from rules.kinds.similar.features.graded import Grading
from rules.kinds.similar.sketches import Numbers

_LIKE = str.maketrans("oil", "011")
_HOUSE, _ENTRANCE = re.compile(r"(?=.*[0-9])[0-9oil]+"), re.compile("[0-9]+[oil]")
_SHORTEST = 4
"""In shorter values, and in values without a digit, the characters are what they are."""


def look(text: str) -> str:
    """Return the text with characters that look like digits as digits, if it is long enough and has a digit."""
    return text.translate(_LIKE) if len(text) >= _SHORTEST and any(map(str.isdigit, text)) else text


def look_of_house(number: str) -> str:
    """Return the number of a house as digits, if it has a digit and only characters that look like one.

    One letter at the end, as in 12i, is that of an entrance.
    """
    return number.translate(_LIKE) if _HOUSE.fullmatch(number) and not _ENTRANCE.fullmatch(number) else number


def looks(values: Any, *, always: bool = False) -> Any | None:
    """Return the looks of distinct values; unless `always`, None if no two of them look alike."""
    text = pc.replace_substring_regex(pc.replace_substring(values, "o", "0"), "[il]", "1")
    codes = pc.and_(pc.greater_equal(pc.utf8_length(values), _SHORTEST), pc.match_substring_regex(values, "[0-9]"))
    text = pc.if_else(codes, text, values)
    return None if len(pc.unique(text)) == len(text) and not always else text


def by_look(grading: Grading, values: Any, level: int) -> Grading:
    """Return a grading that gives values that look alike this level, and others what the grading gives."""
    codes = Encoded.of(values).codes

    def graded(encoded: Encoded, first: Places, second: Places) -> Levels:
        levels = grading.grade(encoded, first, second)
        levels[codes[first] == codes[second]] = level
        return levels

    def may_differ_less(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
        possible: NDArray[np.bool_] = grading.may_differ_less(encoded, left, right) | (codes[left] == codes[right])
        return possible

    return Grading(graded, may_differ_less)
