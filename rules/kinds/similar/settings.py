"""What a rule compares, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rules.kinds.similar.types import SemanticType


@dataclass(frozen=True)
class Compared:
    """A column with its type. `columns` are its names: one for one table, two if the second table has another name."""

    name: str
    type: SemanticType
    columns: tuple[str, ...]

    def column(self, side: int) -> str:
        """Return its name in the table of a side."""
        return self.columns[min(side, len(self.columns) - 1)]


@dataclass(frozen=True)
class Settings:
    """How records are compared; the default serves all data.

    `one_to_one` (two tables only) gives each record at most one partner. Two records that differ in a column of
    `veto`, and both have a value there, are never the same. `block` replaces the choice of candidates: records are
    compared if they agree in all columns of one of its lists. `expected_precision` is the share of the pairs above
    the threshold that should be right; `threshold` is the least probability of a pair, if not that of the model. No
    block of more than `max_block` records is compared pair by pair. `weights` multiply the bits of columns, and
    `levels` name the degrees of agreement of columns of which others count as different; see `degrees`.
    """

    compare: tuple[Compared, ...]
    one_to_one: bool = False
    veto: tuple[str, ...] = ()
    block: tuple[tuple[str, ...], ...] = ()
    expected_precision: float = 0.95
    threshold: float | None = None
    max_block: int = 100
    weights: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, compare: Mapping[str, str], *, right: Mapping[str, str] | None = None, **options: object) -> Settings:
        """Return the settings for columns with the names of their types; `right` renames columns of the second table.

        Raises ValueError for an unknown type.
        """
        names = right or {}
        compared = tuple(
            Compared(name, SemanticType(type_name), (name, names[name]) if name in names else (name,))
            for name, type_name in compare.items()
        )
        return cls(compared, **options)  # type: ignore[arg-type]

    def numbers(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the positions of compared columns by their names."""
        positions = {compared.name: number for number, compared in enumerate(self.compare)}
        return tuple(positions[name] for name in names)
