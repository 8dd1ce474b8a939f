"""totals: only the sums of each key are compared, and no records are paired."""

from __future__ import annotations

import datetime as dt
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules.groups.group import Discrepancy
from rules.kinds.reconciliation import members
from rules.kinds.reconciliation.accounts import MATCHED, Account, RecordSums
from rules.kinds.reconciliation.bound import AmountLimits, BoundReconciliation
from rules.kinds.reconciliation.findings import Reporter
from rules.kinds.reconciliation.judging import within
from rules.kinds.reconciliation.outcomes import CODES, LEFT, RIGHT, Members
from rules.kinds.reconciliation.statements import UNSETTLED, Statements
from rules.kinds.reconciliation.workspace import Workspace
from rules.pairs import distances
from rules.values import EXACT

MOST_SHOWN = 10
"""Records of each side that a finding names."""
_ZERO = Decimal(0)


@dataclass(frozen=True)
class KeyTotals:
    """The keys whose sums differ, by number: their sums, their money by currency, and some of their records."""

    bound: BoundReconciliation
    sums: list[tuple[Decimal, Decimal]]
    records: list[tuple[int, int]]
    money: Mapping[int, Mapping[str, Decimal]]
    members: Members
    accounts: tuple[Account, Account]
    matched: int

    def groups(self, workspace: Workspace, statements: Statements, slot: dt.datetime) -> Iterator[Discrepancy]:
        if "unbalanced" not in self.bound.rule.report:
            return
        reporter = Reporter(self.bound)
        order = members.in_order(workspace, statements, self.members, len(self.sums))
        for number, sides in members.read(workspace, self.members, order, slot):
            yield reporter.total(sides, self.sums[number], self.money.get(number, {}), self._reason(number))

    def _reason(self, number: int) -> str | None:
        left, right = self.records[number]
        if max(left, right) <= MOST_SHOWN:
            return None
        return f"{left:,} left and {right:,} right records; the first {MOST_SHOWN} are listed"


def summed(workspace: Workspace, statements: Statements, bound: BoundReconciliation) -> KeyTotals:
    """Sum up both sides by key."""
    assert bound.limits is not None  # noqa: S101 - totals have sums
    sums = _sums if statements.adds_exactly else _exact_sums
    both = sums(workspace, statements, bound.limits)
    table = both.keys.append_column("number", pa.array(range(len(both.totals)), pa.int64()))
    with workspace.shown("chosen_keys", table):
        workspace.execute(f"create temp table {UNSETTLED} as select *, true as marked from chosen_keys")
    money, accounts = _accounts(workspace, statements)
    return KeyTotals(
        bound,
        both.totals,
        both.records,
        money,
        _members(workspace, statements),
        accounts,
        both.all_keys - len(both.totals),
    )


@dataclass(frozen=True)
class _Differing:
    """The keys whose sums differ, as a table, with their sums and records of each side; and the number of all keys."""

    keys: pa.Table
    totals: list[tuple[Decimal, Decimal]]
    records: list[tuple[int, int]]
    all_keys: int


def _sums(workspace: Workspace, statements: Statements, limits: AmountLimits) -> _Differing:
    """Let DuckDB add up decimals and integers."""
    both, names = _both(statements)
    keys = [both.c[name] for name in names]
    of_sides = [both.c.side == sa.literal_column(str(side)) for side in (LEFT, RIGHT)]
    zero: Any = sa.literal_column("0")
    totals = [
        sa.func.coalesce(sa.func.sum(both.c.amount).filter(of_side), zero).label(f"total_{side}")
        for side, of_side in enumerate(of_sides)
    ]
    counts = [sa.func.count().filter(of_side).label(f"records_{side}") for side, of_side in enumerate(of_sides)]
    select = sa.select(*keys, *totals, *counts).group_by(*keys)
    workspace.execute(f"create temp table both_sums as {workspace.text(select)}")
    sums = sa.table("both_sums", sa.column("total_0"), sa.column("total_1"))
    differing = workspace.query(sa.select(sa.text("*")).select_from(sums).where(sums.c.total_0 != sums.c.total_1))
    left, right = (_decimals(differing[f"total_{side}"]) for side in (LEFT, RIGHT))
    pairs = list(zip(left, right, strict=True))
    chosen = [number for number, pair in enumerate(pairs) if not within(*pair, limits)]
    exceeding = differing.take(pa.array(chosen, pa.int64()))
    counted = zip(*(exceeding[f"records_{side}"].to_pylist() for side in (LEFT, RIGHT)), strict=True)
    [(groups,)] = workspace.rows(sa.select(sa.func.count()).select_from(sums))
    records = [(int(of_left), int(of_right)) for of_left, of_right in counted]
    return _Differing(exceeding.select(names), [pairs[number] for number in chosen], records, int(groups))


