"""How a plan goes from one state to the next: it, its operations, its holds, its limits and the log, all or nothing."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from connectors.errors import Reaction
from connectors.target import Receipt
from reconcile.audit import facts, log
from reconcile.findings.bundle import Bundle
from reconcile.findings.operations import HOLDING, OVER, BundleState, moved
from reconcile.journal import holds, keys, limits
from reconcile.store import Store, Transaction, bulk
from reconcile.store.bundles import COLUMNS, Stored, stored
from reconcile.store.tables import bundles, effects

RECONCILE = "reconcile"
CHUNK = 1_000
_OWNED = (BundleState.CLAIMED, BundleState.SENT, BundleState.AMBIGUOUS)
_NOT_DONE = (BundleState.SKIPPED, BundleState.FAILED)


class ClaimLost(Exception):
    """Another worker took these plans over; nothing of this transaction is kept."""

    reaction = Reaction.STOP

    def __init__(self, lost: Sequence[str]) -> None:
        shown = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        super().__init__(
            f"{shown}: another worker took over, or a person decided meanwhile; nothing of this step was kept."
        )
        self.lost = tuple(lost)


@dataclass(frozen=True, eq=False)
class Claimed(Stored):
    """A plan in somebody's hand: whoever has it may write what became of it while `fence` is still the store's."""

    keys: tuple[str, ...] = ()
    """One an operation, in their order."""
    was: BundleState | None = None
    """What it was claimed in, until that is written: in the same transaction, with its next state."""

    @property
    def stands(self) -> BundleState:
        """The state that the store has."""
        return self.was or self.state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Claimed) and (self.id, self.fence) == (other.id, other.fence)

    def __hash__(self) -> int:
        return hash((self.id, self.fence))

    @classmethod
    def of(cls, one: Stored, **changes: Any) -> Claimed:
        made = object.__new__(cls)
        vars(made).update(vars(one), keys=(), **changes)
        return made

    def but(self, **changes: Any) -> Claimed:
        """The same plan with other values; it is not parsed again."""
        made = object.__new__(Claimed)
        vars(made).update(vars(self), **changes)
        return made


def keys_of(store: Store, target: str, bundle: Bundle, *, lives_ago: int = 0) -> tuple[str, ...]:
    """The idempotency keys of a plan's operations, in their order, or those of so many generations before."""
    return tuple(
        keys.key_of(
            store.key,
            namespace=store.id,
            target=target,
            effect=operation.effect,
            record=keys.name_of(bundle.table, operation.record),
            generation=operation.generation - lives_ago,
        )
        for operation in bundle.operations
    )


def receipts_of(store: Store, one: Claimed) -> tuple[Receipt, ...]:
    """What is written in the target with the plan's effects, sorted by key; `after` is still empty."""
    made = (
        Receipt(key, operation.fingerprint, store.id, store.epoch, one.fence, one.id, table=one.bundle.table)
        for key, operation in zip(one.keys, one.bundle.operations, strict=True)
    )
    return tuple(sorted(made, key=lambda receipt: receipt.key))


def move(
    tx: Transaction,
    plans: Sequence[Claimed],
    to: BundleState,
    *,
    reason: str | None = None,
    event: str | None = None,
    actor: str = RECONCILE,
    values: Mapping[str, Any] | None = None,
    each: Sequence[Mapping[str, Any]] | None = None,
    said: Sequence[Mapping[str, Any]] | None = None,
    proven: bool = True,
) -> list[Claimed]:
    """These plans in the state `to`, with everything that hangs on them; raises MoveRefused, ClaimLost.

    `values` are further columns of all of them, `each` those that differ; `said` is what the log says of each. Not
    `proven`: they are given up and nobody knows whether they were done, so their keys and their use of limits stay.
    """
    if not plans:
        return []
    _check(plans, to)
    common: dict[str, Any] = {"state": to, **_ending(tx, to), **(values or {})}
    if reason is not None:
        common["reason"] = reason
    if each is not None:
        plans = written(tx, plans)
    _write(tx, plans, common, each)
    _follow(tx, plans, to, proven=proven)
    _log(tx, plans, to, reason, event, actor, said)
    if any(one.undoes for one in plans):
        _move_undone(tx, [one for one in plans if one.undoes], to, actor)
    common["was"] = None
    if each is None:
        return [one.but(**common) for one in plans]
    return [one.but(**common, **mine) for one, mine in zip(plans, each, strict=True)]


