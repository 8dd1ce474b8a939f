"""From the records an engine brought back to groups: exact, in Python, the same whatever the engine or their order."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from rules import sums
from rules.engines.base import Group, Member, Relation
from rules.values import RecordId, Value, canonical, canonical_json, order_key, sameness

PLACE = ("_file", "_row")


@dataclass(frozen=True)
class Record:
    """One record that takes part: its id, its key, and its values, also of derived columns.

    `order` orders records that have one id in common, whatever order they came in.
    """

    id: RecordId
    key: tuple[Value, ...]
    values: Mapping[str, Value]
    order: str

    @cached_property
    def place(self) -> tuple[Any, ...]:
        """The last word in every tie: the id by value, then the content."""
        return (*(order_key(part) for part in self.id), self.order)


class Valued(Protocol):
    """Anything with the values of a record."""

    @property
    def values(self) -> Mapping[str, Value]: ...


Keyed = tuple[tuple[Value, ...], Mapping[str, Value]]
"""A key and the record it belongs to."""


def rows(table: pa.Table) -> list[dict[str, Value]]:
    """The table's rows, with instants in UTC."""
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for name, values in columns.items():
        if pa.types.is_timestamp(table.schema.field(name).type):
            columns[name] = [None if v is None else v.astimezone(dt.UTC) for v in values]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def identified(keyed: Iterable[Keyed], relation: Relation, content: Sequence[str]) -> list[Record]:
    """Records with their id: the dataset's, or (hash of the `content` columns, how many equal ones came before)."""
    if relation.id:
        return _named(keyed, relation.id, content)
    whole = [(_content(row, content), key, row) for key, row in keyed]
    whole.sort(key=lambda one: (one[0], *(order_key(one[2].get(name)) for name in PLACE)))
    before: dict[str, int] = defaultdict(int)
    found = []
    for text, key, row in whole:
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        found.append(Record((name, before[text]), key, row, text))
        before[text] += 1
    return found


def _named(keyed: Iterable[Keyed], id_columns: Sequence[str], content: Sequence[str]) -> list[Record]:
    named = [(tuple(row[name] for name in id_columns), key, row) for key, row in keyed]
    met = Counter(sameness(name) for name, _, _ in named)
    repeats = any(times > 1 for times in met.values())
    return [Record(name, key, row, _content(row, content) if repeats else "") for name, key, row in named]


def _content(row: Mapping[str, Value], columns: Sequence[str]) -> str:
    return canonical_json([row.get(name) for name in columns])


def by_key(records: Iterable[Record]) -> list[list[Record]]:
    """Records whose keys are equal, together."""
    found: dict[Hashable, list[Record]] = defaultdict(list)
    for record in records:
        found[sameness(record.key)].append(record)
    return list(found.values())


def chains(records: Sequence[Record], column: str, by: dt.timedelta | Decimal) -> list[list[Record]]:
    """Records in the column's order, cut wherever two neighbours are more than `by` apart."""
    return _cut(records, column, by, against=-1)


def windows(records: Sequence[Record], column: str, by: dt.timedelta | Decimal) -> list[list[Record]]:
    """Greedy windows: the earliest free record opens one, and all up to `by` later belong to it."""
    return _cut(records, column, by, against=0)


def _cut(records: Sequence[Record], column: str, by: dt.timedelta | Decimal, against: int) -> list[list[Record]]:
    """Cut where a record is more than `by` after the first (0) or the last (-1) one of the group before it."""
    found: list[list[Record]] = []
    for record in sorted(records, key=lambda one: (order_key(one.values[column]), one.place)):
        if found and _distance(found[-1][against].values[column], record.values[column]) <= by:
            found[-1].append(record)
        else:
            found.append([record])
    return found


def _distance(earlier: Value, later: Value) -> Any:
    if isinstance(earlier, dt.date) and isinstance(later, dt.date):
        return later - earlier
    return sums.EXACT.subtract(number(later), number(earlier))


def number(value: Value) -> Decimal:
    """A number as the decimal it is written as; raises TypeError for anything else."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    raise TypeError(f"a {type(value).__name__} is not a number")


def without_excepted(records: list[Record], pairs: frozenset[frozenset[tuple[str, ...]]]) -> list[Record]:
    """Without the records that are excepted against every other one of the group.

    A pair known to be different stays in a larger group as long as either has a third record it may be the same as:
    who decides about the third should see both.
    """
    if not pairs:
        return records
    named = [written_id(record.id) for record in records]
    return [
        record
        for n, record in enumerate(records)
        if any(m != n and frozenset((named[n], other)) not in pairs for m, other in enumerate(named))
    ]


def written_id(record: RecordId) -> tuple[str, ...]:
    """An id as `except:` writes it."""
    return tuple((canonical(part) or ["", ""])[1] for part in record)


def money_at_risk(surplus: Iterable[Valued], relation: Relation) -> dict[str, Decimal]:
    """The sum of the amounts per currency; a record without an amount or a currency has none to add."""
    total = sums.of(_amounts(surplus, relation))
    return dict(sorted(total.items()))


def money_moved(surplus: Iterable[Valued], relation: Relation) -> dict[str, Decimal]:
    """The sum of how large each amount is: one below zero makes no room for others, and cancels none."""
    sizes = ({currency: amount.copy_abs() for currency, amount in one.items()} for one in _amounts(surplus, relation))
    return dict(sorted(sums.of(sizes).items()))


def _amounts(surplus: Iterable[Valued], relation: Relation) -> Iterator[dict[str, Decimal]]:
    money = relation.money
    if money is None:
        return
    for record in surplus:
        amount = record.values[money.amount]
        currency = record.values[money.currency_column] if money.currency_column else money.currency
        if amount is not None and currency:
            exactly = number(amount)
            if exactly.is_finite():
                yield {str(currency): exactly}


def different(records: Iterable[Record], column: str) -> int:
    """How many different values the records have in the column, nulls ignored."""
    return len({str(canonical(r.values[column])) for r in records if r.values[column] is not None})


def member(record: Record, shown: Sequence[str]) -> Member:
    return Member(record.id, {name: record.values[name] for name in shown})


def in_order(groups: Iterable[Group]) -> tuple[Group, ...]:
    """By key, then by where the span begins, then by the keeper's id."""
    return tuple(sorted(groups, key=_place))


def _place(group: Group) -> tuple[Any, ...]:
    key = tuple(order_key(value) for value in group.key.values())
    begin = order_key(group.span[0]) if group.span else ()
    return key, begin, tuple(order_key(part) for part in group.keeper.id)
