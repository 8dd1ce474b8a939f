"""Rows of a sheet on their way from a reader to typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

ROWS = 10_000


class Impure(Exception):
    """This sheet has to be read cell by cell."""


class TooMuch(Exception):
    """The workbook asks for more than it may; `what` is the word the parent knows the limit by."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True)
class ErrorCell:
    """A formula that failed, by the text its program shows: #N/A, #DIV/0!, Err:502."""

    text: str


@dataclass(frozen=True)
class Block:
    """Rows below each other, the first of them row number `first` as people count; all begin at the same column."""

    first: int
    rows: list[list[Any]]


def is_day(number: float) -> bool:
    """Return whether a calendar has the day of that number; 60 is 29 February 1900, which programs made up."""
    return 0 <= number < 60 or number >= 61


NOTHING = Block(1, [])
"""Gives whoever takes blocks the time to do something else, while a reader has begun."""


def blocks(rows: Iterable[list[Any]]) -> Iterator[Block]:
    """A whole sheet, given row by row from the top."""
    coming, first = iter(rows), 1
    while some := list(islice(coming, ROWS)):
        yield Block(first, some)
        first += ROWS
