"""Split groups and findings into parts that can be judged separately. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from reconcile.findings.identity import key_text, records_of
from rules.engines.base import Group

MOST = 5_000
"""Records of a part, unless connected groups and findings have more."""


@dataclass(frozen=True)
class Outline:
    """A finding's marks (its key as `key_text` writes it, or the names of its records) and number of records."""

    id: str
    marks: Sequence[str]
    records: int


@dataclass
class Part:
    """Groups by their number, ascending, and findings by their id."""

    groups: list[int] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


def parts(groups: Iterable[Group], known: Iterable[Outline], *, by_records: bool, most: int = MOST) -> Iterator[Part]:
    """All groups and findings in parts that can be judged one after the other: no group of one part continues a finding
    of another, and no two parts want the same fingerprint.

    Parts come in the order of their groups, those without a group last. Only a few numbers per item stay in memory.
    """
    joined, records, ids = _Joined(), array("q"), []
    for group in groups:
        joined.add(records_of(group) if by_records else (key_text(group.key),))
        records.append(len(group.members))
    first_finding = len(records)
    for outline in known:
        joined.add(outline.marks)
        records.append(outline.records)
        ids.append(outline.id)
    part, size, previous = Part(), 0, -1
    for number, root in joined.together():
        if root != previous and size >= most:
            yield part
            part, size = Part(), 0
        if number < first_finding:
            part.groups.append(number)
        else:
            part.findings.append(ids[number - first_finding])
        size, previous = size + records[number], root
    if size or part.findings:
        yield part


class _Joined:
    """Items by number, joined with all that share a mark (a forest of disjoint sets).

    Marks are kept as hashes: a collision only joins more items.
    """

    def __init__(self) -> None:
        self._parents = array("q")
        self._first: dict[int, int] = {}

    def add(self, marks: Iterable[str]) -> None:
        number = len(self._parents)
        self._parents.append(number)
        for mark in marks:
            low, high = sorted((self._root(number), self._root(self._first.setdefault(hash(mark), number))))
            self._parents[high] = low

    def together(self) -> Iterator[tuple[int, int]]:
        """Each item and the first of its joined items, grouped, in the order of the first ones."""
        roots = np.array([self._root(number) for number in range(len(self._parents))], np.int64)
        order = np.argsort(roots, kind="stable")
        return zip(order.tolist(), roots[order].tolist(), strict=True)

    def _root(self, number: int) -> int:
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number
