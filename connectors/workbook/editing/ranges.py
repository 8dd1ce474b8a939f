"""Names of cells and ranges, such as B7 or A1:C9. Rows and columns count from 1."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
_COLUMN = re.compile(r"\$?([A-Za-z]{1,3})")
_ROW = re.compile(r"\$?([0-9]{1,7})")


class CellRange(NamedTuple):
    """A rectangle of cells with its edges."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int

    def has(self, row: int, column: int) -> bool:
        return self.first_row <= row <= self.last_row and self.first_column <= column <= self.last_column

    def __str__(self) -> str:
        first, last = cell_name(self.first_row, self.first_column), cell_name(self.last_row, self.last_column)
        return first if first == last else f"{first}:{last}"


@lru_cache(maxsize=1024)
def column_number(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


@lru_cache(maxsize=1024)
def column_letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def cell_name(row: int, column: int) -> str:
    return f"{column_letters(column)}{row}"


def cell_place(name: str) -> tuple[int, int] | None:
    """The row and column of a name such as B7; None if it is none."""
    match = _CELL.fullmatch(name)
    return (int(match[2]), column_number(match[1])) if match else None


def parsed_range(text: str) -> CellRange | None:
    """The range of A1, A1:B9, A:C or 3:9; None if it is none."""
    first, _, last = text.strip().partition(":")
    start = _corner(first, (1, 1))
    end = _corner(last, (LAST_ROW, LAST_COLUMN)) if last else start
    if start is None or end is None or (not last and _CELL.fullmatch(first) is None):
        return None
    (top, left), (bottom, right) = start, end
    return CellRange(min(top, bottom), min(left, right), max(top, bottom), max(left, right))


def parsed_ranges(texts: str) -> list[CellRange]:
    """The ranges of a list with blanks between them. Raises ValueError for anything else."""
    ranges = [parsed_range(text) for text in texts.split()]
    if None in ranges:
        raise ValueError("a range is not written as cells")
    return [cell_range for cell_range in ranges if cell_range is not None]


def _corner(text: str, whole: tuple[int, int]) -> tuple[int, int] | None:
    if place := cell_place(text):
        return place
    if match := _COLUMN.fullmatch(text):
        return whole[0], column_number(match[1])
    if match := _ROW.fullmatch(text):
        return int(match[1]), whole[1]
    return None
