"""Plans before a worker claims them: proposed, approved, superseded, void."""

from __future__ import annotations

import datetime as dt
import hashlib
from base64 import b32encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from reconcile.audit import facts, log
from reconcile.findings.plan import Plan
from reconcile.findings.states import WITHDRAWABLE, PlanState
from reconcile.journal.effects.moving import RECONCILE, ClaimedPlan, keys_of, locked, move
from reconcile.journal.effects.moving import note as written
from reconcile.store import Transaction, cleaning_news, effects, plan_states
from reconcile.store import plans as stored_plans
from reconcile.store.cleaning_news import What
from reconcile.store.plan_states import WAITING
from reconcile.store.plans import STANDING

_ID = 12


def propose(
    tx: Transaction,
    proposed: Sequence[Plan],
    *,
    run: str | None,
    release: str,
    policy: str,
    by: str = RECONCILE,
    expires: dt.datetime | None = None,
    note: str | None = None,
) -> list[str]:
    """Propose many plans of different findings in a few statements; return the current plan of each, in order.

    If a plan of a finding is in progress, nothing is proposed, and that plan's id is returned.
    """
    names = sorted({plan.finding for plan in proposed})
    if len(names) != len(proposed):
        raise ValueError("one finding has one plan at a time")
    live_plans, numbers = _lock_live_plans(tx, names)
    answers: list[str] = []
    new_plans, superseded = [], []
    fixed = {"run": run, "release": release, "policy": policy, "proposed_by": by, "expires_at": expires}
    fixed["reason"] = note
    renamed = stored_plans.renamed(tx, [plan.undoes for plan in proposed if plan.undoes is not None])
    for plan in proposed:
        name = _id_of(tx, plan.finding, numbers.get(plan.finding, 0))
        row = _row(tx, name, plan, fixed, renamed.get(plan.undoes or "", {}))
        replaceable = [live for live in live_plans.get(plan.finding, ()) if bool(live.undoes) == bool(plan.undoes)]
        in_progress = [live for live in live_plans.get(plan.finding, ()) if live.state not in STANDING]
        equal = [live for live in replaceable if live.policy == policy and live.is_for(plan)]
        if in_progress:
            answers.append(in_progress[0].id)
        elif equal:
            answers.append(equal[0].id)
        else:
            superseded += replaceable
            new_plans.append((plan, row))
            answers.append(name)
    move(tx, superseded, PlanState.SKIPPED, reason="Superseded by a newer plan.", event="plan.skipped", actor=by)
    log.touch(tx, facts.PLAN, [row["id"] for _, row in new_plans])
    stored_plans.insert(tx, [row for _, row in new_plans])
    for plan, row in new_plans:
        _log(tx, plan, row, by)
    _log_reused_ids(tx, new_plans, by)
    return answers


def approved(tx: Transaction, ids: Collection[str], by: str, *, in_one_entry: bool = False) -> list[ClaimedPlan]:
    """Release approved plans for execution; plans that do not wait for approval are left out.

    Of plans that this transaction proposed for the same actor, the proposal's entry in the log says so.
    """
    plans_waiting = locked(tx, ids, (PlanState.AWAITING,))
    values = {"next_at": tx.now}
    released = move(
        *(tx, plans_waiting, PlanState.APPROVED),
        event="plan.approved",
        actor=by,
        values=values,
        in_one_entry=in_one_entry,
    )
    if released:
        cleaning_news.put(tx, [plan.id for plan in released], "waiting")
    return released


def beyond_limits(tx: Transaction, plan: str, records: int, by: str) -> None:
    """Let this plan, with this number of rows, exceed limits whenever it is executed, as a person decided."""
    plans_waiting = locked(tx, [plan], (PlanState.AWAITING,))
    for waiting_plan in plans_waiting:
        body = {"plan": waiting_plan.id, "finding": waiting_plan.finding, "records": records}
        log.append(tx, by, "limits.exceeded", waiting_plan.finding, body)
        written(tx, [waiting_plan], {"summary": {**waiting_plan.summary, stored_plans.BEYOND_LIMITS: True}})


