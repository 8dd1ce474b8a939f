"""Which of the records of one key a record is: the first, second … of those that share a value. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Repetition:
    """The records of a group are each the `number`-th of those with their key and their value of `column`.

    Their values have from `least` to `most` such records.
    """

    column: str
    number: int
    least: int
    most: int

    @property
    def in_words(self) -> str:
        """Return which one each record is, like "the 2nd of 2 in its _file"."""
        records = f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"
        return f"the {_ordinal(self.number)} of {records} in its {self.column}"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number // 10 % 10 != 1 else "th"
    return f"{number:,}{ending}"