def note(tx: Transaction, plans: Sequence[Claimed], values: Mapping[str, Any]) -> list[Claimed]:
    """Write further columns of plans that stay as they are; raises ClaimLost."""
    if plans:
        _write(tx, plans, values, None)
    return [one.but(was=None, **values) for one in plans]


def written(tx: Transaction, plans: Sequence[Claimed]) -> list[Claimed]:
    """The same plans, claimed in the store as well; raises ClaimLost."""
    done = {one.id: one for one in note(tx, [one for one in plans if one.was], {"state": BundleState.CLAIMED})}
    return [done.get(one.id, one) for one in plans]


def locked(tx: Transaction, ids: Iterable[str], states: Sequence[BundleState]) -> list[Claimed]:
    """Those of these plans that are in one of the states, held until the transaction ends, by id."""
    wanted = sorted(set(ids))
    found: list[Claimed] = []
    for at in range(0, len(wanted), CHUNK):
        query = sa.select(*COLUMNS).where(bundles.c.id.in_(wanted[at : at + CHUNK]))
        query = query.where(bundles.c.state.in_([state.value for state in states]))
        rows = tx.connection.execute(query.order_by(bundles.c.id).with_for_update())
        found += [Claimed.of(stored(tx, row)) for row in rows]
    return found


def _check(plans: Sequence[Claimed], to: BundleState) -> None:
    """What the resolver shows to be not done waits for its retry, and may then be skipped or given up at once."""
    for state in {one.state for one in plans}:
        if state is BundleState.AMBIGUOUS and to in _NOT_DONE:
            moved(moved(state, BundleState.RETRY_WAIT), to)
        elif state is BundleState.SUCCEEDED and to is BundleState.COMPENSATED:  # a person says so of one never sent
            moved(moved(state, BundleState.COMPENSATING), to)
        else:
            moved(state, to)


def _ending(tx: Transaction, to: BundleState) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if to not in _OWNED:
        values["owner"] = None
    if to in OVER:
        values["ended_at"] = tx.now
    return values


# Writing


def _write(
    tx: Transaction,
    plans: Sequence[Claimed],
    common: Mapping[str, Any],
    each: Sequence[Mapping[str, Any]] | None,
) -> None:
    if not _VOLATILE.issuperset({*common, *(name for one in each or () for name in one)}):
        log.touch(tx, facts.PLAN, [one.id for one in plans])
    stored_values = {name: value.value if isinstance(value, BundleState) else value for name, value in common.items()}
    if each is not None:
        which = [{"id": one.id, "fence": one.fence, "state": one.state.value} for one in plans]
        changed = bulk.update(tx, bundles, which, each, stored_values)
    else:
        changed = 0
        for some in _alike(plans):
            values = {**_claim(some[0]), **stored_values} if some[0].was else stored_values
            bound = {**values, "the_fence": _fence(some[0]), "the_state": some[0].stands.value}
            for at in range(0, len(some), CHUNK):
                ids = [one.id for one in some[at : at + CHUNK]]
                statement = _update_many(tuple(sorted(values)))
                changed += tx.connection.execute(statement, bound | {"the_ids": ids}).rowcount
    if changed != len(plans):
        raise ClaimLost(_lost(tx, plans))


def _alike(plans: Sequence[Claimed]) -> list[list[Claimed]]:
    """Those of which the store has the same fence and state, sorted by id."""
    groups: dict[tuple[int, BundleState, BundleState | None], list[Claimed]] = {}
    for one in sorted(plans, key=lambda plan: plan.id):
        groups.setdefault((one.fence, one.state, one.was), []).append(one)
    return list(groups.values())


def _fence(one: Claimed) -> int:
    """The one that the store has."""
    return one.fence - (one.was is not None)


def _claim(one: Claimed) -> dict[str, Any]:
    return {"fence": one.fence, "owner": one.owner, "lease_until": one.lease_until}


_VOLATILE = {*facts.NOT_COVERED["bundles"]}
"""Columns whose values the audit log does not commit to."""
_MINE = (bundles.c.fence == sa.bindparam("the_fence"), bundles.c.state == sa.bindparam("the_state"))


