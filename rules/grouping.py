"""Turn the records of an engine into groups: exact, in Python, independent of the engine and of their order."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from rules import values as sums
from rules.distances import apart, is_near, number
from rules.engines.base import DuplicateGroup, Group, Member, MoneyColumns, Relation
from rules.models import Distance
from rules.values import PLACE, RecordId, Value, canonical, canonical_json, order_key, sameness

G = TypeVar("G", bound=Group)


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


class Valued(Protocol):
    """Anything with the values of a record."""

    @property
    def values(self) -> Mapping[str, Value]: ...


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


Keyed = tuple[tuple[Value, ...], Mapping[str, Value]]
"""A key and its record."""


def rows(table: pa.Table) -> list[dict[str, Value]]:
    """Return the table's rows, with instants in UTC."""
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for name, values in columns.items():
        if pa.types.is_timestamp(table.schema.field(name).type):
            columns[name] = [None if value is None else value.astimezone(dt.UTC) for value in values]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def identified(keyed: Iterable[Keyed], relation: Relation, content: Sequence[str]) -> list[Record]:
    """Return records with their id: the dataset's, or (hash of the `content` columns, number of equal ones before).
    Records with an empty part in the dataset's id are left out: nothing tells them apart.

    Records sort by id and then by content; without an id by file and row, if there are any, and then by content.
    """
    if relation.id:
        return _named(keyed, relation.id, content)
    rows = [(_content(row, content), key, row) for key, row in keyed]
    rows.sort(key=lambda item: (item[0], *(order_key(item[2].get(name)) for name in PLACE)))
    count_by_text: dict[str, int] = defaultdict(int)
    records = []
    for text, key, row in rows:
        digest = _digest(text)
        place = (*(row.get(name) for name in PLACE), *(row[name] for name in content), count_by_text[text])
        records.append(Record((digest, count_by_text[text]), key, row, place))
        count_by_text[text] += 1
    return records


def _named(keyed: Iterable[Keyed], id_columns: Sequence[str], content: Sequence[str]) -> list[Record]:
    named = ((tuple(row[name] for name in id_columns), key, row) for key, row in keyed)
    identified = [(name, key, row) for name, key, row in named if None not in name]
    has_repeats = len({sameness(name) for name, _, _ in identified}) < len(identified)
    extra = content if has_repeats else ()
    return [Record(name, key, row, (*name, *(row[column] for column in extra))) for name, key, row in identified]


def content_digest(row: Mapping[str, Value], columns: Sequence[str]) -> str:
    """Return the hash that names a record without id, together with the number of equal ones before it."""
    return _digest(_content(row, columns))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _content(row: Mapping[str, Value], columns: Sequence[str]) -> str:
    return canonical_json([row.get(name) for name in columns])


def by_key(records: Iterable[Record], parts: Sequence[int] | None = None) -> list[list[Record]]:
    """Return the records in lists of equal keys, or of keys that are equal in these parts."""
    groups: dict[Hashable, list[Record]] = defaultdict(list)
    for record in records:
        groups[sameness(record.key if parts is None else tuple(record.key[n] for n in parts))].append(record)
    return list(groups.values())


def chains(records: Sequence[Record], column: str, by: Distance) -> list[list[Record]]:
    """Split the records, in the column's order, where two neighbours are more than `by` apart."""
    return _cut(records, column, by, against=-1)


def windows(records: Sequence[Record], column: str, by: Distance) -> list[list[Record]]:
    """Split the records greedily: the earliest free record opens a window, which holds all up to `by` later."""
    return _cut(records, column, by, against=0)


def _cut(records: Sequence[Record], column: str, by: Distance, against: int) -> list[list[Record]]:
    """Cut where a record is more than `by` after the first (0) or the last (-1) record of the previous group."""
    groups: list[list[Record]] = []
    for record in sorted(records, key=lambda record: (order_key(record.values[column]), record.place)):
        if groups and is_near(groups[-1][against].values[column], record.values[column], by):
            groups[-1].append(record)
        else:
            groups.append([record])
    return groups


def nearby(part: Sequence[Record], windows: Sequence[Sequence[Record]], number: int, reach: Reach) -> list[Record]:
    """Return the records of other windows than this `number` that are near a record of its `part`, nearest first."""
    earlier = (record for n in range(number - 1, -1, -1) for record in reversed(windows[n]))
    later = (record for n in range(number + 1, len(windows)) for record in windows[n])
    near = [*_reached(part, earlier, reach), *_reached(part[::-1], later, reach)]
    near.sort(key=lambda pair: (pair[0], pair[1].place))
    return once([*part, *(record for _, record in near)])[len(part) :]


