"""Move plans between states: the plan, its operations, holds and limits, and the log, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from typing import Any

from connectors.target import Receipt
from reconcile.audit import facts, log
from reconcile.errors import Refused
from reconcile.findings.plan import Plan
from reconcile.findings.states import HOLDING, OVER, PlanState, moved
from reconcile.journal import holds as keys
from reconcile.journal import limits
from reconcile.store import Store, Transaction, approvals, cleaning_news, effects, holds, plan_states
from reconcile.store.cleaning_news import What
from reconcile.store.plan_states import CLAIMED, Expected
from reconcile.store.plans import StoredPlan

RECONCILE = "reconcile"
_NOT_DONE = (PlanState.SKIPPED, PlanState.FAILED)


class ClaimLost(Refused):
    """Another worker took these plans over; this transaction is rolled back."""

    def __init__(self, lost: Sequence[str]) -> None:
        listed = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        super().__init__(
            f"{listed}: another worker took over, or a person decided meanwhile; this step was rolled back."
        )
        self.lost = tuple(lost)


@dataclass(frozen=True, eq=False)
class ClaimedPlan(StoredPlan):
    """A claimed plan: its worker may record its outcome while `fence` is still the store's."""

    keys: tuple[str, ...] = ()
    """One per operation, in their order."""
    was: PlanState | None = None
    """The state before the claim, until the claim is written: in the same transaction, with its next state."""

    @property
    def stored_state(self) -> PlanState:
        """The state in the store."""
        return self.was or self.state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClaimedPlan) and (self.id, self.fence) == (other.id, other.fence)

    def __hash__(self) -> int:
        return hash((self.id, self.fence))

    @classmethod
    def of(cls, plan: StoredPlan, **changes: Any) -> ClaimedPlan:
        return cls(**{column.name: getattr(plan, column.name) for column in fields(StoredPlan)} | changes)

    def but(self, **changes: Any) -> ClaimedPlan:
        """The same plan with other values, without parsing it again."""
        changed = copy(self)
        vars(changed).update(changes)
        return changed


def keys_of(store: Store, target: str, plan: Plan, *, generations_ago: int = 0) -> tuple[str, ...]:
    """The idempotency keys of a plan's operations, in their order, or those of `generations_ago` generations before."""
    return tuple(
        keys.key_of(
            store.key,
            namespace=store.id,
            target=target,
            effect=operation.effect,
            record=keys.name_of(plan.table, operation.record),
            generation=operation.generation - generations_ago,
        )
        for operation in plan.operations
    )


def receipts_of(store: Store, plan: ClaimedPlan) -> tuple[Receipt, ...]:
    """The receipts to write in the target with the plan's effects, sorted by key; `after` is still empty."""
    receipts = (
        Receipt(key, operation.fingerprint, store.id, store.epoch, plan.fence, plan.id, table=plan.content.table)
        for key, operation in zip(plan.keys, plan.content.operations, strict=True)
    )
    return tuple(sorted(receipts, key=lambda receipt: receipt.key))


def move(
    tx: Transaction,
    plans: Sequence[ClaimedPlan],
    to: PlanState,
    *,
    reason: str | None = None,
    event: str | None = None,
    actor: str = RECONCILE,
    values: Mapping[str, Any] | None = None,
    each: Sequence[Mapping[str, Any]] | None = None,
    details: Sequence[Mapping[str, Any]] | None = None,
    proven: bool = True,
    in_one_entry: bool = False,
    tells_change: bool = False,
    news: What | None = None,
    run: str | None = None,
) -> list[ClaimedPlan]:
    """Move these plans to the state `to`, with everything that depends on them; raises MoveRefused, ClaimLost.

    `values` are further columns of all plans, `each` those that differ; `details` are fields for the log of each. Not
    `proven`: they are given up with an unknown outcome, so their keys and their use of limits stay. `in_one_entry`: the
    log has one entry for all, without reason and details. `tells_change`: a plan that was in that state before its
    claim, for the same reason, has no entry. `news` is what messages tell of skipped plans instead of the usual; `run`
    executed them.
    """
    if not plans:
        return []
    _check(plans, to)
    before = [plan.stored_state for plan in plans]
    common: dict[str, Any] = {"state": to, **_ending(tx, to), **(values or {})}
    if reason is not None:
        common["reason"] = reason
    if each is not None:
        plans = written(tx, plans)
    _write(tx, plans, common, each)
    _move_dependents(tx, plans, to, proven=proven)
    if in_one_entry:
        _log_together(tx, plans, before, to, event, actor)
    elif not (tells_change and all(plan.was is to and plan.reason == reason for plan in plans)):
        _log(tx, plans, before, to, reason, event, actor, details)
    if any(plan.undoes for plan in plans):
        _move_undone(tx, [plan for plan in plans if plan.undoes], to)
    if to in _TOLD:
        _keep_news(tx, plans, before, to, actor, news, run)
    common["was"] = None
    if each is None:
        return [plan.but(**common) for plan in plans]
    return [plan.but(**common, **own_values) for plan, own_values in zip(plans, each, strict=True)]


