"""The setting `consecutive`: neighbours in an order that have the same key.

A record's position is its number in the order of its partition, among all records that take part. Records of one key
whose positions follow one another are a run. The engine numbers the records, since most of them are in no group and
never become Python objects; `numbered` does the same for records at hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from rules.functions import filled
from rules.groups.settings import AskedSettings
from rules.groups.spans import Consecutive
from rules.pairs.record import Record
from rules.values import PLACE, order_key, sameness


def position(
    bound: AskedSettings,
    setting: Consecutive,
    keyed: sa.FromClause,
    c: Mapping[str, sa.ColumnElement[Any]],
    takes_part: sa.ColumnElement[bool],
) -> sa.ColumnElement[int]:
    """Return a record's position; null for a record that takes no part or has an empty id.

    `c` has the computed columns by what they hold: `key_0`, `place`, `id_0`.
    """
    ids: list[sa.ColumnElement[Any]] = [c[f"id_{n}"] for n in range(len(bound.relation.id))]
    in_order = sa.and_(takes_part, *(column.is_not(None) for column in ids))
    partition: list[sa.ColumnElement[Any]] = [sa.case((in_order, sa.literal_column("1")), else_=sa.literal_column("0"))]
    partition += [c[f"key_{n}"] for n in _partition(bound, setting)]
    # Records with one id and one place may differ in their keys; without an order they would differ in each run.
    ties = [*ids, *(c[f"key_{n}"] for n in range(len(bound.parts)))] if ids else list(_written(bound, keyed))
    number = sa.func.row_number().over(partition_by=partition, order_by=[c["place"], *ties])
    return sa.case((in_order, number))


def numbered(bound: AskedSettings, setting: Consecutive, records: Sequence[Record]) -> Iterator[Record]:
    """Yield the records of a dataset that take part with their positions among their values."""
    partitions: dict[Hashable, list[Record]] = defaultdict(list)
    for record in records:
        partitions[sameness([record.key[n] for n in _partition(bound, setting)])].append(record)
    for partition in partitions.values():
        partition.sort(key=lambda record: (order_key(record.values[setting.by]), *_ties(bound, record)))
        for number, record in enumerate(partition, 1):
            yield replace(record, values={**record.values, bound.position: number})


def _partition(bound: AskedSettings, setting: Consecutive) -> list[int]:
    """Return the positions of the parts of the key that `within` names."""
    return [n for n, part in enumerate(bound.parts) if part.column in setting.within]


def _written(bound: AskedSettings, keyed: sa.FromClause) -> Iterator[sa.ColumnElement[Any]]:
    """Yield the columns that order records without an id: file and row, then the others as the dataset has them."""
    for name in dict.fromkeys((*(name for name in PLACE if name in bound.needed), *bound.content)):
        column = keyed.c[name]
        yield filled(column) if isinstance(column.type, sa.Text) else column


def _ties(bound: AskedSettings, record: Record) -> tuple[Any, ...]:
    return tuple(map(order_key, (*record.id, *record.key))) if bound.relation.id else record.place
