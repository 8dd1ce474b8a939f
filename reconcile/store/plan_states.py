"""Changes of stored plans: each compares fence and state, so only one of two workers makes it."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.findings.states import WITHDRAWABLE, PlanState
from reconcile.store import bulk
from reconcile.store.bulk import one_of
from reconcile.store.database import Transaction
from reconcile.store.plans import COLUMNS, LIVE, STANDING, StoredPlan, stored
from reconcile.store.tables import findings, plans

CHUNK = 1_000
CLAIMED = (PlanState.CLAIMED, PlanState.SENT, PlanState.UNKNOWN)
WAITING = (PlanState.RETRY_WAIT, PlanState.APPROVED)


class Expected(NamedTuple):
    """The fence and the state that a plan must have in the store for a change."""

    fence: int
    state: PlanState


class ClaimedRow(NamedTuple):
    """A plan that a worker claimed; `owner` is the worker as JSON."""

    id: str
    state: PlanState
    source: str
    target: str
    owner: Any
    lease_until: dt.datetime


# Locking


def locked(tx: Transaction, ids: Iterable[str], states: Sequence[PlanState]) -> Iterator[StoredPlan]:
    """Yield those of these plans that are in one of the states, by id, locked until the transaction ends."""
    sorted_ids = sorted(set(ids))
    for at in range(0, len(sorted_ids), CHUNK):
        query = sa.select(*COLUMNS).where(plans.c.id.in_(sorted_ids[at : at + CHUNK]))
        query = query.where(plans.c.state.in_(_values(states)))
        for row in tx.connection.execute(query.order_by(plans.c.id).with_for_update()):
            yield stored(tx, row)


def free(tx: Transaction, ids: Collection[str]) -> Iterator[StoredPlan]:
    """Yield those of these plans that may be claimed now, locked; plans locked by others are left out."""
    sorted_ids = sorted(set(ids))
    for at in range(0, len(sorted_ids), CHUNK):
        for row in tx.connection.execute(_FREE, {"the_ids": sorted_ids[at : at + CHUNK], "now": tx.now}):
            yield stored(tx, row)


def lock_live(tx: Transaction, rule: str) -> None:
    """Lock the rule's plans that are not over until the transaction ends."""
    query = sa.select(plans.c.id).where(plans.c.rule == rule, plans.c.state.in_(_values(LIVE)))
    tx.connection.execute(query.order_by(plans.c.id).with_for_update()).all()


def lock_findings(tx: Transaction, ids: Collection[str]) -> None:
    """Lock these findings, and before them their plans that are not over, until the transaction ends."""
    sorted_ids = sorted(set(ids))
    for at in range(0, len(sorted_ids), CHUNK):
        bound = {"the_findings": sorted_ids[at : at + CHUNK]}
        tx.connection.execute(_LIVE.with_for_update(), bound).all()
        tx.connection.execute(_FINDINGS, bound).all()


def lock_plans(tx: Transaction, ids: Collection[str]) -> None:
    """Lock these plans in the common order until the transaction ends."""
    query = sa.select(plans.c.id).where(one_of(plans.c.id, "the_ids")).order_by(plans.c.id)
    tx.connection.execute(query.with_for_update(), {"the_ids": sorted(ids)}).all()


# Writing


def update(tx: Transaction, ids: Sequence[str], expected: Expected, values: Mapping[str, Any]) -> int:
    """Write these columns of plans that are as expected; return the number of changed plans."""
    bound = {**values, "the_fence": expected.fence, "the_state": expected.state.value}
    statement = _update_many(tuple(sorted(values)))
    return sum(
        tx.connection.execute(statement, bound | {"the_ids": ids[at : at + CHUNK]}).rowcount
        for at in range(0, len(ids), CHUNK)
    )


def update_each(
    tx: Transaction,
    expected: Sequence[tuple[str, Expected]],
    values: Sequence[Mapping[str, Any]],
    common: Mapping[str, Any],
) -> int:
    """Write different columns of each plan, and common ones, if it is as expected; return the number changed."""
    keys = [{"id": name, "fence": plan.fence, "state": plan.state.value} for name, plan in expected]
    return bulk.update(tx, plans, keys, values, common)


