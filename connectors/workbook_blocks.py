"""Rows of a sheet on their way from a reader to typed columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

ROWS = 10_000


class Impure(Exception):
    """This sheet has to be read cell by cell."""


@dataclass(frozen=True)
class Block:
    """Rows below each other, the first of them row number `first` as people count; all begin at the same column.

    `errors` are the places (row as people count, position in it) of cells that hold an error and look empty.
    """

    first: int
    rows: list[list[Any]]
    errors: frozenset[tuple[int, int]] = field(default=frozenset())


NOTHING = Block(1, [])
"""Gives whoever takes blocks the time to do something else, while a reader has begun."""


def blocks(rows: Iterable[list[Any]], errors: frozenset[tuple[int, int]] = frozenset()) -> Iterator[Block]:
    """A whole sheet, given row by row from the top."""
    inside: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for row, position in errors:
        inside[(row - 1) // ROWS].add((row, position))
    coming, number = iter(rows), 0
    while some := list(islice(coming, ROWS)):
        yield Block(number * ROWS + 1, some, frozenset(inside[number]))
        number += 1
