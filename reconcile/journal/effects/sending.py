"""Record the intent: bind keys and write `sent`, committed before any statement goes to the target.

Record outcomes of claimed or sent plans; each function raises ClaimLost if another worker has a plan by now.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconcile.audit import facts, log
from reconcile.findings.states import PlanState
from reconcile.journal import holds
from reconcile.journal.effects.moving import RECONCILE, ClaimedPlan, locked, move, note
from reconcile.schedule import retry as retries
from reconcile.store import Transaction, effects
from reconcile.store.cleaning_news import What
from reconcile.store.columns import json_text
from reconcile.store.effects import BoundKey, NewEffect
from reconcile.store.plans import FORBIDDEN, sealed
from rules.values import canonical_instant


def succeeded(
    tx: Transaction,
    done: Sequence[tuple[ClaimedPlan, Any]],
    *,
    beside: Sequence[Sequence[str]] = (),
    run: str | None = None,
) -> list[ClaimedPlan]:
    """Record that plans were done, once, each with its final rows: plain JSON, kept sealed; None: unknown.

    `beside`: changes the target made in addition to each plan, as sentences for the log. `run` executed them, if any.
    """
    plans = [plan for plan, _ in done]
    details = [{"beside": list(sentences)} if sentences else {} for sentences in beside] or None
    if all(outcome is None for _, outcome in done):
        return move(tx, plans, PlanState.SUCCEEDED, details=details, run=run)
    values = [
        {"outcome": None if outcome is None else sealed(tx, "outcome", plan.id, json_text(outcome))}
        for plan, outcome in done
    ]
    return move(tx, plans, PlanState.SUCCEEDED, each=values, details=details, run=run)


def found_undone(tx: Transaction, ids: Collection[str], *, actor: str = RECONCILE) -> list[ClaimedPlan]:
    """Move done plans to undone: a restored backup lacks their undo, but the target has its receipts."""
    plans = locked(tx, ids, (PlanState.SUCCEEDED,))
    why = "The target has receipts of its undo, which are missing from a restored backup."
    return move(tx, plans, PlanState.COMPENSATED, reason=why, actor=actor)


def skipped(
    tx: Transaction, plans: Sequence[tuple[ClaimedPlan, str]], *, actor: str = RECONCILE, news: What | None = None
) -> list[ClaimedPlan]:
    """Record plans as proven not done, for these reasons; their keys are free. `news` as in `move`."""
    return _by_reason(tx, plans, PlanState.SKIPPED, actor, news)


def forbidden(tx: Transaction, plans: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
    """Mark plans that a constraint of the target forbade; they stay claimed."""
    return [marked for plan in plans for marked in note(tx, [plan], {"summary": {**plan.summary, FORBIDDEN: True}})]


def failed(tx: Transaction, plans: Sequence[tuple[ClaimedPlan, str]], *, actor: str = RECONCILE) -> list[ClaimedPlan]:
    """Record plans as proven not done, without a retry; their keys are free."""
    return _by_reason(tx, plans, PlanState.FAILED, actor)


def quarantined(
    tx: Transaction, plans: Sequence[tuple[ClaimedPlan, str]], *, actor: str = RECONCILE
) -> list[ClaimedPlan]:
    """Quarantine plans whose outcome only a person can decide; keys and holds stay taken until then."""
    return _by_reason(tx, plans, PlanState.QUARANTINED, actor)


def outcome_unknown(tx: Transaction, plans: Sequence[ClaimedPlan], reason: str) -> list[ClaimedPlan]:
    """Record plans as possibly done: the target must be asked. They stay claimed."""
    return move(tx, plans, PlanState.UNKNOWN, reason=reason)


def released(
    tx: Transaction, plans: Sequence[ClaimedPlan], reason: str, *, next_at: dt.datetime | None = None
) -> list[ClaimedPlan]:
    """Release unsent plans: to approved or, after an earlier attempt, to waiting. It costs no attempt.

    A plan that waits on for the same reason has no second entry in the log.
    """
    never_sent = [plan for plan in plans if plan.sent_at is None]
    sent_before = [plan for plan in plans if plan.sent_at is not None]
    values = {"next_at": next_at or tx.now}
    event = "operation.released"
    moved = move(tx, never_sent, PlanState.APPROVED, reason=reason, event=event, values=values, tells_change=True)
    moved += move(tx, sent_before, PlanState.RETRY_WAIT, reason=reason, event=event, values=values, tells_change=True)
    by_id = {plan.id: plan for plan in moved}
    return [by_id[plan.id] for plan in plans]


ATTEMPTED = "operation.attempted"
"""The event of an attempt that ended before anything was sent."""
Decided = tuple[ClaimedPlan, Mapping[str, Any], Mapping[str, Any]]
"""A plan with its new values, and the details for its entry in the log."""


@dataclass(frozen=True)
class Retried:
    """The result of `retry`: plans with a next attempt, and failed plans that used up their budget."""

    waiting: list[ClaimedPlan]
    given_up: list[ClaimedPlan]


def retry(
    tx: Transaction,
    plans: Sequence[ClaimedPlan],
    policy: retries.Policy,
    *,
    kind: str,
    reason: str,
    retry_after: dt.timedelta | None = None,
    burn: bool = True,
    at: dt.datetime | None = None,
) -> Retried:
    """Schedule a retry of plans proven not done, or fail them if their budget is used up.

    An attempt counts wherever it ended: a plan that is only claimed was not sent, and is approved again. `kind` is the
    class of the failure for the log. Without `burn` it costs no attempt (the target is known to be unavailable). `at`
    is the earliest time, whatever the policy says.
    """
    waiting, given_up = [], []
    for plan in plans:
        attempts = _attempts(plan) - (not burn)
        give_up_at = plan.give_up_at or (plan.sent_at or tx.now) + policy.budget
        decision = retries.decide(plan.keys[0] if plan.keys else plan.id, max(attempts - 1, 0), policy, retry_after)
        next_at = max(tx.now + decision.delay, at or tx.now)
        values = {"attempts": attempts, "give_up_at": give_up_at, "next_at": next_at}
        details = {"class": kind, "attempt": _attempts(plan), **decision.to_json()}
        details |= {"attempts_left": max(policy.attempts - attempts, 0), "give_up_at": canonical_instant(give_up_at)}
        if burn and (attempts >= policy.attempts or next_at > give_up_at):
            given_up.append((plan, values, details))
        else:
            waiting.append((plan, values, details))
    return Retried(_waiting(tx, waiting, reason), _with_each(tx, given_up, PlanState.FAILED, reason))


def _attempts(plan: ClaimedPlan) -> int:
    """The plan's attempts with this one, which `send` counted if it came that far."""
    return plan.attempts + (plan.state is PlanState.CLAIMED)


