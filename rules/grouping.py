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
from rules.engines.base import Group, Member, MoneyColumns, Relation
from rules.values import PLACE, RecordId, Value, canonical, canonical_json, order_key, sameness


@dataclass(frozen=True)
class Record:
    """One record that takes part: its id, its key, and its values, also of derived columns.

    `order` are the values that order records, whatever order they came in.
    """

    id: RecordId
    key: tuple[Value, ...]
    values: Mapping[str, Value]
    order: tuple[Value, ...]

    @cached_property
    def place(self) -> tuple[Any, ...]:
        """The last word in every tie."""
        return tuple(map(order_key, self.order))


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
    """Records with their id: the dataset's, or (hash of the `content` columns, how many equal ones came before).

    Their order is by id and then by content; without an id by file and row, where there are any, and then by content.
    """
    if relation.id:
        return _named(keyed, relation.id, content)
    whole = [(_content(row, content), key, row) for key, row in keyed]
    whole.sort(key=lambda one: (one[0], *(order_key(one[2].get(name)) for name in PLACE)))
    before: dict[str, int] = defaultdict(int)
    found = []
    for text, key, row in whole:
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        place = (*(row.get(name) for name in PLACE), *(row[name] for name in content), before[text])
        found.append(Record((digest, before[text]), key, row, place))
        before[text] += 1
    return found


def _named(keyed: Iterable[Keyed], id_columns: Sequence[str], content: Sequence[str]) -> list[Record]:
    named = [(tuple(row[name] for name in id_columns), key, row) for key, row in keyed]
    met = Counter(sameness(name) for name, _, _ in named)
    repeats = any(times > 1 for times in met.values())
    behind = content if repeats else ()
    return [Record(name, key, row, (*name, *(row[column] for column in behind))) for name, key, row in named]


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


def nearby(part: Sequence[Record], windows: Sequence[Sequence[Record]], number: int, reach: Reach) -> list[Record]:
    """Records of other windows than the one of this number that are near a record of its part, the nearest first."""
    earlier = (record for n in range(number - 1, -1, -1) for record in reversed(windows[n]))
    later = (record for n in range(number + 1, len(windows)) for record in windows[n])
    near = [*_reached(part, earlier, reach), *_reached(part[::-1], later, reach)]
    near.sort(key=lambda one: (one[0], one[1].place))
    return once([*part, *(record for _, record in near)])[len(part) :]


@dataclass(frozen=True)
class Reach:
    """What is near: values of the column at most `by` apart, but for pairs of records known to be different."""

    column: str
    by: dt.timedelta | Decimal
    pairs: frozenset[frozenset[tuple[str, ...]]]


def _reached(part: Sequence[Record], others: Iterable[Record], reach: Reach) -> Iterator[tuple[Any, Record]]:
    """Each of the others that is near a record of the part, and how far away; both begin where they meet."""
    for record in others:
        if _apart(part[0], record, reach.column) > reach.by:
            return
        same = (one for one in part if frozenset((written_id(one.id), written_id(record.id))) not in reach.pairs)
        nearest = next(same, None) if reach.pairs else part[0]
        if nearest is not None and (apart := _apart(nearest, record, reach.column)) <= reach.by:
            yield apart, record


def _apart(first: Record, second: Record, column: str) -> Any:
    return _distance(*sorted((first.values[column], second.values[column]), key=order_key))


def _distance(earlier: Value, later: Value) -> Any:
    if isinstance(earlier, dt.date) and isinstance(later, dt.date):
        return later - earlier
    return sums.EXACT.subtract(number(later), number(earlier))


def number(value: Value) -> Decimal:
    """A number as the decimal it is written as; raises TypeError for anything else."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    raise TypeError(f"a {type(value).__name__} is not a number")


def once(records: Iterable[Record]) -> list[Record]:
    """Without the records whose id one before them has; an id that is empty in any part names no record."""
    met: set[Hashable] = set()
    kept = []
    for record in records:
        name = sameness(record.id)
        if name not in met:
            kept.append(record)
        if None not in record.id:
            met.add(name)
    return kept


def connected(records: list[Record], pairs: frozenset[frozenset[tuple[str, ...]]]) -> list[list[Record]]:
    """The parts that pairs of records connect, without the pairs that are known to be different; each in its order.

    Such a pair stays in one part as long as others connect it: who decides about a third record should see both.
    """
    named = [(written_id(record.id), n) for n, record in enumerate(records)] if pairs else []
    in_a_pair = frozenset(name for pair in pairs for name in pair)
    if not all(name in in_a_pair for name, _ in named):
        return [records]  # a record that is in no pair connects all others
    parts = [] if named else [records]
    while named:
        part, named = [named[0]], named[1:]
        for name, _ in part:
            part += [one for one in named if frozenset((name, one[0])) not in pairs]
            named = [one for one in named if frozenset((name, one[0])) in pairs]
        parts.append([records[n] for n in sorted(n for _, n in part)])
    return parts


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


def not_counted(record: Valued, relation: Relation) -> str | None:
    """What the record lacks so that its amount is in no sum, like "no currency"; None where it is in one, or where the
    dataset has no money."""
    amount = None if relation.money is None else _amount(record, relation.money)
    return amount if isinstance(amount, str) else None


def _amounts(surplus: Iterable[Valued], relation: Relation) -> Iterator[dict[str, Decimal]]:
    money = relation.money
    if money is None:
        return
    for record in surplus:
        amount = _amount(record, money)
        if not isinstance(amount, str):
            yield amount


def _amount(record: Valued, money: MoneyColumns) -> dict[str, Decimal] | str:
    """The record's amount by its currency, or what it lacks to have one."""
    amount = record.values[money.amount]
    currency = record.values[money.currency_column] if money.currency_column else money.currency
    if amount is None:
        return "no amount"
    exactly = number(amount)
    if not exactly.is_finite():
        return "no finite amount"
    return {str(currency): exactly} if currency and str(currency).strip() else "no currency"


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