def note(tx: Transaction, plans: Sequence[ClaimedPlan], values: Mapping[str, Any]) -> list[ClaimedPlan]:
    """Write further columns of plans without moving them; raises ClaimLost."""
    if plans:
        _write(tx, plans, values, None)
    return [plan.but(was=None, **values) for plan in plans]


def written(tx: Transaction, plans: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
    """Write the claims of these plans to the store; raises ClaimLost.

    Only such a claim is in the log: one that is written with the plan's next state is part of that transition.
    """
    claims = [plan for plan in plans if plan.was]
    by_id = {plan.id: plan for plan in note(tx, claims, {"state": PlanState.CLAIMED})}
    if claims:
        states = [[plan.id, plan.stored_state.value, PlanState.CLAIMED.value] for plan in claims]
        log.append(tx, RECONCILE, "operation.claimed", f"plan:{claims[0].id}", {"plans": states})
    return [by_id.get(plan.id, plan) for plan in plans]


def locked(tx: Transaction, ids: Iterable[str], states: Sequence[PlanState]) -> list[ClaimedPlan]:
    """Lock those of these plans that are in one of the states until the transaction ends; by id."""
    return [ClaimedPlan.of(plan) for plan in plan_states.locked(tx, ids, states)]


def _check(plans: Sequence[ClaimedPlan], to: PlanState) -> None:
    """Check the move. A plan proven not done passes through its retry, and may then be skipped or given up at once."""
    for state in {plan.state for plan in plans}:
        if state is PlanState.UNKNOWN and to in _NOT_DONE:
            moved(moved(state, PlanState.RETRY_WAIT), to)
        elif state is PlanState.SUCCEEDED and to is PlanState.COMPENSATED:  # a person's verdict on one never sent
            moved(moved(state, PlanState.COMPENSATING), to)
        else:
            moved(state, to)


def _ending(tx: Transaction, to: PlanState) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if to not in CLAIMED:
        values["owner"] = None
    if to in OVER:
        values["ended_at"] = tx.now
    return values


# Writing


def _write(
    tx: Transaction,
    plans: Sequence[ClaimedPlan],
    common: Mapping[str, Any],
    each: Sequence[Mapping[str, Any]] | None,
) -> None:
    if not _VOLATILE.issuperset({*common, *(name for plan in each or () for name in plan)}):
        log.touch(tx, facts.PLAN, [plan.id for plan in plans])
    stored_values = {name: value.value if isinstance(value, PlanState) else value for name, value in common.items()}
    if each is not None:
        expected = [(plan.id, Expected(plan.fence, plan.state)) for plan in plans]
        changed = plan_states.update_each(tx, expected, each, stored_values)
    else:
        changed = 0
        for group in _groups(plans):
            values = {**_claim_values(group[0]), **stored_values} if group[0].was else stored_values
            standing = Expected(_fence(group[0]), group[0].stored_state)
            changed += plan_states.update(tx, [plan.id for plan in group], standing, values)
    if changed != len(plans):
        raise ClaimLost(_lost(tx, plans))


def _groups(plans: Sequence[ClaimedPlan]) -> list[list[ClaimedPlan]]:
    """Group plans that have the same fence and state in the store, sorted by id."""
    groups: dict[tuple[int, PlanState, PlanState | None], list[ClaimedPlan]] = {}
    for plan in sorted(plans, key=lambda plan: plan.id):
        groups.setdefault((plan.fence, plan.state, plan.was), []).append(plan)
    return list(groups.values())


def _fence(plan: ClaimedPlan) -> int:
    """The plan's fence in the store."""
    return plan.fence - (plan.was is not None)


def _claim_values(plan: ClaimedPlan) -> dict[str, Any]:
    return {"fence": plan.fence, "owner": plan.owner, "lease_until": plan.lease_until}


_VOLATILE = {*facts.NOT_COVERED["plans"]}
"""Columns not covered by the audit log."""


def _lost(tx: Transaction, plans: Sequence[ClaimedPlan]) -> list[str]:
    """The plans whose fence or state differs; an update that matched them changed at least their state."""
    fences = {plan.id: _fence(plan) for plan in plans}
    current = plan_states.fences(tx, fences)
    lost = [name for name, fence in fences.items() if current.get(name) != fence]
    return sorted(lost) or sorted(fences)


# Everything that depends on a plan


def _move_dependents(tx: Transaction, plans: Sequence[ClaimedPlan], to: PlanState, *, proven: bool) -> None:
    """Move the operations with their plan, end its holds, and return the limits of plans proven not done."""
    ids = sorted(plan.id for plan in plans)
    if sent_ids := sorted(plan.id for plan in plans if plan.sent_at is not None):
        if not proven:
            log.touch(tx, facts.PLAN, sent_ids)
        effects.move(tx, sent_ids, to, ended_at=tx.now if to in OVER else None, outcome_unknown=not proven)
    if to not in HOLDING:
        holding = [plan.id for plan in plans if plan.state in HOLDING]
        if holding:
            holds.release(tx, holding)
    if to in _NOT_DONE and proven:
        limits.give_back(tx, ids)


_TOLD = (*OVER, PlanState.QUARANTINED)


def _keep_news(
    tx: Transaction,
    plans: Sequence[ClaimedPlan],
    before: Sequence[PlanState],
    to: PlanState,
    actor: str,
    news: What | None,
    run: str | None,
) -> None:
    """Keep what became of the plans until a message tells it.

    The news of the finding tells of a failed or quarantined plan, and of an undo that was not done. It also tells of a
    proposal that nobody approved and that is void because its finding changed, or that a person decided about.
    """
    ids = [plan.id for plan in plans]
    if to is PlanState.SUCCEEDED:
        cleaning_news.put(tx, ids, "done", run)
        return
    if to in (PlanState.FAILED, PlanState.QUARANTINED):
        cleaning_news.put(tx, ids, "failed", run)
        return
    by_person = actor != RECONCILE
    skipped = list(zip(plans, before, strict=True)) if to is PlanState.SKIPPED else []
    proposed = [plan.id for plan, state in skipped if state is PlanState.AWAITING]
    approved_once = approvals.given(tx, proposed) if proposed and not by_person else {}
    kept = [
        plan.id
        for plan, state in skipped
        if (news or state is not PlanState.AWAITING or plan.id in approved_once) and (by_person or not plan.undoes)
    ]
    if kept:
        cleaning_news.put(tx, kept, news or ("withdrawn" if by_person else "stale"))
    rest = {plan.id: plan for plan in plans if plan.id not in kept}
    not_undone = [name for name, plan in rest.items() if plan.undoes and not by_person and to is PlanState.SKIPPED]
    if not_undone:
        cleaning_news.put(tx, not_undone, "failed", run)
    if others := rest.keys() - not_undone:
        cleaning_news.forget(tx, others)


def _log(
    tx: Transaction,
    plans: Sequence[ClaimedPlan],
    before: Sequence[PlanState],
    to: PlanState,
    reason: str | None,
    event: str | None,
    actor: str,
    details: Sequence[Mapping[str, Any]] | None,
) -> None:
    name = event or f"operation.{to.value}"
    for number, plan in enumerate(plans):
        if name == "plan.approved" and log.end_move(tx, plan.id, to.value, of="plan.proposed", by=actor):
            continue  # who proposed it approves it at once: one transition
        body: dict[str, Any] = {"plan": plan.id, "finding": plan.finding, "run": plan.run, "fence": plan.fence}
        body |= {"from": before[number].value, "to": to.value}
        if reason is not None:
            body["reason"] = reason
        if details is not None:
            body |= details[number]
        log.append(tx, actor, name, f"plan:{plan.id}", body)


def _log_together(
    tx: Transaction,
    plans: Sequence[ClaimedPlan],
    before: Sequence[PlanState],
    to: PlanState,
    event: str | None,
    actor: str,
) -> None:
    states = [[plan.id, state.value, to.value] for plan, state in zip(plans, before, strict=True)]
    body = {"plans": states, "run": plans[0].run}
    log.append(tx, actor, event or f"operation.{to.value}", f"plan:{plans[0].id}", body)


# The plan that an undo reverses


_UNDONE: Mapping[PlanState, PlanState] = {
    PlanState.SENT: PlanState.COMPENSATING,
    PlanState.RETRY_WAIT: PlanState.COMPENSATING,
    PlanState.UNKNOWN: PlanState.COMPENSATING,
    PlanState.QUARANTINED: PlanState.QUARANTINED,
    PlanState.SUCCEEDED: PlanState.COMPENSATED,
    PlanState.SKIPPED: PlanState.SUCCEEDED,
    PlanState.FAILED: PlanState.SUCCEEDED,
}
"""The state of the undone plan for each state of its undo; before the undo is sent, nothing changes."""


_UNSENT = (PlanState.SENT, PlanState.SUCCEEDED)
"""States that count for an undo without `sent_at`: its first sending, and a person's verdict that it was done."""


def _move_undone(tx: Transaction, undos: Sequence[ClaimedPlan], to: PlanState) -> None:
    """Move the plans that these undo. The entry of the undo tells it, so they have none of their own."""
    if to not in _UNDONE:
        return
    undo_of = {plan.undoes: plan for plan in undos if plan.undoes and (plan.sent_at is not None or to in _UNSENT)}
    becomes = _UNDONE[to]
    plans = [plan for plan in locked(tx, undo_of, tuple(PlanState)) if plan.state is not becomes]
    if not plans:
        return
    _check(plans, becomes)
    _write(tx, plans, {"state": becomes}, None)
    effects.set_state(tx, [plan.id for plan in plans], becomes)
    for plan in plans:
        log.add_to_move(tx, undo_of[plan.id].id, (facts.PLAN, plan.id, plan.state.value, becomes.value))
