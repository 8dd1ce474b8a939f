"""Ask a database which keys are settled, and read the other records, all in its one snapshot.

The totals of each side are summed up on their own, over all its records, so the balance still proves the matching.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from rules.engines.base import IdentityProblem, Pushed, Streamed
from rules.engines.pushdown import INCOMPLETE, MOST, Pushdown, constant
from rules.functions import render
from rules.kinds.reconciliation.accounts import RecordSums
from rules.kinds.reconciliation.bound import BoundReconciliation
from rules.kinds.reconciliation.inside import BILLION, Days, Select, SideQuery
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT
from rules.kinds.reconciliation.settling import Settling
from rules.kinds.reconciliation.stored import LEFT_OUT, Element
from rules.values import EXACT

_MOST_DAYS = 75_000
"""Days between the first and the last instant of a column; with more, too many changes of the offset are possible."""


@dataclass(frozen=True)
class Settled:
    """The answer of the database about both sides.

    `states` count all records of each side, `totals` sum up those that pass the filters, and `sums` the records of the
    `keys` that are settled.
    """

    keys: int
    states: tuple[Mapping[int, int], Mapping[int, int]]
    totals: tuple[RecordSums, RecordSums]
    sums: tuple[RecordSums, RecordSums]
    identity: tuple[IdentityProblem, IdentityProblem]


@dataclass(frozen=True)
class Pulled:
    """The records of each side that are matched here, and the answer about the others; None if none is settled."""

    records: tuple[Streamed, Streamed]
    settled: Settled | None


def pulled(bound: BoundReconciliation, records: Mapping[str, Pushed], slot: dt.datetime) -> Pulled:
    """Let the database of both sides, in its one snapshot, settle what it can."""
    pushed = [records[side.relation.dataset] for side in bound.sides]
    settings = _SETTINGS.get(pushed[LEFT].dialect, ())
    for setting in settings[:1]:
        pushed[LEFT].whole(_set(setting))
    counts = [
        _Counts.of(query, source.whole(query.counts()))
        for query, source in zip(queries(bound, records, slot), pushed, strict=True)
    ]
    settling = Settling.of(bound, records, slot, [each.days for each in counts])
    for setting in settings[1:]:
        pushed[LEFT].whole(_set(setting))
    settled = None
    if not any(each.others or not each.is_bounded for each in counts):
        settled = _answer(settling, pushed[LEFT])
    if settled is None:
        return Pulled(_streams(pushed, [query.rest(None) for query in settling.sides]), None)
    identity = tuple(
        Pushdown(source).identity_of(query.own_id, query.ids()) if query.side.relation.id else IdentityProblem()
        for query, source in zip(settling.sides, pushed, strict=True)
    )
    answer = Settled(
        settled.keys,
        (counts[LEFT].states, counts[RIGHT].states),
        (counts[LEFT].total, counts[RIGHT].total),
        settled.sums,
        (identity[LEFT], identity[RIGHT]),
    )
    return Pulled(_streams(pushed, settled.others), answer)


def queries(
    bound: BoundReconciliation, records: Mapping[str, Pushed], slot: dt.datetime
) -> tuple[SideQuery, SideQuery]:
    """Return both sides before the days of their instants are known."""
    return Settling.of(bound, records, slot, [{}, {}]).sides


def texts(bound: BoundReconciliation, records: Mapping[str, Pushed], slot: dt.datetime) -> tuple[str, ...]:
    """Return the SQL for display, as if all instants had one offset from UTC."""
    settling = Settling.of(bound, records, slot, [{}, {}])
    shown: dict[str, sa.ClauseElement] = {
        f"all {query.side.name} records, by state and currency": query.counts() for query in settling.sides
    }
    is_postgresql = settling.dialect == "postgresql"
    name = "settled keys: one record of each side that agree"
    shown[f"{name}; then the marks of the others" if is_postgresql else name] = (
        settling.at_once() if is_postgresql else settling.sums()
    )
    for query in settling.sides:
        shown[f"{query.side.name} records of other keys, matched here"] = (
            query.with_marks(sa.literal_column("'{the marks}'::bigint[]"))
            if is_postgresql
            else query.rest(settling.marks())
        )
    return tuple(f"-- {name}\n{render(statement, settling.dialect)}" for name, statement in shown.items())


def _streams(pushed: Sequence[Pushed], statements: Sequence[Select]) -> tuple[Streamed, Streamed]:
    """Return the records of both sides, each with the columns in `needed`."""
    left, right = (
        Streamed(functools.partial(_stream, source, statement))
        for source, statement in zip(pushed, statements, strict=True)
    )
    return left, right


def _stream(source: Pushed, statement: Select, columns: tuple[str, ...]) -> pa.RecordBatchReader:
    reader = source.query(statement)
    assert tuple(reader.schema.names) == columns  # noqa: S101 - the columns that the side needs
    return reader


_SETTINGS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "postgresql": ({"jit": "off", "parallel_tuple_cost": "0.001"}, {"enable_nestloop": "off", "enable_hashagg": "off"})
}
"""Settings for a snapshot: at its begin, and before keys are compared. PostgreSQL takes the groups of a key for few:
it would join them row by row, and aggregate by hash, three times slower once that spills."""


def _set(settings: Mapping[str, str]) -> Select:
    """Set these for the transaction only."""
    columns: list[Element] = [
        sa.func.set_config(name, value, sa.true(), type_=sa.Text()).label(name) for name, value in settings.items()
    ]
    return sa.select(*columns)


@dataclass(frozen=True)
class _Counts:
    """The answer to `SideQuery.counts`. `others` are the records with a text that is not ASCII where that matters."""

    states: Mapping[int, int]
    total: RecordSums
    others: int
    days: Days

    @classmethod
    def of(cls, query: SideQuery, answer: pa.Table) -> _Counts:
        states: dict[int, int] = {}
        total = RecordSums()
        rows = answer.to_pylist()
        for row in rows:
            state = int(row["state"])
            states[state] = states.get(state, 0) + row["records"]
            if state not in LEFT_OUT:
                total.add([(row["currency"], row["records"], _amount(row, "money"))])
                total.no_amount += int(row.get("no_amount", 0))
                total.no_currency += int(row.get("no_currency", 0))
        ends = {name: [row[f"{end}_{name}"] for row in rows for end in ("first", "last")] for name in query.instants}
        present = {name: [day for day in days if day is not None] for name, days in ends.items()}
        days = {name: (min(of_name), max(of_name)) if of_name else None for name, of_name in present.items()}
        return cls(states, total, sum(int(row["others"]) for row in rows), days)

    @property
    def is_bounded(self) -> bool:
        return all(ends is None or (ends[1] - ends[0]).days <= _MOST_DAYS for ends in self.days.values())


def _answer(settling: Settling, source: Pushed) -> _Keys | None:
    """Ask which keys are settled; None if too many are not."""
    if settling.dialect != "postgresql":
        rows = source.whole(settling.sums()).to_pylist()
        return _Keys.of(rows, [query.rest(settling.marks()) for query in settling.sides])
    rows = source.whole(settling.at_once()).to_pylist()
    marks = [INCOMPLETE, *(row["mark"] for row in rows if row["mark"] is not None)]
    if len(marks) > MOST:
        return None
    settled = [row for row in rows if row["mark"] is None]
    return _Keys.of(settled, [query.with_marks(constant(marks)) for query in settling.sides])


@dataclass(frozen=True)
class _Keys:
    """The settled keys and the sums of their records, and the statements that select the other records."""

    keys: int
    sums: tuple[RecordSums, RecordSums]
    others: Sequence[Select]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], others: Sequence[Select]) -> _Keys:
        sums = (RecordSums(), RecordSums())
        for row in rows:
            for side in (LEFT, RIGHT):
                sums[side].add([(row[f"currency_{side}"], row["records"], _amount(row, f"money_{side}"))])
        return cls(sum(row["records"] for row in rows), sums, others)


def _amount(row: Mapping[str, Any], name: str) -> Decimal | None:
    if row.get(name) is None:
        return None
    high, low = Decimal(row[name]), row.get(f"{name}_low")
    return high if low is None else EXACT.add(EXACT.multiply(high, Decimal(BILLION)), Decimal(low))