def fences(tx: Transaction, ids: Collection[str]) -> dict[str, int]:
    """Return the fence of each of these plans."""
    query = sa.select(plans.c.id, plans.c.fence).where(plans.c.id.in_(list(ids)))
    return dict(tx.connection.execute(query).all())


def renew(tx: Transaction, ids: Sequence[str], fence: int, owner: Mapping[str, Any], until: dt.datetime) -> int:
    """Give claimed plans with this fence a new deadline; return the number of renewed plans."""
    bound = {"the_fence": fence, "the_ids": sorted(ids), "until": until, "the_owner": owner}
    return tx.connection.execute(_RENEW, bound).rowcount


def make_due(tx: Transaction, ids: Sequence[str]) -> None:
    """Make those of these plans that wait due now, with a new budget."""
    tx.connection.execute(_NOW, {"the_ids": ids, "now": tx.now})


def end_wait(tx: Transaction, reason: str) -> None:
    """Make the plans due now that wait for this reason."""
    tx.connection.execute(_NO_LONGER, {"the_reason": reason, "now": tx.now})


# Which plans


def live_of(tx: Transaction, of_findings: Sequence[str]) -> tuple[list[StoredPlan], dict[str, int]]:
    """Return the plans of these findings that are not over, and the number of all plans of each finding."""
    live: list[StoredPlan] = []
    numbers: dict[str, int] = {}
    for at in range(0, len(of_findings), CHUNK):
        bound = {"the_findings": list(of_findings[at : at + CHUNK])}
        batch_numbers: dict[str, int] = dict(tx.connection.execute(_NUMBERS, bound).all())
        if batch_numbers:
            live += [stored(tx, row) for row in tx.connection.execute(_LIVE, bound)]
        numbers |= batch_numbers
    return live, numbers


def standing_of(tx: Transaction, of_findings: Iterable[str]) -> Iterator[str]:
    """Yield the plans of these findings that were not begun, without undos."""
    sorted_findings = sorted(set(of_findings))
    for at in range(0, len(sorted_findings), CHUNK):
        chosen = (plans.c.finding.in_(sorted_findings[at : at + CHUNK]), plans.c.undoes.is_(None))
        query = sa.select(plans.c.id).where(*chosen, plans.c.state.in_(_values(STANDING)))
        yield from tx.connection.execute(query).scalars().all()


def withdrawable(tx: Transaction, rule: str, *, outside: str | None) -> list[str]:
    """Return the rule's plans that may be withdrawn, outside of a source if one is given, without undos."""
    idle = plans.c.state.in_(_values(WITHDRAWABLE))
    query = sa.select(plans.c.id).where(plans.c.rule == rule, idle, plans.c.undoes.is_(None))
    if outside is not None:
        query = query.where(plans.c.source != outside)
    return list(tx.connection.execute(query).scalars())


def expired(tx: Transaction) -> list[str]:
    """Return the plans past their expiry date that were not begun."""
    over = sa.select(plans.c.id).where(plans.c.state.in_(_values(STANDING)), plans.c.expires_at < tx.now)
    return list(tx.connection.execute(over).scalars())


def claimed(tx: Transaction, source: str | None = None) -> list[ClaimedRow]:
    """Return the plans of a source, or of all, that a worker has, by id."""
    columns = (plans.c[name] for name in ClaimedRow._fields)
    of_source = sa.true() if source is None else plans.c.source == source
    query = sa.select(*columns).where(plans.c.state.in_(_values(CLAIMED)), plans.c.owner.is_not(None), of_source)
    rows = (ClaimedRow(*row) for row in tx.connection.execute(query.order_by(plans.c.id)))
    return [row._replace(state=PlanState(row.state)) for row in rows]


def sources_unsettled(tx: Transaction) -> list[str]:
    """Return the sources with plans that are claimed, or have an unknown outcome."""
    query = sa.select(plans.c.source).where(plans.c.state.in_(_values(CLAIMED)))
    return list(tx.connection.execute(query.distinct().order_by(plans.c.source)).scalars())


