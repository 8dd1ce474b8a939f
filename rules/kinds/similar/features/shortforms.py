"""Given names that are forms of one name: Bob and Robert."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Levels, Places, Texts
from rules.kinds.similar.features.graded import Grading
from rules.kinds.similar.sketches import Numbers
from rules.normalise.person import namesakes

_NONE = frozenset[str]()


def by_short_form(grading: Grading, texts: Texts, level: int, *, always: bool = False) -> Grading | None:
    """Return a grading that gives forms of one name this level unless they are spelt more alike.

    `texts` are the distinct values of the column. Unless `always`, it is None if they have no two forms of one name.
    Of several given names, the first one counts.
    """
    listed = namesakes()
    names = [listed.get(text.partition(" ")[0], _NONE) for text in texts]
    if not (always or _repeat(names)):
        return None
    has_forms = np.fromiter(map(bool, names), dtype=bool, count=len(names))

    def graded(encoded: Encoded, first: Places, second: Places) -> Levels:
        levels = grading.grade(encoded, first, second)
        for pair in np.flatnonzero(has_forms[first] & has_forms[second] & (levels < level - 1)).tolist():
            if not names[first[pair]].isdisjoint(names[second[pair]]):
                levels[pair] = level
        return levels

    def may_differ_less(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
        possible: NDArray[np.bool_] = has_forms[left] & has_forms[right]
        return possible | grading.may_differ_less(encoded, left, right)

    return Grading(graded, may_differ_less)


def _repeat(names: list[frozenset[str]]) -> bool:
    """Return True if two of them have a form in common."""
    return sum(map(len, names)) > len(_NONE.union(*names))
