"""Read the records of findings again, with all that could be their partners or take them, for `regroup`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from rules.engines.base import Group, Streamed
from rules.kinds.base import ReadDataset, Rows
from rules.kinds.reconciliation.bound import BoundRule, BoundSide
from rules.normalise import chain_function
from rules.values import RecordId, Type, Value, sameness

Row = Mapping[str, Value]
_ARROW: dict[Type, pa.DataType] = {
    Type.TEXT: pa.string(),
    Type.FLOAT: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.INSTANT: pa.timestamp("us", "UTC"),
    Type.BYTES: pa.binary(),
}


@dataclass(frozen=True)
class Current:
    """The records of both datasets that share a key with a candidate."""

    bound: BoundRule
    own: BoundSide
    slot: dt.datetime
    records: Mapping[str, Streamed]

    def groups_of(self, rows: Rows, groups: Sequence[Group]) -> tuple[Group, ...]:
        """Return the groups that hold one of these rows."""
        ids = {sameness(_id(self.own, row, self.slot)) for row in rows}
        dataset = None if self.own is self.bound.left else self.own.relation.dataset
        return tuple(
            group for group in groups if any(m.dataset == dataset and sameness(m.id) in ids for m in group.members)
        )


def current(
    bound: BoundRule, own: BoundSide, candidates: Sequence[Rows], slot: dt.datetime, read: ReadDataset
) -> Current:
    """Read both datasets; rows of `candidates` replace records of the side `own` with their id.

    A record's partner may be taken by another record of its key, so all records of its key are needed.
    """
    given = {sameness(_id(own, row, slot)): row for rows in candidates for row in rows}
    keys = None
    if bound.pairs:
        sides = bound.sides if bound.is_of_one_dataset else (own,)
        keys = {_key(side, row, slot) for side in sides for row in given.values()}
    chosen: dict[str, list[Row]] = {}
    for side in bound.sides[: 1 if bound.is_of_one_dataset else 2]:
        is_own = side is own
        dataset = side.relation.dataset
        sharing = bound.sides if bound.is_of_one_dataset else (side,)
        rows = (row for row in read(dataset) if keys is None or any(_key(each, row, slot) in keys for each in sharing))
        chosen[dataset] = [
            *(given.values() if is_own else ()),
            *(row for row in rows if not is_own or sameness(_id(side, row, slot)) not in given),
        ]
    records = {side.relation.dataset: _streamed(side, chosen[side.relation.dataset]) for side in bound.sides}
    return Current(bound, own, slot, records)


def _id(side: BoundSide, row: Row, slot: dt.datetime) -> RecordId:
    record = side.columns.complete(row, slot)
    return tuple(record[name] for name in side.relation.id)


def _key(side: BoundSide, row: Row, slot: dt.datetime) -> Hashable:
    record = side.columns.complete(row, slot)
    zone = side.relation.timezone
    return sameness([chain_function(part.steps, zone)(record[part.column]) for part in side.key])


def _streamed(side: BoundSide, rows: Sequence[Row]) -> Streamed:
    schema = side.relation.schema

    def open_(columns: tuple[str, ...]) -> pa.RecordBatchReader:
        arrays = {name: _array((row[name] for row in rows), schema[name].type) for name in columns}
        return pa.table(arrays).to_reader()

    return Streamed(open_)


def _array(values: Iterable[Value], kind: Type) -> pa.Array:
    listed: list[Any] = list(values)
    if kind in _ARROW:
        return pa.array(listed, _ARROW[kind])
    return _numbers(listed)


def _numbers(values: list[Any]) -> pa.Array:
    """Return integers or decimals in the narrowest type that holds all; a column of only nulls as integers."""
    if all(value is None or (isinstance(value, int) and -(2**63) <= value < 2**63) for value in values):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else Decimal(value) for value in values])
