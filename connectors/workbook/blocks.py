"""Rows of a sheet between a reader and typed columns.

Leave out the last filled rows of a sheet for `skip_footer`, before columns are typed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

ROWS = 10_000
BEGUN = "reading workbook "
"""The prefix of a line on the child's standard error; the position of the workbook to be read follows."""


class NeedsCellReader(Exception):
    """This sheet must be read cell by cell."""


class NotInWorkbook(Exception):
    """Something in the order is not in the workbook; `what` is the parent's word for it.

    `wanted` is the name or pattern that no sheet has, or the sheet with the mistake; None if there is only one.
    """

    def __init__(self, missing: str, existing: Iterable[str], wanted: str | None = None) -> None:
        super().__init__(missing)
        self.what, self.existing, self.wanted = missing, list(existing), wanted


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
class RowBlock:
    """Consecutive rows; the first has the number `first`, counted from 1. All begin at the same column."""

    first: int
    rows: list[list[Any]]


def is_day(number: float) -> bool:
    """Return True if the day of that number exists; 60 is 29 February 1900, which spreadsheets made up."""
    return 0 <= number < 60 or number >= 61


NOTHING = RowBlock(1, [])
"""Sent first, so that the consumer can do other work while the reader starts."""


def blocks(rows: Iterable[list[Any]]) -> Iterator[RowBlock]:
    coming, first = iter(rows), 1
    while batch := list(islice(coming, ROWS)):
        yield RowBlock(first, batch)
        first += ROWS


class FooterMissing(Exception):
    """The sheet has fewer filled rows than its footer."""


def without_footer(
    arriving: Iterator[RowBlock], rows: int, is_filled: Callable[[list[Any]], bool]
) -> Iterator[RowBlock]:
    """The blocks without the last filled rows. Raises FooterMissing."""
    waiting: deque[tuple[RowBlock, int]] = deque()
    filled = 0
    for block in arriving:
        waiting.append((block, sum(map(is_filled, block.rows))))
        filled += waiting[-1][1]
        while waiting and filled - waiting[0][1] >= rows:
            complete, count = waiting.popleft()
            filled -= count
            yield complete
    if filled < rows:
        raise FooterMissing
    for block, count in waiting:
        count_kept = max(0, filled - rows)
        filled -= count
        yield replace(block, rows=_beginning(block.rows, count_kept, is_filled)) if count_kept < count else block


def _beginning(rows: list[list[Any]], count_kept: int, is_filled: Callable[[list[Any]], bool]) -> list[list[Any]]:
    """The rows above the filled row number `kept`, counted from 0."""
    numbers = (number for number, row in enumerate(rows) if is_filled(row))
    return rows[: next(number for count, number in enumerate(numbers) if count == count_kept)]
