"""The results of decisions in words, and plans with an unknown outcome as public JSON."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from notifications.wording.words import plural
from reconcile.cleaning import undo
from reconcile.decisions.request import DecisionRequest, DecisionResult
from reconcile.documents import JsonObject
from reconcile.findings.states import PlanState
from reconcile.plugins import verb_of
from reconcile.store.plans import StoredPlan

if TYPE_CHECKING:
    from reconcile.cleaning.execution.outcomes import ExecutionResult


def executed(plan: StoredPlan, tally: ExecutionResult, *, for_a_person: bool) -> tuple[str, bool]:
    """Return what became of a plan that was executed, as a sentence, and True if it is done.

    `for_a_person`: its target waits for a person.
    """
    reason = plan.reason or "; ".join(tally.reasons)
    becomes = "undone" if plan.undoes else "cleaned"
    match plan.state:
        case PlanState.SUCCEEDED:
            done = "restored" if plan.undoes else verb_of(plan.action).past
            records = plural(plan.records, "record", "records")
            changed = f", {plural(plan.rows, 'row', 'rows')} changed" if plan.rows else ""  # a call changes no row
            undo_hint = "" if plan.reversible == "no" else f" Undo it: `reconcile undo {plan.finding}`"
            return f"{plan.finding} is {becomes}: {records} {done}{changed}.{undo_hint}", True
        case PlanState.SKIPPED:
            sentence = f"{plan.finding} was skipped: {reason.rstrip('.')}."
            if plan.undoes:
                return f"{sentence} `reconcile undo {plan.finding}` plans it again", False
            sentence += " The next run plans it again"
            return f"{sentence}; `reconcile plan --finding {plan.finding}` shows that plan now", False
        case PlanState.RETRY_WAIT:
            next_step = f"Then run `reconcile retry {plan.finding}`"
            if not for_a_person:
                next_step = f"The next attempt is at {utc_second(plan.next_at)}"
            return f"{plan.finding} could not be {becomes} now: {reason.rstrip('.')}. {next_step}", False
        case PlanState.FAILED:
            return f"{plan.finding} could not be {becomes}; nothing was changed: {reason}", False
        case PlanState.QUARANTINED | PlanState.UNKNOWN:
            sentence = f"It is unknown whether {plan.finding} was {becomes}: {reason}"
            return f"{sentence}. `reconcile quarantine` shows details", False
    if plan.undoes:
        reason = reason or "another process is working on it"
        return f"The undo of {plan.finding} waits: {reason.rstrip('.')}. {undo.withdrawing(plan.finding)}", False
    if not reason and plan.state in (PlanState.CLAIMED, PlanState.SENT):
        return f"{plan.finding} is approved, and another process is cleaning it", True
    return _waiting(plan, reason or "another process is working on it", for_a_person=for_a_person), False


def _waiting(plan: StoredPlan, reason: str, *, for_a_person: bool) -> str:
    sentence = f"{plan.finding} is approved and waits: {reason.rstrip('.')}"
    if for_a_person:
        return f"{sentence}. Then run `reconcile retry {plan.finding}`"
    return f"{sentence}. The next attempt is at {utc_second(plan.next_at)}" if plan.attempts > 0 else sentence


def utc_second(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def quarantined_to_json(plan: StoredPlan) -> JsonObject:
    """Return a plan with an unknown outcome as public JSON."""
    names = ("finding", "rule", "source", "action", "reason")
    return {"plan": plan.id} | {name: getattr(plan, name) for name in names}


def approved(result: DecisionResult) -> str:
    """Return what the finding is by an approval."""
    is_first = result.state is PlanState.AWAITING
    state = "approved by the first of two people" if is_first else "approved"
    return f"{state}, and waiting" if result.held_up else state


def became(request: DecisionRequest, result: DecisionResult) -> str:
    """Return what the finding is by a decision, as in "12 findings dismissed"."""
    match request.decision:
        case "approve":
            return approved(result)
        case "assign":
            state = f"assigned to {request.to or 'nobody'}"
        case "keep":
            state = "with another keeper" if request.keeper else "with other values"
        case "undo":
            state = "to be undone" if result.held_up else "undone"
        case decision:
            state = _BECAME[decision]
    return f"{state}, and waiting" if result.held_up else state


_BECAME = {
    "dismiss": "dismissed",
    "split": "split",
    "handle": "handled",
    "snooze": "snoozed",
    "reopen": "reopened",
    "reject": "with a rejected plan",
    "retry": "retried",
}
