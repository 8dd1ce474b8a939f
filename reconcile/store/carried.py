"""Findings that an incremental run did not look at: it takes them over from the previous run as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal

import sqlalchemy as sa

from reconcile.findings.states import LIVE, State
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import chunks, touch
from reconcile.store.tables import findings, rule_state
from rules import values


@dataclass(frozen=True)
class FindingsTakenOver:
    """Findings taken over: the number of `undecided` ones with the sum of their money per currency, and of others."""

    undecided: int = 0
    decided: int = 0
    money: dict[str, Decimal] = field(default_factory=dict)


def last_run(tx: Transaction, rule: str) -> str | None:
    """Return the run that last updated the rule's findings."""
    run: str | None = tx.connection.execute(
        sa.select(rule_state.c.last_run).where(rule_state.c.rule == rule)
    ).scalar_one_or_none()
    return run


def lock(tx: Transaction, ids: Iterable[str]) -> None:
    """Block decisions of people about these findings until the transaction ends."""
    for chunk in chunks(sorted(ids)):
        of_chunk = sa.select(findings.c.id).where(findings.c.id.in_(chunk)).order_by(findings.c.id)
        tx.connection.execute(of_chunk.with_for_update()).all()


def carry_on(tx: Transaction, rule: str, looked_at: Collection[str], *, before: str, run: str) -> FindingsTakenOver:
    """Let `run` see the findings that the run `before` saw last, except those it looked at itself.

    Resolved and merged ones ended.
    """
    ended = (State.RESOLVED.value, State.MERGED.value)
    left = (findings.c.rule == rule, findings.c.last_run == before, findings.c.state.not_in(ended))
    undecided, money, ids = 0, dict[str, Decimal](), list[str]()
    live = {state.value for state in LIVE}
    for row in tx.connection.execute(sa.select(findings.c.id, findings.c.state, findings.c.money).where(*left)):
        if row.id in looked_at:
            continue
        ids.append(row.id)
        if row.state in live:
            undecided += 1
            values.add(money, {code: Decimal(amount).copy_abs() for code, amount in row.money.items()})
    touch(tx, ids, run)
    return FindingsTakenOver(undecided, len(ids) - undecided, money)
