"""Records that are in several files of one dataset, because its exports overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rules.forensics.chance import Claim, binomial_tail
from rules.values import PLACE, Value


class Overlaps:
    """Test: records that are several times in a dataset are in different files, and not twice in one.

    Statistic: the repeats in a file that has no other record of the group. Exports from the first of the month to date
    repeat each record once in every later file. Chance: binomial, each repeat with the probability that two records
    drawn at random are in different files.
    """

    def __init__(self, dataset: str) -> None:
        self._dataset = dataset
        self._files: Counter[str] = Counter()
        self._repeats = self._across = 0

    def add(self, records: Sequence[Mapping[str, Value]]) -> None:
        """Add the records of one side of a finding; a single one is no repeat."""
        files = [file for record in records if isinstance(file := record.get(PLACE[0]), str)]
        if 1 < len(files) == len(records):
            self._files.update(files)
            self._repeats += len(files) - 1
            self._across += len(set(files)) - 1

    def __bool__(self) -> bool:
        return self._repeats > 0

    def claim(self) -> Claim:
        in_all = self._files.total()
        by_chance = 1 - sum((count / in_all) ** 2 for count in self._files.values())
        chance = binomial_tail(self._across, self._repeats, by_chance)
        return Claim(self._across, self._repeats, chance, self._sentence)

    @property
    def _sentence(self) -> str:
        return (
            f"{self._across:,} of {self._repeats:,} repeated records of {self._dataset} are in different files: this "
            "looks like exports that overlap. Let `path` match only files that do not, or only the newest."
        )