def approved_within(tx: Transaction, plan: str, limits: Mapping[str, Any]) -> None:
    """Keep the limits that are configured now with this plan, which gets its last approval."""
    for waiting_plan in locked(tx, [plan], (PlanState.AWAITING,)):
        written(tx, [waiting_plan], {"summary": {**waiting_plan.summary, stored_plans.APPROVED_WITHIN: limits}})


def doubted(tx: Transaction, ids: Collection[str], doubt: str, run: str) -> None:
    """Keep with those of these plans that wait for approval what a person should look at before, as a sentence."""
    for plan in locked(tx, ids, (PlanState.AWAITING,)):
        if plan.summary.get(stored_plans.DOUBT) != doubt:
            body = {"plan": plan.id, "finding": plan.finding, "run": run, "reason": doubt}
            log.append(tx, RECONCILE, "plan.doubted", f"plan:{plan.id}", body)
            written(tx, [plan], {"summary": {**plan.summary, stored_plans.DOUBT: doubt}})


def to_people(tx: Transaction, ids: Collection[str]) -> list[ClaimedPlan]:
    """Make plans that needed no approval wait for a person."""
    waiting = [plan for plan in locked(tx, ids, (PlanState.AWAITING,)) if plan.policy == "none"]
    for plan in waiting:
        body = {"plan": plan.id, "finding": plan.finding, "run": plan.run, "policy": "required"}
        log.append(tx, RECONCILE, "plan.to_people", f"plan:{plan.id}", body)
    return written(tx, waiting, {"policy": "required"})


def lock_standing(tx: Transaction, rule: str) -> None:
    """Lock the rule's plans that are not over until this transaction ends: everywhere, plans are locked before limits
    and findings."""
    plan_states.lock_live(tx, rule)


def lock_findings(tx: Transaction, ids: Collection[str]) -> None:
    """Lock these findings, and their plans that are not over, until this transaction ends."""
    if tx.store.is_shared:
        plan_states.lock_findings(tx, ids)


def lock_plans(tx: Transaction, ids: Collection[str]) -> None:
    """Lock these plans in the common order, before outcomes of several are written."""
    if tx.store.is_shared and len(ids) > 1:
        plan_states.lock_plans(tx, ids)


def void(tx: Transaction, of_findings: Iterable[str], reason: str, by: str = RECONCILE) -> list[ClaimedPlan]:
    """Withdraw the plans of these findings that were not begun, except undos."""
    return withdraw(tx, list(plan_states.standing_of(tx, of_findings)), reason, by)


def withdraw(
    tx: Transaction, ids: Collection[str], reason: str, by: str = RECONCILE, news: What | None = None
) -> list[ClaimedPlan]:
    """Skip plans that will not be executed, including those that wait for their next attempt: proven not done.

    Claimed plans and plans that are over are left out. `news` as in `move`.
    """
    plans_found = locked(tx, ids, WITHDRAWABLE)
    not_begun = [plan for plan in plans_found if plan.state in STANDING]
    begun = [plan for plan in plans_found if plan.state not in STANDING]
    moved = move(tx, not_begun, PlanState.SKIPPED, reason=reason, event="plan.skipped", actor=by, news=news)
    return moved + move(tx, begun, PlanState.SKIPPED, reason=reason, actor=by, news=news)


def homeless(tx: Transaction, rule: str, source: str | None, reason: str) -> list[ClaimedPlan]:
    """Withdraw the rule's plans that nothing would execute any more: those in another source than this or, if the rule
    does not clean (None), all of them. Claimed plans, plans with an unknown outcome and undos stay."""
    return withdraw(tx, plan_states.withdrawable(tx, rule, outside=source), reason, news="void")