def _waiting(tx: Transaction, decided: Sequence[Decided], reason: str) -> list[ClaimedPlan]:
    """Let plans wait for their next attempt; one that was never sent stays approved, so it can still be replaced."""
    never_sent = [each for each in decided if each[0].sent_at is None]
    sent_before = [each for each in decided if each[0].sent_at is not None]
    moved = _with_each(tx, sent_before, PlanState.RETRY_WAIT, reason)
    return moved + _with_each(tx, never_sent, PlanState.APPROVED, reason, event=ATTEMPTED)


def transaction_is(tx: Transaction, plans: Sequence[ClaimedPlan], name: str) -> list[ClaimedPlan]:
    """Record the target's name of the transaction that executes these plans, before its COMMIT."""
    return note(tx, plans, {"transaction": name})


def _with_each(
    tx: Transaction, decided: Sequence[Decided], to: PlanState, reason: str, *, event: str | None = None
) -> list[ClaimedPlan]:
    """Move plans with values of their own; claims that are not written yet are written with them."""
    moved: list[ClaimedPlan] = []
    for plan, values, details in decided:
        if plan.was is not None:
            moved += move(tx, [plan], to, reason=reason, event=event, values=values, details=[details])
    written = [each for each in decided if each[0].was is None]
    own_values, details_of = [values for _, values, _ in written], [details for _, _, details in written]
    plans = [plan for plan, _, _ in written]
    return moved + move(tx, plans, to, reason=reason, event=event, each=own_values, details=details_of)


def _by_reason(
    tx: Transaction,
    plans: Sequence[tuple[ClaimedPlan, str]],
    to: PlanState,
    actor: str,
    news: What | None = None,
) -> list[ClaimedPlan]:
    groups: dict[str, list[ClaimedPlan]] = {}
    for plan, reason in plans:
        groups.setdefault(reason, []).append(plan)
    moved = (move(tx, group, to, reason=reason, actor=actor, news=news) for reason, group in groups.items())
    by_id = {plan.id: plan for group in moved for plan in group}
    return [by_id[plan.id] for plan, _ in plans]


WAIT_FOR_OTHERS = dt.timedelta(seconds=5)
_PROVEN_NOT_DONE = (PlanState.SKIPPED, PlanState.FAILED)
_DONE = (PlanState.SUCCEEDED, PlanState.COMPENSATING, PlanState.COMPENSATED)


@dataclass(frozen=True)
class Sent:
    """The result of `send`: plans in their new states, the last three groups with a reason as a sentence.

    `settled`: an operation of the plan was already done: skipped, and the next run plans the rest. `busy`: another plan
    uses one of its keys: approved again, to be claimed later. `conflicts`: one of its keys belongs to another payload:
    quarantined.
    """

    sent: list[ClaimedPlan] = field(default_factory=list)
    settled: list[tuple[ClaimedPlan, str]] = field(default_factory=list)
    busy: list[tuple[ClaimedPlan, str]] = field(default_factory=list)
    conflicts: list[tuple[ClaimedPlan, str]] = field(default_factory=list)


