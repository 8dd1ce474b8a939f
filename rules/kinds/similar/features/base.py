"""How two records agree in a column: one level for each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rules.kinds.similar.encoded import Floats, Levels, Places

MISSING = 0
DIFFERENT = 1


@dataclass(frozen=True)
class Level:
    """A degree of agreement. `match` and `random` are its built-in shares among true and random pairs.

    `words` say it to people after the name of the column, as in "phone differs".
    """

    name: str
    match: float
    random: float
    words: str
    context: int = 0
    """Shares add up to 1 among the levels of a context, such as pairs in which both names agree."""


MISSING_LEVEL = Level("missing", 1, 1, "is missing")


class Feature(Protocol):
    """A view of one column, or of some together, by which pairs of records are compared."""

    @property
    def name(self) -> str:
        """Its name in models: that of the column, with a suffix if the column has several features."""

    @property
    def column(self) -> int:
        """The position of the column among those compared."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels; the first is that of pairs in which a value is missing."""

    def compare(self, first: Places, second: Places) -> Levels:
        """Return the level of each pair."""

    def rarity(self, first: Places, second: Places, levels: Levels) -> Floats:
        """Return the bits that the shared value adds to the weight of the level: more for a rare one."""
