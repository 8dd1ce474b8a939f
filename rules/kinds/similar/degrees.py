"""The degrees of agreement of each type, by the names under which a rule says which of them count."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rules.kinds.similar.types import WORDED, SemanticType

SAME = "same"
SWAPPED = "swapped"
_CODE = (SAME, "look", "typo")
_WORDS = (SAME, "nearly", "most", "half", "some", "little")
_STEPS = ("0.05%", "0.5%", "1.5%", "3%", "6%", "12%", "25%", "50%")
_DAYS, _WEEK, _MONTH = "days", "week", "near"

DEGREES: Mapping[SemanticType, tuple[str, ...]] = {
    SemanticType.GIVEN_NAME: (SAME, "typo", "short form", SWAPPED, "initial", "alike"),
    SemanticType.SURNAME: (SAME, "typo", SWAPPED, "initial", "alike"),
    SemanticType.CITY: (SAME, "typo", "alike"),
    SemanticType.PHONE: (SAME, "local", "typo"),
    SemanticType.POSTCODE: (*_CODE, "near"),
    SemanticType.EMAIL: (SAME, "local", "typo", "alike", "number"),
    SemanticType.EXACT: _CODE,
    SemanticType.NUMBER: _CODE,
    SemanticType.DATE: (SAME, SWAPPED, "typo", "two", _DAYS, _WEEK, _MONTH, "year"),
    SemanticType.AMOUNT: (SAME, *_STEPS),
    **dict.fromkeys(sorted(WORDED), _WORDS),
}
"""The closest first. Values without any of them are different."""


def counts(level: str, chosen: Collection[str]) -> bool:
    """Return True if a level of a model is an agreement for a rule that chose these degrees.

    The same value always is. A degree that is a distance includes what is closer.
    """
    return not chosen or not _covered_by(level).isdisjoint({SAME, *chosen})


def _covered_by(level: str) -> set[str]:
    """Return the degrees that include a level."""
    name = level.partition(",")[0]
    side, _, step = name.partition(" ")
    if side in {"higher", "lower"}:
        return set(_STEPS[_STEPS.index(f"{100 * float(step):g}%") :])
    if name[0] in "+-":
        return {_DAYS, _WEEK, _MONTH}
    return {"shared": {SAME}, "elsewhere": {SWAPPED}, _WEEK: {_WEEK, _MONTH}}.get(name, {name})
