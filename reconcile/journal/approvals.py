"""Approvals: people's decisions about plans. An approval is valid only for exactly the plan that was shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection

from reconcile.audit import facts, log
from reconcile.errors import Refused
from reconcile.findings.approval import NEEDED, GivenApprovals, person
from reconcile.findings.states import PlanState
from reconcile.store import Transaction, approvals
from reconcile.store.approvals import Approval, Decision
from reconcile.store.plans import StoredPlan


class PlanChanged(Refused):
    """The plan is not, or no longer, the plan that the person decided about; `is_void` if none can be approved now."""

    def __init__(self, finding: str, why: str, *, is_void: bool = False) -> None:
        look = f"`reconcile plan --finding {finding}`"
        advice = f"The next run plans it anew (`reconcile run`). Then look at that plan ({look}), and decide"
        super().__init__(
            f"Nothing was decided about {finding}: {why}. "
            + (advice if is_void else f"Look at the current plan ({look}), then decide")
        )


class PlanOver(Refused):
    """The plan does not wait for this decision."""

    def __init__(self, plan: str, state: PlanState) -> None:
        super().__init__(f"Plan {plan} is {state.value.replace('_', ' ')}; it does not wait for an approval.")


class ApprovalExpired(Refused):
    """The time to approve the plan is over."""

    def __init__(self, plan: str, when: dt.datetime) -> None:
        super().__init__(f"Plan {plan} expired at {when:%d %b %Y %H:%M} UTC; the next run makes a new plan.")


class SamePerson(Refused):
    """Two other people must approve, and this person proposed the plan."""

    def __init__(self, plan: str, by: str) -> None:
        super().__init__(f"{by} proposed plan {plan}; two other people must approve it.")


def give(
    tx: Transaction,
    plan: StoredPlan,
    *,
    by: str,
    plan_hash: str,
    decision: Decision = "approved",
    note: str | None = None,
    system: str | None = None,
) -> bool:
    """Record a decision about the plan with that hash; return True if the plan has all the approvals it needs.

    `system`, the operating system's user behind the name `by`, is in the log's entry. A person's later decision
    replaces the earlier one. Raises a Refused.
    """
    if plan.state is not PlanState.AWAITING and not (plan.state is PlanState.APPROVED and decision == "rejected"):
        raise PlanOver(plan.id, plan.state)
    if plan_hash != plan.plan_hash:
        raise PlanChanged(plan.finding, "its plan changed since it was shown")
    if decision == "approved" and plan.expires_at is not None and plan.expires_at < tx.now:
        raise ApprovalExpired(plan.id, plan.expires_at)
    if decision == "approved" and plan.policy == "two_person" and person(by) == person(plan.proposed_by):
        raise SamePerson(plan.id, by)
    log.touch(tx, facts.PLAN, [plan.id])
    previous = next((approval.decision for approval in approvals.of(tx, plan.id) if approval.by == by), None)
    approvals.put(tx, plan.id, Approval(by, decision, plan_hash, tx.now, note))
    body: dict[str, str | None] = {
        "plan": plan.id,
        "finding": plan.finding,
        "by": by,
        "decision": decision,
        "plan_hash": plan_hash,
    }
    if note:
        body["note"] = note
    if system:
        body["system"] = system
    body["was"] = previous  # so `audit verify` can compare the state with earlier decisions
    log.append(tx, by, f"approval.{decision}", f"plan:{plan.id}", body)
    return satisfied(tx, plan)


def satisfied(tx: Transaction, plan: StoredPlan) -> bool:
    """Return True if the plan has the approvals its policy needs, for its exact hash, and no rejection."""
    decisions = [approval for approval in approvals.of(tx, plan.id) if approval.plan_hash == plan.plan_hash]
    if any(approval.decision == "rejected" for approval in decisions):
        return False
    persons = {person(approval.by) for approval in decisions if approval.decision == "approved"}
    if plan.policy == "two_person":
        persons.discard(person(plan.proposed_by))
    return len(persons) >= NEEDED[plan.policy]


def of_waiting(tx: Transaction, of_findings: Collection[str]) -> dict[str, GivenApprovals]:
    """Return the approvals of the plans that wait for several people, by finding; findings without one are missing."""
    policies = [policy for policy, needed in NEEDED.items() if needed > 1]
    people: dict[str, dict[str, str]] = {}
    needed = {}
    for row in approvals.of_waiting(tx, of_findings, policies) if of_findings else ():
        of_plan, needed[row.finding] = people.setdefault(row.finding, {}), NEEDED[row.policy]
        if row.by is not None and person(row.by) != person(row.proposed_by):  # as `satisfied` counts
            of_plan.setdefault(person(row.by), row.by)
    return {finding: GivenApprovals(tuple(names.values()), needed[finding]) for finding, names in people.items()}


def systems(tx: Transaction, plan: str) -> set[str | None]:
    """The operating systems' users behind the valid approvals of a plan, from the log, without those this transaction
    adds; None for an unknown one."""
    names = {approval.by for approval in approvals.of(tx, plan) if approval.decision == "approved"}
    latest: dict[str, str | None] = {}
    for entry in log.entries(tx, event="approval.approved", subject=f"plan:{plan}"):
        body = entry.body or {}
        if body.get("by") in names:
            latest[body["by"]] = body.get("system")
    return set(latest.values())
