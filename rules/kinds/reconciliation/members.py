"""The records of discrepancies, read from their tables in the order in which findings are reported."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules.engines import answers
from rules.groups.ids import content_digest
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT, Members
from rules.kinds.reconciliation.statements import Statements
from rules.kinds.reconciliation.stored import Element, SideTable
from rules.kinds.reconciliation.workspace import Workspace
from rules.pairs.numbers import Integers
from rules.values import PLACE, RecordId, Value

_READ = 50_000
"""Discrepancies whose records are read at a time."""
_AT_ONCE = 5_000
"""Records that are Python objects at a time."""
_CHOSEN = sa.table(
    "chosen",
    sa.column("place", sa.BigInteger()),
    sa.column("position", sa.BigInteger()),
    sa.column("row", sa.BigInteger()),
)


@dataclass(frozen=True)
class SideRecord:
    """A record with the id that names it and all its values, derived columns included."""

    id: RecordId
    values: Mapping[str, Value]


Sides = tuple[tuple[SideRecord, ...], tuple[SideRecord, ...]]
Placed = tuple[int, tuple[SideRecord, ...]]
"""Records of one side, with the place of their discrepancy."""


def in_order(workspace: Workspace, statements: Statements, members: Members, size: int) -> Integers:
    """Return the numbers of discrepancies by key, then by side and order of their first record."""
    order = np.lexsort((np.arange(len(members.number)), members.side, members.number))
    number = members.number[order]
    first = order[np.concatenate([[True], number[1:] != number[:-1]])] if size else order
    anchors = pa.table({name: getattr(members, name)[first] for name in ("number", "side", "row")})
    with workspace.shown("anchors", anchors):
        ordered = workspace.query(_ordered(statements))
    numbers: Integers = ordered["number"].to_numpy()
    return numbers


def _ordered(statements: Statements) -> sa.Select[Any]:
    anchors = sa.table("anchors", *(sa.column(name, sa.BigInteger()) for name in ("number", "side", "row")))
    sides = []
    for side, table in enumerate(statements.tables):
        position = sa.func.row_number().over(order_by=table.order())
        columns: list[Element] = [anchors.c.number, anchors.c.side, position.label("position")]
        columns += [key[side].label(f"key_{n}") for n, key in enumerate(statements.keys)]
        joined = table.table.join(anchors, table.row == anchors.c.row)
        sides.append(sa.select(*columns).select_from(joined).where(anchors.c.side == sa.literal_column(str(side))))
    both = sa.union_all(*sides).subquery("both_sides")
    keys = [both.c[f"key_{n}"].nulls_last() for n in range(len(statements.keys))]
    return sa.select(both.c.number).order_by(*keys, both.c.side, both.c.position)


def read(workspace: Workspace, members: Members, order: Integers, slot: dt.datetime) -> Iterator[tuple[int, Sides]]:
    """Yield the number of each discrepancy in that order, with its records."""
    place = np.full(int(members.number.max()) + 1 if len(members.number) else 0, -1, np.int64)
    place[order] = np.arange(len(order))
    places = place[members.number]
    for begin in range(0, len(order), _READ):
        part = order[begin : begin + _READ]
        streams = []
        for side, table in enumerate(workspace.tables):
            is_chosen = (members.side == side) & (places >= begin) & (places < begin + len(part))
            chosen = np.flatnonzero(is_chosen)
            columns = {"place": places[chosen], "position": np.arange(len(chosen)), "row": members.row[chosen]}
            with workspace.shown(_CHOSEN.name, pa.table(columns)):
                streams.append(_records(table, workspace.query(_selected(table)), slot))
        yield from _merged(streams, part, begin)


def _merged(streams: Sequence[Iterator[Placed]], part: Integers, begin: int) -> Iterator[tuple[int, Sides]]:
    heads = [next(stream, None) for stream in streams]
    for place, number in enumerate(part.tolist(), begin):
        sides: list[tuple[SideRecord, ...]] = [(), ()]
        for side, head in enumerate(heads):
            if head is not None and head[0] == place:
                sides[side] = head[1]
                heads[side] = next(streams[side], None)
        yield number, (sides[LEFT], sides[RIGHT])


def _records(table: SideTable, rows: pa.Table, slot: dt.datetime) -> Iterator[Placed]:
    """Yield the records of each place; only a few of them are Python objects at a time."""
    label = table.labels["place"]
    values = (row for first in range(0, len(rows), _AT_ONCE) for row in answers.rows(rows.slice(first, _AT_ONCE)))
    for place, group in groupby(values, lambda row: row[label]):
        yield int(str(place)), tuple(_record(table, row, slot) for row in group)


def _selected(table: SideTable) -> sa.Select[Any]:
    chosen = _CHOSEN
    columns: list[Element] = [table.table.c[name] for name in table.side.needed]
    columns.append(chosen.c.place.label(table.labels["place"]))
    joined = table.table.join(chosen, table.row == chosen.c.row)
    if not table.side.relation.id:
        equal = _numbered(table)
        joined = joined.join(equal, equal.c.row == table.row)
        columns.append(equal.c.before.label(table.labels["before"]))
    return sa.select(*columns).select_from(joined).order_by(chosen.c.place, chosen.c.position)


def _numbered(table: SideTable) -> sa.Subquery:
    """Select the chosen records, and those with the same content, each with the number of equal ones before it."""
    content = [table.given(name) for name in table.side.content]
    inner = table.table.join(_CHOSEN, table.row == _CHOSEN.c.row)
    distinct = sa.select(*(c.label(f"w{n}") for n, c in enumerate(content))).select_from(inner).distinct()
    wanted = distinct.subquery("wanted")
    equal = sa.and_(*(c.is_not_distinct_from(wanted.c[f"w{n}"]) for n, c in enumerate(content)))
    places = [table.table.c[name].nulls_last() for name in PLACE if name in table.table.c]
    before = sa.func.row_number().over(partition_by=content, order_by=[*places, table.row]) - sa.literal_column("1")
    joined = table.table.join(wanted, equal)
    return sa.select(table.row.label("row"), before.label("before")).select_from(joined).subquery("equal_content")


def _record(table: SideTable, row: dict[str, Value], slot: dt.datetime) -> SideRecord:
    side = table.side
    record = side.columns.complete({name: row[name] for name in side.needed}, slot)
    if side.relation.id:
        return SideRecord(tuple(record[name] for name in side.relation.id), record)
    before = row[table.labels["before"]]
    return SideRecord((content_digest(record, side.content), int(str(before))), record)
