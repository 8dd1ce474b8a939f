"""Carry out the decisions of a returned file, each on the finding and the plan that the person saw."""

from __future__ import annotations

from dataclasses import replace

from notifications.wording import words
from reconcile.app import Application
from reconcile.deciding.decisions import Answer, decided
from reconcile.errors import Refused
from reconcile.findings.states import PlanState, State
from reconcile.journal.approvals import PlanChanged
from reconcile.people.roles import Person
from reconcile.sheets.returned import Returned
from reconcile.sheets.rows import mark
from reconcile.store import Transaction, approvals
from reconcile.store import plans as stored_plans
from reconcile.store.findings import Standing, get, standing
from reconcile.tracking.decide import check_seen

_OPEN = (State.OPEN, State.STALE, State.AWAITING)
"""States after a finding was reopened: a run may have proposed a plan since."""
_EXECUTED = (
    *(PlanState.CLAIMED, PlanState.SENT, PlanState.RETRY_WAIT, PlanState.UNKNOWN, PlanState.QUARANTINED),
    PlanState.SUCCEEDED,
)
"""States of a plan whose execution began and was not undone."""


class DecidedSince(Refused):
    """Somebody decided about the finding after the export."""

    def __init__(self, finding: Standing, timezone: str) -> None:
        by = f" by {finding.decided_by}" if finding.decided_by else ""
        whom = f", assigned to {finding.assigned_to}" if finding.assigned_to else ""
        since = words.instant(finding.state_since.replace(microsecond=0), timezone)
        super().__init__(
            f"{finding.id} changed since the export: it is {words.state(finding.state.value)}{by} since {since}{whom}. "
            f"Nothing was changed; look at it again (`reconcile show {finding.id}`), then decide"
        )


def carry_out(application: Application, person: Person, returned: Returned, *, later: bool = True) -> Answer:
    """Carry out a decision; one that was carried out before changes nothing.

    `later` leaves the execution of an approved plan to `serve` or the next run. Raises DecidedSince, FindingChanged,
    and as `decided`.
    """
    if (before := earlier(application, returned)) is not None:
        return before
    return decided(application, person, returned.decision, replace(returned.wish, later=later))


def earlier(application: Application, returned: Returned) -> Answer | None:
    """Return the answer if the finding was decided that way after the export; None if it did not change since.

    Raises DecidedSince, FindingChanged, PlanChanged.
    """
    wish = returned.wish
    with application.memory.read() as tx:
        [finding] = standing(tx, [wish.finding])
        if mark(finding) == returned.seen or _is_approved(tx, returned):
            _check_plan(tx, returned)
            return None
        if _is_done(tx, finding, returned):
            return Answer(f"{finding.id}: `{returned.decision}` was done before; nothing was changed.", changed=False)
        check_seen(get(tx, finding.id), wish.version)
    raise DecidedSince(finding, application.project.timezone)


def _is_approved(tx: Transaction, returned: Returned) -> bool:
    """Return True if exactly this plan is approved and not executed yet: to approve it again goes on with it."""
    plan = stored_plans.standing(tx, returned.wish.finding) if returned.decision == "approve" else None
    return plan is not None and plan.state is PlanState.APPROVED and plan.plan_hash == returned.wish.plan


def _check_plan(tx: Transaction, returned: Returned) -> None:
    """Raise PlanChanged unless the plan that a decision is about is the one of the export."""
    if returned.wish.plan is None:
        return
    plan = stored_plans.standing(tx, returned.wish.finding)
    if plan is None or plan.plan_hash != returned.wish.plan:
        raise PlanChanged(returned.wish.finding, "its plan differs from the plan in the file")


def _is_done(tx: Transaction, finding: Standing, returned: Returned) -> bool:
    wish = returned.wish
    match returned.decision:
        case "dismiss":
            return finding.state is State.DISMISSED
        case "handle":
            return finding.state is State.HANDLED
        case "snooze":
            return finding.state is State.SNOOZED and finding.snoozed_until == wish.until
        case "reopen":
            return finding.state in _OPEN
        case "undo":
            return finding.state is State.UNDONE
        case "assign":
            return finding.assigned_to == wish.to
        case "approve":
            plans = stored_plans.of_finding(tx, finding.id)
            return any(plan.plan_hash == wish.plan and plan.state in _EXECUTED for plan in plans)
        case "reject":
            plans = approvals.rejected(tx, [finding.id]).get(finding.id, [])
            return any(plan.plan_hash == wish.plan for plan in plans)
    return False