def targets_with_unknown_outcomes(tx: Transaction, source: str | None = None) -> set[str]:
    """Return the targets of due plans with an unknown outcome that no worker has."""
    query = sa.select(plans.c.target).where(_may_be_asked(tx), plans.c.owner.is_(None)).distinct()
    if source is not None:
        query = query.where(plans.c.source == source)
    return set(tx.connection.execute(query).scalars())


def with_unknown_outcome(tx: Transaction, source: str) -> Iterator[StoredPlan]:
    """Yield due plans with an unknown outcome, the longest waiting first, locked; plans locked by others are left
    out."""
    query = sa.select(*COLUMNS).where(_may_be_asked(tx), plans.c.source == source)
    query = query.order_by(plans.c.next_at, plans.c.id).with_for_update(skip_locked=True)
    return (stored(tx, row) for row in tx.connection.execute(query))


def put_off_unknown(tx: Transaction, source: str, next_at: dt.datetime) -> None:
    """Postpone due plans of a source with an unknown outcome that no worker has."""
    is_due = sa.and_(_may_be_asked(tx), plans.c.owner.is_(None))
    tx.connection.execute(sa.update(plans).where(plans.c.source == source, is_due).values(next_at=next_at))


def undo_in_quarantine(tx: Transaction, plan: str) -> str | None:
    """Return the undo of a plan that is in quarantine."""
    query = sa.select(plans.c.id).where(plans.c.undoes == plan, plans.c.state == PlanState.QUARANTINED.value)
    undo: str | None = tx.connection.execute(query).scalars().first()
    return undo


def _may_be_asked(tx: Transaction) -> sa.ColumnElement[bool]:
    return sa.and_(plans.c.state == PlanState.UNKNOWN.value, plans.c.next_at <= tx.now)


def _values(states: Iterable[PlanState]) -> list[str]:
    return [state.value for state in states]


@functools.cache
def _update_many(names: tuple[str, ...]) -> sa.Update:
    same = (plans.c.fence == sa.bindparam("the_fence"), plans.c.state == sa.bindparam("the_state"))
    return sa.update(plans).where(_THESE, *same).values(bulk.bound(plans, names))


_THESE = one_of(plans.c.id, "the_ids")
_FREE = (
    sa.select(*COLUMNS)
    .where(_THESE, plans.c.state.in_(_values(WAITING)))
    .where(plans.c.next_at <= sa.bindparam("now", type_=plans.c.next_at.type))
    .order_by(plans.c.id)
    .with_for_update(skip_locked=True)
)
_RENEW = (
    sa.update(plans)
    .where(_THESE, plans.c.fence == sa.bindparam("the_fence"), plans.c.owner.is_not(None))
    .values(
        owner=sa.bindparam("the_owner", type_=plans.c.owner.type),
        lease_until=sa.bindparam("until", type_=plans.c.lease_until.type),
    )
)
_NOW = (
    sa.update(plans)
    .where(_THESE, plans.c.state.in_(_values(WAITING)))
    .values(next_at=sa.bindparam("now", type_=plans.c.next_at.type), attempts=0, give_up_at=None)
)
_NO_LONGER = (
    sa.update(plans)
    .where(plans.c.state.in_(_values(WAITING)), plans.c.reason == sa.bindparam("the_reason"))
    .values(next_at=sa.bindparam("now", type_=plans.c.next_at.type))
)
_FINDINGS = (
    sa.select(findings.c.id).where(one_of(findings.c.id, "the_findings")).order_by(findings.c.id).with_for_update()
)
_NUMBERS = (
    sa.select(plans.c.finding, sa.func.count()).where(one_of(plans.c.finding, "the_findings")).group_by(plans.c.finding)
)
_LIVE = (
    sa.select(*COLUMNS)
    .where(one_of(plans.c.finding, "the_findings"), plans.c.state.in_(_values(LIVE)))
    .order_by(plans.c.id)
)