@functools.cache
def _update_many(names: tuple[str, ...]) -> sa.Update:
    these = bulk.one_of(bundles.c.id, "the_ids")
    return sa.update(bundles).where(these, *_MINE).values(bulk.bound(bundles, names))


def _lost(tx: Transaction, plans: Sequence[Claimed]) -> list[str]:
    """Whose fence or state is another one; an update that met them changed at least their state."""
    wanted = {one.id: _fence(one) for one in plans}
    query = sa.select(bundles.c.id, bundles.c.fence).where(bundles.c.id.in_(list(wanted)))
    there = dict(tx.connection.execute(query).all())
    lost = [name for name, fence in wanted.items() if there.get(name) != fence]
    return sorted(lost) or sorted(wanted)


# What hangs on a plan


def _follow(tx: Transaction, plans: Sequence[Claimed], to: BundleState, *, proven: bool) -> None:
    """Operations follow their plan, holds end with it, and what was proven not done counts for no limit."""
    ids = sorted(one.id for one in plans)
    if sent := sorted(one.id for one in plans if one.sent_at is not None):
        values = {"state": to.value, "ended_at": tx.now if to in OVER else None, "doubtful": not proven}
        if not proven:
            log.touch(tx, facts.PLAN, sent)
        for at in range(0, len(sent), CHUNK):
            tx.connection.execute(_FOLLOW, values | {"the_bundles": sent[at : at + CHUNK]})
    if to not in HOLDING:
        held = [one.id for one in plans if one.state in HOLDING]
        if held:
            holds.release(tx, held)
    if to in _NOT_DONE and proven:
        limits.give_back(tx, ids)


_FOLLOW = (
    sa.update(effects)
    .where(bulk.one_of(effects.c.bundle, "the_bundles"))
    .values(
        state=sa.bindparam("state"),
        ended_at=sa.bindparam("ended_at", type_=effects.c.ended_at.type),
        doubtful=sa.bindparam("doubtful"),
    )
)


def _log(
    tx: Transaction,
    plans: Sequence[Claimed],
    to: BundleState,
    reason: str | None,
    event: str | None,
    actor: str,
    said: Sequence[Mapping[str, Any]] | None,
) -> None:
    name = event or f"operation.{to.value}"
    for number, one in enumerate(plans):
        body: dict[str, Any] = {"bundle": one.id, "finding": one.finding, "run": one.run, "fence": one.fence}
        body |= {"from": one.state.value, "to": to.value}
        if reason is not None:
            body["reason"] = reason
        if said is not None:
            body |= said[number]
        log.append(tx, actor, name, f"bundle:{one.id}", body)


# The plan that an undo takes back


_UNDONE: Mapping[BundleState, BundleState] = {
    BundleState.SENT: BundleState.COMPENSATING,
    BundleState.RETRY_WAIT: BundleState.COMPENSATING,
    BundleState.AMBIGUOUS: BundleState.COMPENSATING,
    BundleState.QUARANTINED: BundleState.QUARANTINED,
    BundleState.SUCCEEDED: BundleState.COMPENSATED,
    BundleState.SKIPPED: BundleState.SUCCEEDED,
    BundleState.FAILED: BundleState.SUCCEEDED,
}
"""What the plan becomes that is undone, when its undo becomes that; until an undo is sent, nothing."""


_MEANT = (BundleState.SENT, BundleState.SUCCEEDED)
"""What an undo that was never sent before becomes when it is; and when a person says in quarantine that it was done."""


def _move_undone(tx: Transaction, undos: Sequence[Claimed], to: BundleState, actor: str) -> None:
    if to not in _UNDONE:
        return
    undo_of = {one.undoes: one for one in undos if one.undoes and (one.sent_at is not None or to in _MEANT)}
    becomes = _UNDONE[to]
    plans = [one for one in locked(tx, undo_of, tuple(BundleState)) if one.state is not becomes]
    if not plans:
        return
    _check(plans, becomes)
    _write(tx, plans, {"state": becomes}, None)
    values = {"state": becomes.value, "the_bundles": [one.id for one in plans]}
    tx.connection.execute(_FOLLOW_UNDONE, values)
    said = [{"undo": undo_of[one.id].id} for one in plans]
    _log(tx, plans, becomes, None, None, actor, said)


_FOLLOW_UNDONE = (
    sa.update(effects).where(bulk.one_of(effects.c.bundle, "the_bundles")).values(state=sa.bindparam("state"))
)
