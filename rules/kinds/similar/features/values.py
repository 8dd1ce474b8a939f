"""Columns compared as one value: names, e-mail addresses, phones, postcodes, cities, codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Floats, Levels, Places
from rules.kinds.similar.features import glimpses, graded, lookalikes, shortforms
from rules.kinds.similar.features.base import DIFFERENT, MISSING_LEVEL, Level
from rules.kinds.similar.features.cells import Cells
from rules.kinds.similar.features.graded import UNLIKE, Grading, Texts
from rules.kinds.similar.types import SemanticType

ELSEWHERE, SWAPPED, AGREES = 4, 5, 5
"""Levels of names; from `AGREES` on, two names are taken for the same."""
_LOCAL_NUMBER = 7
"""So many last digits of a phone number tell it without prefixes."""


@dataclass(frozen=True)
class ValueFeature:
    """A column whose cells are compared as a whole; `grading` gives the level of two unequal values."""

    name: str
    column: int
    encoded: Encoded
    levels: tuple[Level, ...]
    grading: Grading

    @property
    def same(self) -> int:
        return next(number for number, level in enumerate(self.levels) if level.name == "same")

    @property
    def is_finer(self) -> bool:
        """Return True if it has a level that only some columns need."""
        return not _FINER.isdisjoint(self.levels)

    def compare(self, first: Places, second: Places) -> Levels:
        return graded.by_values(self.encoded, first, second, self.same, self.grading)

    def compare_unequal(self, first: Places, second: Places) -> Levels:
        """Return the levels of pairs that have two unequal values."""
        left, right = self.encoded.codes[first], self.encoded.codes[second]
        return graded.by_unequal_values(self.encoded, left, right, self.grading)

    def rarity(self, first: Places, second: Places, levels: Levels) -> Floats:  # noqa: ARG002
        bits = np.zeros(len(first), dtype=np.float32)
        agreeing = np.flatnonzero(levels == self.same)
        bits[agreeing] = self.encoded.rarity(first[agreeing])
        return bits


def _lengths(texts: Texts) -> NDArray[np.int64]:
    return np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def _name(encoded: Encoded, first: Places, second: Places) -> Levels:
    """Grade names: 2 alike, 3 an initial or the beginning, 6 a typo."""
    left, right = encoded.texts[first], encoded.texts[second]
    typos = graded.edits(left, right, 2)
    alike = graded.likeness(left, right)
    shorter = np.minimum(_lengths(left), _lengths(right))
    levels = np.where(alike >= 0.86, 2, DIFFERENT).astype(np.int8)
    levels[graded.beginnings(left, right) >= shorter] = 3
    levels[(typos <= 1) & (shorter >= 3) | (typos <= 2) & (shorter >= 8)] = 6
    return levels


def _city(encoded: Encoded, first: Places, second: Places) -> Levels:
    left, right = encoded.texts[first], encoded.texts[second]
    typos = graded.edits(left, right, 2)
    alike = graded.likeness(left, right)
    shorter = np.minimum(_lengths(left), _lengths(right))
    levels = np.where(alike >= 0.88, 2, DIFFERENT).astype(np.int8)
    levels[(typos <= 1) & (shorter >= 4) | (typos <= 2) & (shorter >= 8)] = 3
    return levels


def _phone(encoded: Encoded, first: Places, second: Places) -> Levels:
    """Grade phones: 2 the same area or last four digits, 3 one digit, 4 the same without prefixes."""
    left, right = encoded.texts[first], encoded.texts[second]
    typos = graded.edits(left, right, 1)
    ends = graded.endings(left, right) >= _LOCAL_NUMBER
    levels = np.full(len(left), DIFFERENT, dtype=np.int8)
    levels[typos <= 1] = 2
    levels[ends] = 3
    return levels


def _postcode(encoded: Encoded, first: Places, second: Places) -> Levels:
    left, right = encoded.texts[first], encoded.texts[second]
    typos = graded.edits(left, right, 1)
    longer = np.maximum(_lengths(left), _lengths(right))
    near = graded.beginnings(left, right) >= np.maximum(3, longer - 3)
    levels = np.where(near, 2, DIFFERENT).astype(np.int8)
    levels[typos <= 1] = 3
    return levels


def _email(encoded: Encoded, first: Places, second: Places) -> Levels:
    """Grade addresses: 2 another number before the @, 3 alike, 4 a typo, 5 the same before the @."""
    left, right = encoded.texts[first], encoded.texts[second]
    typos = graded.edits(left, right, 2)
    local = encoded.before_at
    same = local.codes[first] == local.codes[second]
    alike = graded.likeness(local.texts[local.codes[first]], local.texts[local.codes[second]])
    levels = np.where(alike >= 0.9, 3, DIFFERENT).astype(np.int8)
    levels[typos <= 1] = 4
    close = np.flatnonzero((levels > DIFFERENT) & ~same)
    bare = (_without_digits(local.values.take(pa.array(local.codes[places[close]]))) for places in (first, second))
    levels[close[np.asarray(pc.equal(*bare), dtype=bool)]] = 2
    levels[same] = 5
    return levels


def _without_digits(texts: Any) -> Any:
    return pc.replace_substring_regex(texts.cast(pa.string()), "[0-9]+", "")


def _code(encoded: Encoded, first: Places, second: Places) -> Levels:
    """Grade codes: 2 a typo in a value of five characters or more."""
    left, right = encoded.texts[first], encoded.texts[second]
    typos = graded.edits(left, right, 1)
    long = np.minimum(_lengths(left), _lengths(right)) >= 5
    return np.where((typos <= 1) & long, 2, DIFFERENT).astype(np.int8)


_DIFFERS, _SAME = "differs", "is the same"
_NAME_LEVELS = (
    MISSING_LEVEL,
    Level("different", 0.05, 0.97, _DIFFERS),
    Level("alike", 0.04, 0.01, "is similar"),
    Level("initial", 0.03, 0.01, "is the beginning of the other"),
    Level("elsewhere", 0.01, 0.002, "is the other's surname or given name"),
    Level("swapped", 0.01, 0.0002, "is swapped with the other name"),
    Level("typo", 0.10, 0.004, "is one letter apart"),
    Level("same", 0.77, 0.006, _SAME),
)
_LEVELS: dict[SemanticType, tuple[tuple[Level, ...], graded.Grade]] = {
    SemanticType.GIVEN_NAME: (_NAME_LEVELS, _name),
    SemanticType.SURNAME: (_NAME_LEVELS, _name),
    SemanticType.CITY: (
        (
            MISSING_LEVEL,
            Level("different", 0.15, 0.95, _DIFFERS),
            Level("alike", 0.03, 0.01, "is similar"),
            Level("typo", 0.07, 0.004, "is one letter apart"),
            Level("same", 0.75, 0.03, _SAME),
        ),
        _city,
    ),
    SemanticType.PHONE: (
        (
            MISSING_LEVEL,
            Level("different", 0.22, 0.999, _DIFFERS),
            Level("typo", 0.06, 0.0004, "is one digit apart"),
            Level("local", 0.04, 0.0002, "ends in the same digits"),
            Level("same", 0.68, 0.0004, _SAME),
        ),
        _phone,
    ),
    SemanticType.POSTCODE: (
        (
            MISSING_LEVEL,
            Level("different", 0.12, 0.975, _DIFFERS),
            Level("near", 0.08, 0.015, "is nearby"),
            Level("typo", 0.06, 0.004, "is one character apart"),
            Level("same", 0.74, 0.006, _SAME),
        ),
        _postcode,
    ),
    SemanticType.EMAIL: (
        (
            MISSING_LEVEL,
            Level("different", 0.20, 0.998, _DIFFERS),
            Level("number", 0.01, 0.003, "has another number"),
            Level("alike", 0.03, 0.001, "is similar"),
            Level("typo", 0.07, 0.0003, "is one character apart"),
            Level("local", 0.04, 0.0003, "is the same before the @"),
            Level("same", 0.65, 0.0004, _SAME),
        ),
        _email,
    ),
    SemanticType.EXACT: (
        (
            MISSING_LEVEL,
            Level("different", 0.08, 0.9, _DIFFERS),
            Level("typo", 0.07, 0.003, "is one character apart"),
            Level("same", 0.85, 0.1, _SAME),
        ),
        _code,
    ),
}
_LEVELS[SemanticType.NUMBER] = _LEVELS[SemanticType.EXACT]


_IN_COMMON = Level("shared", 0.05, 0.00005, "has one in common")
_LOOKS = Level("look", 0.01, 0.0002, "looks the same (0 and O, 1 and l)")
_SHORT_FORM = Level("short form", 0.02, 0.002, "is a form of the same name")
_FINER = frozenset({_IN_COMMON, _LOOKS, _SHORT_FORM})
_CODES = frozenset({SemanticType.EXACT, SemanticType.NUMBER, SemanticType.POSTCODE})


def value_feature(
    name: str,
    column: int,
    encoded: Encoded,
    semantic_type: SemanticType,
    cells: Cells | None,
    *,
    is_finer: bool | None = None,
) -> ValueFeature:
    """Return the feature of a column of this type, with the levels that its values can have.

    `cells` are the values of its cells, if some hold several. `is_finer` decides about the level that only some columns
    need, by default its values do.
    """
    levels, grade = _LEVELS[semantic_type]
    grading = Grading(grade, glimpses.FILTERS[semantic_type])
    level, finer = _finer(grading, len(levels) - 1, encoded, semantic_type, cells, always=is_finer is True)
    if is_finer is False:
        finer = None
    if finer is not None:
        levels, grading = (*levels[:-1], level, levels[-1]), finer
    return ValueFeature(name, column, encoded, levels, grading)


_OF_ROLES = (
    MISSING_LEVEL,
    Level("different", 0.30, 0.998, "is another shared mailbox"),
    Level("same", 0.70, 0.0004, "is the same shared mailbox"),
)


def role_feature(name: str, column: int, encoded: Encoded) -> ValueFeature:
    """Return the feature of the mailboxes of roles in a column of addresses."""
    cells = Cells.of(encoded.values)
    if cells is None:
        return ValueFeature(name, column, encoded, _OF_ROLES, UNLIKE)
    levels = (*_OF_ROLES[:-1], _IN_COMMON, _OF_ROLES[-1])
    return ValueFeature(name, column, encoded, levels, cells.best(UNLIKE, 2))


def _finer(
    grading: Grading, number: int, encoded: Encoded, semantic_type: SemanticType, cells: Cells | None, *, always: bool
) -> tuple[Level, Grading | None]:
    """Return the level of this number that only some columns need, and the grading with it; None if not needed."""
    if semantic_type in _CODES:
        looks = lookalikes.looks(encoded.values, always=always)
        return _LOOKS, None if looks is None else lookalikes.by_look(grading, looks, number)
    if semantic_type is SemanticType.GIVEN_NAME:
        return _SHORT_FORM, shortforms.by_short_form(grading, encoded.texts, number, always=always)
    return _IN_COMMON, None if cells is None else cells.best(grading, number)
