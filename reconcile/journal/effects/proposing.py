"""Plans before a worker claims them: proposed, approved, superseded, void."""

from __future__ import annotations

import datetime as dt
import hashlib
from base64 import b32encode
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from reconcile.audit import facts, log
from reconcile.findings.bundle import Bundle
from reconcile.findings.states import WITHDRAWABLE, BundleState
from reconcile.journal.effects.moving import RECONCILE, Claimed, keys_of, locked, move
from reconcile.journal.effects.moving import note as written
from reconcile.store import Transaction, effects, plan_states
from reconcile.store import bundles as plans
from reconcile.store.plan_states import STANDING, WAITING

_ID = 12


def propose(
    tx: Transaction,
    proposed: Sequence[Bundle],
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
    names = sorted({bundle.finding for bundle in proposed})
    if len(names) != len(proposed):
        raise ValueError("one finding has one plan at a time")
    live_plans, numbers = _lock_live_plans(tx, names)
    answers: list[str] = []
    new_plans, superseded = [], []
    fixed = {"run": run, "release": release, "policy": policy, "proposed_by": by, "expires_at": expires}
    fixed["reason"] = note
    for bundle in proposed:
        name = _id_of(tx, bundle.finding, numbers.get(bundle.finding, 0))
        row = _row(tx, name, bundle, fixed)
        replaceable = [plan for plan in live_plans.get(bundle.finding, ()) if bool(plan.undoes) == bool(bundle.undoes)]
        in_progress = [plan for plan in live_plans.get(bundle.finding, ()) if plan.state not in STANDING]
        equal = [plan for plan in replaceable if plan.policy == policy and plan.is_for(bundle)]
        if in_progress:
            answers.append(in_progress[0].id)
        elif equal:
            answers.append(equal[0].id)
        else:
            superseded += replaceable
            new_plans.append((bundle, row))
            answers.append(name)
    move(tx, superseded, BundleState.SKIPPED, reason="Superseded by a newer plan.", event="bundle.skipped", actor=by)
    log.touch(tx, facts.PLAN, [row["id"] for _, row in new_plans])
    plans.insert(tx, [row for _, row in new_plans])
    for bundle, row in new_plans:
        _log(tx, bundle, row, by)
    _log_reused_ids(tx, new_plans, by)
    return answers


def approved(tx: Transaction, ids: Collection[str], by: str) -> list[Claimed]:
    """Release approved plans for execution; plans that do not wait for approval are left out."""
    plans_waiting = locked(tx, ids, (BundleState.AWAITING,))
    values = {"next_at": tx.now}
    return move(tx, plans_waiting, BundleState.APPROVED, event="bundle.approved", actor=by, values=values)


def beyond_limits(tx: Transaction, plan: str, records: int, by: str) -> None:
    """Let this plan, with this number of rows, exceed limits whenever it is executed, as a person decided."""
    plans_waiting = locked(tx, [plan], (BundleState.AWAITING,))
    for waiting_plan in plans_waiting:
        body = {"bundle": waiting_plan.id, "finding": waiting_plan.finding, "records": records}
        log.append(tx, by, "limits.exceeded", waiting_plan.finding, body)
        written(tx, [waiting_plan], {"summary": {**waiting_plan.summary, plans.BEYOND_LIMITS: True}})


def to_people(tx: Transaction, ids: Collection[str]) -> list[Claimed]:
    """Make plans that needed no approval wait for a person."""
    waiting = [plan for plan in locked(tx, ids, (BundleState.AWAITING,)) if plan.policy == "none"]
    for plan in waiting:
        body = {"bundle": plan.id, "finding": plan.finding, "run": plan.run, "policy": "required"}
        log.append(tx, RECONCILE, "bundle.to_people", f"bundle:{plan.id}", body)
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


def void(tx: Transaction, of_findings: Iterable[str], reason: str, by: str = RECONCILE) -> list[Claimed]:
    """Withdraw the plans of these findings that were not begun, except undos."""
    return withdraw(tx, list(plan_states.standing_of(tx, of_findings)), reason, by)


def withdraw(tx: Transaction, ids: Collection[str], reason: str, by: str = RECONCILE) -> list[Claimed]:
    """Skip plans that will not be executed, including those that wait for their next attempt: proven not done.

    Claimed plans and plans that are over are left out.
    """
    plans_found = locked(tx, ids, WITHDRAWABLE)
    not_begun = [plan for plan in plans_found if plan.state in STANDING]
    begun = [plan for plan in plans_found if plan.state not in STANDING]
    moved = move(tx, not_begun, BundleState.SKIPPED, reason=reason, event="bundle.skipped", actor=by)
    return moved + move(tx, begun, BundleState.SKIPPED, reason=reason, actor=by)


def homeless(tx: Transaction, rule: str, source: str | None, reason: str) -> list[Claimed]:
    """Withdraw the rule's plans that nothing would execute any more: those in another source than this or, if the rule
    does not clean (None), all of them. Claimed plans, plans with an unknown outcome and undos stay."""
    return withdraw(tx, plan_states.withdrawable(tx, rule, outside=source), reason)


def expire(tx: Transaction) -> list[Claimed]:
    """Withdraw plans past their expiry date, approved or not."""
    return withdraw(tx, plan_states.expired(tx), "It expired before it was approved and executed.")


def try_now(tx: Transaction, ids: Collection[str], by: str) -> list[Claimed]:
    """Make waiting plans due now, with a new budget, as a person asked."""
    waiting = locked(tx, ids, WAITING)
    if waiting:
        plan_states.make_due(tx, [plan.id for plan in waiting])
    for plan in waiting:
        body = {"bundle": plan.id, "finding": plan.finding, "run": plan.run, "attempts": plan.attempts}
        log.append(tx, by, "operation.due_now", f"bundle:{plan.id}", body)
    return [plan.but(next_at=tx.now, attempts=0, give_up_at=None) for plan in waiting]


def _lock_live_plans(tx: Transaction, names: Sequence[str]) -> tuple[dict[str, list[Claimed]], dict[str, int]]:
    """Lock the live plans of these findings; return them and the number of earlier plans of each finding.

    Concurrent proposals wait. Plans are locked before findings, as everywhere, and read again afterwards.
    """
    lock_findings(tx, names)
    live_plans, numbers = plan_states.live_of(tx, names)
    by_finding: dict[str, list[Claimed]] = {}
    for plan in live_plans:
        by_finding.setdefault(plan.finding, []).append(Claimed.of(plan))
    return by_finding, numbers


def _id_of(tx: Transaction, finding: str, number: int) -> str:
    """`B-` and twelve characters, unique for the n-th plan of a finding in this store."""
    digest = hashlib.sha256(f"reconcile/bundle/1|{tx.store.id}|{finding}|{number}".encode()).digest()
    return f"B-{b32encode(digest).decode()[:_ID]}"


def _row(tx: Transaction, name: str, bundle: Bundle, fixed: dict[str, Any]) -> dict[str, Any]:
    values = plans.row_of(tx, name, bundle) | fixed
    values |= {
        "state": BundleState.AWAITING.value,
        "summary": {"table": bundle.table, "effects": sorted({operation.effect for operation in bundle.operations})},
    }
    values |= {"created_at": tx.now, "fence": 0, "lease_until": tx.now, "attempts": 0, "next_at": tx.now}
    return values


def _log(tx: Transaction, bundle: Bundle, row: dict[str, Any], by: str) -> None:
    body = {"bundle": row["id"], "finding": bundle.finding, "run": row["run"], "from": None, "to": row["state"]}
    body |= {"plan_hash": row["plan_hash"], "release": row["release"], "policy": row["policy"], "action": bundle.action}
    body |= {"records": row["records"], "rows": row["rows"], "money": row["money"], "undoes": bundle.undoes}
    if row["reason"]:
        body["note"] = row["reason"]
    log.append(tx, by, "bundle.proposed", f"bundle:{row['id']}", body)


def _log_reused_ids(tx: Transaction, new_plans: Sequence[tuple[Bundle, dict[str, Any]]], by: str) -> None:
    """Log the earlier operation of each removed id that is now another record."""
    for bundle, row in new_plans:
        if bundle.undoes is not None or all(operation.generation == 1 for operation in bundle.operations):
            continue
        new, old = (keys_of(tx.store, bundle.target, bundle, lives_ago=lives_ago) for lives_ago in (0, 1))
        reused = effects.succeeded(tx, old)
        for key, old_key, operation in zip(new, old, bundle.operations, strict=True):
            if old_key in reused:
                body = {"bundle": row["id"], "finding": bundle.finding, "run": row["run"]}
                body |= {"key": key, "key_before": old_key, "generation": operation.generation}
                log.append(tx, by, "operation.id_reused", f"bundle:{row['id']}", body)
