"""Taking plans in hand: each goes to exactly one worker, and the fence of whoever had it before is worth nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile.audit import log
from reconcile.coordination import lease
from reconcile.findings.operations import BundleState, moved
from reconcile.journal import holds
from reconcile.journal.effects.moving import CHUNK, RECONCILE, Claimed, ClaimLost, keys_of, move, written
from reconcile.journal.effects.outcomes import released
from reconcile.store import Transaction
from reconcile.store import bundles as plans
from reconcile.store.bulk import one_of
from reconcile.store.bundles import BundleError
from reconcile.store.sealing import SealBroken, SealedUnreadable
from reconcile.store.tables import bundles, effects

WAIT_FOR_KEY = dt.timedelta(minutes=5)
"""When a plan is looked at again whose seal has no key here."""
_CLAIMABLE = (BundleState.APPROVED, BundleState.RETRY_WAIT)


def claim(
    tx: Transaction,
    ids: Collection[str],
    *,
    owner: lease.Owner | None = None,
    ttl: dt.timedelta,
    unwritten: bool = False,
) -> list[Claimed]:
    """Those of these plans that are approved, or due again, in our hand until `ttl` is over; the others are left out.

    Race-safe: what another transaction is claiming is left out too. A plan that is not the one its hash names is
    quarantined and left out; one whose seal has no key here is left out and waits for it. `unwritten`: for a caller who
    moves every one of them on in the same transaction, which writes the claim as well.
    """
    mine = _taken(tx, ids, owner or lease.Owner.this_process(ttl), ttl)
    for one in mine:
        moved(one.stands, BundleState.CLAIMED)
    if mine:
        _log(tx, mine)
    if not unwritten:
        mine = written(tx, mine)
        if again := [one.id for one in mine if one.sent_at]:
            tx.connection.execute(_FOLLOW, {"the_bundles": again})
    return _whole(tx, mine)


def claim_due(
    tx: Transaction,
    source: str,
    limit: int,
    *,
    owner: lease.Owner | None = None,
    ttl: dt.timedelta,
    ids: Collection[str] | None = None,
    run: str | None = None,
) -> list[Claimed]:
    """The next plans of a source that are due, at most so many, as `claim` takes them; others for each worker."""
    due = plans.due_ids(tx, source, limit, ids=ids, run=run, lock=True)
    return claim(tx, due, owner=owner, ttl=ttl)


@dataclass(frozen=True)
class Held:
    """What became of the wish to hold the records of plans: `waiting` have the one that is in their way."""

    taken: list[Claimed]
    waiting: list[tuple[Claimed, holds.HoldConflict]]


def hold(tx: Transaction, claimed: Sequence[Claimed]) -> Held:
    """Hold the records of these plans, all of one or none; those that have to wait are still claimed: release them."""
    wanted = [holds.Wanted.of(one.id, one.target, one.bundle) for one in claimed]
    conflicts = {conflict.bundle: conflict for conflict in holds.take_all(tx, wanted)}
    taken = [one for one in claimed if one.id not in conflicts]
    return Held(taken, [(one, conflicts[one.id]) for one in claimed if one.id in conflicts])


def renew(tx: Transaction, claimed: Sequence[Claimed], ttl: dt.timedelta) -> list[Claimed]:
    """The same plans with a new deadline; raises ClaimLost."""
    until, owner = tx.now + ttl, lease.Owner.this_process(ttl).to_json()
    fences: dict[int, list[str]] = {}
    for one in claimed:
        fences.setdefault(one.fence, []).append(one.id)
    for fence, ids in fences.items():
        bound = {"the_fence": fence, "the_ids": sorted(ids), "until": until, "the_owner": owner}
        if tx.connection.execute(_RENEW, bound).rowcount != len(ids):
            raise ClaimLost(sorted(ids))
    return [one.but(lease_until=until, owner=owner) for one in claimed]


def _taken(tx: Transaction, ids: Collection[str], owner: lease.Owner, ttl: dt.timedelta) -> list[Claimed]:
    wanted = sorted(set(ids))
    hand = {"state": BundleState.CLAIMED, "owner": owner.to_json(), "lease_until": tx.now + ttl}
    mine: list[Claimed] = []
    for at in range(0, len(wanted), CHUNK):
        for row in tx.connection.execute(_FREE, {"the_ids": wanted[at : at + CHUNK], "now": tx.now}):
            one = plans.stored(tx, row)
            mine.append(Claimed.of(one, fence=one.fence + 1, was=one.state, **hand))
    return mine


def _whole(tx: Transaction, mine: Sequence[Claimed]) -> list[Claimed]:
    whole, damaged, sealed = [], [], []
    for one in mine:
        try:
            whole.append(one.but(keys=keys_of(tx.store, one.target, one.bundle)))
        except (BundleError, SealBroken) as error:
            damaged.append((one, str(error)))
        except SealedUnreadable as error:
            sealed.append((one, str(error)))
    for one, sentence in damaged:
        move(tx, [one], BundleState.QUARANTINED, reason=sentence)
    for one, sentence in sealed:
        released(tx, [one], sentence, next_at=tx.now + WAIT_FOR_KEY)
    return whole


def _log(tx: Transaction, mine: Sequence[Claimed]) -> None:
    named = [[one.id, one.stands.value, BundleState.CLAIMED.value] for one in mine]
    log.append(tx, RECONCILE, "operation.claimed", f"bundle:{mine[0].id}", {"bundles": named})


_THESE = one_of(bundles.c.id, "the_ids")
_FREE = (
    sa.select(*plans.COLUMNS)
    .where(_THESE, bundles.c.state.in_([state.value for state in _CLAIMABLE]))
    .where(bundles.c.next_at <= sa.bindparam("now", type_=bundles.c.next_at.type))
    .order_by(bundles.c.id)
    .with_for_update(skip_locked=True)
)
_FOLLOW = sa.update(effects).where(one_of(effects.c.bundle, "the_bundles")).values(state=BundleState.CLAIMED.value)
_RENEW = (
    sa.update(bundles)
    .where(_THESE, bundles.c.fence == sa.bindparam("the_fence"), bundles.c.owner.is_not(None))
    .values(
        owner=sa.bindparam("the_owner", type_=bundles.c.owner.type),
        lease_until=sa.bindparam("until", type_=bundles.c.lease_until.type),
    )
)
