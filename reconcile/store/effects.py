"""The operations in the store: one row per idempotency key, kept forever."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.store import bulk
from reconcile.store.bulk import one_of
from reconcile.store.database import Transaction
from reconcile.store.plans import COLUMNS, StoredPlan, stored
from reconcile.store.tables import effects, plans

_CHUNK = 1_000


class NewEffect(NamedTuple):
    """An operation to be sent. `record` is the HMAC of the record's name."""

    key: str
    plan: str
    target: str
    effect: str
    record: str
    generation: int
    fingerprint: str


class BoundKey(NamedTuple):
    """The plan that a key belongs to, the operation's state, and the content that was sent."""

    key: str
    plan: str
    state: str
    fingerprint: str
    outcome_unknown: bool


class Generation(NamedTuple):
    """An operation on a record: the record's HMAC, its generation, and the operation's state."""

    effect: str
    record: str
    generation: int
    state: str


def bind(tx: Transaction, operations: Sequence[NewEffect]) -> int:
    """Store operations as sent now, except those whose key exists; return their number."""
    sent = {"state": PlanState.SENT.value, "outcome_unknown": False, "sent_at": tx.now}
    return bulk.insert(tx, effects, [operation._asdict() | sent for operation in operations], ignore=True)


def locked(tx: Transaction, keys: Sequence[str]) -> dict[str, BoundKey]:
    """Return the operations with these keys, locked until the transaction ends."""
    by_key: dict[str, BoundKey] = {}
    for at in range(0, len(keys), _CHUNK):
        for row in tx.connection.execute(_BOUND, {"the_keys": keys[at : at + _CHUNK]}):
            by_key[row.key] = BoundKey(*row)
    return by_key


def bind_again(tx: Transaction, operations: Sequence[NewEffect]) -> None:
    """Give the keys of these operations, which were proven not done, to their plans, as sent now."""
    rows = [
        {"the_key": new.key, "the_plan": new.plan, "the_fingerprint": new.fingerprint, "the_sent_at": tx.now}
        for new in operations
    ]
    if rows:
        tx.connection.execute(_REBIND, rows if len(rows) > 1 else rows[0])


def unbind(tx: Transaction, plans: Collection[str]) -> None:
    """Delete the operations just stored for plans that are not sent."""
    for plan in plans:
        tx.connection.execute(_UNBIND, {"the_plan": plan})


def move(
    tx: Transaction,
    plans: Sequence[str],
    state: PlanState,
    *,
    ended_at: dt.datetime | None,
    outcome_unknown: bool,
) -> None:
    """Move all operations of these plans to a state."""
    for at in range(0, len(plans), _CHUNK):
        values = {"the_state": state.value, "the_end": ended_at, "is_unknown": outcome_unknown}
        tx.connection.execute(_MOVE, values | {"the_plans": plans[at : at + _CHUNK]})


def set_state(tx: Transaction, plans: Sequence[str], state: PlanState) -> None:
    """Write only the state of all operations of these plans."""
    tx.connection.execute(_SET_STATE, {"the_state": state.value, "the_plans": plans})


def generations_of(tx: Transaction, target: str, records: Collection[str]) -> Iterator[Generation]:
    """Yield every operation on these records, named by their HMACs."""
    hashes = sorted(records)
    for at in range(0, len(hashes), _CHUNK):
        bound = {"target": target, "subjects": hashes[at : at + _CHUNK]}
        yield from (Generation(*row) for row in tx.connection.execute(_GENERATIONS, bound))


def plans_of(tx: Transaction, keys: Collection[str]) -> Iterator[StoredPlan]:
    """Yield the plans that these keys belong to, each once."""
    query = sa.select(*COLUMNS).join(effects, effects.c.plan == plans.c.id).where(effects.c.key.in_(list(keys)))
    return (stored(tx, row) for row in tx.connection.execute(query.distinct()))


def succeeded(tx: Transaction, keys: Collection[str]) -> set[str]:
    """Return those of these keys whose operation succeeded."""
    is_done = effects.c.state == PlanState.SUCCEEDED.value
    return set(tx.connection.execute(sa.select(effects.c.key).where(effects.c.key.in_(list(keys)), is_done)).scalars())


def numbers(tx: Transaction, states: Collection[PlanState]) -> dict[str, int]:
    """Return the number of operations of each plan in these states that sent any."""
    query = sa.select(plans.c.id, sa.func.count()).join(effects, effects.c.plan == plans.c.id).group_by(plans.c.id)
    rows = tx.connection.execute(query.where(plans.c.state.in_([state.value for state in states])))
    return {row[0]: row[1] for row in rows}


_BOUND = (
    sa.select(*(effects.c[name] for name in BoundKey._fields))
    .where(one_of(effects.c.key, "the_keys"))
    .order_by(effects.c.key)
    .with_for_update()
)
_REBIND = (
    sa.update(effects)
    .where(effects.c.key == sa.bindparam("the_key"))
    .values(
        plan=sa.bindparam("the_plan"),
        fingerprint=sa.bindparam("the_fingerprint"),
        sent_at=sa.bindparam("the_sent_at", type_=effects.c.sent_at.type),
        state=PlanState.SENT.value,
        ended_at=None,
    )
)
_UNBIND = sa.delete(effects).where(effects.c.plan == sa.bindparam("the_plan"), effects.c.state == PlanState.SENT.value)
_OF_PLANS = sa.update(effects).where(one_of(effects.c.plan, "the_plans"))
_SET_STATE = _OF_PLANS.values(state=sa.bindparam("the_state"))
_MOVE = _OF_PLANS.values(
    state=sa.bindparam("the_state"),
    ended_at=sa.bindparam("the_end", type_=effects.c.ended_at.type),
    outcome_unknown=sa.bindparam("is_unknown"),
)
_GENERATIONS = sa.select(*(effects.c[name] for name in Generation._fields)).where(
    one_of(effects.c.record, "subjects"), effects.c.target == sa.bindparam("target")
)
