"""The error of a rule whose groups hold so many of the records that its key is no identifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rules.document.mistakes import short
from rules.engines.base import Unanswerable
from rules.values import Value

FEW = 10_000
"""Records that the findings of any rule may hold: a person can go through so many."""


@dataclass(frozen=True)
class LargeGroup:
    """A group by its key and its number of records."""

    key: Mapping[str, Value]
    records: int


class KeyTooCommon(Unanswerable):
    """The groups of a rule hold more than `max_share` of the records that take part.

    The text names the columns of the key and holds no value of a record; `largest` are some of the largest groups.
    """

    def __init__(self, rule: str, key: str, most: int, taking_part: int, largest: Sequence[LargeGroup]) -> None:
        self._reason = (
            f"Rule {rule!r} was stopped: its groups would hold more than {most:,} of {taking_part:,} records "
            f"(`max_share`), so its key ({key}) identifies nothing"
        )
        self.largest = tuple(largest)
        super().__init__(self._sentence(""))

    def with_largest(self, shown: Callable[[str, Value], object]) -> str:
        """Return the text with the keys of the largest groups, each value as `shown` gives it for its column."""
        sample = (
            f"{', '.join(f'{column} {short(str(shown(column, value)))}' for column, value in group.key.items())} "
            f"({group.records:,} records)"
            for group in self.largest
        )
        return self._sentence(f"; its largest groups: {'; '.join(sample)}")

    def _sentence(self, sample: str) -> str:
        return (
            f"{self._reason}{sample}. Its findings are unchanged. Add columns to the `key`, leave out placeholders "
            "with `where`, or raise `max_share` if all of them are duplicates"
        )
