"""Circuit breakers in the store, one row per target; a probe is taken by compare-and-set."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.plans import LIVE
from reconcile.store.tables import breakers, plans, targets

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half_open"


class BreakerRow(NamedTuple):
    """A breaker. `requests`: the minute, and the calls and retries in it."""

    target: str
    state: str
    failures: int
    opened_at: dt.datetime | None
    probe_at: dt.datetime | None
    reason: str | None
    fence: int
    requests: list[int]


def get(tx: Transaction, target: str) -> BreakerRow | None:
    """Return the breaker of a target; None if nothing ever failed there."""
    row = tx.connection.execute(_ROW, {"which": target}).one_or_none()
    return None if row is None else BreakerRow(*row)


def locked(tx: Transaction, target: str) -> BreakerRow:
    """Return the breaker, locked until the transaction ends; a closed one is created if there is none."""
    row = tx.connection.execute(_LOCKED, {"which": target}).one_or_none()
    if row is None:
        new_row = {"target": target, "state": CLOSED, "failures": 0, "requests": [], "fence": 0}
        insert = insert_for(tx, breakers).on_conflict_do_nothing(index_elements=["target"])
        tx.connection.execute(insert, new_row)
        row = tx.connection.execute(_LOCKED, {"which": target}).one()
    return BreakerRow(*row)


def not_closed(tx: Transaction) -> list[BreakerRow]:
    query = sa.select(*_COLUMNS).where(breakers.c.state != CLOSED).order_by(breakers.c.target)
    return [BreakerRow(*row) for row in tx.connection.execute(query)]


def listed(tx: Transaction) -> list[BreakerRow]:
    """Return the breakers of all targets where anything ever failed."""
    return [BreakerRow(*row) for row in tx.connection.execute(sa.select(*_COLUMNS).order_by(breakers.c.target))]


def set_values(tx: Transaction, target: str, **values: Any) -> None:
    """Write columns of a breaker that this transaction locked."""
    tx.connection.execute(sa.update(breakers).where(breakers.c.target == target).values(values))


def take_probe(tx: Transaction, target: str, fence: int, next_at: dt.datetime) -> int | None:
    """Take the probe that is due, with the breaker's next fence; None if another worker took it."""
    bound = {"which": target, "seen": fence, "now": tx.now, "next": next_at}
    new_fence: int | None = tx.connection.execute(_PROBE, bound).scalar_one_or_none()
    return new_fence


def close_after(tx: Transaction, target: str, probe: int) -> bool:
    """Close the breaker whose probe has this fence; return False if it has another one."""
    return tx.connection.execute(_CLOSE, {"which": target, "seen": probe}).rowcount > 0


def forget_failures(tx: Transaction, target: str) -> None:
    """Forget the failures of a closed breaker."""
    tx.connection.execute(_FORGET_FAILURES, {"which": target})


def awaited(tx: Transaction) -> list[tuple[str, str]]:
    """Return the targets, with the source, of plans that wait for an approval or are not over."""
    query = sa.select(plans.c.target, plans.c.source).where(plans.c.state.in_([state.value for state in LIVE]))
    return [(target, source) for target, source in tx.connection.execute(query.distinct())]


def sources(tx: Transaction) -> dict[str, str]:
    """Return the source of each known target."""
    return {row.identity: row.source for row in tx.connection.execute(_SOURCES)}


def planned_in(tx: Transaction, target: str) -> str | None:
    """Return the source that the newest plan for this target names."""
    source: str | None = tx.connection.execute(_PLANNED_IN, {"the_target": target}).scalar_one_or_none()
    return source


_SOURCES = sa.select(targets.c.identity, targets.c.source)
_PLANNED_IN = (
    sa.select(plans.c.source)
    .where(plans.c.target == sa.bindparam("the_target"))
    .order_by(plans.c.created_at.desc(), plans.c.id)
    .limit(1)
)
_OF_TARGET = breakers.c.target == sa.bindparam("which")
_COLUMNS = tuple(breakers.c[name] for name in BreakerRow._fields)
_ROW = sa.select(*_COLUMNS).where(_OF_TARGET)
_LOCKED = _ROW.with_for_update()
_NOW = sa.bindparam("now", type_=breakers.c.probe_at.type)
_PROBE = (
    sa.update(breakers)
    .where(
        _OF_TARGET,
        breakers.c.fence == sa.bindparam("seen"),
        breakers.c.state != CLOSED,
        sa.func.coalesce(breakers.c.probe_at, _NOW) <= _NOW,
    )
    .values(state=HALF_OPEN, fence=breakers.c.fence + 1, probe_at=sa.bindparam("next", type_=breakers.c.probe_at.type))
    .returning(breakers.c.fence)
)
_CLOSE = (
    sa.update(breakers)
    .where(_OF_TARGET, breakers.c.fence == sa.bindparam("seen"), breakers.c.state == HALF_OPEN)
    .values(state=CLOSED, failures=0, reason=None, opened_at=None, probe_at=None)
)
_FORGET_FAILURES = (
    sa.update(breakers).where(_OF_TARGET, breakers.c.state == CLOSED, breakers.c.failures > 0).values(failures=0)
)
