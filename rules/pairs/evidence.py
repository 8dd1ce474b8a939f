"""What joins two records: the keys or values by which they agree. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from rules.values import Value, canonical_json, canonical_number


@dataclass(frozen=True)
class Link:
    """Two records, by their positions in `members`, that agree by these keys, by their positions in `key: {any: …}`.

    Without a `bridge` the group would fall apart. A rule that finds records alike says by what in `detail`, a clause
    for people without any value of a record, and by how much in `weight`. Nobody but the rule knows what it means.
    """

    first: int
    second: int
    keys: tuple[int, ...] = ()
    bridge: bool = False
    detail: str = ""
    weight: Decimal | None = None

    @property
    def evidence(self) -> str:
        """Return the detail with the weight, like "same phone, name one letter apart (0.93)"; empty without both."""
        weight = "" if self.weight is None else f"({canonical_number(self.weight)})"
        return " ".join(filter(None, (self.detail, weight)))


LinkingValues = frozenset[tuple[str, str]]
"""Columns with values by which records agree, in canonical JSON."""


JudgedPairs = Mapping[frozenset[tuple[str | None, str]], LinkingValues]
"""Pairs that people judged: those that are different with the values that linked them then, those that are the same
with the values in which they differed. A record is named by its dataset (None for the rule's first one) and its id in
canonical JSON."""


def linking_values(items: Iterable[tuple[str, Value]]) -> LinkingValues:
    """Return the columns and values of a key, which may name a second value of a column `email (2)`."""
    return frozenset((_NUMBER.sub("", column), canonical_json([value])) for column, value in items)


def differing_values(items: Iterable[tuple[str, Value, Value]]) -> LinkingValues:
    """Return columns with the two values in which records differ, in whatever order these are."""
    return frozenset(
        (column, ",".join(sorted((canonical_json([first]), canonical_json([second])))))
        for column, first, second in items
    )


_NUMBER = re.compile(r" \([0-9]+\)$")
