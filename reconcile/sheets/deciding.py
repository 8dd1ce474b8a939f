"""Carry out the decisions of a returned file, each on the finding and the plan that the person saw."""

from __future__ import annotations

from dataclasses import replace

from notifications.wording import words
from reconcile.app import Application
from reconcile.decisions.decide import check_seen
from reconcile.decisions.refusals import PlanChanged
from reconcile.decisions.request import DecisionResult
from reconcile.errors import Refused
from reconcile.findings.states import PlanState, State
from reconcile.people.roles import Person
from reconcile.sheets.returned import Returned
from reconcile.sheets.rows import mark
from reconcile.store import Transaction, approvals
from reconcile.store import plans as stored_plans
from reconcile.store.findings import FindingState, get, standing

_OPEN = (State.OPEN, State.STALE, State.AWAITING)
"""States after a finding was reopened: a run may have proposed a plan since."""
_EXECUTED = (
    *(PlanState.CLAIMED, PlanState.SENT, PlanState.RETRY_WAIT, PlanState.UNKNOWN, PlanState.QUARANTINED),
    PlanState.SUCCEEDED,
)
"""States of a plan whose execution began and was not undone."""


class DecidedSince(Refused):
    """Somebody decided about the finding after the export."""

    def __init__(self, finding: FindingState, timezone: str) -> None:
        by = f" by {finding.decided_by}" if finding.decided_by else ""
        whom = f", assigned to {finding.assigned_to}" if finding.assigned_to else ""
        since = words.instant(finding.state_since.replace(microsecond=0), timezone)
        super().__init__(
            f"{finding.id} changed since the export: it is {words.state(finding.state.value)}{by} since {since}{whom}. "
            f"Nothing was changed; look at it again (`reconcile show {finding.id}`), then decide"
        )


def carry_out(application: Application, person: Person, returned: Returned, *, later: bool = True) -> DecisionResult:
    """Carry out a decision; one that was carried out before changes nothing.

    `later` leaves the execution of an approved plan to `serve` or the next run. Raises DecidedSince, FindingChanged,
    and as `Decisions.decide`.
    """
    if (before := earlier(application, returned)) is not None:
        return before
    return application.decisions_of(person).decide(replace(returned.request, later=later))


def earlier(application: Application, returned: Returned) -> DecisionResult | None:
    """Return the answer if the finding was decided that way after the export; None if it did not change since.

    Raises DecidedSince, FindingChanged, PlanChanged.
    """
    request = returned.request
    with application.memory.read() as tx:
        [finding] = standing(tx, [request.about])
        if mark(finding) == returned.seen or _is_approved(tx, returned):
            _check_plan(tx, returned)
            return None
        if _is_done(tx, finding, returned):
            sentence = f"{finding.id}: `{request.decision}` was done before; nothing was changed."
            return DecisionResult(sentence, finding.id, changed=False)
        check_seen(get(tx, finding.id), request.version)
    raise DecidedSince(finding, application.project.timezone)


def _is_approved(tx: Transaction, returned: Returned) -> bool:
    """Return True if exactly this plan is approved and not executed yet: to approve it again goes on with it."""
    plan = stored_plans.standing(tx, returned.request.about) if returned.request.decision == "approve" else None
    return plan is not None and plan.state is PlanState.APPROVED and plan.plan_hash == returned.request.plan


def _check_plan(tx: Transaction, returned: Returned) -> None:
    """Raise PlanChanged unless the plan that a decision is about is the one of the export."""
    if returned.request.plan is None:
        return
    plan = stored_plans.standing(tx, returned.request.about)
    if plan is None or plan.plan_hash != returned.request.plan:
        raise PlanChanged(returned.request.about, "its plan differs from the plan in the file")


def _is_done(tx: Transaction, finding: FindingState, returned: Returned) -> bool:
    request = returned.request
    match returned.request.decision:
        case "dismiss":
            return finding.state is State.DISMISSED
        case "handle":
            return finding.state is State.HANDLED
        case "snooze":
            return finding.state is State.SNOOZED and finding.snoozed_until == request.until
        case "reopen":
            return finding.state in _OPEN
        case "undo":
            return finding.state is State.UNDONE
        case "assign":
            return finding.assigned_to == request.to
        case "approve":
            plans = stored_plans.of_finding(tx, finding.id)
            return any(plan.plan_hash == request.plan and plan.state in _EXECUTED for plan in plans)
        case "reject":
            plans = approvals.rejected(tx, [finding.id]).get(finding.id, [])
            return any(plan.plan_hash == request.plan for plan in plans)
    return False
