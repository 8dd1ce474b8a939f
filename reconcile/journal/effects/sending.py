"""Record the intent: bind keys and write `sent`, committed before any statement goes to the target.

Record outcomes of claimed or sent plans; each function raises ClaimLost if another worker has a plan by now.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from reconcile.audit import facts, log
from reconcile.findings.states import BundleState
from reconcile.journal import holds
from reconcile.journal.effects.moving import CHUNK, RECONCILE, Claimed, locked, move, note
from reconcile.schedule import retry as retries
from reconcile.store import Transaction, bulk
from reconcile.store.bundles import sealed
from reconcile.store.columns import json_text
from reconcile.store.tables import effects


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


WAIT_FOR_OTHERS = dt.timedelta(seconds=5)
_PROVEN_NOT_DONE = (BundleState.SKIPPED, BundleState.FAILED)
_DONE = (BundleState.SUCCEEDED, BundleState.COMPENSATING, BundleState.COMPENSATED)


@dataclass(frozen=True)
class Sent:
    """The result of `send`: plans in their new states, the last three groups with a reason as a sentence.

    `settled`: an operation of the plan was already done: skipped, and the next run plans the rest. `busy`: another plan
    uses one of its keys: approved again, to be claimed later. `conflicts`: one of its keys belongs to another payload:
    quarantined.
    """

    sent: list[Claimed] = field(default_factory=list)
    settled: list[tuple[Claimed, str]] = field(default_factory=list)
    busy: list[tuple[Claimed, str]] = field(default_factory=list)
    conflicts: list[tuple[Claimed, str]] = field(default_factory=list)


def send(tx: Transaction, claimed: Sequence[Claimed]) -> Sent:
    """Bind the keys of these plans and mark them sent. Call it after `hold`, as the last step before COMMIT."""
    rows = sorted((row for plan in claimed for row in _rows(tx, plan)), key=lambda row: row["key"])
    log.touch(tx, facts.PLAN, [plan.id for plan in claimed])
    bound = _insert(tx, rows)
    answers: dict[str, tuple[str, str]] = {}
    if bound < len(rows):
        answers = _bind_existing(tx, rows)
    ready = [plan for plan in claimed if plan.id not in answers]
    result = Sent(_mark_all(tx, ready))
    for plan in claimed:
        if plan.id in answers:
            _set_aside(tx, result, plan, *answers[plan.id])
    return result


def _rows(tx: Transaction, plan: Claimed) -> list[dict[str, Any]]:
    table = plan.bundle.table
    return [
        {
            "key": key,
            "bundle": plan.id,
            "target": plan.target,
            "effect": operation.effect,
            "record": holds.subject_of(tx.store.key, holds.name_of(table, operation.record)),
            "generation": operation.generation,
            "fingerprint": operation.fingerprint,
            "state": BundleState.SENT.value,
            "doubtful": False,
            "sent_at": tx.now,
        }
        for key, operation in zip(plan.keys, plan.bundle.operations, strict=True)
    ]


def _insert(tx: Transaction, rows: list[dict[str, Any]]) -> int:
    return bulk.insert(tx, effects, rows, ignore=True)


def _mark_all(tx: Transaction, ready: Sequence[Claimed]) -> list[Claimed]:
    """Mark first and later attempts sent; later ones keep the time of the first."""
    first = [plan for plan in ready if plan.sent_at is None]
    later = [plan for plan in ready if plan.sent_at is not None]
    by_id = {plan.id: plan for plan in _mark(tx, first, {"sent_at": tx.now}) + _mark(tx, later, {})}
    return [by_id[plan.id] for plan in ready]


def _mark(tx: Transaction, plans: Sequence[Claimed], values: dict[str, Any]) -> list[Claimed]:
    attempts: dict[int, list[Claimed]] = {}
    for plan in plans:
        attempts.setdefault(plan.attempts + 1, []).append(plan)
    marked: list[Claimed] = []
    for number, group in attempts.items():
        details = [{"keys": list(plan.keys), "attempt": number} for plan in group]
        fixed = {"attempts": number, "transaction": None, **values}
        marked += move(tx, group, BundleState.SENT, values=fixed, details=details)
    return marked


# Keys that already exist


def _bind_existing(tx: Transaction, rows: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Bind keys proven not done; return, by id, the group of `Sent` and the reason for plans that cannot be sent."""
    existing = _existing(tx, [row["key"] for row in rows])
    answers: dict[str, tuple[str, str]] = {}
    rebound: list[dict[str, Any]] = []
    for row in rows:
        answer = _refusal(existing[row["key"]], row)
        if answer is not None and (row["bundle"] not in answers or answer[0] == "conflicts"):
            answers[row["bundle"]] = answer
    for row in rows:
        effect = existing[row["key"]]
        if row["bundle"] in answers or (effect.bundle == row["bundle"] and effect.state == BundleState.SENT.value):
            continue
        log.touch(tx, facts.PLAN, [effect.bundle])
        rebound.append({f"the_{name}": row[name] for name in ("key", "bundle", "fingerprint", "sent_at")})
    if rebound:
        tx.connection.execute(_REBIND, rebound if len(rebound) > 1 else rebound[0])
    for name in answers:
        tx.connection.execute(_UNBIND, {"the_bundle": name})
    return answers


