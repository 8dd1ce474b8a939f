"""Rows of a sheet between a reader and typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

ROWS = 10_000


class Impure(Exception):
    """This sheet must be read cell by cell."""


class TooMuch(Exception):
    """The workbook exceeds a limit; `what` is the parent's word for it."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.what = limit


@dataclass(frozen=True)
class ErrorCell:
    """A failed formula, by the text its program shows: #N/A, #DIV/0!, Err:502."""

    text: str


@dataclass(frozen=True)
class Block:
    """Consecutive rows; the first has the number `first`, counted from 1. All begin at the same column."""

    first: int
    rows: list[list[Any]]


def is_day(number: float) -> bool:
    """Return True if the day of that number exists; 60 is 29 February 1900, which spreadsheets made up."""
    return 0 <= number < 60 or number >= 61


NOTHING = Block(1, [])
"""Sent first, so that the consumer can do other work while the reader starts."""


def blocks(rows: Iterable[list[Any]]) -> Iterator[Block]:
    coming, first = iter(rows), 1
    while batch := list(islice(coming, ROWS)):
        yield Block(first, batch)
        first += ROWS