@dataclass(frozen=True)
class Reach:
    """The limit of nearness: values of the column at most `by` apart, except for `pairs` listed as different."""

    column: str
    by: Distance
    pairs: frozenset[frozenset[RecordName]]


def _reached(part: Sequence[Record], others: Iterable[Record], reach: Reach) -> Iterator[tuple[Any, Record]]:
    """Yield each of the others that is near a record of the part, with its distance; both start where they meet."""
    for record in others:
        if not is_near(part[0].values[reach.column], record.values[reach.column], reach.by):
            return
        same = (member for member in part if frozenset((member.name, record.name)) not in reach.pairs)
        nearest = next(same, None) if reach.pairs else part[0]
        if nearest is None:
            continue
        values = nearest.values[reach.column], record.values[reach.column]
        if is_near(*values, reach.by):
            yield apart(*values), record


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


def written_id(record: RecordId) -> tuple[str, ...]:
    """Return an id as `except:` writes it."""
    return tuple((canonical(part) or ["", ""])[1] for part in record)


def money_at_risk(surplus: Iterable[Valued], relation: Relation) -> dict[str, Decimal]:
    """Return the sum of the amounts per currency; records without an amount or a currency add nothing."""
    return {} if relation.money is None else amounts(surplus, relation.money)


def amounts(records: Iterable[Valued], money: MoneyColumns) -> dict[str, Decimal]:
    """Return the same for records whose `values` have the columns of `money`."""
    return dict(sorted(sums.of(_amounts(records, money)).items()))


def money_of(group: DuplicateGroup, records: Iterable[Member]) -> dict[str, Decimal]:
    """Return the sum over some records of the group, as its `money` is the sum over its surplus."""
    of_dataset: dict[str | None, list[Member]] = defaultdict(list)
    for record in records:
        of_dataset[record.dataset].append(record)
    priced = ((group.priced.get(dataset), alike) for dataset, alike in of_dataset.items())
    return dict(sorted(sums.of(amounts(alike, money) for money, alike in priced if money is not None).items()))


def money_moved(surplus: Iterable[Valued], relation: Relation) -> dict[str, Decimal]:
    """Return the sum of the absolute amounts per currency: a negative amount does not cancel others."""
    if relation.money is None:
        return {}
    sizes = ({name: size.copy_abs() for name, size in amount.items()} for amount in _amounts(surplus, relation.money))
    return dict(sorted(sums.of(sizes).items()))


def not_counted(record: Valued, relation: Relation) -> str | None:
    """Return why no sum counts the record's amount, like "no currency"; None if one does, or without `money`."""
    amount = None if relation.money is None else _amount(record, relation.money)
    return amount if isinstance(amount, str) else None


def _amounts(records: Iterable[Valued], money: MoneyColumns) -> Iterator[dict[str, Decimal]]:
    for record in records:
        amount = _amount(record, money)
        if not isinstance(amount, str):
            yield amount


def _amount(record: Valued, money: MoneyColumns) -> dict[str, Decimal] | str:
    """Return the record's amount by currency, or the reason why it has none."""
    amount = record.values[money.amount]
    currency = record.values[money.currency_column] if money.currency_column else money.currency
    if amount is None:
        return "no amount"
    exactly = number(amount)
    if not exactly.is_finite():
        return "no finite amount"
    name = sums.currency_name(str(currency or ""))
    return {name: exactly} if name else "no currency"


def different(records: Iterable[Record], column: str) -> int:
    """Return the number of different values in the column; nulls are ignored."""
    return len({str(canonical(record.values[column])) for record in records if record.values[column] is not None})


def member(record: Record, shown: Sequence[str]) -> Member:
    return Member(record.id, {name: record.values[name] for name in shown}, record.dataset)


def in_order(groups: Iterable[G]) -> tuple[G, ...]:
    """Sort groups by key, then by the start of the span, then by the first record."""
    return tuple(sorted(groups, key=_place))


def _place(group: Group) -> tuple[Any, ...]:
    key = tuple(order_key(value) for value in group.key.values())
    begin = order_key(group.span[0]) if group.span else ()
    if isinstance(group, DuplicateGroup) and group.repetition:
        begin = order_key(group.repetition.number)
    anchor = group.anchor
    return key, begin, anchor.dataset or "", tuple(order_key(part) for part in anchor.id)
