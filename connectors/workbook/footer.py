"""Leaving out the filled rows at the end of a sheet that `skip_footer` names, before they take part in any typing."""

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
    held: deque[tuple[Block, int]] = deque()
    filled = 0
    for block in arriving:
        held.append((block, sum(map(is_filled, block.rows))))
        filled += held[-1][1]
        while held and filled - held[0][1] >= rows:
            whole, count = held.popleft()
            filled -= count
            yield whole
    if filled < rows:
        raise FooterMissing
    for block, count in held:
        kept = max(0, filled - rows)
        filled -= count
        yield replace(block, rows=_beginning(block.rows, kept, is_filled)) if kept < count else block


def _beginning(rows: list[list[Any]], kept: int, is_filled: Callable[[list[Any]], bool]) -> list[list[Any]]:
    """The rows above the filled row number `kept`, counted from 0."""
    numbers = (number for number, row in enumerate(rows) if is_filled(row))
    return rows[: next(number for count, number in enumerate(numbers) if count == kept)]
