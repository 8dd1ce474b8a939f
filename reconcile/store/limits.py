"""The use of limits in the store: the plans counted, and the sums per rule and target."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.store.bulk import insert_for, one_of
from reconcile.store.columns import json_text
from reconcile.store.database import Transaction
from reconcile.store.plans import BEYOND_LIMITS
from reconcile.store.tables import limit_uses, limits, plans

Kind = Literal["rule", "target"]
Texts = Mapping[str, str]
"""Amounts as decimals in text, by currency."""


@dataclass(frozen=True)
class Counted:
    """A counted plan: its use of its rule's and its target's limits."""

    plan: str
    rule: str
    target: str
    run: str | None
    at: dt.datetime
    records: int
    money: Texts


@dataclass(frozen=True)
class ScopeSums:
    """The sums of a scope at `counted_at`: of the 24 hours before, and of one run."""

    counted_at: dt.datetime | None
    day_records: int
    day_money: Texts
    run: str | None
    run_records: int
    run_money: Texts


@dataclass(frozen=True)
class ScopeRow:
    """The row of a scope; `stopped` is the reason why its cleaning is stopped."""

    stopped: str | None
    sums: ScopeSums


def lock(tx: Transaction, scopes: Collection[str]) -> dict[str, ScopeRow]:
    """Lock the rows of these scopes until the transaction ends, the last name first; return those that exist."""
    rows = tx.connection.execute(_LOCK, {"the_scopes": list(scopes)}).all()
    return {
        row.scope: ScopeRow(
            row.reason if row.stopped_at is not None else None, ScopeSums(*(getattr(row, name) for name in _SUMS))
        )
        for row in rows
    }


def create(tx: Transaction, scopes: Collection[str]) -> None:
    """Create the rows of these scopes that do not exist yet."""
    empty = {"day_records": 0, "day_money": {}, "run_records": 0, "run_money": {}}
    rows = [{"scope": scope} | empty for scope in sorted(scopes, reverse=True)]
    tx.connection.execute(insert_for(tx, limits).on_conflict_do_nothing(index_elements=["scope"]), rows)


def keep(tx: Transaction, scope: str, sums: ScopeSums) -> None:
    tx.connection.execute(_KEEP, vars(sums) | {"the_scope": scope})


def stop(tx: Transaction, scope: str, reason: str) -> None:
    tx.connection.execute(sa.update(limits).where(limits.c.scope == scope).values(stopped_at=tx.now, reason=reason))


def allow(tx: Transaction, scope: str) -> bool:
    """Allow the scope again; return False if it was not stopped."""
    stopped_row = sa.update(limits).where(limits.c.scope == scope, limits.c.stopped_at.is_not(None))
    return tx.connection.execute(stopped_row.values(stopped_at=None, reason=None)).rowcount > 0


def stopped(tx: Transaction) -> dict[str, str | None]:
    """Return the stopped scopes with their reasons."""
    query = sa.select(limits.c.scope, limits.c.reason).where(limits.c.stopped_at.is_not(None))
    return dict(tx.connection.execute(query.order_by(limits.c.scope)).all())


def counted(tx: Transaction, plans: Collection[str]) -> list[Counted]:
    """Return those of these plans that are counted."""
    return [Counted(*row) for row in tx.connection.execute(_COUNTED, {"the_plans": list(plans)})]


def put(tx: Transaction, uses: Sequence[Counted]) -> None:
    """Store the use of plans, in place of an earlier one of the same plan."""
    insert = insert_for(tx, limit_uses)
    newer = {name: insert.excluded[name] for name in ("run", "at", "records", "money")}
    statement = insert.on_conflict_do_update(index_elements=["plan"], set_=newer)
    rows = [dict(vars(use)) for use in uses]
    tx.connection.execute(statement, rows if len(rows) > 1 else rows[0])


def forget(tx: Transaction, plans: Iterable[str]) -> list[Counted]:
    """Delete the use of these plans and return it."""
    return [Counted(*row) for row in tx.connection.execute(_FORGET, {"the_plans": sorted(plans)})]


def records_between(
    tx: Transaction, kind: Kind, name: str, after: dt.datetime, until: dt.datetime | None = None
) -> tuple[int, Iterator[Texts]]:
    """Return the records that a rule or a target used after one time, and until another, and each amount of money."""
    conditions = [limit_uses.c[kind] == name, limit_uses.c.at > after]
    return _total(tx, *conditions, *([] if until is None else [limit_uses.c.at <= until]))


def records_in_run(tx: Transaction, kind: Kind, name: str, run: str) -> tuple[int, Iterator[Texts]]:
    """Return the records that a rule or a target used in a run, and each amount of money."""
    return _total(tx, limit_uses.c[kind] == name, limit_uses.c.run == run)


def records_within_limits(
    tx: Transaction, kind: Kind, name: str, after: dt.datetime, without: Collection[str]
) -> tuple[int, Iterator[Texts]]:
    """Return the use after a time of plans that were approved within limits, except those in `without`."""
    exceeds = sa.type_coerce(plans.c.summary, sa.Text).contains(json_text({BEYOND_LIMITS: True}).strip("{}"))
    approved = sa.select(plans.c.id).where(plans.c.state != PlanState.AWAITING.value, sa.not_(exceeds))
    conditions = [limit_uses.c[kind] == name, limit_uses.c.at > after]
    return _total(tx, *conditions, limit_uses.c.plan.in_(approved), limit_uses.c.plan.not_in(sorted(without)))


def _total(tx: Transaction, *conditions: sa.ColumnElement[bool]) -> tuple[int, Iterator[Texts]]:
    """The database adds uses without money, as a day may have many."""
    plain = sa.select(sa.func.coalesce(sa.func.sum(limit_uses.c.records), 0)).where(*conditions)
    records = int(tx.connection.execute(plain).scalar_one())
    with_money = sa.type_coerce(limit_uses.c.money, sa.Text) != "{}"
    query = sa.select(limit_uses.c.money).where(*conditions, with_money)
    amounts: Any = tx.connection.execute(query).scalars()
    return records, iter(amounts)


_SUMS = tuple(ScopeSums.__dataclass_fields__)
_LOCK = sa.select(limits).where(one_of(limits.c.scope, "the_scopes")).order_by(limits.c.scope.desc()).with_for_update()
_KEEP = (
    sa.update(limits)
    .where(limits.c.scope == sa.bindparam("the_scope"))
    .values({name: sa.bindparam(name, type_=limits.c[name].type) for name in _SUMS})
)
_USE = tuple(limit_uses.c[name] for name in Counted.__dataclass_fields__)
_COUNTED = sa.select(*_USE).where(one_of(limit_uses.c.plan, "the_plans"))
_FORGET = sa.delete(limit_uses).where(one_of(limit_uses.c.plan, "the_plans")).returning(*_USE)
