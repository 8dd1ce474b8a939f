"""Claim plans: each goes to exactly one worker, and the fence of its previous worker becomes invalid."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reconcile.coordination import lease
from reconcile.findings.states import PlanState, moved
from reconcile.journal import holds
from reconcile.journal.effects.moving import ClaimedPlan, ClaimLost, keys_of, move, written
from reconcile.journal.effects.sending import released
from reconcile.store import Transaction, effects, plan_states
from reconcile.store.sealing import RowsUnreadable

WAIT_FOR_KEY = dt.timedelta(minutes=5)
"""Delay before a plan whose seal has no key here is checked again."""


def claim(
    tx: Transaction,
    ids: Collection[str],
    *,
    owner: lease.Owner | None = None,
    ttl: dt.timedelta,
    unwritten: bool = False,
) -> list[ClaimedPlan]:
    """Claim those of these plans that are approved, or due again, until `ttl` is over; the others are left out.

    Race-safe: plans that another transaction is claiming are left out too. A plan that does not match its hash is
    quarantined and left out; one whose seal has no key here is left out and waits for it. `unwritten`: for a caller
    that moves each plan on in the same transaction, which writes the claim as well.
    """
    plans_claimed = _take(tx, ids, owner or lease.Owner.this_process(ttl), ttl)
    for plan in plans_claimed:
        moved(plan.stored_state, PlanState.CLAIMED)
    if not unwritten:
        plans_claimed = written(tx, plans_claimed)
        if sent_before := [plan.id for plan in plans_claimed if plan.sent_at]:
            effects.set_state(tx, sent_before, PlanState.CLAIMED)
    return _readable(tx, plans_claimed)


@dataclass(frozen=True)
class HoldResult:
    """The result of `hold`: plans that hold their records, and waiting ones with their conflict."""

    taken: list[ClaimedPlan]
    waiting: list[tuple[ClaimedPlan, holds.HoldConflict]]


def hold(tx: Transaction, claimed: Sequence[ClaimedPlan]) -> HoldResult:
    """Hold the records of these plans, all or none of each; waiting plans are still claimed: release them."""
    needs = [holds.HoldRequest.of(plan.id, plan.target, plan.content, plan.renamed) for plan in claimed]
    conflicts = {conflict.plan: conflict for conflict in holds.take_all(tx, needs)}
    holding = [plan for plan in claimed if plan.id not in conflicts]
    return HoldResult(holding, [(plan, conflicts[plan.id]) for plan in claimed if plan.id in conflicts])


def renew(tx: Transaction, claimed: Sequence[ClaimedPlan], ttl: dt.timedelta) -> list[ClaimedPlan]:
    """Return the same plans with a new deadline; raises ClaimLost."""
    deadline, owner = tx.now + ttl, lease.Owner.this_process(ttl).to_json()
    fences: dict[int, list[str]] = {}
    for plan in claimed:
        fences.setdefault(plan.fence, []).append(plan.id)
    for fence, ids in fences.items():
        if plan_states.renew(tx, ids, fence, owner, deadline) != len(ids):
            raise ClaimLost(sorted(ids))
    return [plan.but(lease_until=deadline, owner=owner) for plan in claimed]


def _take(tx: Transaction, ids: Collection[str], owner: lease.Owner, ttl: dt.timedelta) -> list[ClaimedPlan]:
    claim_values = {"state": PlanState.CLAIMED, "owner": owner.to_json(), "lease_until": tx.now + ttl}
    return [
        ClaimedPlan.of(plan, fence=plan.fence + 1, was=plan.state, **claim_values) for plan in plan_states.free(tx, ids)
    ]


def _readable(tx: Transaction, plans_claimed: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
    whole: list[ClaimedPlan] = []
    for plan in plans_claimed:
        try:
            whole.append(plan.but(keys=keys_of(tx.store, plan.target, plan.content)))
        except RowsUnreadable as error:
            if error.for_good:
                move(tx, [plan], PlanState.QUARANTINED, reason=str(error))
            else:
                released(tx, [plan], str(error), next_at=tx.now + WAIT_FOR_KEY)
    return whole
