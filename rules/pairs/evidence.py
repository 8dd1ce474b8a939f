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
    `probability` is that of both being the same, if the rule estimates one.
    """

    first: int
    second: int
    keys: tuple[int, ...] = ()
    bridge: bool = False
    detail: str = ""
    weight: Decimal | None = None
    probability: Decimal | None = None

    @property
    def evidence(self) -> str:
        """Return the detail with the numbers, like "same phone, name one letter apart (64%, 3.18)"; empty without."""
        probability = "" if self.probability is None else in_percent(self.probability)
        numbers = ", ".join(filter(None, (probability, "" if self.weight is None else canonical_number(self.weight))))
        return " ".join(filter(None, (self.detail, numbers and f"({numbers})")))


def holding(pairs: Iterable[Link]) -> list[tuple[Link, frozenset[int]]]:
    """Return the links that hold a group together, each with the records that fall off without it, the weakest last.

    Links without a probability, and those between records that more probable ones join anyway, are left out. Of the two
    sides of a link it is the smaller one, or else that without the first record.
    """
    scored = [link for link in pairs if link.probability is not None]
    scored.sort(key=lambda link: (-(link.probability or 0), link.first, link.second))
    part = {place: frozenset({place}) for link in scored for place in (link.first, link.second)}
    chosen = []
    for link in scored:
        first, second = part[link.first], part[link.second]
        if first != second:
            chosen.append((link, min(first, second, key=lambda side: (len(side), -min(side)))))
            part |= dict.fromkeys(first | second, first | second)
    return chosen


def probability(pairs: Iterable[Link]) -> Decimal | None:
    """Return the probability that all records of a group are the same thing: that of its weakest link; None without."""
    links = holding(pairs)
    return links[-1][0].probability if links else None


def in_percent(estimate: float | Decimal) -> str:
    """Return a probability like "38%"; no estimate is certain, so the ends are "over 99%" and "under 1%"."""
    percent = round(100 * estimate)
    return "under 1%" if percent < 1 else "over 99%" if percent > 99 else f"{percent}%"


def rounded(estimate: float) -> Decimal:
    """Return a probability with four places, which do not depend on the machine; no estimate is certain."""
    return min(max(Decimal(repr(estimate)).quantize(_LEAST), _LEAST), 1 - _LEAST)


_LEAST = Decimal("0.0001")


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
