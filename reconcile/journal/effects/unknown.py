"""Plans whose worker is dead, and plans with an unknown outcome."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reconcile.audit import log
from reconcile.coordination import lease
from reconcile.errors import Refused
from reconcile.findings.states import PlanState
from reconcile.journal.effects.claiming import WAIT_FOR_KEY
from reconcile.journal.effects.moving import RECONCILE, ClaimedPlan, keys_of, locked, move, note
from reconcile.store import Transaction, plan_states
from reconcile.store.plan_states import CLAIMED
from reconcile.store.plans import get
from reconcile.store.sealing import RowsUnreadable

Verdict = Literal["done", "not_done", "abandon"]


class NotInQuarantine(Refused):
    """The plan or finding is not in quarantine (any more), so no decision is needed."""

    def __init__(self, identifier: str) -> None:
        super().__init__(f"`{identifier}` is not in quarantine. `reconcile quarantine` lists the plans in it")


class UndoInQuarantine(Refused):
    """Only the undo of the plan in quarantine has an unknown outcome: the decision is about the undo."""

    def __init__(self, plan: str, undo: str) -> None:
        super().__init__(f"The undo of plan {plan} has an unknown outcome: decide about {undo}.")


@dataclass(frozen=True)
class Left:
    """A plan claimed by a worker whose lease is over; its process may still run."""

    id: str
    state: PlanState
    source: str
    target: str
    owner: lease.Owner


def abandoned(tx: Transaction, source: str | None = None) -> list[Left]:
    """The plans that dead owners left claimed, by id. For display only: `take_over` checks again."""
    plans_left = []
    for plan in plan_states.claimed(tx, source):
        owner = lease.Owner.from_json(plan.owner)
        if lease.is_dead(tx, owner, plan.lease_until):
            plans_left.append(Left(plan.id, plan.state, plan.source, plan.target, owner))
    return plans_left


def take_over(tx: Transaction, ids: Collection[str]) -> list[ClaimedPlan]:
    """Take these plans from their dead owners: unsent ones become free, the outcome of sent ones is unknown.

    Plans with a live owner, or that another worker took over, are left out.
    """
    dead = [plan for plan in locked(tx, ids, CLAIMED) if plan.owner and _is_abandoned(tx, plan)]
    return _take(tx, dead, "Its worker is gone.")


def take_all(tx: Transaction, why: str) -> list[ClaimedPlan]:
    """Take every claimed plan from its owner, who can then write nothing more."""
    return _take(tx, locked(tx, [plan.id for plan in plan_states.claimed(tx)], CLAIMED), why)


def _take(tx: Transaction, dead: Sequence[ClaimedPlan], why: str) -> list[ClaimedPlan]:
    unsent = [plan for plan in dead if plan.state is PlanState.CLAIMED]
    sent = [plan for plan in dead if plan.state is PlanState.SENT]
    unknown = [plan for plan in dead if plan.state is PlanState.UNKNOWN]
    moved = _refence(tx, [plan for plan in unsent if plan.sent_at is None], PlanState.APPROVED, why)
    moved += _refence(tx, [plan for plan in unsent if plan.sent_at is not None], PlanState.RETRY_WAIT, why)
    moved += _refence(tx, sent, PlanState.UNKNOWN, why)
    for plan in unknown:
        moved += note(tx, [plan], {"fence": plan.fence + 1, "owner": None, "next_at": tx.now})
        _log_take_over(tx, plan)
    return sorted(moved, key=lambda plan: plan.id)


def claim_unknown(
    tx: Transaction, source: str, limit: int, *, owner: lease.Owner | None = None, ttl: dt.timedelta
) -> list[ClaimedPlan]:
    """Claim due plans with an unknown outcome that no live worker has; their state stays.

    Plans whose seal has no key here wait for it.
    """
    new_owner = (owner or lease.Owner.this_process(ttl)).to_json()
    claimed: list[ClaimedPlan] = []
    for plan in map(ClaimedPlan.of, plan_states.with_unknown_outcome(tx, source)):
        if len(claimed) < limit and (plan.owner is None or _is_abandoned(tx, plan)):
            try:
                keys = keys_of(tx.store, plan.target, plan.content)
            except RowsUnreadable as error:
                later = {"owner": None, "next_at": tx.now + WAIT_FOR_KEY, "reason": str(error)}
                note(tx, [plan], later | {"fence": plan.fence + 1})
                continue
            values = {"fence": plan.fence + 1, "owner": new_owner, "lease_until": tx.now + ttl}
            [claimed_plan] = note(tx, [plan], values)
            _log_take_over(tx, claimed_plan)
            claimed.append(claimed_plan.but(keys=keys))
    return claimed


def set_damaged_aside(tx: Transaction, source: str) -> list[tuple[ClaimedPlan, str]]:
    """Quarantine unreadable plans with an unknown outcome; return them and why: the target cannot be asked."""
    damaged: list[tuple[ClaimedPlan, str]] = []
    for plan in map(ClaimedPlan.of, plan_states.with_unknown_outcome(tx, source)):
        try:
            _ = plan.content
        except RowsUnreadable as error:
            if error.for_good and (plan.owner is None or _is_abandoned(tx, plan)):
                damaged += [(plan, str(error)) for plan in move(tx, [plan], PlanState.QUARANTINED, reason=str(error))]
    return damaged


def put_off(tx: Transaction, plans: Sequence[ClaimedPlan], next_at: dt.datetime) -> list[ClaimedPlan]:
    """Release plans until `next_at`: their target could not be asked about them."""
    return note(tx, plans, {"owner": None, "next_at": next_at})


def judged(tx: Transaction, plan_id: str, verdict: Verdict, *, by: str, reason: str) -> ClaimedPlan:
    """Record a person's verdict on a plan in quarantine, the only way out of it.

    `done`: it was done. `not_done`: it was not, and is retried now with a new budget. `abandon`: its outcome stays
    unknown, so its keys are never used again. Raises PlanUnknown, NotInQuarantine, UndoInQuarantine.
    """
    quarantined = locked(tx, [plan_id], (PlanState.QUARANTINED,))
    if not quarantined:
        raise NotInQuarantine(get(tx, plan_id).id)
    [plan] = quarantined
    if (undo_id := plan_states.undo_in_quarantine(tx, plan_id)) is not None:
        raise UndoInQuarantine(plan_id, undo_id)
    how: dict[str, Any] = {"event": "operation.judged", "actor": by, "details": [{"verdict": verdict}]}
    values: dict[str, Any] = {"fence": plan.fence + 1}
    if verdict == "done":
        [moved] = move(tx, [plan], PlanState.SUCCEEDED, reason=reason, values=values, **how)
    elif verdict == "not_done":
        values |= {"attempts": 0, "next_at": tx.now, "give_up_at": None}
        [moved] = move(tx, [plan], PlanState.RETRY_WAIT, reason=reason, values=values, **how)
    else:
        [moved] = move(tx, [plan], PlanState.FAILED, reason=reason, values=values, proven=False, **how)
    return moved


def _is_abandoned(tx: Transaction, plan: ClaimedPlan) -> bool:
    return lease.is_dead(tx, lease.Owner.from_json(plan.owner), plan.lease_until)


def _refence(tx: Transaction, plans: Sequence[ClaimedPlan], to: PlanState, why: str) -> list[ClaimedPlan]:
    """Move plans to a new state with another fence, so their previous workers can write nothing more."""
    moved = []
    for plan in plans:
        values = {"fence": plan.fence + 1, "owner": None, "next_at": tx.now}
        moved += move(tx, [plan], to, reason=why, event="operation.taken_over", values=values)
    return moved


def _log_take_over(tx: Transaction, plan: ClaimedPlan) -> None:
    body = {"plan": plan.id, "finding": plan.finding, "run": plan.run, "fence": plan.fence}
    log.append(tx, RECONCILE, "operation.taken_over", f"plan:{plan.id}", body)
