"""Characters that look alike to a scanner: 0 and O, 1 and l or I."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Levels, Places
from rules.kinds.similar.features.graded import Filter, Finer, Grade
from rules.kinds.similar.sketches import Numbers

_LIKE = str.maketrans("oil", "011")
_SHORTEST = 4
"""In shorter values, and in values without a digit, the characters are what they are."""


def look(text: str) -> str:
    """Return the text with characters that look like digits as digits, if it is long enough and has a digit."""
    return text.translate(_LIKE) if len(text) >= _SHORTEST and any(map(str.isdigit, text)) else text


def looks(values: Any) -> Any | None:
    """Return the looks of distinct values, or None if no two of them look alike."""
    text = pc.replace_substring_regex(pc.replace_substring(values, "o", "0"), "[il]", "1")
    codes = pc.and_(pc.greater_equal(pc.utf8_length(values), _SHORTEST), pc.match_substring_regex(values, "[0-9]"))
    text = pc.if_else(codes, text, values)
    return None if len(pc.unique(text)) == len(text) else text


def by_look(grade: Grade, may_differ_less: Filter, values: Any, level: int) -> Finer:
    """Return a grade that gives values that look alike this level, and others what the grade gives, with its filter."""
    codes = Encoded.of(values).codes

    def graded(encoded: Encoded, first: Places, second: Places) -> Levels:
        levels = grade(encoded, first, second)
        levels[codes[first] == codes[second]] = level
        return levels

    def passing(encoded: Encoded, first: Numbers, second: Numbers) -> NDArray[np.bool_]:
        passed: NDArray[np.bool_] = may_differ_less(encoded, first, second) | (codes[first] == codes[second])
        return passed

    return graded, passing
