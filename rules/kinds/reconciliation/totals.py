"""totals: only the sums of each key are compared, and no records are paired."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules import distances
from rules.engines.base import Discrepancy
from rules.kinds.reconciliation import members
from rules.kinds.reconciliation.accounts import MATCHED, Account, Sums
from rules.kinds.reconciliation.bound import BoundRule
from rules.kinds.reconciliation.findings import Reporter
from rules.kinds.reconciliation.judging import within
from rules.kinds.reconciliation.outcomes import CODES, LEFT, RIGHT, Members
from rules.kinds.reconciliation.statements import UNSETTLED, Select, Statements
from rules.kinds.reconciliation.workspace import Workspace
from rules.values import EXACT

MOST_SHOWN = 10
"""Records of each side that a finding names."""
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Totals:
    """The keys whose sums differ, by number: their sums, their money by currency, and some of their records."""

    bound: BoundRule
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


def summed(workspace: Workspace, statements: Statements, bound: BoundRule) -> Totals:
    """Sum up both sides by key."""
    workspace.execute(f"create temp table both_sums as {workspace.text(_sums(statements))}")
    both = sa.table("both_sums", sa.column("total_0"), sa.column("total_1"))
    differing = workspace.query(sa.select(sa.text("*")).select_from(both).where(both.c.total_0 != both.c.total_1))
    left, right = (_decimals(differing[f"total_{side}"]) for side in (LEFT, RIGHT))
    assert bound.limits is not None  # noqa: S101 - totals have sums
    chosen = [n for n, pair in enumerate(zip(left, right, strict=True)) if not within(*pair, bound.limits)]
    keys = differing.take(pa.array(chosen, pa.int64()))
    names = [name for name in differing.column_names if name.startswith("c")]
    table = keys.select(names).append_column("number", pa.array(range(len(chosen)), pa.int64()))
    with workspace.shown("chosen_keys", table):
        workspace.execute(f"create temp table {UNSETTLED} as select *, true as marked from chosen_keys")
    [(groups,)] = workspace.rows(sa.select(sa.func.count()).select_from(both))
    counts = zip(*(keys[f"records_{side}"].to_pylist() for side in (LEFT, RIGHT)), strict=True)
    money, accounts = _accounts(workspace, statements)
    return Totals(
        bound,
        [(left[n], right[n]) for n in chosen],
        [(int(of_left), int(of_right)) for of_left, of_right in counts],
        money,
        _members(workspace, statements),
        accounts,
        int(groups) - len(chosen),
    )


def _sums(statements: Statements) -> Select:
    """Select both sums of each key; records with an incomplete key have keys of their own side."""
    amounts = statements.amounts
    assert amounts is not None  # noqa: S101 - see above
    sides = []
    for side in (LEFT, RIGHT):
        columns: list[Any] = [value[side].label(f"c{n}") for n, value in enumerate(statements.screened)]
        columns += [amounts[side].label("amount"), sa.literal_column(str(side)).label("side")]
        sides.append(sa.select(*columns).where(statements.part(side, 0, 1)))
    both = sa.union_all(*sides).subquery("both_sides")
    keys = [both.c[f"c{n}"] for n in range(len(statements.screened))]
    of_sides = [both.c.side == sa.literal_column(str(side)) for side in (LEFT, RIGHT)]
    zero: Any = sa.literal_column("0")
    totals = [
        sa.func.coalesce(sa.func.sum(both.c.amount).filter(of_side), zero).label(f"total_{side}")
        for side, of_side in enumerate(of_sides)
    ]
    counts = [sa.func.count().filter(of_side).label(f"records_{side}") for side, of_side in enumerate(of_sides)]
    return sa.select(*keys, *totals, *counts).group_by(*keys)


def _decimals(column: pa.ChunkedArray) -> list[Decimal]:
    return [distances.number(value) for value in column.to_pylist()]


def _accounts(
    workspace: Workspace, statements: Statements
) -> tuple[Mapping[int, Mapping[str, Decimal]], tuple[Account, Account]]:
    money: dict[int, dict[str, Decimal]] = {}
    accounts = []
    for side, table in enumerate(workspace.tables):
        total, matched, differing = Sums(), Sums(), Sums()
        total.add(workspace.rows(table.sums(table.is_scanned)))
        matched.add(workspace.rows(statements.settled(side, 0, 1)))
        marked, agree = statements.marked(side)
        of_keys = table.sums(table.takes_part, marked.c.number).select_from(table.table.join(marked, agree))
        for number, *row in workspace.rows(of_keys):
            sums = Sums()
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