def _exact_sums(workspace: Workspace, statements: Statements, limits: AmountLimits) -> _Differing:
    """Add up floats as the decimals they are written as: DuckDB only counts the different amounts of each key."""
    both, names = _both(statements)
    keys = [both.c[name] for name in names]
    values = [both.c.side, both.c.amount]
    number: Any = sa.func.dense_rank().over(order_by=keys)
    select = sa.select(*keys, *values, sa.func.count().label("records"), number.label("key")).group_by(*keys, *values)
    workspace.execute(f"create temp table both_amounts as {workspace.text(select)}")
    amounts = sa.table("both_amounts", *map(sa.column, (*names, "side", "amount", "records", "key")))
    columns = (amounts.c.key, amounts.c.side, amounts.c.amount, amounts.c.records)
    answer = workspace.query(sa.select(*columns).order_by(amounts.c.key))
    rows = (row for batch in answer.to_batches() for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))
    chosen, totals, records, groups = [], [], [], 0
    for key, of_key in itertools.groupby(rows, key=operator.itemgetter(0)):
        groups += 1
        pair, counts = _of_key(of_key)
        if not within(*pair, limits):
            chosen.append(key)
            totals.append(pair)
            records.append(counts)
    with workspace.shown("differing_keys", pa.table({"key": pa.array(chosen, pa.int64())})):
        differing = sa.table("differing_keys", sa.column("key"))
        distinct = sa.select(*(amounts.c[name] for name in names), amounts.c.key).distinct()
        joined = distinct.join_from(amounts, differing, amounts.c.key == differing.c.key).order_by(amounts.c.key)
        return _Differing(workspace.query(joined).select(names), totals, records, groups)


def _of_key(rows: Iterable[tuple[Any, ...]]) -> tuple[tuple[Decimal, Decimal], tuple[int, int]]:
    """Return the sums and the number of the records of each side; what is empty or not finite adds nothing."""
    totals, records = [_ZERO, _ZERO], [0, 0]
    for _, side, amount, count in rows:
        records[side] += count
        if amount is None:
            continue
        number = Decimal(amount) if isinstance(amount, str) else distances.number(amount)
        if number.is_finite():
            totals[side] = EXACT.add(totals[side], EXACT.multiply(number, Decimal(count)))
    return (totals[LEFT], totals[RIGHT]), (records[LEFT], records[RIGHT])


def _both(statements: Statements) -> tuple[sa.Subquery, list[str]]:
    """Select key, amount and side of the records of both sides; records with an incomplete key have keys of their own
    side. Also return the names of the key's columns."""
    amounts = statements.amounts
    assert amounts is not None  # noqa: S101 - see above
    names = [f"c{n}" for n in range(len(statements.screened))]
    sides = []
    for side in (LEFT, RIGHT):
        pairs = zip(names, statements.screened, strict=True)
        columns: list[Any] = [values[side].label(name) for name, values in pairs]
        columns += [amounts[side].label("amount"), sa.literal_column(str(side)).label("side")]
        sides.append(sa.select(*columns).where(statements.part(side, 0, 1)))
    return sa.union_all(*sides).subquery("both_sides"), names


def _decimals(column: pa.ChunkedArray) -> list[Decimal]:
    return [distances.number(value) for value in column.to_pylist()]


def _accounts(
    workspace: Workspace, statements: Statements
) -> tuple[Mapping[int, Mapping[str, Decimal]], tuple[Account, Account]]:
    money: dict[int, dict[str, Decimal]] = {}
    accounts = []
    for side, table in enumerate(workspace.tables):
        total, matched, differing = RecordSums(), RecordSums(), RecordSums()
        total.add(workspace.rows(table.sums(table.is_scanned)))
        matched.add(workspace.rows(statements.settled(side, 0, 1)))
        marked, agree = statements.marked(side)
        of_keys = table.sums(table.takes_part, marked.c.number).select_from(table.table.join(marked, agree))
        for number, *row in workspace.rows(of_keys):
            sums = RecordSums()
            sums.add([row])
            differing.plus(sums)
            _subtract(money.setdefault(int(number), {}), sums.money, negative=side == RIGHT)
        accounts.append(Account(total, {MATCHED: matched, CODES["unbalanced"]: differing}))
    return money, (accounts[LEFT], accounts[RIGHT])


def _subtract(total: dict[str, Decimal], money: Mapping[str, Decimal], *, negative: bool) -> None:
    for currency, amount in money.items():
        combine = EXACT.subtract if negative else EXACT.add
        total[currency] = combine(total.get(currency, _ZERO), amount)


def _members(workspace: Workspace, statements: Statements) -> Members:
    """Return the first records of each key and side."""
    numbers, sides, rows = [], [], []
    for side, table in enumerate(workspace.tables):
        marked, agree = statements.marked(side)
        position = sa.func.row_number().over(partition_by=marked.c.number, order_by=table.order())
        ranked = (
            sa.select(marked.c.number, table.row.label("row"), position.label("position"))
            .select_from(table.table.join(marked, agree))
            .where(table.takes_part)
            .subquery("ranked")
        )
        first = sa.select(ranked.c.number, ranked.c.row).where(ranked.c.position <= MOST_SHOWN)
        answer = workspace.query(first.order_by(ranked.c.number, ranked.c.position))
        numbers.append(answer["number"].to_numpy())
        rows.append(answer["row"].to_numpy())
        sides.append(np.full(len(answer), side, np.int64))
    return Members(np.concatenate(numbers), np.concatenate(sides), np.concatenate(rows))
