"""Deliveries that came again: the repeat has the id of the same delivery, and another time."""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from rules.forensics.chance import binomial_tail, is_striking
from rules.forensics.repeated import Repeated
from rules.values import canonical_json

_NAME = re.compile(r"(.*_)?(delivery|event|message|webhook|request|idempotency)_?(id|uuid|key|no|number)", re.ASCII)
"""Columns that hold the id of a delivery, after lower case."""

_EMPTY = canonical_json([None])

_LEAST = 0.02
"""The chance that two records of different deliveries have the same id is taken to be at least this."""

_OWN = 0.9
"""The share of groups that need an id of their own."""

_MOST = 10_000
"""Groups whose ids are remembered."""


@dataclass
class _Column:
    """A column with ids of deliveries: so many of its `repeats` are `alike`, and the id of each group that is."""

    repeats: int = 0
    alike: int = 0
    ids: Counter[str] = field(default_factory=Counter)


class Deliveries:
    """Test: most repeats have the delivery id of their group's other records and came at another time.

    A column counts by its name (`event_id`, `delivery_id`, `idempotency_key` …) if a finding shows it. Statistic: the
    repeats in groups that share one id, another one in each group. Chance: binomial, each repeat with the probability
    of hitting the id of one of the groups, but at least 2 %; times the number of such columns. Ids of the key agree by
    definition: for them the number of repeats and their share alone decide.
    """

    def __init__(self, key: Collection[str]) -> None:
        self._key = frozenset(key)
        self._columns: dict[str, _Column] = defaultdict(_Column)

    def add(self, group: Repeated) -> None:
        for name in filter(_names_delivery, group.records[0]):
            column = self._columns[name]
            ids = [canonical_json([record.get(name)]) for record in group.records]
            column.repeats += group.repeats
            if len(set(ids)) == 1 and ids[0] != _EMPTY and len(set(group.times)) == len(ids):
                column.alike += group.repeats
                if len(column.ids) < _MOST:
                    column.ids[ids[0]] += 1

    def sentence(self) -> str | None:
        return next(filter(None, map(self._sentence, sorted(self._columns))), None)

    def _sentence(self, name: str) -> str | None:
        column = self._columns[name]
        remembered = column.ids.total()
        if len(column.ids) < _OWN * remembered:
            return None
        by_chance = 1.0 if not remembered else max(_LEAST, 1 / remembered)
        chance = 0.0 if name in self._key else binomial_tail(column.alike, column.repeats, by_chance)
        if not is_striking(column.alike, column.repeats, chance * len(self._columns)):
            return None
        return (
            f"{column.alike:,} of {column.repeats:,} repeats have the `{name}` of the previous record and a "
            "different time: this looks like a webhook or message that was delivered again."
        )


@functools.cache
def _names_delivery(column: str) -> bool:
    return _NAME.fullmatch(column.lower()) is not None
