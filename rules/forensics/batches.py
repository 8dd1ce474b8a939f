"""Records that came in bulk twice: the same file again, or the same batch."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

from rules.forensics.chance import binomial_tail, is_striking
from rules.forensics.repeated import Repeated
from rules.values import PLACE, canonical_json

Shift = tuple[str, str, int]
"""Two files, ordered by name, and how many rows further down the second file has a record."""

_COMPARED = 10
"""Records of a group that are compared."""

_MOST = 10_000
"""Different shifts, or pairs of batches, that are remembered."""

_NAME = re.compile(r"(.*_)?(batch|import|load|upload|file|statement)(_?(id|uuid|no|number|name))?", re.ASCII)
"""Columns that hold the name of a batch, after lower case."""

_EMPTY = canonical_json([None])


class Copies:
    """Test: most repeats are in the same two files, at the same distance of their rows.

    Statistic: the most pairs of records with the same two files and distance. An export that was delivered twice, whole
    or in part, repeats its records at one distance; other repeats are scattered. Chance: binomial, each repeat with a
    probability of 1 / the rows that hold repeats; times the different files and distances that occurred.
    """

    def __init__(self) -> None:
        self._repeats = 0
        self._shifts: Counter[Shift] = Counter()
        self._rows: tuple[int, int] | None = None

    def add(self, group: Repeated) -> None:
        self._repeats += group.repeats
        places = sorted(_places(group))
        rows = [row for _, row in places] + list(self._rows or ())
        self._rows = (min(rows), max(rows)) if rows else None
        self._shifts.update((a, b, at - of) for (a, of), (b, at) in combinations(places, 2) if a != b)
        _forget(self._shifts)

    def sentence(self) -> str | None:
        if not self._shifts or self._rows is None:
            return None
        (first, second, _), count = max(self._shifts.items(), key=lambda item: (item[1], item[0]))
        by_chance = 1 / (1 + self._rows[1] - self._rows[0])
        if not is_striking(count, self._repeats, binomial_tail(count, self._repeats, by_chance) * len(self._shifts)):
            return None
        return (
            f"{count:,} of {self._repeats:,} repeats are in {first} and, in the same order, in {second}: "
            "this looks like one export that was delivered twice."
        )


class Batches:
    """Test: most repeats lie between the same two batches.

    A column counts by its name (`batch_id`, `import_no`, `file` …) if a finding shows it and the key does not hold it.
    Statistic: the most repeats in one batch of first records in another one. Chance: binomial, each repeat with the
    probability that two records drawn at random are of these batches; times the pairs of batches and the columns. With
    only two batches every repeat is between them or inside one, which proves nothing.
    """

    def __init__(self, key: Collection[str]) -> None:
        self._key = frozenset(key)
        self._pairs: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._repeats: Counter[str] = Counter()

    def add(self, group: Repeated) -> None:
        first, *later = group.records[:_COMPARED]
        for name in filter(_names_batch, first.keys() - self._key):
            batches = [canonical_json([record.get(name)]) for record in (first, *later)]
            self._pairs[name].update((min(batches[0], batch), max(batches[0], batch)) for batch in batches[1:])
            self._repeats[name] += len(later)
            _forget(self._pairs[name])

    def sentence(self) -> str | None:
        return next(filter(None, map(self._sentence, sorted(self._pairs))), None)

    def _sentence(self, name: str) -> str | None:
        total = self._repeats[name]
        across = {pair: count for pair, count in self._pairs[name].items() if pair[0] != pair[1] and _EMPTY not in pair}
        batches: Counter[str] = Counter()
        for pair, count in self._pairs[name].items():
            for batch in pair:
                batches[batch] += count
        if not across or len(batches) < 3:
            return None
        (first, second), count = max(across.items(), key=lambda item: (item[1], item[0]))
        by_chance = 2 * (batches[first] / (2 * total)) * (batches[second] / (2 * total))
        looks = math.comb(len(batches), 2) * len(self._pairs)
        if not is_striking(count, total, binomial_tail(count, total, by_chance) * looks):
            return None
        return (
            f"{count:,} of {total:,} repeats lie between the same two values of `{name}`: "
            "this looks like one batch that was posted twice."
        )


def _places(group: Repeated) -> Iterator[tuple[str, int]]:
    """Yield the file, with the sheet if there are several, and the row of the records."""
    for record in group.records[:_COMPARED]:
        file, sheet, row = map(record.get, PLACE)
        if isinstance(file, str) and isinstance(row, int):
            yield f"{file}, sheet {sheet}" if isinstance(sheet, str) else file, row


def _forget(counts: Counter[Any]) -> None:
    """Keep the most common of very many different things."""
    if len(counts) > _MOST:
        kept = counts.most_common(_MOST // 10)
        counts.clear()
        counts.update(dict(kept))


@functools.cache
def _names_batch(column: str) -> bool:
    return _NAME.fullmatch(column.lower()) is not None
