"""Record outcomes of claimed or sent plans; each function raises ClaimLost if another worker has a plan by now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reconcile.findings.operations import BundleState
from reconcile.journal.effects.moving import RECONCILE, Claimed, locked, move, note
from reconcile.schedule import retry as retries
from reconcile.store import Transaction
from reconcile.store.bundles import sealed
from reconcile.store.columns import json_text


def succeeded(
    tx: Transaction, done: Sequence[tuple[Claimed, Any]], *, beside: Sequence[Sequence[str]] = ()
) -> list[Claimed]:
    """Record that plans were done, once, each with its final rows: plain JSON, kept sealed; None: unknown.

    `beside`: changes the database made in addition to each plan, as sentences for the log.
    """
    plans = [plan for plan, _ in done]
    details = [{"beside": list(sentences)} if sentences else {} for sentences in beside] or None
    if all(outcome is None for _, outcome in done):
        return move(tx, plans, BundleState.SUCCEEDED, details=details)
    values = [
        {"outcome": None if outcome is None else sealed(tx, "outcome", plan.id, json_text(outcome))}
        for plan, outcome in done
    ]
    return move(tx, plans, BundleState.SUCCEEDED, each=values, details=details)


def found_undone(tx: Transaction, ids: Collection[str], *, actor: str = RECONCILE) -> list[Claimed]:
    """Move done plans to undone: a restored backup lacks their undo, but the target has its receipts."""
    plans = locked(tx, ids, (BundleState.SUCCEEDED,))
    why = "The database has receipts of its undo, which are missing from a restored backup."
    return move(tx, plans, BundleState.COMPENSATED, reason=why, actor=actor)


def skipped(tx: Transaction, plans: Sequence[tuple[Claimed, str]], *, actor: str = RECONCILE) -> list[Claimed]:
    """Record plans as proven not done, for these reasons; their keys are free."""
    return _by_reason(tx, plans, BundleState.SKIPPED, actor)


def failed(tx: Transaction, plans: Sequence[tuple[Claimed, str]], *, actor: str = RECONCILE) -> list[Claimed]:
    """Record plans as proven not done, without a retry; their keys are free."""
    return _by_reason(tx, plans, BundleState.FAILED, actor)


def quarantined(tx: Transaction, plans: Sequence[tuple[Claimed, str]], *, actor: str = RECONCILE) -> list[Claimed]:
    """Quarantine plans whose outcome only a person can decide; keys and holds stay taken until then."""
    return _by_reason(tx, plans, BundleState.QUARANTINED, actor)


def ambiguous(tx: Transaction, plans: Sequence[Claimed], reason: str) -> list[Claimed]:
    """Record plans as possibly done: the target must be asked. They stay claimed."""
    return move(tx, plans, BundleState.AMBIGUOUS, reason=reason)


def released(
    tx: Transaction, plans: Sequence[Claimed], reason: str, *, next_at: dt.datetime | None = None
) -> list[Claimed]:
    """Release unsent plans: to approved or, after an earlier attempt, to waiting. It costs no attempt."""
    never_sent = [plan for plan in plans if plan.sent_at is None]
    sent_before = [plan for plan in plans if plan.sent_at is not None]
    values = {"next_at": next_at or tx.now}
    moved = move(tx, never_sent, BundleState.APPROVED, reason=reason, event="operation.released", values=values)
    moved += move(tx, sent_before, BundleState.RETRY_WAIT, reason=reason, event="operation.released", values=values)
    by_id = {plan.id: plan for plan in moved}
    return [by_id[plan.id] for plan in plans]


@dataclass(frozen=True)
class Retried:
    """The result of `retry`: plans with a next attempt, and failed plans that used up their budget."""

    waiting: list[Claimed]
    given_up: list[Claimed]


def retry(
    tx: Transaction,
    plans: Sequence[Claimed],
    policy: retries.Policy,
    *,
    kind: str,
    reason: str,
    retry_after: dt.timedelta | None = None,
    burn: bool = True,
    at: dt.datetime | None = None,
) -> Retried:
    """Schedule a retry of plans proven not done, or fail them if their budget is used up.

    `kind` is the class of the failure for the log. Without `burn` it costs no attempt (the target is known to be
    unavailable). `at` is the earliest time, whatever the policy says.
    """
    waiting, given_up = [], []
    for plan in plans:
        attempts = plan.attempts if burn else plan.attempts - 1
        give_up_at = plan.give_up_at or (plan.sent_at or tx.now) + policy.budget
        decision = retries.decide(plan.keys[0] if plan.keys else plan.id, max(attempts - 1, 0), policy, retry_after)
        next_at = max(tx.now + decision.delay, at or tx.now)
        values = {"attempts": attempts, "give_up_at": give_up_at, "next_at": next_at}
        details = {"class": kind, **decision.to_json(), "attempts_left": max(policy.attempts - attempts, 0)}
        if burn and (attempts >= policy.attempts or next_at > give_up_at):
            given_up.append((plan, values, details))
        else:
            waiting.append((plan, values, details))
    return Retried(
        _with_each(tx, waiting, BundleState.RETRY_WAIT, reason),
        _with_each(tx, given_up, BundleState.FAILED, reason),
    )


def transaction_is(tx: Transaction, plans: Sequence[Claimed], name: str) -> list[Claimed]:
    """Record the target's name of the transaction that executes these plans, before its COMMIT."""
    return note(tx, plans, {"transaction": name})


Decided = tuple[Claimed, Mapping[str, Any], Mapping[str, Any]]


def _with_each(tx: Transaction, plans: Sequence[Decided], to: BundleState, reason: str) -> list[Claimed]:
    own_values, details = [values for _, values, _ in plans], [words for _, _, words in plans]
    return move(tx, [plan for plan, _, _ in plans], to, reason=reason, each=own_values, details=details)


def _by_reason(tx: Transaction, plans: Sequence[tuple[Claimed, str]], to: BundleState, actor: str) -> list[Claimed]:
    groups: dict[str, list[Claimed]] = {}
    for plan, reason in plans:
        groups.setdefault(reason, []).append(plan)
    moved = (move(tx, group, to, reason=reason, actor=actor) for reason, group in groups.items())
    by_id = {plan.id: plan for group in moved for plan in group}
    return [by_id[plan.id] for plan, _ in plans]