def send(tx: Transaction, claimed: Sequence[ClaimedPlan]) -> Sent:
    """Bind the keys of these plans and mark them sent. Call it after `hold`, as the last step before COMMIT."""
    operations = sorted(operation for plan in claimed for operation in _operations(tx, plan))
    log.touch(tx, facts.PLAN, [plan.id for plan in claimed])
    answers: dict[str, tuple[str, str]] = {}
    if effects.bind(tx, operations) < len(operations):
        answers = _bind_existing(tx, operations)
    ready = [plan for plan in claimed if plan.id not in answers]
    result = Sent(_mark_all(tx, ready))
    for plan in claimed:
        if plan.id in answers:
            _set_aside(tx, result, plan, *answers[plan.id])
    return result


def _operations(tx: Transaction, plan: ClaimedPlan) -> Iterator[NewEffect]:
    for key, operation in zip(plan.keys, plan.content.operations, strict=True):
        name = plan.renamed.get(operation.record, operation.record)
        record = holds.subject_of(tx.store.key, holds.name_of(plan.content.table, name))
        fingerprint = operation.fingerprint
        yield NewEffect(key, plan.id, plan.target, operation.effect, record, operation.generation, fingerprint)


def _mark_all(tx: Transaction, ready: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
    """Mark first and later attempts sent; later ones keep the time of the first."""
    first = [plan for plan in ready if plan.sent_at is None]
    later = [plan for plan in ready if plan.sent_at is not None]
    by_id = {plan.id: plan for plan in _mark(tx, first, {"sent_at": tx.now}) + _mark(tx, later, {})}
    return [by_id[plan.id] for plan in ready]


def _mark(tx: Transaction, plans: Sequence[ClaimedPlan], values: dict[str, Any]) -> list[ClaimedPlan]:
    attempts: dict[int, list[ClaimedPlan]] = {}
    for plan in plans:
        attempts.setdefault(plan.attempts + 1, []).append(plan)
    marked: list[ClaimedPlan] = []
    for number, group in attempts.items():
        details = [{"keys": list(plan.keys), "attempt": number} for plan in group]
        fixed = {"attempts": number, "transaction": None, **values}
        marked += move(tx, group, PlanState.SENT, values=fixed, details=details)
    return marked


# Keys that already exist


def _bind_existing(tx: Transaction, operations: Sequence[NewEffect]) -> dict[str, tuple[str, str]]:
    """Bind keys proven not done; return, by id, the group of `Sent` and the reason for plans that cannot be sent."""
    existing = effects.locked(tx, [operation.key for operation in operations])
    answers: dict[str, tuple[str, str]] = {}
    rebound: list[NewEffect] = []
    for operation in operations:
        answer = _refusal(existing[operation.key], operation)
        if answer is not None and (operation.plan not in answers or answer[0] == "conflicts"):
            answers[operation.plan] = answer
    for operation in operations:
        bound = existing[operation.key]
        is_bound = bound.plan == operation.plan and bound.state == PlanState.SENT.value
        if operation.plan in answers or is_bound:
            continue
        log.touch(tx, facts.PLAN, [bound.plan])
        rebound.append(operation)
    effects.bind_again(tx, rebound)
    effects.unbind(tx, answers)
    return answers


def _refusal(existing: BoundKey, operation: NewEffect) -> tuple[str, str] | None:
    state = PlanState(existing.state)
    if existing.outcome_unknown:
        return "conflicts", f"A person gave up one of its operations; it is unknown whether {existing.plan} did it."
    if existing.plan == operation.plan or state in _PROVEN_NOT_DONE:
        return None
    if existing.fingerprint != operation.fingerprint and state is not PlanState.RETRY_WAIT:
        return "conflicts", f"An operation was sent with other content by {existing.plan}; nothing was sent."
    if state in _DONE:
        return "settled", f"One of its operations was already done by {existing.plan}; the next plan leaves it out."
    return "busy", f"{existing.plan} is executing one of its operations; it waits until {existing.plan} has ended."


def _set_aside(tx: Transaction, result: Sent, plan: ClaimedPlan, answer: str, sentence: str) -> None:
    if answer == "busy":
        [moved] = released(tx, [plan], sentence, next_at=tx.now + WAIT_FOR_OTHERS)
        result.busy.append((moved, sentence))
    elif answer == "settled":
        [moved] = move(tx, [plan], PlanState.SKIPPED, reason=sentence)
        result.settled.append((moved, sentence))
    else:
        [moved] = move(tx, [plan], PlanState.QUARANTINED, reason=sentence)
        result.conflicts.append((moved, sentence))
