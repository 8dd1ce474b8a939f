"""Records that take part in a comparison, and the pairs of them that are known to be different. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from rules.values import RecordId, Value, canonical, order_key, sameness


@dataclass(frozen=True)
class Record:
    """A record that takes part: its id, its key, and its values, derived columns included.

    `order` holds the values that sort records, independent of the order in which they are read. `dataset` is None for
    a record of the rule's first dataset.
    """

    id: RecordId
    key: tuple[Value, ...]
    values: Mapping[str, Value]
    order: tuple[Value, ...]
    dataset: str | None = None

    @property
    def name(self) -> RecordName:
        return self.dataset, written_id(self.id)

    @cached_property
    def place(self) -> tuple[Any, ...]:
        """A sort key that breaks every tie."""
        return tuple(map(order_key, self.order))


RecordName = tuple[str | None, tuple[str, ...]]
"""A record as `except:` names it: its dataset (None for the rule's first), and its id."""


class DifferentPairs(frozenset[frozenset[RecordName]]):
    """Pairs of records known to be different."""

    @cached_property
    def names(self) -> frozenset[RecordName]:
        """The records of any pair."""
        return frozenset(name for pair in self for name in pair)

    def within(self, records: Iterable[Record]) -> bool:
        """Return True if two of the records are a pair."""
        named = {record.name for record in records} & self.names if self else ()
        return any(frozenset(pair) in self for pair in combinations(named, 2))


def written_id(record: RecordId) -> tuple[str, ...]:
    """Return an id as `except:` writes it."""
    return tuple((canonical(part) or ["", ""])[1] for part in record)


def once(records: Iterable[Record]) -> list[Record]:
    """Drop records that repeat the id of an earlier one."""
    names: set[Hashable] = set()
    unique = []
    for record in records:
        name = (record.dataset, sameness(record.id))
        if name not in names:
            unique.append(record)
            names.add(name)
    return unique


def by_key(records: Iterable[Record], parts: Sequence[int] | None = None) -> list[list[Record]]:
    """Return the records in lists of equal keys, or of keys that are equal in these parts."""
    groups: dict[Hashable, list[Record]] = defaultdict(list)
    for record in records:
        groups[sameness(record.key if parts is None else tuple(record.key[n] for n in parts))].append(record)
    return list(groups.values())


def connected(records: list[Record], pairs: DifferentPairs) -> list[list[Record]]:
    """Split the records into connected parts: all are connected, except `pairs` listed as different. Order is kept.

    Such a pair stays in one part if other records connect it: a decision about a third record should show both.
    """
    named = [(record.name, number) for number, record in enumerate(records)] if pairs else []
    if not all(name in pairs.names for name, _ in named):
        return [records]  # a record without any pair connects all others
    parts = [] if named else [records]
    while named:
        part, named = [named[0]], named[1:]
        for name, _ in part:
            part += [item for item in named if frozenset((name, item[0])) not in pairs]
            named = [item for item in named if frozenset((name, item[0])) in pairs]
        parts.append([records[number] for number in sorted(number for _, number in part)])
    return parts
