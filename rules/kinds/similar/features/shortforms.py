"""Given names that are forms of one name: Bob and Robert."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Levels, Places
from rules.kinds.similar.features.graded import Filter, Finer, Grade
from rules.kinds.similar.sketches import Numbers
from rules.normalise.person import namesakes

_NONE = frozenset[str]()


def by_short_form(grade: Grade, may_differ_less: Filter, texts: Iterable[str], level: int) -> Finer | None:
    """Return a grade that gives forms of one name this level unless they are spelt more alike; None without any.

    `texts` are the distinct values of the column. Of several given names, the first one counts.
    """
    listed = namesakes()
    names = [listed.get(text.partition(" ")[0], _NONE) for text in texts]
    if not _repeat(names):
        return None
    has_forms = np.fromiter(map(bool, names), dtype=bool, count=len(names))

    def graded(encoded: Encoded, first: Places, second: Places) -> Levels:
        levels = grade(encoded, first, second)
        for pair in np.flatnonzero(has_forms[first] & has_forms[second] & (levels < level - 1)).tolist():
            if not names[first[pair]].isdisjoint(names[second[pair]]):
                levels[pair] = level
        return levels

    def passing(encoded: Encoded, first: Numbers, second: Numbers) -> NDArray[np.bool_]:
        passed: NDArray[np.bool_] = may_differ_less(encoded, first, second) | (has_forms[first] & has_forms[second])
        return passed

    return graded, passing


def _repeat(names: list[frozenset[str]]) -> bool:
    """Return True if two of them have a form in common."""
    return sum(map(len, names)) > len(_NONE.union(*names))
