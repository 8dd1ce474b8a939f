"""The indexes of a table, and how many records share a value: can changed records be found fast?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MOST_ALIKE = 1_000
"""Records with one value of a column, above which looking them up by that column is not worth it."""


@dataclass(frozen=True)
class TableIndexes:
    """A table's indexes in the catalogue, by their first column, and its statistics.

    `ranged` are columns by which an index finds a range of values, and `equal` those by which it finds a value. `alike`
    is the mean number of records with one value, where known. `remedies` are statements that create an index.
    """

    remedies: Mapping[str, str]
    ranged: frozenset[str]
    equal: frozenset[str]
    alike: Mapping[str, float]

    def obstacles(self, by: str, identity: Sequence[str], parts: Sequence[str]) -> Iterator[str]:
        """Yield the reasons why changed records cannot be found fast; see `connectors.base.Changes`."""
        if by not in self.ranged:
            yield f"no index begins with `{by}`; {self.remedies[by]}"
        if self.equal.isdisjoint(identity):
            yield f"no index begins with `{identity[0]}`; {self.remedies[identity[0]]}"
        selective = [name for name in parts if self.alike.get(name, 0) <= MOST_ALIKE]
        if not selective:
            name = min(parts, key=lambda part: self.alike[part])
            yield f"about {self.alike[name]:,.0f} records share a value of `{name}`, which is too many to look up"
        elif self.equal.isdisjoint(selective):
            name = min(selective, key=lambda part: self.alike.get(part, MOST_ALIKE))
            yield f"no index begins with a part of its key such as `{name}`; {self.remedies[name]}"
