"""The columns of several datasets under the names that a rule gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

DATASET = "dataset"
"""The name of a record's dataset in `keep`, `repeats`, `distinct` and `having`.

A column of this name needs another one.
"""


def in_rule(given: Mapping[str, str], columns: Iterable[str]) -> Iterator[str]:
    """Yield the rule's names of a dataset's columns, without a column whose name the rule gives to another one."""
    renamed_to = {own: column for column, own in given.items()}
    return (renamed_to.get(column, column) for column in columns if column in renamed_to or column not in given)


@dataclass(frozen=True)
class Names:
    """A dataset's columns under the names that the rule gives them; without one, a column has its own name."""

    own: tuple[str, ...]
    given: Mapping[str, str]

    def of(self, column: str) -> str | None:
        """Return the dataset's own name of a column of the rule; None if it has no such column."""
        name = self.given.get(column, column)
        return name if name in self.own else None

    def in_rule(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the rule's names of these columns, without a column whose name the rule gives to another one."""
        return tuple(in_rule(self.given, names))
