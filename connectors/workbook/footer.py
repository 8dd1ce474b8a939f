"""Leave out the last filled rows of a sheet for `skip_footer`, before columns are typed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from connectors.workbook.blocks import Block


class FooterMissing(Exception):
    """The sheet has fewer filled rows than its footer."""


def without_footer(arriving: Iterator[Block], rows: int, is_filled: Callable[[list[Any]], bool]) -> Iterator[Block]:
    """The blocks without the last filled rows. Raises FooterMissing."""
    waiting: deque[tuple[Block, int]] = deque()
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