def _existing(tx: Transaction, wanted_keys: list[str]) -> dict[str, Any]:
    by_key: dict[str, Any] = {}
    for at in range(0, len(wanted_keys), CHUNK):
        for row in tx.connection.execute(_EXISTING, {"the_keys": wanted_keys[at : at + CHUNK]}):
            by_key[row.key] = row
    return by_key


def _refusal(existing: Any, row: dict[str, Any]) -> tuple[str, str] | None:
    state = BundleState(existing.state)
    if existing.doubtful:
        return "conflicts", f"A person gave up one of its operations; it is unknown whether {existing.bundle} did it."
    if existing.bundle == row["bundle"] or state in _PROVEN_NOT_DONE:
        return None
    if existing.fingerprint != row["fingerprint"] and state is not BundleState.RETRY_WAIT:
        return "conflicts", f"An operation was sent with other content by {existing.bundle}; nothing was sent."
    if state in _DONE:
        return "settled", f"One of its operations was already done by {existing.bundle}; the next plan leaves it out."
    return "busy", f"{existing.bundle} is executing one of its operations; it waits until {existing.bundle} is over."


def _set_aside(tx: Transaction, result: Sent, plan: Claimed, answer: str, sentence: str) -> None:
    if answer == "busy":
        [moved] = released(tx, [plan], sentence, next_at=tx.now + WAIT_FOR_OTHERS)
        result.busy.append((moved, sentence))
    elif answer == "settled":
        [moved] = move(tx, [plan], BundleState.SKIPPED, reason=sentence)
        result.settled.append((moved, sentence))
    else:
        [moved] = move(tx, [plan], BundleState.QUARANTINED, reason=sentence)
        result.conflicts.append((moved, sentence))


_EXISTING = (
    sa.select(effects.c.key, effects.c.bundle, effects.c.state, effects.c.fingerprint, effects.c.doubtful)
    .where(bulk.one_of(effects.c.key, "the_keys"))
    .order_by(effects.c.key)
    .with_for_update()
)
_REBIND = (
    sa.update(effects)
    .where(effects.c.key == sa.bindparam("the_key"))
    .values(
        bundle=sa.bindparam("the_bundle"),
        fingerprint=sa.bindparam("the_fingerprint"),
        sent_at=sa.bindparam("the_sent_at", type_=effects.c.sent_at.type),
        state=BundleState.SENT.value,
        ended_at=None,
    )
)
_UNBIND = sa.delete(effects).where(
    effects.c.bundle == sa.bindparam("the_bundle"), effects.c.state == BundleState.SENT.value
)
"""Removes keys just bound for a plan that is not sent."""