def expire(tx: Transaction) -> list[ClaimedPlan]:
    """Withdraw plans past their expiry date, approved or not."""
    return withdraw(tx, plan_states.expired(tx), "It expired before it was approved and executed.", news="expired")


def try_now(tx: Transaction, ids: Collection[str], by: str) -> list[ClaimedPlan]:
    """Make waiting plans due now, with a new budget, as a person asked."""
    waiting = locked(tx, ids, WAITING)
    if waiting:
        plan_states.make_due(tx, [plan.id for plan in waiting])
    for plan in waiting:
        body = {"plan": plan.id, "finding": plan.finding, "run": plan.run, "attempts": plan.attempts}
        log.append(tx, by, "operation.due_now", f"plan:{plan.id}", body)
    return [plan.but(next_at=tx.now, attempts=0, give_up_at=None) for plan in waiting]


def _lock_live_plans(tx: Transaction, names: Sequence[str]) -> tuple[dict[str, list[ClaimedPlan]], dict[str, int]]:
    """Lock the live plans of these findings; return them and the number of earlier plans of each finding.

    Concurrent proposals wait. Plans are locked before findings, as everywhere, and read again afterwards.
    """
    lock_findings(tx, names)
    live_plans, numbers = plan_states.live_of(tx, names)
    by_finding: dict[str, list[ClaimedPlan]] = {}
    for plan in live_plans:
        by_finding.setdefault(plan.finding, []).append(ClaimedPlan.of(plan))
    return by_finding, numbers


def _id_of(tx: Transaction, finding: str, number: int) -> str:
    """`P-` and twelve characters, unique for the n-th plan of a finding in this store."""
    digest = hashlib.sha256(f"reconcile/plan/1|{tx.store.id}|{finding}|{number}".encode()).digest()
    return f"P-{b32encode(digest).decode()[:_ID]}"


def _row(tx: Transaction, name: str, plan: Plan, fixed: dict[str, Any], renamed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a new plan; `renamed` is what its summary has of the plan that it undoes."""
    values = stored_plans.row_of(tx, name, plan) | fixed
    values |= {
        "state": PlanState.AWAITING.value,
        "summary": {
            "table": plan.table,
            "effects": sorted({operation.effect for operation in plan.operations}),
            **renamed,
        },
    }
    values |= {"created_at": tx.now, "fence": 0, "lease_until": tx.now, "attempts": 0, "next_at": tx.now}
    return values


def _log(tx: Transaction, plan: Plan, row: dict[str, Any], by: str) -> None:
    body = {"plan": row["id"], "finding": plan.finding, "run": row["run"], "from": None, "to": row["state"]}
    body |= {"plan_hash": row["plan_hash"], "release": row["release"], "policy": row["policy"], "action": plan.action}
    body |= {"records": row["records"], "rows": row["rows"], "undoes": plan.undoes}  # no money, which may be personal
    if row["reason"]:
        body["note"] = row["reason"]
    log.append(tx, by, "plan.proposed", f"plan:{row['id']}", body)


def _log_reused_ids(tx: Transaction, new_plans: Sequence[tuple[Plan, dict[str, Any]]], by: str) -> None:
    """Log the earlier operation of each removed id that is now another record."""
    for plan, row in new_plans:
        if plan.undoes is not None or all(operation.generation == 1 for operation in plan.operations):
            continue
        new, old = (keys_of(tx.store, plan.target, plan, generations_ago=generations_ago) for generations_ago in (0, 1))
        reused = effects.succeeded(tx, old)
        for key, old_key, operation in zip(new, old, plan.operations, strict=True):
            if old_key in reused:
                body = {"plan": row["id"], "finding": plan.finding, "run": row["run"]}
                body |= {"key": key, "key_before": old_key, "generation": operation.generation}
                log.append(tx, by, "operation.id_reused", f"plan:{row['id']}", body)
