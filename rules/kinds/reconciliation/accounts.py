"""Where every record and every amount went: the sums of what matching did with each side, against what was read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules.engines.base import Unanswerable
from rules.groups.detection import BalanceLine
from rules.kinds.reconciliation import balance
from rules.kinds.reconciliation.outcomes import CODES, NOT_YET_DUE, Outcomes
from rules.kinds.reconciliation.workspace import Workspace
from rules.pairs import distances
from rules.pairs.numbers import Integers
from rules.values import EXACT, currency_name

MATCHED = len(CODES)
_ZERO = Decimal(0)


class RecordsUnaccounted(Unanswerable):
    """Matching did not account for each record exactly once."""

    def __init__(self, rule: str, dataset: str, records: int, accounted: int) -> None:
        super().__init__(
            f"Rule {rule!r} does not balance: of {records:,} records of dataset {dataset!r}, {accounted:,} are in its "
            "matches and findings. Nothing was reported. If it fails again, report this as a defect."
        )


@dataclass
class RecordSums:
    """The number of records and the sum of their money, by currency.

    Of all records of a side, `no_amount` have no amount, and `no_currency` an amount without a currency.
    """

    records: int = 0
    no_amount: int = 0
    no_currency: int = 0
    money: dict[str, Decimal] = field(default_factory=dict)

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows of currency, number of records, and the sum of their money; of floats, the value of each."""
        for currency, records, money in rows:
            self.records += records
            is_float = isinstance(money, float)
            if money is None or currency is None or (is_float and money - money != 0):
                continue
            amount = distances.number(money)
            self._add(currency_name(str(currency)), EXACT.multiply(amount, Decimal(records)) if is_float else amount)

    def plus(self, sums: RecordSums) -> None:
        self.records += sums.records
        self.no_amount += sums.no_amount
        self.no_currency += sums.no_currency
        for currency, amount in sums.money.items():
            self._add(currency, amount)

    def _add(self, currency: str, amount: Decimal) -> None:
        self.money[currency] = EXACT.add(self.money.get(currency, _ZERO), amount)


@dataclass(frozen=True)
class Account:
    """The records of one side: all that were read, and what became of them, by the code of their form or MATCHED."""

    total: RecordSums
    parts: Mapping[int, RecordSums]

    def of(self, code: int) -> Mapping[str, Decimal]:
        return self.parts.get(code, RecordSums()).money


def accounts(
    workspace: Workspace, outcomes: Outcomes, agreed: Sequence[RecordSums], totals: Sequence[RecordSums] | None
) -> tuple[Account, Account]:
    """Sum up each side twice: as its records were read, and by what became of them.

    `totals` are the first sums if a database has them.
    """
    members, forms = outcomes.members, outcomes.forms
    both = []
    for side, table in enumerate(workspace.tables):
        chosen = members.side == side
        total = RecordSums()
        if totals is None:
            total.add(workspace.rows(table.sums(table.is_scanned)))
            [(total.no_amount, total.no_currency)] = workspace.rows(table.unpriced())
        else:
            total.plus(totals[side])
        parts = summed_by_code(workspace, side, members.row[chosen], forms[members.number[chosen]])
        both.append(Account(total, {MATCHED: agreed[side], **parts}))
    return both[0], both[1]


def summed_by_code(
    workspace: Workspace, side: int, rows: Integers, codes: Integers | None = None
) -> dict[int, RecordSums]:
    """Sum up records by the code that each has, or by MATCHED."""
    if not len(rows):
        return {}
    table = workspace.tables[side]
    given = pa.table({"row": rows, "code": np.full(len(rows), MATCHED) if codes is None else codes})
    placed = sa.table("placed", sa.column("row", sa.BigInteger()), sa.column("code", sa.BigInteger()))
    joined = table.table.join(placed, table.row == placed.c.row)
    parts: dict[int, RecordSums] = {}
    with workspace.shown(placed.name, given):
        for code, *sums in workspace.rows(table.sums(sa.true(), placed.c.code).select_from(joined)):
            parts.setdefault(int(code), RecordSums()).add([sums])
    return parts


def proven(
    rule: str, datasets: Sequence[str], left: Account, right: Account, reported: Collection[str], *, has_money: bool
) -> tuple[BalanceLine, ...]:
    """Return the balance by currency. Raises RecordsUnaccounted or BalanceBroken unless everything is accounted for."""
    for dataset, account in zip(datasets, (left, right), strict=True):
        accounted = sum(sums.records for sums in account.parts.values())
        if accounted != account.total.records:
            raise RecordsUnaccounted(rule, dataset, account.total.records, accounted)
    if not has_money:
        return ()
    by_form = {form: _sides(left, right, code) for form, code in CODES.items()}
    not_yet_due = by_form.pop(NOT_YET_DUE)
    total = balance.Sides(left.total.money, right.total.money)
    return balance.balance(rule, total, _sides(left, right, MATCHED), by_form, not_yet_due, reported)


def _sides(left: Account, right: Account, code: int) -> balance.Sides:
    return balance.Sides(left.of(code), right.of(code))
